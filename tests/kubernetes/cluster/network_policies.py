"""kube-router's controller of network policies in the cluster: it keeps to them by iptables and ipset on the node's bridge.
Neither its routes nor its proxy are used: they are the CNI plugin's and kube-proxy's, as elsewhere."""

import subprocess

import build
import families
from part import Part, answers
from surroundings import NODE


def kube_router(folder, kube):
    # It ends where there is no such node yet.
    subprocess.run([kube, "kubectl", f"--kubeconfig={folder}/admin.conf", f"--cache-dir={folder}/kubectl", "wait", "--for=create",
                    "--timeout=60s", f"node/{NODE}"], stdout=subprocess.DEVNULL, check=True)
    services = [f"--service-cluster-ip-range={family.services}" for family in families.of(folder)]
    return Part(folder, build.kube_router(), [
        f"--kubeconfig={folder}/admin.conf", f"--hostname-override={NODE}", "--run-firewall=true", "--run-router=false",
        "--run-service-proxy=false", "--run-loadbalancer=false", *services,
        "--health-port=20244", "--metrics-port=0",
    ], lambda: answers("http://127.0.0.1:20244/healthz"))
