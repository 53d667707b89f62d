"""Signals that a command sends to PID 1, its agent: none ends it. Those that come from outside of the container do."""

import contextlib
import ctypes
import os
import pathlib
import re
import resource
import signal
import sys

import pytest

import proc
from confined import own_user_namespace, private_mounts
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

# A signal whose sender the kernel can't keep: the queue of signals is full, or may hold nothing.
LOST_IN_A_FULL_QUEUE = """
import ctypes, os, platform, signal, struct
number = {"x86_64": 129, "aarch64": 138}[platform.machine()]
call = ctypes.CDLL(None).syscall
def send(pid, signal):
    return call(number, pid, signal, struct.pack("iii4xii", signal, 0, -1, 0, 0).ljust(128, b"\\0"))
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
while send(os.getpid(), signal.SIGRTMIN) == 0: pass
if send(1, signal.SIGTERM) != 0: raise SystemExit("not sent")
while True: signal.sigwait([signal.SIGTERM])
"""

LOST_BY_A_LIMIT = "import resource; resource.prlimit(1, resource.RLIMIT_SIGPENDING, (0, 0))" + FORGED

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

    def start(*arguments, inner=()):
        with next_process_is_pid_1():
            agent = start_agent(*arguments, wrapper=[*wrapper, *inner])
        assert agent.run("echo $PPID")["stdout"] == "1\n"
        return agent

    return start


@pytest.mark.parametrize("how", SENT)
def test_no_signal_of_a_command_ends_the_agent(start_pid_1, how):
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


@pytest.mark.parametrize("code", [LOST_IN_A_FULL_QUEUE, LOST_BY_A_LIMIT], ids=["full queue", "limit"])
def test_a_signal_whose_sender_the_kernel_lost_does_not_end_the_agent(start_pid_1, code):
    # The queue is that of all processes of a user, in a user namespace: nobody else's signals are in this one.
    agent = start_pid_1("--drain-timeout", "1s", inner=own_user_namespace())
    resource.prlimit(agent.pid, resource.RLIMIT_SIGPENDING, (64, 4096))  # a queue that is quickly full
    agent.start(argv=[sys.executable, "-c", code])
    until(lambda: "does not end the agent" in agent.log(), what="a word about the signal")
    assert agent.run("echo on")["stdout"] == "on\n"


# Signals that wait and are never taken, as many as the command's own limit lets in.
FILLS_THE_QUEUE = """
import os, signal, time
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
for _ in range(5000): os.kill(os.getpid(), signal.SIGRTMIN)
print("full", flush=True)
while not os.path.exists("go"): time.sleep(0.01)
"""
NO_SIGNAL_MAY_WAIT = "import resource; resource.prlimit(1, resource.RLIMIT_SIGPENDING, (0, 0))"


@pytest.fixture(params=["full queue", "limit"])
def crowded(start_pid_1, request):
    """PID 1 for which no further signal has a place in the queue that it shares with all processes of its user."""
    agent = start_pid_1("--drain-timeout", "1s", inner=own_user_namespace())
    if request.param == "limit":
        assert agent.run(argv=[sys.executable, "-c", NO_SIGNAL_MAY_WAIT])["exit_code"] == 0
        assert resource.prlimit(agent.pid, resource.RLIMIT_SIGPENDING) == (0, 0)
    else:
        resource.prlimit(agent.pid, resource.RLIMIT_SIGPENDING, (64, 4096))
        cid = agent.start(argv=[sys.executable, "-c", FILLS_THE_QUEUE])["id"]
        until(lambda: b"full" in agent.request("GET", f"/v1/commands/{cid}/output").body, what="a full queue")
        entries, limit = map(int, re.search(r"^SigQ:\t(\d+)/(\d+)$", pathlib.Path(f"/proc/{agent.pid}/status").read_text(),
                                            re.MULTILINE).groups())
        assert entries >= limit
    return agent


def test_the_agent_reaps_kills_and_answers_while_its_signal_queue_is_full(crowded):
    # Exits of leaders, of orphans that come to PID 1, and of a tree that is killed.
    results = [crowded.run(f"(sleep 0.01 &) ; (setsid sh -c 'exit 0' &) ; exit {number}")["exit_code"] for number in range(20)]
    assert results == list(range(20))
    tree = crowded.start("trap '' TERM; (setsid sleep 1000 &) ; while :; do sleep 1; done", kill_grace_ms=100)
    assert crowded.request("DELETE", f"/v1/commands/{tree['id']}").status == 204
    assert crowded.run("sleep 1000", timeout_ms=100, kill_grace_ms=0)["cause"] == "timeout"
    until(lambda: not [name for name in proc.children(crowded.pid).values() if "(Z)" in name], what="no zombie")
    assert crowded.request("GET", "/readyz").status == 200


def test_a_signal_from_outside_ends_the_agent_while_its_signal_queue_is_full(crowded):
    """kill(2) has a place in the queue beyond every limit (signal(7)), and gives it back."""
    crowded.process.send_signal(signal.SIGTERM)
    assert crowded.process.wait(15) == 143


def test_many_have_one_line_a_second_in_the_log(start_pid_1):
    agent = start_pid_1()
    flood = "import os, signal\nfor _ in range(50_000): os.kill(1, signal.SIGTERM)"
    assert agent.run(argv=[sys.executable, "-c", flood])["exit_code"] == 0
    until(lambda: "does not end the agent" in agent.log(), what="a word about the signals")
    assert agent.log().count("does not end the agent") < 100


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_from_outside_end_the_agent(start_pid_1, number):
    agent = start_pid_1()
    agent.process.send_signal(number)
    assert agent.process.wait(15) == 128 + number
