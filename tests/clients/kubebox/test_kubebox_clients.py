"""The package as it is on PyPI. Its newest version there is 0.0.15; 0.3.5 of its repository was never published."""

import pathlib

from installed import python_of

PYTHON = pathlib.Path(__file__).resolve().parent / "kubebox_0_0_15.txt"


def check(outcome, least):
    failures = "\n".join(f"{name}:\n{failure}" for name, failure in outcome.items() if failure)
    assert not failures, failures
    assert len(outcome) >= least, sorted(outcome)


def test_every_call(outcome):
    check(outcome(python_of(PYTHON), "cases.py"), 10)


def test_a_broken_connection(outcome):
    # The first connection is the WebSocket: cut in the middle of the output.
    check(outcome(python_of(PYTHON), "reconnect.py", cuts=[100_000]), 1)
