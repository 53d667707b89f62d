"""The table of rights: every credential of `skiff serve`, what it can be used for, and what ends it."""

import base64
import contextlib
import hashlib
import http.client
import json
import socket
import urllib.parse

from e2b import STREAM, UNARY, envelope
from signed_in import Browser, serve_console
from sockets import RawWs
from upstream import accept_websocket
from waiting import until
from wire import request_bytes

DOMAIN = "sandboxes.localhost"
DIALECT = 49983
GONE = (0, 401, 403, 404, 502)  # 0: nobody listens any more; 502: how E2B's agents tell that there is no sandbox


def application(connection):
    """A server in the sandbox: /ws and /stream stay open, an upload is read to its end, all else is answered with hello."""
    while (head := connection.head()) is not None:
        line, fields = head
        path = line.split()[1]
        if path.startswith("/ws"):
            connection.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                            f"Sec-WebSocket-Accept: {accept_websocket(fields)}\r\n\r\n")
            return connection.ended()
        if path.startswith("/stream"):
            connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nbegun\n\r\n")
            return connection.ended()
        if path.startswith("/upload"):
            return connection.ended()
        connection.answer(b"hello")


class Open:
    """A connection on which something goes on."""

    def __init__(self, sock):
        self.sock = sock
        sock.settimeout(30)

    def ends(self):
        """Waits for its end; what comes before is passed over. What takes longer than 30 s is open for good."""
        with contextlib.suppress(ConnectionResetError):
            while self.sock.recv(65536):
                pass
        return True

    def is_open(self):
        self.sock.setblocking(False)
        try:
            while self.sock.recv(65536):
                pass
            return False
        except BlockingIOError:
            return True
        except OSError:
            return False
        finally:
            self.sock.settimeout(30)


class Upload(Open):
    """A request whose body goes on slowly, and has no end: else the limit of pauses in a body would end it."""

    def ends(self):
        self.sock.settimeout(1)
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            for _ in range(30):
                try:
                    while self.sock.recv(65536):
                        self.sock.shutdown(socket.SHUT_WR)  # it is answered: the server need not read the rest first
                    return True
                except TimeoutError:
                    self.sock.sendall(b"x")
            return False
        return True


class Shown:
    """A credential as a client shows it: fields, and how what it is for is addressed."""

    def __init__(self, host, prefix, fields, query="", path=None):
        self.host, self.prefix, self.fields, self.query, self.path = host, prefix, fields, query, path

    def connect(self):
        if self.path:
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(30)
            sock.connect(self.path)
            return sock
        name, _, port = self.host.rpartition(":")
        return socket.create_connection((name, int(port)), 30)

    def request(self, method, path, body=None, **more):
        connection = http.client.HTTPConnection(self.host, timeout=60)
        try:
            connection.sock = self.connect()
            connection.request(method, self.prefix + path, body, {**self.fields, **more})
            answer = connection.getresponse()
            answer.read()
            return answer.status
        except (ConnectionRefusedError, FileNotFoundError):
            return 0
        finally:
            connection.close()

    def begin(self, method, path, body=b"", **more):
        """A request whose answer has begun and does not end."""
        sock = self.connect()
        fields = {"Host": self.host, "Connection": "close", **self.fields, **more}
        sock.sendall(request_bytes(method, self.prefix + path, fields, body))
        file = sock.makefile("rb")
        line = file.readline()
        assert b" 200 " in line, line
        while file.readline().strip():
            pass
        file.readline()
        return Open(sock)

    def upgrade(self, path, **more):
        sock = self.connect()
        RawWs(sock, self.prefix + path, {"Host": self.host, **self.fields, **more})
        return Open(sock)

    def upload(self, path, method="POST", **more):
        sock = self.connect()
        fields = {"Host": self.host, **self.fields, "Content-Length": "1000", **more}
        sock.sendall(request_bytes(method, self.prefix + path, fields, b"x"))
        return Upload(sock)


# --- what a right is used for: once, and for as long as it is there ---

RPC = {"E2b-Sandbox-Port": str(DIALECT)}
MCP = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}})
START = envelope({"process": {"cmd": "/bin/sh", "args": ["-c", "echo up; sleep 300"]}, "stdin": False})


def agent_path(it, path):
    return path if it.direct else f"/s/{it.sandbox}/7070{path}"


def port_path(it, path):
    return path if it.by_host else f"/s/{it.sandbox}/{it.port}{path}"


