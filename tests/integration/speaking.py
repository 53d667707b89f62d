"""A server in the place of an agent, a `skiff serve` or an API server: it says what a test wants to be said."""

import contextlib
import dataclasses
import http.server
import json
import threading


@dataclasses.dataclass
class Asked:
    method: str
    path: str
    headers: dict
    body: bytes


@dataclasses.dataclass
class Said:
    """An answer. With trailers, even if they are none, its body comes in chunks."""
    status: int = 200
    headers: dict = dataclasses.field(default_factory=dict)
    body: bytes = b""
    trailers: dict | None = None


class Speaker(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        asked = Asked(self.command, self.path, dict(self.headers), self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        self.server.asked.append(asked)
        said = self.server.say(asked)
        if not isinstance(said, Said):
            said = Said(headers={"Content-Type": "application/json"}, body=json.dumps(said).encode())
        self.send_response(said.status)
        for name, value in said.headers.items():
            self.send_header(name, value)
        if said.trailers is None:
            self.send_header("Content-Length", str(len(said.body)))
            self.end_headers()
            self.wfile.write(said.body)
            return
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Trailer", ", ".join(said.trailers))
        self.end_headers()
        lines = "".join(f"{name}: {value}\r\n" for name, value in said.trailers.items()).encode()
        self.wfile.write(b"%x\r\n%s\r\n0\r\n%s\r\n" % (len(said.body), said.body, lines))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def speaking(say, context=None):
    """A server; `say` gives to each `Asked` a `Said`, or what is said as JSON. With a `context` (ssl) it speaks TLS."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Speaker) as server:
        server.daemon_threads, server.asked, server.say = True, [], say
        if context:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        server.url = f"{'https' if context else 'http'}://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextlib.contextmanager
def in_place_of_the_agent(skiff, say, name="box"):
    """As `speaking`, in place of the agent of a sandbox of `skiff`."""
    port = skiff.record(name)["port"]
    with speaking(say) as server:
        skiff.change_record(name, port=server.server_address[1])
        try:
            yield server
        finally:
            skiff.change_record(name, port=port)
