"""A server on a port of loopback that does with each connection what a test says, to the byte."""

import base64
import contextlib
import hashlib
import socket
import threading

from networks import listening
from wire import request_bytes


class Connection:
    """An accepted connection: heads and bodies as they came."""

    def __init__(self, sock):
        self.sock = sock
        self.file = sock.makefile("rb")

    def head(self):
        """(request line, [(name, value)]) of the next request; None at the end."""
        line = self.file.readline().decode("latin-1").rstrip("\r\n")
        if not line:
            return None
        fields = []
        while field := self.file.readline().decode("latin-1").rstrip("\r\n"):
            name, _, value = field.partition(":")
            fields.append((name, value.strip()))
        return line, fields

    def chunks(self):
        """A chunked body, and the lines of its trailers."""
        pieces = []
        while size := int(self.file.readline().split(b";")[0], 16):
            pieces.append(self.file.read(size))
            self.file.readline()
        trailers = []
        while line := self.file.readline().rstrip(b"\r\n"):
            trailers.append(line.decode())
        return b"".join(pieces), trailers

    def body(self, fields):
        named = {name.lower(): value for name, value in fields}
        if "transfer-encoding" in named:
            return self.chunks()[0]
        return self.file.read(int(named.get("content-length", 0)))

    def send(self, *parts):
        self.sock.sendall(b"".join(part if isinstance(part, bytes) else part.encode() for part in parts))

    def answer(self, body=b"", status="200 OK", *fields):
        """A whole answer with a length."""
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *fields]
        self.send("\r\n".join(lines), "\r\n\r\n", body)

    def ended(self):
        """Waits for the end, or the reset, of what the other side sends."""
        with contextlib.suppress(OSError):
            while self.file.read1(65536):
                pass
        return True

    def end(self):
        """The end of what this side sends; it reads on, if the other side is still there."""
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_WR)


class Upstream:
    """`serve(connection)` runs for each connection, in a thread of its own. What it raises fails the test. Use it in a `with`.
    It listens in the network of `process`, by default on this machine."""

    def __init__(self, serve, host="127.0.0.1", backlog=128, port=0, process=None):
        self.serve, self.errors, self.threads = serve, [], []
        self.sock = listening(process, (host, port), backlog)
        self.port = self.sock.getsockname()[1]
        self.connections = 0
        self.open = set()
        self.acceptor = threading.Thread(target=self._accept)

    def _accept(self):
        while True:
            try:
                sock, _ = self.sock.accept()
            except OSError:
                return
            sock.settimeout(60)
            self.connections += 1
            self.open.add(sock)
            thread = threading.Thread(target=self._run, args=(sock,))
            self.threads.append(thread)
            thread.start()

    def _run(self, sock):
        connection = Connection(sock)
        try:
            self.serve(connection)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the agent may leave whenever it likes; what it owes is asked for at the client
        except BaseException as error:
            self.errors.append(error)
        finally:
            connection.file.close()
            sock.close()

    def path(self, path="/"):
        return f"/v1/ports/{self.port}{path}"

    def __enter__(self):
        self.acceptor.start()
        return self

    def __exit__(self, kind, *_):
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()
        self.acceptor.join(30)
        for sock in self.open:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join(30)
            assert not thread.is_alive(), "the server's thread hangs"
        if kind is None and self.errors:
            raise self.errors[0]


def answering(body=b"", status="200 OK", *fields):
    """Reads one request and answers it."""

    def serve(connection):
        asked = connection.head()
        if asked is None:
            return  # a connection that was opened and not used
        connection.body(asked[1])
        connection.answer(body, status, *fields)

    return serve


def saying(*parts):
    """Reads a request's head, says exactly that, and ends."""

    def serve(connection):
        connection.head()
        connection.send(*parts)

    return serve


def repeated(fields):
    """The names that stand there more than once."""
    names = [name.lower() for name, _ in fields]
    return sorted({name for name in names if names.count(name) > 1})


# Fields that a client may send twice, and fields that a proxy writes itself or removes.
TWICE = b"".join(2 * (line + b"\r\n") for line in (
    b"Connection: X-Hop, TE, close", b"TE: trailers", b"Keep-Alive: timeout=9", b"X-Hop: 1", b"Via: 1.1 before", b"Forwarded: for=9.9.9.9",
    b"X-Forwarded-For: 9.9.9.9", b"X-Forwarded-Host: example.org", b"X-Forwarded-Proto: https", b"X-Forwarded-Prefix: /p",
    b"Expect: 100-continue", b"Proxy-Authorization: Basic eDp5"))


class Recorded:
    """Answers 204 to everything and keeps what came."""

    def __init__(self):
        self.requests = []

    def __call__(self, connection):
        line, fields = connection.head()
        self.requests.append((line, fields, connection.body(fields)))
        connection.send("HTTP/1.1 204 No Content\r\n\r\n")

    def line(self, at=-1):
        return self.requests[at][0]

    def values(self, name, at=-1):
        return [value for field, value in self.requests[at][1] if field.lower() == name.lower()]

    def names(self, at=-1):
        return [field.lower() for field, _ in self.requests[at][1]]


def echo_bytes(connection):
    """Switches to the protocol `bytes`: everything comes back until the end."""
    connection.head()
    connection.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: bytes\r\n\r\n")
    while piece := connection.file.read1(65536):
        connection.send(piece)
    connection.end()


def accept_websocket(fields):
    key = dict((name.lower(), value) for name, value in fields)["sec-websocket-key"]
    digest = hashlib.sha1(key.encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
    return base64.b64encode(digest).decode()


def upgraded(agent, upstream, protocol="bytes", path="/", headers=None, extra=b""):
    """A socket that speaks with the server by `protocol`, and what the 101 said; `extra` is sent with the request."""
    given = agent.headers({"Connection": "Upgrade", "Upgrade": protocol, **(headers or {})})
    sock = agent.connect(60)
    sock.sendall(request_bytes("GET", upstream.path(path), given) + extra)
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = sock.recv(1)
        assert byte, head
        head += byte
    return sock, head.decode()
