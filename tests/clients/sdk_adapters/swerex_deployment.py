"""The deployment for SWE-ReX, by its own requests."""

import asyncio
import contextlib
import os
import pathlib

import cases
from skiff_sandbox.integrations.swerex import SkiffDeployment
from swerex.exceptions import DeploymentNotStartedError, NonZeroExitCodeError
from swerex.runtime.abstract import (
    BashAction, BashInterruptAction, CloseBashSessionRequest, Command, CreateBashSessionRequest, ReadFileRequest, UploadRequest,
    WriteFileRequest)


@contextlib.asynccontextmanager
async def deployment():
    made = SkiffDeployment()
    cases.raises(DeploymentNotStartedError, lambda: made.runtime)
    await made.start()
    yield made
    await made.stop()
    cases.raises(DeploymentNotStartedError, lambda: made.runtime)


async def case_it_is_alive(deployment):
    assert await deployment.is_alive()


async def case_a_session(deployment):
    runtime = deployment.runtime
    await runtime.create_session(CreateBashSessionRequest(startup_timeout=20))
    await runtime.run_in_session(BashAction(command="export X=42; cd /", timeout=20))
    told = await runtime.run_in_session(BashAction(command="echo $X; pwd", timeout=20))
    assert (told.output.split(), told.exit_code) == (["42", "/"], 0), told
    try:
        await runtime.run_in_session(BashAction(command="false", timeout=20))
    except NonZeroExitCodeError:
        pass
    else:
        raise AssertionError("no error")
    begun = f"{(await deployment.sandbox.details()).root}/begun"
    sleeping = asyncio.ensure_future(runtime.run_in_session(BashAction(command=f"touch {begun}; sleep 60", timeout=20, check="silent")))
    await deployment.sandbox.wait_for(path=begun)
    sleeping.cancel()
    await asyncio.wait([sleeping])
    await runtime.run_in_session(BashInterruptAction(timeout=5))
    await runtime.close_session(CloseBashSessionRequest())


async def case_commands_and_files(deployment):
    runtime = deployment.runtime
    told = await runtime.execute(Command(command="echo out; echo err >&2; exit 3", shell=True))
    assert (told.stdout, told.stderr, told.exit_code) == ("out\n", "err\n", 3)
    directory = (await deployment.sandbox.details()).root
    await runtime.write_file(WriteFileRequest(path=f"{directory}/a.txt", content="text\n"))
    assert (await runtime.read_file(ReadFileRequest(path=f"{directory}/a.txt"))).content == "text\n"
    assert await deployment.sandbox.files.read_text("a.txt") == "text\n"
    local = pathlib.Path(os.environ["HOME"]) / "local.txt"
    local.write_text("uploaded")
    await runtime.upload(UploadRequest(source_path=str(local), target_path=f"{directory}/b.txt"))
    assert await deployment.sandbox.files.read_text("b.txt") == "uploaded"


if __name__ == "__main__":
    cases.main(deployment)
