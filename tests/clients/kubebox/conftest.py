"""The unmodified kubebox package against a real skiffd. It has an environment of its own, with pinned versions, kept in
the cache of .ci/setup."""

import hashlib
import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "integration"))

from cutting_proxy import CuttingProxy  # noqa: E402
from dialect import Door  # noqa: E402
from fixtures import *  # noqa: E402,F403
from tools import CACHE  # noqa: E402


@pytest.fixture(autouse=True)
def watchdog():
    """In place of that of the integration tests: the first run of a client installs it."""
    yield


def python_of(requirements):
    """The Python of an environment with what the file names."""
    text = (HERE / requirements).read_bytes()
    directory = CACHE / f"client-{pathlib.Path(requirements).stem}-{hashlib.sha256(text).hexdigest()[:12]}"
    if not (directory / "complete").exists():
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--clear", directory], check=True)
        subprocess.run([directory / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement",
                        HERE / requirements], check=True)
        (directory / "complete").touch()
    return directory / "bin" / "python"


@pytest.fixture
def outcome(tmp_path, start_agent):
    """Runs a client's cases: {name: None, or how it failed}. `cuts`: where connections to it break."""

    def run(python, script, cuts=()):
        door = Door(start_agent("--dialect", "kubebox=127.0.0.1:0"))
        with CuttingProxy(("127.0.0.1", door.port), cuts) as proxy:
            done = subprocess.run([python, script, proxy.url], cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, timeout=150,
                                  env={**os.environ, "HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"})
            assert proxy.done == len(cuts)
        told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        assert done.returncode == 0 and told, done.stderr[-4000:]
        return {one["case"]: one["failure"] for one in told}

    return run
