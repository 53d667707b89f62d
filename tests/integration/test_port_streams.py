"""/v1/ports: bodies, events, upgrades and trailers, however long, both ways at the pace of whoever takes them."""

import hashlib
import json
import socket
import threading

import pytest

import proc
from test_tls import make_certificate, trusting
from upstream import Upstream, accept_websocket, answering, echo_bytes, saying, upgraded
from waiting import until, until_still
from wire import Stream, request_bytes

MIB = 1 << 20


# --- bodies ---


def echo_body(connection):
    _, fields = connection.head()
    connection.answer(connection.body(fields))


@pytest.mark.parametrize("size", [0, 1, 70_000, 3 * MIB])
def test_a_body_with_a_length_goes_both_ways(agent, size):
    body = bytes(i % 251 for i in range(1000)) * (size // 1000) + b"x" * (size % 1000)
    with Upstream(echo_body) as upstream:
        answer = agent.request("POST", upstream.path(), body=body)
    assert (answer.body == body, answer.headers["Content-Length"]) == (True, str(size))


def test_chunks_and_trailers_go_both_ways(agent):
    came = []

    def serve(connection):
        connection.head()
        came.append(connection.chunks())
        connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n",
                        "3;ext=1\r\none\r\n", "3\r\ntwo\r\n", "0\r\nX-Sum: 6\r\nContent-Length: 9\r\n\r\n")

    with Upstream(serve) as upstream:
        with agent.connect() as sock:
            sock.sendall(request_bytes("PUT", upstream.path(), agent.headers({"Transfer-Encoding": "chunked"})) +
                         b"5\r\nhello\r\n1\r\n!\r\n0\r\nX-Check: yes\r\nTransfer-Encoding: x\r\n\r\n")
            answer = Stream(sock).answer()
    assert came == [(b"hello!", ["X-Check: yes"])]
    assert answer.body == b"onetwo" and answer.headers["Trailer"] == "X-Sum"
    assert answer.trailers.items() == [("X-Sum", "6")]


def test_an_answer_without_a_body_stays_without(agent):
    with Upstream(saying("HTTP/1.1 200 OK\r\nContent-Length: 12345\r\n\r\n")) as upstream:
        answer = agent.request("HEAD", upstream.path())
        assert (answer.status, answer.headers["Content-Length"]) == (200, "12345")
    for status in "204 No Content", "304 Not Modified":
        with Upstream(saying(f"HTTP/1.1 {status}\r\nETag: x\r\n\r\n")) as upstream:
            answer = agent.request("GET", upstream.path())
            assert (answer.status, answer.body, answer.headers["ETag"]) == (int(status[:3]), b"", "x")


def test_versions_need_not_be_the_same(agent):
    with Upstream(saying("HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n", "until the end")) as upstream:
        with agent.stream("GET", upstream.path()) as stream:
            assert stream.headers["Transfer-Encoding"] == "chunked" and stream.read() == b"until the end"
    with Upstream(saying("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n0\r\n\r\n")) as upstream:
        with agent.stream("GET", upstream.path(), version="1.0") as stream:
            assert "Transfer-Encoding" not in stream.headers and stream.read() == b"one"


def test_many_requests_share_the_clients_connection(agent):
    with Upstream(echo_body) as upstream, agent.connect() as sock:
        one = request_bytes("POST", upstream.path(), agent.headers({"Content-Length": "3"}), b"abc")
        sock.sendall(one * 3)
        stream = Stream(sock)
        for again in range(3):
            assert stream.read() == b"abc"
            if again < 2:
                stream.next_response()
        assert upstream.connections == 3, "each has a connection of its own behind"


def test_100_continue_is_the_servers_to_say(agent):
    begun = threading.Event()

    def serve(connection):
        _, fields = connection.head()
        assert ("Expect", "100-continue") in fields
        begun.wait(20)
        connection.send("HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n")
        connection.answer(connection.body(fields))

    expecting = agent.headers({"Expect": "100-continue", "Content-Length": "4"})
    with Upstream(serve) as upstream, agent.connect() as sock:
        sock.sendall(request_bytes("PUT", upstream.path(), expecting))
        begun.set()
        stream = Stream(sock)
        assert (stream.status, stream.headers["Link"]) == (103, "</a.css>")
        stream.next_response()
        assert stream.status == 100
        sock.sendall(b"body")
        stream.next_response()
        assert stream.answer().body == b"body"
    with Upstream(saying("HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n")) as upstream, agent.connect() as sock:
        sock.sendall(request_bytes("PUT", upstream.path(), expecting))
        stream = Stream(sock)
        assert stream.answer().status == 413
        assert sock.recv(1) == b"", "what comes next can't be told from a body"


