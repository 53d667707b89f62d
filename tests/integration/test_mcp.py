"""The Model Context Protocol at /mcp: every revision, every tool, what is told meanwhile, and by whose leave."""

import base64
import json

import pytest

from mcp_client import NEWEST, WITH_HANDSHAKE, Mcp, events
from waiting import until

READ_ONLY = {"read_output", "wait_for", "list_commands", "read_file", "list_directory", "find_files", "search_files",
             "watch_changes", "list_sessions"}
CHANGING = {"run_code", "run_command", "write_input", "send_signal", "write_file", "edit_file", "apply_changes", "create_session",
            "delete_session"}


@pytest.fixture(params=[NEWEST, WITH_HANDSHAKE[0]])
def client(request, agent):
    """One without a handshake, and one with."""
    return Mcp(agent, request.param)


@pytest.fixture
def watched(agent):
    """A directory for what is watched: a watch is kept for a client that comes back, unless its directory is gone."""
    agent.request("POST", "/v1/files:mkdir", json={"path": "w"})
    yield agent
    agent.request("DELETE", "/v1/files/w?recursive=true")


# --- which revision ---

@pytest.mark.parametrize("revision", WITH_HANDSHAKE)
def test_each_revision_with_a_handshake_is_spoken(agent, revision):
    client = Mcp(agent, revision)
    assert client.revision == revision and len(client.session) >= 22
    assert client.hello["serverInfo"]["name"] == "skiffd" and client.hello["instructions"]
    assert client.hello["capabilities"] == {"tools": {}, "resources": {"subscribe": True}}
    assert client.call("ping") == {}
    result = client.call("tools/call", {"name": "run_command", "arguments": {"command": "echo hi"}})
    assert ("structuredContent" in result) == (revision != "2025-03-26")
    assert json.loads(result["content"][0]["text"])["stdout"] == "hi\n"
    assert client.end().status == 204
    assert client.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}).status == 404


def test_a_client_that_asks_for_an_unknown_revision_gets_a_known_one(agent):
    for asked in ("1999-01-01", "2024-11-05", NEWEST, "draft"):
        assert handshake(agent, asked)["protocolVersion"] == "2025-11-25"


def handshake(agent, revision):
    answer = agent.request("POST", "/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": revision}})
    assert answer.status == 200, answer
    return answer.json()["result"]


def test_the_newest_revision_needs_no_handshake(agent):
    client = Mcp(agent, NEWEST)
    found = client.call("server/discover")
    assert found["supportedVersions"] == [NEWEST, *WITH_HANDSHAKE] and found["resultType"] == "complete"
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "skiffd"
    assert found["ttlMs"] == 0 and found["cacheScope"] == "private"
    assert client.tool("run_command", command="echo $((6 * 7))")["stdout"] == "42\n"
    for gone in ("ping", "resources/subscribe", "logging/setLevel", "prompts/list"):
        assert client.refusal(gone).code == -32601 and client.status == 404
    assert agent.request("GET", "/mcp", headers={"Accept": "text/event-stream", "MCP-Protocol-Version": NEWEST}).status == 405


def test_header_fields_of_the_newest_revision_must_agree_with_the_body(agent):
    client = Mcp(agent, NEWEST)
    message = client.message("tools/call", {"name": "list_commands", "arguments": {}})

    def code(body=message, **headers):
        given = {name: value for name, value in (client.headers(message) | headers).items() if value is not None}
        answer = agent.request("POST", "/mcp", json=body, headers=given)
        assert answer.status == (200 if "result" in answer.json() else 400), answer
        return answer.json().get("error", {}).get("code")

    assert code() is None
    encoded = "=?base64?" + base64.b64encode(b"list_commands").decode() + "?="
    assert code(**{"Mcp-Name": encoded}) is None
    for headers in ({"Mcp-Method": "tools/list"}, {"Mcp-Method": None}, {"Mcp-Name": "run_command"}, {"Mcp-Name": None},
                    {"Mcp-Name": "=?base64?!!?="}, {"MCP-Protocol-Version": None}, {"MCP-Protocol-Version": "2025-11-25"}):
        assert code(**headers) == -32020, headers
    strange = json.loads(json.dumps(message).replace(NEWEST, "2031-01-01"))
    answer = agent.request("POST", "/mcp", json=strange, headers=client.headers(message, **{"MCP-Protocol-Version": "2031-01-01"}))
    assert answer.status == 400 and answer.json()["error"]["code"] == -32022
    assert answer.json()["error"]["data"] == {"supported": [NEWEST, *WITH_HANDSHAKE], "requested": "2031-01-01"}
    message["params"]["_meta"].popitem()
    assert code(message) == -32602


