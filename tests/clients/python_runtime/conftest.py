"""Unmodified clients against a real skiffd that speaks python-runtime."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent.parent / "integration")]

from dialect import Door  # noqa: E402
from fake_kubernetes import FakeKubernetes  # noqa: E402
from fixtures import *  # noqa: E402,F403


@pytest.fixture(autouse=True)
def watchdog():
    """In place of that of the integration tests: the first run of a client installs it."""
    yield


@pytest.fixture
def outcome(tmp_path, start_agent):
    """Runs a client's cases: {name: None, or how it failed}."""
    fake = FakeKubernetes(tmp_path)

    def run(*command):
        agent = start_agent("--dialect", "python-runtime=127.0.0.1:0")
        door = Door(agent)
        done = subprocess.run(
            list(map(str, command)), cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=150,
            env={**os.environ, "KUBECONFIG": str(fake.kubeconfig), "RUNTIME_URL": door.url, "HOME": str(tmp_path),
                 "RUNTIME_ROOT": os.path.realpath(agent.root), "PYTHONDONTWRITEBYTECODE": "1",
                 "PYTHONPATH": str(HERE.parent.parent / "integration")})
        told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        assert done.returncode == 0 and told, done.stderr[-4000:]
        return {one["case"]: one["failure"] for one in told}

    yield run
    fake.close()
