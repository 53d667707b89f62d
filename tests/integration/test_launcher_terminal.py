"""The companion `skiff` on a terminal, its copies and its completion."""

import hashlib
import os
import random
import shutil
import signal
import subprocess
import termios

import pytest

from terminal import Terminal


@pytest.fixture
def skiff(skiff):
    skiff.up()
    return skiff


# --- terminals ---

def ended(terminal, status):
    terminal.until(lambda: terminal.process.poll() is not None, "its end")
    assert terminal.process.returncode == status, terminal.output[-1000:]
    assert termios.tcgetattr(terminal.slave) == terminal.before


def test_a_shell_is_raw_has_a_size_passes_ctrl_c_and_is_restored(skiff):
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


def test_a_shell_without_a_terminal_runs_what_comes_on_stdin(skiff):
    assert skiff("shell", "box", typed=b"echo out; echo err >&2; exit 7\n", status=7) == ("out\n", "err\n")


def test_exec_gives_a_terminal_when_asked_and_there_is_one(skiff):
    with Terminal(skiff.start, "exec", "-it", "box", "--", "sh", "-c", "tty; stty size; read x; echo got $x; exit 3") as terminal:
        terminal.seen(b"50 132")
        terminal.type(b"this\r")
        terminal.seen(b"got this")
        ended(terminal, 3)
    assert "stdin is not a terminal" in skiff("exec", "-it", "box", "--", "true", status=125)[1]
    assert skiff("exec", "-t", "box", "--", "sh", "-c", "test -t 1 && echo terminal")[0] == "terminal\r\n"


@pytest.mark.parametrize("what", [signal.SIGTERM, signal.SIGHUP, signal.SIGSEGV])
def test_the_terminal_is_restored_when_skiff_is_ended(skiff, what):
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


def test_the_terminal_is_restored_when_the_sandbox_goes_away(skiff):
    with Terminal(skiff.start, "shell", "box") as terminal:
        terminal.ready()
        os.kill(skiff.record()["pid"], signal.SIGKILL)
        ended(terminal, 125)
        assert b"was killed" in terminal.output


def test_a_terminal_is_joined_again_after_its_skiff_was_killed(skiff):
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


def test_the_detach_keys_leave_a_shell_running_and_it_is_joined_again(skiff):
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


def test_the_detach_keys_can_be_others_or_none(skiff):
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


def test_a_sandbox_of_run_lives_on_when_its_command_is_left(skiff):
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


def test_progress_is_drawn_on_a_terminal_and_told_in_lines_elsewhere(skiff):
    with Terminal(skiff.start, "up", "other") as terminal:
        terminal.seen(b"other is up")
        ended(terminal, 0)
        assert b"\033[K" in terminal.output and b"\033[32m" not in terminal.output
    assert "skiff: third: starting" in skiff("up", "third")[1]
    assert "third" not in skiff("rm", "third", "-q")[1]
    with Terminal(skiff.start, "ps") as terminal:
        ended(terminal, 0)
        terminal.until(lambda: b"running" in terminal.output, "the list")
        colour = os.environ.get("TERM") not in (None, "dumb")
        assert (b"\033[32mrunning\033[0m" in terminal.output) == colour
    with Terminal(skiff.start, "ps", env={"NO_COLOR": "1", "TERM": "xterm"}) as terminal:
        ended(terminal, 0)
        terminal.until(lambda: b"running" in terminal.output, "the list")
        assert b"\033[" not in terminal.output


# --- files ---

def tree(folder):
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = ("link", os.readlink(path))
        elif path.is_dir():
            found[name] = ("folder", path.stat().st_mode)
        else:
            found[name] = (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mode, int(path.stat().st_mtime))
    return found


@pytest.fixture
def source(skiff):
    folder = skiff.work / "src"
    (folder / "deep/er").mkdir(parents=True)
    (folder / "deep/run").write_text("#!/bin/sh\necho ran\n")
    (folder / "deep/run").chmod(0o750)
    (folder / "noise ü").write_bytes(random.Random(4).randbytes(3_000_000))
    (folder / "link").symlink_to("deep/run")
    os.utime(folder / "deep/run", (1_500_000_000, 1_500_000_000))
    return folder


def test_a_folder_goes_in_and_comes_back_as_it_was(skiff, source):
    assert skiff("cp", "src", "box:there") == ("", "")
    assert tree(skiff.root() / "there") == tree(source)
    skiff("cp", "box:there", "back")
    assert tree(skiff.work / "back") == tree(source)
    # Into a folder that exists it goes under its own name.
    skiff("cp", "src", "box:there")
    assert tree(skiff.root() / "there/src") == tree(source)
    skiff("cp", "box:there/src", "back")
    assert tree(skiff.work / "back/src") == tree(source)
    skiff("cp", "src/.", "box:flat/")
    assert tree(skiff.root() / "flat") == tree(source)
    skiff("cp", "box:flat/.", "level")
    assert tree(skiff.work / "level") == tree(source)


def test_a_file_goes_where_cp_would_put_it(skiff, source):
    skiff("cp", "src/deep/run", "box:")
    skiff("cp", "src/deep/run", "box:other")
    skiff("cp", "src/deep/run", "box:new/folder/")
    for name in ("run", "other", "new/folder/run"):
        assert (skiff.root() / name).read_text() == "#!/bin/sh\necho ran\n"
        assert (skiff.root() / name).stat().st_mode & 0o777 == 0o750
    skiff("cp", "box:run", "got")
    skiff("cp", "box:run", ".")
    skiff("cp", "box:new/folder/run", "made/it/")
    for name in ("got", "run", "made/it/run"):
        assert (skiff.work / name).stat().st_mode & 0o777 == 0o750


