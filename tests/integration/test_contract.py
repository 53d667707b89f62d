"""The agent serves what it promises: contract.txt against /openapi.json both ways, and every route against its promise."""

import io
import json
import os
import tarfile

import pytest
import websockets

import contract
from sockets import binary_header, binary_stdin
from upstream import Upstream, answering
from waiting import until

PROMISED = contract.read()
LESSER = {"read": None, "exec": "read", "ports": "exec", "admin": "exec"}
COMMANDS = contract.SESSION + "/commands"


# --- the two lists ---


@pytest.fixture
def served(agent):
    return agent.request("GET", "/openapi.json").json()


def operations(document):
    """{"METHOD path": operation}"""
    return {f"{method.upper()} {path}": operation
            for path, methods in document["paths"].items() for method, operation in methods.items()}


def media(response):
    return set(response.get("content", {}))


def test_the_routes_served_are_those_promised(served):
    routes = operations(served).keys()
    assert not routes - PROMISED.routes.keys(), "served and not promised: add these to tests/integration/contract.txt"
    assert not PROMISED.routes.keys() - routes, "promised in tests/integration/contract.txt and not served"


def test_each_route_takes_and_answers_what_was_promised(served):
    for name, operation in operations(served).items():
        promised = PROMISED.routes[name]
        assert operation.get("x-scope") == promised.scope, name
        assert any("bearer" in scheme for scheme in operation["security"]) == bool(promised.scope), name
        names = {parameter["name"] for parameter in operation.get("parameters", []) if parameter["in"] == "query"}
        assert names == promised.query, name
        assert media(operation.get("requestBody", {})) == promised.takes, name
        answers = {int(status): media(response) for status, response in operation["responses"].items() if status[0] in "123"}
        assert answers == promised.answers, name
        missing = {status for status, _ in promised.problems} - {int(status) for status in operation["responses"]
                                                                 if status != "default"}
        assert not missing, f"{name}: {missing} is not documented"


def test_each_problem_has_the_code_and_status_promised(served):
    table = contract.error_table()
    assert list(table) == served["components"]["schemas"]["Problem"]["properties"]["code"]["x-extensible-enum"]
    assert not {(status, code) for status, code in PROMISED.problems() if table.get(code) != status}


def test_the_words_on_the_wire_are_those_promised(served, agent):
    schemas = served["components"]["schemas"]
    messages = agent.request("GET", "/asyncapi.json").json()

    def kinds(operation):
        names = [one["$ref"].rpartition("/")[2] for one in messages["operations"][operation]["messages"]]
        components = messages["components"]["schemas"]
        return {components[name]["properties"]["type"]["enum"][0] for name in names if name != "BinaryFrame"}

    assert {
        "fields": set(schemas["CommandRequest"]["properties"]),
        "fields.output": set(schemas["OutputOptions"]["properties"]),
        "fields.limits": set(schemas["ResourceLimits"]["properties"]),
        "cause": set(schemas["CommandCause"]["enum"]),
        "state": set(schemas["CommandState"]["enum"]),
        "event": set(schemas["EventType"]["enum"]),
        "client": kinds("connectReceive"),
        "watch": set(schemas["WatchEventType"]["enum"]) - {"watching"},
    } == {kind: set(words) for kind, words in PROMISED.words.items() if kind != "close"}


# --- every route is asked ---


