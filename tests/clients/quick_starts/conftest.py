"""Quick starts that the packages of others have in their READMEs, against a real `skiff serve`. SKIFFD and SKIFF name the binaries."""

import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

import pytest  # noqa: E402

from client_fixtures import *  # noqa: E402,F403
from boxes import BoxSkiff, need_boxes  # noqa: E402
from e2b_program import runner  # noqa: E402
from serving import Server  # noqa: E402


# The code interpreter asks for a template of this name.
TEMPLATES = "base: {aliases: [code-interpreter-v1]}\n"


@pytest.fixture
def templates(tmp_path):
    path = tmp_path / "templates.yaml"
    path.write_text(TEMPLATES)
    return path


@pytest.fixture
def run_client(tmp_path, templates):
    """At a `skiff serve` with the driver box."""
    need_boxes(os.geteuid())
    skiff = BoxSkiff(tmp_path, os.geteuid())
    server = Server(skiff, "--templates", templates, driver="box")
    yield runner(server, skiff("key", "create", "me")[0].strip(), tmp_path)
    server.stop()
    skiff.finish()


@pytest.fixture
def run_beside(serving, tmp_path, templates):
    """At a `skiff serve` with the driver local, in whose sandboxes python3 is the one beside the client, with its packages."""

    def run(python, *command):
        key = serving.key()
        serving.skiff.command[:0] = ["/usr/bin/env", f"PATH={python.parent}:{os.environ['PATH']}"]
        return runner(serving.start("--templates", templates), key, tmp_path)(python, *command)

    return run
