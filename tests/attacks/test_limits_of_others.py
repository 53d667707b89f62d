"""A command of the same user attacks limits, priorities and scheduling that are not its own."""

import os
import re
import resource
import signal
import sys

import pytest

from confined import without_resource_rights
from waiting import until

# The agent is the parent. Each line: what became of one attempt.
ATTEMPTS = """
import ctypes, os, platform, resource, sys
agent = os.getppid()
libc = ctypes.CDLL(None, use_errno=True)

def ioprio_set(which, who):
    number = {"x86_64": 251, "aarch64": 30}[platform.machine()]
    if libc.syscall(number, which, who, 3 << 13) != 0:
        raise OSError(ctypes.get_errno(), "ioprio_set")

for attempt in (
        lambda: resource.prlimit(agent, resource.RLIMIT_NOFILE, (0, 0)),
        lambda: resource.prlimit(agent, resource.RLIMIT_CPU, (1, 1)),
        lambda: resource.prlimit(agent, resource.RLIMIT_FSIZE, (0, 0)),
        lambda: os.sched_setaffinity(agent, {min(os.sched_getaffinity(0))}),
        lambda: os.sched_setscheduler(agent, os.SCHED_IDLE, os.sched_param(0)),
        lambda: os.sched_setparam(agent, os.sched_param(0)),
        lambda: os.setpriority(os.PRIO_PROCESS, agent, 19),
        lambda: os.setpriority(os.PRIO_USER, 0, 19),
        lambda: ioprio_set(1, agent),
        lambda: ioprio_set(3, 0)):
    try:
        attempt()
        print("done")
    except PermissionError:
        print("refused")
"""
COUNT = ATTEMPTS.count("lambda")

OWN = """
import os, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
os.setpriority(os.PRIO_PROCESS, 0, os.nice(0) + 1)
print(resource.prlimit(os.getppid(), resource.RLIMIT_CORE) == resource.getrlimit(resource.RLIMIT_CORE))
"""


# Without these an agent can't work (setrlimit(2)), and those which it can do without.
NEEDED = ("AS", "CPU", "DATA", "FSIZE", "NOFILE", "NPROC", "RTTIME", "STACK")
NUMBERS = {name: getattr(resource, f"RLIMIT_{name}", 15)  # 15 is RTTIME, which Python doesn't know
           for name in (*NEEDED, "CORE", "MEMLOCK", "MSGQUEUE", "SIGPENDING")}
OF_MEMORY = ("AS", "DATA", "STACK")
LEAST = {"CPU": 3600}  # of less the agent itself would die before a test could see anything


@pytest.fixture(params=["protect", "landlock"])
def isolated(agent, request):
    if request.param not in agent.request("GET", "/v1/capabilities").json()["isolation"]:
        pytest.skip("this kernel has no Landlock scopes")
    return agent.session(isolation=request.param)


def state_of(pid):
    """The limits, priorities and scheduling that the attempts try to change."""
    return (resource.prlimit(pid, resource.RLIMIT_NOFILE), resource.prlimit(pid, resource.RLIMIT_CPU),
            resource.prlimit(pid, resource.RLIMIT_FSIZE), os.sched_getaffinity(pid), os.sched_getscheduler(pid),
            os.getpriority(os.PRIO_PROCESS, pid))


def test_an_isolated_command_changes_nothing_of_its_agent(agent, isolated):
    before = state_of(agent.pid)
    result = agent.run(argv=[sys.executable, "-c", ATTEMPTS], session=isolated)
    assert result["stdout"] == "refused\n" * COUNT, result
    assert state_of(agent.pid) == before
    assert agent.request("GET", "/healthz").status == 200


def test_an_isolated_command_changes_no_limit_of_another_command(agent, isolated):
    victim = agent.start(argv=["sleep", "100"])
    text = f"import resource; resource.prlimit({victim['pid']}, resource.RLIMIT_RTTIME, (1000, 1000))"
    result = agent.run(argv=[sys.executable, "-c", text], session=isolated)
    assert result["exit_code"] == 1 and "PermissionError" in result["stderr"]
    assert agent.request("DELETE", f"/v1/commands/{victim['id']}").status == 204


def test_an_isolated_command_has_its_own_and_may_look(agent, isolated):
    result = agent.run(argv=[sys.executable, "-c", OWN], session=isolated)
    assert (result["stdout"], result["stderr"]) == ("True\n", "")
    assert agent.run("ulimit -n 50; ulimit -n; nice -n 1 echo nice", session=isolated)["stdout"] == "50\nnice\n"


def lower(agent, name, limits):
    """A command without isolation lowers a limit of the agent."""
    text = f"import os, resource; resource.prlimit(os.getppid(), {NUMBERS[name]}, {limits})"
    assert agent.run(argv=[sys.executable, "-c", text])["exit_code"] == 0


def test_without_isolation_a_limit_of_files_or_time_makes_the_agent_lose_lines_and_not_its_life(agent):
    lower(agent, "FSIZE", (0, resource.prlimit(agent.pid, resource.RLIMIT_FSIZE)[1]))
    until(lambda: re.search(r"^skiff_log_lost_total [1-9]", agent.request("GET", "/metrics").text, re.MULTILINE),
          what="lines that are lost")
    assert agent.run("kill -XFSZ $PPID; kill -XCPU $PPID; echo sent")["stdout"] == "sent\n"
    assert agent.run("echo on")["stdout"] == "on\n"


