"""A shorter with_sdk.py, for versions that create sandboxes by other routes and have fewer calls."""

import importlib.metadata

from e2b import Sandbox, SandboxQuery

sandbox = Sandbox.create(timeout=120, metadata={"user": "a/b & c"}, envs={"WHO": "me"})
assert sandbox.commands.run("echo hello $WHO").stdout == "hello me\n"
sandbox.files.write("notes.txt", "kept")
sandbox.set_timeout(300)
assert sandbox.get_info().metadata == {"user": "a/b & c"}
listed = Sandbox.list(query=SandboxQuery(metadata={"user": "a/b & c"})).next_items()
assert [one.sandbox_id for one in listed] == [sandbox.sandbox_id]
assert sandbox.files.read("notes.txt") == "kept"
# Version 2.20.0 names the sandbox that it connects to by its host alone, which needs E2B_DOMAIN.
assert Sandbox.connect(sandbox.sandbox_id).sandbox_id == sandbox.sandbox_id
assert sandbox.kill()
print("done with", importlib.metadata.version("e2b"))
