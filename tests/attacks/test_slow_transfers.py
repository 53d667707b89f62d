"""Clients of archives and searches that take or send next to nothing: they cost a place among the transfers, and nobody
else a wait."""

import contextlib
import select
import socket

import pytest

from waiting import until
from wire import Stream, request_bytes

READER = "a-token-that-may-read-and-no-more"
AT_ONCE = 10  # seconds, for what nothing holds up; far below the time after which a stalled client is given up
TRANSFERS = 30  # of one holder, who leaves as many to the others


@pytest.fixture
def agent(start_agent):
    agent = start_agent(tokens=(f"{READER} read",))
    with open(agent.root / "big", "wb") as file:
        file.truncate(1 << 30)
    (agent.root / "small").mkdir()
    (agent.root / "small" / "f").write_text("needle\n")
    agent.baseline = None  # a directory that was watched stays so for a while
    return agent


def slow_reader(agent, path="/v1/files:archive"):
    """A connection that has asked for something large and takes none of it."""
    sock = agent.connect()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.sendall(request_bytes("GET", path, agent.headers(token=READER)))
    return sock


def answered(socks):
    return select.select(socks, [], [], 0)[0]


def others_are_answered_at_once(agent):
    def get(path):
        answer = agent.request("GET", path, timeout=AT_ONCE)
        assert answer.status == 200, answer
        return answer

    assert b"needle" in get("/v1/files:grep?pattern=needle&path=small").body
    assert b"small/f" in get("/v1/files:glob?pattern=small/*").body
    assert b"needle" in get("/v1/files:archive?path=small").body
    assert {item["name"] for item in get("/v1/files:list").json()["items"]} >= {"big", "small"}
    with agent.stream("GET", "/v1/files:watch?path=small", timeout=AT_ONCE) as stream:
        assert next(stream.sse())[1] == "watching"


def test_readers_that_take_nothing_hold_nobody_up(agent):
    with contextlib.ExitStack() as held:
        socks = [held.enter_context(slow_reader(agent)) for _ in range(12)]
        until(lambda: len(answered(socks)) >= 4, what="archives that have begun")
        others_are_answered_at_once(agent)


def test_readers_of_matches_that_take_nothing_hold_nobody_up(agent):
    lines = b"a needle in a line that is longer than others, so that its matches fill what lies on the way\n" * 50_000
    for number in range(4):
        (agent.root / f"lines{number}").write_bytes(lines)
    with contextlib.ExitStack() as held:
        path = "/v1/files:grep?pattern=needle&limit=1000000&context=5"
        socks = [held.enter_context(slow_reader(agent, path)) for _ in range(12)]
        until(lambda: len(answered(socks)) >= 4, what="searches that have begun")
        others_are_answered_at_once(agent)


def test_uploads_that_stall_hold_nobody_up(agent):
    with contextlib.ExitStack() as held:
        for number in range(12):
            sock = held.enter_context(agent.connect())
            head = agent.headers({"Content-Length": "1000000"})
            sock.sendall(request_bytes("PUT", f"/v1/files:archive?path=into{number}", head, b"x" * 100))
        until(lambda: len(list(agent.root.glob("into*"))) >= 4, what="uploads that have begun")
        others_are_answered_at_once(agent)


def test_transfers_beyond_a_holders_share_are_refused_at_once_and_others_begin(agent):
    with contextlib.ExitStack() as held:
        socks = [held.enter_context(slow_reader(agent)) for _ in range(TRANSFERS)]
        until(lambda: len(answered(socks)) == TRANSFERS, what="archives that have begun")
        assert {sock.recv(12) for sock in socks} == {b"HTTP/1.1 200"}
        refused = agent.request("GET", "/v1/files:archive", token=READER, timeout=AT_ONCE)
        refused.problem(503, "resource_exhausted")
        assert refused.headers["Retry-After"]
        # It is the reader's limit.
        others_are_answered_at_once(agent)
        assert agent.request("GET", "/v1/files:list", timeout=AT_ONCE).status == 200
        assert agent.run("echo on")["stdout"] == "on\n"
    until(lambda: agent.request("GET", "/v1/files:archive?path=small").status == 200, what="a place that is free again")


def test_an_upload_that_trickles_below_the_least_rate_is_given_up(start_agent):
    agent = start_agent("--body-timeout", "500ms")
    with agent.connect() as sock:
        sock.sendall(request_bytes("PUT", "/v1/files:archive?path=into", agent.headers({"Content-Length": "1000000"})))

        def given_up():
            with contextlib.suppress(ConnectionError):
                sock.sendall(b"x")
            return answered([sock])

        until(given_up, every=0.05, what="an answer to an upload that trickles")
        with Stream(sock, "PUT") as stream:
            stream.answer().problem(408, "request_timeout")
