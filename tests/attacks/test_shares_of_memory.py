"""Memory for what was received and is not yet used: who fills it takes it from nobody else, and it goes back."""

import contextlib
import select
import struct
import time

import hpack
import pytest

import proc
from e2b import STREAM, envelope
from grpc_client import Client, field
from holders import WEBSOCKET, ask, frame, get, status_of
from sandboxd import client, doors, rest, start_doors  # noqa: F401
from test_dialect_sandboxd import DATA, END_HEADERS, HEADERS, Raw, frame as h2_frame, request
from waiting import until
from wire import request_bytes

MIB = 1 << 20
READER = "reader-" + "r" * 32
FEW = ("--max-received-bytes", "4MiB")


@pytest.fixture
def agent(start_agent):
    return start_agent(*FEW, tokens=(f"{READER} read",))


def close_code(file):
    """The close code of the WebSocket whose frames `file` yields; None when it ends without one."""
    while (head := file.read(2)) and len(head) == 2:
        size = head[1] & 127
        size = struct.unpack(">H", file.read(2))[0] if size == 126 else size
        payload = file.read(size)
        if head[0] & 15 == 8:
            return struct.unpack(">H", payload[:2])[0]
    return None


def test_half_messages_of_a_reader_leave_room_for_others(agent):
    before = proc.rss_bytes(agent.pid)
    with contextlib.ExitStack() as held:
        files = []
        for _ in range(16):
            files.append(ask(held, agent.connect, get("/v1/connect", {**agent.headers(token=READER), **WEBSOCKET})))
            sock = files[-1]
            with contextlib.suppress(OSError):
                sock_of(sock).sendall(frame(1, b"x" * (MIB - 1), length=MIB))
        ended = [file for file in files if select.select([sock_of(file)], [], [], 0)[0]]
        assert len(ended) >= 8 and {close_code(file) for file in ended} == {1013}
        large = "#" * (900 << 10)
        assert agent.run(f"echo in {large}")["stdout"] == "in\n"
        assert proc.rss_bytes(agent.pid) - before < proc.allowance(24 * MIB)
    # Up to 8 MiB that are free stay in the heap (base/memory.cpp).
    until(lambda: proc.rss_bytes(agent.pid) - before < proc.allowance(10 * MIB), seconds=20, what="the memory of the burst")


def sock_of(file):
    return file.raw._sock


def status_of_call(client, call):  # noqa: F811
    client.finish(call)
    return call.status


def test_half_bodies_of_a_reader_leave_room_for_others(agent):
    with contextlib.ExitStack() as held:
        for _ in range(16):
            sock = held.enter_context(agent.connect())
            fields = agent.headers({"Content-Length": str(MIB), "Content-Type": "application/json"}, READER)
            sock.sendall(request_bytes("POST", "/v1/sessions/default/wait", fields, b" " * (900 << 10)))
        assert agent.run("echo in " + "#" * (900 << 10))["stdout"] == "in\n"


def test_half_heads_of_strangers_leave_room_for_others(start_agent):
    agent = start_agent("--max-received-bytes", "1MiB")
    with contextlib.ExitStack() as held:
        for _ in range(60):
            sock = held.enter_context(agent.connect())
            with contextlib.suppress(OSError):
                sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 30_000)
        for _ in range(5):
            assert agent.request("GET", "/v1/version", headers={"X-More": "y" * 2500}).status == 200


def test_channels_of_a_reader_leave_some_to_others(agent):
    agent.start("exec sleep 1000", id="long")
    with contextlib.ExitStack() as held:
        refused = 0
        for _ in range(5):
            file = ask(held, agent.connect, get("/v1/connect", {**agent.headers(token=READER), **WEBSOCKET}))
            text = b"".join(frame(1, b'{"type":"attach","channel":%d,"id":"long"}' % number) for number in range(1, 1025))
            sock_of(file).sendall(text + frame(1, b'{"type":"ping","data":"last"}'))
            seen = b""
            while b'"last"' not in seen:
                seen += file.read1(65536)
            refused += seen.count(b"resource_exhausted")
        assert refused == 1024
        with agent.ws("/v1/connect") as socket:
            socket.send({"type": "attach", "channel": 1, "id": "long"})
            socket.send({"type": "ping", "data": "on"})
            told = [socket.recv()]
            while told[-1]["type"] != "pong":
                told.append(socket.recv())
            assert not any(one["type"] == "error" for one in told), told
    assert agent.request("DELETE", "/v1/commands/long").status == 204


def test_half_envelopes_leave_room_for_others(start_agent):
    from dialect import Door
    agent = start_agent(*FEW, "--dialect", "e2b=127.0.0.1:0")
    door = Door(agent)
    with contextlib.ExitStack() as held:
        for _ in range(16):
            sock = held.enter_context(door.connect())
            body = envelope(b" " * MIB)[:-1]
            with contextlib.suppress(OSError):
                sock.sendall(request_bytes("POST", "/process.Process/Start",
                                           {"Host": door.host, **STREAM, "Content-Length": str(2 * MIB)}, body))
        # However much has arrived: of 16 that fill 4 MiB, one holds more than twice what this one needs.
        answer = door.request("POST", "/process.Process/List", body=b"{}" + b" " * (160 << 10),
                              headers={"Content-Type": "application/json", "Connect-Protocol-Version": "1"})
        assert answer.status == 200, answer


