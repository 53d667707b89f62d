"""The Python SDK against the real binaries: an agent, a server, the program skiff. SKIFFD and SKIFF name these."""

import os
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = HERE.parents[2] / "sdk/python"
sys.path[:0] = [str(HERE.parent), str(PACKAGE / "generate")]

from client_fixtures import *  # noqa: E402,F403
from boxes import BoxSkiff, need_boxes  # noqa: E402
from client_fixtures import run_cases  # noqa: E402
from installed import python_of  # noqa: E402
from sync_faces import synchronous  # noqa: E402

MODULES = ":".join(map(str, (PACKAGE, HERE.parent / "python_runtime", HERE)))


def sdk_python():
    return python_of(HERE / "sdk.txt")


@pytest.fixture(params=["agent", "server", "skiff", "box"])
def host(request, tmp_path):
    """The variables that name a host: {name: value}."""
    if request.param == "agent":
        agent = request.getfixturevalue("start_agent")()
        return {"kind": "agent", "SKIFF_URL": agent.url, "SKIFF_TOKEN": agent.token}
    if request.param == "server":
        key = request.getfixturevalue("key")
        return {"kind": "server", "SKIFF_URL": request.getfixturevalue("server").url, "SKIFF_API_KEY": key}
    if request.param == "box":
        need_boxes(os.geteuid())
        skiff = BoxSkiff(tmp_path, os.geteuid())
        request.addfinalizer(skiff.finish)
        return {**skiff.environment(), "kind": "box", "SKIFF": skiff.program}
    skiff = request.getfixturevalue("skiff")
    return {**skiff.environment(), "kind": "skiff", "SKIFF": skiff.program, "SKIFF_DRIVER": "local"}


@pytest.fixture
def outcome(tmp_path):
    """Runs a script's cases, with either kind of faces: {name: None, or how it failed}."""

    def run(script, host, faces="asynchronous", python=None, **options):
        path = HERE / script
        if faces == "synchronous":
            path = tmp_path / script
            path.write_text(synchronous(script, (HERE / script).read_text()))
        return run_cases([python or sdk_python(), path], tmp_path, {"HOME": str(tmp_path), "PATH": os.environ["PATH"], **host},
                         PYTHONPATH=MODULES, **options)

    return run
