"""`sh -c true`, waited for on one skiffd: by its own API, and by the protocols of other clients."""

import http.client
import json

from .processes import Failed, Server

SERVER = ("skiff --dialect e2b=127.0.0.1:0 --dialect kubebox=127.0.0.1:0 --dialect python-runtime=127.0.0.1:0"
          " --dialect sandboxd=127.0.0.1:0,127.0.0.1:0")
E2B = "e2b HTTP"
KUBEBOX = "kubebox HTTP"
CLIENTS = (1, 8)
REVISION = "2026-07-28"
ENDED = '"exit_code":0'


def native(server: Server, **options: object) -> dict:
    return server.load("requests", body=json.dumps({"command": "true"}), expect=ENDED, **options)


def mcp(server: Server, **options: object) -> dict:
    """A call of the newest revision, which needs no session."""
    meta = {"io.modelcontextprotocol/protocolVersion": REVISION, "io.modelcontextprotocol/clientCapabilities": {}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "run_command", "arguments": {"command": "true"}, "_meta": meta}}
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": REVISION,
               "Mcp-Method": "tools/call", "Mcp-Name": "run_command"}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return server.load("requests", path="/mcp", body=json.dumps(call), headers=lines, expect=ENDED, **options)


def kubebox(server: Server, **options: object) -> dict:
    session = "bench-kubebox"
    connection = http.client.HTTPConnection("127.0.0.1", server.doors[KUBEBOX], timeout=20)
    connection.request("POST", "/initialize", json.dumps({"session_id": session, "path": ""}))
    if (answer := connection.getresponse()).status != 200:
        raise Failed(f"kubebox: /initialize: {answer.status} {answer.read(300).decode(errors='replace')}")
    connection.close()
    body = json.dumps({"session_id": session, "command": "true", "mode": "wait"})
    return server.load("requests", door=KUBEBOX, path="/run_command", body=body, expect=ENDED, **options)


def e2b(server: Server, **options: object) -> dict:
    """Starts a command like E2B's SDKs, except for the login shell: a stream with its start, its output and its end."""
    body = json.dumps({"process": {"cmd": "/bin/sh", "args": ["-c", "true"]}})
    return server.load("requests", door=E2B, path="/process.Process/Start", form="connect", body=body,
                       expect='"status":"exit status 0"', **options)


WAYS = {"native": native, "mcp": mcp, "kubebox": kubebox, "e2b": e2b}
