"""`skiff forward --driver serve`: TCP ports of a sandbox by an API key, whatever is spoken there."""

import contextlib
import http.server
import json
import os
import signal
import socket
import threading

import pytest

from networks import bound, listening
from serving import ServedSkiff
from upstream import Upstream
from waiting import until


@pytest.fixture
def skiff(tmp_path):
    client = ServedSkiff(tmp_path)
    client.up()
    yield client
    client.finish()


class Echo(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        told = json.dumps({"path": self.path, "fields": dict(self.headers), "body": body.decode()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def forwarded(skiff, port):
    process = skiff.start("forward", "box", f":{port}")
    yield int(process.stdout.readline().decode().split(" -> ")[0].rsplit(":", 1)[1])
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    process.communicate()


def test_http_is_forwarded_with_the_applications_own_credential(skiff):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo, bind_and_activate=False) as server:
        server.socket.close()
        server.socket = listening(skiff.network())
        threading.Thread(target=server.serve_forever).start()
        with forwarded(skiff, server.socket.getsockname()[1]) as port:
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            for at in range(2):
                client.request("POST", f"/a%2Fb?c={at}", b"sent", {"Authorization": "Bearer its-own", "Cookie": "a=b"})
                told = json.loads(client.getresponse().read())
                assert told["path"] == f"/a%2Fb?c={at}" and told["body"] == "sent"
                assert told["fields"]["Authorization"] == "Bearer its-own" and told["fields"]["Cookie"] == "a=b"
                assert skiff.api_key not in json.dumps(told)
            client.close()
        server.shutdown()


def received(client):
    """All that comes up to the end."""
    pieces = []
    while piece := client.recv(65536):
        pieces.append(piece)
    return b"".join(pieces)


def test_any_protocol_is_forwarded(skiff):
    """The server speaks first, as SSH, SMTP and MySQL do; lines, then bytes both ways, then each side's end."""
    sent = os.urandom(1 << 20) * 4

    def serve(connection):
        connection.send("220 ready\r\n")
        assert connection.file.readline() == b"HELO me\r\n"
        connection.send(b"\x00\x16\xff 250\r\n")
        while piece := connection.file.read1(65536):
            connection.send(piece)
        connection.send("221 bye")

    with Upstream(serve, process=skiff.network()) as upstream, forwarded(skiff, upstream.port) as port:
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", port), 60) as client:
                assert client.recv(11, socket.MSG_WAITALL) == b"220 ready\r\n"
                client.sendall(b"HELO me\r\n")
                assert client.recv(9, socket.MSG_WAITALL) == b"\x00\x16\xff 250\r\n"
                writer = threading.Thread(target=lambda one=client: (one.sendall(sent), one.shutdown(socket.SHUT_WR)))
                writer.start()
                assert received(client) == sent + b"221 bye"
                writer.join(30)


def test_a_forwarded_connection_ends_when_either_side_has_left(skiff):
    over = []
    with Upstream(lambda connection: over.append(connection.ended()), process=skiff.network()) as upstream, forwarded(skiff, upstream.port) as port:
        with socket.create_connection(("127.0.0.1", port), 60) as client:
            client.sendall(b"hello")
        until(lambda: over, what="the server hears that the client has left")
    with Upstream(lambda connection: connection.send("bye"), process=skiff.network()) as upstream, forwarded(skiff, upstream.port) as port:
        with socket.create_connection(("127.0.0.1", port), 60) as client:
            assert received(client) == b"bye"


def test_forward_reports_a_closed_port_and_the_next_connection_works(skiff):
    with bound(skiff.network()) as server:
        number = server.getsockname()[1]
        process = skiff.start("forward", "box", f":{number}")
        port = int(process.stdout.readline().decode().split(" -> ")[0].rsplit(":", 1)[1])
        with socket.create_connection(("127.0.0.1", port), 60) as client:
            assert received(client) == b""
        server.listen()
        server.settimeout(60)
        with socket.create_connection(("127.0.0.1", port), 60) as client:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"now")
                assert client.recv(3, socket.MSG_WAITALL) == b"now"
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert f"nothing listens on port {number}" in process.communicate()[1].decode()
