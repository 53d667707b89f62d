"""The backend where connections break: a command runs once, however much of its answer arrives."""

import asyncio
import contextlib
import pathlib

import cases
from skiff_sandbox.integrations.deepagents import SkiffSandbox


@contextlib.contextmanager
def sandbox():
    yield SkiffSandbox(cases.URL)


def case_a_command_runs_once(sandbox):
    assert sandbox.execute("echo once >> ran; echo out").output == "out\n"
    assert (pathlib.Path(cases.ROOT) / "ran").read_text() == "once\n"


def case_and_in_a_task(sandbox):
    assert asyncio.run(sandbox.aexecute("echo once >> ran2; echo out")).output == "out\n"
    assert (pathlib.Path(cases.ROOT) / "ran2").read_text() == "once\n"


if __name__ == "__main__":
    cases.main(sandbox)
