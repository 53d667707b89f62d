"""A client that has said all and shuts its sending half down, as nc does, gets its whole answer where nothing has to be
waited for; plain and over TLS."""

import contextlib
import io
import json
import os
import socket
import ssl
import tarfile

import pytest

from test_tls import make_certificate
from waiting import until
from wire import parse, request_bytes


class ClosesTls:
    """A TLS connection that sends close_notify and reads on, which Python's own sockets can't."""

    def __init__(self, sock, context):
        self.sock = sock
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_hostname="127.0.0.1")
        self._until_done(self.tls.do_handshake)

    def _send(self):
        if data := self.outgoing.read():
            self.sock.sendall(data)

    def _until_done(self, step):
        while True:
            try:
                result = step()
                self._send()
                return result
            except ssl.SSLWantReadError:
                self._send()
                if received := self.sock.recv(65536):
                    self.incoming.write(received)
                else:
                    self.incoming.write_eof()

    def sendall(self, data):
        self.tls.write(data)
        self._send()

    def shut(self):
        with contextlib.suppress(ssl.SSLWantReadError):
            self.tls.unwrap()
        # At the closing alert it may be gone before this.
        with contextlib.suppress(OSError):
            self._send()
            self.sock.shutdown(socket.SHUT_WR)

    def rest(self):
        pieces = []
        with contextlib.suppress(ssl.SSLZeroReturnError, ssl.SSLEOFError):
            while piece := self._until_done(lambda: self.tls.read(65536)):
                pieces.append(piece)
        return b"".join(pieces)


class Closes:
    def __init__(self, sock):
        self.sock = sock
        self.sendall = sock.sendall

    def shut(self):
        self.sock.shutdown(socket.SHUT_WR)

    def rest(self):
        pieces = []
        while piece := self.sock.recv(65536):
            pieces.append(piece)
        return b"".join(pieces)


@pytest.fixture(params=["plain", "tls"])
def peer(request, start_agent, tmp_path):
    """An agent and a way to open connections to it."""
    if request.param == "plain":
        agent = start_agent()
        return agent, lambda: Closes(agent.connect())
    certificate, key = make_certificate(tmp_path / "tls")
    context = ssl.create_default_context(cafile=certificate)
    agent = start_agent("--tls-cert", certificate, "--tls-key", key, tls=context)

    def connect():
        sock = socket.create_connection(("127.0.0.1", agent.port), 30)
        return ClosesTls(sock, context)

    return agent, connect


def ask(peer, method, path, body=b"", **headers):
    """Sends a request, then the end; what comes until the server's end."""
    agent, connect = peer
    connection = connect()
    with connection.sock:
        connection.sendall(request_bytes(method, path, agent.headers({"Content-Length": str(len(body)), **headers}), body))
        connection.shut()
        return parse(connection.rest())


JSON = {"Content-Type": "application/json"}


def test_a_quick_request_of_a_half_closed_connection_is_answered(peer):
    agent, _ = peer
    (agent.root / "f").write_text("here")
    assert ask(peer, "GET", "/v1/files/f").body == b"here"
    assert ask(peer, "GET", "/v1/sessions").json()["items"]
    assert ask(peer, "POST", "/v1/sessions", b'{"id": "s"}', **JSON).status == 201


def test_a_large_download_is_whole(peer):
    agent, _ = peer
    data = os.urandom(8 << 20)
    (agent.root / "large").write_bytes(data)
    assert ask(peer, "GET", "/v1/files/large").body == data


def test_a_copy_and_an_archive_are_whole(peer):
    agent, _ = peer
    (agent.root / "from").mkdir()
    (agent.root / "from" / "large").write_bytes(os.urandom(8 << 20))
    assert ask(peer, "POST", "/v1/files:copy", b'{"from": "from", "to": "to"}', **JSON).status == 201
    archive = ask(peer, "GET", "/v1/files:archive?path=to").body
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        assert tar.extractfile("large").read() == (agent.root / "from" / "large").read_bytes()


def test_an_upload_is_answered(peer):
    agent, _ = peer
    data = os.urandom(3 << 20)
    assert ask(peer, "PUT", "/v1/files/new", data).status == 201
    assert (agent.root / "new").read_bytes() == data


def test_a_websocket_without_a_client_ends_and_its_command_goes_on(peer):
    """It can't be closed, pinged or fed any more: the server's side ends as well."""
    agent, connect = peer
    cid = agent.start("cat", stdin_open=True)["id"]
    connection = connect()
    with connection.sock:
        connection.sendall(request_bytes("GET", f"/v1/sessions/default/commands/{cid}/attach", agent.headers({
            "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="})))
        connection.shut()
        assert connection.rest().startswith(b"HTTP/1.1 101 ")
    assert agent.request("POST", f"/v1/commands/{cid}/stdin?eof=true", body=b"on").status == 204
    assert agent.ended(cid)["exit_code"] == 0


def test_a_half_closed_connection_counts_as_gone_while_its_command_runs(peer):
    """A client that died looks the same: the answer is never passed off as whole, and `on_disconnect` decides."""
    agent, connect = peer
    for mode, choice, state in (("stream", "kill", "ended"), ("wait", "kill", "ended"), ("wait", "continue", "running")):
        cid = f"{mode}-{choice}"
        body = json.dumps({"argv": ["sleep", "300"], "mode": mode, "id": cid, "on_disconnect": choice}).encode()
        connection = connect()
        with connection.sock:
            connection.sendall(request_bytes("POST", "/v1/commands", agent.headers({
                "Content-Length": str(len(body)), **JSON}), body))
            until(lambda: agent.request("GET", f"/v1/commands/{cid}").status == 200)
            connection.shut()
            with contextlib.suppress(ConnectionResetError):
                assert not connection.rest().endswith(b"0\r\n\r\n")
        assert until(lambda: agent.request("GET", f"/v1/commands/{cid}").json()["state"] == state)
