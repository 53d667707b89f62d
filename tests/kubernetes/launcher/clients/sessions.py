"""The adapter for kubebox with a Pod: it makes the sandbox, uses it, and removes it. SESSIONS_NAMESPACE and
SESSIONS_IMAGE say where and of what."""

import asyncio
import contextlib
import os

import cases
from skiff_sandbox.integrations.kubebox import CommandExit, CommandMode, Kubebox, SandboxClient, SandboxError

S = "work"


@contextlib.asynccontextmanager
async def made():
    kubebox = Kubebox()
    pod = kubebox.create_pod("luke-pod", namespace=os.environ["SESSIONS_NAMESPACE"], image=os.environ["SESSIONS_IMAGE"],
                             username="luke", ports=[3000])
    service = kubebox.create_service("luke-pod")
    try:
        await pod.wait_until_ready()
        client = SandboxClient(url=f"http://{await service.get_external_ip()}")
        await client.connect()
        await client.initialize_session(S, "workspace")
        yield client
        await client.disconnect()
    finally:
        await pod.destroy()
        try:
            await pod.skiff("describe", "luke-pod")
        except SandboxError as error:
            assert "luke-pod" in str(error)
        else:
            raise AssertionError("it is still there")


async def streamed(client, line):
    text, process = {"stdout": "", "stderr": ""}, await client.run_command(S, line)
    async for part in process:
        if isinstance(part, CommandExit):
            return text["stdout"], text["stderr"], part.exit_code
        text[part.type] += part.output
    raise AssertionError("the stream ended without an exit")


async def case_a_command_that_is_waited_for(client):
    done = await client.run_command(S, "pwd; id -u; echo err >&2; exit 3", mode=CommandMode.WAIT)
    assert (done.stdout, done.stderr, done.exit_code, done.finished) == ("/workspace/workspace\n1000\n", "err\n", 3, True)
    cut = await client.run_command(S, "echo begun; sleep 300", mode=CommandMode.WAIT, timeout=0.3)
    assert (cut.stdout, cut.finished) == ("begun\n", False)


async def case_streams_at_once(client):
    ended = await asyncio.gather(*(streamed(client, f"seq {n * 10000}; echo {n} >&2; exit {n}") for n in range(1, 5)))
    for n, (out, err, code) in enumerate(ended, 1):
        assert (out.count("\n"), err, code) == (n * 10000, f"{n}\n", n)


async def case_background(client):
    process = await client.run_command(S, "exec sleep 300", mode=CommandMode.BACKGROUND)
    assert await client.check_status(S, process.process_id)
    assert await client.kill_command(S, process.process_id) == -15
    assert not await client.check_status(S, process.process_id)


async def case_files(client):
    await client.write_file(S, "d/\u00fc.txt", "text\r\n")
    assert await client.get_file(S, "d/\u00fc.txt") == "text\r\n" and await client.file_exists(S, "d/\u00fc.txt")
    assert await client.get_all_file_paths(S, [r"\.txt$"]) == ["d/\u00fc.txt"]
    await client.delete_file(S, "d/\u00fc.txt")
    assert not await client.file_exists(S, "d/\u00fc.txt")


if __name__ == "__main__":
    cases.main(made)
