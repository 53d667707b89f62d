"""Attacks of a stranger on the gRPC port of the dialect sandboxd: floods of frames that cost more than they bring, header
sections without end, windows that never open, silent connections. Each connection ends with a reason, and
the server serves everybody else meanwhile."""

import os
import socket
import struct

import hpack
import pytest

import proc
from grpc_client import Client, config, executed
from sandboxd import doors, start_doors  # noqa: F401
from waiting import until

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, END_HEADERS = 1, 4
PROTOCOL_ERROR, REFUSED, CALM = 1, 7, 11
UNIMPLEMENTED = 12  # of gRPC
MIB = 1024 * 1024


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def request(more=(), path="/process.v1.ProcessService/Execute"):
    return hpack.Encoder().encode([(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "x"),
                                   ("content-type", "application/grpc"), ("te", "trailers"), *more], huffman=False)


class Raw:
    """Frames as they are; what comes back is cut into (kind, flags, stream, payload)."""

    def __init__(self, door, greet=True):
        self.sock = socket.create_connection(("127.0.0.1", door.port), 30)
        self.buffer = b""
        if greet:
            self.send(PREFACE + frame(SETTINGS))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data)

    def read(self):
        """The next frame; None at the end."""
        while True:
            if len(self.buffer) >= 9:
                size = int.from_bytes(self.buffer[:3], "big")
                if len(self.buffer) >= 9 + size:
                    kind, flags = self.buffer[3], self.buffer[4]
                    stream = int.from_bytes(self.buffer[5:9], "big")
                    payload = self.buffer[9:9 + size]
                    self.buffer = self.buffer[9 + size:]
                    return kind, flags, stream, payload
            piece = self.sock.recv(65536)
            if not piece:
                return None
            self.buffer += piece

    def end(self):
        """Reads on to the end of the connection; the code of its GOAWAY, None without one."""
        code = None
        while (got := self.read()) is not None:
            if got[0] == GOAWAY:
                code = int.from_bytes(got[3][4:8], "big")
        return code

    def flood(self, data, times=100):
        """Sends until the other side has had enough."""
        try:
            for _ in range(times):
                self.send(data)
        except (BrokenPipeError, ConnectionResetError):
            pass


def still_serves(doors):
    with Client(doors[1]) as client:
        assert executed(client.unary("Execute", config("echo", "here")))[1] == b"here\n"
    agent = doors[0].agent
    until(lambda: not [one for one in agent.request("GET", "/v1/commands").json()["items"] if one["state"] != "ended"],
          what="the end of every command")


FLOODS = {
    "pings": frame(PING, payload=bytes(8)) * 100,
    "settings": frame(SETTINGS) * 100,
    "settings with entries": frame(SETTINGS, payload=struct.pack(">HI", 4, 65535) * 20) * 100,
    "priorities": frame(PRIORITY, stream=3, payload=bytes(5)) * 100,
    "window updates": frame(WINDOW_UPDATE, payload=struct.pack(">I", 1)) * 100,
}


@pytest.mark.parametrize("what", FLOODS)
def test_floods_of_control_frames_end_the_connection(doors, what):
    with Raw(doors[1]) as raw:
        raw.flood(FLOODS[what])
        assert raw.end() == CALM
    still_serves(doors)


def test_unknown_frames_are_skipped_and_keep_nothing_open(start_doors):
    """RFC 9113, 5.5: they cost no more than their bytes, and are not use of the connection."""
    doors = start_doors("--idle-timeout", "200ms")
    with Raw(doors[1]) as raw:
        raw.flood(frame(0x42, payload=b"x") * 100)
        assert raw.end() == 0
    still_serves(doors)


def test_rapid_reset_ends_the_connection(doors):
    """CVE-2023-44487: streams are begun and reset in one breath, so that there is never one too many."""
    head = request()
    with Raw(doors[1]) as raw:
        for batch in range(0, 4000, 100):
            raw.flood(b"".join(frame(HEADERS, END_HEADERS, 2 * i + 1, head) +
                               frame(RST_STREAM, 0, 2 * i + 1, struct.pack(">I", 8)) for i in range(batch, batch + 100)), 1)
        assert raw.end() == CALM
    still_serves(doors)


