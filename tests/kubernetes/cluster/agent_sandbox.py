"""kubernetes-sigs/agent-sandbox in the cluster: its resources as it publishes them, its controller as a process of the node.
Either the present one, or one from before v1beta1, which has neither that nor a webhook."""

import json
import re
import subprocess

import build
import control_plane
import definitions
import families
from part import Part, answers

NAMESPACE = "agent-sandbox-system"
WEBHOOK = "agent-sandbox-webhook-service"


def endpoint(family):
    """The controller isn't a pod here, so the webhook's Service is told where it is."""
    return {
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {"name": WEBHOOK, "namespace": NAMESPACE, "labels": {"kubernetes.io/service-name": WEBHOOK}},
        "addressType": family.endpoints, "ports": [{"name": "webhook", "port": 9443, "protocol": "TCP"}],
        "endpoints": [{"addresses": [family.node], "conditions": {"ready": True}}],
    }


def resources(folder):
    """All but the Deployment, as one stream, the namespace first."""
    files = [folder / "controller.yaml", *sorted(folder.glob("*rbac*.yaml")), folder / "extensions.yaml", *sorted((folder / "crds").glob("*.yaml"))]
    listed = []
    for file in files:
        for document in re.split(r"^---\s*$", file.read_text(), flags=re.M):
            if not document.strip() or re.search(r"^kind: Deployment$", document, flags=re.M):
                continue
            if f"name: {WEBHOOK}\n" in document:
                document = re.sub(r"^  selector:\n    .*\n", "", document, flags=re.M)
            listed.append(document)
    return "\n---\n".join(listed)


def current(folder, kube):
    built = build.agent_sandbox()
    return controller(folder, kube, built, resources(built / "agent-sandbox") + "\n---\n" + json.dumps(endpoint(families.of(folder)[0])),
                      [f"--webhook-cert-dir={folder}/webhook"])


def v1alpha1(folder, kube):
    built = build.v1alpha1()
    return controller(folder, kube, built, resources(built / "agent-sandbox"), [])


def controller(folder, kube, built, wanted, arguments):
    def kubectl(*words, **options):
        return subprocess.run([kube, "kubectl", f"--kubeconfig={folder}/admin.conf", f"--cache-dir={folder}/kubectl", *words],
                              stdout=subprocess.PIPE, text=True, check=True, **options).stdout

    # Not `apply`: its annotation would hold the definitions once more, and they are too long for that.
    kubectl("create", "-f", "-", input=wanted)
    definitions.wait(kubectl)
    token = kubectl("create", "token", "agent-sandbox-controller", f"--namespace={NAMESPACE}", "--duration=24h").strip()
    config = control_plane.write_kubeconfig(folder / "agent-sandbox.conf", folder / "pki", families.server_url(folder), {"controller": {"token": token}})
    return Part(folder, built / "agent-sandbox-controller", [
        f"--kubeconfig={config}", "--extensions", "--leader-elect=false",
        "--metrics-bind-address=127.0.0.1:8080", "--health-probe-bind-address=127.0.0.1:8081", *arguments,
    ], lambda: answers("http://127.0.0.1:8081/readyz"))