def test_half_messages_of_grpc_leave_room_for_others(start_doors):  # noqa: F811
    _, door = start_doors(*FEW)
    with contextlib.ExitStack() as held:
        for _ in range(6):
            stranger = held.enter_context(Client(door))
            call = stranger.begin("WriteStdin", end=False)
            with contextlib.suppress(OSError):
                stranger.send(call, struct.pack(">BI", 0, 2 * MIB) + bytes(MIB))
        with Client(door) as other:
            call = other.begin("WriteStdin", field(1, 7) + field(2, b"x" * (300 << 10)))
            status = status_of_call(other, call)
            assert status == 5, status  # NOT_FOUND: it was read to its end


def test_small_halves_of_messages_on_many_streams_are_counted(start_doors):  # noqa: F811
    _, door = start_doors(*FEW)
    pid = door.agent.pid
    before = proc.rss_bytes(pid)
    with contextlib.ExitStack() as held:
        for _ in range(6):
            raw = held.enter_context(Raw(door))
            with contextlib.suppress(OSError):  # it may be told to calm down
                for number in range(200):
                    stream = 2 * number + 1
                    raw.send(h2_frame(HEADERS, END_HEADERS, stream, request(path="/process.v1.ProcessService/WriteStdin")))
                    raw.send(h2_frame(DATA, 0, stream, struct.pack(">BI", 0, 64_000) + bytes(15_000)))
                    for _ in range(3):
                        raw.send(h2_frame(DATA, 0, stream, bytes(15_000)))
                    if number % 8 == 7:  # within the window of the connection
                        raw.send(h2_frame(6, 0, 0, b"12345678"))
                        while (got := raw.read()) is not None and got[0] != 6:
                            pass
                        if got is None:
                            break
        assert proc.rss_bytes(pid) - before < proc.allowance(24 * MIB)
        with Client(door) as other:
            call = other.begin("/grpc.health.v1.Health/Check", b"")
            assert status_of_call(other, call) == 0


def test_heads_of_calls_are_not_kept(start_doors):  # noqa: F811
    _, door = start_doors()
    pid = door.agent.pid
    with Client(door) as probe:  # what is made once
        probe.begin("/grpc.health.v1.Health/Watch", b"")
    before = proc.rss_bytes(pid)
    with contextlib.ExitStack() as held:
        for _ in range(8):
            raw = held.enter_context(Raw(door))
            for number, head in zip(range(200), heads()):
                raw.send(h2_frame(HEADERS, END_HEADERS, 2 * number + 1, head))
            raw.send(h2_frame(6, 0, 0, b"12345678"))
            while (got := raw.read()) is not None and got[0] != 6:
                pass
        assert proc.rss_bytes(pid) - before < proc.allowance(24 * MIB)
        with Client(door) as other:
            call = other.begin("/grpc.health.v1.Health/Check", b"")
            assert status_of_call(other, call) == 0


def heads():
    """The header blocks of calls: each repeats, by one byte, each of eight fields that the first has sent."""
    encoder = hpack.Encoder()
    fields = [(":method", "POST"), (":scheme", "http"), (":path", "/grpc.health.v1.Health/Watch"), (":authority", "x"),
              ("content-type", "application/grpc"), ("te", "trailers"), *[("x", "v" * 3600)] * 8]
    while True:
        yield encoder.encode(fields, huffman=False)


def test_bodies_that_no_call_reads_are_bounded(start_doors):  # noqa: F811
    _, door = start_doors(*FEW)
    before = proc.rss_bytes(door.agent.pid)
    with contextlib.ExitStack() as held:
        for _ in range(24):
            raw = held.enter_context(Raw(door))
            for number in range(4):
                raw.send(h2_frame(HEADERS, END_HEADERS, 2 * number + 1, request(path="/grpc.health.v1.Health/Watch")))
                raw.send(h2_frame(DATA, 0, 2 * number + 1, struct.pack(">BI", 0, 0)))
                with contextlib.suppress(OSError):
                    for _ in range(15):
                        raw.send(h2_frame(DATA, 0, 2 * number + 1, bytes(16_000)))
        with Client(door) as other:
            assert status_of_call(other, other.begin("/grpc.health.v1.Health/Check", b"")) == 0
        assert proc.rss_bytes(door.agent.pid) - before < proc.allowance(16 * MIB)


def test_a_message_that_takes_too_long_frees_its_memory(start_agent):
    agent = start_agent("--body-timeout", "300ms", "--max-received-bytes", "1MiB", tokens=(f"{READER} read",))
    with contextlib.ExitStack() as held:
        file = ask(held, agent.connect, get("/v1/connect", {**agent.headers(token=READER), **WEBSOCKET}))
        sock_of(file).sendall(frame(1, b"x" * (500 << 10), length=MIB))
        before = time.monotonic()
        until(lambda: status_of(agent.connect, request_bytes(
            "POST", "/v1/run", agent.headers({"Content-Length": str(900 << 10)}), b"#" * (900 << 10))) == 200, what="room")
        assert time.monotonic() - before < 60
        assert close_code(file) == 1013
