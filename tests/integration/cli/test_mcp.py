"""`skiff mcp`: the Model Context Protocol over stdio, in front of a sandbox of this machine."""

import json
import signal

import pytest

from launcher import NOTICE
from mcp_client import NEWEST
from mcp_stdio import Stdio
from speaking import Said, in_place_of_the_agent
from waiting import until


def test_it_makes_a_sandbox_and_removes_it_at_the_end(skiff):
    client = Stdio(skiff)
    assert skiff.names() == []
    assert client.begin()["serverInfo"]["name"] == "skiffd"
    (name,) = skiff.names()
    assert name.startswith("mcp-")
    assert client.tool("run_command", command="echo $((6 * 7))")["stdout"] == "42\n"
    client.tool("write_file", path="a", text="x")
    assert (skiff.root(name) / "a").read_text() == "x"
    rest, err = client.end()
    assert rest == [] and NOTICE in err
    assert skiff.names() == [] and not skiff.processes()


def test_a_signal_ends_it_and_the_sandbox(skiff):
    for number, status in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
        client = Stdio(skiff)
        client.begin()
        client.send("tools/call", {"name": "run_command", "arguments": {"command": "sleep 1000"}})
        (name,) = skiff.names()
        until(lambda: "sleep 1000" in str(skiff.processes()))
        client.process.send_signal(number)
        client.end(status)
        assert skiff.names() == [] and not skiff.processes()


def test_a_sandbox_that_is_named_stays(skiff):
    skiff.up("box")
    client = Stdio(skiff, "box", revision=NEWEST)
    assert client.call("server/discover")["supportedVersions"][0] == NEWEST
    assert client.tool("run_command", command="echo kept > f")["exit_code"] == 0
    client.end()
    assert skiff.names() == ["box"] and (skiff.root() / "f").read_text() == "kept\n"


def test_mcp_reports_a_sandbox_that_does_not_exist(skiff):
    client = Stdio(skiff, "nope")
    error = client.answer(client.send("initialize", {"protocolVersion": "2025-11-25"}))["error"]
    assert error["data"]["code"] == "sandbox_not_found"
    client.end()


@pytest.mark.parametrize("revision", ["2025-11-25", NEWEST])
def test_requests_run_beside_each_other_and_are_cancelled(skiff, revision):
    client = Stdio(skiff, revision=revision)
    if revision != NEWEST:
        client.begin()
    else:
        client.call("server/discover")
    slow = client.send("tools/call", {"name": "run_command", "arguments": {"command": "echo slow; sleep 1000", "id": "slow"}})
    assert client.tool("run_command", command="echo quick")["stdout"] == "quick\n"
    until(lambda: client.tool("list_commands", state="running")["items"])
    client.send("notifications/cancelled", {"requestId": slow}, notification=True)
    over = client.tool("wait_for", command="slow")
    assert over["cause"] == "killed_by_client"
    assert client.end()[0] == []


def test_progress_and_changes_come_as_they_happen(skiff):
    client = Stdio(skiff)
    client.begin()
    client.tool("write_file", path="file", text="1")
    client.call("resources/subscribe", {"uri": "skiff://default/files/file"})
    client.tool("write_file", path="file", text="2")
    until(lambda: client.call("ping") == {} and any(
        one["method"] == "notifications/resources/updated" for one in client.heard))
    slow = client.send("tools/call", {"name": "run_command", "arguments": {"command": "sleep 1.5"}}, meta={"progressToken": 5})
    assert client.answer(slow)["result"]["structuredContent"]["exit_code"] == 0
    assert [one["params"]["progressToken"] for one in client.heard if one["method"] == "notifications/progress"] == [5]
    client.end()


def test_the_newest_revision_listens(skiff):
    client = Stdio(skiff, revision=NEWEST)
    client.tool("write_file", path="file", text="1")
    listen = client.send("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["skiff://default/files/file"]}})
    assert client.read()["method"] == "notifications/subscriptions/acknowledged"
    client.tool("write_file", path="file", text="2")
    until(lambda: client.call("server/discover") and any(
        one["method"] == "notifications/resources/updated" for one in client.heard))
    client.send("notifications/cancelled", {"requestId": listen}, notification=True)
    assert client.tool("list_directory")["items"]
    client.end()


def test_a_request_before_the_answer_to_initialize_waits_for_the_session(skiff):
    client = Stdio(skiff)
    client.send("initialize", {"protocolVersion": client.revision, "capabilities": {}, "clientInfo": {}})
    client.send("notifications/initialized", notification=True)
    result = client.answer(client.send("tools/call", {"name": "run_command", "arguments": {"command": "echo over stdio"}}))
    assert result["result"]["structuredContent"]["stdout"] == "over stdio\n"
    client.end()


def test_invalid_lines_end_neither_the_client_nor_its_sandbox(skiff):
    client = Stdio(skiff)
    client.begin()
    long = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"' + b"x" * (5 << 20) + b'"}}'
    for line, code in ((b"{", -32700), (b"\xff", -32700), (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600), (long, -32700)):
        client.process.stdin.write(line + b"\r\n\r\n \n")
        client.process.stdin.flush()
        refused = client.read()
        assert (refused["id"], refused["error"]["code"]) == (None, code), line[:100]
        assert client.call("ping") == {}
    (name,) = skiff.names()
    assert name
    client.end()


