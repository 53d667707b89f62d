"""The tests of unmodified clients share these: the fixtures of the integration tests, and a client's cases."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "integration")]

from fixtures import *  # noqa: E402,F403
from fixtures import need_binary  # noqa: E402


def pytest_configure(config):
    """Root stays root, also with boxes: the clients are in its cache."""
    need_binary()


@pytest.fixture(autouse=True)
def watchdog():
    """Replaces that of the integration tests, which is too short: the first run of a client installs it."""
    yield


def run_program(command, folder, environment, seconds=150):
    """The completed program with its output as text; it has so many seconds. `environment` is its whole environment."""
    environment = {"PYTHONDONTWRITEBYTECODE": "1", **environment}
    return subprocess.run(list(map(str, command)), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=seconds, env=environment)


def run_cases(command, folder, environment=os.environ, seconds=150, **variables):
    """Runs a client's cases (it prints a line of JSON for each): {name: None, or how it failed}."""
    done = run_program(command, folder, {**environment, **variables}, seconds)
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"case"')]
    assert done.returncode == 0 and told, done.stderr[-4000:]
    return {one["case"]: one["failure"] for one in told}


def check(outcome, least):
    """That each case passed, and that there were as many."""
    failures = "\n".join(f"{name}:\n{failure}" for name, failure in outcome.items() if failure)
    assert not failures, failures
    assert len(outcome) >= least, sorted(outcome)