def test_a_copy_shows_how_much_of_it_is_done_on_a_terminal_alone(skiff, source):
    (skiff.work / "file").write_bytes(bytes(3 << 20))
    for words in (("file", "box:file"), ("box:file", "got"), ("src", "box:tree")):
        with Terminal(skiff.start, "cp", *words) as terminal:
            ended(terminal, 0)
            terminal.until(lambda: b"  100%  " in terminal.output and terminal.output.endswith(b"\r\x1b[K"), "all of it")
            assert b"MiB of " in terminal.output, terminal.output
    assert skiff("cp", "file", "box:file") == ("", "")
    with Terminal(skiff.start, "cp", "-q", "file", "box:file") as terminal:
        ended(terminal, 0)
        terminal.until(lambda: True, "")
        assert terminal.output == b""


def test_a_copy_that_can_not_be_is_told(skiff):
    assert "No such file" in skiff("cp", "nope", "box:", status=125)[1]
    assert "No such file" in skiff("cp", "box:nope", ".", status=125)[1]
    (skiff.work / "file").write_text("x")
    assert skiff("cp", "file", "box:../out", status=125)[1]
    assert not (skiff.sandboxes / "box/out").exists()
    assert "exactly one" in skiff("cp", "a", "b", status=125)[1]
    assert "exactly one" in skiff("cp", "box:a", "box:b", status=125)[1]


def test_what_a_sandbox_sends_stays_below_the_target(skiff):
    (skiff.work / "outside").mkdir()
    (skiff.root() / "evil").mkdir()
    (skiff.root() / "evil/link").symlink_to(skiff.work / "outside")
    skiff("cp", "box:evil", "got", status=1)
    assert not os.path.lexists(skiff.work / "got/link")
    (skiff.work / "got/link").symlink_to(skiff.work / "outside")
    (skiff.root() / "evil/link").unlink()
    (skiff.root() / "evil/link").mkdir()
    (skiff.root() / "evil/link/file").write_text("through the link")
    # The link is the user's: a directory neither goes through it nor takes its place.
    assert "is a link" in skiff("cp", "box:evil/.", "got", status=125)[1]
    assert list((skiff.work / "outside").iterdir()) == [] and (skiff.work / "got/link").is_symlink()


def test_files_are_listed_printed_and_removed(skiff):
    noise = random.Random(5).randbytes(1_000_000)
    (skiff.root() / "sub").mkdir()
    (skiff.root() / "sub/noise").write_bytes(noise)
    assert skiff("files", "ls", "box", "-o", "name")[0] == "sub\n"
    assert " 977KiB " in skiff("files", "ls", "-r", "box")[0]
    process = skiff.start("files", "cat", "box", "sub/noise", "sub/noise")
    assert process.communicate(timeout=60)[0] == noise + noise
    assert "sub" in skiff("files", "rm", "box", "sub", status=125)[1]
    skiff("files", "rm", "-r", "box", "sub")
    assert not (skiff.root() / "sub").exists()
    skiff("files", "rm", "-f", "box", "sub")
    assert skiff("files", "cat", "box", "../record.json", status=125)[1]


# --- completion and help ---

def bash_completes(skiff, line):
    """What bash offers for `line`, through the script as a user sources it."""
    script = f"""source <(skiff completion bash) || exit 1
        COMP_LINE={line!r}; COMP_POINT=${{#COMP_LINE}}; COMP_WORDS=($COMP_LINE); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
        compopt() {{ :; }}; _skiff; printf '%s\\n' "${{COMPREPLY[@]}}"; complete -p skiff >&2"""
    path = f"{os.path.dirname(skiff.program)}:{os.environ['PATH']}"
    done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, timeout=60, cwd=skiff.work,
                          env=skiff.environment(PATH=path))
    assert done.returncode == 0 and "-F _skiff skiff" in done.stderr, done
    return done.stdout.split()


def test_bash_completes_commands_flags_names_and_paths(skiff):
    (skiff.root() / "folder").mkdir()
    (skiff.root() / "folder/file").touch()
    (skiff.work / "local").touch()
    skiff("exec", "box", "--mode", "background", "--id", "job", "--", "true")
    assert bash_completes(skiff, "skiff des") == ["describe"]
    assert bash_completes(skiff, "skiff files l") == ["ls"]
    assert bash_completes(skiff, "skiff exec b") == ["box"]
    assert bash_completes(skiff, "skiff up --idle") == ["--idle-ttl"]
    assert bash_completes(skiff, "skiff ps -o y") == ["yaml"]
    assert bash_completes(skiff, "skiff logs box ") == ["job"]
    assert bash_completes(skiff, "skiff files cat box folder/") == ["folder/file"]
    assert bash_completes(skiff, "skiff cp box:fo") == ["folder/"]
    assert bash_completes(skiff, "skiff cp lo") == ["local"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_take_their_script(skiff, shell):
    script = skiff("completion", shell)[0]
    assert "skiff __complete" in script
    if shutil.which(shell):
        done = subprocess.run([shell, "-n"] if shell == "zsh" else [shell, "--no-execute"], input=script, text=True,
                              capture_output=True, timeout=60)
        assert done.returncode == 0, done


def test_help_reads_well(skiff):
    overview = skiff("--help")[0]
    names = [line.split("  ")[1] for line in overview.splitlines() if line.startswith("  ") and line[2] != " "]
    assert {"up", "exec", "files ls", "completion"} <= set(names)
    for name in names:
        text = skiff(*name.split(), "--help")[0]
        assert text.startswith(f"usage: skiff {name} [flags]"), text
        assert max(map(len, text.splitlines())) <= 110, text
        assert "--output FORMAT" in text
        assert skiff("help", *name.split())[0] == text
