"""A hostile sandbox can't harm the user of `skiff` by its text or its files: real skiff, real skiffd, or a server that lies."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from speaking import in_place_of_the_agent, speaking
from terminal import Terminal
from waiting import until

# OSC sets the title, CSI in seven and in eight bits, a line of its own, DEL, and text that is shown from right to left.
EVIL = "a\033]0;OWNED\007\033[2J\u009b1A\r\nbox  running\x7f\u202ecod"
RAW = [b"\033", b"\007", b"\r", b"\x7f", "\u009b".encode(), "\u202e".encode()]


@pytest.fixture
def skiff(skiff):
    skiff.up()
    return skiff


def both(skiff, *words, status=0):
    process = skiff.start(*words)
    out, err = process.communicate(timeout=60)
    assert process.returncode == status, (words, out, err)
    return out, err


def harmless(text):
    assert not [raw for raw in RAW if raw in text], text
    text.decode()
    return text


# --- text ---

def test_names_of_files_control_no_terminal(skiff):
    (skiff.root() / EVIL).write_text("x")
    (skiff.root() / "link").symlink_to(EVIL)
    (skiff.root() / "ü€😀").touch()
    out = harmless(both(skiff, "files", "ls", "box")[0])
    assert len(out.splitlines()) == 4 and rb"\x1b]0;OWNED\x07" in out and rb"\x0d\x0abox" in out and rb"\xe2\x80\xae" in out
    assert "ü€😀".encode() in out
    out = harmless(both(skiff, "files", "ls", "box", "-o", "name")[0])
    assert len(out.splitlines()) == 3
    for form in ("json", "yaml"):
        out = harmless(both(skiff, "files", "ls", "box", "-o", form)[0])
        assert rb"\u202e" in out and "ü€😀".encode() in out
    assert {item["path"] for item in json.loads(skiff("files", "ls", "box", "-o", "json")[0])["items"]} == {EVIL, "link", "ü€😀"}


def test_command_lines_and_errors_control_no_terminal(skiff):
    skiff("exec", "box", "--", "true", EVIL)
    out = harmless(both(skiff, "top", "box")[0])
    assert len(out.splitlines()) == 2 and rb"\x1b]0;OWNED" in out
    err = harmless(both(skiff, "files", "cat", "box", EVIL, status=125)[1])
    assert err.startswith(b"skiff: ") and all(line.startswith(b"  ") for line in err.splitlines()[1:])
    skiff("exec", "box", "--", "true", "ü" * 100)
    assert "true " + "ü" * 52 + "..." in skiff("top", "box")[0]


def test_output_and_contents_are_as_they_are(skiff):
    (skiff.root() / "file").write_text(EVIL, newline="")
    assert both(skiff, "files", "cat", "box", "file")[0] == EVIL.encode()
    assert both(skiff, "exec", "box", "--", "cat", "file")[0] == EVIL.encode()
    assert both(skiff, "exec", "--mode", "wait", "box", "--", "cat", "file")[0] == EVIL.encode()


# Gives itself another name, and another command line than it was started with, as the kernel tells both.
RENAMED = """
import os, sys
open("/proc/self/comm", "w").write(sys.argv[1][:15])
os.execv(sys.executable, [sys.argv[1], "-c", "open('/proc/self/comm', 'w').write(chr(27) + 'c'); import time; time.sleep(1000)"])
"""


# {what it shows: words}; what is not found or does not start has to be told, too.
SHOWN = {
    "commands": ("top", "box"), "processes": ("top", "-p", "box"), "sandboxes": ("ps",), "details": ("describe", "box"),
    "sessions": ("session", "ls", "box"), "files": ("files", "ls", "box"), "a file": ("files", "stat", "box", EVIL),
    "paths": ("files", "glob", "box", "*"), "matches": ("files", "grep", "box", "needle"),
    "no command": ("logs", "box", "no" + EVIL), "no file": ("files", "cat", "box", "no" + EVIL),
    "no program": ("exec", "box", "--", "./no" + EVIL), "an error of its kernel": ("exec", "box", "--", "./" + EVIL),
    "a copy": ("cp", "box:tree", "got"),
}


@pytest.fixture
def evil(skiff):
    """A sandbox in which everything that has a name has a hostile one."""
    (skiff.root() / EVIL).write_text(f"needle {EVIL}\n", newline="")
    (skiff.root() / "tree").mkdir()
    (skiff.root() / "tree" / EVIL).symlink_to("/" + EVIL)
    (skiff.root() / ("d" + EVIL)).mkdir()
    skiff("session", "create", "box", "s", "--cwd", "d" + EVIL)
    skiff("exec", "box", "--", "true", EVIL)
    skiff("exec", "--mode", "background", "--id", "renamed", "box", "--", sys.executable, "-c", RENAMED, EVIL)
    until(lambda: skiff.json("top", "-p", "box")["items"][0]["command_line"].startswith(EVIL), what="its new command line")
    return skiff


def on_a_terminal(skiff, *words):
    """The bytes that a terminal gets, without skiff's own colours, the line that it draws its progress on, and ends of lines."""
    with Terminal(skiff.start, *words, cols=200, env={"TERM": "xterm"}) as terminal:
        terminal.until(lambda: terminal.process.poll() is not None, "its end")
        os.set_blocking(terminal.master, False)
        try:
            while piece := os.read(terminal.master, 65536):
                terminal.output += piece
        except BlockingIOError:
            pass
    return re.sub(rb"\x1b\[[0-9;]*m|\r\x1b\[K|\r+\n", lambda own: b"\n" if b"\n" in own[0] else b"", terminal.output)


