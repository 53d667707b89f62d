"""All that a signed token has opened ends when the token expires: the agent sends nothing more, and takes nothing more."""

import contextlib
import json
import os
import select
import tarfile
import time

import pytest
import websockets

from mcp_client import NEWEST, Mcp, events
from signing import Signer
from sockets import binary_stdin
from waiting import until
from wire import Stream, request_bytes

LIFE = 10 if os.environ.get("SKIFFD_SANITIZER") else 4  # seconds: enough to open what a test needs
TICKING = "i=0; while sleep 0.05; do echo $((i += 1)); done"


class Expiring:
    """An agent, and a token for it that ends soon."""

    def __init__(self, start_agent, folder):
        self.signer = Signer(folder)
        self.agent = start_agent("--public-key", self.signer.public, "--sandbox-id", "box-1")
        self.end = time.time() + LIFE
        self.token = self.signer.token(exp=self.end)

    def ws(self, path, subprotocol=None):
        return self.agent.ws(path, subprotocol, token=self.token)

    def stream(self, method, path, **more):
        return self.agent.stream(method, path, token=self.token, **more)

    def is_over(self):
        return time.time() > self.end


@pytest.fixture
def expiring(start_agent, tmp_path):
    return Expiring(start_agent, tmp_path)


def state(agent, cid):
    shown = agent.request("GET", f"/v1/commands/{cid}").json()
    return shown["state"], shown.get("cause")


def test_websockets_are_closed(expiring):
    agent = expiring.agent
    (agent.root / "watched").mkdir()
    agent.start(TICKING, id="ticks")
    with (expiring.ws("/v1/connect") as many, expiring.ws("/v1/commands/ticks/attach") as one, expiring.ws("/v1/shell") as shell,
          expiring.ws("/v1/connect") as idle, expiring.ws("/v1/files:watch?path=watched") as watch):
        many.send({"type": "attach", "channel": 1, "id": "ticks", "lossless": True})
        many.send({"type": "start", "channel": 2, "id": "goes", "command": "exec sleep 600"})
        many.send({"type": "start", "channel": 3, "id": "dies", "command": "exec sleep 600", "on_disconnect": "kill"})
        for ws in (many, one, shell, idle, watch):
            assert ws.code() == 4401
            assert ws.socket.close_reason == "the token has expired"
        assert expiring.is_over()
    assert state(agent, "ticks") == state(agent, "goes") == ("running", None)
    assert agent.ended("dies")["cause"] == "killed_by_client"
    until(lambda: all(item["state"] == "ended" for item in agent.request("GET", "/v1/commands").json()["items"]
                      if item["id"] not in ("ticks", "goes")), what="the end of the shell, as for any client that leaves")
    with pytest.raises(websockets.InvalidStatusCode) as refusal:
        expiring.ws("/v1/connect")
    assert refusal.value.status_code == 401
    (agent.root / "watched").rmdir()


def test_streams_say_so_and_end(expiring):
    agent = expiring.agent
    (agent.root / "watched").mkdir()
    agent.start(TICKING, id="ticks")
    output, events = "/v1/commands/ticks/output?follow=true", {"Accept": "text/event-stream"}
    start = {"command": TICKING, "mode": "stream"}
    with (expiring.stream("GET", output) as lines, expiring.stream("GET", output, headers=events) as sse,
          expiring.stream("GET", "/v1/files:watch?path=watched") as watch,
          expiring.stream("POST", "/v1/commands", json={**start, "id": "goes"}) as goes,
          expiring.stream("POST", "/v1/commands", json={**start, "id": "dies", "on_disconnect": "kill"}) as dies,
          expiring.stream("POST", "/v1/run", body=TICKING.encode()) as octets):
        for stream in (lines, goes, dies):
            *before, last = stream.events()
            assert {event["type"] for event in before} <= {"started", "output"} and len(before) > 1
            assert (last["type"], last["code"], last["detail"]) == ("error", "unauthenticated", "the token has expired")
        for stream in (sse, watch):
            *_, (_, kind, last) = stream.sse()
            assert (kind, last["code"]) == ("error", "unauthenticated")
        with pytest.raises(ConnectionError):  # as a body that was cut: it has no events
            octets.read()
        assert expiring.is_over()
    assert state(agent, "goes") == ("running", None)
    assert agent.ended("dies")["cause"] == "killed_by_client"
    (agent.root / "watched").rmdir()


