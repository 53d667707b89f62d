"""A client of `skiff mcp`: the Model Context Protocol over stdio."""

import json
import subprocess

from launcher import DRIVER
from mcp_client import NEWEST, PREFIX


class Stdio:
    """A client: lines to its stdin, lines of its stdout."""

    def __init__(self, skiff, *arguments, words=None, driver=DRIVER, revision="2025-11-25"):
        words = words or ["mcp", "--driver", driver, *arguments]
        self.process = skiff.start(*words, stdin=subprocess.PIPE)
        self.revision, self.ids, self.heard = revision, 0, []

    def send(self, method, params=None, meta=None, notification=False):
        params = dict(params or {})
        meta = dict(meta or {})
        if self.revision == NEWEST:
            meta |= {PREFIX + "protocolVersion": NEWEST, PREFIX + "clientCapabilities": {}}
        message = {"jsonrpc": "2.0", "method": method, "params": params | ({"_meta": meta} if meta else {})}
        if not notification:
            self.ids += 1
            message["id"] = self.ids
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        return message.get("id")

    def read(self):
        line = self.process.stdout.readline()
        assert line.endswith(b"\n"), (line, self.process.poll())
        return json.loads(line)

    def answer(self, request):
        while True:
            message = self.read()
            if message.get("id") == request and "method" not in message:
                return message
            self.heard.append(message)

    def call(self, method, params=None, **more):
        return self.answer(self.send(method, params, **more))["result"]

    def tool(self, name, **arguments):
        result = self.call("tools/call", {"name": name, "arguments": arguments})
        assert not result["isError"], result
        return result["structuredContent"]

    def begin(self):
        hello = self.call("initialize", {"protocolVersion": self.revision, "capabilities": {}, "clientInfo": {}})
        self.send("notifications/initialized", notification=True)
        return hello

    def end(self, status=0):
        self.process.stdin.close()
        rest = self.process.stdout.read()
        err = self.process.stderr.read().decode()
        assert self.process.wait(60) == status, err
        self.process.stdout.close()
        self.process.stderr.close()
        return [json.loads(line) for line in rest.splitlines()], err
