"""Signals that a command sends to PID 1, its agent: none ends it. Those that come from outside of the container do."""

import contextlib
import ctypes
import os
import signal
import sys

import pytest

from confined import private_mounts
from waiting import until

CLONE_NEWPID = 0x20000000
libc = ctypes.CDLL(None, use_errno=True)

# A sender that is made up: code SI_QUEUE, pid 0 (rt_sigqueueinfo(2)).
FORGED = """
import ctypes, platform, signal, struct
number = {"x86_64": 129, "aarch64": 138}[platform.machine()]
info = struct.pack("iii4xii", signal.SIGTERM, 0, -1, 0, 0).ljust(128, b"\\0")
if ctypes.CDLL(None).syscall(number, 1, signal.SIGTERM, info) != 0: raise SystemExit("not sent")
"""

# The kernel sends: it was asked to when a socket becomes readable (fcntl(2), F_SETSIG).
BY_THE_KERNEL = """
import fcntl, os, signal, socket
F_SETSIG = 10
near, far = socket.socketpair()
fcntl.fcntl(near, fcntl.F_SETOWN, 1)
fcntl.fcntl(near, F_SETSIG, signal.SIGTERM)
fcntl.fcntl(near, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
far.send(b"x")
"""

SENT = {"TERM": ["kill", "-TERM", "1"], "INT": ["kill", "-INT", "1"], "HUP": ["kill", "-HUP", "1"],
        "forged": [sys.executable, "-c", FORGED], "by the kernel": [sys.executable, "-c", BY_THE_KERNEL]}


@contextlib.contextmanager
def next_process_is_pid_1():
    """The next one that is started is the first of a PID namespace."""
    own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if libc.unshare(CLONE_NEWPID) != 0:
            pytest.skip("no PID namespace can be made here")
        try:
            yield
        finally:
            assert libc.setns(own, CLONE_NEWPID) == 0
    finally:
        os.close(own)


@pytest.fixture
def start_pid_1(start_agent):
    wrapper = [*private_mounts(), "sh", "-c", 'mount -t proc proc /proc && exec "$@"', "sh"]

    def start(*arguments):
        with next_process_is_pid_1():
            agent = start_agent(*arguments, wrapper=wrapper)
        assert agent.run("echo $PPID")["stdout"] == "1\n"
        return agent

    return start


@pytest.mark.parametrize("how", SENT)
def test_no_signal_of_a_command_ends_it(start_pid_1, how):
    agent = start_pid_1()
    assert agent.run(argv=SENT[how])["exit_code"] == 0
    until(lambda: "does not end the agent" in agent.log(), what="a word about the signal")
    assert agent.request("GET", "/readyz").status == 200
    assert agent.run("echo on")["stdout"] == "on\n"


def test_a_hangup_of_a_command_only_has_the_files_opened_again(start_pid_1, tmp_path):
    audit = tmp_path / "audit"
    agent = start_pid_1("--audit-log", audit)
    audit.rename(tmp_path / "moved")
    assert agent.run(argv=SENT["HUP"])["exit_code"] == 0
    until(audit.exists, what="the new audit log")
    assert agent.run("echo on")["stdout"] == "on\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_those_from_outside_end_it(start_pid_1, number):
    agent = start_pid_1()
    agent.process.send_signal(number)
    assert agent.process.wait(15) == 0
