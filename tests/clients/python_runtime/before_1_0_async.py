"""k8s-agent-sandbox 0.5.6, the asynchronous client in direct mode: the cases of the newest one that need nothing of what came
later. It repeats a request after a 5xx, a command too, so that must not happen."""

import pathlib

import cases
from newest_async import case_cancelled_run_ends_its_command, case_concurrent_runs, case_list, case_run, sandbox  # noqa: F401
from sdk_async import *  # noqa: F403


async def case_a_failure_runs_once(sandbox):
    result = await sandbox.commands.run("echo x >> runs; kill -9 $$")
    assert result.exit_code == -9
    assert (pathlib.Path(cases.ROOT) / "runs").read_text() == "x\n"


if __name__ == "__main__":
    cases.main(sandbox)
