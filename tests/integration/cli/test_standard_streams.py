"""`skiff` reports each byte that it could not write or read: real skiff, real skiffd, driver `local`.

WRITES has a row for each command of the help: a new command needs one, too."""

import contextlib
import errno
import fcntl
import os
import re
import signal
import subprocess

import pytest

from confined import private_mounts
from waiting import until

OUTPUT = 2_500_000  # bytes, more than the small disk takes
BIG = ("--", "head", "-c", str(OUTPUT), "/dev/zero")
HELLO = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{}}}\n'
POD = ("--driver", "pod", "--agent-image", "a:1")


# {command: what makes it print something, each {n} another number}. "box" runs; of "old{n}" there is one that is stopped, and
# of "new{n}" one that runs, wherever they are named.
WRITES = {
    "run": [("-d", "--name", "run{n}", "--", "true"), ("--", "echo", "x"), ("--", "sh", "-c", "echo x; exit 4"), ("-t", "--", "echo", "x")],
    "up": [("made{n}",), ("made{n}", "-o", "json", "-q")],
    "ps": [(), ("-o", "json"), ("-o", "name"), ("-o", "jsonpath={.items[*].name}"), ("-w",)],
    "describe": [("box",)],
    "stop": [("new{n}",)],
    "start": [("old{n}",)],
    "extend": [("box", "--ttl", "1h")],
    "rm": [("new{n}",)],
    "gc": [("--dry-run", "-o", "json"), ("-o", "json")],
    "exec": [("box", "--", "echo", "x"), ("-t", "box", "--", "echo", "x"), ("box", "--", "sh", "-c", "echo x; exit 4"),
             ("--mode", "wait", "box", "--", "echo", "x"), ("--mode", "wait", "-o", "json", "box", "--", "true"), ("-d", "box", "--", "true")],
    "attach": [("box", "said"), ("box", "running")],
    "logs": [("box", "said"), ("box", "said", "--tail", "1"), ("box", "said", "--timestamps"), ("box", "said", "--since", "1h"),
             ("-f", "box", "running")],
    "top": [("box",), ("-p", "box", "-o", "json")],
    "kill": [("box", "running")],
    "tool": [("box", "greet", "--folder", "tools")],
    "session create": [("box",)],
    "session ls": [("box",)],
    "session rm": [],
    "cp": [("box:file", "-"), ("-o", "json", "box:file", "copied{n}"), ("-o", "json", "local", "box:copied{n}")],
    "files ls": [("box",)],
    "files cat": [("box", "file")],
    "files write": [("box", "written{n}", "-o", "json")],
    "files edit": [("box", "file", "--old", "text", "--new", "text", "-o", "json")],
    "files stat": [("box", "file")],
    "files glob": [("box", "*")],
    "files grep": [("box", "text")],
    "files rm": [],
    "forward": [("box", ":80")],
    "mcp": [("box",)],
    "mcp config": [("cursor",), ("codex",)],
    "token": [("box",)],
    "manifest": [("one", *POD), ("one", *POD, "-o", "json")],
    "rbac": [()],
    "serve": [("--listen", "127.0.0.1:0")],
    "key create": [("key{n}",)],
    "key ls": [()],
    "key rm": [],
    "secret ls": [()],
    "egress profiles": [()],
    "secret rm": [],
    "doctor": [()],
    "version": [(), ("box",)],
    "licenses": [()],
    "completion": [("bash",), ("zsh",), ("fish",)],
}


# Commands that need a cluster, a box, a keyboard, or a page that npm builds. They print with the same two functions.
NOT_HERE = {"changes", "apply", "console", "egress log", "egress explain", "egress install", "network", "pool create", "pool scale", "pool status", "pool rm", "key rotate", "secret set", "shell"}


# {command: what makes it read stdin, with what it ends with when that is at its end}
READS = {
    "exec": [(("-i", "box", "--", "cat"), 0), (("-i", "box", "--", "sh", "-c", "cat; exit 3"), 3)],
    "run": [(("-i", "--", "cat"), 0)],
    "attach": [(("box", "reading"), 0)],
    "files write": [(("box", "empty"), 0)],
    "cp": [(("-", "box:nothing"), None)],
    "mcp": [(("box",), 0), ((), 0)],
}


@pytest.fixture
def skiff(skiff):
    skiff.up()
    (skiff.root() / "file").write_text("text\n")
    (skiff.root() / "tools").mkdir()
    (skiff.root() / "tools/greet").write_text("#!/bin/sh\necho '{}'\n")
    (skiff.root() / "tools/greet").chmod(0o755)
    (skiff.work / "local").write_text("text\n")
    skiff.number = 0
    return skiff


