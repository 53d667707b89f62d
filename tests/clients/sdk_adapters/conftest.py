"""The adapters of the Python SDK, with the packages of their systems, against a real skiffd and skiff. SKIFFD and SKIFF name these."""

import contextlib
import os
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = HERE.parents[2] / "sdk/python"
sys.path[:0] = [str(HERE.parent)]

from client_fixtures import *  # noqa: E402,F403
from client_fixtures import run_cases  # noqa: E402
from cutting_proxy import CuttingProxy  # noqa: E402
from installed import python_of  # noqa: E402


@pytest.fixture
def outcome(tmp_path, start_agent, skiff):
    """Runs a script's cases with the packages of deepagents, or others: {name: None, or how it failed}. `cuts`: where connections
    break."""

    def run(script, cuts=(), requirements=HERE.parent / "python_runtime/oldest.txt"):
        python = python_of(requirements)
        agent = start_agent()
        with contextlib.ExitStack() as stack:
            url = agent.url
            if cuts:
                proxy = stack.enter_context(CuttingProxy(("127.0.0.1", agent.port), cuts))
                url = proxy.url
            told = run_cases(
                [python, script], HERE, skiff.environment(PATH=f"{python.parent}:{os.environ['PATH']}"), SKIFF=skiff.program,
                SKIFF_DRIVER="local", SKIFF_TOKEN=agent.token, RUNTIME_URL=url,
                RUNTIME_ROOT=os.path.realpath(agent.root),
                PYTHONPATH=":".join(map(str, (PACKAGE, HERE.parent / "python_runtime", HERE.parents[1] / "integration"))))
            assert not cuts or proxy.done == len(cuts)
        return told

    return run