class PreparedAgent:
    """An agent with something of everything that a route can be asked about, and a credential for each scope."""

    MOST_COMMANDS = 2

    def __init__(self, start_agent, port):
        self.agent = start_agent("--max-commands", self.MOST_COMMANDS, "--max-sessions", "3", "--cgroup", "none",
                                 "--max-json-bytes", "64KiB",
                                 tokens=("reader-token read", "runner-token exec", "porter-token ports", "chief-token admin"))
        self.tokens = {"read": "reader-token", "exec": "runner-token", "ports": "porter-token", "admin": "chief-token", None: None}
        self.port = port
        root = self.agent.root
        (root / "f").write_bytes(b"one\ntwo\n")
        (root / "d/sub").mkdir(parents=True)
        (root / "d/x").write_bytes(b"x")
        (root / "watched").mkdir()
        (root / "out").symlink_to("/etc")
        os.mkfifo(root / "fifo")
        self.agent.session(id="st", shell={"stateful": True})
        self.agent.start("exec cat", id="live", stdin_open=True)
        self.agent.run("echo out; echo err >&2", id="done")
        self.agent.run("true", id="gone")
        self.agent.request("DELETE", "/v1/commands/gone")
        self.mcp = self.agent.request("POST", "/mcp", json=MCP_BEGIN, token="reader-token").headers["Mcp-Session-Id"]

    def live(self):
        return self.agent.request("GET", "/v1/activity").json()["live_commands"]

    def ask(self, route, how, token):
        """One request for `route`; the answer's status, content type and problem code."""
        path = route.path
        for name, otherwise in ("sid", "default"), ("cid", "live"), ("path", "f"), ("port", str(self.port)), ("xid", "bash"):
            path = path.replace("{" + name + "}", how.get(name, otherwise))
        path += "?" + how["query"] if "query" in how else ""
        headers = dict(how.get("headers", {}))
        if how.get("mcp"):
            headers["Mcp-Session-Id"] = self.mcp
        if not token:
            headers["Authorization"] = None
        if how.get("upgrade"):
            try:
                with self.agent.ws(path, token=token):
                    return 101, None, None
            except websockets.InvalidStatusCode as refused:
                return refused.status_code, None, None
        fields = {"json": how["json"]} if "json" in how else {"body": how.get("body", b"")}
        with self.agent.stream(how.get("method", route.method), path, headers=headers, token=token, **fields) as stream:
            if stream.status == 200 and (route.path.endswith(":watch") or route.name == "GET /mcp"):
                return stream.status, stream.headers.get_content_type(), None  # it has no end
            answer = stream.answer()
            if answer.body and json_document(answer):
                assert answer.body.endswith(b"}\n") and answer.body.count(b"\n") == 1, (route.name, how, answer)
            kind = answer.headers.get_content_type() if "Content-Type" in answer.headers else None
            if answer.status < 400:
                return answer.status, kind, None
            return answer.status, kind, answer.problem(answer.status)["code"]


def json_document(answer):
    return answer.headers.get_content_type() in ("application/json", "application/problem+json")


def packed(name):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = 1
        archive.addfile(member, io.BytesIO(b"x"))
    return made.getvalue()


def accept(kind):
    return {"headers": {"Accept": kind}}


def if_match(tag='"m-none"'):
    return {"headers": {"If-Match": tag}}


MCP_BEGIN = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}
MCP_WAIT = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "wait_for", "arguments": {"command": "live", "timeout_ms": 1500}}}

# Routes that start a command.
STARTERS = {"POST /v1/run", "GET /v1/shell", f"POST {COMMANDS}", f"GET {contract.SESSION}/run"}
NONE, FORM = {"sid": "none"}, {"headers": {"Content-Type": "text/plain"}}
PATCH_TYPE = {"headers": {"Content-Type": "application/merge-patch+json"}}
UPGRADE = {"upgrade": True}
EDIT = {"edits": [{"old": "one", "new": "1"}]}
NO_EDIT = {"edits": [{"old": "nowhere", "new": ""}]}

