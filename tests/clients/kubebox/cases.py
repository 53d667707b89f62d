"""Every call of the package's client, each in a case; prints how each went, a line of JSON a case. The client of 0.0.14 takes
no key, and its streams end without saying how the command exited."""

import asyncio
import inspect
import json
import sys
import traceback

from kubebox import CommandExit, CommandMode, SandboxClient

URL = sys.argv[1]
S = "test-session"
TELLS_EXITS = "private_key" in inspect.signature(SandboxClient).parameters


def client_of(url):
    return SandboxClient("key", url) if TELLS_EXITS else SandboxClient(url)


def told(code):
    return code if TELLS_EXITS else None


async def joined(process):
    """(stdout, stderr, exit code, how many events)"""
    out = {"stdout": "", "stderr": ""}
    count = 0
    async for event in process:
        if isinstance(event, CommandExit):
            return out["stdout"], out["stderr"], event.exit_code, count
        out[event.type] += event.output
        count += 1
    assert not TELLS_EXITS, "the stream ended without an exit"
    return out["stdout"], out["stderr"], None, count


async def wait(client):
    done = await client.run_command(S, "echo out; echo err >&2; exit 3", mode=CommandMode.WAIT)
    assert (done.stdout, done.stderr, done.exit_code, done.finished) == ("out\n", "err\n", 3, False)
    done = await client.run_command(S, "true", mode=CommandMode.WAIT)
    assert done.finished and done.exit_code == 0


async def wait_with_a_timeout(client):
    done = await client.run_command(S, "echo begun; sleep 300", mode=CommandMode.WAIT, timeout=1)
    assert not done.finished and done.stdout == "begun\n"


async def wait_with_a_path(client):
    await client.make_dirs(S, "sub")
    done = await client.run_command(S, "basename $PWD", mode=CommandMode.WAIT, path="sub")
    assert done.stdout == "sub\n"


async def stream(client):
    assert (await joined(await client.run_command(S, "echo out; echo err >&2; exit 4")))[:3] == ("out\n", "err\n", told(4))


async def streams_at_once(client):
    processes = [await client.run_command(S, f"for i in 1 2 3; do echo {n} $i; sleep 0.05; done; exit {n}") for n in range(8)]
    for n, ended in enumerate(await asyncio.gather(*map(joined, processes))):
        assert ended[:3] == (f"{n} 1\n{n} 2\n{n} 3\n", "", told(n))


async def many_lines(client):
    out, _, code, events = await joined(await client.run_command(S, "seq 200000"))
    assert out == "".join(f"{i}\n" for i in range(1, 200_001)) and code == told(0) and events < 2000


async def a_line_of_a_megabyte(client):
    out, _, code, _ = await joined(await client.run_command(S, "head -c 1000000 /dev/zero | tr '\\0' a; printf '\\377'; echo end"))
    assert out == "a" * 1_000_000 + "\ufffdend\n" and code == told(0)


async def background(client):
    process = await client.run_command(S, "head -c 2000000 /dev/zero; exec sleep 300", mode=CommandMode.BACKGROUND)
    assert isinstance(process.process_id, int)
    assert (await client.check_status(S, process.process_id)).running is True
    killed = await client.kill_command(S, process.process_id)
    assert (killed.status, killed.exit_code) == ("killed", -15)
    assert (await client.check_status(S, process.process_id)).running is False
    assert (await client.kill_command(S, process.process_id)).status == "not found"


async def files(client):
    text = "ü\r\n\"quoted\"\n"
    assert await client.write_file(S, "d/a.txt", text, make_dirs=True) == {"status": "success"}
    assert await client.get_file(S, "d/a.txt") == text
    assert "d/a.txt" in await client.get_all_file_paths(S)
    assert await client.get_all_file_paths(S, regexes=["a[.]txt$", "nothing"]) == ["d/a.txt"]
    assert await client.delete_file(S, "d/a.txt") == {"status": "success"}
    for call in (client.get_file(S, "d/a.txt"), client.write_file(S, "no/parent", ""), client.get_file(S, "../up")):
        try:
            await call
        except Exception as error:
            assert "Failed" in str(error)
        else:
            raise AssertionError("no error")


async def a_session_that_is_not_there(client):
    try:
        await client.run_command("nope", "echo", mode=CommandMode.WAIT)
    except ValueError:  # pydantic's: the answer has no `finished`
        return
    raise AssertionError("no error")


CASES = [wait, wait_with_a_timeout, wait_with_a_path, stream, streams_at_once, many_lines, a_line_of_a_megabyte, background,
         files, a_session_that_is_not_there]


async def main():
    client = client_of(URL)
    await client.connect()
    await client.initialize_session(S, "workspace")
    for case in CASES:
        failure = None
        try:
            await asyncio.wait_for(case(client), 60)
        except Exception:
            failure = traceback.format_exc()
        print("\n" + json.dumps({"case": case.__name__, "failure": failure}), flush=True)
    await client.disconnect()


if __name__ == "__main__":
    asyncio.run(main())
