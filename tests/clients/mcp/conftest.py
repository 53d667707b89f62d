"""The official clients and the conformance suite against the real binaries. SKIFFD and SKIFF name these."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "integration"))

import pytest  # noqa: E402

from fixtures import *  # noqa: E402,F403
from launcher import Skiff  # noqa: E402


@pytest.fixture
def skiff(tmp_path):
    client = Skiff(tmp_path)
    yield client
    client.finish()
