"""Programs that the tests run and that `.ci/setup --tests` installs: from PATH, or from its cache."""

import os
import pathlib
import shutil

import pytest

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "skiff"


def tool(name, cached=None, elsewhere=()):
    """The path of a program: what `cached` (a pattern below the cache) finds, else PATH, else `elsewhere`. A test that
    needs one that isn't there fails, and says what to run."""
    found = sorted(map(str, CACHE.glob(cached)))[-1:] if cached else []
    found += [path for path in (shutil.which(name), *elsewhere) if path and os.access(path, os.X_OK)]
    if not found:
        pytest.fail(f"{name} is not installed: run .ci/setup --tests")
    return found[0]


def websocat():
    return tool("websocat", "websocat-*/bin/websocat")


def node():
    """Node 22, which runs TypeScript; Debian's is older."""
    return tool("node-22", "node-22*/node_modules/node-linux-*/bin/node")


def go():
    return tool("go", elsewhere=("/usr/local/go/bin/go", "/usr/lib/go/bin/go"))
