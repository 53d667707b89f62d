"""A sandbox by the Python SDK. Variables say whom it asks: an agent, a server, or the program skiff. The tests also run this file
without `async` and `await`, with the synchronous faces."""

import contextlib
import os
import pathlib
import tempfile

import cases
from skiff_sandbox import AsyncSandbox, Exit, Gap, Output, SkiffError


@contextlib.asynccontextmanager
async def sandbox():
    async with await AsyncSandbox.create(env={"WHO": "me"}) as box:
        yield box
        found = box.id
    try:
        async with await AsyncSandbox.connect(found):
            print(f"{found} is still there", flush=True)
            os._exit(1)
    except SkiffError as error:
        assert error.code in ("session_not_found", "sandbox_not_found"), error


@contextlib.contextmanager
def refused(code):
    try:
        yield
    except SkiffError as error:
        assert error.code == code, error
    else:
        raise AssertionError(f"no {code}")


async def case_run(box):
    result = await box.run("echo out; echo err >&2; exit 3")
    assert (result.stdout, result.stderr, result.exit_code, result.ok) == ("out\n", "err\n", 3, False)
    assert (await box.run(["printf", "%s", "a b  $HOME"], check=True)).stdout == "a b  $HOME"
    assert (await box.run("echo $WHO $MORE; pwd", env={"MORE": "x"})).stdout.startswith("me x\n/")
    assert (await box.run("cat; wc -c", stdin="text")).stdout == "text0\n"
    assert (await box.run("cat", stdin=bytes(range(256)))).stdout_bytes == bytes(range(256))
    await box.files.mkdir("deep/er")
    assert (await box.run("pwd", cwd="deep/er")).stdout.endswith("/deep/er\n")
    assert (await box.run("echo $S", secret_env={"S": "secret"})).stdout == "secret\n"


async def case_egress(box):
    """A box has it. An agent, and the driver `local` of the other hosts, do not."""
    if "SKIFF_URL" in os.environ or os.environ.get("SKIFF_DRIVER") == "local":
        with refused("not_supported" if "SKIFF_URL" in os.environ else "invalid_field"):
            await AsyncSandbox.create(egress=["pypi.org"])
        return
    async with await AsyncSandbox.create(egress=["pypi.org"]) as one:
        assert (await one.run("echo $HTTPS_PROXY")).stdout.startswith("http://127.0.0.1:")
    with refused("not_supported"):
        await AsyncSandbox.create(egress=[])


async def case_check(box):
    try:
        await box.run("echo no >&2; exit 4", check=True)
    except SkiffError as error:
        assert (error.code, error.result.exit_code, error.result.stderr) == ("command_failed", 4, "no\n")
        assert "exited with 4: no" in str(error)
    else:
        raise AssertionError("nothing was raised")
    assert (await box.run("kill -9 $$")).exit.signal == "SIGKILL"
    missing = await box.run(["/nope"])
    assert (missing.exit.cause, missing.exit_code, missing.ok) == ("spawn_failed", 127, False), missing


async def case_a_timeout_ends_the_tree(box):
    result = await box.run("echo first; sleep 5431 & wait", timeout="300ms")
    assert (result.stdout, result.exit.cause) == ("first\n", "timeout"), result
    assert (await box.run("pgrep -f '^sleep 5431$'")).stdout == ""


async def case_output_of_any_kind(box):
    assert (await box.run(r"printf 'a\342\200\250b\302\205c\034d\r\ne'")).stdout == "a\u2028b\x85c\x1cd\r\ne"
    odd = await box.run(r"printf '\303'; sleep 0.3; printf '\251 \377'")
    assert (odd.stdout, odd.stdout_bytes) == ("\u00e9 \ufffd", b"\xc3\xa9 \xff")
    much = await box.run("head -c 12000000 /dev/zero; head -c 1000 /dev/zero >&2")
    assert (len(much.stdout_bytes), len(much.stderr_bytes), much.truncated) == (12_000_000, 1000, False)
    cut = await box.run("seq 1000000", max_output=20)
    assert (cut.stdout, cut.truncated) == ("1\n2\n3\n4\n5\n9\n1000000\n"[:10] + "9\n1000000\n"[-10:], True), cut.stdout
    assert (await box.run("echo 1; echo 2 >&2; echo 3", merge_stderr=True)).stdout == "1\n2\n3\n"
    pieces = []
    await box.run("echo one; echo two >&2", on_output=pieces.append)
    assert sorted((one.stream, one.text) for one in pieces) == [("stderr", "two\n"), ("stdout", "one\n")]