def test_events_come_one_by_one(agent):
    sent = threading.Event()
    ended = []

    def serve(connection):
        connection.head()
        connection.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        connection.send("b\r\ndata: \"1\"\n\n\r\n")
        assert sent.wait(20)
        connection.send("b\r\ndata: \"2\"\n\n\r\n")
        ended.append(connection.ended())

    with Upstream(serve) as upstream:
        with agent.stream("GET", upstream.path(), headers={"Accept": "text/event-stream"}) as stream:
            events = stream.sse()
            assert next(events)[2] == "1"
            sent.set()
            assert next(events)[2] == "2"
        until(lambda: ended, what="the end behind, when the client has left")


# --- bulk ---


def pattern(size):
    block = bytes(range(256)) * 256
    for at in range(0, size, len(block)):
        yield block[:min(len(block), size - at)]


def digest_of(pieces):
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def pieces_of(sock, size):
    while size:
        piece = sock.recv(min(size, 65536))
        assert piece, f"{size} bytes are missing"
        size -= len(piece)
        yield piece


class Sender:
    """Counts what a side could send."""

    def __init__(self):
        self.sent = 0

    def send(self, sock, size):
        for block in pattern(size):
            sock.sendall(block)
            self.sent += len(block)

    def until_it_waits(self, size):
        """Waits for the other side, which takes nothing yet: all bytes on the way are in the buffers of sockets."""
        assert 0 < until_still(lambda: self.sent) < size


def peak(agent):
    return int(proc.status(agent.pid, "VmHWM").split()[0]) * 1024


def test_64_mib_for_a_client_that_waits_need_no_memory(agent):
    sender, before = Sender(), proc.rss_bytes(agent.pid)

    def serve(connection):
        connection.head()
        connection.send(f"HTTP/1.1 200 OK\r\nContent-Length: {64 * MIB}\r\n\r\n")
        sender.send(connection.sock, 64 * MIB)

    with Upstream(serve) as upstream, agent.stream("GET", upstream.path()) as stream:
        sender.until_it_waits(64 * MIB)
        assert digest_of(stream.chunks()) == digest_of(pattern(64 * MIB))
    assert peak(agent) - before < proc.allowance(4 * MIB)


def test_64_mib_for_a_server_that_waits_need_no_memory(agent):
    sender, before, reads = Sender(), proc.rss_bytes(agent.pid), threading.Event()

    def serve(connection):
        connection.head()
        assert reads.wait(60)
        digest, left = hashlib.sha256(), 64 * MIB
        while left:
            piece = connection.file.read1(min(left, 65536))
            digest.update(piece)
            left -= len(piece)
        connection.answer(digest.hexdigest().encode())

    with Upstream(serve) as upstream, agent.connect(60) as sock:
        sock.sendall(request_bytes("PUT", upstream.path(), agent.headers({"Content-Length": str(64 * MIB)})))
        thread = threading.Thread(target=sender.send, args=(sock, 64 * MIB))
        thread.start()
        sender.until_it_waits(64 * MIB)
        reads.set()
        assert Stream(sock).answer().text == digest_of(pattern(64 * MIB))
        thread.join(30)
    assert peak(agent) - before < proc.allowance(4 * MIB)


def keepalive_timers(port):
    """The timers of established connections on a port of 127.0.0.1: 2 where the kernel will probe a silent peer (proc(5), net/tcp)."""
    with open("/proc/net/tcp") as table:
        rows = [line.split() for line in table.readlines()[1:]]
    return [int(row[5].split(":")[0]) for row in rows if row[1] == f"0100007F:{port:04X}" and row[3] == "01"]


@pytest.mark.parametrize("first", ["", "data: 1\n\n"], ids=["head", "event"])
def test_a_silence_is_watched_on_the_clients_side(agent, first):
    """A client, or a gateway, that has vanished would hold both connections for as long as the server says nothing."""
    def serve(connection):
        connection.head()
        connection.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + first)
        connection.ended()

    with Upstream(serve) as upstream, agent.connect() as sock:
        sock.sendall(request_bytes("GET", upstream.path(), agent.headers()))
        Stream(sock)
        until(lambda: 2 in keepalive_timers(agent.port), what="a keepalive timer")


# --- upgrades ---


