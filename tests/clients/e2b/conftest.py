"""The unmodified e2b packages against a real skiffd."""

import hashlib
import os
import pathlib
import secrets
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from client_fixtures import *  # noqa: E402,F403
from client_fixtures import run_cases  # noqa: E402
from dialect import Door  # noqa: E402
from fake_control import FakeControl  # noqa: E402


@pytest.fixture
def outcome(tmp_path, start_agent):
    """Runs a client's cases: {name: None, or how it failed}. `how` is control: with a control API and a token, as E2B's
    sandboxes are had; or debug: the SDK's mode that asks nobody."""
    token = secrets.token_hex(16)
    control = FakeControl(token)

    def run(*command, how="control"):
        guarded = ["--e2b-token-sha256", hashlib.sha256(token.encode()).hexdigest()] if how == "control" else []
        door = Door(start_agent("--dialect", "e2b=127.0.0.1:0", *guarded))
        os.chmod(door.agent.folder, 0o755)
        os.chmod(door.agent.root, 0o777)
        pointed = {"E2B_SANDBOX_URL": door.url, "E2B_API_KEY": "e2b_" + "0" * 40}
        pointed |= {"E2B_API_URL": control.url} if how == "control" else {"E2B_DEBUG": "true"}
        return run_cases(command, HERE, **pointed, DOOR=door.url, ROOT=str(door.agent.root), HOW=how, HOME=str(tmp_path),
                         NODE_DISABLE_COMPILE_CACHE="1")

    yield run
    control.close()