async def case_a_handle(box):
    job = await box.start("echo one; read x; echo got $x; exec sleep 100", id="train", stdin=True, env={"A": "b"})
    seen = ""
    async for event in job.events():
        assert isinstance(event, Output)
        seen += event.text
        if seen == "one\n":
            await job.write("yes\n")
        if seen.endswith("got yes\n"):
            break
    with refused("command_running"):
        job.exit
    same = await box.start("echo one; read x; echo got $x; exec sleep 100", id="train", stdin=True, env={"A": "b"})
    rest = box.command("train")
    await same.kill()
    assert same.exit.kill_level == "tree"
    events = [event async for event in rest.events(offset=4)]
    assert [event.text for event in events] == ["got yes\n", ""] and isinstance(events[-1], Exit) and rest.exit is events[-1]
    with refused("command_conflict"):
        await box.start("true", id="train")
    with refused("command_not_found"):
        await box.command("nobody").wait()
    assert "train" in [one.id for one in await box.commands(state="ended")]
    await rest.remove()
    with refused("command_forgotten"):
        await rest.details()


async def case_input(box):
    job = await box.start("cat; echo end", stdin=True)
    await job.write("text ")
    await job.write(b"\xff" * 300_000)
    await job.close_stdin()
    await job.close_stdin()
    assert (await job.wait()).exit_code == 0
    data = b"".join([event.data async for event in job.events() if isinstance(event, Output)])
    assert data == b"text " + b"\xff" * 300_000 + b"end\n"
    with refused("stdin_closed"):
        await job.write("more")
    stuck = await box.start("exec sleep 100", stdin=True)
    with refused("timeout"):
        await stuck.write(b"x" * 20_000_000, timeout=1)
    await stuck.kill(grace=0)


async def case_kill(box):
    for grace in (0, 1.0):
        for line in ("exec sleep 5432", "(trap '' TERM; sleep 5432) & exec sleep 5432", "trap '' TERM; sleep 5432; sleep 5432"):
            job = await box.start(line)
            exit = await job.kill(grace=grace)
            assert exit.kill_level == "tree" and exit.signal in ("SIGTERM", "SIGKILL"), exit
            assert (await box.run("pgrep -f '^sleep 5432$'")).stdout == ""
            assert (await job.kill()).signal == exit.signal
    job = await box.start("trap 'exit 7' INT; echo ready; while :; do sleep 0.05; done")
    await box.wait_for(output=(job.id, "ready"))
    await job.signal("INT", target="leader")
    assert (await job.wait(timeout=60)).exit_code == 7
    with refused("timeout"):
        await (await box.start("exec sleep 100", timeout="30s")).wait(timeout=0.2)


async def case_the_end_comes_once_though_others_have_seen_it(box):
    job, ends = await box.start("true"), []
    async for event in job.events(timeout="1m"):
        if isinstance(event, Exit):
            ends.append(event)
            assert (await job.kill(grace="0s")).kill_level == "tree"
    assert len(ends) == 1
    assert [event.kill_level async for event in job.events()] == ["tree"] and job.exit.kill_level == "tree"
    with refused("invalid_field"):
        await job.wait(timeout="soon")


async def case_output_that_is_not_kept_is_a_gap(box):
    job = await box.start("head -c 30000000 /dev/zero")
    await job.wait()
    events = [event async for event in job.events()]
    assert [event for event in events if isinstance(event, Gap)]
    assert sum(event.next - event.offset for event in events if not isinstance(event, Exit)) == 30_000_000