# {route: [(status, code or media type, request)]}, asked in this order.
ASKED = {
    "GET /": [(200, "application/json", {})],
    "GET /healthz": [(200, "application/json", {})],
    "GET /readyz": [(200, "application/json", {})],
    "GET /openapi.json": [(200, "application/json", {})],
    "GET /asyncapi.json": [(200, "application/json", {})],
    "GET /metrics": [(200, "text/plain", {})],
    "GET /v1/capabilities": [(200, "application/json", {})],
    "GET /v1/version": [(200, "application/json", {})],
    "GET /v1/stats": [(200, "application/json", {})],
    "GET /v1/ports": [(200, "application/json", {})],
    **{f"{method} /v1/ports/{{port}}/{{path}}": [
        (200, None, {}), (400, "invalid_field", {"port": "0"}), (502, "port_not_listening", {"port": "1"})]
       for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")},
    "GET /v1/ports/{port}:tcp": [
        (101, None, UPGRADE), (400, "invalid_field", {"port": "0"}), (426, "upgrade_required", {})],
    "GET /v1/activity": [(200, "application/json", {})],
    "POST /v1/init": [
        (200, "application/json", {"json": {"labels": {"a": "b"}}}), (409, "already_initialised", {"json": {}})],
    "POST /v1/lease": [
        (200, "application/json", {"json": {"ttl_ms": 3_600_000}}), (400, "invalid_field", {"json": {"ttl_ms": -1}})],

    "POST /v1/run": [
        (200, "application/octet-stream", {"body": b"echo hello"}),
        (200, "application/x-ndjson", {"json": {"command": "echo hello"}, **accept("application/x-ndjson")}),
        (200, "text/event-stream", {"body": b"echo hello", **accept("text/event-stream")}),
        (400, "missing_field", {}), (404, "session_not_found", {"body": b"true", "query": "session=none"}),
        (406, "not_acceptable", {"body": b"true", **accept("image/png")}),
        (409, "command_conflict", {"json": {"command": "true", "id": "done"}})],
    "GET /v1/shell": [
        (101, None, {"query": "command=true", **UPGRADE}), (404, "session_not_found", {"query": "session=none"}),
        (426, "upgrade_required", {})],
    "GET /v1/connect": [(101, None, UPGRADE), (426, "upgrade_required", {})],

    "POST /v1/sessions": [
        (422, "shell_unsuitable", {"json": {"shell": {"path": "/bin/true", "stateful": True}}}),
        (201, "application/json", {"json": {"id": "made"}}), (409, "session_conflict", {"json": {"id": "made", "cwd": "d"}}),
        (429, "too_many_sessions", {"json": {"id": "more"}}), (400, "unknown_field", {"json": {"nonsense": 1}}),
        (400, "invalid_field", {"json": {"labels": 1}}), (400, "invalid_id", {"json": {"id": "-"}}),
        (400, "malformed_json", {"body": b"{", "headers": {"Content-Type": "application/json"}}),
        (415, "unsupported_media_type", {"body": b"x", **FORM}), (413, "payload_too_large", {"json": {"id": "x" * 70_000}})],
    "PUT /v1/sessions/{sid}": [
        (200, "application/json", {"sid": "made", "json": {}}), (409, "session_conflict", {"sid": "made", "json": {"cwd": "d"}})],
    "GET /v1/sessions": [(200, "application/json", {}), (400, "invalid_field", {"query": "limit=0"})],
    "GET /v1/sessions/{sid}": [(200, "application/json", {}), (404, "session_not_found", NONE)],
    "PATCH /v1/sessions/{sid}": [
        (200, "application/json", {"json": {"labels": {"a": "b"}}, **PATCH_TYPE}), (200, "application/json", {"json": {}}),
        (404, "session_not_found", {**NONE, "json": {}}),
        (409, "session_is_stateful", {"sid": "st", "json": {"cwd": "d"}})],
    "GET /v1/sessions/{sid}/processes": [(200, "application/json", {}), (404, "session_not_found", NONE)],
    "POST /v1/sessions/{sid}/wait": [
        (200, "application/json", {"json": {"for": {"command": "done"}}}), (400, "missing_field", {"json": {}}),
        (404, "command_not_found", {"json": {"for": {"command": "none"}}})],
    "POST /v1/sessions/{sid}/code": [
        (200, "application/json", {"json": {"code": "true", "language": "bash"}}),
        (200, "application/x-ndjson", {"json": {"code": "true", "language": "bash", "mode": "stream"}}),
        (400, "missing_field", {"json": {}}), (404, "context_not_found", {"json": {"code": "1", "context": "none"}}),
        (422, "language_unavailable", {"json": {"code": "1", "language": "none"}})],
    "GET /v1/sessions/{sid}/code/contexts": [(200, "application/json", {}), (404, "session_not_found", NONE)],
    "POST /v1/sessions/{sid}/code/contexts": [
        (201, "application/json", {"json": {}}), (404, "session_not_found", {**NONE, "json": {}}),
        (422, "language_unavailable", {"json": {"language": "none"}})],
    "POST /v1/sessions/{sid}/code/contexts/{xid}/restart": [(204, None, {}), (404, "context_not_found", {"xid": "none"})],
    "DELETE /v1/sessions/{sid}/code/contexts/{xid}": [(204, None, {}), (404, "context_not_found", {"xid": "none"})],
    "DELETE /v1/sessions/{sid}": [
        (204, None, {"sid": "made"}), (404, "session_not_found", NONE), (409, "session_protected", {})],
    # Now that there is room for one.
    "PUT /v1/sessions/{sid} again": [(201, "application/json", {"sid": "put", "json": {}})],

    "POST /v1/sessions/{sid}/commands": [
        (200, "application/json", {"json": {"command": "true"}}),
        *((200, kind, {"json": {"command": "true", "mode": "stream"}, **accept(kind)})
          for kind in ("application/x-ndjson", "text/event-stream", "application/octet-stream")),
        (400, "missing_field", {"json": {}}), (404, "session_not_found", {**NONE, "json": {"command": "true"}}),
        (406, "not_acceptable", {"json": {"command": "true", "mode": "stream"}, **accept("image/png")}),
        (409, "command_conflict", {"json": {"command": "true", "id": "done"}}),
        (409, "instance_changed", {"json": {"command": "true", "if_instance": "another"}}),
        (410, "command_forgotten", {"json": {"command": "true", "id": "gone"}}),
        (422, "limit_unavailable", {"json": {"command": "true", "limits": {"pids": 5}}}),
        (422, "user_not_found", {"json": {"command": "true", "user": "no-such-user"}}),
        (202, "application/json", {"json": {"command": "exec sleep 600", "mode": "background", "id": "second"}}),
        (429, "too_many_commands", {"json": {"command": "true"}})],
    "DELETE /v1/sessions/{sid}/commands/{cid}": [
        (204, None, {"cid": "second"}), (404, "command_not_found", {"cid": "none"}), (410, "command_forgotten", {"cid": "gone"})],
    "GET /v1/sessions/{sid}/commands": [(200, "application/json", {}), (404, "session_not_found", NONE)],
    "GET /v1/sessions/{sid}/commands/{cid}": [
        (200, "application/json", {}), (404, "command_not_found", {"cid": "none"}), (410, "command_forgotten", {"cid": "gone"})],
    "GET /v1/sessions/{sid}/commands/{cid}/output": [
        *((200, kind, {"cid": "done", **accept(kind)})
          for kind in ("application/x-ndjson", "text/event-stream", "application/octet-stream")),
        (400, "invalid_field", {"query": "from=x"}), (404, "command_not_found", {"cid": "none"}),
        (200, "application/x-ndjson", accept("application/problem+json")),
        (406, "not_acceptable", accept("image/png")), (410, "command_forgotten", {"cid": "gone"})],
    "POST /v1/sessions/{sid}/commands/{cid}/stdin": [
        (204, None, {"body": b"hello\n"}), (404, "command_not_found", {"cid": "none"}), (409, "stdin_closed", {"cid": "done"}),
        (409, "stdin_offset_mismatch", {"body": b"x", "query": "offset=1000"})],
    "POST /v1/sessions/{sid}/commands/{cid}/signal": [
        (204, None, {"json": {"signal": "CONT"}}), (400, "invalid_field", {"json": {"signal": "NONE"}}),
        (409, "command_ended", {"cid": "done", "json": {"signal": "TERM"}})],
    "POST /v1/sessions/{sid}/commands/{cid}/resize": [
        (204, None, {"cid": "screen", "json": {"cols": 80, "rows": 24}}), (409, "not_a_terminal", {"json": {}})],
    "GET /v1/sessions/{sid}/commands/{cid}/attach": [
        (101, None, {"cid": "done", **UPGRADE}), (404, "command_not_found", {"cid": "none"}), (426, "upgrade_required", {})],
    "GET /v1/sessions/{sid}/run": [
        (101, None, {"query": "command=true", **UPGRADE}), (404, "session_not_found", {**NONE, "query": "command=true"}),
        (409, "command_conflict", {"query": "command=true&id=done", **UPGRADE})],

    "POST /mcp": [
        (200, "application/json", {"json": MCP_BEGIN}), (200, "text/event-stream", {"json": MCP_WAIT, "mcp": True}),
        (202, None, {"json": {"jsonrpc": "2.0", "method": "notifications/initialized"}, "mcp": True}),
        (406, "not_acceptable", {"json": MCP_BEGIN, **accept("application/json")})],
    "GET /mcp": [
        (200, "text/event-stream", {"mcp": True}), (405, "method_not_allowed", {"headers": {"MCP-Protocol-Version": "2026-07-28"}}),
        (406, "not_acceptable", {"mcp": True, **accept("application/json")})],
    "DELETE /mcp": [(204, None, {"mcp": True})],

    "GET /v1/sessions/{sid}/files/{path}": [
        (200, "application/octet-stream", {}), (200, "application/octet-stream", {"method": "HEAD"}),
        (206, "application/octet-stream", {"headers": {"Range": "bytes=1-2"}}), (304, None, {"headers": {"If-None-Match": "*"}}),
        (400, "name_too_long", {"path": "n" * 256}), (403, "path_escapes_root", {"path": "out/passwd"}),
        (404, "path_not_found", {"path": "none"}), (409, "not_a_regular_file", {"path": "fifo"}),
        (409, "is_a_directory", {"path": "d"}), (416, "range_not_satisfiable", {"headers": {"Range": "bytes=100-"}})],
    "PUT /v1/sessions/{sid}/files/{path}": [
        (200, "application/json", {"body": b"one\ntwo\n"}), (201, "application/json", {"path": "new/file", "body": b"x"}),
        (400, "invalid_request", {"body": b"x", "headers": {"Content-Range": "bytes 0-0/2"}}),
        (400, "invalid_field", {"body": b"x", "query": "mtime=1e9"}), (403, "path_escapes_root", {"path": "out/new"}),
        (409, "not_a_regular_file", {"path": "fifo"}), (409, "is_a_directory", {"path": "d"}),
        (412, "precondition_failed", if_match()), (422, "checksum_mismatch", {"body": b"x", "query": "sha256=" + "0" * 64})],
    "PATCH /v1/sessions/{sid}/files/{path}": [
        (200, "application/json", {"json": EDIT}),
        (201, "application/json", {"path": "log", "query": "append=true", "body": b"x"}),
        (404, "path_not_found", {"path": "none", "json": EDIT}), (409, "edit_not_found", {"json": NO_EDIT}),
        (409, "append_offset_mismatch", {"path": "log", "query": "append=true&offset=9", "body": b"x"}),
        (412, "precondition_failed", {"json": EDIT, **if_match()})],
    "DELETE /v1/sessions/{sid}/files/{path}": [
        (412, "precondition_failed", {"path": "log", **if_match()}), (204, None, {"path": "log"}),
        (404, "path_not_found", {"path": "none"}), (409, "directory_not_empty", {"path": "d"})],
    "GET /v1/sessions/{sid}/files:list": [(200, "application/json", {}), (404, "path_not_found", {"query": "path=none"})],
    "GET /v1/sessions/{sid}/files:stat": [(200, "application/json", {"query": "path=f&path=none"}), (400, "missing_field", {})],
    "POST /v1/sessions/{sid}/files:copy": [
        (201, "application/json", {"json": {"from": "f", "to": "copy"}}),
        (409, "already_exists", {"json": {"from": "f", "to": "copy"}}),
        (200, "application/json", {"json": {"from": "f", "to": "copy", "overwrite": True}}),
        (404, "path_not_found", {"json": {"from": "none", "to": "other"}})],
    "POST /v1/sessions/{sid}/files:move": [
        (412, "precondition_failed", {"json": {"from": "copy", "to": "moved"}, **if_match()}),
        (201, "application/json", {"json": {"from": "copy", "to": "moved"}}),
        (409, "already_exists", {"json": {"from": "f", "to": "moved"}}),
        (200, "application/json", {"json": {"from": "moved", "to": "d/x", "overwrite": True}}),
        (404, "path_not_found", {"json": {"from": "none", "to": "other"}})],
    "POST /v1/sessions/{sid}/files:mkdir": [
        (201, "application/json", {"json": {"path": "folder"}}), (409, "already_exists", {"json": {"path": "folder"}}),
        (200, "application/json", {"json": {"path": "folder", "parents": True}})],
    "POST /v1/sessions/{sid}/files:symlink": [
        (201, "application/json", {"json": {"path": "link", "target": "f"}}),
        (409, "already_exists", {"json": {"path": "link", "target": "f"}})],
    "POST /v1/sessions/{sid}/files:chmod": [
        (200, "application/json", {"json": {"path": "f", "mode": "0600"}}),
        (400, "invalid_field", {"json": {"path": "f", "mode": "rw"}}),
        (404, "path_not_found", {"json": {"path": "none", "mode": "0600"}})],
    "POST /v1/sessions/{sid}/files:batch": [
        (200, "application/json", {"json": {"operations": [{"op": "write", "path": "b", "content": "x"}]}}),
        (404, "path_not_found", {"json": {"operations": [{"op": "delete", "path": "none"}]}}),
        (409, "edit_not_found", {"json": {"operations": [{"op": "edit", "path": "b", **NO_EDIT}]}}),
        (412, "precondition_failed", {"json": {"operations": [{"op": "delete", "path": "b", "if_match": '"m-none"'}]}})],
    "GET /v1/sessions/{sid}/files:glob": [
        (200, "application/x-ndjson", {"query": "pattern=**"}),
        (200, "application/octet-stream", {"query": "pattern=**", "headers": {"Accept": "application/octet-stream"}}),
        (400, "missing_field", {})],
    "GET /v1/sessions/{sid}/files:grep": [
        (200, "application/x-ndjson", {"query": "pattern=t.o", "headers": {"Accept": "*/*, application/octet-stream"}}),
        (200, "application/octet-stream",
         {"query": "pattern=t.o", "headers": {"Accept": "application/octet-stream, application/x-ndjson"}}),
        (400, "invalid_field", {"query": "pattern=("})],
    "GET /v1/sessions/{sid}/files:archive": [
        (200, "application/x-tar", {"query": "path=d"}),
        (200, "application/octet-stream", {"query": "path=d", "headers": {"Accept": "application/octet-stream"}}),
        (200, "application/gzip", {"query": "path=d&format=tar.gz"}),
        (200, "application/zstd", {"query": "path=d&format=tar.zst"}), (404, "path_not_found", {"query": "path=none"})],
    "PUT /v1/sessions/{sid}/files:archive": [
        (200, "application/json", {"body": packed("inside")}), (400, "malformed_archive", {"body": b"x" * 2000}),
        (403, "path_escapes_root", {"body": packed("../outside")}),
        (413, "payload_too_large", {"body": packed("a"), "query": "most_bytes=0"})],
    "GET /v1/sessions/{sid}/files:watch": [
        (200, "text/event-stream", {"query": "path=watched"}), (101, None, {"query": "path=watched", **UPGRADE}),
        (404, "path_not_found", {"query": "path=none"})],
}


@pytest.fixture
def port():
    with Upstream(answering()) as upstream:
        yield upstream.port


def test_every_route_answers_as_promised(start_agent, port):
    prepared = PreparedAgent(start_agent, port)
    documented = operations(prepared.agent.request("GET", "/openapi.json").json())
    owed = {(name, *what) for name, route in PROMISED.routes.items() for what in
            [*((status, kind) for status, kinds in route.answers.items() for kind in kinds or [None]),
             *(problem for problem, asked in route.problems.items() if asked)]}
    for key, requests in ASKED.items():
        route = PROMISED.routes[key.removesuffix(" again")]
        responses = documented[route.name]["responses"]
        if route.name.endswith("/resize"):
            until(lambda: prepared.live() < prepared.MOST_COMMANDS, what="room for a command")
            prepared.agent.start("exec sleep 600", id="screen", tty={})
        for status, what, how in requests:
            if route.name in STARTERS and what != "too_many_commands":
                until(lambda: prepared.live() < prepared.MOST_COMMANDS, what="room for a command")
            got = prepared.ask(route, how, prepared.tokens[route.scope])
            kind, code = (what, None) if status < 400 else ("application/problem+json", what)
            if how.get("upgrade") and status >= 400:
                kind = code = None  # all that its client tells of a refusal is the status
            assert got == (status, kind, code), (route.name, how)
            assert str(status) in responses, (route.name, status)
            owed.discard((route.name, status, what))
        if route.name.endswith("/attach"):
            prepared.agent.request("DELETE", "/v1/commands/screen")
        if route.scope:
            first = {key: value for key, value in requests[0][2].items() if key != "upgrade"}
            assert prepared.ask(route, first, None)[::2] == (401, "unauthenticated"), route.name
            if LESSER[route.scope]:
                assert prepared.ask(route, first, prepared.tokens[LESSER[route.scope]])[::2] == (403, "insufficient_scope"), route.name
    assert not owed, "promised and not asked for: add rows of these to ASKED in tests/integration/test_contract.py"
    (prepared.agent.root / "watched").rmdir()  # or the agent keeps it open for a watcher that comes back


def test_errors_that_any_request_can_get_are_as_promised(agent):
    met = {
        (405, "method_not_allowed"): agent.request("PUT", "/v1/version", body=b""),
        (404, "not_found"): agent.request("GET", "/v1/nothing"),
        (401, "unauthenticated"): agent.request("GET", "/v1/version", headers={"Authorization": None}),
        (421, "host_not_allowed"): agent.request("GET", "/v1/version", headers={"Host": "example.org"}),
        (431, "headers_too_large"): agent.request("GET", "/v1/version", headers={"X-Long": "x" * 40_000}),
        (414, "target_too_long"): agent.request("GET", "/v1/version?" + "x" * 9000),
    }
    for (status, code), answer in met.items():
        answer.problem(status, code)
    assert met.keys() | {(403, "insufficient_scope")} == PROMISED.anywhere


def test_sockets_close_with_the_codes_promised(agent):
    """All but 4008, of clients that take nothing: test_bounds.py has them; and 4401, of tokens that expire: attacks."""
    agent.session(id="s")
    seen = {}
    with agent.ws("/v1/sessions/default/run?command=true") as ws:
        seen[1000] = ws.code()
    with agent.ws("/v1/connect") as ws:
        ws.send("no message")
        seen[1002] = ws.code()
    with agent.ws("/v1/shell") as ws:
        ws.send("ls\n")
        seen[1003] = ws.code()
    with agent.ws("/v1/connect") as ws:
        ws.send(json.dumps({"type": "ping", "data": "x" * 2**20}))
        seen[1009] = ws.code()
    with agent.ws("/v1/sessions/s/run?command=exec+sleep+600") as ws:
        ws.until("started")
        agent.request("DELETE", "/v1/sessions/s")
        seen[4004] = ws.code()
    with agent.ws("/v1/connect") as ws:
        agent.process.terminate()
        seen[1001] = ws.code()
    assert agent.process.wait(15) == 143
    assert seen == {int(code): int(code) for code in PROMISED.asked["close"]}


def test_binary_frames_have_the_header_promised(agent):
    with agent.ws("/v1/connect", "skiff.v1.binary") as ws:
        ws.send({"type": "start", "channel": 7, "command": "exec cat", "stdin_open": True})
        ws.until("started", channel=7)
        ws.send(binary_stdin(b"hello", channel=7, offset=0))
        header, data = binary_header(ws.recv())
        assert header.pop("time") > 1_600_000_000_000_000 and data == b"hello"
        assert header == {"version": 1, "kind": 1, "stream": 1, "flags": 0, "channel": 7, "offset": 0}
        ws.send({"type": "stdin_close", "channel": 7})
        assert ws.until("exit", channel=7)[-1]["exit_code"] == 0
