"""A real Kubernetes with a real node, started by tests/kubernetes/cluster/start_node.py, and what tests ask of it."""

import contextlib
import json
import os
import pathlib
import re
import select
import subprocess
import sys
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
STARTER = HERE.parent / "cluster/start_node.py"
sys.path.append(str(STARTER.parent))

import build  # noqa: E402  of the folder above

START_SECONDS = 180
ORDER_SECONDS = 120
MANAGED = "app.kubernetes.io/managed-by=skiff"


class CannotRun(Exception):
    """No node can be made on this machine; the message says why."""


class Cluster:
    def __init__(self, *addons):
        programs = {f"--{name}": os.environ.get(name.upper()) for name in ("skiffd", "testcmd")}
        with tempfile.TemporaryFile() as told:
            self.process = subprocess.Popen(
                ["/usr/bin/python3", "-B", STARTER, *(word for flag in programs.items() if flag[1] for word in flag),
                 *(f"--{name}" for name in addons)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=told, text=True)
            line = self._line(START_SECONDS)
            if not line:
                self.process.kill()
                self.process.wait()
                told.seek(0)
                text = told.read().decode(errors="replace").strip()
                raise CannotRun(text.partition("no node here: ")[2]) if "no node here: " in text else RuntimeError(text)
        where = json.loads(line)
        self.folder, self.pid = pathlib.Path(where["folder"]), where["pid"]
        self.kubeconfig = pathlib.Path(where["kubeconfig"])

    def _line(self, seconds):
        # Nothing is said but in answer to an order, so that nothing is ever left in the buffer.
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        return self.process.stdout.readline().strip() if ready else ""

    def tell(self, order):
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()
        answer = self._line(ORDER_SECONDS)
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

    def command(self, *words, user="admin"):
        """kubectl's command line."""
        return [str(build.kube()), "kubectl", f"--kubeconfig={self.kubeconfig}", f"--cache-dir={self.folder}/kubectl",
                f"--context={user}", *map(str, words)]

    def kubectl(self, *words, status=0, input=None, user="admin"):
        """What it prints; with another `status`, what it says of the failure."""
        done = subprocess.run(self.command(*words, user=user), input=input or "", capture_output=True, text=True, timeout=120)
        assert done.returncode == status, (words, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
        return done.stderr if status else done.stdout

    def get(self, *words):
        return json.loads(self.kubectl("get", *words, "-o", "json"))

    def create(self, *objects, **options):
        return self.kubectl("create", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}), **options)

    def inside(self, *words):
        """Runs a program in the node's namespaces, where the addresses of pods and services are reached from."""
        enter = ["nsenter", f"--target={self.pid}", "--net", "--mount", "--pid", "--uts", "--ipc", "--"]
        done = subprocess.run([*enter, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, (words, done)
        return done.stdout

    def kinds(self):
        """All kinds of objects that live in namespaces, but for what Kubernetes derives from others with their labels, and
        removes in its own time."""
        listed = self.kubectl("api-resources", "--namespaced", "--verbs=list", "-o", "name").split()
        return ",".join(kind for kind in listed if kind.partition(".")[0] not in ("events", "endpoints", "endpointslices"))

    def of_skiff(self, *scope):
        """Everything that skiff has made, as KIND/NAME in NAMESPACE, but for what it keeps in a namespace on purpose: the
        key that signs tokens, and the network policies that all sandboxes share."""
        found = []
        for item in self.get(self.kinds(), "--selector", MANAGED, *scope)["items"]:
            metadata = item["metadata"]
            component = metadata["labels"].get("app.kubernetes.io/component")
            shared = component == "network" and "skiff.dev/sandbox" not in metadata["labels"]
            if component != "key" and not shared:
                found.append(f"{item['kind']}/{metadata['name']} in {metadata['namespace']}")
        return sorted(found)


@contextlib.contextmanager
def running(*addons):
    """A cluster for all tests of a file, which are skipped where none can be made. At the end nothing of skiff's is in any
    namespace of it."""
    try:
        cluster = Cluster(*addons)
    except CannotRun as error:
        pytest.skip(f"no containers here: {error}")
    try:
        yield cluster
        left = cluster.of_skiff("--all-namespaces")
        assert not left, left
    finally:
        cluster.stop()


class Namespace:
    """One namespace of it, for one test."""

    def __init__(self, cluster, name, labels):
        self.cluster, self.name = cluster, name
        cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
        self.wait("serviceaccount/default", "create")  # without it no pod is taken

    def kubectl(self, *words, **options):
        return self.cluster.kubectl(f"--namespace={self.name}", *words, **options)

    def get(self, *words):
        return self.cluster.get(f"--namespace={self.name}", *words)

    def create(self, *objects, **options):
        placed = [{**one, "metadata": {**one["metadata"], "namespace": self.name}} for one in objects]
        return self.cluster.create(*placed, **options)

    def wait(self, what, condition, seconds=60):
        """Until it is there and the condition is true of it."""
        self.kubectl("wait", what, "--for=create", f"--timeout={seconds}s")
        if condition != "create":
            self.kubectl("wait", what, f"--for={condition}", f"--timeout={seconds}s")

    def of_skiff(self):
        return self.cluster.of_skiff(f"--namespace={self.name}")

    def remove(self):
        self.kubectl("delete", "namespace", self.name, "--wait=false")

    def forward(self, pod, port):
        return Forward(self, pod, port)


class Forward:
    """`kubectl port-forward` to a pod; `port` is the one here."""

    def __init__(self, namespace, pod, port):
        self.process = subprocess.Popen(
            namespace.cluster.command(f"--namespace={namespace.name}", "port-forward", f"pod/{pod}", f":{port}", "--address=127.0.0.1"),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        found = re.search(r"127\.0\.0\.1:(\d+) ->", line)
        assert found, (line, self.process.poll())
        self.port = int(found.group(1))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
