"""The documents' commands for clusters, on a real node."""

import os
import pathlib
import re
import socket

import pytest
from readme import TREE, blocks_after, run_block
from skiff import AGENT

import images

IMAGE = "docker.io/library/python:3.12"


def with_skiff(skiff):
    return skiff.environment(PATH=f"{pathlib.Path(skiff.program).parent}:{os.environ['PATH']}")


@pytest.fixture(scope="module")
def python(cluster):
    """An image of that name on the node, with Debian's own Python in it: there is no registry to pull the real one from."""
    cluster.load(IMAGE, images.python().done(), {"Cmd": ["python"], "Env": ["PATH=/usr/bin:/bin"]})


@pytest.mark.parametrize("document", ["README.md", "docs/clusters.md"])
def test_every_line_about_clusters_prints_what_it_says(document, python, skiff):
    ((commands, expected),) = blocks_after("cluster", TREE / document)
    assert commands[0] == "export SKIFF_DRIVER=pod SKIFF_AGENT_IMAGE=REGISTRY/skiffd:1" and len(commands) > 4
    with socket.socket() as ours:
        # A port that nobody else is given while we hold it, and that skiff may listen on beside us: both allow it.
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        ours.bind(("127.0.0.1", 0))
        commands = [line.replace("REGISTRY/skiffd:1", AGENT).replace("18000", str(ours.getsockname()[1])) for line in commands]
        # As in the terminal of the start with curl, whose server is gone.
        of_curl = {"SKIFF_URL": f"http://127.0.0.1:{ours.getsockname()[1]}", "SKIFF_TOKEN": "of another"}
        run_block(commands, expected, skiff.work, env={**with_skiff(skiff), **of_curl})


def test_the_first_lines_for_this_machine_work_here_too(python, skiff):
    """The commands of the tour print the same output on the cluster, but for an address that leads there from inside only, and files
    that outlive a stop without a volume."""
    ((commands, expected),) = blocks_after("companion", TREE / "docs/tour.md")
    commands = [line for line in commands[2:] if not re.search("curl|stop|start|files", line)]
    expected = [line for line in expected if "skiffd" not in line and not line.endswith(" note")]
    run_block(commands, expected, skiff.work, env=with_skiff(skiff))
