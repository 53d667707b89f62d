"""The ways in which a client writes a file that is there, whatever it speaks: each with the new text, all of it."""

import collections

import e2b
import kubebox
from dialect import Door
from mcp_client import Mcp
from python_runtime import multipart

DIALECTS = [word for name, doors in (("e2b", 1), ("kubebox", 1), ("sandboxd", 2), ("python-runtime", 1))
            for word in ("--dialect", f"{name}=" + ",".join(["127.0.0.1:0"] * doors))]


class Everything:
    """An agent with a client of each kind."""

    def __init__(self, agent):
        self.agent = agent
        self.e2b = e2b.Client(Door(agent))
        self.kubebox = kubebox.Kubebox(agent, ".")
        self.sandboxd, self.grpc = Door(agent), Door(agent)
        self.python = Door(agent)
        self.mcp = Mcp(agent)

    def write(self, way, path, old, new):
        """The answer's status: below 300 it was written."""
        return WAYS[way](self, path, old, new)


def put(on, path, _, new):
    return on.agent.request("PUT", f"/v1/files/{path}", body=new).status



def edit(on, path, old, new):
    body = {"edits": [{"old": old.decode(), "new": new.decode()}]}
    return on.agent.request("PATCH", f"/v1/files/{path}", json=body).status


def batch(atomic, op):
    def write(on, path, old, new):
        one = {"op": op, "path": path, **({"content": new.decode()} if op == "write" else
                                          {"edits": [{"old": old.decode(), "new": new.decode()}]})}
        answer = on.agent.request("POST", "/v1/files:batch", json={"atomic": atomic, "operations": [one]})
        return answer.status if atomic or answer.status != 200 else answer.json()["items"][0].get("error", {}).get("status", 200)

    return write


def mcp(tool):
    def write(on, path, old, new):
        fields = {"text": new.decode()} if tool == "write_file" else {"edits": [{"old": old.decode(), "new": new.decode()}]}
        on.mcp.tool(tool, path=path, **fields)
        return 200

    return write


def e2b_octets(on, path, _, new):
    return on.e2b.door.request("POST", f"/files?path={path}", body=new, headers={"Content-Type": "application/octet-stream"}).status


def kubebox_text(on, path, _, new):
    return on.kubebox.ask("write_file", session_id="s", file_path=path, content=new.decode()).status


def sandboxd_put(on, path, _, new):
    return on.sandboxd.request("PUT", f"/v1/files/{path}", body=new).status


def python_upload(on, path, _, new):
    headers = {"Content-Type": "multipart/form-data; boundary=b0undary"}
    return on.python.request("POST", "/upload", body=multipart(path.encode(), new), headers=headers).status


WAYS = collections.OrderedDict([
    ("PUT", put), ("PATCH", edit), ("batch write", batch(True, "write")), ("batch edit", batch(True, "edit")),
    ("single write", batch(False, "write")), ("single edit", batch(False, "edit")),
    ("mcp write_file", mcp("write_file")), ("mcp edit_file", mcp("edit_file")),
    ("e2b", e2b_octets), ("kubebox", kubebox_text), ("sandboxd", sandboxd_put), ("python-runtime", python_upload),
])
# The dialects whose clients choose the mode of the file.
WITH_MODE = {"sandboxd"}