def test_streams_that_make_the_server_reset_them_end_the_connection(doors):
    """The server resets the streams itself ("MadeYouReset"): the client sends a window update of 0 for each stream that has begun."""
    head = request()
    with Raw(doors[1]) as raw:
        for batch in range(0, 4000, 100):
            raw.flood(b"".join(frame(HEADERS, END_HEADERS, 2 * i + 1, head) +
                               frame(WINDOW_UPDATE, 0, 2 * i + 1, bytes(4)) for i in range(batch, batch + 100)), 1)
        assert raw.end() in (CALM, PROTOCOL_ERROR)
    still_serves(doors)


def test_continuations_without_end(doors):
    """CVE-2024-27316 and the like: a header section that goes on and on, also in empty pieces."""
    for piece in (request([("x", "y" * 1000)]), b""):
        with Raw(doors[1]) as raw:
            raw.send(frame(HEADERS, 0, 1, request()))
            raw.flood(frame(CONTINUATION, 0, 1, piece) * 20)
            assert raw.end() == CALM
    still_serves(doors)


def test_empty_data_frames_without_end(doors):
    with Raw(doors[1]) as raw:
        raw.send(frame(HEADERS, END_HEADERS, 1, request()))
        raw.flood(frame(DATA, 0, 1) * 100)
        assert raw.end() == CALM
    still_serves(doors)


def test_a_header_list_that_is_too_long_resets_its_stream(doors):
    with Raw(doors[1]) as raw:
        more = [(f"x-{i}", "y" * 1000) for i in range(40)]
        block = request(more)
        raw.send(frame(HEADERS, 0, 1, block[:16384]) + frame(CONTINUATION, 0, 1, block[16384:32768]) +
                 frame(CONTINUATION, END_HEADERS, 1, block[32768:]))
        while (got := raw.read())[0] != RST_STREAM:
            pass
        assert got[2] == 1 and int.from_bytes(got[3], "big") == CALM
        raw.send(frame(HEADERS, END_HEADERS, 3, request()) + frame(DATA, END_STREAM, 3, bytes(5)))
        while (got := raw.read())[:3:2] != (HEADERS, 3):
            pass
    still_serves(doors)


def test_an_hpack_bomb_takes_no_memory(doors):
    """A field of 4 KiB in the table, then a frame of nothing but references to it, one byte each."""
    encoder = hpack.Encoder()
    first = encoder.encode([(":method", "POST"), (":scheme", "http"), (":path", "/"), ("x", "y" * 3900)])
    before = proc.rss_bytes(doors[0].agent.pid)
    with Raw(doors[1]) as raw:
        raw.send(frame(HEADERS, END_HEADERS, 1, first))
        raw.flood(b"".join(frame(HEADERS, END_HEADERS, 2 * i + 3, b"\xbe" * 16000) for i in range(20)), 1)
        raw.sock.shutdown(socket.SHUT_WR)
        raw.end()
    assert proc.rss_bytes(doors[0].agent.pid) - before < proc.allowance(32 * MIB)
    still_serves(doors)


