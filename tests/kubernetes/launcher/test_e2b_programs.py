"""The quick starts of E2B's SDKs, and of frameworks that use them, run unchanged against a `skiff serve` whose sandboxes are Pods on
a real node: the tests of tests/clients/quick_starts."""

import pathlib
import sys

import pytest

import images
import installed
from serving import Server
from skiff import Skiff
from volumes import disks
from waiting import until

QUICK_STARTS = pathlib.Path(installed.__file__).resolve().parent / "quick_starts"
sys.path.append(str(QUICK_STARTS))

from e2b_program import runner  # noqa: E402
from test_quick_starts import (test_code_interpreter, test_computesdk, test_e2b_in_javascript, test_e2b_in_python,  # noqa: E402,F401
                               test_langchain, test_openai_agents, test_smolagents)

IMAGE = "skiff.test/quick-starts:1"
# Sandboxes pause, as some of the programs want it: the template has a volume.
TEMPLATES = f'base: {{aliases: [code-interpreter-v1], image: "{IMAGE}", pod: {{volumes: ["64Mi:/workspace"], cpu: "50m:1"}}}}\n'
# At least as many as the programs make sandboxes.
DISKS = 40


@pytest.fixture(scope="module")
def image(cluster):
    """It has bash, Python, numpy and Pillow, as E2B's templates have them."""
    packages = next(installed.python_of(QUICK_STARTS / "code_interpreter.txt").parents[1].glob("lib/python3*/site-packages"))
    layer = images.python("/bin/bash", *packages.glob("PIL/_imaging.*.so"), *packages.glob("numpy/_core/*.so")).file("bin/bash", pathlib.Path("/bin/bash").read_bytes(), 0o755)
    layer.folder("usr/lib/python3").folder("usr/lib/python3/dist-packages")
    for name in ("PIL", "pillow.libs", "numpy", "numpy.libs"):
        images.add_tree(layer, packages / name, f"usr/lib/python3/dist-packages/{name}")
    cluster.load(IMAGE, layer.done(), {"Cmd": ["sh"], "Env": ["PATH=/usr/local/bin:/usr/bin:/bin"]})


@pytest.fixture(scope="module")
def home(image, namespaces):
    """A namespace with disks for the claims of its sandboxes."""
    one = namespaces.make("quick starts")
    with disks(one, DISKS):
        yield one


@pytest.fixture
def run_client(home, tmp_path):
    skiff = Skiff(tmp_path, home)
    (tmp_path / "templates.yaml").write_text(TEMPLATES)
    key = skiff("key", "create", "me", "--tenant", home.name)[0].strip()
    server = Server(skiff, "--templates", tmp_path / "templates.yaml", driver="pod")
    yield runner(server, key, tmp_path)
    skiff("key", "rm", "me")
    skiff.finish()
    assert server.stop() == 0
    until(lambda: home.items("pods") == [], 60, "that its Pods are gone")


@pytest.fixture
def run_beside(run_client):
    """The packages that the programs need are in the image."""
    return run_client
