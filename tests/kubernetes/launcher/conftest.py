"""Fixtures of the launcher's tests on a real cluster. SKIFF and SKIFFD are the binaries, TESTCMD a static program."""

import contextlib
import itertools
import os
import pathlib
import sys
import tempfile

import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "integration"))

import watchdogs  # noqa: E402  which need the folder above
from cluster import Namespace, running  # noqa: E402
from skiff import Skiff  # noqa: E402

numbers = itertools.count(1)


def pytest_configure(config):
    for name in ("SKIFF", "SKIFFD", "TESTCMD"):
        if not os.path.exists(os.environ.get(name, "")):
            raise pytest.UsageError(f"{name} must be the path of a program")


@pytest.fixture
def tmp_path():
    """A folder that is gone after the test, in place of pytest's, which stays."""
    with tempfile.TemporaryDirectory(prefix="skiff-", ignore_cleanup_errors=True) as folder:
        yield pathlib.Path(folder)


@pytest.fixture(autouse=True)
def watchdog(cluster):
    with watchdogs.at_most(seconds=240):
        yield


@pytest.fixture(scope="session")
def cluster():
    with running() as cluster:
        yield cluster


@contextlib.contextmanager
def namespaces(cluster):
    """A function that makes fresh ones. At the end nothing of skiff's is left in any of them."""
    made = []

    def make(**labels):
        made.append(Namespace(cluster, f"test-{next(numbers)}", labels))
        return made[-1]

    try:
        yield make
        left = [found for namespace in made for found in namespace.of_skiff()]
        assert not left, left
    finally:
        for namespace in made:
            namespace.remove()


@pytest.fixture
def make_namespace(cluster):
    with namespaces(cluster) as make:
        yield make


@pytest.fixture
def namespace(make_namespace):
    return make_namespace()


@pytest.fixture
def restricted(make_namespace):
    """A namespace that takes only pods of the strictest Pod Security Standard."""
    return make_namespace(**{"pod-security.kubernetes.io/enforce": "restricted"})


@pytest.fixture
def skiff(namespace, tmp_path):
    """It removes what the test has left running; what then is left fails the test."""
    client = Skiff(tmp_path, namespace)
    yield client
    client.finish()


@pytest.fixture(scope="module")
def shared(cluster):
    """A skiff with one sandbox, `box`, for all tests of a file that only use it."""
    with namespaces(cluster) as make, tempfile.TemporaryDirectory(prefix="skiff-") as folder:
        client = Skiff(pathlib.Path(folder), make())
        client.up()
        yield client
        client.finish()
