"""etcd, API server and controllers: what every cluster of the tests has."""

import base64
import json
import ssl
from dataclasses import dataclass

from families import FAMILIES, in_url
from part import Part, answers


@dataclass
class Ports:
    etcd: int = 2379
    peers: int = 2380
    server: int = 6443
    controllers: int = 10257


def admin_trust(pki):
    """The TLS context of requests to the API server that may do anything."""
    trust = ssl.create_default_context(cafile=pki / "ca.crt")
    trust.load_cert_chain(pki / "admin.crt", pki / "admin.key")
    return trust


def certificate_user(pki, name):
    """A user of a kubeconfig by one of certificates.py's pairs."""
    def data(file):
        return base64.b64encode((pki / file).read_bytes()).decode()

    return {"client-certificate-data": data(f"{name}.crt"), "client-key-data": data(f"{name}.key")}


def write_kubeconfig(path, pki, server, users):
    """A context for each of `users` ({name: a kubeconfig's user}); the first one is the current one."""
    authority = base64.b64encode((pki / "ca.crt").read_bytes()).decode()
    path.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": next(iter(users)),
        "clusters": [{"name": "test", "cluster": {"server": server, "certificate-authority-data": authority}}],
        "users": [{"name": name, "user": user} for name, user in users.items()],
        "contexts": [{"name": name, "context": {"cluster": "test", "user": name}} for name in users],
    }, indent=1))
    return path


def write_tokens(path, names):
    """Users without any rights, NAME with the token NAME-token. Returns them as users of a kubeconfig."""
    path.write_text("".join(f"{name}-token,{name},{number}\n" for number, name in enumerate(names, 1)))
    return {name: {"token": f"{name}-token"} for name in names}


def write_audit_policy(folder):
    """From now on the API server of `folder` writes to audit.log who asks it for what, when it begins to answer and when it has."""
    (folder / "audit-policy.json").write_text(json.dumps({
        "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}]}))


def audit_arguments(folder):
    policy = folder / "audit-policy.json"
    return [f"--audit-policy-file={policy}", f"--audit-log-path={folder}/audit.log"] if policy.exists() else []


def parts(folder, program, pki, ports, kubeconfig, server_arguments, families=FAMILIES["ip4"]):
    """The parts, in the order in which they need each other. `kubeconfig` is the controllers'; `server_arguments` are what one
    cluster's API server has other than the next one's."""
    etcd = f"http://127.0.0.1:{ports.etcd}"
    peers = f"http://127.0.0.1:{ports.peers}"
    server = f"https://{in_url(families[0].server)}:{ports.server}"
    trust = admin_trust(pki)
    return [
        # The data don't outlive the test.
        Part(folder, program, [
            f"--data-dir={folder}/etcd", "--unsafe-no-fsync", f"--listen-client-urls={etcd}", f"--advertise-client-urls={etcd}",
            f"--listen-peer-urls={peers}", f"--initial-advertise-peer-urls={peers}", f"--initial-cluster=default={peers}",
            "--log-level=warn",
        ], lambda: answers(f"{etcd}/health"), "etcd"),
        Part(folder, program, [
            f"--etcd-servers={etcd}", f"--secure-port={ports.server}", "--authorization-mode=Node,RBAC", f"--cert-dir={folder}",
            f"--client-ca-file={pki}/ca.crt", f"--tls-cert-file={pki}/apiserver.crt",
            f"--tls-private-key-file={pki}/apiserver.key",
            f"--service-cluster-ip-range={','.join(family.services for family in families)}",
            f"--service-account-key-file={pki}/accounts.pub", f"--service-account-signing-key-file={pki}/accounts.key",
            f"--token-auth-file={folder}/tokens.csv", f"--kubelet-client-certificate={pki}/admin.crt",
            f"--kubelet-client-key={pki}/admin.key", "--kubelet-preferred-address-types=InternalIP", *server_arguments,
        ], lambda: answers(f"{server}/readyz", trust), "kube-apiserver"),
        # With the default rate the first service account takes five seconds. A node that is late with its lease is one that
        # shares two cores with a thousand sandboxes, not one that is lost.
        Part(folder, program, [
            f"--kubeconfig={kubeconfig}", "--leader-elect=false", f"--secure-port={ports.controllers}",
            "--bind-address=127.0.0.1", f"--cert-dir={folder}", "--use-service-account-credentials",
            f"--service-account-private-key-file={pki}/accounts.key", f"--root-ca-file={pki}/ca.crt",
            "--kube-api-qps=1000", "--kube-api-burst=2000", "--controller-start-interval=0s", "--node-monitor-grace-period=10m",
            f"--flex-volume-plugin-dir={folder}/plugins",
        ], lambda: answers(f"{server}/api/v1/namespaces/default/serviceaccounts/default", trust), "kube-controller-manager"),
    ]
