"""Clients that are generated from the running agent's own documents, compiled, and used against it."""

import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent.parent / "integration")]

from fixtures import *  # noqa: E402,F403


@pytest.fixture(autouse=True)
def watchdog():
    """In place of that of the integration tests: the first run of a generator installs it."""
    yield
