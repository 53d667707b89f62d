"""The official clients and the conformance suite against the real binaries. SKIFFD and SKIFF name these."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent.parent / "integration")]

import pytest  # noqa: E402

from fixtures import *  # noqa: E402,F403
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
