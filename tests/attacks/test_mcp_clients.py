"""Hostile clients of /mcp: what they may use up has bounds, and what they may reach has too."""

import concurrent.futures
import contextlib

import pytest

from mcp_client import NEWEST, Mcp, events
from waiting import until


@pytest.fixture
def watched(agent):
    """A directory for what is watched: a watch is kept for a client that comes back, unless its directory is gone."""
    agent.request("POST", "/v1/files:mkdir", json={"path": "w"})
    yield agent
    agent.request("DELETE", "/v1/files/w?recursive=true")


def test_requests_under_way_have_a_bound_and_the_session_lives_on(agent):
    client = Mcp(agent)
    begun = client.tool("run_command", command="sleep 1000", background=True)
    wait = {"name": "wait_for", "arguments": {"command": begun["id"], "timeout_ms": 600_000}}
    with concurrent.futures.ThreadPoolExecutor(32) as pool:  # each has its head after a second
        streams = list(pool.map(lambda _: client.stream("tools/call", wait), range(32)))
    # An answer like any other: the official Python client of that time ends with any other status.
    refused = client.refusal("tools/call", wait)
    assert (client.status, refused.code, refused.data["code"]) == (200, -32603, "resource_exhausted")
    answer = client.post({**client.message("tools/call", wait), "id": 2})
    assert (answer.status, answer.json()["id"], answer.json()["error"]["code"]) == (200, 2, -32600)
    for request in range(2, 34):
        client.notify("notifications/cancelled", requestId=request)
    for stream in streams:
        assert [message for _, message in events(stream) if message] == []
        stream.close()
    assert client.call("ping") == {}


def test_sessions_have_a_bound_and_a_busy_one_is_never_the_victim(agent):
    first = Mcp(agent)
    with first.news() as news:
        assert news.status == 200
        sessions = [Mcp(agent) for _ in range(31)]  # half of what there is, for one alone
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}
        answer = agent.request("POST", "/mcp", json=message)
        assert answer.status == 200 and answer.json()["error"]["message"].startswith("resource_exhausted")
        assert sessions[0].end().status == 204
        sessions[0].initialize()
        assert first.call("ping") == {}


def test_a_token_that_reads_leaves_room_for_others(start_agent):
    agent = start_agent(tokens=("reader read",))
    with contextlib.ExitStack() as open_ones:
        while True:  # as many sessions as it gets, each in use
            reader = Mcp(agent, token="reader", begin=False)
            message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}
            begun = reader.post(message)
            if "error" in begun.json():
                break
            reader.session = begun.headers["Mcp-Session-Id"]
            open_ones.enter_context(reader.news())
        newest = Mcp(agent, NEWEST, token="reader")
        while True:  # as much under way as it gets
            stream = open_ones.enter_context(newest.stream("subscriptions/listen", {"notifications": {}}))
            if stream.headers.get_content_type() == "application/json":
                assert "resource_exhausted" in stream.read().decode()
                break
        for revision in (NEWEST, "2025-11-25"):
            assert Mcp(agent, revision).tool("run_command", command="echo mine")["stdout"] == "mine\n"


def test_subscriptions_have_a_bound(agent, watched):
    client = Mcp(agent)
    for i in range(64):
        client.call("resources/subscribe", {"uri": f"skiff://default/files/w/f{i}"})
    assert client.refusal("resources/subscribe", {"uri": "skiff://default/files/w/more"}).code == -32603
    client.call("resources/unsubscribe", {"uri": "skiff://default/files/w/f0"})
    client.call("resources/subscribe", {"uri": "skiff://default/files/w/more"})
    newest = Mcp(agent, NEWEST)
    uris = [f"skiff://default/files/w/f{i}" for i in range(65)]
    assert newest.refusal("subscriptions/listen", {"notifications": {"resourceSubscriptions": uris}}).code == -32602
    assert client.end().status == 204


