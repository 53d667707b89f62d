"""An isolated command attacks its agent through cgroups: it kills or freezes the agent's, or moves the agent into one that
it creates. Root may write to all mounted cgroups, the agent's own user to those that were delegated to it."""

import contextlib
import os
import pathlib
import signal
import subprocess
import tempfile

import pytest

import proc

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can delegate a cgroup")

MOUNTS = [pathlib.Path(words[4]) for words in map(str.split, open("/proc/self/mountinfo"))
          if words[words.index("-") + 1].startswith("cgroup") and words[5].startswith("rw")]

# Each line that is printed is an attempt that worked. $1: the agent; the others: cgroups.
ATTEMPTS = """
agent=$1; shift
write() { if (echo "$1" > "$2") 2>/dev/null; then echo "$1 > $2"; fi; }
for group in "$@"; do
  for mine in "$group" "$group/itest-$$"; do
    mkdir "$mine" 2>/dev/null
    for file in cgroup.procs cgroup.threads tasks; do [ ! -e "$mine/$file" ] || write "$agent" "$mine/$file"; done
    [ ! -e "$mine/freezer.state" ] || write FROZEN "$mine/freezer.state"
    [ ! -e "$mine/cgroup.freeze" ] || write 1 "$mine/cgroup.freeze"
    [ ! -e "$mine/cgroup.kill" ] || write 1 "$mine/cgroup.kill"
  done
done
mkdir -p anew
mount -t cgroup2 none anew 2>/dev/null && echo mounted
unshare -UrmC mount -t cgroup2 none anew 2>/dev/null && echo mounted as root of a user namespace
echo done
"""

# A harmless attempt: the command moves itself into its own cgroup and back. It prints each cgroup that takes it.
HARMLESS = """
for group in "$@"; do
  mine="$group/itest-$$"
  if mkdir "$mine" && (echo $$ > "$mine/cgroup.procs" || [ -e "$mine/tasks" ]) && echo $$ > "$group/cgroup.procs" && rmdir "$mine"; then
    echo "$group"
  fi
done
"""


@pytest.fixture(params=["protect", "landlock"])
def level(request):
    return request.param


def open_to(agent, groups):
    """The cgroups that a command without isolation can change. A refusal of any other cgroup proves nothing
    about isolation."""
    result = agent.run(argv=["sh", "-c", HARMLESS, "sh", *map(str, groups)], session=agent.session(isolation="none"))
    for group in groups:
        for made in group.glob("itest-*"):
            with contextlib.suppress(OSError):
                made.rmdir()
    return [pathlib.Path(line) for line in result["stdout"].splitlines()], result["stderr"]


def attacked_by(agent, level, groups):
    """The output of the attempts that worked."""
    if level not in agent.request("GET", "/v1/capabilities").json()["isolation"]:
        pytest.skip("this kernel has no Landlock scopes")
    # With all of the file system for a root, too.
    sid = agent.session(isolation=level, extra_roots=[{"path": "/", "access": "rw"}])
    try:
        result = agent.run(argv=["sh", "-c", ATTEMPTS, "sh", str(agent.pid), *map(str, groups)], session=sid)
    finally:
        subprocess.run(["umount", agent.root / "anew"], capture_output=True, timeout=20)
        for group in groups:
            for made in group.glob("itest-*"):
                with contextlib.suppress(OSError):
                    made.rmdir()
    assert agent.request("GET", "/healthz").status == 200 and proc.alive(agent.pid)
    return result["stdout"]


def test_an_isolated_command_of_root_reaches_no_cgroup(agent, level):
    if not MOUNTS:
        pytest.skip("no cgroup can be written to here")
    if not open_to(agent, MOUNTS)[0]:
        pytest.skip("root can't write to any cgroup here, isolated or not")
    own = pathlib.Path(f"/proc/{agent.pid}/cgroup").read_text()
    assert attacked_by(agent, level, MOUNTS) == "done\n"
    assert pathlib.Path(f"/proc/{agent.pid}/cgroup").read_text() == own


def may_write(path):
    """Whether user 1000 may write to it; a directory on the way may be closed to that user."""
    become = ["setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups"]
    return subprocess.run([*become, "test", "-w", path], timeout=20).returncode == 0


@contextlib.contextmanager
def reached(group):
    """The cgroup at a path that is open to user 1000: its own, or that of a mount."""
    if may_write(group / "cgroup.procs"):
        yield group
        return
    place = pathlib.Path(tempfile.mkdtemp(prefix="itest-", dir="/tmp"))
    try:
        place.chmod(0o755)
        if subprocess.run(["mount", "--bind", group, place], capture_output=True, timeout=20).returncode != 0:
            pytest.skip("user 1000 reaches no cgroup here")
        try:
            yield place
        finally:
            subprocess.run(["umount", place], check=True, timeout=20)
    finally:
        place.rmdir()


@pytest.fixture
def delegated():
    """A cgroup of user 1000, with one in it for the agent."""
    mount = next((point for point in MOUNTS if (point / "cgroup.subtree_control").exists()), None)
    if mount is None:
        pytest.skip("no cgroup of version 2 can be made here")
    group = mount / ("itest-" + os.urandom(6).hex())
    agents = group / "agent"
    agents.mkdir(parents=True)
    try:
        for path in (group, agents, *group.glob("cgroup.*"), *agents.glob("cgroup.*")):
            os.chown(path, 1000, 1000)
        with reached(group) as place:
            yield place
    finally:
        agents.rmdir()
        group.rmdir()


def test_an_isolated_command_of_the_agents_user_reaches_no_delegated_cgroup(delegated, start_agent, tmp_path, level):
    tmp_path.chmod(0o755)
    become = ["sh", "-c", f'echo $$ > {delegated}/agent/cgroup.procs && chown -R 1000:1000 "$PWD" && '
              'exec setpriv --reuid 1000 --regid 1000 --clear-groups "$@"', "sh"]
    agent = start_agent("--cgroup", "none", wrapper=become)
    groups = [delegated / "agent", delegated]
    open_ones, why_not = open_to(agent, groups)
    if open_ones != groups:
        pytest.skip("user 1000 can't write to what was delegated to it here: " + why_not.replace("\n", " "))
    assert attacked_by(agent, level, groups) == "done\n"
    assert str(agent.pid) in (delegated / "agent/cgroup.procs").read_text().split()
    result = agent.run("echo x > here; mkdir -p a/b; mv here a/b/there; cat a/b/there; rm -r a; ls",
                       session=agent.session(isolation="protect"))
    assert (result["stdout"], result["stderr"]) == ("x\nanew\n", ""), result
    assert agent.terminate() == 128 + signal.SIGTERM
