"""The package skiff-sandbox of sdk/typescript, packed and installed as people do. SKIFFD and SKIFF name the binaries."""

import os
import pathlib
import shutil
import sys
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[2] / ".ci")]

import sdk_typescript  # noqa: E402
from client_fixtures import *  # noqa: E402,F403
from boxes import BoxSkiff, need_boxes  # noqa: E402
from installed import node, node_modules  # noqa: E402


@pytest.fixture(scope="session")
def package():
    """An empty directory in which the packed tarball was installed with npm, without the registry."""
    with tempfile.TemporaryDirectory(prefix="skiff-npm-", ignore_cleanup_errors=True) as folder:
        folder = pathlib.Path(folder)
        tarball = sdk_typescript.pack(node(), node_modules(HERE), folder)
        program = folder / "program"
        program.mkdir()
        (program / "package.json").write_text('{"type": "module"}')
        npm = node().parent.parent / "lib/node_modules/npm/bin/npm-cli.js"
        command = [node(), npm] if npm.exists() else ["npm"]
        environment = {**sdk_typescript.with_node(node()), "HOME": str(folder), "npm_config_cache": str(folder / "cache")}
        sdk_typescript.run([*command, "install", "--offline", "--no-audit", "--no-fund", tarball], program, environment)
        for name in HERE.glob("*.mjs"):
            shutil.copy(name, program)
        yield program


@pytest.fixture
def agent_place(agent):
    return {"PLACE": "agent", "SKIFF_URL": agent.url, "SKIFF_TOKEN": agent.token}


@pytest.fixture
def server_place(serving):
    key = serving.key()
    return {"PLACE": "server", "SKIFF_URL": serving.start().url, "SKIFF_API_KEY": key}


@pytest.fixture
def launcher_place(skiff):
    environment = skiff.environment()
    return {"PLACE": "launcher", "SKIFF_DRIVER": "local", "SKIFF": skiff.program,
            **{name: environment[name] for name in ("HOME", "XDG_STATE_HOME", "SHELL")}}


@pytest.fixture
def box_place(tmp_path):
    need_boxes(os.geteuid())
    skiff = BoxSkiff(tmp_path, os.geteuid())
    yield {**skiff.environment(), "PLACE": "launcher", "SKIFF": skiff.program}
    skiff.finish()


@pytest.fixture(params=["agent", "server", "launcher"])
def place(request):
    """The variables that lead to each kind of place."""
    return request.getfixturevalue(f"{request.param}_place")
