"""The package as it is on PyPI. Its newest version there is 0.0.15; 0.3.5 of its repository was never published."""

import pathlib

import pytest

from client_fixtures import check
from installed import all_versions, python_of

HERE = pathlib.Path(__file__).resolve().parent
VERSIONS = ["0_0_15", "0_0_14"] if all_versions() else ["0_0_15"]


@pytest.fixture(params=VERSIONS)
def python(request):
    return python_of(HERE / f"kubebox_{request.param}.txt")


def test_every_call(outcome, python):
    check(outcome(python, "cases.py"), 10)


def test_a_broken_connection(outcome, python):
    # The first connection is the WebSocket: cut in the middle of the output.
    check(outcome(python, "reconnect.py", cuts=[100_000]), 1)
