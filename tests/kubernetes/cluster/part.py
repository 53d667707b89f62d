"""A process of the cluster, and the orders that a test gives about it."""

import ctypes
import os
import signal
import ssl
import subprocess
import time
import urllib.error
import urllib.request

PR_SET_PDEATHSIG = 1
START_SECONDS = 90
libc = ctypes.CDLL(None, use_errno=True)


class StartFailed(Exception):
    pass


def die_with_parent():
    """A `preexec_fn`: the process is killed when the one that started it ends, however that ends."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def answers(url, context=None):
    try:
        with urllib.request.urlopen(url, timeout=2, context=context) as reply:
            return reply.status == 200
    except (OSError, urllib.error.URLError):
        return False


def without_verifying():
    """A TLS context for the health pages of parts that sign their own certificates."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


class Part:
    """How one process is started, and how it is known to answer."""

    def __init__(self, folder, program, arguments, ready, name=None, pass_fds=()):
        self.program, self.ready, self.pass_fds = program, ready, pass_fds
        self.name = name or os.path.basename(program)
        self.log = folder / f"{self.name}.log"
        self.command = [self.name, *map(str, arguments)]
        self.process = None

    def launch(self):
        with open(self.log, "ab") as log:
            # It lives for minutes and there is memory: less time goes into collecting garbage.
            self.process = subprocess.Popen(self.command, executable=self.program, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, env={**os.environ, "GOGC": "400"}, preexec_fn=die_with_parent,
                                            pass_fds=self.pass_fds)

    def wait(self):
        """Until it answers; StartFailed when it has ended or takes too long."""
        until = time.monotonic() + START_SECONDS
        while not self.ready():
            if self.process.poll() is not None:
                raise StartFailed(f"{self.name} ended with {self.process.returncode}:\n{self.last_lines()}")
            if time.monotonic() > until:
                raise StartFailed(f"{self.name} does not answer:\n{self.last_lines()}")
            time.sleep(0.05)

    def start(self):
        self.launch()
        self.wait()

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()

    def last_lines(self):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])


def obey(parts, line):
    """Does what the line says, `kill PART` or `start PART`, to one of `parts` ({name: Part}). Returns the answer."""
    words = line.split()
    if len(words) != 2 or words[0] not in ("kill", "start") or words[1] not in parts:
        return f"error: kill PART or start PART, PART being one of {' '.join(parts)}"
    try:
        if words[0] == "kill":
            parts[words[1]].kill()
        else:
            parts[words[1]].start()
    except StartFailed as error:
        return f"error: {error}".replace("\n", " | ")
    return "done"
