"""Every call of the package's synchronous client that goes to a sandbox, in cases; prints how each went, a line of JSON a case."""

import inspect
import io
import json
import os
import threading
import time
import traceback
import urllib.error
import urllib.parse
import urllib.request

from e2b import (CommandExitException, FilesystemEventType, FileType, InvalidArgumentException, NotFoundException, PtySize, Sandbox,
                 SandboxException, TimeoutException)

ROOT = os.environ["ROOT"]
CONTROL = os.environ["HOW"] == "control"


def raises(kind, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


def until(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


# --- commands ---


def run(sandbox):
    done = sandbox.commands.run("echo out; echo err >&2")
    assert (done.stdout, done.stderr, done.exit_code, done.error or None) == ("out\n", "err\n", 0, None)


def run_with_callbacks(sandbox):
    out, err = [], []
    sandbox.commands.run("echo out; echo err >&2", on_stdout=out.append, on_stderr=err.append)
    assert ("".join(out), "".join(err)) == ("out\n", "err\n")


def run_that_fails(sandbox):
    error = raises(CommandExitException, sandbox.commands.run, "echo out; echo err >&2; exit 7")
    assert (error.exit_code, error.stdout, error.stderr, error.error) == (7, "out\n", "err\n", "exit status 7")


def run_with_variables_and_directory(sandbox):
    sandbox.files.make_dir("somewhere")
    done = sandbox.commands.run("echo $A; pwd -P", envs={"A": "1"}, cwd=f"{ROOT}/somewhere")
    assert done.stdout == f"1\n{os.path.realpath(ROOT)}/somewhere\n"
    raises((InvalidArgumentException, SandboxException), sandbox.commands.run, "true", cwd="/nowhere")


def run_that_takes_too_long(sandbox):
    raises(TimeoutException, sandbox.commands.run, "sleep 301", timeout=1)
    until(lambda: not [one for one in sandbox.commands.list() if one.args[-1] == "sleep 301"])


def much_output(sandbox):
    done = sandbox.commands.run("seq 200000; printf '\\303\\274'")
    assert done.stdout == "".join(f"{i}\n" for i in range(1, 200_001)) + "ü"


def background(sandbox):
    handle = sandbox.commands.run("echo begun; sleep 0.2; echo ended; exit 3", background=True)
    error = raises(CommandExitException, handle.wait)
    assert (error.exit_code, error.stdout) == (3, "begun\nended\n")


def kill(sandbox):
    handle = sandbox.commands.run("sleep 302 & sleep 303", background=True)
    assert handle.pid in [one.pid for one in sandbox.commands.list()]
    assert handle.kill() is True
    error = raises(CommandExitException, handle.wait)
    assert (error.exit_code, error.error) == (-1, "signal: killed")
    assert handle.kill() is False and sandbox.commands.kill(4_000_000) is False
    # All of its tree.
    left = sandbox.commands.run("cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c 'sleep 30[23] ' || true").stdout
    assert left == "0\n", left


def stdin(sandbox):
    handle = sandbox.commands.run("read a; echo got $a", background=True, stdin=True)
    sandbox.commands.send_stdin(handle.pid, "it\n")
    assert handle.wait().stdout == "got it\n"
    raises((NotFoundException, SandboxException), sandbox.commands.send_stdin, 4_000_000, "x")


def end_of_stdin(sandbox):
    if not hasattr(sandbox.commands, "close_stdin"):
        return
    handle = sandbox.commands.run("cat; echo end", background=True, stdin=True)
    sandbox.commands.send_stdin(handle.pid, "a")
    sandbox.commands.close_stdin(handle.pid)
    assert handle.wait().stdout == "aend\n"


def a_stream_of_stdin(sandbox):
    if not hasattr(sandbox.commands, "stream_input"):
        return
    handle = sandbox.commands.run("head -n 200 | tail -n 1", background=True, stdin=True)
    sandbox.commands.stream_input(handle.pid, (f"{i}\n".encode() for i in range(1, 201)))
    assert handle.wait().stdout == "200\n"


def connect(sandbox):
    handle = sandbox.commands.run("echo first; read a; echo $a", background=True, stdin=True)
    handle.disconnect()
    again = sandbox.commands.connect(handle.pid)
    sandbox.commands.send_stdin(handle.pid, "second\n")
    assert again.wait().stdout == "first\nsecond\n"
    # Also when it has ended.
    assert sandbox.commands.connect(handle.pid).wait().stdout == "first\nsecond\n"
    raises(NotFoundException, sandbox.commands.connect, 4_000_000)


def a_command_outlives_its_connection(sandbox):
    handle = sandbox.commands.run("echo up; read a; echo $a", background=True, stdin=True, timeout=0)
    handle.disconnect()
    again = sandbox.commands.connect(handle.pid)
    sandbox.commands.send_stdin(handle.pid, "still here\n")
    assert again.wait().stdout == "up\nstill here\n"


def commands_at_once(sandbox):
    failures = []

    def one(number):
        try:
            assert sandbox.commands.run(f"echo {number}").stdout == f"{number}\n"
        except Exception:
            failures.append(traceback.format_exc())
    threads = [threading.Thread(target=one, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]


def users(sandbox):
    own = sandbox.commands.run("id -un", user=sandbox.commands.run("id -un").stdout.strip())
    assert own.exit_code == 0
    raises(Exception, sandbox.commands.run, "id", user="no-such-user")
    if CONTROL and os.geteuid() == 0:
        assert sandbox.commands.run("id -un", user="nobody", cwd="/").stdout == "nobody\n"
        sandbox.files.write(f"{ROOT}/of/nobody", "x", user="nobody")
        assert sandbox.files.get_info(f"{ROOT}/of/nobody").owner == "nobody"


# --- terminals ---


def terminal(sandbox):
    out = []
    handle = sandbox.pty.create(PtySize(rows=20, cols=70))
    sandbox.pty.send_stdin(handle.pid, b"stty size\n")
    sandbox.pty.resize(handle.pid, PtySize(rows=30, cols=90))
    sandbox.pty.send_stdin(handle.pid, b"stty size; exit 0\n")
    handle.wait(on_pty=lambda data: out.append(data))
    assert b"30 90" in b"".join(out), out


def terminal_that_is_killed(sandbox):
    handle = sandbox.pty.create(PtySize(rows=20, cols=70), timeout=0)
    assert sandbox.pty.kill(handle.pid) is True
    raises(CommandExitException, handle.wait)
    assert sandbox.pty.kill(handle.pid) is False


# --- files ---


def write_and_read(sandbox):
    info = sandbox.files.write("a.txt", "text ü")
    assert (info.name, info.path) == ("a.txt", f"{ROOT}/a.txt")
    assert sandbox.files.read("a.txt") == "text ü"
    assert sandbox.files.read(f"{ROOT}/a.txt") == "text ü"
    data = bytes(range(256)) * 5000
    sandbox.files.write("deep/er/b.bin", data)
    assert bytes(sandbox.files.read("deep/er/b.bin", format="bytes")) == data
    assert b"".join(sandbox.files.read("deep/er/b.bin", format="stream")) == data
    sandbox.files.write("c.bin", io.BytesIO(data))
    assert bytes(sandbox.files.read("c.bin", format="bytes")) == data
    sandbox.files.write("empty", "")
    assert sandbox.files.read("empty") == ""


def write_in_every_way(sandbox):
    parameters = inspect.signature(sandbox.files.write).parameters
    if "gzip" in parameters:
        sandbox.files.write("zipped", "z" * 100_000, gzip=True)
        assert sandbox.files.read("zipped") == "z" * 100_000
        assert sandbox.files.read("zipped", gzip=True) == "z" * 100_000
    if "metadata" in parameters:
        sandbox.files.write("told", "x", metadata={"author": "me"})
        assert sandbox.files.get_info("told").metadata == {"author": "me"}


def write_many(sandbox):
    names = ["m 1", "m/ü", 'm"3', "m%204"]
    written = sandbox.files.write_files([{"path": name, "data": name} for name in names])
    assert [one.path for one in written] == [f"{ROOT}/{name}" for name in names]
    assert [sandbox.files.read(name) for name in names] == names


def lists(sandbox):
    sandbox.files.make_dir("l/sub")
    sandbox.files.write("l/f", "12345")
    entries = sandbox.files.list("l")
    assert [(one.name, one.type, one.path) for one in entries] == [("f", FileType.FILE, f"{ROOT}/l/f"), ("sub", FileType.DIR, f"{ROOT}/l/sub")]
    assert entries[0].size == 5
    sandbox.files.write("l/sub/g", "")
    assert [one.path for one in sandbox.files.list("l", depth=2)] == [f"{ROOT}/l/{name}" for name in ("f", "sub", "sub/g")]
    raises(NotFoundException, sandbox.files.list, "none")
    raises(InvalidArgumentException, sandbox.files.list, "l/f")


def what_is_there(sandbox):
    assert sandbox.files.exists("none") is False
    assert sandbox.files.make_dir("i/j") is True and sandbox.files.make_dir("i/j") is False
    sandbox.files.write("i/f", "123")
    assert sandbox.files.exists("i/f") is True
    info = sandbox.files.get_info("i/f")
    assert (info.name, info.type, info.size, info.mode, info.permissions) == ("f", FileType.FILE, 3, 0o644, "-rw-r--r--")
    assert sandbox.files.get_info("i").type == FileType.DIR and info.modified_time.year >= 2024
    sandbox.commands.run("ln -s f i/link", cwd=ROOT)
    assert sandbox.files.get_info("i/link").symlink_target == f"{os.path.realpath(ROOT)}/i/f"
    raises(NotFoundException, sandbox.files.get_info, "none")


def move_and_remove(sandbox):
    sandbox.files.write("r/old", "x")
    assert sandbox.files.rename("r/old", "r/new").path == f"{ROOT}/r/new"
    assert sandbox.files.read("r/new") == "x" and not sandbox.files.exists("r/old")
    raises(NotFoundException, sandbox.files.rename, "none", "x")
    sandbox.files.remove("r")
    assert not sandbox.files.exists("r")
    sandbox.files.remove("r")


def errors_of_files(sandbox):
    raises(NotFoundException, sandbox.files.read, "none")
    sandbox.files.make_dir("e")
    raises(InvalidArgumentException, sandbox.files.read, "e")
    raises(InvalidArgumentException, sandbox.files.write, "e", "x")
    raises(SandboxException, sandbox.files.read, "/etc/passwd")


def watch(sandbox):
    sandbox.files.make_dir("w")
    handle = sandbox.files.watch_dir("w", recursive=True)
    found = []

    def has(kind, name):
        found.extend((one.type, one.name) for one in handle.get_new_events())
        return (kind, name) in found
    sandbox.files.write("w/f", "1")
    until(lambda: has(FilesystemEventType.CREATE, "f"))
    until(lambda: has(FilesystemEventType.WRITE, "f"))
    sandbox.files.rename("w/f", "w/g")
    until(lambda: has(FilesystemEventType.RENAME, "f"))
    sandbox.files.remove("w/g")
    until(lambda: has(FilesystemEventType.REMOVE, "g"))
    handle.stop()
    sandbox.files.remove("w")
    raises(NotFoundException, sandbox.files.watch_dir, "none")


def signed_urls(sandbox):
    if not CONTROL:
        return

    def signed(url):
        return f"{os.environ['DOOR']}/files?{urllib.parse.urlsplit(url).query}"
    sandbox.files.write("s", "signed")
    url = signed(sandbox.download_url("s"))
    assert urllib.request.urlopen(url).read() == b"signed"
    late = signed(sandbox.download_url("s", use_signature_expiration=1000))
    assert urllib.request.urlopen(late).read() == b"signed"
    error = raises(urllib.error.HTTPError, urllib.request.urlopen, url.replace("path=s", "path=a.txt"))
    assert error.code == 401
    error.close()


def is_running(sandbox):
    assert sandbox.is_running() is True


def git(sandbox):
    if not hasattr(sandbox, "git"):
        return
    sandbox.git.init(f"{ROOT}/repository")
    assert sandbox.files.exists("repository/.git")


CASES = [run, run_with_callbacks, run_that_fails, run_with_variables_and_directory, run_that_takes_too_long, much_output, background, kill,
         stdin, end_of_stdin, a_stream_of_stdin, connect, a_command_outlives_its_connection, commands_at_once, users, terminal,
         terminal_that_is_killed, write_and_read, write_in_every_way, write_many, lists, what_is_there, move_and_remove, errors_of_files,
         watch, signed_urls, is_running, git]


def main():
    # Older versions read E2B_DEBUG too late.
    sandbox = Sandbox.create(**({} if CONTROL else {"debug": True}))
    for case in CASES:
        failure = None
        try:
            case(sandbox)
        except Exception:
            failure = traceback.format_exc()
        print("\n" + json.dumps({"case": case.__name__, "failure": failure}), flush=True)
    if CONTROL:
        assert sandbox.kill()


main()
