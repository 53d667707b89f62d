"""The gateway keeps connections to agents, and what it knows of sandboxes, from request to request. On this machine
a change is seen by the very next request, through whichever process it was made."""

import hashlib
import http.client
import os
import resource
import select
import signal
import socket
import subprocess
import threading

import pytest

import proc
from launcher import DRIVER
from tools import tool
from upstream import TWICE, Recorded, repeated
from waiting import until, until_still
from wire import request_bytes

MIB = 1 << 20


@pytest.fixture
def servers(serving, key):
    return [serving.start(), serving.start()]


def end(pid):
    """Until all of its threads are gone: it is a zombie, with connections, before that."""
    process = os.pidfd_open(pid)
    try:
        os.kill(pid, signal.SIGKILL)
        assert select.select([process], [], [], 30)[0]
    finally:
        os.close(process)


def made(server, key, **body):
    answer = server.request("POST", "/v1/sandboxes", body, key)
    assert answer.status == 201, answer.body
    return answer.json()["id"]


def run(server, key, sandbox, script, status=200):
    answer = server.request("POST", f"/s/{sandbox}/7070/v1/run", script.encode(), key, {"Content-Type": "text/plain"})
    assert answer.status == status, (answer.status, answer.body)
    return answer.body.decode()


def connections_to(serving, sandbox):
    """Established ones of this machine to its agent, each as its client sees it."""
    if DRIVER == "box":
        # Columns: type, state, two queues, the socket's path, its number, *, its client's number, and facts about the path.
        listed = subprocess.run([tool("ss"), "-xaeH"], capture_output=True, text=True, check=True).stdout
        file = f"ino:{os.stat(serving.skiff.sandboxes / sandbox / 'agent.sock').st_ino}"
        return {row[7] for row in map(str.split, listed.splitlines()) if row[1] == "ESTAB" and file in row}
    port = f":{serving.skiff.record(sandbox)['port']:04X}"
    with open("/proc/net/tcp", encoding="ascii") as table:
        rows = [line.split() for line in table.readlines()[1:]]
    return {row[1] for row in rows if row[2].endswith(port) and row[3] == "01"}


@pytest.mark.parametrize("by", [0, 1], ids=["through the same process", "through another one"])
def test_the_next_request_sees_that_a_sandbox_was_removed(servers, key, by):
    sandbox = made(servers[0], key)
    for _ in range(3):
        assert run(servers[0], key, sandbox, "echo here") == "here\n"
    assert servers[by].request("DELETE", f"/v1/sandboxes/{sandbox}", key=key).status == 204
    for port in 7070, 49983, 3000:
        gone = servers[0].request("GET", f"/s/{sandbox}/{port}/health", key=key)
        assert gone.status == (502 if port == 49983 else 404), port
    assert servers[0].request("GET", f"/s/{sandbox}/7070/v1/version", key=key).status == 404


@pytest.mark.parametrize("by", [0, 1], ids=["through the same process", "through another one"])
def test_the_next_request_sees_that_a_sandbox_was_stopped_or_started(servers, key, by):
    sandbox = made(servers[0], key, wakes=False)
    run(servers[0], key, sandbox, "echo kept > file")
    for _ in range(3):
        assert servers[by].request("POST", f"/v1/sandboxes/{sandbox}/stop", {}, key).status == 200
        assert run(servers[0], key, sandbox, "cat file", status=409).count("sandbox_not_running")
        assert servers[by].request("POST", f"/v1/sandboxes/{sandbox}/start", {}, key).status == 200
        assert run(servers[0], key, sandbox, "cat file") == "kept\n"


def test_a_name_that_comes_again_is_another_sandbox(servers, serving, key):
    for number in range(3):
        made(servers[0], key, name="demo")
        run(servers[0], key, "demo", f"echo {number} > file")
        assert run(servers[0], key, "demo", "cat file") == f"{number}\n"
        assert servers[1].request("DELETE", "/v1/sandboxes/demo", key=key).status == 204
    # Another tenant may have the name now.
    other = serving.key("other", "--tenant", "other")
    made(servers[1], other, name="demo")
    assert servers[0].request("GET", "/s/demo/7070/v1/version", key=key).status == 404
    assert servers[0].request("GET", "/s/demo/7070/v1/version", key=other).status == 200
    assert servers[0].request("GET", "/s/demo/7070/v1/version", key=key).status == 404


def test_a_key_that_was_removed_opens_nothing_that_is_known(servers, serving, key):
    sandbox = made(servers[0], key)
    short = serving.key("short")
    assert run(servers[0], short, sandbox, "echo here") == "here\n"
    serving.skiff("key", "rm", "short")
    until(lambda: servers[0].request("GET", f"/s/{sandbox}/7070/v1/version", key=short).status == 401)
    assert run(servers[0], key, sandbox, "echo here") == "here\n"


def test_a_request_starts_an_agent_that_was_killed(servers, serving, key):
    sandbox = made(servers[0], key)
    run(servers[0], key, sandbox, "echo kept > file; echo > log")
    for _ in range(3):
        end(serving.skiff.record(sandbox)["pid"])
        assert run(servers[0], key, sandbox, "echo once >> log; cat file") == "kept\n"
    assert run(servers[0], key, sandbox, "grep -c once log") == "3\n"


def test_one_connection_carries_one_request_after_the_other(servers, serving, key):
    sandbox = made(servers[0], key)
    run(servers[0], key, sandbox, "true")
    before = connections_to(serving, sandbox)
    assert len(before) == 1
    for _ in range(5):
        run(servers[0], key, sandbox, "true")
        assert servers[0].request("GET", f"/s/{sandbox}/7070/v1/version", key=key).status == 200
    assert connections_to(serving, sandbox) == before
    until(lambda: not connections_to(serving, sandbox))  # nobody comes any more