async def case_files(box):
    for name in [*cases.ODD_NAMES, "line\u2028end.txt"]:
        await box.files.write(name, f"{name}\r\n")
        assert await box.files.read_text(name) == f"{name}\r\n" and await box.files.exists(name)
        await box.files.remove(name)
        assert not await box.files.exists(name)
    data = bytes(range(256)) * 20_000
    await box.files.write("b.bin", data)
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(256)
        await box.files.write("b2.bin", file)
    await box.files.write("b3.bin", (data[at:at + 1000] for at in range(0, len(data), 1000)), mode="0755")
    assert await box.files.read("b.bin") == data == await box.files.read("b3.bin")
    assert await box.files.read("b2.bin") == data[256:]
    assert b"".join([piece async for piece in box.files.read_pieces("b.bin", offset=len(data) - 5)]) == data[-5:]
    assert [piece async for piece in box.files.read_pieces("b.bin", offset=len(data))] == []
    await box.files.write("lines", "".join(f"line {n}\n" for n in range(1, 100)))
    assert await box.files.read_lines("lines", 3, 4) == (b"line 3\nline 4\n", False)
    assert await box.files.read_lines("lines", 99) == (b"line 99\n", False)
    assert await box.files.read_lines("lines", max_bytes=5) == (b"line ", True)
    assert (await box.files.stat("b3.bin")).mode == "0755"
    assert (await box.files.write("empty", b"")).size == 0 and await box.files.read("empty") == b""
    with refused("path_not_found"):
        await box.files.read("nope")
    with refused("is_a_directory"):
        await box.files.read("deep")
    with refused("path_not_found"):
        await box.files.remove("nope")


async def case_changes_of_files(box):
    await box.files.write("e.txt", "one two\n")
    assert "+one 2" in (await box.files.edit("e.txt", "two", "2")).diff
    with refused("edit_not_found"):
        await box.files.edit("e.txt", "two", "2")
    assert (await box.files.append("e.txt", "more", offset=6)).size == 10
    with refused("append_offset_mismatch"):
        await box.files.append("e.txt", "more", offset=6)
    await box.files.copy("e.txt", "f.txt")
    with refused("already_exists"):
        await box.files.move("e.txt", "f.txt")
    await box.files.move("e.txt", "f.txt", overwrite=True)
    assert (await box.files.chmod("f.txt", "0600")).mode == "0600"
    await box.files.mkdir("many")
    await box.run("for n in $(seq 1500); do : > many/$n; done", check=True)
    assert len(await box.files.list("many")) == 1500
    assert {one.path for one in await box.files.list("many", pattern="12?")} == {f"many/{n}" for n in range(120, 130)}
    assert sorted(one.name for one in await box.files.list("many", pattern="12?")) == [str(n) for n in range(120, 130)]
    await box.files.remove("many", recursive=True)


async def case_searches(box):
    await box.files.write("src/a.py", "import os\nprint('\u2028')\n")
    await box.files.write("src/.hidden", "import os\n")
    found = await box.files.grep("^import", path="src")
    assert [(one.path, one.line_number, one.column, one.text) for one in found] == [("src/a.py", 1, 1, "import os")]
    assert not found.truncated and found.unreadable == 0
    assert len(await box.files.grep("import os", path="src", literal=True, hidden=True)) == 2
    (second,) = await box.files.grep("print", path="src", context=1)
    assert second.before == ("import os",) and second.text == "print('\u2028')"
    assert [one.path for one in await box.files.glob("src/*.py")] == ["src/a.py"]
    assert (await box.files.glob("src/**", hidden=True, limit=1)).truncated
    with refused("invalid_field"):
        await box.files.grep("(")


async def case_trees(box):
    with tempfile.TemporaryDirectory() as local:
        here = pathlib.Path(local)
        (here / "in/sub").mkdir(parents=True)
        (here / "in/sub/x.sh").write_bytes(b"#!/bin/sh\n")
        (here / "in/sub/x.sh").chmod(0o755)
        (here / "in/link").symlink_to("sub/x.sh")
        await box.files.upload(here / "in", "tree")
        await box.files.upload(here / "in/sub/x.sh", "tree/alone")
        assert (await box.files.stat("tree/link")).type == "symlink"
        await box.files.download("tree", here / "out")
        assert (here / "out/link").read_bytes() == b"#!/bin/sh\n" == (here / "out/alone/x.sh").read_bytes()
        assert os.access(here / "out/sub/x.sh", os.X_OK)
        await box.run("ln -s /etc tree/outside", check=True)
        try:
            await box.files.download("tree", here / "out2")
        except Exception as error:
            assert "outside" in str(error), error
        else:
            assert not (here / "out2/outside").exists()


