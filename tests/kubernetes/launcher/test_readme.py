"""The README's commands for clusters, line by line on a real node."""

import os
import pathlib
import socket

import pytest
from readme import lines_after, run_each
from skiff import AGENT

import images

IMAGE = "docker.io/library/python:3.12"


@pytest.fixture
def python(cluster):
    """An image of that name on the node, with Debian's own Python in it: there is no registry to pull the real one from."""
    archive = cluster.folder / "python.tar"
    images.write(archive, IMAGE, images.python(), {"Cmd": ["python"], "Env": ["PATH=/usr/bin:/bin"]})
    cluster.inside("ctr", "--namespace=k8s.io", "images", "import", "--no-unpack", archive)
    archive.unlink()


def test_every_line_about_clusters_prints_what_it_says(python, skiff):
    lines = lines_after("cluster")
    assert lines[0] == "export SKIFF_AGENT_IMAGE=REGISTRY/skiffd" and len(lines) > 8
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path = f"{pathlib.Path(skiff.program).parent}:{os.environ['PATH']}"
    run_each([line.replace("18000", str(port)) for line in lines[1:]], [f"export SKIFF_AGENT_IMAGE={AGENT}"], skiff.work,
             env=skiff.environment(PATH=path))


def test_the_companions_first_lines_work_here_too(python, skiff):
    """What the README shows for this machine alone, on the cluster: the same commands, the same output. But for an address
    that leads there from inside only, and files that outlive a stop without a volume."""
    lines = [line for line in lines_after("companion")[1:] if "curl" not in line and "stop" not in line]
    path = f"{pathlib.Path(skiff.program).parent}:{os.environ['PATH']}"
    run_each(lines, [], skiff.work, env=skiff.environment(PATH=path))