def test_websockets_pass(agent):
    def serve(connection):
        _, fields = connection.head()
        assert ("Sec-WebSocket-Protocol", "chat") in fields and ("Upgrade", "websocket") in fields
        connection.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                        f"Sec-WebSocket-Protocol: chat\r\nSec-WebSocket-Accept: {accept_websocket(fields)}\r\n\r\n")
        while True:
            first, second = connection.file.read(2)
            mask, payload = connection.file.read(4), connection.file.read(second & 127)
            plain = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
            connection.send(bytes([first, len(plain)]), plain)
            if first & 15 == 8:
                return

    with Upstream(serve) as upstream:
        with agent.ws(upstream.path("/socket?x=1"), "chat") as ws:
            assert ws.subprotocol == "chat"
            assert json.loads(agent.request("GET", "/v1/activity").body)["in_use"] is True
            ws.send({"hello": "there"})
            assert ws.recv() == {"hello": "there"}
            ws.send(b"\x00\xff")
            assert ws.recv() == b"\x00\xff"
        assert ws.socket.close_code == 1000


def test_each_direction_of_an_upgrade_ends_by_itself(agent):
    with Upstream(echo_bytes) as upstream:
        sock, head = upgraded(agent, upstream, extra=b"at once ")
        with sock:
            assert head.startswith("HTTP/1.1 101 ") and "Upgrade: bytes" in head
            sock.sendall(b"and later")
            sock.shutdown(socket.SHUT_WR)
            received = b""
            while piece := sock.recv(65536):
                received += piece
            assert received == b"at once and later"

    def talks_on(connection):
        connection.head()
        connection.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: bytes\r\n\r\nearly ")
        connection.end()
        connection.sock.settimeout(30)
        heard.append(connection.file.read())

    heard = []
    with Upstream(talks_on) as upstream:
        sock, _ = upgraded(agent, upstream)
        with sock:
            assert sock.recv(100) == b"early "
            assert sock.recv(100) == b""
            sock.sendall(b"still heard")
            sock.shutdown(socket.SHUT_WR)
            until(lambda: heard, what="what the client says to a server that has ended its side")
    assert heard == [b"still heard"]


def test_64_mib_there_and_back_through_an_upgrade_need_no_memory(agent):
    sender, before = Sender(), proc.rss_bytes(agent.pid)
    with Upstream(echo_bytes) as upstream:
        sock, _ = upgraded(agent, upstream)
        with sock:
            thread = threading.Thread(target=sender.send, args=(sock, 64 * MIB))
            thread.start()
            sender.until_it_waits(64 * MIB)
            assert digest_of(pieces_of(sock, 64 * MIB)) == digest_of(pattern(64 * MIB))
            thread.join(30)
    assert peak(agent) - before < proc.allowance(4 * MIB)


def test_all_of_it_passes_over_tls(start_agent, tmp_path):
    certificate, key = make_certificate(tmp_path / "tls")
    agent = start_agent("--tls-cert", certificate, "--tls-key", key, tls=trusting(certificate))
    body = b"".join(pattern(3 * MIB + 1))

    def serve(connection):
        _, fields = connection.head()
        assert ("X-Forwarded-Proto", "https") in fields
        connection.answer(connection.body(fields))

    with Upstream(serve) as upstream:
        assert agent.request("POST", upstream.path(), body=body).body == body
    with Upstream(echo_bytes) as upstream:
        sock, _ = upgraded(agent, upstream)
        with sock:
            sock.sendall(body[:200_000])
            assert b"".join(pieces_of(sock, 200_000)) == body[:200_000]


@pytest.mark.parametrize("leaves", ["client", "server"])
def test_an_upgraded_connection_ends_on_both_sides_when_one_leaves(agent, leaves):
    over = []

    def serve(connection):
        connection.head()
        connection.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: bytes\r\n\r\n")
        if leaves == "client":
            over.append(connection.ended())

    with Upstream(serve) as upstream:
        sock, _ = upgraded(agent, upstream)
        if leaves == "client":
            sock.close()
            until(lambda: over, what="the server's end of the tunnel")
        else:
            with sock:
                assert sock.recv(1) == b""
    until(lambda: b"skiff_websockets 0" in agent.request("GET", "/metrics").body, what="no tunnel is left")


def test_a_server_may_ignore_an_upgrade(agent):
    with Upstream(answering(b"plain")) as upstream:
        answer = agent.request("GET", upstream.path(), headers={"Connection": "Upgrade", "Upgrade": "h2c"})
        assert (answer.status, answer.body) == (200, b"plain")
