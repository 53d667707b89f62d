"""Skips the tests that the file SKIFF_NOT_RUN lists, each with its reason. tests/support/not_run.hpp says how the file is written.
Here a pattern is one of names below tests, `integration/test_files.py::test_a_file*`."""

import fnmatch
import os
import pathlib

import pytest

TESTS = pathlib.Path(__file__).resolve().parent.parent


def listed(path):
    """(pattern, reason) of each line that names tests."""
    reason = None
    for line in path.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith(" "):
            yield line.strip(), reason
        else:
            reason = line


def mark(items):
    if not (path := os.environ.get("SKIFF_NOT_RUN")):
        return
    patterns = list(listed(pathlib.Path(path)))
    for item in items:
        name = f"{os.path.relpath(item.path, TESTS)}::{item.nodeid.partition('::')[2]}"
        for pattern, reason in patterns:
            if fnmatch.fnmatchcase(name, pattern):
                item.add_marker(pytest.mark.skip(reason=reason))
                break
