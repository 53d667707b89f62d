"""What a command of the same user does to limits, priorities and scheduling that are not its own."""

import os
import re
import resource
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


@pytest.fixture(params=["protect", "landlock"])
def isolated(agent, request):
    if request.param not in agent.request("GET", "/v1/capabilities").json()["isolation"]:
        pytest.skip("this kernel has no Landlock scopes")
    return agent.session(isolation=request.param)


def state_of(pid):
    """What the attempts are after."""
    return (resource.prlimit(pid, resource.RLIMIT_NOFILE), resource.prlimit(pid, resource.RLIMIT_CPU),
            resource.prlimit(pid, resource.RLIMIT_FSIZE), os.sched_getaffinity(pid), os.sched_getscheduler(pid),
            os.getpriority(os.PRIO_PROCESS, pid))


def test_an_isolated_command_changes_nothing_of_its_agent(agent, isolated):
    before = state_of(agent.pid)
    result = agent.run(argv=[sys.executable, "-c", ATTEMPTS], session=isolated)
    assert result["stdout"] == "refused\n" * COUNT, result
    assert state_of(agent.pid) == before
    assert agent.request("GET", "/healthz").status == 200


def test_nor_does_one_that_a_waiting_shell_runs(agent, isolated):
    agent.run("true", session=isolated)
    until(agent.waiting_shells, what="a shell that waits")
    before = state_of(agent.pid)
    result = agent.run(f"exec {sys.executable} -", session=isolated, stdin=ATTEMPTS)
    assert result["stdout"] == "refused\n" * COUNT, result
    assert state_of(agent.pid) == before
    assert re.search(r"^skiff_commands_warm_total [1-9]", agent.request("GET", "/metrics").text, re.MULTILINE)


def test_nor_of_another_command(agent, isolated):
    victim = agent.start(argv=["sleep", "100"])
    text = f"import resource; resource.prlimit({victim['pid']}, resource.RLIMIT_RTTIME, (1000, 1000))"
    result = agent.run(argv=[sys.executable, "-c", text], session=isolated)
    assert result["exit_code"] == 1 and "PermissionError" in result["stderr"]
    assert agent.request("DELETE", f"/v1/commands/{victim['id']}").status == 204


def test_an_isolated_command_has_its_own_and_may_look(agent, isolated):
    result = agent.run(argv=[sys.executable, "-c", OWN], session=isolated)
    assert (result["stdout"], result["stderr"]) == ("True\n", "")
    assert agent.run("ulimit -n 50; ulimit -n; nice -n 1 echo nice", session=isolated)["stdout"] == "50\nnice\n"


def test_without_isolation_a_limit_of_files_or_time_makes_the_agent_lose_lines_and_not_its_life(agent):
    text = "import os, resource; resource.prlimit(os.getppid(), resource.RLIMIT_FSIZE, (0, 0))"
    assert agent.run(argv=[sys.executable, "-c", text])["exit_code"] == 0
    until(lambda: re.search(r"^skiff_log_lost_total [1-9]", agent.request("GET", "/metrics").text, re.MULTILINE),
          what="lines that are lost")
    assert agent.run("kill -XFSZ $PPID; kill -XCPU $PPID; echo sent")["stdout"] == "sent\n"
    assert agent.run("echo on")["stdout"] == "on\n"


def limit_open_files(agent, limits):
    text = f"import os, resource; resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, {limits})"
    assert agent.run(argv=[sys.executable, "-c", text])["exit_code"] == 0


def test_a_lowered_soft_limit_of_open_files_is_taken_back(agent):
    hard = resource.prlimit(agent.pid, resource.RLIMIT_NOFILE)[1]
    limit_open_files(agent, (0, hard))
    assert agent.request("GET", "/healthz").status == 200
    assert resource.prlimit(agent.pid, resource.RLIMIT_NOFILE) == (hard, hard)


@pytest.mark.skipif(bool(os.environ.get("SKIFFD_SANITIZER")), reason="a sanitizer needs descriptors to look at memory")
def test_an_agent_that_may_open_nothing_any_more_ends_and_says_why(start_agent):
    agent = start_agent(wrapper=without_resource_rights())
    agent.start(argv=["sleep", "1000"])
    limit_open_files(agent, (0, 0))
    with pytest.raises(OSError):
        agent.request("GET", "/healthz")
    assert agent.process.wait(60) == 1
    assert "limit of open files was lowered" in agent.log() and not agent.strays()


def test_what_the_agent_ignores_its_commands_do_not(agent):
    for command in ({"argv": ["grep", "SigIgn", "/proc/self/status"]}, {"command": "exec grep SigIgn /proc/self/status"}):
        assert agent.run(**command)["stdout"].split() == ["SigIgn:", "0" * 16]
