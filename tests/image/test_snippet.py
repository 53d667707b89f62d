"""The lines that the README tells people to put into their own Dockerfile.

There is no registry here, so what they begin with is a busybox of that name."""

import re

import pytest

from conftest import TOKEN, TREE, Agent

BASE = re.compile(r"^FROM (\S+)$", re.M)


@pytest.fixture
def snippet():
    """The Dockerfile of the README."""
    return re.search(r"<!-- image\b[^\n]*-->\s*```dockerfile\n(.*?)```", (TREE / "README.md").read_text(), re.S).group(1)


@pytest.fixture
def built(engine, image, snippet, tmp_path):
    """Configuration and file system of the image that the snippet makes, beside the agent's under the name that it has there."""
    engine.make(BASE.search(snippet).group(1), {"/bin/busybox": "/bin/busybox", "/bin/sh": "/bin/busybox"})
    (tmp_path / "Dockerfile").write_text(snippet)
    configuration = engine.build(tmp_path / "Dockerfile", tag="snippet")
    engine.unpack("snippet", tmp_path / "rootfs")
    return configuration, tmp_path / "rootfs"


def test_an_image_made_as_the_readme_says_runs_commands(built, start):
    container = start(image=built, SKIFF_TOKEN=TOKEN)
    assert container.line() == "skiffd listening on http://[::]:7070", container.stderr()
    assert Agent(container).run("echo hello from $0")["stdout"] == "hello from /bin/sh\n"
    container.terminate()
    assert container.wait() == 143
