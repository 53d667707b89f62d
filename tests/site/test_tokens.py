"""The examples of docs/tokens.md make tokens that a real skiffd accepts."""

import os
import pathlib
import re
import socket
import subprocess
import sys

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "tests/integration"))

from readme import blocks_after, check_printed  # noqa: E402
from tools import node, tool  # noqa: E402

PAGE = TREE / "docs/tokens.md"


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return str(one.getsockname()[1])


def example(language, kind):
    return re.search(rf"<!-- tokens of {language} -->\s*```{kind}\n(.*?)```", PAGE.read_text(), re.S)[1]


def run(lines, directory):
    """Runs the lines as a script, and ends the skiffd that they have started."""
    path = ":".join([*(str(pathlib.Path(os.environ[name]).parent) for name in ("SKIFFD", "SKIFF")), os.environ["PATH"]])
    environment = {**{name: value for name, value in os.environ.items() if not name.startswith("SKIFF")}, "PATH": path, "HOME": str(directory)}
    script = "\n".join(["trap 'kill $(jobs -p)' EXIT", *lines])
    done = subprocess.run(["bash", "-ec", script], capture_output=True, text=True, timeout=100, cwd=directory, env=environment)
    assert done.returncode == 0, done
    return done.stdout.splitlines()


@pytest.fixture
def blocks():
    """The blocks of the page, on a port that is free."""
    port = free_port()
    return [([line.replace("7070", port) for line in commands], expected) for commands, expected in blocks_after("tokens", PAGE)]


def test_the_shell_makes_tokens_that_are_accepted(blocks, tmp_path):
    assert len(blocks) == 2
    printed = run([line for commands, _ in blocks for line in commands], tmp_path)
    check_printed([line for _, expected in blocks for line in expected], printed, [])


def python():
    """The one that has the tools of .ci/python-tools.txt."""
    return str(pathlib.Path(tool("mkdocs", "python-tools-*/bin/mkdocs")).parent / "python3")


@pytest.mark.parametrize("language, kind, program, name", [("python", "python", python, "example.py"), ("node", "js", node, "example.mjs")])
def test_a_program_makes_tokens_that_are_accepted(language, kind, program, name, blocks, tmp_path):
    (tmp_path / name).write_text(example(language, kind))
    use = f'curl -sS "$SKIFF_URL/v1/run" -H "Authorization: Bearer $({program()} {name})" -d "echo hello from {language}"'
    printed = run([*blocks[0][0], use], tmp_path)
    assert printed[-1] == f"hello from {language}", printed