def test_batches_belong_to_the_revision_that_has_them(agent):
    old, newer = Mcp(agent, "2025-03-26"), Mcp(agent, "2025-06-18")
    batch = [{"jsonrpc": "2.0", "id": "a", "method": "ping"}, {"jsonrpc": "2.0", "method": "notifications/initialized"},
             {"jsonrpc": "2.0", "id": "b", "method": "tools/call", "params": {"name": "nope"}}]
    answers = old.post(batch).json()
    assert [(one["id"], "result" in one) for one in answers] == [("a", True), ("b", False)]
    assert old.post([batch[1]]).status == 202
    for client, body in ((newer, batch), (old, []), (old, batch * 20),
                         (old, [{"jsonrpc": "2.0", "id": 1, "method": "initialize"}])):
        assert client.post(body).status == 400


# --- the tool table ---

def test_tools_are_listed_with_schemas_and_annotations(client):
    tools = {tool["name"]: tool for tool in client.call("tools/list")["tools"]}
    assert set(tools) == READ_ONLY | CHANGING
    for name, tool in tools.items():
        assert tool["annotations"]["readOnlyHint"] == (name in READ_ONLY), name
        assert not (tool["annotations"]["readOnlyHint"] and tool["annotations"]["destructiveHint"])
        assert tool["inputSchema"]["type"] == tool["outputSchema"]["type"] == "object"
        assert len(tool["description"]) > 40 and tool["title"]
        assert all(one.get("description") for one in tool["inputSchema"]["properties"].values()), name
    assert tools["run_command"]["annotations"]["destructiveHint"]
    assert client.refusal("tools/list", {"cursor": "x"}).code == -32602


def test_arguments_that_are_wrong_are_told_to_the_model(client):
    assert client.tool_error("run_command", command=7) == (
        "invalid_field: /command: expected a string. Correct that argument and call the tool again.")
    assert client.tool_error("run_command", comand="x").startswith("unknown_field: /comand")
    assert client.tool_error("read_file").startswith("missing_field: /path")
    refused = client.call("tools/call", {"name": "read_file", "arguments": {"path": "nope"}})
    assert refused["_meta"]["skiff/error"] == {"code": "path_not_found"} and "structuredContent" not in refused
    assert "exactly one of" in client.tool_error("run_command")
    assert "exactly one of" in client.tool_error("wait_for", port=1, path="x")
    assert "list_directory" in client.tool_error("read_file", path="nope")
    assert "path_escapes_root" in client.tool_error("read_file", path="../../etc/passwd")
    assert "list_commands" in client.tool_error("read_output", command="nope")
    assert "list_sessions" in client.tool_error("run_command", command="true", session="nope")
    assert client.refusal("tools/call", {"name": "nope"}).code == -32602


# --- commands ---

def test_a_command_is_waited_for(client):
    done = client.tool("run_command", command="echo out; echo err >&2; exit 3", env={"A": "b"})
    assert (done["stdout"], done["stderr"], done["exit_code"], done["state"]) == ("out\n", "err\n", 3, "ended")
    assert client.tool("run_command", argv=["printf", "%s", "a b"])["stdout"] == "a b"
    assert client.tool("run_command", command="cat", stdin="typed")["stdout"] == "typed"
    assert client.tool("run_command", command="sleep 100", timeout_ms=50)["cause"] == "timeout"
    assert client.tool("run_command", command="/nope", id="once")["exit_code"] == 127
    assert client.tool("run_command", command="/nope", id="once")["id"] == "once"
    assert "command_conflict" in client.tool_error("run_command", command="true", id="once")
    big = client.tool("run_command", command="seq 10000", max_output_bytes=1000)
    assert big["truncated"] and big["stdout"].startswith("1\n2\n") and big["stdout"].endswith("10000\n")


