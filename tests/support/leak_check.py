"""Runs a test and fails it when it leaves something behind: `leak_check.py COMMAND...`.

The test gets a temporary directory of its own (TMPDIR) and this process as the one that inherits its orphans. When it has
ended, no process that it started may live, however far it was daemonised, and the directory must be empty. What is left is
ended and removed in any case, so that one test can't disturb the next, and told of unless the test has failed anyway. The
last line is the processor time of all of these processes. The exit status is the test's, or 1."""

import ctypes
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
# A process that the test has killed may still be on its way out (an agent's commands get SIGKILL when the agent is gone).
GRACE_SECONDS = 2.0

libc = ctypes.CDLL(None, use_errno=True)


def reap(first):
    """Collects what has ended. Returns the status of `first` if that is among it."""
    status = None
    while True:
        try:
            pid, code = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if pid == 0:
            return status
        if pid == first:
            status = os.waitstatus_to_exitcode(code)


def children():
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return [int(pid) for pid in file.read().split()]


def describe(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().replace(b"\0", b" ").decode(errors="replace").strip()
        with open(f"/proc/{pid}/comm") as file:
            return f"{pid}: {words or file.read().strip()}"
    except OSError:
        return f"{pid}: has ended meanwhile"


def wait_for_orphans(seconds):
    """Waits until no child is left. Returns those that still live after that time."""
    until = time.monotonic() + seconds
    while True:
        reap(None)
        left = children()
        rest = until - time.monotonic()
        if not left or rest <= 0:
            return left
        signal.sigtimedwait([signal.SIGCHLD], rest)


def end(pids):
    while pids:
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        signal.sigtimedwait([signal.SIGCHLD], 1.0)
        reap(None)
        pids = children()  # the children of what has just died are ours now


def left_files(folder):
    # pytest keeps the directories of its last runs on purpose: tests that use tmp_path need not clean up.
    return sorted(name for name in os.listdir(folder) if not name.startswith("pytest-of-"))


def main(command):
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    folder = tempfile.mkdtemp(prefix="leak-check-")
    os.chmod(folder, 0o711)  # a test that becomes another user goes through it

    def in_child():
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

    try:
        test = subprocess.Popen(command, env={**os.environ, "TMPDIR": folder}, stdin=subprocess.DEVNULL, preexec_fn=in_child)
        status = None
        while status is None:
            signal.sigwait([signal.SIGCHLD])
            status = reap(test.pid)
        test.returncode = status
        alive = wait_for_orphans(GRACE_SECONDS)
        complaints = [f"LEFT BEHIND: process {describe(pid)}" for pid in alive]
        complaints += [f"LEFT BEHIND: file $TMPDIR/{name}" for name in left_files(folder)]
        end(alive)
    finally:
        end(children())
        shutil.rmtree(folder, ignore_errors=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"processor time: {used.ru_utime + used.ru_stime:.1f} s", flush=True)
    # A failed test did not reach its clean-up: the report shows its failure alone.
    for complaint in complaints if status == 0 else []:
        print(complaint, flush=True)
    if status < 0:
        print(f"{command[0]} was ended by {signal.Signals(-status).name}", flush=True)
        return 128 - status
    return status or (1 if complaints else 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
