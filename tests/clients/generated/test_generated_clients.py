"""Generators read /openapi.json, by the commands of docs/sdk.md: each client compiles, has every operation, and does with
the agent what people do. The parser of AsyncAPI reads /asyncapi.json."""

import json
import os
import re
import subprocess

import pytest

from generators import CLIENTS, HERE, PAGE, clients, generate, of_the_page, run
from installed import node, node_modules, with_node

# The output of each program, a line for each step.
EXPECTED = """\
wait out err 3
background running
stdin 0
output world
stream one two exit 0
signal SIGTERM
session value 204
file 256 True
found dir/a b.bin
script one two
error 404 session_not_found
"""


def squeezed(name):
    """An operation's name in each language: startCommand, start_command, StartCommand."""
    return re.sub("[^a-z]", "", name.lower())


def missing(document, directory):
    """The operations of the document that stand nowhere in the code."""
    text = squeezed("".join(path.read_text(errors="replace") + path.stem for path in directory.rglob("*")
                            if path.suffix in (".py", ".ts", ".go", ".java", ".rs", ".cs") and path.is_file()))
    names = [operation["operationId"] for path in document["paths"].values() for operation in path.values()]
    assert len(names) == len(set(names)) > 40
    return [name for name in names if squeezed(name) not in text]


@pytest.fixture
def use(agent, tmp_path):
    """Generates a client, and runs a program that uses it: what it prints."""

    def prints(name, program):
        directory = tmp_path / "client"
        directory.mkdir()
        generate(name, agent.url, directory)
        assert missing(agent.request("GET", "/openapi.json").json(), directory) == []
        command = CLIENTS[name].use(directory, program)
        environment = {**os.environ, "SKIFF_URL": agent.url, "SKIFF_TOKEN": agent.token, "HOME": str(tmp_path),
                       "TMPDIR": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([str(word) for word in command], cwd=directory, env=environment, capture_output=True, text=True,
                              timeout=120, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-6000:])
        return done.stdout

    return prints


@pytest.mark.parametrize("name", clients())
def test_a_client_does_what_people_do(use, name):
    assert use(name, (HERE / "programs" / CLIENTS[name].program).read_text()) == EXPECTED


@pytest.mark.parametrize("name", clients())
def test_the_program_of_the_page_prints_what_it_says(use, name):
    (printed,) = re.findall(r"```text\n(.*?)```", PAGE.read_text(), re.S)
    assert use(name, of_the_page()[name][1]) == printed


def test_the_program_of_the_page_passes_mypy(agent, tmp_path):
    name = "openapi-python-client"
    generate(name, agent.url, tmp_path)
    (tmp_path / "use.py").write_text(of_the_page()[name][1])
    # Its findings about the generator's own files are not ours to fix.
    run([CLIENTS[name].path() / "mypy", "--strict", "--follow-imports=silent", "--cache-dir", tmp_path / "cache", "use.py"], tmp_path)


def test_the_page_has_a_command_for_each():
    assert of_the_page().keys() == CLIENTS.keys()


def test_the_parser_of_asyncapi_has_no_remark(agent, tmp_path):
    (tmp_path / "asyncapi.json").write_text(json.dumps(agent.request("GET", "/asyncapi.json").json()))
    done = subprocess.run([node(), HERE / "asyncapi.mjs", node_modules(HERE), tmp_path / "asyncapi.json"], capture_output=True,
                          text=True, timeout=120, stdin=subprocess.DEVNULL, env=with_node())
    assert (done.returncode, done.stdout) == (0, "connectSend connectReceive\n"), (done.stdout[-4000:], done.stderr[-4000:])
