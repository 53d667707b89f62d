"""The lines that the README and the tour tell a newcomer to paste work in both shells: line by line, and each block at once."""

import os
import pathlib
import re
import signal
import subprocess

import pytest

import boxes
import proc
from agent import binary, environment
from readme import README, TREE, Pasting, blocks_after
from waiting import until

TOUR = TREE / "docs/tour.md"


@pytest.fixture(params=["bash", "zsh"])
def shell(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["by line", "at once"])
def at_once(request):
    return request.param


@pytest.fixture
def empty(tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


class Served:
    """skiffd as `make run` starts it."""

    def __init__(self, folder):
        self.folder, self.mark = folder / "run", f"itest-serve-{os.getpid()}"
        self.log = folder / "log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [TREE / ".ci/serve", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL,
                env=environment(SKIFFD=binary(), SKIFF_RUN_DIR=self.folder, ITEST_MARK=self.mark))
        line = self.process.stdout.readline().decode()
        assert line.startswith("skiffd listening on http://"), (line, self.log.read_text())
        self.export = until(lambda: re.search(r"export SKIFF_URL=\S+ SKIFF_TOKEN=\S+", self.log.read_text()), what="a line to paste").group()

    def finish(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(20) == 143
        self.process.stdout.close()
        until(lambda: not proc.belonging(self.mark, self.folder), what="an end of all that it started")


@pytest.fixture
def served(tmp_path):
    agent = Served(tmp_path)
    yield agent
    agent.finish()


def paste_for(served, blocks, shell, folder, at_once):
    """The blocks, the first line of which is replaced by the one that skiffd has printed."""
    (first, *others), _ = blocks[0]
    assert first.startswith("export SKIFF_URL="), first
    blocks[0] = ([served.export, *others], blocks[0][1])
    with Pasting(shell, folder, environment()) as pasting:
        for commands, expected in blocks:
            pasting.try_block(commands, expected, at_once)
    assert not list(folder.iterdir()), "something was left where the commands were pasted"
    assert (served.folder / "workspace/notes/todo.txt").exists()


def test_the_curl_start_prints_what_it_says(served, shell, at_once, empty):
    paste_for(served, blocks_after("curl"), shell, empty, at_once)


def test_the_tour_of_the_agent_prints_what_it_says(served, shell, at_once, empty):
    blocks = blocks_after("quick start", TOUR)
    assert sum(len(commands) for commands, _ in blocks) > 20
    paste_for(served, blocks, shell, empty, at_once)


@pytest.mark.parametrize("name, document", [("try", README), ("companion", TOUR)])
def test_the_start_with_skiff_prints_what_it_says(name, document, tmp_path, shell, at_once, empty):
    ((commands, expected),) = blocks_after(name, document)
    assert commands[0] == 'export SKIFF_DRIVER=box PATH="$PWD/build/release:$PATH"'
    boxes.need_boxes(os.geteuid())
    skiff = boxes.BoxSkiff(tmp_path, os.geteuid())
    try:
        commands[0] = commands[0].replace("$PWD/build/release", str(pathlib.Path(skiff.program).parent))
        with Pasting(shell, empty, skiff.environment(TMPDIR=tmp_path / "work", HOME=skiff.home)) as pasting:
            pasting.try_block(commands, expected, at_once)
    finally:
        skiff.finish()


@pytest.mark.parametrize("document", ["README.md", "docs/tour.md", "docs/clusters.md", "docs/operating.md", "docs/stateful.md", "examples/shell/skiff.sh"])
def test_nothing_needs_a_newer_curl_than_it_says(document):
    """Enterprise distributions still have curl 7.76: no document uses a newer flag."""
    newer = r"--(json|no-clobber|remove-on-error|rate|url-query|variable|ca-native|http3-only|form-escape|dump-ca-embed|skip-existing)\b"
    for number, line in enumerate((TREE / document).read_text().splitlines(), 1):
        assert "curl has since" in line or not re.search(newer, line), f"{document}:{number}: {line}"
