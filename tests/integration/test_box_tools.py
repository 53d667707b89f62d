"""The tools of developers in a box: what works, what says what it needs, and tools of the user that `--expose` shows."""

import os
import pathlib
import socket
import tempfile
import zipfile

import pytest

from boxes import skiff  # noqa: F401
from tools import tool

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@pytest.fixture
def box(skiff):  # noqa: F811
    skiff.up("box", env={"PATH": SYSTEM_PATH})
    return skiff


def wheel(folder):
    """A package for pip that needs no network."""
    path = folder / "hello_box-1.0-py3-none-any.whl"
    info = "hello_box-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("hello_box.py", "def main(): print('hello')\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: hello-box\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/entry_points.txt", "[console_scripts]\nhello-box = hello_box:main\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


def test_venv_and_pip(box):
    box("cp", str(wheel(box.work)), "box:.")
    box.sh("python3 -m venv venv && venv/bin/pip install --quiet --no-index ./*.whl")
    assert box.sh("venv/bin/hello-box") == "hello\n"
    # Debian's own pip refuses without this flag to install beside its packages, as it does outside of a box.
    box.sh("venv/bin/pip --python /usr/bin/python3 install --quiet --user --break-system-packages --no-index --no-warn-script-location ./*.whl")
    assert box.sh("~/.local/bin/hello-box") == "hello\n"


def test_npm(box):
    tool("npm"), tool("node")
    box.sh("""set -e
        mkdir dependency app
        echo '{"name": "dependency", "version": "1.0.0", "main": "index.js"}' > dependency/package.json
        echo 'module.exports = "hello"' > dependency/index.js
        cd app
        echo '{}' > package.json
        npm install --silent --offline ../dependency""")
    assert box.sh("cd app && node -e 'console.log(require(\"dependency\"))'") == "hello\n"


def test_git(box):
    tool("git")
    assert box.sh("""set -e
        git init -q a
        cd a
        git -c user.name=me -c user.email=me@example.org commit -q --allow-empty -m first
        cd ..
        git clone -q a b
        git -C b log --format=%s""") == "first\n"


def test_a_compiler(box):
    assert box.sh("""set -e
        echo '#include <stdio.h>\nint main(void) { puts("hello"); }' > a.c
        clang-19 -o a a.c
        ./a""") == "hello\n"


def test_what_needs_a_network_says_so(box):
    tool("git")
    told = box("exec", "box", "--", "git", "clone", "https://example.org/a.git", status=128)[1]
    assert "Could not resolve host" in told, told
    told = box("exec", "box", "--", "apt-get", "download", "hello", status=100)[1]
    assert "Unable to locate package" in told, told


# --- tools of the user ---

@pytest.fixture
def own_tools(skiff):  # noqa: F811
    """A directory that no box has by itself, with a program, a private file and a socket."""
    base = "/srv" if os.geteuid() == 0 else pathlib.Path.home()
    with tempfile.TemporaryDirectory(prefix="skiff-", dir=base) as path, socket.socket(socket.AF_UNIX) as listener:
        folder = pathlib.Path(path)
        (folder / "bin").mkdir()
        (folder / "bin/own-tool").write_text("#!/bin/sh\necho own tool\n")
        (folder / "bin/own-tool").chmod(0o700)
        listener.bind(str(folder / "socket"))
        listener.listen()
        for one in (folder, *folder.rglob("*")):
            skiff.own(one)
        yield folder


def test_exposed_tools_are_found_and_only_read(skiff, own_tools):  # noqa: F811
    skiff.up("box", "--expose", own_tools, env={"PATH": f"{own_tools}/bin:{SYSTEM_PATH}"})
    assert skiff.sh("own-tool") == "own tool\n"
    assert skiff.sh(f"touch {own_tools}/new || echo refused; rm {own_tools}/bin/own-tool || echo refused") == "refused\nrefused\n"
    connect = f"import socket; socket.socket(socket.AF_UNIX).connect('{own_tools}/socket')"
    assert "ConnectionRefusedError" in skiff("exec", "box", "--", "python3", "-c", connect, status=1)[1]
    assert skiff.json("ps", "box")["details"]["exposed"] == str(own_tools)
    skiff("stop", "box")
    skiff("start", "box", "-q", env={"PATH": f"{own_tools}/bin:{SYSTEM_PATH}"})
    assert skiff.sh("own-tool") == "own tool\n"


def test_what_cannot_be_exposed_is_refused(skiff, own_tools):  # noqa: F811
    for path in ("/", "/usr/bin", "/etc", "/proc/self", "/tmp", "/home", "/dev/shm", "/run", str(skiff.state), "/does/not/exist",
                 tool("sh")):
        err = skiff("up", "box", "--expose", path, status=125)[1]
        assert "--expose" in err and "Traceback" not in err, (path, err)
    err = skiff("up", "box", "--expose", own_tools, "--expose", own_tools / "bin", status=125)[1]
    assert "already" in err, err
    err = skiff("up", "other", "--driver", "local", "--expose", own_tools, status=125)[1]
    assert "driver box" in err, err
    assert skiff.names() == []
