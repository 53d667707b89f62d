"""The Model Context Protocol's messages, header fields and sessions, as clients have them that are not the official ones."""

import json

import pytest

from mcp_client import ACCEPT, NEWEST, PREFIX, WITH_HANDSHAKE, Mcp, events, messages
from waiting import until
from wire import request_bytes

NOT_OFFERED = ("prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "tasks/list", "roots/list",
               "sampling/createMessage", "elicitation/create", "rpc.discover", "", "Ping")
INVALID, NOT_JSON = -32600, -32700  # a request that is none, and what is not even JSON


@pytest.fixture(params=[NEWEST, WITH_HANDSHAKE[0]])
def client(request, agent):
    """One without a handshake, and one with."""
    return Mcp(agent, request.param)


def post_text(client, body, **headers):
    given = {**client.headers(), "Content-Type": "application/json", **headers}
    return client.agent.request("POST", "/mcp", body=body.encode(), headers=given)


# --- JSON-RPC ---


@pytest.mark.parametrize("id", ["0", "-1", "9007199254740993", '"7"', '""', '"ü \\u0000"', f'"{"x" * 200}"'])
def test_an_id_comes_back_as_it_was(agent, id):
    answer = post_text(Mcp(agent), '{"jsonrpc":"2.0","id":%s,"method":"ping"}' % id)
    assert answer.status == 200 and answer.json() == {"jsonrpc": "2.0", "id": json.loads(id), "result": {}}


@pytest.mark.parametrize("id, code", [
    ("null", INVALID), ("1.5", INVALID), ("true", INVALID), ("[1]", INVALID), ("{}", INVALID), ("1e400", NOT_JSON),
    ("18446744073709551616", INVALID), (f'"{"x" * 300}"', INVALID)])
def test_what_is_not_an_id_is_refused(agent, id, code):
    answer = post_text(Mcp(agent), '{"jsonrpc":"2.0","id":%s,"method":"ping"}' % id)
    assert answer.status == 400 and answer.json()["id"] is None
    assert answer.json()["error"]["code"] == code and answer.json()["error"]["message"]


@pytest.mark.parametrize("body", ['{"jsonrpc":"2.0","id":4,"method":5}', '{"jsonrpc":2.0,"id":4,"method":"ping"}',
                                  '{"id":4,"method":"ping"}', '{"jsonrpc":"2.0","id":4}',
                                  '{"jsonrpc":"2.0","id":4,"method":"ping","params":"x"}'])
def test_a_broken_request_is_refused_with_its_id(agent, body):
    answer = post_text(Mcp(agent), body)
    assert (answer.status, answer.json()["id"], answer.json()["error"]["code"]) == (400, 4, -32600)
    assert answer.headers.get_content_type() == "application/json"


@pytest.mark.parametrize("body, code", [
    *((body, NOT_JSON) for body in ("", " ", "{} {}", "{'a':1}", '{"a":1,}', "NaN")),
    *((body, INVALID) for body in ("null", "true", '"x"', "\ufeff{}"))])
def test_what_is_not_json_or_not_a_message_is_refused(agent, body, code):
    answer = post_text(Mcp(agent), body)
    assert answer.status == 400 and answer.json()["id"] is None and answer.json()["error"]["code"] == code


def test_members_that_are_not_known_are_passed_over(client):
    message = client.message("tools/list", {"more": {"x": [1]}})
    assert client.agent.request("POST", "/mcp", json={**message, "trace": 1}, headers=client.headers(message)).status == 200


def test_answers_of_a_client_are_taken(agent):
    client = Mcp(agent)
    for body in ({"id": 5, "result": {}}, {"id": 5, "error": {"code": 1, "message": "x"}},
                 {"id": None, "error": {"code": -32700, "message": "x"}}):
        answer = client.post({"jsonrpc": "2.0", **body})
        assert (answer.status, answer.body) == (202, b"")


def test_notifications_are_taken_whatever_they_say(client):
    for method in ("notifications/initialized", "notifications/roots/list_changed", "notifications/nope", "ping"):
        answer = client.post({"jsonrpc": "2.0", "method": method, "params": client.message(method)["params"]})
        assert (answer.status, answer.body) == (202, b""), method
    if client.revision == NEWEST:
        return
    for params in ({}, {"requestId": None}, {"requestId": 77}, {"requestId": [1]}):
        client.notify("notifications/cancelled", **params)
    assert client.call("ping") == {}


def test_methods_that_are_not_offered_are_told_so(client):
    for method in NOT_OFFERED:
        refused = client.refusal(method, {"name": "x"})
        assert refused.code == -32601 and client.status == (404 if client.revision == NEWEST else 200), method


