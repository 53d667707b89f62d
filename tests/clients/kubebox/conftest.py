"""The unmodified kubebox package against a real skiffd."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent.parent / "integration")]

from cutting_proxy import CuttingProxy  # noqa: E402
from dialect import Door  # noqa: E402
from fixtures import *  # noqa: E402,F403


@pytest.fixture(autouse=True)
def watchdog():
    """In place of that of the integration tests: the first run of a client installs it."""
    yield


@pytest.fixture
def outcome(tmp_path, start_agent):
    """Runs a client's cases: {name: None, or how it failed}. `cuts`: where connections to it break."""

    def run(python, script, cuts=()):
        door = Door(start_agent("--dialect", "kubebox=127.0.0.1:0"))
        with CuttingProxy(("127.0.0.1", door.port), cuts) as proxy:
            done = subprocess.run([python, script, proxy.url], cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, timeout=150,
                                  env={**os.environ, "HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"})
            assert proxy.done == len(cuts)
        told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        assert done.returncode == 0 and told, done.stderr[-4000:]
        return {one["case"]: one["failure"] for one in told}

    return run
