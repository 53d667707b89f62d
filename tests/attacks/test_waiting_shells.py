"""What a command does to the shells that wait for the next ones: they are of its user."""

import os
import pathlib
import shutil
import signal
import stat
import sys
import tempfile

import pytest

import proc
from agent import Agent, binary
from waiting import until

SOMEBODY = 54322  # root could trace any process

# Takes the socket that a waiting shell is told its command by (pidfd_getfd(2)).
THEFT = """
import ctypes, errno, sys
libc = ctypes.CDLL(None, use_errno=True)
for pid in sys.argv[1:]:
    process = libc.syscall(434, int(pid), 0)
    print("stolen" if libc.syscall(438, process, 4, 0) >= 0 else errno.errorcode[ctypes.get_errno()])
"""


@pytest.fixture
def somebodys(start_agent, tmp_path, monkeypatch):
    """An agent without privileges."""
    if os.geteuid() != 0:
        yield start_agent()
        return
    folder = tmp_path / "somebody"
    (folder / "root").mkdir(parents=True)
    os.chown(folder / "root", SOMEBODY, SOMEBODY)
    for place in (pathlib.Path(tempfile.gettempdir()), tmp_path, folder):  # somebody has to get there
        place.chmod(stat.S_IMODE(place.stat().st_mode) | 0o011)
    monkeypatch.setenv("SKIFFD", shutil.copy(binary(), folder))
    agent = Agent(folder, "--allow-unauthenticated", credential=False, user=SOMEBODY, group=SOMEBODY, extra_groups=[])
    yield agent
    agent.finish()


def waiting(agent):
    agent.run("true")
    return until(lambda: (shells := agent.waiting_shells()) and len(shells) == 2 and shells, what="shells that wait")


def test_the_sockets_of_those_that_wait_can_not_be_taken(somebodys):
    pids = map(str, waiting(somebodys))
    assert somebodys.run(argv=[sys.executable, "-c", THEFT, *pids])["stdout"] == "EPERM\n" * 2


def test_what_they_become_is_its_users_own(somebodys):
    for _ in range(4):
        waiting(somebodys)
        owner = somebodys.run("stat -c %u /proc/$$/environ")["stdout"]
        assert owner == somebodys.run(argv=["id", "-u"])["stdout"]


@pytest.mark.parametrize("name", ["NOFILE", "NPROC", "AS", "CPU", "FSIZE", "STACK"])
def test_limits_of_those_that_wait_are_not_the_next_commands(somebodys, name):
    pids = list(waiting(somebodys))
    lower = f"import resource\nfor pid in {pids}: resource.prlimit(pid, resource.RLIMIT_{name}, (0, 0))"
    assert somebodys.run(argv=[sys.executable, "-c", lower])["exit_code"] == 0
    for _ in pids:
        result = somebodys.run("echo one; /bin/echo two")
        assert (result["exit_code"], result["stdout"]) == (0, "one\ntwo\n"), result


def test_one_that_was_stopped_runs_its_command(agent):
    for pid in waiting(agent):
        os.kill(pid, signal.SIGSTOP)
        until(lambda pid=pid: "(T)" in proc.children(agent.pid)[pid], what="a stopped shell")
    for word in "one", "two", "three":
        result = agent.run(f"echo {word}", timeout_ms=20_000)
        assert (result["cause"], result["stdout"]) == ("exited", f"{word}\n")
