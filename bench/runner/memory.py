"""Resident memory of an idle server with many objects."""

import http.client
import json
import socket

from .processes import Failed, Folder, Server

HANDSHAKE = (
    "GET /v1/connect HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: skiff.v1.json\r\n\r\n"
)
FEW, MANY = 100, 900  # below the default limits of sessions and connections; the slope between the two counts
LIVE = 100


class Client:
    """Keep-alive HTTP to one server."""

    def __init__(self, server: Server):
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        self.headers = {"Content-Type": "application/json"}
        if server.token:
            self.headers["Authorization"] = "Bearer " + server.token

    def send(self, method: str, path: str, body: dict, *wanted: int) -> dict:
        self.connection.request(method, path, json.dumps(body), self.headers)
        response = self.connection.getresponse()
        text = response.read()
        if response.status not in wanted:
            raise Failed(f"{method} {path}: {response.status} {text[:300].decode(errors='replace')}")
        return json.loads(text)

    def get(self, path: str):
        self.connection.request("GET", path, headers=self.headers)
        response = self.connection.getresponse()
        response.read()
        if response.status != 200:
            raise Failed(f"GET {path}: {response.status}")

    def close(self):
        self.connection.close()


def idle(folder: Folder, kind: str) -> dict:
    with Server(folder, kind) as server:
        client = Client(server)
        client.get("/healthz")
        client.close()
        return {"rss_mb": server.rss_bytes() / 1e6}


def sessions(folder: Folder) -> dict:
    with Server(folder, "skiff") as server:
        client = Client(server)
        sizes = []
        for number in range(MANY):
            client.send("POST", "/v1/sessions", {"id": f"bench-{number}"}, 201)
            if number + 1 in (FEW, MANY):
                sizes.append(server.rss_bytes())
        client.close()
        return {"kib_each": (sizes[1] - sizes[0]) / 1024 / (MANY - FEW)}


def websockets(folder: Folder) -> dict:
    with Server(folder, "skiff") as server:
        opened, sizes = [], []
        try:
            for number in range(MANY):
                one = socket.create_connection(("127.0.0.1", server.port), timeout=20)
                opened.append(one)
                one.sendall(HANDSHAKE.format(port=server.port, token=server.token).encode())
                answer = one.recv(4096)
                if not answer.startswith(b"HTTP/1.1 101 "):
                    raise Failed("WebSocket handshake: " + answer[:300].decode(errors="replace"))
                if number + 1 in (FEW, MANY):
                    sizes.append(server.rss_bytes())
        finally:
            for one in opened:
                one.close()
        return {"kib_each": (sizes[1] - sizes[0]) / 1024 / (MANY - FEW)}


def live_commands(folder: Folder, kind: str) -> dict:
    """skiffd keeps its commands in the background; bare_server needs a connection and a thread for each."""
    argv = ["/bin/sleep", "30"]
    with Server(folder, kind) as server:
        waiting = []
        try:
            if kind == "skiff":
                client = Client(server)
                for _ in range(LIVE):
                    client.send("POST", "/v1/sessions/default/commands", {"argv": argv, "mode": "background"}, 202)
                client.close()
            for _ in range(LIVE if kind == "bare" else 0):
                one = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
                waiting.append(one)
                body = json.dumps({"argv": argv, "mode": "stream"}, separators=(",", ":"))
                one.request("POST", "/v1/sessions/default/commands", body)
                one.sock.recv(1, socket.MSG_PEEK)  # its headers come when the command has started
            return {"rss_mb": server.rss_bytes() / 1e6}
        finally:
            for one in waiting:
                one.close()
