"""Fixtures of the launcher's tests on a real cluster. SKIFF and SKIFFD are the binaries, TESTCMD a static program."""

import functools
import os
import pathlib
import tempfile

import pytest

import cluster as clusters
import watchdogs
from namespace import fresh
from skiff import ClaimSkiff, Skiff


def pytest_configure(config):
    for name in ("SKIFF", "SKIFFD", "TESTCMD"):
        if not os.path.exists(os.environ.get(name, "")):
            raise pytest.UsageError(f"{name} must be the path of a program")


@pytest.fixture
def tmp_path():
    """A directory that is gone after the test, in place of pytest's, which stays."""
    with tempfile.TemporaryDirectory(prefix="skiff-", ignore_cleanup_errors=True) as folder:
        yield pathlib.Path(folder)


@pytest.fixture(autouse=True)
def watchdog(cluster):
    with watchdogs.at_most(seconds=240):
        yield


@pytest.fixture(scope="session")
def cluster():
    """A cluster that other tests use at the same time. Files that need their own cluster have a fixture of this name."""
    with clusters.shared() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def namespaces(cluster):
    with fresh(cluster) as made:
        yield made


@pytest.fixture
def make_namespace(namespaces, request):
    return functools.partial(namespaces.make, request.node.name)


@pytest.fixture
def namespace(make_namespace):
    return make_namespace()


@pytest.fixture
def restricted(make_namespace):
    """A namespace that takes only pods of the strictest Pod Security Standard."""
    return make_namespace(**{"pod-security.kubernetes.io/enforce": "restricted"})


@pytest.fixture
def skiff(namespace, tmp_path):
    """It removes what the test has left running."""
    client = Skiff(tmp_path, namespace)
    yield client
    client.finish()


@pytest.fixture
def claim_skiff(namespace, tmp_path):
    client = ClaimSkiff(tmp_path, namespace)
    yield client
    client.finish()


@pytest.fixture(scope="module")
def shared(namespaces, request):
    """A skiff with one sandbox, `box`, for all tests of a file that only use it."""
    with tempfile.TemporaryDirectory(prefix="skiff-") as folder:
        client = Skiff(pathlib.Path(folder), namespaces.make(request.node.name))
        client.up()
        yield client
        client.finish()
