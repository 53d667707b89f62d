"""E2B's Python SDK, as PyPI has it, does what its users do with a sandbox whose files are on a volume."""

from e2b import Sandbox, SandboxQuery, SandboxState
from e2b.exceptions import NotFoundException, SandboxException

sandbox = Sandbox.create("kept", timeout=600, metadata={"user": "a/b & c"}, envs={"WHO": "me"})
assert sandbox.commands.run("echo hello $WHO").stdout == "hello me\n"
sandbox.files.write("notes/a.txt", "kept")
assert sandbox.files.read("notes/a.txt") == "kept"
assert sandbox.is_running()

# Programs for E2B name these paths.
assert sandbox.commands.run("pwd; echo $HOME; cd /workspace").stdout == "/home/user\n/home/user\n"
for path in ("/home/user/hello.txt", "/tmp/hello.txt", "/workspace/hello.txt"):
    assert sandbox.files.write(path, "hello").path == path
    assert sandbox.commands.run(f"cat {path}").stdout == "hello"
assert "hello.txt" in [one.name for one in sandbox.files.list("/home/user")]

info = sandbox.get_info()
assert info.sandbox_id == sandbox.sandbox_id and info.metadata == {"user": "a/b & c"}, info
assert info.state == SandboxState.RUNNING and info.template_id == "kept", info
first_end = info.end_at
sandbox.set_timeout(3600)
assert sandbox.get_info().end_at > first_end
assert sandbox.get_metrics()[0].cpu_count > 0
listed = Sandbox.list(query=SandboxQuery(metadata={"user": "a/b & c"}))
assert [one.sandbox_id for one in listed.next_items()] == [sandbox.sandbox_id]

background = sandbox.commands.run("for i in 1 2 3; do echo $i; done; cat", background=True, stdin=True)
assert background.pid in [one.pid for one in sandbox.commands.list()]
sandbox.commands.send_stdin(background.pid, "typed\n")
seen = ""
for out, _, _ in background:
    seen += out or ""
    if "typed" in seen:
        break
assert seen == "1\n2\n3\ntyped\n", seen
assert background.kill()

again = Sandbox.connect(sandbox.sandbox_id)
assert again.files.read("notes/a.txt") == "kept"
again.pause()
assert Sandbox.get_info(sandbox.sandbox_id).state == SandboxState.PAUSED
assert not sandbox.is_running()
woken = Sandbox.connect(sandbox.sandbox_id, timeout=600)
assert woken.files.read("notes/a.txt") == "kept"
assert woken.files.read("/home/user/hello.txt") == "hello" == woken.files.read("/workspace/hello.txt")
assert woken.commands.run("echo $WHO").stdout == "me\n"
assert woken.kill()
try:
    Sandbox.connect(sandbox.sandbox_id)
    raise AssertionError("it is gone")
except NotFoundException:
    pass

brief = Sandbox.create(timeout=600, network={"allow_public_traffic": True})
brief.files.write("a.txt", "lost with its Pod")
try:
    brief.pause()
    raise AssertionError("its files would be lost")
except SandboxException as error:
    assert "no volume" in str(error), error
assert brief.files.read("a.txt") == "lost with its Pod"
assert brief.kill()
print("done")
