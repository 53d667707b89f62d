"""A user of E2B's Python SDK who knows a domain and a key: the API and each sandbox have a name of their own below it."""

import os

from e2b import Sandbox

domain = os.environ["E2B_DOMAIN"]
sandbox = Sandbox.create(timeout=600, envs={"WHO": "me"})
assert sandbox.get_host(3000) == f"3000-{sandbox.sandbox_id}.{domain}", sandbox.get_host(3000)
assert sandbox.commands.run("echo hello $WHO").stdout == "hello me\n"
data = bytes(range(256)) * 20_000
sandbox.files.write("large", data)
assert bytes(sandbox.files.read("large", format="bytes")) == data
background = sandbox.commands.run("echo ready; cat", background=True, stdin=True)
sandbox.commands.send_stdin(background.pid, "typed\n")
seen = ""
for out, _, _ in background:
    seen += out or ""
    if "typed" in seen:
        break
assert seen == "ready\ntyped\n", seen
assert background.kill()
assert Sandbox.connect(sandbox.sandbox_id).kill()
print("done")