def test_requests_before_the_end_of_stdin_are_answered(skiff):
    lines = [{"jsonrpc": "2.0", "id": 1, "method": "nope", "params": {"_meta": {}}}, 7, {"jsonrpc": "2.0", "id": "x"}]
    typed = b"\n".join(json.dumps(one).encode() for one in lines) + b"\nnot json"
    out, _ = skiff("mcp", typed=typed)
    answers = [json.loads(line) for line in out.splitlines()]
    assert [one["error"]["code"] for one in answers if one["id"] is None] == [-32600, -32700]
    assert [one["error"]["code"] for one in answers if one["id"] == 1] == [-32600]  # no session was begun
    assert skiff.names() == []


def test_the_model_is_told_that_the_users_own_machine_is_not_isolated(skiff):
    for revision in ("2025-11-25", NEWEST):
        client = Stdio(skiff, revision=revision)
        told = client.begin()["instructions"] if revision != NEWEST else client.call("server/discover")["instructions"]
        assert told.startswith("This is the user's own machine, not an isolated sandbox: ") and "run_command" in told
        client.end()


# --- a server that lies ---

ASKS = {"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage", "params": {"messages": []}}
NEWS = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "fine"}}


HOSTILE = [
    ASKS, {**ASKS, "method": "elicitation/create"}, {**ASKS, "method": "roots/list"}, {**ASKS, "id": "x", "method": "notifications/message"},
    {**ASKS, "result": {}}, {"jsonrpc": "2.0", "method": "ping"}, {"jsonrpc": "2.0", "method": 7}, {"jsonrpc": "2.0", "id": 99, "result": {}},
    {"jsonrpc": "2.0", "id": None, "result": {}}, {"jsonrpc": "2.0", "id": 1}, {"id": 1, "result": {}}, {"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}},
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}}, [ASKS], "text", 7,
]


@pytest.fixture
def liar(skiff):
    """Says to each request what `says` holds, as a stream or as JSON; gives it."""
    says = {"stream": [], "json": None}

    def say(asked):
        if asked.method != "POST":
            return Said(405 if asked.path == "/mcp" else 200, {"Content-Type": "application/json"}, b"{}")
        message = json.loads(asked.body)
        if "id" not in message:
            return Said(202, {"Content-Type": "application/json"})
        if says["json"] is not None:
            return says["json"]
        own = {"jsonrpc": "2.0", "id": message["id"], "result": {"mine": True}, "method2": "x"}
        lines = [*says["stream"], NEWS, own, *says["stream"]]
        return Said(headers={"Content-Type": "text/event-stream"}, body="".join(f"data: {json.dumps(line)}\n\n" for line in lines).encode())

    skiff.up("box")
    with in_place_of_the_agent(skiff, say):
        yield says


def test_only_what_a_server_may_send_passes(skiff, liar):
    """Notifications, and the answer to the request of the stream: nothing that the client would act on."""
    liar["stream"] = HOSTILE
    client = Stdio(skiff, "box")
    first = client.answer(client.send("tools/list"))
    assert first == {"jsonrpc": "2.0", "id": 1, "result": {"mine": True}}
    assert client.heard == [NEWS]
    rest, _ = client.end()
    assert rest == []


@pytest.mark.parametrize("said", HOSTILE)
def test_an_invalid_answer_of_the_agent_becomes_an_error(skiff, liar, said):
    liar["json"] = said
    client = Stdio(skiff, "box")
    told = client.answer(client.send("tools/list"))
    # Only one that answers something is taken for the answer of this request.
    is_answer = isinstance(said, dict) and set(said) == {"jsonrpc", "id", "result"}
    assert told["id"] == 1 and set(told) == {"jsonrpc", "id", "result" if is_answer else "error"}, told
    assert is_answer or "is not skiffd" in told["error"]["message"]
    assert client.end()[0] == []
