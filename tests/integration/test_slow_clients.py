"""Clients that read or send slowly: bounded memory, nobody else held up, and nothing lost. Those that take or send nothing
at all are test_bounds.py's."""

import hashlib
import os
import pathlib
import socket
import ssl
import time

import pytest

import proc
from sockets import RawWs
from test_tls import make_certificate
from waiting import until, until_still
from wire import Stream, request_bytes

MIB = 1024 * 1024


@pytest.fixture
def tls_agent(start_agent, tmp_path):
    certificate, key = make_certificate(tmp_path / "tls")
    return start_agent("--tls-cert", certificate, "--tls-key", key, tls=ssl.create_default_context(cafile=certificate))


def test_a_slow_reader_over_tls_misses_nothing_and_costs_bounded_memory(tls_agent):
    agent = tls_agent
    before = proc.rss_bytes(agent.pid)
    body = {"command": "exec head -c 100000000 /dev/zero", "mode": "stream", "id": "c"}
    with agent.stream("POST", "/v1/commands", json=body, headers={"Accept": "application/octet-stream"}) as stream:
        pieces = stream.chunks()
        size = len(next(pieces))
        pid = agent.request("GET", "/v1/commands/c").json()["pid"]
        until_still(lambda: proc.written_bytes(pid))  # it waits for this reader
        assert proc.alive(pid)
        assert agent.run("echo others go on")["exit_code"] == 0
        assert proc.rss_bytes(agent.pid) - before < proc.allowance(48 * MIB)
        size += sum(map(len, pieces))
    assert size == 100_000_000


def test_a_slow_download_over_tls_holds_no_other_file_up(tls_agent):
    agent = tls_agent
    data = os.urandom(16 * MIB)
    (agent.root / "large").write_bytes(data)
    digests = []
    streams = [agent.stream("GET", "/v1/files/large") for _ in range(8)]  # four for each disk thread
    assert agent.request("PUT", "/v1/files/other", body=b"x").status == 201
    assert agent.request("GET", "/v1/files/other").body == b"x"
    for stream in streams:
        with stream:
            digests.append(hashlib.sha256(stream.read()).digest())
    assert digests == [hashlib.sha256(data).digest()] * 8


class Upload:
    """A PUT whose body comes in pieces."""

    def __init__(self, agent, name, size):
        self.sock = agent.connect()
        self.sock.sendall(request_bytes("PUT", f"/v1/files/{name}", agent.headers({"Content-Length": str(size)})))

    def answer(self):
        with Stream(self.sock, "PUT") as stream:
            return stream.answer()


def test_an_upload_that_trickles_is_taken_however_long_it_takes(start_agent):
    agent = start_agent("--body-timeout", "2s")
    pieces = [os.urandom(10_000) for _ in range(20)]
    uploads = [Upload(agent, f"f{number}", 200_000) for number in range(8)]
    for number, piece in enumerate(pieces):
        for upload in uploads:
            upload.sock.sendall(piece)
        assert agent.request("PUT", "/v1/files/other", body=piece).status == (200 if number else 201)  # no thread is held
        time.sleep(0.12)  # all pieces together take longer than the limit, which is for each
    assert [upload.answer().status for upload in uploads] == [201] * 8
    assert (agent.root / "f7").read_bytes() == b"".join(pieces)


def test_an_upload_that_stops_coming_is_given_up_and_leaves_nothing(start_agent):
    agent = start_agent("--body-timeout", "300ms")
    agent.request("PUT", "/v1/files/f", body=b"old")
    upload = Upload(agent, "f", 10 * MIB)
    upload.sock.sendall(b"x" * MIB)
    upload.answer().problem(408, "request_timeout")
    assert agent.request("GET", "/v1/files/f").body == b"old"
    until(lambda: os.listdir(agent.root) == ["f"], what="the end of the upload's file")


def unsent(agent, sock):
    """How many bytes the agent has written that the kernel could not send to this client yet (proc_net(5))."""
    ends = [f":{agent.port:04X}", f":{sock.getsockname()[1]:04X}"]
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if [fields[1][8:], fields[2][8:]] == ends:
            return int(fields[4].partition(":")[0], 16)
    return 0


@pytest.mark.parametrize("path", ["/v1/commands/flood/attach?lossless=true", "/v1/shell?command=exec+cat+/dev/zero"])
def test_a_websocket_client_that_is_too_slow_is_told_also_if_it_still_sends(start_agent, path):
    """Unread data of the client would reset the connection, and the close frame and the data before it would be lost."""
    agent = start_agent("--write-timeout", "10ms")
    agent.start("exec cat /dev/zero", id="flood")
    with socket.socket() as sock:
        # A buffer smaller than a segment of this interface (64 KiB) would make the kernel send by its slow probes.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 256 * 1024)
        sock.settimeout(30)
        sock.connect((agent.ip, agent.port))
        with RawWs(sock, path, agent.headers()) as ws:
            until(lambda: unsent(agent, sock) > 128 * 1024)
            until_still(lambda: unsent(agent, sock), same=20)  # the agent can write no more, and ends the connection
            ping = b'{"type":"ping"}'
            sock.sendall((bytes([0x81, 0x80 | len(ping), 0, 0, 0, 0]) + ping) * 20_000)
            assert ws.close_code() == 4008
    assert agent.request("DELETE", "/v1/commands/flood").status == 204