# --- batches ---


def test_each_part_of_a_batch_has_its_answer(agent):
    client = Mcp(agent, "2025-03-26")
    answers = client.post([1, {"jsonrpc": "2.0", "id": "a", "method": "ping"}, {"jsonrpc": "1.0", "id": 3, "method": "ping"},
                           {"jsonrpc": "2.0", "method": "notifications/initialized"},
                           {"jsonrpc": "2.0", "id": 4, "method": "nope"}]).json()
    assert [(one["id"], one.get("error", {}).get("code")) for one in answers] == [
        (None, -32600), ("a", None), (3, -32600), (4, -32601)]
    answer = client.post([1, {}])
    assert answer.status == 400 and [one["error"]["code"] for one in answer.json()] == [-32600, -32600]
    assert client.post([{"jsonrpc": "2.0", "id": 1, "result": {}}]).status == 202


def test_a_batch_cancels_what_a_message_would(agent):
    client = Mcp(agent, "2025-03-26")
    with client.stream("tools/call", {"name": "run_command", "arguments": {"command": "sleep 100", "id": "given-up"}}) as stream:
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        assert client.post([cancel, {"jsonrpc": "2.0", "id": 9, "method": "ping"}]).json() == [
            {"jsonrpc": "2.0", "id": 9, "result": {}}]
        assert [message for _, message in events(stream) if message] == []
    assert agent.ended("given-up")["cause"] == "killed_by_client"


# --- header fields ---


def test_content_types_may_have_parameters_and_accept_may_have_ranges(agent):
    client = Mcp(agent)
    ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    for kind in ("application/json; charset=utf-8", "Application/JSON"):
        assert post_text(client, ping, **{"Content-Type": kind}).status == 200
    for kind in ("text/plain", "", "application/jsonx", "text/event-stream"):
        assert post_text(client, ping, **{"Content-Type": kind}).status == 415, kind
    for accept in ("*/*", "application/*, text/*", "text/event-stream;q=0.1,application/json", None):
        assert post_text(client, ping, Accept=accept).status == 200, accept
    for accept in ("application/json", "text/event-stream", "text/html", ""):
        assert post_text(client, ping, Accept=accept).status == 406, accept


def test_an_answer_is_json_or_events_that_nobody_holds_back(agent):
    client = Mcp(agent)
    answer = client.post(client.message("ping"))
    assert answer.headers.get_content_type() == "application/json"
    with client.stream("tools/call", {"name": "run_command", "arguments": {"command": "sleep 1.2"}}) as stream:
        assert stream.headers.get_content_type() == "text/event-stream"
        assert stream.headers["X-Accel-Buffering"] == "no" and "no-" in stream.headers["Cache-Control"]
        assert len(messages(stream)) == 1  # no progress for who gave no token


def test_other_methods_and_paths_are_not_there(agent):
    client = Mcp(agent)
    for method in ("PUT", "PATCH", "OPTIONS"):
        answer = agent.request(method, "/mcp", headers=client.headers(), body=b"")
        assert answer.status == 405 and {"POST", "GET", "DELETE"} <= {one.strip() for one in answer.headers["Allow"].split(",")}
    assert post_text(client, "{}").status == 400
    answer = agent.request("POST", "/mcp", json={}, headers={"Authorization": None, **ACCEPT})
    assert answer.status == 401 and answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_fields_that_are_there_twice_are_refused(agent):
    client, body = Mcp(agent), b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    lines = {**agent.headers(client.headers()), "Content-Type": "application/json", "Content-Length": len(body), "Connection": "close"}
    for name in ("Mcp-Session-Id", "MCP-Protocol-Version"):
        sent = request_bytes("POST", "/mcp", {**lines, name: f"{lines[name]}\r\n{name.lower()}: {lines[name]}"}, body)
        answer = agent.exchange(sent)
        assert answer.startswith(b"HTTP/1.1 400 ") and b"more than once" in answer


def test_an_odd_revision_is_told_which_there_are(agent):
    client = Mcp(agent)
    for odd in ("", "x", "2025-06-18 ", "2025-06-18, 2025-11-25", "1999-01-01"):
        answer = client.post(client.message("ping"), **{"MCP-Protocol-Version": odd})
        if odd.strip() == "2025-06-18":
            assert answer.status == 200  # white space around a value is not part of it
            continue
        assert answer.status == 400 and answer.json()["error"]["code"] == -32022, odd
    without = {name: value for name, value in client.headers().items() if name != "MCP-Protocol-Version"}
    assert agent.request("POST", "/mcp", json=client.message("ping"), headers=without).status == 200


