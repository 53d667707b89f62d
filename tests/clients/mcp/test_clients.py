"""The official Python and TypeScript clients, unmodified, through every tool: over HTTP and over `skiff mcp`."""

import os
import pathlib
import subprocess

import pytest

from installed import all_versions, node, node_modules, python_of
from launcher import DRIVER

HERE = pathlib.Path(__file__).resolve().parent
# The packages of npm: "v2" is @modelcontextprotocol/client, "v1" the line before it, @modelcontextprotocol/sdk.
PYTHON = [("newest", "auto"), ("newest", "legacy"), *([("oldest", "legacy")] if all_versions() else [])]
TYPESCRIPT = ["v2", "v1"] if all_versions() else ["v2"]


def run(command, **environment):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
                          env={**os.environ, **environment})
    assert done.returncode == 0 and done.stdout.endswith("all is well\n"), (done.stdout[-2000:], done.stderr[-6000:])


def through_stdio(skiff):
    return [*skiff.command, "mcp", "--driver", DRIVER], skiff.environment()


@pytest.mark.parametrize("version, mode", PYTHON)
def test_python_over_http(agent, version, mode):
    run([python_of(HERE / f"{version}.txt"), HERE / "python_client.py", mode, agent.url + "/mcp"], SKIFF_TOKEN=agent.token)


@pytest.mark.parametrize("version, mode", PYTHON)
def test_python_over_stdio(skiff, version, mode):
    command, environment = through_stdio(skiff)
    run([python_of(HERE / f"{version}.txt"), HERE / "python_client.py", mode, *command], **environment)
    assert skiff.names() == []


@pytest.mark.parametrize("line", TYPESCRIPT)
def test_typescript_over_http(agent, line):
    run([node(), HERE / "typescript_client.mjs", node_modules(HERE).parent, line, agent.url + "/mcp"],
        SKIFF_TOKEN=agent.token)


@pytest.mark.parametrize("line", TYPESCRIPT)
def test_typescript_over_stdio(skiff, line):
    command, environment = through_stdio(skiff)
    run([node(), HERE / "typescript_client.mjs", node_modules(HERE).parent, line, *command], **environment)
    assert skiff.names() == []
