"""The adapters of the Python SDK keep the promises of their systems, run the code of these systems' documents, and have whole types."""

import pathlib
import subprocess

import pytest
from client_fixtures import check
from installed import python_of

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = HERE.parents[2] / "sdk/python"
ADAPTERS = PACKAGE / "skiff_sandbox/integrations"


def test_a_backend_for_deepagents(outcome):
    check(outcome("backend.py"), 15)


def test_a_backend_whose_connection_breaks(outcome):
    check(outcome("backend_cut.py", cuts=[0, 60, 0, 200]), 2)


def test_a_client_of_sessions(outcome):
    check(outcome("session_client.py"), 12)


def test_a_stream_whose_connection_breaks(outcome):
    check(outcome("session_client_cut.py", cuts=[100_000, 1, 300_001]), 1)


def test_the_documented_calls_of_the_client(outcome):
    check(outcome("documented_session.py"), 2)


@pytest.mark.parametrize("adapter", [path.name for path in ADAPTERS.glob("[a-z]*.py")])
def test_an_adapter_stays_short(adapter):
    assert len((ADAPTERS / adapter).read_text().splitlines()) <= 300


# The adapters by the packages that they need.
NEEDED = {HERE.parent / "python_runtime/oldest.txt": ("deepagents", "kubebox", "orbiter")}


@pytest.mark.parametrize("requirements", NEEDED, ids=lambda path: path.stem)
def test_the_types_are_whole(requirements, tmp_path):
    """mypy, which has an environment of its own, sees the packages of the systems."""
    mypy = python_of(HERE / "types.txt").parent / "mypy"
    done = subprocess.run([mypy, "--strict", "--python-executable", python_of(requirements), "--cache-dir", tmp_path,
                           *(ADAPTERS / f"{name}.py" for name in NEEDED[requirements])], capture_output=True, text=True, timeout=300,
                          cwd=PACKAGE)
    assert done.returncode == 0, done.stdout