def test_initialize_is_a_handshake_whatever_its_header_says(agent):
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": NEWEST, "capabilities": {}}}
    answer = agent.request("POST", "/mcp", json=message, headers={**ACCEPT, "MCP-Protocol-Version": NEWEST})
    assert answer.status == 200 and answer.json()["result"]["protocolVersion"] == WITH_HANDSHAKE[0]
    assert answer.headers["Mcp-Session-Id"]
    message["params"]["_meta"] = {PREFIX + "protocolVersion": NEWEST, PREFIX + "clientCapabilities": {}}
    answer = agent.request("POST", "/mcp", json=message, headers={
        **ACCEPT, "MCP-Protocol-Version": NEWEST, "Mcp-Method": "initialize"})
    assert answer.status == 404 and answer.json()["error"]["code"] == -32601
    for params in ({}, {"protocolVersion": 5}, {"protocolVersion": ""}):
        answer = agent.request("POST", "/mcp", json={**message, "params": params}, headers=ACCEPT)
        assert answer.status == 400 and answer.json()["error"]["code"] == -32602


def test_the_newest_revision_knows_no_sessions(agent):
    client = Mcp(agent, NEWEST)
    message = client.message("tools/call", {"name": "run_command", "arguments": {"command": "sleep 1.2"}})
    headers = client.headers(message, **{"Mcp-Session-Id": "x", "Last-Event-ID": "7-7"})
    with agent.stream("POST", "/mcp", json=message, headers=headers) as stream:
        assert "Mcp-Session-Id" not in stream.headers
        assert [id for id, _ in events(stream)] == [None]
    for method in ("GET", "DELETE"):
        answer = agent.request(method, "/mcp", headers={**ACCEPT, "MCP-Protocol-Version": NEWEST})
        assert answer.status == 405 and answer.headers["Allow"] == "POST"


def test_results_are_marked_in_the_newest_revision_alone(client):
    for method, params in (("tools/list", {}), ("resources/list", {}), ("resources/templates/list", {}),
                           ("tools/call", {"name": "list_sessions"})):
        result = client.call(method, params)
        assert (result.get("resultType") == "complete") == (client.revision == NEWEST), method
        assert ("ttlMs" in result) == (client.revision == NEWEST and method != "tools/call"), method
        assert (PREFIX + "serverInfo" in result.get("_meta", {})) == (client.revision == NEWEST)


# --- sessions ---


def test_the_end_of_a_session_ends_all_that_it_has(agent):
    client = Mcp(agent)
    kept = client.tool("run_command", command="sleep 1000", background=True)
    with client.news() as news, client.stream(
            "tools/call", {"name": "run_command", "arguments": {"command": "sleep 1000", "id": "waited-for"}}) as stream:
        assert client.end().status == 204
        assert [message for _, message in events(news)] == []
        assert [message for _, message in events(stream) if message] == []
    assert agent.ended("waited-for")["cause"] == "killed_by_client"
    assert agent.request("GET", f"/v1/commands/{kept['id']}").json()["state"] == "running"
    assert client.end().status == 404 and client.news().status == 404
    assert agent.request("DELETE", "/mcp").status == 400


def test_a_session_id_is_not_to_be_guessed(agent):
    ids = {Mcp(agent).session for _ in range(20)}
    assert len(ids) == 20 and all(len(one) >= 22 and one.isascii() and one.isprintable() and " " not in one for one in ids)
    for odd in ("", "x" * 5000, "..", "%00", "'"):
        answer = post_text(Mcp(agent), '{"jsonrpc":"2.0","id":1,"method":"ping"}', **{"Mcp-Session-Id": odd})
        assert answer.status == 404 and answer.json()["error"]["code"] == -32001, odd


def test_another_handshake_is_another_session(agent):
    client = Mcp(agent)
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}
    other = client.post(message).headers["Mcp-Session-Id"]
    assert other != client.session and client.call("ping") == {}


# --- lists and calls ---


def test_lists_have_an_order_and_their_cursors_a_form(client):
    first, second = (client.call("tools/list")["tools"] for _ in range(2))
    assert first == second
    for method in ("tools/list", "resources/list", "resources/templates/list"):
        for cursor in (5, {}, ["x"], "no such page"):
            assert client.refusal(method, {"cursor": cursor}).code == -32602, (method, cursor)
        assert client.call(method, {"cursor": None}) == client.call(method)


