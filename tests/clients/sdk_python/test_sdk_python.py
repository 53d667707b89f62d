"""The Python SDK does what its docstrings say, with both kinds of faces, at each kind of host."""

import os
import signal
import subprocess

import pytest
from client_fixtures import check
from conftest import MODULES, sdk_python
from installed import all_versions

FACES = ("asynchronous", "synchronous")
QUICK = {("agent", "asynchronous"), ("server", "synchronous"), ("box", "asynchronous")}


@pytest.mark.parametrize("faces", FACES)
def test_a_sandbox(outcome, host, faces):
    if not all_versions() and (host["kind"], faces) not in QUICK:
        pytest.skip("at night")
    check(outcome("box_cases.py", host, faces), 20)


KILLED = """
import os, signal, sys
from skiff_sandbox import Sandbox
box = Sandbox.create(name="survivor", flags=["--env", "GREETING=hello"])
print(box.run("echo $GREETING", check=True).stdout, box.preview(8000), flush=True)
os.kill(os.getpid(), getattr(signal, sys.argv[1]))
"""


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM"])
@pytest.mark.parametrize("host", ["box"], indirect=True)
def test_a_program_that_is_killed_leaves_nothing_that_holds_its_output(host, tmp_path, name):
    """The forwards of its ports have its stderr. They end with it."""
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], **host, "PYTHONPATH": MODULES}
    done = subprocess.run([str(sdk_python()), "-c", KILLED, name], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == -getattr(signal, name) and done.stdout.startswith("hello"), done
