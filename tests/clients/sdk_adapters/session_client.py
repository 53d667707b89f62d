"""The adapter for kubebox: sessions, commands in three modes, files; and what systems' own documents
show of these calls."""

import asyncio
import contextlib
import pathlib
import subprocess

import cases
from skiff_sandbox.integrations.kubebox import (CommandExit, CommandMode, CommandOutput, CommandResult, Kubebox, SandboxClient,
                                                SandboxError)

ROOT = pathlib.Path(cases.ROOT)


@contextlib.asynccontextmanager
async def client():
    made = SandboxClient(url=cases.URL)
    await made.connect()
    await made.initialize_session("work", "workspace")
    yield made
    await made.disconnect()


async def streamed(client, command, **fields):
    return [part async for part in await client.run_command("work", command, mode=CommandMode.STREAM, **fields)]


def text(parts, stream):
    return "".join(part.output for part in parts if isinstance(part, CommandOutput) and part.type == stream)


async def failure(awaitable):
    try:
        await awaitable
    except SandboxError as error:
        return error
    raise AssertionError("no SandboxError")


async def case_wait(client):
    result = await client.run_command("work", "pwd; echo err >&2; exit 3", mode=CommandMode.WAIT)
    assert result == CommandResult(f"{cases.ROOT}/workspace\n", "err\n", 3, True), result
    await client.run_command("work", "mkdir -p deep", mode=CommandMode.WAIT)
    assert (await client.run_command("work", "pwd", mode=CommandMode.WAIT, path="deep")).stdout.endswith("/workspace/deep\n")
    assert (await client.run_command("work", "kill -9 $$", mode=CommandMode.WAIT)).exit_code == -9


async def case_a_timeout_ends_the_tree(client):
    result = await client.run_command("work", "echo first; sleep 5433 & wait", mode=CommandMode.WAIT, timeout=0.3)
    assert result.stdout == "first\n" and not result.finished, result
    assert subprocess.run(["pgrep", "-f", "^sleep 5433$"], capture_output=True).stdout == b""


async def case_a_stream_has_both_streams_and_an_end(client):
    parts = await streamed(client, "echo out; echo err >&2; exit 4")
    assert (text(parts, "stdout"), text(parts, "stderr")) == ("out\n", "err\n")
    assert isinstance(parts[-1], CommandExit) and parts[-1].exit_code == 4 and parts[-1].output == ""


async def case_a_stream_comes_while_it_comes(client):
    (ROOT / "wait").touch()
    seen = ""
    async for part in await client.run_command("work", "echo first; while [ -e ../wait ]; do sleep 0.02; done; echo second"):
        seen += part.output
        if seen == "first\n":
            (ROOT / "wait").unlink(missing_ok=True)
    assert seen == "first\nsecond\n"


async def case_many_streams_at_once(client):
    all_of_them = await asyncio.gather(*(streamed(client, f"seq {n * 1000}; echo {n} >&2") for n in range(1, 9)))
    for n, parts in enumerate(all_of_them, 1):
        assert text(parts, "stdout") == "".join(f"{m}\n" for m in range(1, n * 1000 + 1)) and text(parts, "stderr") == f"{n}\n"


async def case_much_output_and_odd_output(client):
    parts = await streamed(client, "seq 1500000")
    assert text(parts, "stdout").count("\n") == 1_500_000
    assert text(await streamed(client, r"printf 'caf\303\251 \377'"), "stdout") == "caf\u00e9 \ufffd"
    assert text(await streamed(client, r"printf '\303'; sleep 0.3; printf '\251'"), "stdout") == "\u00e9"


async def case_background_status_and_kill(client):
    process = await client.run_command("work", "sleep 6543 & echo begun; wait", mode=CommandMode.BACKGROUND)
    assert await client.check_status("work", process.process_id)
    assert await client.kill_command("work", process.process_id) == -15
    assert not await client.check_status("work", process.process_id)
    assert subprocess.run(["pgrep", "-f", "^sleep 6543$"], capture_output=True).stdout == b""
    assert await client.kill_command("work", process.process_id) == -15


async def case_a_task_that_is_cancelled_ends_its_command(client):
    task = asyncio.ensure_future(client.run_command("work", "touch begun; exec sleep 7654", mode=CommandMode.WAIT))
    while not (ROOT / "workspace/begun").exists():
        await asyncio.sleep(0.01)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert subprocess.run(["pgrep", "-f", "^sleep 7654$"], capture_output=True).stdout == b""


async def case_files(client):
    for name in cases.ODD_NAMES:
        await client.write_file("work", name, f"{name}\r\n")
        assert (ROOT / "workspace" / name).read_bytes() == f"{name}\r\n".encode()
        assert await client.get_file("work", name) == f"{name}\r\n" and await client.file_exists("work", name)
        await client.delete_file("work", name)
        assert not await client.file_exists("work", name)
    await client.write_file("work", "src/a.py", "1")
    await client.write_file("work", "src/.b", "2")
    assert {"src/a.py", "src/.b"} <= set(await client.get_all_file_paths("work"))
    assert await client.get_all_file_paths("work", [r"\.py$"]) == ["src/a.py"]
    assert await client.file_exists("work", "src") and not await client.file_exists("work", "../wait")


async def case_errors_are_told(client):
    assert (await failure(client.get_file("work", "nope"))).status == 404
    assert (await failure(client.write_file("work", "../out", "x"))).status == 403
    assert (await failure(client.run_command("nobody", "true"))).status == 404
    assert "skiff token" in str(await failure(SandboxClient("wrong", cases.URL).connect()))
    assert "skiff describe" in str(await failure(SandboxClient("x", "http://127.0.0.1:9").connect()))
    assert "there is no program '/nope/skiff'" in str(cases.raises(SandboxError, lambda: Kubebox(skiff="/nope/skiff")))


async def case_a_session_is_made_anew_for_another_directory(client):
    await client.initialize_session("again", "one")
    await client.initialize_session("again", "one")
    await client.initialize_session("again", "two")
    assert (await client.run_command("again", "pwd", mode=CommandMode.WAIT)).stdout == f"{cases.ROOT}/two\n"


async def case_a_sandbox_that_it_makes(client):
    kubebox = Kubebox()
    pod = kubebox.create_pod("made", username="somebody")
    service = kubebox.create_service("made")
    try:
        await pod.wait_until_ready()
        other = SandboxClient("not looked at", f"http://{await service.get_external_ip()}")
        await other.connect()
        await other.initialize_session("work", "workspace")
        assert (await other.run_command("work", "echo here", mode=CommandMode.WAIT)).stdout == "here\n"
        await other.disconnect()
    finally:
        await pod.destroy()
    assert "made" in str(await failure(pod.skiff("describe", "made")))


async def case_one_that_is_given_up_leaves_nothing(client):
    pod = Kubebox().create_pod("given-up")
    await asyncio.sleep(0)
    await pod.destroy()
    assert "given-up" in str(await failure(pod.skiff("describe", "given-up")))


if __name__ == "__main__":
    cases.main(client)