def test_a_watch_of_a_busy_directory_ends_with_the_token(expiring):
    """Its watcher always has something to read."""
    agent = expiring.agent
    (agent.root / "watched").mkdir()
    agent.start("cd watched; while :; do : > f; rm f; done", id="busy")
    with (expiring.ws("/v1/files:watch?path=watched") as ws, expiring.stream("GET", "/v1/files:watch?path=watched") as stream):
        assert ws.code() == 4401
        assert list(stream.sse())[-1][1] == "error"
    agent.request("DELETE", "/v1/commands/busy")
    for left in (agent.root / "watched").iterdir():
        left.unlink()
    (agent.root / "watched").rmdir()


@pytest.mark.parametrize("subprotocol", ["skiff.v1.json", "skiff.v1.binary"])
def test_no_message_is_taken_from_a_client_that_does_not_read(expiring, subprotocol):
    """Output on its way to the client delays the close frame, but not the end."""
    agent = expiring.agent
    with agent.raw_ws("/v1/connect", {"Authorization": f"Bearer {expiring.token}",
                                      "Sec-WebSocket-Protocol": subprotocol}) as ws:
        ws.send(1, json.dumps({"type": "start", "channel": 1, "id": "flood", "command": "exec cat /dev/zero"}).encode())
        ws.send(1, json.dumps({"type": "start", "channel": 2, "id": "reads", "command": "read x; touch $x",
                               "stdin_open": True}).encode())
        until(lambda: agent.request("GET", "/v1/commands/reads").status == 200, what="the two commands")
        until(expiring.is_over, what="the end of the token")
        if subprotocol == "skiff.v1.binary":
            ws.send(2, binary_stdin(b"taken\n", channel=2))
        else:
            ws.send(1, json.dumps({"type": "stdin", "channel": 2, "data": "taken\n"}).encode())
        ws.send(1, json.dumps({"type": "start", "channel": 3, "command": "touch taken"}).encode())
        assert ws.close_code() == 4401
    assert not (agent.root / "taken").exists()
    assert {item["id"] for item in agent.request("GET", "/v1/commands").json()["items"]} == {"flood", "reads"}
    agent.request("DELETE", "/v1/commands/flood")


def test_no_command_is_taken_after_the_end(expiring):
    """Whatever races with the close frame. What was sent before the end may begin a moment behind it."""
    agent = expiring.agent
    sent = {}
    with expiring.ws("/v1/connect") as ws:
        try:
            while True:
                name = f"at-{len(sent)}"
                sent[name] = time.time()
                ws.send({"type": "start", "channel": 1, "id": name, "command": "sleep 0.01"})
                ws.until("exit", channel=1)
        except websockets.ConnectionClosed:
            pass
        assert ws.code() == 4401
    started = [item["id"] for item in agent.request("GET", "/v1/commands?limit=1000").json()["items"]]
    assert started and max(sent[name] for name in started) <= expiring.end


def test_stdin_that_comes_in_pieces_is_taken_up_to_the_end(expiring):
    agent = expiring.agent
    agent.start("exec cat", id="cat", stdin_open=True)
    headers = agent.headers({"Transfer-Encoding": "chunked"}, token=expiring.token)
    with agent.connect() as sock:
        sock.sendall(request_bytes("POST", "/v1/commands/cat/stdin", headers, b"7\r\nbefore\n\r\n"))
        until(lambda: agent.request("GET", "/v1/commands/cat/output").body.count(b"before"), what="the first piece")
        until(expiring.is_over, what="the end of the token")
        sock.sendall(b"6\r\nafter\n\r\n")
        with Stream(sock) as answer:
            refused = answer.answer()
            refused.problem(401, "unauthenticated")
            assert refused.headers["WWW-Authenticate"].startswith("Bearer")
    agent.request("POST", "/v1/commands/cat/stdin?eof=true", body=b"")
    assert "".join(event["data"] for event in agent.output("cat") if event["type"] == "output") == "before\n"


FILE = tarfile.TarInfo("f")
FILE.size = 100_000
TAR = FILE.tobuf() + b"x" * 1000
UNFINISHED = {  # what is asked for, and how its body begins
    "put": ("PUT", "/v1/files/f", b"x" * 300_000),
    "put-small": ("PUT", "/v1/files/f", b"x" * 100),
    "edit": ("PATCH", "/v1/files/f", b'{"edits":'),
    "archive": ("PUT", "/v1/files:archive", TAR),
    "batch": ("POST", "/v1/files:batch", b'{"operations":'),
    "run": ("POST", "/v1/run", b"touch f"),
    "start": ("POST", "/v1/commands", b'{"command":"touch f"'),
    "mcp": ("POST", "/mcp", b'{"jsonrpc":"2.0"'),
}


