"""`skiff serve` in a cluster as deploy has it, and what tests ask of it from within the node's network."""

import contextlib
import os
import pathlib
import subprocess
import tempfile

import yaml

import images
from families import in_url
from namespace import Namespace
from skiff import AGENT, BUSYBOX
from waiting import until

DEPLOY = pathlib.Path(__file__).resolve().parents[3] / "deploy"
EXAMPLE = DEPLOY / "examples" / "serve"
SERVE = "skiff.test/serve:1"
HOME, TENANT = "skiff-serve", "skiff-sandboxes"
READY_SECONDS = 60


def load(cluster, name=SERVE):
    """Puts the server's image on the node."""
    cluster.load(name, images.launcher(pathlib.Path(os.environ["SKIFF"])),
                 {"Entrypoint": ["/usr/local/bin/skiff"], "User": "1000:1000", "Env": ["PATH=/usr/local/bin"]})


def overlay(folder, *arguments, pod=None, **environment):
    """This cluster's images, in the way of deploy/examples/serve; with more arguments, variables and fields of the Pod."""
    variables = {"SKIFF_AGENT_IMAGE": AGENT, "SKIFF_IMAGE": BUSYBOX, **environment}
    container = {"name": "serve", "env": [{"name": name, "value": value} for name, value in variables.items()]}
    change = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "skiff-serve", "namespace": HOME},
              "spec": {"template": {"spec": {**(pod or {}), "containers": [container]}}}}
    more = [{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": word} for word in arguments]
    patches = [{"patch": yaml.safe_dump(change)}]
    if more:
        patches.append({"target": {"kind": "Deployment", "name": "skiff-serve"}, "patch": yaml.safe_dump(more)})
    name, _, tag = SERVE.rpartition(":")
    told = {"resources": [os.path.relpath(DEPLOY / "serve", folder.resolve())], "patches": patches,
            "images": [{"name": "registry.invalid/skiff", "newName": name, "newTag": tag}]}
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(told))
    return folder


class Deployed:
    """A `skiff serve` in the cluster: `home` is the server's namespace, `tenant` that of sandboxes."""

    def __init__(self, cluster, home=HOME, tenant=TENANT):
        self.cluster, self.home, self.tenant = cluster, Namespace(cluster, home), Namespace(cluster, tenant)
        self.addresses = self.home.get("service", "skiff-serve")["spec"]["clusterIPs"]
        self.address = in_url(self.addresses[0])

    def pods(self):
        return self.home.items("pods")

    def is_ready(self, replicas=2):
        deployment = self.home.get("deployment", "skiff-serve")
        status = deployment.get("status", {})
        return (status.get("observedGeneration") == deployment["metadata"]["generation"]
                and status.get("readyReplicas") == status.get("updatedReplicas") == status.get("replicas") == replicas)

    def is_reached(self, address=None):
        """The node's own tables follow what is ready."""
        words = ["curl", "-sS", "--fail", "--max-time", "5", f"http://{in_url(address) if address else self.address}/readyz"]
        return subprocess.run(self.cluster.in_its_network(*words), stdin=subprocess.DEVNULL, capture_output=True, timeout=60).returncode == 0

    def curl(self, method, path, key, body=None, kind="application/json", status=200):
        """The answer through the Service, from within the node's network."""
        words = ["curl", "-sS", "-X", method, f"http://{self.address}{path}", "-H", f"X-API-Key: {key}", "-H", f"Content-Type: {kind}",
                 "--max-time", "50", "-w", "\n%{http_code}", *(["--data-binary", body] if body is not None else [])]
        done = subprocess.run(self.cluster.in_its_network(*words), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        text, _, code = done.stdout.rpartition("\n")
        assert int(code) == status, (code, text)
        return text

    def logs(self):
        return "".join(self.home.kubectl("logs", pod["metadata"]["name"]) for pod in self.pods())

    def doctor(self, *words):
        """{what: check} of `skiff doctor --serve` in a replica."""
        line = ["exec", "deploy/skiff-serve", "--", "skiff", "doctor", "--serve", "-o", "json", *words]
        done = subprocess.run(self.cluster.command(f"--namespace={self.home.name}", *line), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60)
        assert done.stdout, done
        return {check["what"]: check for check in yaml.safe_load(done.stdout)["items"]}


@contextlib.contextmanager
def deployed(cluster, *arguments, pod=None, **environment):
    """deploy/serve, while it lasts."""
    load(cluster)
    with tempfile.TemporaryDirectory(prefix="skiff-") as folder:
        cluster.kubectl("apply", "--server-side", "-k", overlay(pathlib.Path(folder), *arguments, pod=pod, **environment))
        one = Deployed(cluster)
        try:
            until(one.is_ready, READY_SECONDS, "two replicas", every=0.1)
            until(one.is_reached, READY_SECONDS, "the Service", every=0.1)
            yield one
        finally:
            cluster.kubectl("delete", "--wait=false", "-k", folder)
