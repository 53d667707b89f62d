"""The SDKs make, use, list, pause, resume and kill sandboxes of a `skiff serve`, by its address and an API key alone; and
what docs/serve.md tells a newcomer to paste."""

import os
import pathlib
import socket

import pytest

import boxes
import installed
from client_fixtures import run_program
from readme import TREE, Pasting, blocks_after
from serving import Server
from waiting import until

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = HERE.parent / "e2b"
older = pytest.mark.skipif(not installed.all_versions(), reason="SKIFF_CLIENTS=newest")


def run_python(run_client, version, program):
    assert run_client(installed.python_of(PACKAGES / f"{version}.txt"), HERE / program).startswith("done with")


def run_javascript(run_client, tmp_path, name, package):
    # Node looks for packages beside the program.
    program = tmp_path / name
    program.write_text((HERE / name).read_text().replace("from 'e2b'", f"from '{package}'"))
    (tmp_path / "node_modules").symlink_to(installed.node_modules(PACKAGES))
    assert run_client(installed.node(), program) == "done\n"


def test_the_python_sdk(run_client):
    run_python(run_client, "newest", "with_sdk.py")


@older
@pytest.mark.parametrize("version", ["middle", "older"])
def test_an_older_python_sdk(run_client, version):
    run_python(run_client, version, "with_older_sdk.py")


def test_the_javascript_sdk(run_client, tmp_path):
    run_javascript(run_client, tmp_path, "with_sdk.mjs", "e2b")


@older
@pytest.mark.parametrize("package", ["e2b-middle", "e2b-older"])
def test_an_older_javascript_sdk(run_client, tmp_path, package):
    run_javascript(run_client, tmp_path, "with_older_sdk.mjs", package)


@pytest.fixture
def run_with_boxes(tmp_path):
    """As run_client, with a server whose sandboxes are boxes: they have egress by name."""
    boxes.need_boxes(os.geteuid())
    skiff = boxes.BoxSkiff(tmp_path, os.geteuid())
    server = Server(skiff, driver="box")
    key = skiff("key", "create", "me")[0].strip()

    def run(*command):
        done = run_program(command, HERE, {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "E2B_API_URL": server.url,
                                           "E2B_SANDBOX_URL": server.url, "E2B_API_KEY": key})
        assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-6000:], server.told()[-3000:])
        return done.stdout

    yield run
    server.stop()
    skiff.finish()


def test_the_python_sdk_names_what_a_sandbox_reaches(run_with_boxes):
    run_python(run_with_boxes, "newest", "with_network.py")


@older
def test_an_older_python_sdk_names_what_a_sandbox_reaches(run_with_boxes):
    run_python(run_with_boxes, "middle", "with_network.py")


def test_the_javascript_sdk_names_what_a_sandbox_reaches(run_with_boxes, tmp_path):
    run_javascript(run_with_boxes, tmp_path, "with_network.mjs", "e2b")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return str(one.getsockname()[1])


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_the_five_minutes_of_the_page_are_what_they_say(shell, tmp_path):
    """The lines run unchanged, but for the port and what they install, which is there."""
    blocks = blocks_after("five minutes", TREE / "docs/serve.md")
    install = "python3 -m venv e2b-sdk && e2b-sdk/bin/pip install -q e2b"
    assert sum(commands.count(install) for commands, _ in blocks) == 1 and len(blocks) == 4
    there = f"ln -s {installed.python_of(PACKAGES / 'newest.txt').parent.parent} e2b-sdk"
    boxes.need_boxes(os.geteuid())
    port, folder, skiff = free_port(), tmp_path / "empty", boxes.BoxSkiff(tmp_path, os.geteuid())
    folder.mkdir()
    try:
        path = f"{pathlib.Path(skiff.program).parent}:{os.environ['PATH']}"
        with Pasting(shell, folder, skiff.environment(PATH=path)) as pasting:
            for commands, expected in blocks:
                pasted = [there if line == install else line.replace("7080", port) for line in commands]
                pasting.try_block(pasted, expected, at_once=True)
                pasting.terminal.until(lambda: f"skiff serves on http://127.0.0.1:{port}" in pasting.shown(), "that it serves")
            assert '"state":"running"' in pasting.shown()
        # The server drains when its terminal has hung up.
        until(lambda: not any(" serve " in line for line in skiff.processes().values()), what="the server's end")
        assert skiff.names() == []
    finally:
        skiff.finish()
