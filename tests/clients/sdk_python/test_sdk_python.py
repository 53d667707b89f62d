"""The Python SDK does what its docstrings say, with both kinds of faces, at each kind of host."""

import contextlib
import os
import random
import signal
import subprocess
import urllib.parse

import pytest
from client_fixtures import check
from conftest import MODULES, sdk_python
from cutting_proxy import CuttingProxy
from installed import all_versions

FACES = ("asynchronous", "synchronous")
QUICK = {("agent", "asynchronous"), ("server", "synchronous"), ("box", "asynchronous")}
SEEDS = (31, 32, 33)


@pytest.mark.parametrize("faces", FACES)
def test_a_sandbox(outcome, host, faces):
    if not all_versions() and (host["kind"], faces) not in QUICK:
        pytest.skip("at night")
    check(outcome("box_cases.py", host, faces), 19)


@contextlib.contextmanager
def cut_at_random(host, seed):
    """The variables of a host behind a proxy that cuts each second connection or so, at a random byte, in either direction; and the
    proxy."""
    random_places, address = random.Random(seed), urllib.parse.urlsplit(host["SKIFF_URL"])

    def places():
        return [random_places.choice([0, 1, 100, 1000, 20_000, 300_000, None]) for _ in range(100_000)]

    def place(most):
        return None if most is None else random_places.randint(0, most)

    with CuttingProxy((address.hostname, address.port), map(place, places()), map(place, places())) as proxy:
        yield {**host, "SKIFF_URL": proxy.url, "DIRECT_URL": host["SKIFF_URL"], "SEED": str(seed)}, proxy


@pytest.mark.parametrize("faces", FACES)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("host", ["agent", "server"], indirect=True)
def test_each_byte_arrives_once_however_often_connections_break(outcome, host, faces, seed):
    """Ten minutes at night, shared by the twelve; a few seconds of two of them otherwise."""
    if not all_versions() and (faces == "synchronous" or seed != SEEDS[0]):
        pytest.skip("at night")
    seconds = 50 if all_versions() else 6
    with cut_at_random(host, seed) as (behind, proxy):
        check(outcome("cut_cases.py", {**behind, "SECONDS": str(seconds)}, faces), 1)
    assert proxy.done >= seconds


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