@pytest.mark.parametrize("pace", ["pauses", "trickles", "chunked"])
def test_bodies_that_are_not_there_at_the_end_are_refused(expiring, pace):
    agent, waiting = expiring.agent, {}
    with contextlib.ExitStack() as all_:
        for what, (method, path, piece) in UNFINISHED.items():
            framing = {"Transfer-Encoding": "chunked"} if pace == "chunked" else {"Content-Length": str(len(piece) + 60_000)}
            kind = {} if what == "run" else {"Content-Type": "application/json"}
            if pace == "chunked":
                piece = b"%x\r\n%s\r\n" % (len(piece), piece)
            waiting[what] = sock = all_.enter_context(agent.connect())
            sock.sendall(request_bytes(method, path, agent.headers({**framing, **kind}, token=expiring.token), piece))

        def answered(sock):
            if pace == "trickles" and not expiring.is_over():
                sock.sendall(b" ")
            return select.select([sock], [], [], 0)[0]

        until(lambda: all([answered(sock) for sock in waiting.values()]), what="all answers")
        assert expiring.is_over()
        for what, sock in waiting.items():
            with Stream(sock, UNFINISHED[what][0]) as answer:
                refused = answer.answer()
                assert refused.problem(401, "unauthenticated")["detail"] == "the token has expired", what
                assert refused.headers["WWW-Authenticate"].startswith("Bearer"), what
                assert refused.headers["Connection"] == "close", what
    until(lambda: [path for path in agent.root.rglob("*") if path.is_file()] == [], what="the end of what was begun")
    assert agent.request("GET", "/v1/commands").json()["items"] == []


def test_an_append_keeps_what_came_in_time(expiring):
    """It ends like an append whose client has left: it can be resumed."""
    agent, block = expiring.agent, b"x" * (1 << 20)
    headers = agent.headers({"Content-Length": str(2 * len(block))}, token=expiring.token)
    with agent.connect() as sock:
        sock.sendall(request_bytes("PATCH", "/v1/files/f?append=true", headers, block))
        until(lambda: (agent.root / "f").exists() and (agent.root / "f").stat().st_size == len(block), what="the first half")
        until(expiring.is_over, what="the end of the token")
        sock.sendall(block)
        with Stream(sock, "PATCH") as answer:
            answer.answer().problem(401, "unauthenticated")
    assert (agent.root / "f").read_bytes() == block


def test_an_answer_that_was_asked_for_in_time_is_given(expiring):
    """One answer is not a stream: a client may have a new token for each request."""
    done = expiring.agent.request("POST", "/v1/commands", token=expiring.token, json={
        "command": f"while [ $(date +%s) -le {int(expiring.end) + 1} ]; do sleep 0.05; done; echo done"})
    assert expiring.is_over() and done.status == 200 and done.json()["stdout"] == "done\n"


def test_open_mcp_requests_end_without_an_answer_when_the_token_expires(expiring):
    agent = expiring.agent
    long = {"name": "run_command", "arguments": {"command": "exec sleep 600"}}
    client, newest = Mcp(agent, token=expiring.token), Mcp(agent, NEWEST, token=expiring.token)
    with (client.news() as news, client.stream("tools/call", long) as call,
          newest.stream("subscriptions/listen", {"notifications": {}}) as listening,
          newest.stream("tools/call", long) as stateless):
        for stream in (news, call, listening, stateless):
            assert not [message for _, message in events(stream) if message and "result" in message]
        assert expiring.is_over()
    for late in (client, newest):
        agent.request("POST", "/mcp", json=late.message("tools/call", long), headers=late.headers(
            late.message("tools/call", long)), token=expiring.token).problem(401, "unauthenticated")
    # As for any client that leaves: a request of the newest revision takes its command along.
    until(lambda: sorted(item["state"] for item in agent.request("GET", "/v1/commands").json()["items"]) ==
          ["ended", "running"], what="the end of the stateless one's command")


def test_no_further_call_of_a_batch_begins_after_the_end(expiring):
    agent, revision = expiring.agent, "2025-03-26"
    mine = expiring.signer.token(exp=expiring.end, sub="me")
    client = Mcp(agent, revision, token=mine)
    wait = f"while [ $(date +%s) -le {int(expiring.end) + 1} ]; do sleep 0.05; done"
    batch = [client.message("tools/call", {"name": "run_command", "arguments": {"command": line}})
             for line in (wait, "touch taken")]
    with agent.stream("POST", "/mcp", json=batch, headers=client.headers(), token=mine) as stream:
        assert not [one for _, one in events(stream) if one]
        assert expiring.is_over()
    # Another token of the same name hears what became of it.
    client.token = expiring.signer.token(sub="me")
    with client.news("1-0") as stream:
        answers = next(message for _, message in events(stream) if message)
    assert ["result" in one for one in answers] == [True, False], answers
    assert "expired" in json.dumps(answers[1])
    assert not (agent.root / "taken").exists()
