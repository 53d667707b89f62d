"""The Model Context Protocol over plain HTTP, as little of it as shows what is on the wire."""

import itertools
import json

import json_schema

NEWEST, WITH_HANDSHAKE = "2026-07-28", ("2025-11-25", "2025-06-18", "2025-03-26")
PREFIX = "io.modelcontextprotocol/"
ACCEPT = {"Accept": "application/json, text/event-stream"}


class Refused(Exception):
    """A JSON-RPC error."""

    def __init__(self, error):
        super().__init__(error)
        self.code, self.message, self.data = error["code"], error["message"], error.get("data")


class ToolError(Exception):
    """The error of a tool, as the model sees it."""


def parse(text):
    """JSON, of which no object has a name twice."""
    def once(pairs):
        assert len({name for name, _ in pairs}) == len(pairs), pairs
        return dict(pairs)
    return json.loads(text, object_pairs_hook=once)


def events(stream):
    """(id, message or None) of a stream of server-sent events; comments are left out."""
    fields = {}
    for line in stream.lines():
        line = line.decode()
        if not line:
            if "data" in fields:
                yield fields.get("id"), parse(fields["data"]) if fields["data"] else None
            fields = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")


def messages(stream):
    """The messages of an answer, whichever form it has."""
    if stream.headers.get_content_type() == "text/event-stream":
        return [message for _, message in events(stream) if message]
    return [parse(stream.read())]


class Mcp:
    """A client; `revision` says whether it begins with a handshake."""

    def __init__(self, agent, revision=WITH_HANDSHAKE[0], token=None, begin=True):
        self.agent, self.revision, self.token = agent, revision, token
        self.ids, self.session = itertools.count(1), None
        if begin and revision != NEWEST:
            self.initialize()

    def initialize(self):
        answer = self.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": self.revision, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}})
        assert answer.status == 200, answer
        self.session = answer.headers["Mcp-Session-Id"]
        self.hello = answer.json()["result"]
        self.revision = self.hello["protocolVersion"]
        assert self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}).status == 202

    def headers(self, message=None, **more):
        headers = dict(ACCEPT)
        if self.session:
            headers |= {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": self.revision}
        if self.revision == NEWEST and message:
            headers |= {"MCP-Protocol-Version": NEWEST, "Mcp-Method": message["method"]}
            name = message["params"].get("name", message["params"].get("uri"))
            if name is not None:
                headers["Mcp-Name"] = name
        return headers | more

    def post(self, message, **headers):
        return self.agent.request("POST", "/mcp", json=message, headers=self.headers(**headers), token=self.token)

    def message(self, method, params=None, meta=None):
        params = dict(params or {})
        meta = dict(meta or {})
        if self.revision == NEWEST:
            meta |= {PREFIX + "protocolVersion": NEWEST, PREFIX + "clientCapabilities": {}}
        if meta:
            params["_meta"] = meta
        return {"jsonrpc": "2.0", "id": next(self.ids), "method": method, "params": params}

    def stream(self, method, params=None, meta=None):
        """The answer while it comes."""
        message = self.message(method, params, meta)
        return self.agent.stream("POST", "/mcp", json=message, headers=self.headers(message), token=self.token)

    def call(self, method, params=None, meta=None):
        """The result; everything before it is left in `heard`."""
        with self.stream(method, params, meta) as stream:
            *self.heard, answer = messages(stream)
            self.status = stream.status
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["result"]

    def tool(self, name, **arguments):
        """Calls a tool; its result fits the tool's schema."""
        result = self.tool_result(self.call("tools/call", {"name": name, "arguments": arguments}))
        json_schema.check(self.schemas()[name], result)
        return result

    def schemas(self):
        """The schemas of the tools' results, fetched once."""
        kept = self.agent.__dict__.setdefault("mcp_schemas", {})
        if self.token not in kept:
            listed = Mcp(self.agent, NEWEST, self.token).call("tools/list")["tools"]
            kept[self.token] = {tool["name"]: tool["outputSchema"] for tool in listed}
        return kept[self.token]

    @staticmethod
    def tool_result(result):
        (content,) = result["content"]
        if result["isError"]:
            raise ToolError(content["text"])
        if "structuredContent" in result:
            assert json.loads(content["text"]) == result["structuredContent"]
        return json.loads(content["text"])

    def tool_error(self, name, **arguments):
        """The words of its refusal."""
        try:
            answer = self.tool(name, **arguments)
        except ToolError as error:
            return str(error)
        raise AssertionError(f"{name} was not refused: {answer}")

    def refusal(self, method, params=None):
        try:
            answer = self.call(method, params)
        except Refused as error:
            return error
        raise AssertionError(f"{method} was not refused: {answer}")

    def notify(self, method, **params):
        assert self.post({"jsonrpc": "2.0", "method": method, "params": params}).status == 202

    def news(self, last_id=None):
        headers = {**self.headers(), "Accept": "text/event-stream", **({"Last-Event-ID": last_id} if last_id else {})}
        return self.agent.stream("GET", "/mcp", headers=headers, token=self.token)

    def end(self):
        return self.agent.request("DELETE", "/mcp", headers=self.headers(), token=self.token)