def test_a_command_that_takes_longer_than_its_wait_goes_on(client):
    begun = client.tool("run_command", command="echo begun; read line; echo got $line; exit 5", stdin_open=True, wait_ms=200)
    assert begun["state"] == "running" and "wait_for" in begun["next_step"]
    first = client.tool("read_output", command=begun["id"], wait_ms=5000)
    assert first["stdout"] == "begun\n" and first["next"] == 6 and first["state"] == "running"
    assert client.tool("write_input", command=begun["id"], text="it\n", eof=True)["written_bytes"] == 3
    over = client.tool("wait_for", command=begun["id"])
    assert over["met"] and over["exit_code"] == 5
    rest = client.tool("read_output", command=begun["id"], **{"from": first["next"]})
    assert rest["stdout"] == "got it\n" and rest["exit_code"] == 5 and not rest["more"]
    assert "stdin_closed" in client.tool_error("write_input", command=begun["id"], text="x")


def test_output_is_read_piece_by_piece_without_cutting_characters(client):
    text = "äöü€" * 1000
    done = client.tool("run_command", command="cat", stdin=text, max_output_bytes=0)
    offset, read = 0, ""
    while True:
        part = client.tool("read_output", command=done["id"], **{"from": offset}, limit_bytes=1024 + 1)
        read, offset = read + part["stdout"], part["next"]
        if not part["more"]:
            break
        assert "�" not in part["stdout"] or part["state"] == "ended"
    assert len(read.encode()) >= len(text.encode())


def test_wait_for_takes_ports_patterns_and_paths_of_a_background_command(client):
    server = ("import socket, time, pathlib; s = socket.create_server(('127.0.0.1', 0)); print('on', s.getsockname()[1], "
              "flush=True); pathlib.Path('up').touch(); time.sleep(100)")
    begun = client.tool("run_command", argv=["/usr/bin/python3", "-c", server], background=True)
    assert begun["state"] in ("starting", "running") and "stdout" not in begun
    found = client.tool("wait_for", command=begun["id"], pattern=r"on (\d+)")
    port = int(found["match"].split()[1])
    assert client.tool("wait_for", port=port)["met"] and client.tool("wait_for", path="up")["met"]
    late = client.tool("wait_for", command=begun["id"], timeout_ms=10)
    assert not late["met"] and late["reason"] == "timeout" and "again" in late["next_step"]
    assert [one["id"] for one in client.tool("list_commands", state="running")["items"]] == [begun["id"]]
    client.tool("send_signal", command=begun["id"], signal="TERM")
    over = client.tool("wait_for", command=begun["id"])
    assert over["met"] and over["signal"] == "SIGTERM"
    assert "command_ended" in client.tool_error("send_signal", command=begun["id"])
    never = client.tool("wait_for", command=begun["id"], pattern="never")
    assert not never["met"] and never["reason"] == "ended"


def test_a_stateful_session_keeps_what_commands_change(client):
    made = client.tool("create_session", id="mine")
    assert made["id"] == "mine" and made["shell"]["stateful"]
    client.tool("run_command", session="mine", command="mkdir d; cd d; export A=1")
    assert client.tool("run_command", session="mine", command="echo $A $(basename $PWD)")["stdout"] == "1 d\n"
    assert "session_conflict" in client.tool_error("create_session", id="mine")
    assert [one["id"] for one in client.tool("list_sessions")["items"]] == ["default", "mine"]
    assert client.tool("delete_session", session="mine") == {"deleted": "mine"}
    assert "session_protected" in client.tool_error("delete_session", session="default")


# --- files ---

