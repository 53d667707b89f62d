"""The one-file programs keep their promises, run the code of other systems' documents, and have whole types."""

import hashlib
import pathlib
import subprocess

import pytest
from client_fixtures import check
from installed import python_of
from tools import CACHE

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parents[2] / "examples/python"
PROGRAMS = ("skiff_deepagents.py", "skiff_kubebox.py", "skiff_orbiter.py")


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


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_stays_short(program):
    assert 150 <= len((EXAMPLES / program).read_text().splitlines()) <= 310


def test_the_types_are_whole():
    """mypy, which has an environment of its own, sees the packages of deepagents."""
    text = (HERE / "types.txt").read_bytes()
    directory = CACHE / f"client-types-{hashlib.sha256(text).hexdigest()[:12]}"
    if not (directory / "complete").exists():
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--clear", directory], check=True)
        subprocess.run([directory / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "-r", HERE / "types.txt"], check=True)
        (directory / "complete").touch()
    python = python_of(HERE.parent / "python_runtime/oldest.txt")
    done = subprocess.run([directory / "bin/mypy", "--strict", "--python-executable", python, "--cache-dir",
                           directory / "cache", *(EXAMPLES / program for program in PROGRAMS)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