def test_resources_come_page_by_page(client):
    for i in range(450):
        (client.agent.root / f"f{i:03}").touch()
    client.tool("run_command", command="echo said")
    seen, cursor, pages = [], None, 0
    while pages < 10:
        page = client.call("resources/list", {"cursor": cursor} if cursor else {})
        seen += [one["name"] for one in page["resources"]]
        cursor, pages = page.get("nextCursor"), pages + 1
        if not cursor:
            break
    assert pages == 3 and len(set(seen)) == len(seen) == 451 and seen[0].endswith(".log")


def test_an_invalid_call_does_not_reach_the_tool(client):
    def code(**params):
        message = client.message("tools/call", params)
        name = params.get("name")
        headers = client.headers(message) | ({"Mcp-Name": name if isinstance(name, str) else ""} if client.revision == NEWEST else {})
        return client.agent.request("POST", "/mcp", json=message, headers=headers).json().get("error", {}).get("code")

    for arguments in ([], ["a"], "x", 5, True):
        assert code(name="list_sessions", arguments=arguments) == -32602, arguments
    for name in ("nope", "", 5, None, ["run_command"]):
        assert code(name=name, arguments={}) == -32602, name
    assert code(arguments={}) == -32602
    for fine in ({}, {"arguments": {}}, {"arguments": None}, {"arguments": {}, "task": {"ttl": 1}}):
        assert code(name="list_sessions", **fine) is None, fine


def test_progress_has_the_token_of_its_request(client):
    for i, token in enumerate((0, -3, "", "ü")):
        line = {"command": f"until [ -e go{i} ]; do sleep 0.02; done"}
        with client.stream("tools/call", {"name": "run_command", "arguments": line}, {"progressToken": token}) as stream:
            told = (message for _, message in events(stream) if message)
            assert next(told)["params"]["progressToken"] == token
            client.agent.request("PUT", f"/v1/files/go{i}", body=b"")
            assert list(told)[-1]["result"]["structuredContent"]["exit_code"] == 0


def test_invalid_progress_tokens_are_refused(client):
    for token in (1.5, True, ["x"], {}, "x" * 300):
        message = client.message("tools/list", meta={"progressToken": token})
        answer = client.agent.request("POST", "/mcp", json=message, headers=client.headers(message))
        assert answer.json()["error"]["code"] == -32602, token
    assert client.call("tools/list", meta={"progressToken": None})["tools"]


def test_ids_of_another_type_cancel_nothing(agent):
    client = Mcp(agent)
    with client.stream("tools/call", {"name": "run_command", "arguments": {
            "command": "until [ -e go ]; do sleep 0.02; done"}}) as stream:
        until(lambda: client.tool("list_commands", state="running")["items"])
        client.notify("notifications/cancelled", requestId="1")
        agent.request("PUT", "/v1/files/go", body=b"")
        answer = messages(stream)[-1]
    assert answer["id"] == 1 and answer["result"]["structuredContent"]["exit_code"] == 0


def test_a_subscription_has_the_id_of_its_request(agent):
    client = Mcp(agent, NEWEST)
    message = {**client.message("subscriptions/listen", {"notifications": {}}), "id": "s-1"}
    with agent.stream("POST", "/mcp", json=message, headers=client.headers(message)) as stream:
        _, first = next(events(stream))
    assert first["params"] == {"_meta": {PREFIX + "subscriptionId": "s-1"}, "notifications": {}}


def test_odd_ends_of_commands_are_what_the_schemas_say(client):
    """`tool` compares each result with its tool's schema."""
    client.tool("create_session", id="other", root="other", env={"A": "1", "B": None}, idle_timeout_ms=60_000)
    for arguments in ({"command": "kill -9 $$"}, {"argv": ["/nope"]}, {"command": "sleep 100", "timeout_ms": 50},
                      {"command": "printf '\\377'; printf '\\376' >&2"}, {"command": "sleep 100 & echo x"},
                      {"command": "yes | head -c 100000", "max_output_bytes": 0}, {"command": "true", "session": "other"},
                      {"command": "sleep 100", "wait_ms": 0}, {"command": "sleep 100", "background": True, "stdin_open": True}):
        done = client.tool("run_command", **arguments)
        session = {"session": arguments["session"]} if "session" in arguments else {}
        client.tool("read_output", command=done["id"], **session)
        client.tool("read_output", command=done["id"], **{"from": 10**9}, **session)
        client.tool("wait_for", command=done["id"], timeout_ms=0, **session)
    client.tool("list_commands", limit=1000)
    client.tool("list_sessions")
    (client.agent.root / "link").symlink_to("nowhere")
    client.tool("list_directory")
    client.tool("find_files", pattern="nothing")
    client.tool("search_files", pattern="nothing")
    client.tool("apply_changes", atomic=False, operations=[{"op": "delete", "path": "nope"}, {"op": "write", "path": "d/f", "content": "x"}])
