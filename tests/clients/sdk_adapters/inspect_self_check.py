"""Inspect's own conformance tests of sandbox environments, run with the adapter. pytest runs this file in Inspect's environment."""

import asyncio
import contextlib

import pytest
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import solver
from inspect_ai.util import SandboxEnvironmentSpec, sandbox
from inspect_ai.util._sandbox.self_check import *  # noqa: F403
from skiff_sandbox import SkiffError
from skiff_sandbox.integrations.inspect_ai import SkiffConfig, SkiffSandboxEnvironment

AS_ROOT = "the agent of the test is root, whom no mode keeps out"
FAILS = {"test_read_file_not_allowed": AS_ROOT, "test_write_text_file_without_permissions": AS_ROOT,
         "test_write_binary_file_without_permissions": AS_ROOT,
         "test_exec_large_command": "the agent takes 1 MiB of JSON (--max-json-bytes)"}


@pytest.fixture
async def sandbox_env(request):
    if request.node.originalname == "test_exec_as_user":
        pytest.skip("it adds a user to this machine")
    if reason := FAILS.get(request.node.originalname):
        request.node.add_marker(pytest.mark.xfail(reason=reason))
    made = await SkiffSandboxEnvironment.sample_init("self_check", None, {})
    yield made["default"]
    await SkiffSandboxEnvironment.sample_cleanup("self_check", None, made, False)


@solver
def computes():
    async def solve(state, generate):
        state.output.completion = (await sandbox().exec(["sh", "-c", "echo $((6 * 7)) in $WHERE"])).stdout
        return state
    return solve


def test_a_task_runs_in_it():
    task = Task(dataset=[Sample(input="compute", target="42 in skiff")], solver=computes(), scorer=includes(),
                sandbox=SandboxEnvironmentSpec("skiff", SkiffConfig(env={"WHERE": "skiff"})))
    (log,) = eval(task, model="mockllm/model", display="none")
    assert log.status == "success", log.error
    assert log.results.scores[0].metrics["accuracy"].value == 1


def test_what_an_agent_lacks_is_refused():
    async def init():
        with contextlib.suppress(SkiffError):
            await SkiffSandboxEnvironment.sample_init("x", SkiffConfig(template="python"), {})
            raise AssertionError("no error")

    asyncio.run(init())
