"""A namespace whose sandboxes may have egress by name, on a cluster that enforces network policies, beside an internet."""

import json
import pathlib
import tempfile

import pytest

import cluster as clusters
import deployed as deployments
import egress_internet
import egress_world
import images
from skiff import Skiff
from waiting import until

PYTHON = "skiff.test/python-tls:1"
PROBE = pathlib.Path(__file__).resolve().parents[2] / "integration/box_probes/by_name.py"
UNAWARE = PROBE.with_name("unaware.py")
# Tells for each argument HOST:PORT whether something has answered there, and whether a name server outside knows pypi.org.
REACH = """
import json, socket, sys
def reaches(place):
    host, _, port = place.rpartition(":")
    try:
        socket.create_connection((host, int(port)), 2).close()
        return True
    except OSError:
        return False
try:
    names = any(not one[4][0].startswith("127.64.") for one in socket.getaddrinfo("pypi.org", 443))
except OSError:
    names = False
print(json.dumps([names, *map(reaches, sys.argv[1:])]))
"""


@pytest.fixture(scope="session")
def cluster():
    with clusters.running("kube-router") as cluster:
        tls = next(pathlib.Path("/usr/lib").glob("python3.*/lib-dynload/_ssl.*.so"))
        # E2B's SDKs run /bin/bash, whatever an image has.
        layer = images.python(tls).file("bin/bash", b"#!/bin/sh\nexec sh \"$@\"\n", 0o755)
        cluster.load(PYTHON, layer.done(), {"Cmd": ["python"], "Env": ["PATH=/usr/bin:/bin"]})
        deployments.load(cluster)
        yield cluster


@pytest.fixture(scope="module")
def outside(cluster):
    with tempfile.TemporaryDirectory(prefix="skiff-") as folder, egress_internet.internet(cluster, pathlib.Path(folder)) as one:
        yield one


class Installed(Skiff):
    """A skiff whose namespace has the egress proxy, which asks the internet of this test for names."""

    def __init__(self, folder, namespace):
        super().__init__(folder, namespace)
        self.home = namespace.__class__(namespace.cluster, f"{namespace.name}-egress")
        self("egress", "install", "-q", "--image", deployments.SERVE)
        self.home.patch("deployment/skiff-egress", {"spec": {"template": {"spec": {
            "dnsPolicy": "None", "dnsConfig": {"nameservers": [egress_world.FAR]}}}}})
        until(self.is_ready, 60, "two proxies", every=0.1)

    def is_ready(self):
        deployment = self.home.get("deployment", "skiff-egress")
        status = deployment.get("status", {})
        return (status.get("observedGeneration") == deployment["metadata"]["generation"]
                and status.get("readyReplicas") == status.get("updatedReplicas") == status.get("replicas") == 2)

    def environment(self, **more):
        return super().environment(**{"SKIFF_IMAGE": PYTHON, **more})

    def through(self, *attempts, name="box"):
        """The result of each attempt: see box_probes/by_name.py."""
        self("cp", "-q", PROBE, f"{name}:by_name.py")
        return json.loads(self("exec", name, "--", "python3", "by_name.py", json.dumps(attempts))[0])

    def unaware(self, *attempts, name="box"):
        """The result of each attempt of a program that knows no proxy: see box_probes/unaware.py."""
        self("cp", "-q", UNAWARE, f"{name}:unaware.py")
        return json.loads(self("exec", name, "--", "python3", "unaware.py", json.dumps(attempts))[0])

    def reaches(self, *places, name="box"):
        """Whether its commands can look a name up, and connect to each of these places."""
        return json.loads(self("exec", name, "--", "python3", "-c", REACH, *places)[0])

    def log(self, *flags, name="box"):
        return json.loads(self("egress", "log", name, "-o", "json", *flags)[0])["items"]

    def remove(self):
        self("rm", "--all", "--everyone", "-q")
        self("egress", "install", "-q", "--remove")
        until(lambda: self.home.cluster.api.find("namespace", self.home.name) is None, 60, "no namespace of the proxy", every=0.2)


@pytest.fixture(scope="module")
def one(namespaces, outside, request):
    with tempfile.TemporaryDirectory(prefix="skiff-") as folder:
        client = Installed(pathlib.Path(folder), namespaces.make(request.node.name, **{"pod-security.kubernetes.io/enforce": "restricted"}))
        yield client
        client.remove()


@pytest.fixture
def skiff(one):
    yield one
    one("rm", "--all", "--everyone", "-q", "--force")
