"""Clients that begin large bodies and never end them: each is within its limit, all together would be more memory than
there is."""

import contextlib

import proc
from waiting import until
from wire import Stream, request_bytes

SCRIPT = 16 << 20  # --max-script-bytes
ALL = 128 << 20    # of bodies that are read at the same time


def begun(agent, size):
    """A connection with all of a script but its last byte."""
    sock = agent.connect()
    head = request_bytes("POST", "/v1/run", {**agent.headers(), "Content-Length": str(size)})
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it may be refused on the way
        sock.sendall(head + b"#" * (size - 1))
    return sock


def test_bodies_that_never_end_have_a_limit_together(agent):
    with contextlib.ExitStack() as held:
        before = proc.rss_bytes(agent.pid)
        for _ in range(2 * ALL // SCRIPT):
            last = held.enter_context(begun(agent, SCRIPT))
        # Buffers grow into copies of themselves, and the allocator keeps some.
        assert proc.rss_bytes(agent.pid) - before < proc.allowance(ALL + (64 << 20))
        Stream(last, "POST").answer().problem(503, "resource_exhausted")
        assert agent.request("POST", "/v1/run", body=b"echo small").status == 200
    until(lambda: agent.request("POST", "/v1/run", body=b"true\n" + b"#" * (SCRIPT - 5)).status == 200, what="room for large ones")


def test_one_that_is_being_sent_ends_as_it_should(agent):
    with begun(agent, SCRIPT) as sock:
        sock.sendall(b"\n")
        assert Stream(sock, "POST").status == 200
