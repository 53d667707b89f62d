"""The fixtures report a test's failure first, and report what is left behind only if the test passes. They skip listed tests."""

import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
CONFTEST = f"import sys\nsys.path[:0] = [{str(HERE)!r}]\nfrom fixtures import *\n"
LEAVES_A_FILE = "    (agent.temp / 'left').touch()\n"
LEAVES_A_CONNECTION = "    agent.kept = agent.ws('/v1/connect')\n"
LEAVES_A_SANDBOX = "    skiff.names = lambda: ['left']\n"
FAILS = "    assert 'this' == 'that'\n"


def told(folder, fixture, *lines):
    """The output of pytest for one test."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_one.py").write_text(f"def test_one({fixture}):\n" + "".join(lines))
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", folder]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100).stdout


@pytest.mark.parametrize("fixture, leaves", [("agent", LEAVES_A_FILE), ("agent", LEAVES_A_CONNECTION), ("skiff", LEAVES_A_SANDBOX)])
def test_a_failed_test_shows_its_failure_alone(tmp_path, fixture, leaves):
    text = told(tmp_path, fixture, leaves, FAILS)
    assert "'this' == 'that'" in text and re.search(r"^1 failed in", text, re.M), text
    assert not re.search("not within|at teardown", text), text


@pytest.mark.parametrize("fixture, leaves", [("agent", LEAVES_A_FILE), ("skiff", LEAVES_A_SANDBOX)])
def test_the_fixtures_report_what_a_passed_test_leaves_behind(tmp_path, fixture, leaves):
    text = told(tmp_path, fixture, leaves)
    assert "at teardown" in text and re.search(r"^1 passed, 1 error in", text, re.M), text


def test_a_listed_test_is_not_run(tmp_path, monkeypatch):
    listed = tmp_path / "not_run.txt"
    listed.write_text("# a comment\n\nthe kernel can't do it\n  *test_one.py::test_o*\nanother reason\n  *::test_two\n")
    monkeypatch.setenv("SKIFF_NOT_RUN", str(listed))
    text = told(tmp_path, "agent", FAILS)
    assert re.search(r"^1 skipped in", text, re.M) and "the kernel can't do it" in text, text
