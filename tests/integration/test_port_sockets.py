"""/v1/ports/{port}:tcp: the bytes of one TCP connection as the binary messages of a WebSocket."""

import base64
import concurrent.futures
import contextlib
import hashlib
import signal
import socket
import struct
import threading
import time

import pytest
import websockets

import proc
from signing import Signer
from upstream import Upstream
from waiting import until, until_still

MIB = 1 << 20
TCP = {"Sec-WebSocket-Protocol": "skiff.v1.tcp"}
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


def way(upstream):
    return f"/v1/ports/{upstream.port}:tcp"


def echo(connection):
    while piece := connection.sock.recv(65536):
        connection.sock.sendall(piece)
    connection.end()


def block(size):
    return (hashlib.sha256(b"block").digest() * (size // 32 + 1))[:size]


def data(socket_):
    """The payloads of binary messages, up to an empty text or the close frame, of which the code is returned."""
    pieces = []
    while (frame := socket_.recv()) is not None:
        opcode, payload = frame
        if opcode == BINARY:
            pieces.append(payload)
        elif opcode == TEXT:
            assert payload == b""
            return b"".join(pieces), "end"
        elif opcode == CLOSE:
            return b"".join(pieces), struct.unpack(">H", payload[:2])[0] if payload else 1005
    return b"".join(pieces), None


def open_sockets(agent):
    metrics = agent.request("GET", "/metrics").text
    return int(next(line for line in metrics.splitlines() if line.startswith("skiff_websockets ")).split()[1])


def none_is_left(agent):
    until(lambda: open_sockets(agent) == 0, what="no WebSocket is left")


# --- bytes ---


@pytest.mark.parametrize("headers", [{}, TCP], ids=["plain", "skiff.v1.tcp"])
def test_8_mib_go_both_ways_at_once(agent, headers):
    sent = block(8 * MIB)
    with Upstream(echo) as upstream, agent.raw_ws(way(upstream), headers) as ws:
        writer = threading.Thread(target=lambda: [ws.send(BINARY, sent[at:at + 100_003]) for at in range(0, len(sent), 100_003)])
        writer.start()
        got = hashlib.sha256()
        left = len(sent)
        while left:
            opcode, payload = ws.recv()
            assert opcode == BINARY and payload
            got.update(payload)
            left -= len(payload)
        writer.join(30)
        assert got.hexdigest() == hashlib.sha256(sent).hexdigest()


def test_one_frame_may_have_any_length_and_any_fragments(agent):
    sent = block(8 * MIB + 1)
    with Upstream(echo) as upstream, agent.raw_ws(way(upstream), TCP) as ws:
        before = proc.rss_bytes(agent.pid)

        def write():
            ws.send(BINARY, sent)
            ws.send(BINARY, b"", final=False)
            for byte in b"in fragments":
                ws.send(0, bytes([byte]), final=False)
                ws.send(PING, b"between")
            ws.send(0, b"")
            ws.send(BINARY, b"")  # of nothing nothing comes
            ws.send(TEXT, b"")

        writer = threading.Thread(target=write)
        writer.start()
        assert data(ws) == (sent + b"in fragments", "end")
        writer.join(30)
        assert ws.close_code() == 1000
        assert proc.rss_bytes(agent.pid) - before < proc.allowance(4 * MIB)
    none_is_left(agent)


def test_a_server_may_speak_first(agent):
    def greet(connection):
        connection.send("SSH-2.0-none\r\n")
        assert connection.file.readline() == b"SSH-2.0-client\r\n"
        connection.send("bye")

    with Upstream(greet) as upstream, agent.raw_ws(way(upstream)) as ws:
        assert ws.recv() == (BINARY, b"SSH-2.0-none\r\n")
        ws.send(BINARY, b"SSH-2.0-client\r\n")
        assert data(ws) == (b"bye", 1000), "the server's end is the end for a client without half-closes"
    none_is_left(agent)


def test_ipv6_loopback_is_tried_too(agent):
    with Upstream(echo, host="::1") as upstream, agent.raw_ws(way(upstream)) as ws:
        ws.send(BINARY, b"six")
        assert ws.recv() == (BINARY, b"six")


# --- ends ---


def test_each_direction_ends_by_itself(agent):
    heard, go = [], threading.Event()

    def slow(connection):
        heard.append(connection.file.read())
        assert go.wait(30)
        connection.send("after its end")

    with Upstream(slow) as upstream, agent.raw_ws(way(upstream), TCP) as ws:
        ws.send(BINARY, b"all of it")
        ws.send(TEXT, b"")
        until(lambda: heard == [b"all of it"], what="the end of what the client sends")
        go.set()
        assert data(ws) == (b"after its end", "end")
        assert ws.close_code() == 1000

    def early(connection):
        connection.send("early")
        connection.end()
        heard.append(connection.file.read())

    with Upstream(early) as upstream, agent.raw_ws(way(upstream), TCP) as ws:
        assert data(ws) == (b"early", "end")
        ws.send(BINARY, b"still heard")
        ws.send(TEXT, b"")
        assert ws.close_code() == 1000
        until(lambda: heard[1:] == [b"still heard"])
    none_is_left(agent)


def test_what_a_client_sends_before_it_closes_arrives(agent):
    heard = []

    def chatty(connection):
        connection.send(b"x" * 1000)  # is never read
        heard.append(connection.file.read())

    sent = block(3 * MIB)
    with Upstream(chatty) as upstream:
        with agent.raw_ws(way(upstream)) as ws:
            ws.send(BINARY, sent)
            ws.send(CLOSE, struct.pack(">H", 1000))
            until(lambda: heard, what="all of it")
        assert heard == [sent]
    none_is_left(agent)


@pytest.mark.parametrize("how", ["closes", "vanishes"])
def test_a_client_that_has_left_takes_the_servers_connection_along(agent, how):
    over = []
    with Upstream(lambda connection: over.append(connection.ended())) as upstream:
        with agent.raw_ws(way(upstream), TCP) as ws:
            ws.send(BINARY, b"hello")
            if how == "closes":
                ws.send(CLOSE)
            else:
                ws.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        until(lambda: over, what="the server's end")
    none_is_left(agent)


def test_a_connection_that_breaks_is_told_apart_from_one_that_ends(agent):
    def reset(connection):
        connection.sock.recv(5)
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.file.close()
        connection.sock.close()

    with Upstream(reset) as upstream, agent.raw_ws(way(upstream), TCP) as ws:
        ws.send(BINARY, b"hello")
        assert data(ws) == (b"", 1011)
    none_is_left(agent)


def test_a_silence_after_one_end_has_an_end(start_agent):
    agent = start_agent("--port-timeout", "300ms")
    with Upstream(lambda connection: connection.ended() and connection.file.read()) as upstream:
        with agent.raw_ws(way(upstream), TCP) as ws:
            ws.send(BINARY, b"x")
            ws.send(TEXT, b"")
            # The server has ended its side, too, or is let go.
            assert data(ws)[1] in ("end", 4008)
    hangs = threading.Event()
    with Upstream(lambda connection: hangs.wait(30)) as upstream:
        with agent.raw_ws(way(upstream), TCP) as ws:
            ws.send(TEXT, b"")
            assert data(ws) == (b"", 4008)
        hangs.set()


# --- what is refused ---


def test_a_closed_or_invalid_port_is_refused_before_the_handshake(agent):
    def asked(path, **how):
        return agent.request("GET", path, headers={
            "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": base64.b64encode(bytes(16)).decode(), **how})

    with socket.socket() as held:  # and does not listen
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        asked(f"/v1/ports/{port}:tcp").problem(502, "port_not_listening")
    for none in "0", "65536", "x", "-1", "127.0.0.1:80", "10.0.0.1:5432", "localhost:80", "1%00":
        asked(f"/v1/ports/{none}:tcp").problem(400)
    asked(f"/v1/ports/{agent.port}:tcp").problem(400, "invalid_field")
    agent.request("GET", f"/v1/ports/{port}:tcp").problem(426, "upgrade_required")
    asked(f"/v1/ports/{port}:tcp?host=10.0.0.1").problem(400, "unknown_field")
    asked(f"/v1/ports/{port}:udp").problem(404, "not_found")
    asked("/v1/ports/:tcp").problem(404, "not_found")
    asked(f"/v1/ports/{port}:tcp", Origin="http://evil.example").problem(403)
    assert agent.request("POST", f"/v1/ports/{port}:tcp").status == 405


def test_the_scope_is_that_of_ports(start_agent):
    agent = start_agent(tokens=("reads read", "runs exec", "passes ports", "chief admin"))
    with Upstream(echo) as upstream:
        for token in "reads", "runs":
            with pytest.raises(websockets.InvalidStatusCode) as refused:
                agent.ws(way(upstream), token=token)
            assert refused.value.status_code == 403
        with pytest.raises(websockets.InvalidStatusCode) as refused:
            agent.ws(way(upstream), token="nobody")
        assert refused.value.status_code == 401
        assert upstream.connections == 0, "who may not come touches no server"
        for token in "passes", "chief":
            with agent.ws(way(upstream), token=token) as ws:
                ws.send(b"x")
                assert ws.recv() == b"x"
        bearer = "skiff.bearer." + base64.urlsafe_b64encode(b"passes").decode().rstrip("=")
        with agent.ws(way(upstream), ["skiff.v1.tcp", bearer], headers={"Authorization": None}) as ws:
            assert ws.subprotocol == "skiff.v1.tcp"
            ws.send(b"x")
            assert ws.recv() == b"x"


@pytest.mark.parametrize("headers, frames, code", [
    ({}, [(TEXT, b"hello")], 1003),
    ({}, [(TEXT, b"")], 1003),
    (TCP, [(TEXT, b"hello")], 1003),
    (TCP, [(TEXT, b""), (BINARY, b"late")], 1002),
    (TCP, [(TEXT, b"x" * (2 * MIB))], 1009),
    (TCP, [(TEXT, b"\xff")], 1007),
    (TCP, [(3, b"")], 1002),
], ids=["text", "an empty text without the subprotocol", "text with it", "bytes after the end", "a long text", "not UTF-8", "opcode"])
def test_other_messages_end_the_connection(agent, headers, frames, code):
    over = []

    def serve(connection):
        connection.ended()
        over.append(True)

    with Upstream(serve) as upstream:
        with agent.raw_ws(way(upstream), headers) as ws:
            if frames[-1] == (BINARY, b"late"):
                ws.send(BINARY, b"x")
            for frame in frames:
                ws.send(*frame)
            # A server that has heard the end may have ended its side.
            while (got := data(ws))[1] == "end":
                pass
            assert got[1] in (code, 1000) if code == 1002 and headers else got[1] == code
        until(lambda: over, what="the server's end")
    none_is_left(agent)


def test_it_ends_with_the_token(start_agent, tmp_path):
    signer = Signer(tmp_path)
    agent = start_agent("--public-key", signer.public, "--sandbox-id", "box-1")
    over = []
    with Upstream(lambda connection: over.append(connection.ended())) as upstream:
        token = signer.token(scope="ports", exp=time.time() + 2)
        with agent.raw_ws(way(upstream), {"Authorization": f"Bearer {token}"}) as ws:
            ws.send(BINARY, b"x")
            assert ws.close_code() == 4401
        until(lambda: over, what="the server's end")


def test_a_port_socket_counts_as_activity_and_ends_when_the_agent_stops(start_agent):
    agent = start_agent()
    with Upstream(echo) as upstream, agent.raw_ws(way(upstream), TCP) as ws:
        ws.send(BINARY, b"x")
        assert ws.recv() == (BINARY, b"x")
        assert agent.request("GET", "/v1/activity").json()["in_use"] is True
        assert open_sockets(agent) == 1
        agent.process.send_signal(signal.SIGTERM)
        assert ws.close_code() == 1001
    assert agent.process.wait(30) == 143


# --- many, and slow ones ---


def test_200_at_once_and_no_descriptor_is_left(agent):
    before = until_still(agent.descriptor_count)
    with Upstream(echo, backlog=256) as upstream:
        def one(number):
            sent = block(50_000 + number)
            with agent.raw_ws(way(upstream), TCP) as ws:
                gate.wait(60)
                ws.send(BINARY, sent)
                ws.send(TEXT, b"")
                assert data(ws) == (sent, "end")
                assert ws.close_code() == 1000

        gate = threading.Barrier(200)
        with concurrent.futures.ThreadPoolExecutor(200) as pool:
            list(pool.map(one, range(200)))
    none_is_left(agent)
    until(lambda: agent.descriptor_count() <= before, what="all descriptors are closed")


@pytest.mark.parametrize("who", ["client", "server"])
def test_a_peer_that_reads_nothing_holds_up_no_others_and_takes_no_memory(agent, who):
    reads, count = threading.Event(), [0]

    def pour(send):
        piece = block(MIB)
        with contextlib.suppress(OSError):
            for _ in range(64):
                send(piece)
                count[0] += 1

    def serve(connection):
        if who == "client":
            pour(connection.sock.sendall)
        else:
            reads.wait(60)
            got = 0
            while piece := connection.sock.recv(65536):
                got += len(piece)
            connection.send(str(got))

    before = proc.rss_bytes(agent.pid)
    with Upstream(serve) as upstream, Upstream(echo) as other, agent.raw_ws(way(upstream), TCP) as ws:
        writer = threading.Thread(target=lambda: (pour(lambda piece: ws.send(BINARY, piece)), ws.send(TEXT, b"")))
        if who == "server":
            writer.start()
        assert until_still(lambda: count[0]) < 64
        assert proc.rss_bytes(agent.pid) - before < proc.allowance(4 * MIB)
        with agent.raw_ws(way(other)) as beside:
            beside.send(BINARY, b"x")
            assert beside.recv() == (BINARY, b"x")
        reads.set()
        got, end = data(ws)
        assert end == "end" and (len(got) == 64 * MIB if who == "client" else got == str(64 * MIB).encode())
        if who == "server":
            writer.join(30)


def test_the_connection_of_a_peer_that_never_reads_is_closed(start_agent):
    agent = start_agent("--port-timeout", "300ms", "--keepalive", "100ms")
    hangs, over = threading.Event(), []
    with Upstream(lambda connection: hangs.wait(30)) as upstream:
        with agent.raw_ws(way(upstream)) as ws:
            for _ in range(64):
                ws.send(BINARY, block(MIB))
            assert ws.close_code() in (4008, None)  # reset while it still sent
        none_is_left(agent)
        hangs.set()

    def pour(connection):
        with contextlib.suppress(OSError):
            for _ in range(256):
                connection.sock.sendall(block(MIB))
        over.append(True)

    with Upstream(pour) as upstream, agent.raw_ws(way(upstream)):
        until(lambda: over, seconds=40, what="the server is let go")
        none_is_left(agent)


def test_floods_of_frames_and_of_ends_leave_nothing(agent):
    before = until_still(agent.descriptor_count)
    with Upstream(echo) as upstream:
        with agent.raw_ws(way(upstream), TCP) as ws:
            masked = lambda opcode: bytes([0x80 | opcode, 0x80, 0, 0, 0, 0])  # noqa: E731
            ws.sock.sendall(masked(PING) * 20_000 + masked(BINARY) * 20_000 + masked(TEXT) * 20_000 + masked(CLOSE) * 20_000)
            assert data(ws)[1] in ("end", 1000, 1005)
        for number in range(100):
            with agent.raw_ws(way(upstream), TCP if number % 2 else {}) as ws:
                if number % 3:
                    ws.send(CLOSE, struct.pack(">H", 1000) * (number % 5 > 0))
    none_is_left(agent)
    until(lambda: agent.descriptor_count() <= before, what="all descriptors are closed")
