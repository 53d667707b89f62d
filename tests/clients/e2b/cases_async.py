"""The package's asynchronous client; prints how each case went, a line of JSON a case."""

import asyncio
import json
import os
import traceback

from e2b import (AsyncSandbox, CommandExitException, FilesystemEventType, InvalidArgumentException, NotFoundException, PtySize,
                 TimeoutException)

ROOT = os.environ["ROOT"]


async def raises(kind, call):
    try:
        await call
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


async def until(condition):
    async with asyncio.timeout(20):
        while not await condition():
            await asyncio.sleep(0.02)


async def run(sandbox):
    out = []
    done = await sandbox.commands.run("echo out; echo err >&2", on_stdout=out.append)
    assert (done.stdout, done.stderr, done.exit_code, out) == ("out\n", "err\n", 0, ["out\n"])
    error = await raises(CommandExitException, sandbox.commands.run("exit 7"))
    assert error.exit_code == 7


async def run_that_takes_too_long(sandbox):
    await raises(TimeoutException, sandbox.commands.run("sleep 301", timeout=1))

    async def has_ended():
        return not [one for one in await sandbox.commands.list() if one.args[-1] == "sleep 301"]
    await until(has_ended)


async def background(sandbox):
    handle = await sandbox.commands.run("read a; echo got $a", background=True, stdin=True)
    await sandbox.commands.send_stdin(handle.pid, "it\n")
    assert (await handle.wait()).stdout == "got it\n"
    handle = await sandbox.commands.run("sleep 302", background=True)
    assert await handle.kill() is True
    assert (await raises(CommandExitException, handle.wait())).error == "signal: killed"
    assert await sandbox.commands.kill(handle.pid) is False


async def connect(sandbox):
    handle = await sandbox.commands.run("echo first; read a; echo $a", background=True, stdin=True)
    await handle.disconnect()
    again = await sandbox.commands.connect(handle.pid)
    await sandbox.commands.send_stdin(handle.pid, "second\n")
    assert (await again.wait()).stdout == "first\nsecond\n"
    await raises(NotFoundException, sandbox.commands.connect(4_000_000))


async def a_stream_of_stdin(sandbox):
    if not hasattr(sandbox.commands, "stream_input"):
        return
    handle = await sandbox.commands.run("head -n 200 | tail -n 1", background=True, stdin=True)
    async with sandbox.commands.stream_input(handle.pid) as stream:
        for i in range(1, 201):
            await stream.send(f"{i}\n".encode())
    assert (await handle.wait()).stdout == "200\n"


async def commands_at_once(sandbox):
    done = await asyncio.gather(*(sandbox.commands.run(f"echo {number}") for number in range(50)))
    assert [one.stdout for one in done] == [f"{number}\n" for number in range(50)]


async def terminal(sandbox):
    out = []
    handle = await sandbox.pty.create(PtySize(rows=20, cols=70), on_data=out.append)
    await sandbox.pty.resize(handle.pid, PtySize(rows=30, cols=90))
    await sandbox.pty.send_stdin(handle.pid, b"stty size; exit 0\n")
    await handle.wait()
    assert b"30 90" in b"".join(out), out


async def files(sandbox):
    data = bytes(range(256)) * 5000
    await sandbox.files.write("deep/er/b.bin", data)
    assert bytes(await sandbox.files.read("deep/er/b.bin", format="bytes")) == data
    pieces = [piece async for piece in await sandbox.files.read("deep/er/b.bin", format="stream")]
    assert b"".join(pieces) == data
    await sandbox.files.write_files([{"path": "one", "data": "1"}, {"path": "two", "data": b"2"}])
    assert [await sandbox.files.read(name) for name in ("one", "two")] == ["1", "2"]
    assert sorted(one.name for one in await sandbox.files.list(ROOT)) == ["deep", "one", "two"]
    assert await sandbox.files.exists("one") and not await sandbox.files.exists("none")
    assert (await sandbox.files.rename("one", "three")).path == f"{ROOT}/three"
    assert (await sandbox.files.get_info("three")).size == 1
    await sandbox.files.remove("three")
    assert await sandbox.files.make_dir("d") is True and await sandbox.files.make_dir("d") is False


async def errors_of_files(sandbox):
    await raises(NotFoundException, sandbox.files.read("none"))
    await raises(NotFoundException, sandbox.files.list("none"))
    await raises(InvalidArgumentException, sandbox.files.read(ROOT))


async def watch(sandbox):
    await sandbox.files.make_dir("w")
    found = []
    handle = await sandbox.files.watch_dir("w", on_event=lambda event: found.append((event.type, event.name)))
    await sandbox.files.write("w/f", "1")

    async def seen():
        return (FilesystemEventType.WRITE, "f") in found
    await until(seen)
    await handle.stop()
    await sandbox.files.remove("w")


CASES = [run, run_that_takes_too_long, background, connect, a_stream_of_stdin, commands_at_once, terminal, files, errors_of_files, watch]


async def main():
    sandbox = await AsyncSandbox.create()
    for case in CASES:
        failure = None
        try:
            await asyncio.wait_for(case(sandbox), 60)
        except Exception:
            failure = traceback.format_exc()
        print("\n" + json.dumps({"case": case.__name__, "failure": failure}), flush=True)
    await sandbox.kill()


asyncio.run(main())
