"""Servers behind TLS that demand a token, for boxes whose proxy has it: `secret_origin.py FOLDER ADDRESS TOKEN`.

FOLDER gets `ca.pem`, which signs the server on port 9443 for git.example.com and the one on 9444 for another name. Paths: /git/... is
`git http-backend` on FOLDER/git; /echo answers with the request as it came; /field has its credential in a field; /bytes answers with
the credential byte by byte; /gzip is encoded though nobody asked; /ws becomes a WebSocket that gives five bytes back, with its
credential in the head; /socket becomes one that says hello; /static/PATH is a file of FOLDER; /port says on which connection the request
came, /port/last ends that connection, /port/deaf does when the next request comes, and /port/more sends a second answer that nobody asked for; /lazy does not read the request's body,
whose bytes so begin the next request. Without the token everything is 401."""

import base64
import contextlib
import gzip
import hashlib
import http.server
import os
import pathlib
import secrets
import ssl
import subprocess
import sys
import threading

HOST, PORT, OTHER = "git.example.com", 9443, 9444
USER = "x-access-token"


@contextlib.contextmanager
def running(words, directory, address):
    """The servers in the network of these words: their token, their directory, and what they have seen."""
    token = "ghp_" + secrets.token_hex(18)
    directory.mkdir()
    server = subprocess.Popen([*words, sys.executable, __file__, str(directory), address, token], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdout.readline() == b"ready\n"
    server.token, server.directory = token, directory
    server.seen = lambda: (directory / "seen.log").read_text().splitlines() if (directory / "seen.log").exists() else []
    try:
        yield server
    finally:
        server.kill()
        server.communicate()


def run(*words, **options):
    return subprocess.run([*map(str, words)], check=True, capture_output=True, **options)


def make_certificates(folder):
    """ca.pem, and a certificate with its key for each port."""
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    run("openssl", "req", "-x509", *curve, "-subj", "/CN=ca of the test", "-days", "2", "-keyout", folder / "ca.key", "-out", folder / "ca.pem",
        "-addext", "basicConstraints=critical,CA:TRUE")
    for port, name in ((PORT, HOST), (OTHER, "other.example.com")):
        run("openssl", "req", *curve, "-subj", "/CN=server", "-keyout", folder / f"{port}.key", "-out", folder / f"{port}.csr")
        (folder / f"{port}.ext").write_text(f"subjectAltName=DNS:{name}\n")
        run("openssl", "x509", "-req", "-in", folder / f"{port}.csr", "-CA", folder / "ca.pem", "-CAkey", folder / "ca.key", "-days", "1",
            "-extfile", folder / f"{port}.ext", "-out", folder / f"{port}.pem")


def make_repository(folder):
    run("git", "init", "-q", "--bare", folder / "git/app.git")
    run("git", "-C", folder / "git/app.git", "config", "http.receivepack", "true")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    folder = pathlib.Path()
    token = ""

    def log_message(self, *words):
        pass

    def body(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            whole = b""
            while size := int(self.rfile.readline(), 16):
                whole += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return whole
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def answer(self, status, body, **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def serve(self):
        body, given = b"" if self.path.startswith("/lazy") else self.body(), self.headers.get("Authorization", "")
        wanted = "Basic " + base64.b64encode(f"{USER}:{self.token}".encode()).decode()
        with open(self.folder / "seen.log", "a") as file:
            file.write(f"{self.command} {self.path} {'right' if given == wanted else given}\n")
        if given != wanted:
            return self.answer(401, b"who?\n", WWW_Authenticate='Basic realm="git"')
        if self.path.startswith("/git/"):
            return self.git(body)
        if self.path.startswith("/field"):
            return self.answer(200, b"", X_Echo=given, X_Token=f"<{self.token}>")
        if self.path.startswith("/ws"):
            return self.web_socket(given)
        if self.path.startswith("/socket"):
            return self.greet()
        if self.path.startswith("/static/"):
            return self.static()
        if self.path.startswith("/port"):
            return self.port()
        if self.path.startswith("/gzip"):
            return self.answer(200, gzip.compress(given.encode()), Content_Encoding="gzip")
        if self.path.startswith("/bytes"):
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for byte in f"<{self.token}|{given}>":
                self.wfile.write(b"1\r\n" + byte.encode() + b"\r\n")
                self.wfile.flush()
            return self.wfile.write(b"0\r\nX-Late: " + self.token.encode() + b"\r\n\r\n")
        head = "".join(f"{name}: {value}\n" for name, value in self.headers.items())
        return self.answer(200, f"{self.command} {self.path}\n{head}token {self.token}\n".encode() + body)

    do_GET = do_HEAD = do_POST = do_PUT = serve

    def static(self):
        file = self.folder / self.path.partition("?")[0].strip("/")
        file = file / "index.html" if file.is_dir() else file
        kinds = {".html": "text/html", ".json": "application/json"}
        if not file.is_file():
            return self.answer(404, b"")
        body = file.read_bytes()
        kind = "text/event-stream" if body.startswith(b"event: ") else kinds.get(file.suffix, "application/octet-stream")
        return self.answer(200, body, Content_Type=kind)

    def port(self):
        self.close_connection = self.path == "/port/last"
        text = f"<{self.client_address[1]}>"
        self.wfile.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode() +
                         (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong" if self.path == "/port/more" else b""))
        if self.path == "/port/deaf":
            self.rfile.read(1)
            self.close_connection = True

    def greet(self):
        """As a WebSocket: one text, and the end."""
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        for name, value in ("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(b"\x81\x05hello\x88\x02\x03\xe8")
        self.rfile.read(6)
        self.close_connection = True

    def web_socket(self, given):
        assert self.headers["Upgrade"] == "websocket" and self.headers["Connection"] == "Upgrade"
        self.send_response(101)
        for name, value in ("Upgrade", "websocket"), ("Connection", "Upgrade"), ("X-Echo", given):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(self.rfile.read(5))
        self.close_connection = True

    def git(self, body):
        path, _, query = self.path.partition("?")
        done = subprocess.run(["git", "http-backend"], input=body, capture_output=True, env={
            "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(self.folder / "git"), "GIT_HTTP_EXPORT_ALL": "1", "REMOTE_USER": USER,
            "PATH_INFO": path.removeprefix("/git"), "QUERY_STRING": query, "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""), "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""), "CONTENT_LENGTH": str(len(body))})
        head, _, rest = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        status = int(fields.pop("Status", "200").split()[0])
        return self.answer(status, rest, **fields)


def serve(folder, address, port):
    server = http.server.ThreadingHTTPServer((address, port), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / f"{port}.pem", folder / f"{port}.key")
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()


if __name__ == "__main__":
    Handler.folder, Handler.token = pathlib.Path(sys.argv[1]), sys.argv[3]
    make_certificates(Handler.folder)
    make_repository(Handler.folder)
    for each in (PORT, OTHER):
        serve(Handler.folder, sys.argv[2], each)
    print("ready", flush=True)
    sys.stdin.read()
