"""A real cgroup with too little memory: what the kernel kills says so, and the agent goes on."""

import os
import pathlib
import secrets

import pytest

import proc
from waiting import until

MIB = 1024 * 1024
TOP = pathlib.Path("/sys/fs/cgroup")
VERSION2 = (TOP / "cgroup.controllers").exists()  # and nothing else; else version 1 has the memory controller
GREEDY = {"argv": ["/usr/bin/python3", "-c", "held = [bytearray(1 << 20) for _ in range(400)]"]}

pytestmark = pytest.mark.skipif(bool(os.environ.get("SKIFFD_SANITIZER")), reason="a sanitizer's own memory is larger")


@pytest.fixture
def group():
    """A cgroup with the memory controller, without a limit."""
    top = TOP if VERSION2 else TOP / "memory"
    made = top / ("itest-" + secrets.token_hex(6))
    try:
        if VERSION2:
            (top / "cgroup.subtree_control").write_text("+memory +pids")
        made.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made here: {error}")
    yield made
    for folder, _, _ in os.walk(made, topdown=False):
        os.rmdir(folder)


@pytest.fixture
def small_group(group):
    """One of 96 MiB."""
    (group / ("memory.max" if VERSION2 else "memory.limit_in_bytes")).write_text(str(96 * MIB))
    if (group / "memory.swap.max").exists():
        (group / "memory.swap.max").write_text("0")
    return group


@pytest.fixture
def delegated(group):
    """A cgroup of version 2, as an agent gets it that may bound its commands."""
    if not VERSION2:
        pytest.skip("this machine's memory controller is on cgroup version 1")
    return group


@pytest.fixture
def start_agent(group, start_agent):
    """Starts agents that have ended when the group is removed."""
    return start_agent


def start_in(start_agent, group, *arguments):
    return start_agent(*arguments, preexec_fn=lambda: (group / "cgroup.procs").write_text(str(os.getpid())))


def test_a_command_that_the_kernel_killed_for_memory_says_oom(start_agent, small_group):
    agent = start_in(start_agent, small_group, "--memory-guard-percent", "0")
    result = agent.request("POST", "/v1/commands", json=GREEDY, timeout=60).json()
    assert (result["cause"], result["signal"], result["exit_code"]) == ("oom", "SIGKILL", None)
    # A command whose shell survives says so too: the shell reports by its status how the program ended.
    line = f"{GREEDY['argv'][0]} -c '{GREEDY['argv'][2]}'; exit $?"
    result = agent.request("POST", "/v1/commands", json={"command": line}, timeout=60).json()
    assert (result["cause"], result["signal"], result["exit_code"]) == ("oom", None, 137)
    assert agent.run("exit 137")["cause"] == "exited"
    # The next one that is killed by somebody else is not told the same.
    result = agent.request("POST", "/v1/commands", json={"argv": ["/bin/sh", "-c", "kill -9 $$"]}).json()
    assert (result["cause"], result["signal"]) == ("signaled", "SIGKILL")
    assert agent.terminate() == 143


def test_the_memory_guard_ends_a_greedy_command_before_the_kernel_does(start_agent, small_group):
    agent = start_in(start_agent, small_group, "--memory-guard-percent", "80")
    slowly = "import time\nheld = []\nfor _ in range(400): held.append(bytearray(1 << 20)); time.sleep(0.02)"
    result = agent.request("POST", "/v1/commands", json={"argv": ["/usr/bin/python3", "-c", slowly]}, timeout=60).json()
    assert result["cause"] == "oom_guard" and result["signal"] in ("SIGTERM", "SIGKILL")
    assert agent.terminate() == 143


# --- limits of single commands, which version 2 alone has ---

@pytest.mark.parametrize("given", [True, False], ids=["a group it is told of", "its own group"])
def test_a_command_over_its_own_limit_goes_as_a_whole_and_alone(start_agent, delegated, given):
    agent = start_agent("--cgroup", delegated) if given else start_in(start_agent, delegated)
    assert {"memory_bytes", "pids"} <= set(agent.request("GET", "/v1/capabilities").json()["command_limits"])
    agent.start("exec sleep 1000", id="other")
    line = f"cat /proc/self/cgroup; setsid sleep 1001 & exec {GREEDY['argv'][0]} -c '{GREEDY['argv'][2]}'"
    result = agent.run(line, id="greedy", limits={"memory_bytes": 48 * MIB})
    assert (result["cause"], result["signal"]) == ("oom", "SIGKILL")
    assert 40 * MIB < result["usage"]["peak_bytes"] <= 48 * MIB
    until(lambda: not [pid for pid in agent.strays() if "1001" in proc.command_line(pid)], what="the end of what it had started")
    assert agent.request("GET", "/v1/commands/other").json()["state"] == "running"
    leaf = result["stdout"].strip().rpartition("/")[2]
    assert leaf.startswith("skiff-")
    until(lambda: not (delegated / leaf).exists(), what="that its group is gone")


def test_a_command_has_as_many_processes_as_it_was_given(start_agent, delegated):
    agent = start_agent("--cgroup", delegated)
    line = "for _ in 1 2 3 4 5 6; do sleep 1000 & done; exit 3"
    result = agent.run(line, limits={"pids": 4})
    assert "fork" in result["stderr"].lower() and (result["cause"], result["exit_code"]) != ("exited", 3)
    assert agent.run(line, limits={"pids": 40})["exit_code"] == 3


def test_all_of_a_command_is_killed_by_its_group(start_agent, delegated):
    agent = start_agent("--cgroup", delegated)
    result = agent.run("setsid sleep 1000 & sleep 1000", limits={"pids": 40}, timeout_ms=200, kill_grace_ms=100)
    assert (result["cause"], result["kill_level"]) == ("timeout", "cgroup")
    assert not agent.strays()


# Each takes memory that it really uses. The first gives half back when it is asked to end, and goes on; the second takes
# more when it is told to.
FIRST = """
import signal, time
held = [b"x" * (90 << 20), b"y" * (90 << 20)]
def asked(*_):
    held.pop()
    print("asked", flush=True)
signal.signal(signal.SIGTERM, asked)
print("ready", flush=True)
while True: time.sleep(1)
"""
SECOND = """
import sys
held = [b"x" * (80 << 20)]
print("ready", flush=True)
sys.stdin.readline()
held.append(b"y" * (70 << 20))
print("more", flush=True)
sys.stdin.readline()
"""


def test_the_memory_guard_ends_one_command_after_the_other(start_agent, group):
    (group / ("memory.max" if VERSION2 else "memory.limit_in_bytes")).write_text(str(400 * MIB))
    agent = start_in(start_agent, group, "--memory-guard-percent", "60")  # 240 MiB

    def start(text, **fields):
        return agent.start(argv=["/usr/bin/python3", "-c", text], **fields)["id"]

    def until_said(cid, word):
        until(lambda: word in agent.request("GET", f"/v1/commands/{cid}/output").body, what=f"{word} of {cid}")

    first = start(FIRST, kill_grace_ms=2000)
    until_said(first, b"ready")
    second = start(SECOND, stdin_open=True)
    until_said(first, b"asked")
    agent.request("POST", f"/v1/commands/{second}/stdin", body=b"go\n")
    until_said(second, b"more")
    # The second is the largest now, and the limit is reached as long as the first is there.
    assert agent.ended(first)["cause"] == "oom_guard"
    assert agent.request("GET", f"/v1/commands/{second}").json()["state"] == "running"
    assert agent.terminate() == 143
