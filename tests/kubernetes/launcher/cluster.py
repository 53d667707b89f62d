"""A real Kubernetes with a real node, started by tests/kubernetes/cluster/start_node.py, and what tests ask of it. Most share
one (shared_cluster.py); those that break it have their own."""

import contextlib
import json
import os
import pathlib
import select
import subprocess
import tempfile

import pytest

import build
import control_plane
import families
import images
from api import Api

STARTER = pathlib.Path(__file__).resolve().parents[1] / "cluster/start_node.py"
START_SECONDS = 180
ORDER_SECONDS = 120
# At night the files that share a cluster run on clusters of other addresses, too.
SHARED_FAMILIES = os.environ.get("SKIFF_TEST_FAMILIES") or ("ip4" if families.why_not("both") else "both")
MANAGED = "app.kubernetes.io/managed-by=skiff"


class CannotRun(Exception):
    """No node can be made on this machine; the message says why."""


def said_by(process, seconds):
    # The process prints only in answer to an order, so that the buffer is always empty here.
    ready, _, _ = select.select([process.stdout], [], [], seconds)
    return process.stdout.readline().strip() if ready else ""


def launch(told, *addons, of_families="ip4", stdin=subprocess.PIPE, **options):
    """Starts one, whose errors go to the file `told`: (the starter's process, what it says of the cluster). `of_families` is a
    word of families.py."""
    programs = {f"--{name}": os.environ.get(name.upper()) for name in ("skiffd", "testcmd")}
    process = subprocess.Popen(
        ["/usr/bin/python3", "-B", STARTER, *(word for flag in programs.items() if flag[1] for word in flag),
         f"--families={of_families}", *(f"--{name}" for name in addons)], stdin=stdin, stdout=subprocess.PIPE, stderr=told, text=True, **options)
    line = said_by(process, START_SECONDS)
    if not line:
        process.kill()
        process.wait()
        told.seek(0)
        text = told.read().decode(errors="replace").strip()
        raise CannotRun(text.partition("no node here: ")[2]) if "no node here: " in text else RuntimeError(text)
    return process, json.loads(line)


class Cluster:
    """A cluster that runs; `where` is the line that its starter printed."""

    def __init__(self, where):
        self.folder, self.pid = pathlib.Path(where["folder"]), where["pid"]
        self.kubeconfig = pathlib.Path(where["kubeconfig"])
        self.families = families.of(self.folder)
        server = json.loads(self.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
        self.api = Api(server, control_plane.admin_trust(self.folder / "pki"))

    def command(self, *words, user="admin"):
        """kubectl's command line."""
        return [str(build.kube()), "kubectl", f"--kubeconfig={self.kubeconfig}", f"--cache-dir={self.folder}/kubectl",
                f"--context={user}", *map(str, words)]

    def kubectl(self, *words, status=0, input=None, user="admin"):
        """Runs kubectl and returns its output; with another `status`, its error output."""
        done = subprocess.run(self.command(*words, user=user), input=input or "", capture_output=True, text=True, timeout=120)
        assert done.returncode == status, (words, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
        return done.stderr if status else done.stdout

    def inside(self, *words):
        """Runs a program in the node's namespaces, where the addresses of pods and services are reached from."""
        enter = ["nsenter", f"--target={self.pid}", "--net", "--mount", "--pid", "--uts", "--ipc", "--"]
        done = subprocess.run([*enter, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, (words, done)
        return done.stdout

    def in_its_network(self, *words):
        """The command line of a program of this machine that reaches the addresses of pods and services. The API server is at
        the address in admin.conf there."""
        return ["nsenter", f"--target={self.pid}", "--net", "--", *map(str, words)]

    def load(self, name, layer, configuration):
        """Puts an image on the node, which has no registry to pull it from."""
        # Several files of tests load the same image at the same time.
        with tempfile.NamedTemporaryFile(dir=self.folder, suffix=".tar") as archive:
            images.write(pathlib.Path(archive.name), name, layer, configuration)
            self.inside("ctr", "--namespace=k8s.io", "images", "import", "--no-unpack", archive.name)

    def of_skiff(self, namespace=None):
        """Everything that skiff has made, as KIND/NAME in NAMESPACE, but for what it keeps in a namespace on purpose: the
        key that signs tokens, and the network policies that all sandboxes share."""
        found = []
        for kind, item in self.api.labelled(MANAGED, namespace):
            metadata = item["metadata"]
            component = metadata["labels"].get("app.kubernetes.io/component")
            shared = component == "network" and "skiff.dev/sandbox" not in metadata["labels"]
            if component != "key" and not shared:
                found.append(f"{kind.name}/{metadata['name']} in {metadata['namespace']}")
        return sorted(found)


class OwnCluster(Cluster):
    """A cluster that is started here, whose parts may be killed and started."""

    def __init__(self, *addons, of_families="ip4"):
        with tempfile.TemporaryFile() as told:
            self.process, where = launch(told, *addons, of_families=of_families)
        super().__init__(where)

    def tell(self, order):
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()
        answer = said_by(self.process, ORDER_SECONDS)
        assert answer == "done", (order, answer)

    def kill(self, part):
        self.tell(f"kill {part}")

    def start(self, part):
        self.tell(f"start {part}")

    def restart(self, part):
        self.kill(part)
        self.start(part)

    def stop(self):
        """Ends it, and proves that its starter found nothing that it could not remove."""
        self.process.stdin.close()
        assert self.process.wait(60) == 0
        self.process.stdout.close()


def skip(reason):
    pytest.skip(f"no containers here: {reason}")


@contextlib.contextmanager
def running(*addons, of_families="ip4"):
    """A cluster for the tests of one run of pytest, which are skipped where none can be made. At the end nothing of skiff's is
    in any namespace of it."""
    try:
        cluster = OwnCluster(*addons, of_families=of_families)
    except CannotRun as error:
        skip(error)
    try:
        yield cluster
        left = cluster.of_skiff()
        assert not left, left
    finally:
        cluster.stop()


@contextlib.contextmanager
def shared():
    """The one that the file SKIFF_TEST_CLUSTER tells of (shared_cluster.py), or else one for this run of pytest."""
    if file := os.environ.get("SKIFF_TEST_CLUSTER"):
        where = json.loads(pathlib.Path(file).read_text())
        if reason := where.get("cannot_run"):
            skip(reason)
        yield Cluster(where)
        return
    with running("agent-sandbox", of_families=SHARED_FAMILIES) as cluster:
        yield cluster
