"""Clients that ask for large answers and take nothing of them: each answer is within its limit, and all together would be
more memory than there is."""

import contextlib
import json
import socket

import pytest

import proc
from wire import Stream, request_bytes

MIB = 1024 * 1024
READERS = 40
# Bytes that take six each in JSON.
RESULT = {"id": "big", "command": "head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2"}


def ask(agent, method, path, body=b""):
    """The request is sent, and a few bytes of its answer are taken."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.settimeout(60)
    sock.connect((agent.ip, agent.port))
    fields = agent.headers({"Content-Type": "application/json", "Content-Length": str(len(body))} if body else {})
    sock.sendall(request_bytes(method, path, fields, body))
    assert sock.recv(12) == b"HTTP/1.1 200"
    return sock


def result(agent):
    return "POST", "/v1/commands", json.dumps(RESULT).encode()


def listing(agent):
    folder = agent.root / "names"
    folder.mkdir()
    for number in range(10_000):
        (folder / (f"{number:05d}" + "x" * 240)).touch()
    return "GET", "/v1/files:list?path=names&limit=10000", b""


@pytest.mark.parametrize("what", [result, listing])
def test_answers_that_nobody_takes_have_a_limit_together(agent, what):
    request = what(agent)
    with contextlib.ExitStack() as all_:
        for _ in range(READERS):
            all_.enter_context(ask(agent, *request))
        assert proc.rss_bytes(agent.pid) < proc.allowance(220 * MIB)
        # A client that reads the answer gets all of it.
        sock = agent.connect(60)
        fields = agent.headers({"Content-Type": "application/json", "Content-Length": str(len(request[2]))})
        sock.sendall(request_bytes(*request[:2], fields, request[2]))
        with Stream(sock, request[0]) as stream:
            assert len(stream.answer().body) > 5 * MIB


def test_many_that_are_asked_for_at_once_are_not_all_in_memory(agent):
    method, path, body = result(agent)
    agent.request(method, path, body=body, headers={"Content-Type": "application/json"})
    sockets = []
    with contextlib.ExitStack() as all_:
        for _ in range(READERS):
            sock = all_.enter_context(agent.connect(60))
            fields = agent.headers({"Content-Type": "application/json", "Content-Length": str(len(body))})
            sock.sendall(request_bytes(method, path, fields, body))
            sockets.append(sock)
        for sock in sockets:
            with contextlib.suppress(ConnectionError):  # it was cut off
                sock.recv(1)
        most = int(proc.status(agent.pid, "VmHWM").split()[0]) * 1024
        assert most < proc.allowance(320 * MIB)
