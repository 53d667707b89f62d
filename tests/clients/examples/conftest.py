"""The programs in examples/python that need packages, against a real skiffd and skiff. SKIFFD and SKIFF name these."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parents[2] / "examples/python"
sys.path[:0] = [str(HERE.parents[1] / "integration"), str(HERE.parent)]

from cutting_proxy import CuttingProxy  # noqa: E402
from fixtures import *  # noqa: E402,F403
from installed import python_of  # noqa: E402
from launcher import Skiff  # noqa: E402


@pytest.fixture(autouse=True)
def watchdog():
    """In place of that of the integration tests: the first run of a client installs it."""
    yield


@pytest.fixture
def skiff(tmp_path):
    client = Skiff(tmp_path)
    yield client
    client.finish()


@pytest.fixture
def outcome(tmp_path, start_agent, skiff):
    """Runs a script's cases with the packages of deepagents: {name: None, or how it failed}. `cuts`: where connections break."""

    def run(script, cuts=()):
        agent = start_agent()
        with contextlib.ExitStack() as stack:
            url = agent.url
            if cuts:
                proxy = stack.enter_context(CuttingProxy(("127.0.0.1", agent.port), cuts))
                url = proxy.url
            done = subprocess.run(
                [python_of(HERE.parent / "python_runtime/oldest.txt"), script], cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=150,
                env=skiff.environment(SKIFF=skiff.program, SKIFF_DRIVER="local", SKIFF_TOKEN=agent.token, RUNTIME_URL=url,
                                      RUNTIME_ROOT=os.path.realpath(agent.root), PYTHONDONTWRITEBYTECODE="1",
                                      PYTHONPATH=":".join(map(str, (EXAMPLES, HERE.parent / "python_runtime", HERE.parents[1] / "integration")))))
            assert not cuts or proxy.done == len(cuts)
        told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"case"')]
        assert done.returncode == 0 and told, done.stderr[-4000:]
        return {one["case"]: one["failure"] for one in told}

    return run
