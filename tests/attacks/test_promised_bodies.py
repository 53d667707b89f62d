"""Clients that begin large bodies and never end them, or send a byte now and then: each is within its limit, all together
would be more memory than there is."""

import contextlib
import select
import threading

import proc
from waiting import until
from wire import Stream, request_bytes

SCRIPT = 16 << 20  # --max-script-bytes
ALL = 192 << 20    # --max-received-bytes


def begun(agent, size, missing=1):
    """A connection with all of a script but its last bytes."""
    sock = agent.connect()
    head = request_bytes("POST", "/v1/run", {**agent.headers(), "Content-Length": str(size)})
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it may be refused on the way
        sock.sendall(head + b"#" * (size - missing))
    return sock


def large_one(agent):
    """The status of a whole script that is as large as it may be; none when the connection was broken on the way."""
    with contextlib.suppress(ConnectionError), agent.connect() as sock:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            sock.sendall(request_bytes("POST", "/v1/run", {**agent.headers(), "Content-Length": str(SCRIPT)}))
            sock.sendall(b"true\n" + b"#" * (SCRIPT - 5))
        return Stream(sock, "POST").answer().status


def test_bodies_that_never_end_have_a_limit_together(agent):
    with contextlib.ExitStack() as held:
        before = proc.rss_bytes(agent.pid)
        socks = [held.enter_context(begun(agent, SCRIPT)) for _ in range(2 * ALL // SCRIPT)]
        # Buffers grow into copies of themselves, and the allocator keeps some.
        assert proc.rss_bytes(agent.pid) - before < proc.allowance(ALL + (64 << 20))
        refused = select.select(socks, [], [], 0)[0]
        assert len(refused) >= len(socks) // 3
        Stream(refused[-1], "POST").answer().problem(503, "resource_exhausted")
        assert agent.request("POST", "/v1/run", body=b"echo small").status == 200
    until(lambda: large_one(agent) == 200, what="room for large ones")


def test_a_body_that_is_completed_in_time_is_answered(agent):
    with begun(agent, SCRIPT) as sock:
        sock.sendall(b"\n")
        assert Stream(sock, "POST").status == 200


@contextlib.contextmanager
def trickling(socks):
    """Sends a byte on each of `socks` ten times a second; others may be added to the list meanwhile."""
    is_over = threading.Event()

    def trickle():
        while not is_over.wait(0.1):
            for sock in list(socks):
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    sock.sendall(b"#")

    thread = threading.Thread(target=trickle)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def test_trickling_bodies_leave_room_for_others(start_agent):
    """They never pause for long. One of them gives its memory to a body that needs it; the others go on."""
    agent = start_agent("--body-timeout", "5s")
    socks = []
    with contextlib.ExitStack() as held:
        # A thread of its own sends, since a sanitizer needs longer for a large body than a pause may last.
        with trickling(socks):
            while len(socks) < ALL // SCRIPT:
                socks.append(held.enter_context(begun(agent, SCRIPT, missing=1 << 18)))
            until(lambda: large_one(agent) == 200, seconds=60, what="room for one that does not trickle")
        refused = select.select(socks, [], [], 0)[0]
        assert 0 < len(refused) < len(socks)  # no more than it took
        answer = Stream(refused[0], "POST").answer()
        answer.problem(503, "resource_exhausted")
        assert answer.headers["Retry-After"]