def test_files_are_written_read_edited_and_found(client):
    made = client.tool("write_file", path="src/a.py", text="one = 1\ntwo = 2\nthree = 3\n")
    assert made["created"] and made["size"] == 26
    assert client.tool("read_file", path="src/a.py")["text"] == "one = 1\ntwo = 2\nthree = 3\n"
    part = client.tool("read_file", path="src/a.py", first_line=2, last_line=2)
    assert (part["text"], part["lines"], part["first_line"], part["truncated"]) == ("two = 2\n", 1, 2, False)
    cut = client.tool("read_file", path="src/a.py", max_bytes=10)
    assert cut["truncated"] and "first_line 2" in cut["next_step"]
    edited = client.tool("edit_file", path="src/a.py", edits=[{"old": "two = 2", "new": "two = 22"}])
    assert "-two = 2\n+two = 22\n" in edited["diff"]
    assert "read_file" in client.tool_error("edit_file", path="src/a.py", edits=[{"old": "nope", "new": ""}])
    client.tool("write_file", path="b.bin", base64=base64.b64encode(b"\0\xff").decode())
    assert client.tool("read_file", path="b.bin")["base64"] == "AP8="
    assert "base64" in client.tool_error("write_file", path="b.bin", base64="%")
    listed = client.tool("list_directory", recursive=True)["items"]
    assert [(one["path"], one["type"]) for one in listed] == [("b.bin", "file"), ("src", "directory"), ("src/a.py", "file")]
    page = client.tool("list_directory", recursive=True, limit=1)
    assert [one["path"] for one in page["items"]] == ["b.bin"]
    assert client.tool("list_directory", recursive=True, limit=5, cursor=page["next_cursor"])["items"] == listed[1:]
    assert [one["path"] for one in client.tool("find_files", pattern="**/*.py")["items"]] == ["src/a.py"]
    (found,) = client.tool("search_files", pattern=r"tw.", glob="**/*.py", context=1)["items"]
    assert (found["path"], found["line_number"], found["text"]) == ("src/a.py", 2, "two = 22")
    assert found["before"] == ["one = 1"] and found["after"] == ["three = 3"]
    assert client.tool("search_files", pattern="=", limit=1)["truncated"]
    assert "invalid_field" in client.tool_error("search_files", pattern="(")


def test_a_tree_of_changes_is_made_at_once_or_not_at_all(client):
    client.tool("write_file", path="old", text="x")
    changes = [{"op": "write", "path": "d/new", "content": "y"}, {"op": "move", "path": "old", "to": "d/old"}]
    refused = client.tool_error("apply_changes", operations=[*changes, {"op": "delete", "path": "nope"}])
    assert refused.startswith("path_not_found") and client.tool("list_directory")["items"][0]["path"] == "old"
    assert [one["path"] for one in client.tool("apply_changes", operations=changes)["items"]] == ["d/new", "d/old"]
    assert client.tool("apply_changes", operations=[{"op": "delete", "path": "d/new"}])["items"] == [
        {"path": "d/new", "deleted": True}]
    assert "1 to 500" in client.tool_error("apply_changes", operations=[])


def test_watch_changes_lists_changes_since_a_cursor(client, watched):
    begun = client.tool("watch_changes", path="w")
    assert begun["items"] == []
    client.tool("run_command", command="mkdir w/new; mv w/new w/d")
    seen = client.tool("watch_changes", path="w", cursor=begun["cursor"], wait_ms=10_000)
    assert (seen["items"][0]["type"], seen["items"][0]["is_directory"]) == ("created", True)
    assert seen["cursor"] > begun["cursor"]


# --- while it runs ---

def test_progress_is_sent_to_clients_that_ask_for_it(client):
    with client.stream("tools/call", {"name": "run_command", "arguments": {"command": "echo x; sleep 2.2"}},
                       {"progressToken": "t-1"}) as stream:
        told = [message for _, message in events(stream) if message]
    *progress, answer = told
    assert answer["result"]["structuredContent"]["exit_code"] == 0 and progress
    assert all(one["method"] == "notifications/progress" and one["params"]["progressToken"] == "t-1" for one in progress)
    amounts = [one["params"]["progress"] for one in progress]
    assert amounts == sorted(set(amounts)) and progress[0]["params"]["total"] == 50_000
    assert "2 bytes" in progress[-1]["params"]["message"]


