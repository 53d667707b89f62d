"""k8s-agent-sandbox, the newest: the asynchronous client in sandboxd mode."""

import asyncio
import contextlib
import os
import pathlib

import cases
from k8s_agent_sandbox import AsyncSandboxClient
from k8s_agent_sandbox.exceptions import SandboxRequestError
from processes import ends, pid_of, tells_its_pid
from with_sdk import CONNECTION


@contextlib.asynccontextmanager
async def sandbox():
    async with AsyncSandboxClient(connection_config=CONNECTION) as client:
        made = await client.create_sandbox(warmpool="pool")
        try:
            yield made
        finally:
            await made.terminate()


async def case_run(sandbox):
    result = await sandbox.commands.run("echo $A; echo err >&2; exit 3", env={"A": "out"})
    assert (result.stdout, result.stderr, result.exit_code) == ("out\n", "err\n", 3)


async def case_command_timeout(sandbox):
    result = await sandbox.commands.run("sleep 300", command_timeout=0.5)
    assert (result.exit_code, result.timed_out) == (124, True)


async def case_cancelled_run_ends_its_tree(sandbox):
    task = asyncio.create_task(sandbox.commands.run(tells_its_pid("cancelled")))
    pid = await asyncio.to_thread(pid_of, "cancelled")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await asyncio.to_thread(ends, pid)


async def case_a_hundred_runs_at_once(sandbox):
    results = await asyncio.gather(*(sandbox.commands.run(f"echo {n}") for n in range(100)))
    assert [result.stdout for result in results] == [f"{n}\n" for n in range(100)]


async def case_write_read_odd_names(sandbox):
    for name in cases.ODD_NAMES:
        content = name.encode()
        await sandbox.files.write(name, content)
        assert (pathlib.Path(cases.ROOT) / name).read_bytes() == content, name
        assert await sandbox.files.read(name) == content, name
        assert await sandbox.files.exists(name), name


async def case_large_file_both_ways(sandbox):
    data = os.urandom(64 << 20)
    await sandbox.files.write("large", data)
    assert await sandbox.files.read("large") == data


async def case_list_and_delete(sandbox):
    await sandbox.commands.run("mkdir -p tree/sub; printf 12345 > tree/f")
    assert [(entry.name, entry.type) for entry in await sandbox.files.list("tree")] == [("f", "file"), ("sub", "directory")]
    await sandbox.files.delete("tree", recursive=True)
    assert not await sandbox.files.exists("tree")


async def case_errors_have_their_status(sandbox):
    for call, status in ((sandbox.files.read("nope"), 404), (sandbox.files.exists("../../etc/passwd"), 403)):
        try:
            await call
        except SandboxRequestError as error:
            assert error.status_code == status
        else:
            raise AssertionError(status)


if __name__ == "__main__":
    cases.main(sandbox)