async def case_watch(box):
    await box.files.mkdir("watched")
    async with box.files.watch("watched", recursive=True) as changes:
        await box.files.write("watched/new.txt", "x")
        async for change in changes:
            assert (change.type, change.path) == ("created", "watched/new.txt"), change
            break
    assert [change async for change in box.files.watch("watched", timeout=0.3)] == []
    with refused("path_not_found"):
        [change async for change in box.files.watch("nope", timeout=0.3)]


async def case_terminal(box):
    async with await box.terminal(cols=120, rows=41) as tty:
        await tty.write("echo $((40+2)); stty size\n")
        await tty.read_until("42\r\n")
        await tty.read_until("41 120")
        await tty.resize(cols=90, rows=30)
        await tty.write("stty size\n")
        await tty.read_until("30 90")
        with refused("timeout"):
            await tty.read_until("never", timeout=0.3)
        await tty.write("exit 3\n")
        with refused("command_ended"):
            await tty.read_until("never")
    assert tty.exit.exit_code == 3


async def case_waits(box):
    server = await box.start("exec python3 -u -m http.server 0 --bind 127.0.0.1 --directory deep")
    port = (await box.wait_for(output=(server.id, r"port \d+"))).split()[1]
    await box.wait_for(port=int(port), timeout="20s")
    assert int(port) in [one.port for one in await box.ports()]
    answer = await box.request(int(port), "GET", "/er/", params={"a": "b c"})
    assert answer.status_code == 200 and "Directory listing" in answer.text
    assert (await box.request(int(port), "GET", "/nope")).status_code == 404
    await server.kill(grace=0)
    with refused("port_not_listening"):
        await box.request(int(port), "GET", "/")
    with refused("timeout"):
        await box.wait_for(path="nowhere", timeout=0.2)
    ended = await box.start("echo no")
    with refused("command_ended"):
        await box.wait_for(output=(ended.id, "yes"))


async def case_sessions(box):
    other = await box.session("other", root="other", env={"B": "c"})
    assert (await other.run("echo $B; pwd")).stdout.endswith("/other\n") and other.id == "other"
    await other.end()
    with refused("session_not_found"):
        await other.run("true")


async def case_a_second_object(box):
    async with await AsyncSandbox.connect(box.id) as same:
        assert (await same.run("echo $WHO")).stdout == "me\n"
    for refuses in (lambda: same.run("true"), lambda: same.request(80, "GET"), lambda: same.files.list()):
        with refused("closed"):
            await refuses()
    assert (await box.run("echo still")).stdout == "still\n"
    async with await AsyncSandbox.create(name="named") as named:
        with refused("session_conflict" if "SKIFF_TOKEN" in os.environ else "sandbox_conflict"):
            await AsyncSandbox.create(name="named")
        async with await AsyncSandbox.create(name="named", get_or_create=True) as same:
            assert (await same.run("echo here")).stdout == "here\n"
        assert (await named.run("echo still")).stdout == "still\n"


async def case_changes_of_the_list(box):
    if not os.environ.get("SKIFF_API_KEY"):
        with refused("not_supported"):
            AsyncSandbox.watch()
        return
    async with AsyncSandbox.watch() as events:
        first = await events.__anext__()
        assert first.type == "snapshot" and {one.id: one.state for one in first.sandboxes}[box.id] == "running", first
        async with await AsyncSandbox.create(labels={"of": "me"}) as other:
            async for event in events:
                if event.type == "added" and event.sandboxes[0].id == other.id:
                    break
    async with AsyncSandbox.watch(cursor=event.cursor) as events:
        async for event in events:
            assert event.type in ("changed", "removed"), event
            if event.type == "removed" and event.sandboxes[0].id == other.id:
                break
        assert event.sandboxes[0].labels == {"of": "me"}
    async with AsyncSandbox.watch(cursor="another") as events:
        assert [(await events.__anext__()).type, (await events.__anext__()).type] == ["gap", "snapshot"]


async def case_what_an_agent_or_a_server_lacks(box):
    if "SKIFF_TOKEN" in os.environ:
        with refused("not_supported"):
            await AsyncSandbox.create(template="python")
        with refused("not_supported"):
            await AsyncSandbox.create(flags=["--memory", "1Gi"])
    with refused("invalid_field"):
        await box.run("true", timeout="soon")
    with refused("invalid_request"):
        await box.wait_for(port=1, path="x")
    assert (await box.version()).name == "skiffd"


if __name__ == "__main__":
    cases.main(sandbox)