def test_a_cancelled_request_ends_with_what_it_waits_for(agent):
    client = Mcp(agent)
    with client.stream("tools/call", {"name": "run_command", "arguments": {"command": "echo x; sleep 100"}}) as stream:
        (running,) = until(lambda: client.tool("list_commands", state="running")["items"])
        client.notify("notifications/cancelled", requestId=1, reason="enough")
        assert [message for _, message in events(stream) if message] == []
    assert agent.ended(running["id"])["cause"] == "killed_by_client"
    # A command that runs already, and is only waited for, goes on.
    begun = client.tool("run_command", command="sleep 100", background=True)
    with client.stream("tools/call", {"name": "wait_for", "arguments": {"command": begun["id"]}}) as stream:
        assert stream.status == 200  # its stream has begun
        client.notify("notifications/cancelled", requestId=next(client.ids) - 1)
        assert [message for _, message in events(stream) if message] == []
    assert client.tool("list_commands", state="running")["items"][0]["id"] == begun["id"]


def test_the_end_of_the_connection_cancels_in_the_newest_revision_alone(agent):
    newest, older = Mcp(agent, NEWEST), Mcp(agent)
    for client, cause in ((newest, "killed_by_client"), (older, "exited")):
        mark = f"{client.revision}.go"
        line = f"until [ -e {mark} ]; do sleep 0.02; done"
        stream = client.stream("tools/call", {"name": "run_command", "arguments": {"command": line}})
        (running,) = until(lambda: older.tool("list_commands", state="running")["items"])
        stream.close()
        if client is older:
            agent.request("PUT", f"/v1/files/{mark}", body=b"")
        assert agent.ended(running["id"])["cause"] == cause


def test_a_stream_that_broke_is_taken_up_where_it_was(agent):
    client = Mcp(agent)
    line = "echo x; until [ -e go ]; do sleep 0.02; done; echo y"
    with client.stream("tools/call", {"name": "run_command", "arguments": {"command": line}}, {"progressToken": 1}) as stream:
        seen = events(stream)
        (first, primed), (last, progress) = next(seen), next(seen)
    assert primed is None and progress["method"] == "notifications/progress" and first != last
    agent.request("PUT", "/v1/files/go", body=b"")
    with client.news(last) as stream:
        rest = [message for _, message in events(stream)]
    assert rest[-1]["result"]["structuredContent"]["stdout"] == "x\ny\n"
    assert all(message["params"]["progress"] > progress["params"]["progress"] for message in rest[:-1])
    with client.news(first) as stream:  # from its beginning, also once it is over
        assert [message for _, message in events(stream)] == [progress, *rest]
    for wrong in ("99-1", "x", "0", "-", "1-"):
        with client.news(wrong) as stream:
            assert stream.status == 400


# --- resources ---

def test_files_and_logs_are_resources(client):
    client.tool("write_file", path="näh.txt", text="hello")
    done = client.tool("run_command", command="echo said")
    listed = {one["name"]: one for one in client.call("resources/list")["resources"]}
    assert listed["näh.txt"]["uri"] == "skiff://default/files/n%C3%A4h.txt" and listed["näh.txt"]["size"] == 5
    (content,) = client.call("resources/read", {"uri": listed["näh.txt"]["uri"]})["contents"]
    assert content == {"uri": listed["näh.txt"]["uri"], "mimeType": "text/plain", "text": "hello"}
    (content,) = client.call("resources/read", {"uri": f"skiff://default/logs/{done['id']}"})["contents"]
    assert content["text"] == "said\n"
    client.tool("write_file", path="b", base64="/w==")
    assert client.call("resources/read", {"uri": "skiff://default/files/b"})["contents"][0]["blob"] == "/w=="
    assert [one["name"] for one in client.call("resources/templates/list")["resourceTemplates"]] == ["file", "log"]
    missing = -32602 if client.revision == NEWEST else -32002
    for uri, code in (("skiff://default/files/nope", missing), ("skiff://default/logs/nope", missing),
                      ("skiff://nope/files/b", missing), ("file:///etc/passwd", -32602), ("skiff://default/files/", -32602),
                      ("skiff://default/files/%00", -32602), ("skiff://default/files/..%2F..%2Fetc/passwd", -32602)):
        assert client.refusal("resources/read", {"uri": uri}).code == code, uri


