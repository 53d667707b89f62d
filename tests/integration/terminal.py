"""A terminal for programs that want one."""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time


class Terminal:
    """A program on a terminal of its own: `type` on it, wait until something is `seen`. `start` is as subprocess.Popen."""

    def __init__(self, start, *arguments, cols=132, rows=50, **options):
        self.master, self.slave = pty.openpty()
        self.resize(cols, rows)
        self.before = termios.tcgetattr(self.slave)
        self.output = b""
        self.process = start(
            *arguments, stdin=self.slave, stdout=self.slave, stderr=self.slave, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0), **options)

    def is_raw(self):
        return not termios.tcgetattr(self.slave)[3] & (termios.ICANON | termios.ECHO | termios.ISIG)

    def ready(self):
        """Waits until it is the shell's: what is typed before may be thrown away with the change of modes."""
        self.until(self.is_raw, "raw mode")
        self.type(b"echo r''eady\n")
        self.seen(b"ready")

    def resize(self, cols, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def type(self, text):
        os.write(self.master, text)

    def until(self, condition, what, seconds=60):
        """Shows what comes until `condition()`: nothing that writes to it is ever held up."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"not within {seconds} s: {what}; {self.output[-3000:]!r}"
            if select.select([self.master], [], [], 0.02)[0]:
                self.output += os.read(self.master, 65536)

    def seen(self, text):
        self.until(lambda: text in self.output, text)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)


def ended(terminal, status):
    """The program has ended with this status, and has given its terminal back as it was."""
    terminal.until(lambda: terminal.process.poll() is not None, "its end")
    assert terminal.process.returncode == status, terminal.output[-1000:]
    assert termios.tcgetattr(terminal.slave) == terminal.before
