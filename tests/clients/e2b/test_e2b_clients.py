"""The packages that people have, as they are, against the dialect e2b."""

import pathlib

import pytest

from client_fixtures import check
from installed import all_versions, node, node_modules, python_of

HERE = pathlib.Path(__file__).resolve().parent
older = pytest.mark.skipif(not all_versions(), reason="the newest version alone")
VERSIONS = ["newest", pytest.param("middle", marks=older), pytest.param("older", marks=older)]
PACKAGES = ["e2b", pytest.param("e2b-middle", marks=older), pytest.param("e2b-older", marks=older)]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("how", ["control", "debug"])
def test_python(outcome, version, how):
    check(outcome(python_of(HERE / f"{version}.txt"), "cases.py", how=how), 24)


@pytest.mark.parametrize("version", VERSIONS)
def test_python_async(outcome, version):
    check(outcome(python_of(HERE / f"{version}.txt"), "cases_async.py"), 10)


@pytest.mark.parametrize("version", PACKAGES)
@pytest.mark.parametrize("how", ["control", "debug"])
def test_javascript(outcome, version, how):
    check(outcome(node(), HERE / "cases.mjs", node_modules(HERE).parent, version, how=how), 18)
