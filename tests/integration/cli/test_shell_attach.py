"""`skiff shell` and `skiff attach`: a command on a terminal, left and joined again."""

import os
import signal
import subprocess
import termios

import pytest

from terminal import Terminal, ended


def test_a_shell_is_raw_has_a_size_passes_ctrl_c_and_is_restored(skiff, box):
    def cat_runs():
        return any(line.startswith("cat") for line in skiff.processes().values())

    with Terminal(skiff.start, "shell", "box") as terminal:
        terminal.ready()
        terminal.type(b"stty size; cat > got\n")
        terminal.seen(b"50 132")
        terminal.until(cat_runs, "cat")
        terminal.type(b"\x03")
        terminal.until(lambda: not cat_runs(), "the end of cat")
        terminal.resize(99, 33)
        terminal.type(b"until [ \"$(stty size)\" = '33 99' ]; do sleep 0.02; done; echo res''ized\n")
        terminal.seen(b"resized")
        terminal.type(b"exit 7\n")
        ended(terminal, 7)


def test_a_shell_without_a_terminal_runs_what_comes_on_stdin(skiff, box):
    assert skiff("shell", "box", typed=b"echo out; echo err >&2; exit 7\n", status=7) == ("out\n", "err\n")


def test_exec_gives_a_terminal_when_asked_and_there_is_one(skiff, box):
    with Terminal(skiff.start, "exec", "-it", "box", "--", "sh", "-c", "tty; stty size; read x; echo got $x; exit 3") as terminal:
        terminal.seen(b"50 132")
        terminal.type(b"this\r")
        terminal.seen(b"got this")
        ended(terminal, 3)
    assert "stdin is not a terminal" in skiff("exec", "-it", "box", "--", "true", status=125)[1]
    assert skiff("exec", "-t", "box", "--", "sh", "-c", "test -t 1 && echo terminal")[0] == "terminal\r\n"


@pytest.mark.parametrize("what", [signal.SIGTERM, signal.SIGHUP, signal.SIGSEGV])
def test_the_terminal_is_restored_when_skiff_is_ended(skiff, box, what):
    with Terminal(skiff.start, "shell", "box") as terminal:
        terminal.ready()
        terminal.type(b"trap '' TERM HUP; echo de''af\n")
        terminal.seen(b"deaf")
        while terminal.process.poll() is None:
            terminal.process.send_signal(what)
            terminal.until(lambda: True, "")
            try:
                terminal.process.wait(0.2)
            except subprocess.TimeoutExpired:
                pass
            if what == signal.SIGHUP:  # it is the shell's; the terminal goes with skiff only at the third
                what = signal.SIGTERM
        assert termios.tcgetattr(terminal.slave) == terminal.before
    skiff("rm", "box")
    skiff.up()


def test_the_terminal_is_restored_when_the_sandbox_goes_away(skiff, box):
    with Terminal(skiff.start, "shell", "box") as terminal:
        terminal.ready()
        os.kill(skiff.record()["pid"], signal.SIGKILL)
        ended(terminal, 125)
        assert b"was killed" in terminal.output


def test_a_terminal_is_joined_again_after_its_skiff_was_killed(skiff, box):
    with Terminal(skiff.start, "shell", "box") as terminal:
        terminal.ready()
        terminal.type(b"X=kept; echo se''t\n")
        terminal.seen(b"set")
        os.killpg(terminal.process.pid, signal.SIGKILL)
    command = skiff.json("top", "box")["items"][0]["id"]
    with Terminal(skiff.start, "attach", "box", command) as terminal:
        terminal.seen(b"set")
        terminal.type(b"echo $X-''yes; exit 4\n")
        terminal.seen(b"kept-yes")
        ended(terminal, 4)


def left(terminal):
    """It has let go of its command, said how to come back, and given the terminal back. Returns that command line."""
    ended(terminal, 0)
    terminal.until(lambda: b"` reattaches" in terminal.output, "how to come back")
    return terminal.output.rpartition(b"` reattaches")[0].rpartition(b"`")[2].decode().split()[1:]


def test_the_detach_keys_leave_a_shell_running_and_it_is_joined_again(skiff, box):
    with Terminal(skiff.start, "shell", "box") as terminal:
        terminal.ready()
        terminal.type(b"X=kept; echo se''t\n")
        terminal.seen(b"set")
        terminal.type(b"\x10")
        terminal.type(b"\x11")
        again = left(terminal)
    assert again[:2] == ["attach", "box"]
    with Terminal(skiff.start, *again) as terminal:
        terminal.seen(b"set")
        terminal.type(b"echo $X-''yes\n")
        terminal.seen(b"kept-yes")
        terminal.type(b"\x10\x11")
        assert left(terminal) == again
    with Terminal(skiff.start, *again) as terminal:
        terminal.type(b"exit 4\n")
        ended(terminal, 4)


def test_the_detach_keys_can_be_others_or_none(skiff, box):
    command = ("box", "--", "sh", "-c", "stty -echo raw; echo is''raw; head -c 3 | od -An -tx1; sleep 1000")
    with Terminal(skiff.start, "exec", "-it", "--detach-keys", "ctrl-],q", *command) as terminal:
        terminal.seen(b"israw")
        terminal.type(b"\x10\x11\x1d")  # the last one may be the first of the two, and turns out not to be
        terminal.type(b"\x1d")
        terminal.seen(b"10 11 1d")
        terminal.type(b"q")
        skiff("kill", "box", left(terminal)[-1])
    with Terminal(skiff.start, "exec", "-it", "--detach-keys=", *command) as terminal:
        terminal.seen(b"israw")
        terminal.type(b"\x10\x11\x10")
        terminal.seen(b"10 11 10")
    assert "is not a key" in skiff("exec", "--detach-keys", "ctrl-?", "box", "--", "true", status=125)[1]


def test_a_sandbox_of_run_lives_on_when_its_command_is_left(skiff, box):
    with Terminal(skiff.start, "run", "-it", "--", "sh", "-c", "echo rea''dy; read x; echo got $x; exit 5") as terminal:
        terminal.seen(b"ready")
        terminal.type(b"\x10\x11")
        again = left(terminal)
    with Terminal(skiff.start, *again) as terminal:
        terminal.seen(b"ready")
        terminal.type(b"this\r")
        terminal.seen(b"got this")
        ended(terminal, 5)
    assert skiff("rm", again[1])[0] == again[1] + "\n"