@pytest.mark.parametrize("arguments", [[], ["--behind-proxy"]], ids=["first", "behind-proxy"])
def test_fields_that_the_gateway_writes_are_sent_once(serving, key, arguments):
    """A client may have sent them several times, to a server in the sandbox or to its agent."""
    server = serving.start(*arguments)
    sandbox, seen = made(server, key), Recorded()
    head = request_bytes("GET", "{}", {"Host": server.host, "X-API-Key": key}).decode()
    twice = TWICE + 2 * b"traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n" + 2 * b"X-Own: 1\r\n"
    with serving.upstream(sandbox, seen) as upstream:
        for port in (upstream.port, 7070):
            with socket.create_connection(server.host.rsplit(":", 1), timeout=60) as sock:
                sock.sendall(head.format(f"/s/{sandbox}/{port}/v1/version").encode()[:-2] + twice + b"\r\n")
                assert sock.recv(12) == (b"HTTP/1.1 204" if port == upstream.port else b"HTTP/1.1 200")
    (_, fields, _), = seen.requests
    assert repeated(fields) in (["x-own"], ["traceparent", "x-own"]), fields


def asking(server, key, sandbox, port):
    """A connection on which GET / was sent to a port of the sandbox."""
    sock = socket.create_connection(server.host.rsplit(":", 1), timeout=60)
    sock.sendall(request_bytes("GET", f"/s/{sandbox}/{port}/", {"Host": server.host, "X-API-Key": key}))
    return sock


def sending(size, told):
    """Answers with so many bytes that it has announced, counted in `told`."""
    block = bytes(range(256)) * 256

    def serve(connection):
        connection.head()
        connection.send(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n")
        for _ in range(size // len(block)):
            connection.send(block)
            told.append(len(block))

    return serve


def test_output_for_a_slow_client_is_not_held_in_memory(servers, serving, key):
    """The client reads as fast as it can until then: in large blocks."""
    sandbox, told = made(servers[0], key), []
    pid = servers[0].process.pid
    with serving.upstream(sandbox, sending(256 * MIB, told)) as upstream:
        before = proc.rss_bytes(pid)
        with asking(servers[0], key, sandbox, upstream.port) as sock:
            until(lambda: told, what="the first block")
            until_still(lambda: len(told))
            assert sum(told) < 256 * MIB
            answer = http.client.HTTPResponse(sock)
            answer.begin()
            digest, size = hashlib.sha256(), 0
            while piece := answer.read(MIB):
                digest.update(piece)
                size += len(piece)
    assert size == 256 * MIB
    assert digest.digest() == hashlib.sha256(bytes(range(256)) * MIB).digest()
    assert int(proc.status(pid, "VmHWM").split()[0]) * 1024 - before < proc.allowance(4 * MIB)


def test_a_client_that_leaves_takes_the_rest_of_its_body_along(servers, serving, key):
    sandbox, told, ended = made(servers[0], key), [], threading.Event()
    send = sending(256 * MIB, told)

    def serve(connection):
        try:
            send(connection)
        finally:
            ended.set()

    with serving.upstream(sandbox, serve) as upstream:
        with asking(servers[0], key, sandbox, upstream.port) as sock:
            assert len(sock.recv(MIB)) > 0
        assert ended.wait(60)
    assert sum(told) < 256 * MIB
    assert run(servers[0], key, sandbox, "echo here") == "here\n"


@pytest.mark.parametrize("framing", ["Content-Length: 8000000", "Transfer-Encoding: chunked"])
def test_a_body_that_is_cut_behind_is_cut(servers, serving, key, framing):
    sandbox = made(servers[0], key)
    part = b"x" * 3_000_000

    def serve(connection):
        connection.head()
        size = b"7A1200\r\n" if "chunked" in framing else b""
        connection.send(f"HTTP/1.1 200 OK\r\n{framing}\r\n\r\n", size, part)

    with serving.upstream(sandbox, serve) as upstream:
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            servers[0].request("GET", f"/s/{sandbox}/{upstream.port}/", key=key)


def test_a_request_with_two_authorizations_is_refused(servers, key):
    """Two parsers of such a request could each take another field."""
    sandbox = made(servers[0], key)
    for path in "/v1/sandboxes", f"/s/{sandbox}/7070/v1/version", f"/s/{sandbox}/3000/":
        for shown in f"Authorization: Bearer {key}", f"X-API-Key: {key}":
            with socket.create_connection(servers[0].host.rsplit(":", 1), timeout=60) as sock:
                sock.sendall(f"GET {path} HTTP/1.1\r\nHost: {servers[0].host}\r\n{shown}\r\n"
                             f"Authorization: Basic eDp5\r\nAuthorization: Bearer other\r\n\r\n".encode())
                assert sock.recv(4096).startswith(b"HTTP/1.1 400 "), (path, shown)


def limit_of(pid):
    """Soft and hard limit of open files."""
    return resource.prlimit(pid, resource.RLIMIT_NOFILE)


def test_it_may_open_as_many_files_as_the_hard_limit_says_and_its_children_as_before(serving, key):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    serving.skiff.command[:0] = ["/usr/bin/prlimit", "--nofile=300:"]
    server = serving.start()
    assert limit_of(server.process.pid) == (hard, hard)
    sandbox = made(server, key)
    # The agent raises its own, and gives its commands what it has got.
    assert run(server, key, sandbox, "ulimit -Sn; ulimit -Hn") == f"300\n{hard}\n"