def test_changes_of_resources_are_sent_to_subscribers(agent, watched):
    client = Mcp(agent)
    client.tool("write_file", path="w/file", text="1")
    begun = client.tool("run_command", command="until [ -e go ]; do sleep 0.02; done; echo said", background=True)
    file, log = "skiff://default/files/w/file", f"skiff://default/logs/{begun['id']}"
    for uri in (file, log, file):
        assert client.call("resources/subscribe", {"uri": uri}) == {}
    with client.news() as stream:
        told = (message["params"]["uri"] for _, message in events(stream)
                if message["method"] == "notifications/resources/updated")
        client.tool("write_file", path="w/other", text="2")
        client.tool("write_file", path="w/file", text="2")
        assert next(told) == file
        agent.request("PUT", "/v1/files/go", body=b"")
        assert next(told) in (log, file)
    for uri in (file, log, "skiff://default/files/w/never"):
        assert client.call("resources/unsubscribe", {"uri": uri}) == {}
    assert client.refusal("resources/subscribe", {"uri": "skiff://default/logs/nope"}).code == -32002


def test_updates_without_a_listener_are_sent_later_and_once(agent, watched):
    client = Mcp(agent)
    client.tool("write_file", path="w/file", text="1")
    client.call("resources/subscribe", {"uri": "skiff://default/files/w/file"})
    client.tool("write_file", path="w/file", text="2")
    with client.news() as stream:
        told = events(stream)
        _, message = next(told)
        assert message["params"] == {"uri": "skiff://default/files/w/file"}
        # Another connection takes the stream over.
        with client.news():
            assert list(told) == []


def test_the_newest_revision_listens_on_a_request_of_its_own(agent, watched):
    client = Mcp(agent, NEWEST)
    client.tool("write_file", path="w/file", text="1")
    uri = "skiff://default/files/w/file"
    with client.stream("subscriptions/listen", {"notifications": {
            "toolsListChanged": True, "resourceSubscriptions": [uri]}}) as stream:
        told = (message for _, message in events(stream))
        first = next(told)
        mark = {"io.modelcontextprotocol/subscriptionId": 2}
        assert first["method"] == "notifications/subscriptions/acknowledged"
        assert first["params"] == {"_meta": mark, "notifications": {"resourceSubscriptions": [uri]}}
        client.tool("write_file", path="w/file", text="2")
        assert next(told)["params"] == {"_meta": mark, "uri": uri}
    assert client.refusal("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["x"]}}).code == -32602
    assert client.refusal("subscriptions/listen", {}).code == -32602


# --- by whose leave ---

def test_a_token_that_reads_is_shown_what_reads(start_agent):
    agent = start_agent(tokens=("reader read",))
    for revision in (NEWEST, WITH_HANDSHAKE[0]):
        reader = Mcp(agent, revision, token="reader")
        assert {tool["name"] for tool in reader.call("tools/list")["tools"]} == READ_ONLY
        for name in CHANGING:
            refused = reader.refusal("tools/call", {"name": name, "arguments": {}})
            assert refused.code == -32602 and "scope" in refused.message, name
        assert reader.tool("list_directory")["items"] == []


def test_a_token_of_a_session_is_kept_in_it(start_agent):
    agent = start_agent(tokens=("kept exec own",))
    agent.session(id="own", root="own")
    kept = Mcp(agent, token="kept")
    assert kept.tool("run_command", command="basename $PWD")["stdout"] == "own\n"
    kept.tool("write_file", path="f", text="x")
    assert (agent.root / "own/f").read_text() == "x"
    assert [one["id"] for one in kept.tool("list_sessions")["items"]] == ["own"]
    for name, arguments in (("run_command", {"command": "true", "session": "default"}), ("create_session", {}),
                            ("read_file", {"path": "f", "session": "default"}), ("delete_session", {"session": "own"})):
        assert "insufficient_scope" in kept.tool_error(name, **arguments)
    assert kept.refusal("resources/read", {"uri": "skiff://default/files/f"}).code == -32602


def test_a_session_is_for_the_credential_that_began_it(start_agent):
    agent = start_agent(tokens=("other admin",))
    mine, other = Mcp(agent), Mcp(agent, token="other")
    stolen = Mcp(agent, token="other", begin=False)
    stolen.session, stolen.revision = mine.session, mine.revision
    assert stolen.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}).status == 404
    assert stolen.end().status == 404 and stolen.news().status == 404
    assert mine.call("ping") == {} and other.call("ping") == {}
    agent.request("POST", "/mcp", json={}, token="wrong").problem(401)