ONCE = {
    "request": lambda it: it.shown.request("GET", agent_path(it, "/v1/version")),
    "mcp": lambda it: it.shown.request("POST", agent_path(it, "/mcp"), MCP, **{
        "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}),
    "port": lambda it: it.shown.request("GET", port_path(it, "/")),
    "rpc": lambda it: it.shown.request("POST", "/process.Process/List", "{}", **{**UNARY, **RPC, "E2b-Sandbox-Id": it.sandbox}),
    "file": lambda it: it.shown.request("GET", it.shown.query, **{**RPC, "E2b-Sandbox-Id": it.sandbox}),
    "link": lambda it: it.shown.request("GET", it.shown.query),
}
OPEN = {
    "agent socket": lambda it: it.shown.upgrade(agent_path(it, "/v1/connect"), **{"Sec-WebSocket-Protocol": "skiff.v1"}),
    "agent stream": lambda it: it.shown.begin("GET", agent_path(it, "/v1/files:watch")),
    "agent upload": lambda it: it.shown.upload(agent_path(it, "/v1/files/up"), "PUT"),
    "tunnel": lambda it: it.shown.upgrade(agent_path(it, f"/v1/ports/{it.raw}:tcp"), **{"Sec-WebSocket-Protocol": "skiff.v1.tcp"}),
    "port socket": lambda it: it.shown.upgrade(port_path(it, "/ws")),
    "stream": lambda it: it.shown.begin("GET", port_path(it, "/stream")),
    "upload": lambda it: it.shown.upload(port_path(it, "/upload")),
    "rpc stream": lambda it: it.shown.begin("POST", "/process.Process/Start", START, **{
        **STREAM, **RPC, "E2b-Sandbox-Id": it.sandbox, "Content-Length": str(len(START))}),
    "rpc upload": lambda it: it.shown.upload("/files?path=up", **{
        **RPC, "E2b-Sandbox-Id": it.sandbox, "Content-Type": "application/octet-stream"}),
}
OF_DIALECT = ("rpc stream", "rpc upload")
OF_PORTS = ("port", "port socket", "stream", "upload")


class It:
    """One credential of one sandbox, with a server in it."""

    def __init__(self, shown, sandbox, port, raw, direct=False, by_host=False):
        self.shown, self.sandbox, self.port, self.raw, self.direct, self.by_host = shown, sandbox, port, raw, direct, by_host


def api_key(scene):
    return It(Shown(scene.server.host, "", {"X-API-Key": scene.key}), scene.sandbox, scene.port, scene.raw)


def bearer(scene):
    return It(Shown(scene.server.host, "", {"Authorization": f"Bearer {scene.key}"}), scene.sandbox, scene.port, scene.raw)


def key_and_token(scene):
    """Shows a key and an access token, as E2B's clients do; the dialect checks the token."""
    shown = Shown(scene.server.host, "", {"X-API-Key": scene.key, "X-Access-Token": scene.access_token})
    return It(shown, scene.sandbox, scene.port, scene.raw)


def access_token(scene):
    return It(Shown(scene.server.host, "", {"X-Access-Token": scene.access_token}), scene.sandbox, scene.port, scene.raw)


def traffic_token(scene):
    shown = {"E2B-Traffic-Access-Token": scene.traffic_token}
    return It(Shown(scene.server.host, "", shown), scene.sandbox, scene.port, scene.raw)


def preview(scene):
    answer = scene.ask("POST", f"/v1/sandboxes/{scene.sandbox}/previews", {"port": scene.port})
    return urllib.parse.urlsplit(answer.json()["url"])


def preview_link(scene):
    url = preview(scene)
    shown = Shown(scene.server.host, "", {"Host": url.netloc}, f"{url.path}?{url.query}")
    return It(shown, scene.sandbox, scene.port, scene.raw, by_host=True)


def preview_cookie(scene):
    url = preview(scene)
    answer = scene.server.request("GET", f"{url.path}?{url.query}", headers={"Host": url.netloc})
    cookie = answer.headers["Set-Cookie"].split(";")[0]
    return It(Shown(scene.server.host, "", {"Host": url.netloc, "Cookie": cookie}), scene.sandbox, scene.port, scene.raw, by_host=True)


def signed(path, token, operation="read", user=""):
    code = hashlib.sha256(f"{path}:{operation}:{user}:{token}".encode()).digest()
    signature = "v1_" + base64.b64encode(code).decode().rstrip("=")
    return "/files?" + urllib.parse.urlencode({"path": path, "signature": signature, **({"username": user} if user else {})})


def signature(scene):
    # The agent knows the token from its first use.
    assert ONCE["rpc"](access_token(scene)) == 200
    return It(Shown(scene.server.host, "", {}, signed(scene.file(), scene.access_token)), scene.sandbox, scene.port, scene.raw)


def agent_token(scene):
    body = {"scopes": ["read", "exec", "ports"], "ttl_ms": 3_600_000}
    token = scene.ask("POST", f"/v1/sandboxes/{scene.sandbox}/tokens", body).json()["token"]
    record = scene.serving.skiff.record(scene.sandbox)
    path = record.get("socket")
    host = "localhost" if path else f"127.0.0.1:{record['port']}"
    shown = Shown(host, "", {"Authorization": f"Bearer {token}"}, path=path)
    return It(shown, scene.sandbox, scene.port, scene.raw, direct=True)


class ByPage(Shown):
    """A session of the console, as the page's script shows it."""

    def upgrade(self, path, **more):
        return super().upgrade(path, **{"Sec-Fetch-Dest": "websocket", **more})


def session(scene):
    scene.server = serve_console(scene.serving, "--domain", DOMAIN)
    browser = Browser(scene.server).sign_in(scene.key)
    fields = {"Cookie": browser.cookie, "Origin": browser.origin, "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "empty"}
    return It(ByPage(scene.server.host, "", fields), scene.sandbox, scene.port, scene.raw)


#: (how it is got, what it is used for)
CREDENTIALS = {
    "API key": (api_key, ["request", "mcp", "port", *[use for use in OPEN if use not in OF_DIALECT]]),
    "API key as Bearer": (bearer, ["request", "port", *[use for use in OPEN if use not in OF_DIALECT]]),
    "API key beside the access token": (key_and_token, ["rpc", *OF_DIALECT]),
    "access token": (access_token, ["request", "mcp", "port", "rpc", *OPEN]),
    "traffic token": (traffic_token, list(OF_PORTS)),
    "preview's link": (preview_link, ["link"]),
    "preview's cookie": (preview_cookie, list(OF_PORTS)),
    "signed URL": (signature, ["file"]),
    "session of the console": (session, ["request", "agent socket", "agent stream", "agent upload"]),
    "agent token": (agent_token, ["request", "mcp", "agent socket", "agent stream", "agent upload", "tunnel"]),
}


# --- what ends it ---

def remove_key(scene):
    scene.serving.skiff("key", "rm", "me")


def end_key(scene):
    """The key expires: the test changes the ring, as it does not wait for a clock."""
    file = scene.serving.skiff.state / "skiff/api-keys.json"
    ring = json.loads(file.read_text())
    for one in ring["keys"]:
        if one["name"] == "me":
            one["expires_ms"] = 1
    new = file.with_suffix(".new")
    new.write_text(json.dumps(ring))
    new.rename(file)


def remove_sandbox(scene):
    assert scene.server.request("DELETE", f"/v1/sandboxes/{scene.sandbox}", key=scene.other_key).status == 204


def make_again(scene):
    remove_sandbox(scene)
    assert scene.make(scene.other_key) == scene.sandbox


def make_again_elsewhere(scene):
    """Another replica creates it again, and this one does not learn of it."""
    other = scene.serving.start("--domain", DOMAIN)
    assert other.request("DELETE", f"/v1/sandboxes/{scene.sandbox}", key=scene.other_key).status == 204
    assert scene.make(scene.other_key, by=other) == scene.sandbox


ENDS = {"key removed": remove_key, "key expired": end_key, "sandbox removed": remove_sandbox, "sandbox made again": make_again,
        "sandbox made again by another replica": make_again_elsewhere}

#: What goes on, and why: (credential, end) -> until when.
GOES_ON = {
    **{(name, end): "a key is the tenant's, whose the next sandbox is, too; what was open has ended"
       for name in ("API key", "API key as Bearer", "session of the console") for end in ("sandbox made again", "sandbox made again by another replica")},
    **{(name, end): "it is the sandbox's, and ends with that" for name in ("access token", "traffic token", "signed URL")
       for end in ("key removed", "key expired")},
    ("agent token", "key removed"): "the agent alone verifies it: it ends by its own time, a day at most, or with the sandbox",
    ("agent token", "key expired"): "the same: made before, it had the end that the key had then",
}


class Scene(contextlib.ExitStack):
    """A server, two keys of a tenant, and a sandbox with an application in it. Use it in a `with`."""

    def __init__(self, serving):
        super().__init__()
        self.serving, self.port, self.raw = serving, 0, 0
        self.key, self.other_key = serving.key(), serving.key("other")
        self.server = serving.start("--domain", DOMAIN)
        self.sandbox = self.make(self.key)

    def make(self, key, by=None):
        """The id follows from the Idempotency-Key, so it comes again."""
        headers = {"Idempotency-Key": "the-same"}
        answer = (by or self.server).request("POST", "/v2/sandboxes", {"templateID": "base", "timeout": 600}, key, headers)
        assert answer.status == 201, answer.body
        self.access_token, self.traffic_token = answer.json()["envdAccessToken"], answer.json()["trafficAccessToken"]
        self._open_ports(answer.json()["sandboxID"])
        return answer.json()["sandboxID"]

    def _open_ports(self, sandbox):
        """The servers in a sandbox. One that is made again has the ports that the first one had."""
        if self.port and not self.serving.skiff.network(sandbox):
            return  # they are this machine's, and still there
        page = self.enter_context(self.serving.upstream(sandbox, application, self.port))
        raw = self.enter_context(self.serving.upstream(sandbox, lambda connection: connection.ended(), self.raw))
        self.port, self.raw = page.port, raw.port

    def ask(self, method, path, body=None):
        answer = self.server.request(method, path, body, self.key)
        assert answer.status in (200, 201), (path, answer.status, answer.body)
        return answer

    def file(self):
        (self.serving.skiff.root(self.sandbox) / "file").write_text("data")
        return f"{self.serving.skiff.workdir(self.sandbox)}/file"

    def wait_for_the_end_of_its_key(self):
        until(lambda: self.server.request("GET", "/v1/me", key=self.key).status == 401)
