"""E2B's Python SDK, as PyPI has it, does with sandboxes what its users do."""

import importlib.metadata

from e2b import Sandbox, SandboxQuery, SandboxState
from e2b.exceptions import NotFoundException, SandboxException

sandbox = Sandbox.create(timeout=120, metadata={"user": "a/b & c", "ünï": "x"}, envs={"WHO": "me"})
assert sandbox.commands.run("echo hello $WHO").stdout == "hello me\n"
sandbox.files.write("notes/a.txt", "kept")
assert sandbox.files.read("notes/a.txt") == "kept"
assert sandbox.is_running()

info = sandbox.get_info()
assert info.sandbox_id == sandbox.sandbox_id and info.metadata == {"user": "a/b & c", "ünï": "x"}, info
assert info.state == SandboxState.RUNNING and info.template_id == "base", info
first_end = info.end_at
sandbox.set_timeout(3600)
assert sandbox.get_info().end_at > first_end
assert sandbox.get_metrics()[0].cpu_count > 0

other = Sandbox.create(timeout=120)
listed = Sandbox.list(query=SandboxQuery(metadata={"user": "a/b & c"}))
assert [one.sandbox_id for one in listed.next_items()] == [sandbox.sandbox_id]
pages, page = [], Sandbox.list(limit=1)
while page.has_next:
    pages += [one.sandbox_id for one in page.next_items()]
assert sorted(pages) == sorted([sandbox.sandbox_id, other.sandbox_id]), pages

again = Sandbox.connect(sandbox.sandbox_id)
assert again.files.read("notes/a.txt") == "kept"

again.pause()
assert Sandbox.get_info(sandbox.sandbox_id).state == SandboxState.PAUSED
assert not sandbox.is_running()
woken = Sandbox.connect(sandbox.sandbox_id, timeout=300)
assert woken.files.read("notes/a.txt") == "kept"
assert woken.commands.run("echo $WHO").stdout == "me\n"

try:
    woken.create_snapshot()
    raise AssertionError("snapshots are not offered")
except SandboxException as error:
    assert "files, not memory" in str(error), error
try:
    Sandbox.create("no-such-template")
    raise AssertionError("there is no such template")
except SandboxException as error:
    assert "there is no template" in str(error), error

assert woken.kill() and other.kill()
assert not Sandbox.kill(sandbox.sandbox_id)
try:
    Sandbox.connect(sandbox.sandbox_id)
    raise AssertionError("it is gone")
except NotFoundException:
    pass
print("done with", importlib.metadata.version("e2b"))