@pytest.mark.parametrize("what", SHOWN)
def test_nothing_that_is_shown_on_a_terminal_controls_it(evil, what):
    shown = harmless(on_a_terminal(evil, *SHOWN[what]))
    assert shown
    # No line of it is forged: what follows a line feed in a name stays on the line of that name.
    assert not [line for line in shown.splitlines() if line.startswith(b"box  running")], shown
    if what in ("commands", "processes", "files", "sessions", "no program"):
        assert rb"\x1b]0;OWNED" in shown


@pytest.mark.parametrize("form", ["name", "json", "yaml", "jsonpath={.items[*]}", "jsonpath={.items[*].command_line}"])
def test_no_form_of_what_is_shown_controls_a_terminal(evil, form):
    for words in (("top", "box"), ("top", "-p", "box"), ("session", "ls", "box"), ("files", "ls", "box"),
                  ("files", "grep", "box", "needle"), ("ps",)):
        harmless(on_a_terminal(evil, *words, "-o", form))


def test_a_setup_that_fails_forges_no_line(skiff):
    err = harmless(both(skiff, "up", "other", "-q", "--setup", r"printf 'bad\033[2J\nskiff: all is well\n'; exit 1", status=125)[1])
    assert err.splitlines()[-2:] == [rb"  bad\x1b[2J", b"  skiff: all is well"]


# --- completion ---

def test_a_shell_runs_nothing_of_a_name_that_it_completes(skiff):
    """bash itself, on a terminal: the key is pressed and the line is run."""
    program = shutil.which("bash")
    names = ["$(touch X)", "`touch Y`", "a b;touch Z", "'q'", "-n", "~", "ü*"]
    for at, name in enumerate(names):
        (skiff.root() / str(at)).mkdir()
        (skiff.root() / str(at) / name).write_text(f"content of {at}\n")
    (skiff.root() / "$(touch W)").mkdir()
    (skiff.root() / "$(touch W)/file").write_text("content of all\n")
    path = f"{os.path.dirname(skiff.program)}:{os.environ['PATH']}"

    def start(*words, **options):
        return subprocess.Popen(words, cwd=skiff.work, env=skiff.environment(
            PATH=path, TERM="dumb", PS1="rea''dy> ", INPUTRC="/dev/null", LC_ALL="C.UTF-8", HISTFILE="/dev/null"), **options)

    with Terminal(start, program, "--norc", "--noprofile", "-i") as terminal:
        terminal.type(b"source <(skiff completion bash); PS1='rea''dy> '\n")
        for at in range(len(names)):
            # Only at its prompt the shell takes keys one by one.
            terminal.until(lambda: terminal.output.count(b"ready> ") > at, "the prompt")
            terminal.type(f"skiff files cat box {at}/\t\n".encode())
            terminal.seen(f"content of {at}\r\n".encode())
        terminal.until(lambda: terminal.output.count(b"ready> ") > len(names), "the prompt")
        # An open quote is left alone, and nothing begins with a dollar that the shell would take for its own.
        for typed in (b"skiff files cat box '\t\x15", b"skiff files cat box $\t\x15", b"skiff files cat box \\$\tfi\t\n"):
            terminal.type(typed)
        terminal.seen(b"content of all\r\n")
        terminal.type(b"exit\n")
        terminal.until(lambda: terminal.process.poll() is not None, "its end")
    assert list(skiff.work.iterdir()) == []


# --- a server that lies ---

@pytest.fixture
def lies(skiff):
    """{beginning of a path: answer}: the sandbox's agent is replaced by this."""
    answers = {}

    def say(asked):
        known = [path for path in answers if asked.path.startswith(path)]
        return answers[max(known, key=len)] if known else {}

    with in_place_of_the_agent(skiff, say):
        yield answers


def told(skiff, *words):
    err = skiff(*words, status=125)[1]
    assert err.startswith("skiff: what answers there is not skiffd: ") and "json.exception" not in err, err
    return err


@pytest.mark.parametrize("command", [{"id": 7}, {"argv": "ls"}, {"argv": [1]}, {"exit_code": "0"}, {"output": []}, {"pid": -1}, {"started_at": {}}])
def test_a_malformed_field_of_a_command_is_reported(skiff, lies, command):
    lies["/v1/sessions?"] = {"items": [{"id": "default"}]}
    lies["/v1/sessions/default/commands"] = {"items": [command]}
    assert f'"{next(iter(command))}" of a command' in told(skiff, "top", "box")


