"""A token permits the same by every protocol: each message of a WebSocket needs the scope of the route that does the
same."""

import pytest
import websockets

from sockets import binary_stdin
from waiting import until

# {type: what is sent}; on channel 1 there is a command that takes input.
REFUSED = {
    "stdin": {"type": "stdin", "channel": 1, "data": "echo taken\n"},
    "stdin_close": {"type": "stdin_close", "channel": 1},
    "signal": {"type": "signal", "channel": 1, "signal": "SIGKILL"},
    "resize": {"type": "resize", "channel": 1, "cols": 10, "rows": 10},
    "start": {"type": "start", "channel": 2, "command": "touch taken"},
    "lossless attach": {"type": "attach", "channel": 2, "id": "shell", "lossless": True},
}
ALLOWED = {"attach", "detach", "ping"}


@pytest.fixture
def shell(start_agent):
    """An agent with a token that may read, and a shell on a terminal that waits for input."""
    agent = start_agent(tokens=("reader read", "runner exec"))
    agent.start("stty -echo; touch ready; while read x; do eval \"$x\"; done", id="shell",
                tty={"cols": 80, "rows": 24})
    until((agent.root / "ready").exists, what="a terminal that doesn't echo")
    return agent


def untouched(agent):
    """No refused request had an effect, and a client with the right scope can still do the same."""
    assert not (agent.root / "taken").exists()
    assert [item["id"] for item in agent.request("GET", "/v1/commands").json()["items"]] == ["shell"]
    assert agent.request("POST", "/v1/commands/shell/stdin", body=b"stty size; exit 7\n", token="runner").status == 204
    done = agent.ended("shell")
    assert done["exit_code"] == 7
    out = b"".join(event["data"].encode() for event in agent.output("shell") if event["type"] == "output")
    assert out.split() == [b"24", b"80"]


def test_a_reader_of_connect_sends_nothing_that_needs_more(shell):
    known = shell.request("GET", "/asyncapi.json").json()
    names = [one["$ref"].rpartition("/")[2] for one in known["operations"]["connectReceive"]["messages"]]
    types = {known["components"]["schemas"][name]["properties"]["type"]["enum"][0] for name in names if name != "BinaryFrame"}
    assert types == {name.split()[-1] for name in REFUSED} | ALLOWED, "a message without a line here"
    for subprotocol in ("skiff.v1.json", "skiff.v1.binary"):
        with shell.ws("/v1/connect", subprotocol, token="reader") as ws:
            ws.send({"type": "attach", "channel": 1, "id": "shell"})
            for name, message in REFUSED.items():
                ws.send(message)
                answer = ws.recv()
                assert (answer["type"], answer.get("code")) == ("error", "insufficient_scope"), (name, answer)
                assert answer["channel"] == message["channel"], name
            if subprotocol == "skiff.v1.binary":
                ws.send(binary_stdin(b"touch taken\n", channel=1))
                assert ws.recv()["code"] == "insufficient_scope"
            ws.send({"type": "ping", "data": "x"})
            assert ws.recv()["type"] == "pong"
            ws.send({"type": "detach", "channel": 1})
            assert ws.recv()["type"] == "detached"
    untouched(shell)


def test_a_reader_of_one_command_sends_nothing_that_needs_more(shell):
    for subprotocol in ("skiff.v1.json", "skiff.v1.binary"):
        with shell.ws("/v1/commands/shell/attach", subprotocol, token="reader") as ws:
            for name in ("stdin", "stdin_close", "signal", "resize"):
                ws.send({key: value for key, value in REFUSED[name].items() if key != "channel"})
                answer = ws.recv()
                assert (answer["type"], answer.get("code")) == ("error", "insufficient_scope"), (name, answer)
            if subprotocol == "skiff.v1.binary":
                ws.send(binary_stdin(b"touch taken\n"))
                assert ws.recv()["code"] == "insufficient_scope"
    untouched(shell)


def test_a_token_that_may_run_commands_may_send_all_messages(shell):
    with shell.ws("/v1/connect", "skiff.v1.binary", token="runner") as ws:
        ws.send({**REFUSED["lossless attach"], "channel": 1})
        ws.send(REFUSED["resize"])
        ws.send(binary_stdin(b"stty size; exit 7\n", channel=1))
        frames = ws.until("exit", channel=1)
        assert frames[-1]["exit_code"] == 7
        assert b"".join(frame[24:] for frame in frames if isinstance(frame, bytes)).split() == [b"10", b"10"]


def test_a_reader_may_hold_no_command_up(shell):
    """A lossless reader makes the command wait for it."""
    output = "/v1/commands/shell/output"
    shell.request("GET", output + "?lossless=true", token="reader").problem(403, "insufficient_scope")
    assert shell.request("GET", output, token="reader").status == 200
    assert shell.request("GET", output + "?lossless=true", token="runner").status == 200
    with pytest.raises(websockets.InvalidStatusCode) as refusal:
        shell.ws("/v1/commands/shell/attach?lossless=true", token="reader")
    assert refusal.value.status_code == 403