def test_a_lowered_soft_limit_of_open_files_is_taken_back(agent):
    hard = resource.prlimit(agent.pid, resource.RLIMIT_NOFILE)[1]
    lower(agent, "NOFILE", (0, hard))
    assert agent.request("GET", "/healthz").status == 200
    assert resource.prlimit(agent.pid, resource.RLIMIT_NOFILE) == (hard, hard)


@pytest.mark.skipif(bool(os.environ.get("SKIFFD_SANITIZER")), reason="a sanitizer needs descriptors to look at memory")
def test_an_agent_that_may_open_nothing_any_more_ends_and_says_why(start_agent):
    agent = start_agent(wrapper=without_resource_rights())
    agent.start(argv=["sleep", "1000"])
    lower(agent, "NOFILE", (0, 0))
    with pytest.raises(OSError):
        agent.request("GET", "/healthz")
    assert agent.process.wait(60) == 1
    assert "RLIMIT_NOFILE of the agent was lowered" in agent.log() and not agent.strays()


def limits_of_commands(agent):
    """The limits of a command, but for the mark, which differs for each command."""
    lines = agent.run(argv=["cat", "/proc/self/limits"])["stdout"].splitlines()
    return [line for line in lines if "realtime timeout" not in line]


@pytest.mark.parametrize("name", [name for name in NUMBERS if name != "NOFILE"])
def test_commands_get_the_limits_of_the_agents_start(agent, name):
    if name in OF_MEMORY and os.environ.get("SKIFFD_SANITIZER"):
        pytest.skip("a sanitizer needs memory of its own")
    before = resource.prlimit(agent.pid, NUMBERS[name])
    if before[0] == 0:
        pytest.skip("there is less of nothing")
    expected = limits_of_commands(agent)
    lower(agent, name, (LEAST.get(name, 0), before[1]))
    assert limits_of_commands(agent) == expected
    assert resource.prlimit(agent.pid, NUMBERS[name]) == before
    until(lambda: "restored the agent's resource limits" in agent.log(), what="the line that says so")


@pytest.mark.parametrize("name", ["AS", "DATA"])
def test_a_command_starts_although_the_agents_memory_limit_was_lowered(agent, name):
    """The request itself, which is read before anybody looks at limits."""
    if os.environ.get("SKIFFD_SANITIZER"):
        pytest.skip("a sanitizer needs memory of its own")
    before = resource.prlimit(agent.pid, NUMBERS[name])
    for _ in range(3):
        lower(agent, name, (0, before[1]))
        assert agent.run("wc -c", stdin="x" * (1 << 19))["stdout"].split() == [str(1 << 19)]
        assert resource.prlimit(agent.pid, NUMBERS[name]) == before
    until(lambda: "restored the agent's resource limits" in agent.log(), what="the line that says so")


@pytest.mark.parametrize("name, found_by", [*((name, "a command") for name in NEEDED if name != "NOFILE"), ("FSIZE", "a probe"),
                                             ("AS", "a large command"), ("DATA", "a large command")])
def test_an_agent_that_can_not_work_any_more_ends_and_says_why(start_agent, name, found_by):
    if name in OF_MEMORY and os.environ.get("SKIFFD_SANITIZER"):
        pytest.skip("a sanitizer needs memory of its own")
    agent = start_agent("--drain-timeout", "5s", wrapper=without_resource_rights())
    agent.start(argv=["sleep", "1000"])
    lower(agent, name, (LEAST.get(name, 0), LEAST.get(name, 0)))
    if found_by == "a probe":
        assert agent.request("GET", "/readyz").status == 503
    else:
        stdin = {"stdin": "x" * 60_000} if found_by == "a large command" else {}
        answer = agent.request("POST", "/v1/commands", json={"argv": ["true"], **stdin})
        assert (answer.status, answer.json()["code"]) == (503, "draining")
    status = agent.process.wait(60)
    # Without memory the C library may end it on its way out.
    assert status == 1 or (name in OF_MEMORY and status == -signal.SIGABRT)
    # Its log is a file here, which can't grow when files can't.
    assert name == "FSIZE" or f"RLIMIT_{name} of the agent was lowered" in agent.log()
    until(lambda: not agent.strays(), what="the end of its commands")


def test_a_limit_that_it_can_do_without_is_kept_as_high_as_it_can_be(start_agent):
    agent = start_agent(wrapper=without_resource_rights())
    lower(agent, "MEMLOCK", (0, 4096))
    assert agent.run("ulimit -l; ulimit -H -l")["stdout"] == "4\n4\n"
    assert agent.request("GET", "/readyz").status == 200


def test_commands_do_not_inherit_the_signals_that_the_agent_ignores(agent):
    for command in ({"argv": ["grep", "SigIgn", "/proc/self/status"]}, {"command": "exec grep SigIgn /proc/self/status"}):
        assert agent.run(**command)["stdout"].split() == ["SigIgn:", "0" * 16]