def test_a_web_page_of_another_origin_is_refused(agent):
    client = Mcp(agent)
    for method in ("POST", "GET", "DELETE"):
        headers = client.headers(Origin="https://evil.example", Accept="*/*")
        agent.request(method, "/mcp", headers=headers, json={} if method == "POST" else None).problem(
            403, "origin_not_allowed")
    agent.request("POST", "/mcp", json={}, headers={"Host": "evil.example"}).problem(421)


def test_run_command_starts_a_command_of_the_agent(start_agent, tmp_path):
    log = tmp_path / "audit"
    agent = start_agent("--audit-log", log)
    done = Mcp(agent).tool("run_command", command="echo seen")
    assert agent.request("GET", f"/v1/commands/{done['id']}").json()["command"] == "echo seen"
    assert 'route="/mcp"' in agent.request("GET", "/metrics").text
    assert agent.terminate() == 143
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    assert [one["event"] for one in entries if one.get("command") == done["id"]] == ["command", "request"]


def test_an_agent_that_stops_ends_what_is_under_way(start_agent):
    agent = start_agent()
    client = Mcp(agent)
    with client.stream("tools/call", {"name": "run_command", "arguments": {"command": "sleep 100"}}) as waits, \
            client.news() as news:
        until(lambda: client.tool("list_commands", state="running")["items"])
        assert agent.terminate() == 143
        assert list(events(news)) == []
        (answer,) = [message for _, message in events(waits) if message]
    assert answer["result"]["structuredContent"]["cause"] == "shutdown"


# --- the form of messages ---

def test_invalid_messages_are_refused(agent):
    client = Mcp(agent)
    for body, code in ((b"{", -32700), (b"[]", -32600), (b"7", -32600), (b"{}", -32600), (b'{"jsonrpc":"1.0","id":1}', -32600),
                       (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
                       (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
                       (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600)):
        answer = agent.request("POST", "/mcp", body=body, headers=client.headers(**{"Content-Type": "application/json"}))
        assert answer.status == 400 and answer.json()["error"]["code"] == code, (body, answer)
    agent.request("POST", "/mcp", body=b"{}", headers={"Content-Type": "text/plain"}).problem(415)
    agent.request("POST", "/mcp", json={}, headers={"Accept": "image/png"}).problem(406)
    agent.request("GET", "/mcp", headers={**client.headers(), "Accept": "application/json"}).problem(406)
    assert client.post({"jsonrpc": "2.0", "id": 5, "result": {}}).status == 202
    assert client.refusal("nope").code == -32601 and client.status == 200
    for headers, status in (({"Mcp-Session-Id": "x"}, 404), ({}, 400), ({"MCP-Protocol-Version": "x"}, 400)):
        answer = agent.request("POST", "/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"}, headers=headers)
        assert answer.status == status and answer.json()["error"], headers
    assert agent.request("HEAD", "/mcp", headers=client.headers()).status == 405
