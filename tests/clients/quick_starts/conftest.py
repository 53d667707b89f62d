"""Quick starts that the packages of others have in their READMEs, against a real `skiff serve`. SKIFFD and SKIFF name the binaries."""

import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

import pytest  # noqa: E402

from client_fixtures import *  # noqa: E402,F403
from client_fixtures import run_program  # noqa: E402
from boxes import BoxSkiff, need_boxes  # noqa: E402
from serving import Server  # noqa: E402


@pytest.fixture
def box_server(tmp_path):
    """`skiff serve` with the driver box, and a key: (server, key)."""
    need_boxes(os.geteuid())
    skiff = BoxSkiff(tmp_path, os.geteuid())
    server = Server(skiff, driver="box")
    yield server, skiff("key", "create", "me")[0].strip()
    server.stop()
    skiff.finish()


@pytest.fixture
def run_client(box_server, tmp_path):
    """Runs a program with the variables of E2B's SDKs alone; its stdout."""
    server, key = box_server
    home = tmp_path / "client"
    home.mkdir()

    def run(*command, **more):
        done = run_program(command, home, {"PATH": os.environ["PATH"], "HOME": str(home), "E2B_API_URL": server.url,
                                           "E2B_SANDBOX_URL": server.url, "E2B_API_KEY": key, **more})
        assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-6000:], server.told()[-3000:])
        return done.stdout

    return run
