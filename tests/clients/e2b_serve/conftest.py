"""E2B's SDKs, unmodified, against a real `skiff serve` on this machine. SKIFFD and SKIFF name the binaries."""

import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

import pytest  # noqa: E402

from client_fixtures import *  # noqa: E402,F403
from client_fixtures import run_program  # noqa: E402


@pytest.fixture
def run_client(server, key, tmp_path):
    """Runs a program with nothing but the variables of E2B's SDKs; its stdout."""

    def run(*command):
        done = run_program(command, HERE, {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "E2B_API_URL": server.url,
                                           "E2B_SANDBOX_URL": server.url, "E2B_API_KEY": key})
        assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-6000:], server.told()[-3000:])
        return done.stdout

    return run