def prepared(skiff, words):
    """The words with their numbers, and what they name made."""
    skiff.number += 1
    words = [word.replace("{n}", str(skiff.number)) for word in words]
    for word in words:
        if re.fullmatch(r"(old|new)\d+", word):
            skiff.up(word)
            if word.startswith("old"):
                skiff("stop", "-q", word)
    if "said" in words and not hasattr(skiff, "said"):
        skiff.said = skiff("exec", "--id", "said", "box", "--", "echo", "something")
    if "running" in words:
        skiff("exec", "box", "--", "sh", "-c", "kill -9 $(cat running.pid) 2>&-; :")
        words[words.index("running")] = name = f"running{skiff.number}"
        skiff("exec", "-d", "--id", name, "box", "--", "sh", "-c", "echo $$ > running.pid; while echo x; do sleep 0.1; done")
    if "reading" in words:
        words[words.index("reading")] = name = f"reading{skiff.number}"
        process = skiff.start("exec", "-i", "--id", name, "box", "--", "cat", stdin=subprocess.PIPE)
        until(lambda: name in skiff("top", "box")[0], what="its command")
        process.kill()
        process.communicate()
    return words


def closing(*fds):
    def close():
        for fd in fds:
            os.close(fd)
    return close


def ended(skiff, command, words, typed=b"", **options):
    """(status, stderr) of one that has to end by itself."""
    process = skiff.start(*command.split(), *words, **{"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, **options})
    try:
        err = process.communicate(typed or None, timeout=60)[1]
    except (BrokenPipeError, subprocess.TimeoutExpired):
        process.kill()
        err = process.communicate()[1]
        pytest.fail(f"skiff {command} {words} does not end: {err}")
    return process.returncode, (err or b"").decode(errors="replace")


def test_each_command_of_the_help_has_a_row(skiff):
    names = set(re.findall(r"^  ([a-z]+(?: [a-z]+)?)  +\S", skiff("--help")[0], re.MULTILINE))
    assert "files cat" in names and names == set(WRITES) | NOT_HERE
    assert set(READS) <= names


@pytest.mark.parametrize("command", [command for command in WRITES if WRITES[command]])
def test_a_command_that_can_not_write_its_output_fails(skiff, command):
    typed = HELLO if command == "mcp" else b""
    for words in WRITES[command]:
        with open("/dev/full", "wb") as full:
            status, err = ended(skiff, command, prepared(skiff, words), typed, stdout=full)
        assert status == 125 and "write to stdout: No space left on device" in err, (words, status, err)
        status, err = ended(skiff, command, prepared(skiff, words), typed, preexec_fn=closing(1))
        assert status == 125 and "write to stdout: Bad file descriptor" in err, (words, status, err)


@pytest.mark.parametrize("words", [("--help",), ("exec", "--help"), ("--version",), ("nothing-of-ours",)])
def test_help_that_can_not_be_written_fails(skiff, words):
    with open("/dev/full", "wb") as full:
        assert ended(skiff, "", words, stdout=full)[0] == 125
    assert ended(skiff, "", words, preexec_fn=closing(1))[0] == 125


# Commands that may print more than a disk takes.
STREAMS = {
    "exec": ("box", *BIG), "exec -t": ("box", *BIG), "exec -i": ("box", *BIG), "run": BIG, "logs": ("box", "big"),
    "logs -f": ("box", "big"), "attach": ("box", "big"), "files cat": ("box", "big"), "cp": ("box:big", "-"),
}


@pytest.mark.parametrize("command", STREAMS)
def test_a_full_disk_is_reported(skiff, command):
    """The file holds the beginning of the output, and the status says that the rest is missing."""
    with open(skiff.root() / "big", "wb") as big:
        big.truncate(OUTPUT)
    skiff("exec", "--id", "big", "box", "--", "cat", "big", stdout=subprocess.DEVNULL)
    folder = skiff.work / "small"
    folder.mkdir()
    script = f'mount -t tmpfs -o size=2m none {folder} && "$@" > {folder}/out; echo $? $(wc -c < {folder}/out)'
    process = subprocess.run([*private_mounts(), "sh", "-c", script, "sh", *skiff.command, *command.split(), *STREAMS[command]],
                             env=skiff.environment(), cwd=skiff.work, stdin=subprocess.DEVNULL, capture_output=True, timeout=100)
    status, size = map(int, process.stdout.split())
    assert status == 125 and 0 < size <= 2 << 20, (status, size, process.stderr)
    assert b"No space left on device" in process.stderr


@pytest.mark.parametrize("words", [("exec", "box"), ("exec", "--mode", "wait", "box"), ("run",)])
def test_a_stderr_that_takes_no_more_is_a_failure_and_a_closed_one_is_not(skiff, words):
    line = ("--", "sh", "-c", "echo x; echo lost >&2")
    with open("/dev/full", "wb") as full:
        assert skiff(*words, *line, stderr=full, status=125)[0] == "x\n"
    assert skiff(*words, *line, preexec_fn=closing(2), stderr=subprocess.DEVNULL)[0] == "x\n"
    assert skiff(*words, "--", "sh", "-c", "echo x >&2; exit 3", preexec_fn=closing(2), stderr=subprocess.DEVNULL, status=3)[0] == ""


def test_output_whose_reader_has_left_ends_as_with_any_program(skiff):
    read, write = os.pipe()
    os.close(read)
    for words in (("exec", "box", "--", "sh", "-c", "trap '' PIPE; echo x"), ("files", "cat", "box", "file")):
        process = skiff.start(*words, stdout=write)
        process.communicate(timeout=60)
        assert process.returncode in (141, -signal.SIGPIPE), words
    os.close(write)


def test_a_command_runs_on_when_the_reader_of_its_logs_leaves(skiff):
    words = prepared(skiff, ("-f", "box", "running"))
    process = skiff.start("logs", *words)
    assert process.stdout.readline() == b"x\n"
    process.stdout.close()
    assert process.wait(60) == -signal.SIGPIPE
    process.stderr.close()
    assert "running" in [item["state"] for item in skiff.json("top", "box")["items"] if item["id"] == words[-1]]


@pytest.mark.parametrize("command", READS)
def test_a_closed_stdin_is_at_its_end(skiff, command):
    for words, expected in READS[command]:
        status, err = ended(skiff, command, prepared(skiff, words), stdin=subprocess.DEVNULL, preexec_fn=closing(0))
        assert status == expected if expected is not None else status in (0, 125), (words, status, err)
        status, err = ended(skiff, command, prepared(skiff, words), stdin=subprocess.DEVNULL, preexec_fn=closing(0, 2), stderr=subprocess.DEVNULL)
        assert status == expected if expected is not None else status in (0, 125), (words, status)
        assert ended(skiff, command, prepared(skiff, words), stdin=subprocess.DEVNULL, preexec_fn=closing(0, 1, 2), stderr=subprocess.DEVNULL)[0] in (0, 3, 125)


@pytest.mark.parametrize("command", READS)
def test_an_unreadable_stdin_is_reported(skiff, command):
    """A directory."""
    for words, _ in READS[command]:
        folder = os.open(skiff.work, os.O_RDONLY)
        status, err = ended(skiff, command, prepared(skiff, words), stdin=folder)
        os.close(folder)
        assert status == 125 and f"read stdin: {os.strerror(errno.EISDIR)}" in err, (words, status, err)


def test_dropped_output_is_reported(skiff):
    """Commands that print the whole output fail; one that joins late says so, and ends with the status of the command."""
    skiff("exec", "box", "--id", "much", "--", "sh", "-c", "head -c 100000000 /dev/zero; echo end", stdout=subprocess.DEVNULL)
    told = "bytes of output were dropped before they could be read"
    for words, status in ((("logs", "box", "much"), 1), (("logs", "box", "much", "--timestamps"), 1), (("logs", "box", "much", "--from", "1"), 1),
                          (("attach", "box", "much", "--from", "1"), 125), (("attach", "box", "much"), 0)):
        err = skiff(*words, stdout=subprocess.DEVNULL, status=status)[1]
        assert told in err, (words, err)
    assert skiff("logs", "box", "much", "--tail", "0") == ("", "")


def test_exec_reports_a_result_without_its_middle(skiff):
    err = skiff("exec", "--mode", "wait", "box", *BIG, stdout=subprocess.DEVNULL, status=125)[1]
    assert "the middle of the output was left out" in err


@contextlib.contextmanager
def leased(path):
    """A file that nobody else may open, as any command can make one of its own."""
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)
    with open(path, "r+b") as file:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        yield
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    signal.signal(signal.SIGIO, before)


def test_a_search_tells_what_it_has_left_out(skiff):
    (skiff.root() / "shut").write_text("text\n")
    with leased(skiff.root() / "shut"):
        out, err = skiff("files", "grep", "box", "text", status=2)
    assert "file:1:text" in out and "1 files or directories could not be read" in err
    (skiff.root() / "binary").write_bytes(b"a\0text\n")
    out, err = skiff("files", "grep", "box", "text")
    assert "file:1:text" in out and "1 files are not text and were left out" in err
    # By its name it was meant.
    assert "1 files are not text" in skiff("files", "grep", "-q", "box", "text", "binary", status=2)[1]
    assert skiff("files", "grep", "box", "nothing", "file", status=1) == ("", "")


def test_a_copy_tells_what_it_has_left_out(skiff):
    (skiff.root() / "tree").mkdir()
    (skiff.root() / "tree/shut").write_text("text\n")
    (skiff.root() / "tree/fine").write_text("text\n")
    os.mkfifo(skiff.root() / "tree/pipe")
    for to in ("-", "copied"):
        with leased(skiff.root() / "tree/shut"):
            err = skiff("cp", "box:tree", to, status=1)[1]
        assert "1 files or directories were left out or are not whole" in err and "shut: it could not be read" in err and "1 sockets" in err
    assert [path.name for path in (skiff.work / "copied").iterdir()] == ["fine"]