def test_every_command_reports_malformed_answers(skiff, lies):
    lies["/v1/sessions/default/commands"] = {"id": [], "cause": "exited", "exit_code": 0, "stdout": 7, "stdin": 1, "output": 1, "truncated": "no"}
    told(skiff, "exec", "--mode", "wait", "box", "--", "true")
    told(skiff, "attach", "box", "c")
    told(skiff, "logs", "box", "c")
    assert skiff("exec", "--mode", "background", "--id", "mine", "box", "--", "true")[0] == "mine\n"
    lies["/v1/sessions?"] = {"items": [{"id": {}}]}
    told(skiff, "session", "ls", "box")
    lies["/v1/files:list"] = {"items": [{"path": "x", "size": "big"}]}
    told(skiff, "files", "ls", "box")
    lies["/v1/files:stat"] = {"items": [{"type": 7}]}
    told(skiff, "files", "stat", "box", "x")
    told(skiff, "cp", "box:x", ".")
    lies["/v1/files:grep"] = {"path": 7}
    told(skiff, "files", "grep", "box", "x")
    lies["/v1/version"] = {"version": []}
    told(skiff, "version", "box")
    assert list(skiff.work.iterdir()) == []


def test_only_names_that_are_one_word_on_one_line_are_completed(skiff, lies):
    names = ["fine", "a b", "two\nlines", "tab\tbed", "\033[2J", ":files", "x\u202ey", "-o", 7, None]
    lies["/v1/files:list"] = {"items": [{"name": name, "type": "file"} for name in names]}
    assert skiff("__complete", "--", "files", "cat", "box", "")[0] == "fine\na b\n./-o\n"
    assert skiff("__complete", "--", "cp", "box:")[0] == "box:fine\nbox:a b\nbox::files\nbox:-o\n"
    lies["/v1/commands"] = {"items": [{"id": "c1"}, {"id": "--url=http://evil"}, {"id": "a b"}, {"id": "$(x)"}]}
    assert skiff("__complete", "--", "logs", "box", "")[0] == "c1\n"
    lies["/v1/files:list"] = {"items": "none"}
    assert skiff("__complete", "--", "files", "cat", "box", "") == ("", "")


# {what a `skiff serve` answers with: words}
LIES_OF_A_SERVER = [("extend", "box"), ("token", "box"), ("describe", "box"), ("ps",), ("ps", "-o", "wide"), ("up", "box", "--get-or-create"), ("start", "box"),
                    ("stop", "box"), ("token", "box", "-o", "name"), ("session", "create", "box"), ("kill", "box", "c"), ("version", "box")]


@pytest.mark.parametrize("words", LIES_OF_A_SERVER, ids=" ".join)
def test_no_line_of_a_hostile_server_is_taken_for_one_of_ours(skiff, words):
    sandbox = {"name": "box", "id": "0" * 32, "driver": "local", "state": "running", "created_at": "2026-01-01T00:00:00Z", "owner": EVIL,
               "address": f"http://x{EVIL}", "image": EVIL, "expires_at": f"2026{EVIL}", "reason": EVIL, "labels": {}, "details": {"x": EVIL}}

    def say(asked):
        if asked.path.split("?")[0] == "/v1/sandboxes" and asked.method == "GET":
            return {"items": [sandbox]}
        return {**sandbox, "token": f"t{EVIL}", "url": server.url, "new": True, "sandbox": sandbox, "version": EVIL,
                "state": "ended" if "commands" in asked.path else "running", "id": EVIL if "sessions" in asked.path else sandbox["id"]}

    with speaking(say) as server:
        process = skiff.start(*words, env={"SKIFF_DRIVER": "", "SKIFF_URL": server.url, "SKIFF_API_KEY": "e2b_" + "0" * 40})
        out, err = process.communicate(timeout=60)
    for text in (out, err):
        harmless(text)
        assert not [line for line in text.splitlines() if line.startswith(b"box  running")], (words, text)


# --- a stdout that another program has made non-blocking ---

@pytest.mark.parametrize("words", [("files", "cat", "box", "noise"), ("exec", "box", "--", "cat", "noise"),
                                   ("exec", "--mode", "wait", "box", "--", "head", "-c", "200000", "noise")])
def test_a_stdout_that_is_full_is_waited_for(skiff, words):
    noise = os.urandom(1_000_000)
    (skiff.root() / "noise").write_bytes(noise)
    read, write = os.pipe()
    os.set_blocking(write, False)
    process = skiff.start(*words, stdout=write)
    os.close(write)
    with open(read, "rb", buffering=0) as stdout:
        got = b"".join(iter(lambda: stdout.read(5_000), b""))
    assert process.wait(60) == 0, process.stderr.read()
    process.stderr.close()
    assert got == (noise[:200_000] if "wait" in words else noise)
