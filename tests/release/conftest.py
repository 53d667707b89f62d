"""The helpers of the integration tests are importable here, too."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))

from made import make  # noqa: E402


@pytest.fixture(scope="session")
def dist(tmp_path_factory):
    """A release for amd64."""
    return make(tmp_path_factory.mktemp("dist"), "amd64")