def test_streams_of_clients_that_have_left_are_freed(agent, watched):
    client = Mcp(agent)

    def come_and_go(_):
        client.news().close()
        newest = Mcp(agent, NEWEST)
        newest.stream("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["skiff://default/files/w/f"]}}).close()
        newest.stream("tools/call", {"name": "run_command", "arguments": {"command": "sleep 1000"}}).close()

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(come_and_go, range(24)))
    until(lambda: not client.tool("list_commands", state="running")["items"], what="commands that nobody waits for")
    assert client.end().status == 204  # the fixture counts descriptors


def test_no_path_leads_out(agent):
    client = Mcp(agent, NEWEST)
    secret = agent.folder / "secret"
    secret.write_text("s")
    (agent.root / "link").symlink_to(secret)
    (agent.root / "up").symlink_to("..")
    for path in ("link", "up/secret", "../secret", str(secret), "/etc/passwd", "/proc/self/environ", "a/../../secret"):
        for name, arguments in (("read_file", {"path": path}), ("write_file", {"path": path, "text": "x"}),
                                ("edit_file", {"path": path, "edits": [{"old": "s", "new": "x"}]}),
                                ("apply_changes", {"operations": [{"op": "delete", "path": path + "/."}]}),
                                ("search_files", {"path": path, "pattern": "s"})):
            assert client.tool_error(name, **arguments), (name, path)
    assert secret.read_text() == "s"


def test_bad_texts_break_nothing(agent):
    client = Mcp(agent, NEWEST)
    deep = b"[" * 100_000
    for body in (deep, b'{"jsonrpc":"2.0","id":"' + b"x" * 1000 + b'","method":"ping"}', b"\xff\xfe", b'"', b"{" + b" " * 900_000,
                 b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}'):
        answer = agent.request("POST", "/mcp", body=body, headers=client.headers(**{"Content-Type": "application/json"}))
        assert answer.status == 400, answer
    agent.request("POST", "/mcp", body=b" " * (2 << 20), headers={"Content-Type": "application/json"}).problem(413)
    odd = client.tool("run_command", argv=["printf", r"\377\0\033[31m\n"])
    assert odd["stdout"] == "�\0\x1b[31m\n" and odd["stdout_base64"]
    client = Mcp(agent)
    for uri in ("skiff://default/files/" + "x" * 20_000, "skiff://default/logs/" + "x" * 5000, "skiff:///files/x", ""):
        assert client.refusal("resources/read", {"uri": uri}).code == -32602


def test_a_flood_of_output_is_cut_for_the_model(agent):
    client = Mcp(agent, NEWEST)
    done = client.tool("run_command", command="head -c 50000000 /dev/zero | tr '\\0' x")
    assert done["truncated"] and len(done["stdout"]) <= 32 * 1024
    part = client.tool("read_output", command=done["id"], **{"from": 0}, limit_bytes=1 << 20)
    assert len(part["stdout"]) <= 1 << 20 and part["more"]


def test_a_token_that_comes_back_in_each_message_is_short(agent):
    client = Mcp(agent)
    message = client.message("tools/call", {"name": "run_command", "arguments": {"command": "sleep 1000", "id": "never"}},
                             {"progressToken": "x" * 900_000})
    assert client.post(message).json()["error"]["code"] == -32602
    agent.request("GET", "/v1/commands/never").problem(404)


def test_a_request_of_another_is_not_cancelled(start_agent):
    agent = start_agent(tokens=("other admin",))
    mine, other = Mcp(agent), Mcp(agent, token="other")
    with mine.stream("tools/call", {"name": "run_command", "arguments": {"command": "until [ -e go ]; do sleep 0.02; done"}}) as stream:
        until(lambda: mine.tool("list_commands", state="running")["items"])
        other.notify("notifications/cancelled", requestId=1)
        Mcp(agent).notify("notifications/cancelled", requestId=1)
        agent.request("PUT", "/v1/files/go", body=b"")
        answers = [message for _, message in events(stream) if message]
    assert answers[-1]["result"]["structuredContent"]["exit_code"] == 0
