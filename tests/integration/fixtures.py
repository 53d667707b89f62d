"""Fixtures of the integration tests and the attacks. SKIFFD is the binary; what SKIFFD_WRAPPER holds goes before it."""

import functools
import os
import pathlib
import tempfile

import pytest

import boxes
import driver_suite
import engines
import not_run
import watchdogs
from agent import Agent, binary
from engines import by_docker, podman  # noqa: F401
from launcher import DRIVER, ENGINE, Skiff
from serving import Serving
from stateful import SHELLS, Shell, shell_paths


def need_binary():
    if not os.path.exists(binary()):
        raise pytest.UsageError(f"SKIFFD={binary()} does not exist")


def pytest_configure(config):
    need_binary()
    driver_suite.become_ordinary()


def pytest_collection_modifyitems(config, items):
    not_run.mark(items)
    driver_suite.choose(config, items)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish():
    driver_suite.be_again()  # before the reports are written


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """A failed test did not reach its clean-up: only its failure is reported, not what it leaves behind."""
    report = (yield).get_result()
    if report.when == "teardown" and report.failed and has_failed(item):
        report.outcome, report.longrepr = "passed", None
    item.failed_before_its_end = has_failed(item) or report.failed


def has_failed(item):
    return getattr(item, "failed_before_its_end", False)


@pytest.fixture
def tmp_path():
    """A directory that is gone after the test, in place of pytest's, which stays: what a failure needs is printed."""
    with tempfile.TemporaryDirectory(prefix="skiff-", ignore_cleanup_errors=True) as folder:
        yield pathlib.Path(folder)


@pytest.fixture(autouse=True)
def watchdog():
    with watchdogs.at_most(seconds=180):
        yield


@pytest.fixture
def start_agent(tmp_path, request):
    """Starts agents with given arguments; at the end each must have left nothing behind and stop with status 0, unless the
    test has failed."""
    agents = []

    def start(*arguments, **options):
        folder = tmp_path / f"agent{len(agents)}"
        folder.mkdir()
        agent = Agent(folder, *arguments, **options)
        agents.append(agent)
        return agent

    yield start
    errors = []
    for agent in agents:
        try:
            agent.end() if has_failed(request.node) else agent.finish()
        except Exception as error:  # every agent must be ended before the first failure is told
            errors.append(error)
    if errors:
        raise errors[0]


def need_driver():
    if DRIVER == "box":
        boxes.need_boxes(os.geteuid())


@pytest.fixture
def agent(start_agent):
    return start_agent()


@pytest.fixture(scope="session")
def make_skiff(request):
    """A function that makes a launcher, with the suite's driver and a home in a directory."""
    need_driver()
    return functools.partial(engines.suite_launcher, request) if ENGINE else Skiff


@pytest.fixture
def skiff(make_skiff, tmp_path):
    """The launcher, with a home of its own."""
    client = make_skiff(tmp_path)
    yield client
    client.finish()


@pytest.fixture
def serving(tmp_path):
    """A home of `skiff serve`."""
    need_driver()
    one = Serving(tmp_path)
    yield one
    one.finish()


@pytest.fixture
def key(serving):
    return serving.key()


@pytest.fixture
def server(serving, key):
    return serving.start()


@pytest.fixture(scope="session")
def shells():
    """{"dash": path, "ash": path, "bash": path, "sh": path}"""
    with shell_paths() as paths:
        yield paths


@pytest.fixture(params=SHELLS)
def shell(request, agent, shells):
    """A stateful session of each of them."""
    return Shell(agent, request.param, shells[request.param])