BROKEN = {
    "HTTP/1.1": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "another preface": b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n" + bytes(100),
    "no settings": PREFACE + frame(PING, payload=bytes(8)),
    "a frame that is too large": PREFACE + frame(SETTINGS) + b"\xff\xff\xff" + bytes(6),
    "settings of a wrong size": PREFACE + frame(SETTINGS, payload=b"abc"),
    "a window of more than 2^31": PREFACE + frame(SETTINGS) + frame(WINDOW_UPDATE, payload=b"\x7f\xff\xff\xff") * 2,
    "data for no stream": PREFACE + frame(SETTINGS) + frame(DATA, 0, 1, b"x"),
    "an even stream": PREFACE + frame(SETTINGS) + frame(HEADERS, END_HEADERS, 2, request()),
    "bytes that are not HPACK": PREFACE + frame(SETTINGS) + frame(HEADERS, END_HEADERS, 1, b"\xff" * 50),
    "a continuation of nothing": PREFACE + frame(SETTINGS) + frame(CONTINUATION, END_HEADERS, 1, b""),
    "a push": PREFACE + frame(SETTINGS) + frame(PUSH, END_HEADERS, 1, bytes(8)),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_not_http2_ends_the_connection(doors, what):
    with Raw(doors[1], greet=False) as raw:
        raw.send(BROKEN[what])
        assert raw.end() not in (None, 0)
    still_serves(doors)


def test_streams_above_the_limit_are_refused_one_by_one(doors):
    """RFC 9113, 5.1.2: those that have begun go on, also for a client that was told of the limit."""
    with Client(doors[1]) as client:
        assert executed(client.unary("Execute", config("true")))[0] == 0  # and so it knows the limit
        client.h2.remote_settings.max_concurrent_streams = 1000
        client.h2.remote_settings.acknowledge()
        calls = [client.begin("/grpc.health.v1.Health/Watch", b"") for _ in range(300)]
        client.until(lambda: all(call.messages() or call.over for call in calls))
        assert [call.reset for call in calls] == [None] * 256 + [REFUSED] * 44
        client.cancel(calls[0])
        assert executed(client.unary("Execute", config("echo", "on")))[1] == b"on\n"
        assert not calls[1].over and not calls[255].over
    still_serves(doors)


def test_streams_above_the_limit_without_end(doors):
    with Raw(doors[1]) as raw:
        head = request()
        raw.flood(b"".join(frame(HEADERS, END_HEADERS, 2 * i + 1, head) for i in range(4000)), 1)
        assert raw.end() == CALM
    still_serves(doors)


def test_a_request_that_never_begins_is_given_up(start_doors):
    doors = start_doors("--body-timeout", "200ms")
    with Client(doors[1]) as client:
        call = client.finish(client.begin("Execute"))
        assert call.status == 4 and "stopped in the middle" in call.message


def test_a_silent_connection_is_closed(start_doors):
    doors = start_doors("--header-timeout", "200ms", "--idle-timeout", "200ms", "--keepalive", "100ms", "--write-timeout",
                        "200ms")
    with Raw(doors[1], greet=False) as raw:
        assert raw.end() is None  # not a word, not an answer
    with Raw(doors[1], greet=False) as raw:
        raw.send(PREFACE[:10])
        assert raw.end() is None
    with Raw(doors[1]) as raw:
        assert raw.end() == 0  # idle
    with Raw(doors[1]) as raw:
        raw.send(frame(HEADERS, END_HEADERS, 1, request()))  # nothing more, and no answer to a ping
        kinds = []
        while (got := raw.read()) is not None:
            kinds.append(got[0])
        assert PING in kinds
    still_serves(doors)


def test_half_messages_hold_memory_for_no_longer_than_their_patience(start_doors):
    doors = start_doors("--body-timeout", "200ms")
    with Client(doors[1]) as client:
        call = client.begin("WriteStdin")
        client.send(call, struct.pack(">BI", 0, 1000000) + bytes(1000))
        client.finish(call)
        assert call.status == 4 and "stopped in the middle" in call.message
    still_serves(doors)


@pytest.mark.parametrize("flags", [1, 2, 0xff])
def test_a_message_that_is_packed_starts_nothing(doors, flags):
    """No coding was agreed on: what it would unpack to is not looked at."""
    with Client(doors[1]) as client:
        message = config("touch", "packed")
        call = client.begin("Execute", headers=[("grpc-encoding", "gzip")])
        client.send(call, struct.pack(">BI", flags, len(message)) + message, end=True)
        client.finish(call)
        assert call.status == UNIMPLEMENTED and not call.messages()
    assert not (doors[0].agent.root / "packed").exists()
    still_serves(doors)


def test_descriptors_and_tasks_go_with_their_connections(doors):
    pid = doors[0].agent.pid
    still_serves(doors)
    before = len(os.listdir(f"/proc/{pid}/fd"))
    raws = [Raw(doors[1]) for _ in range(40)]
    for raw in raws:
        raw.send(frame(HEADERS, END_HEADERS, 1, request()))
    for raw in raws:
        raw.sock.close()
    until(lambda: len(os.listdir(f"/proc/{pid}/fd")) <= before, what="the end of every connection")
