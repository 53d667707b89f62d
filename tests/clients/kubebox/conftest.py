"""The unmodified kubebox package against a real skiffd."""

import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

from client_fixtures import *  # noqa: E402,F403
from client_fixtures import run_cases  # noqa: E402
from cutting_proxy import CuttingProxy  # noqa: E402
from dialect import Door  # noqa: E402


@pytest.fixture
def outcome(tmp_path, start_agent):
    """Runs a client's cases: {name: None, or how it failed}. `cuts`: where connections to it break."""

    def run(python, script, cuts=()):
        door = Door(start_agent("--dialect", "kubebox=127.0.0.1:0"))
        with CuttingProxy(("127.0.0.1", door.port), cuts) as proxy:
            told = run_cases([python, script, proxy.url], HERE, HOME=str(tmp_path))
            assert proxy.done == len(cuts)
        return told

    return run
