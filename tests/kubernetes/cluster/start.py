"""Runs a Kubernetes control plane for a test: `start.py`.

etcd, API server and controllers, as plain processes on free ports of the loopback interface, in a temporary folder. When
all of it answers, one line of JSON says where: {"kubeconfig": ..., "folder": ...}. Then lines on standard input are obeyed,
each answered by one line:

    kill PART     SIGKILL; PART is etcd, kube-apiserver or kube-controller-manager
    start PART    and wait until it answers

At the end of standard input everything is killed and removed. If this process is killed itself, its children die with it
(the folder stays behind).

The kubeconfig has the contexts admin (a client certificate of system:masters), outsider (a token without any rights)
and stranger (a token that nobody knows)."""

import base64
import ctypes
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import build
import certificates

PR_SET_PDEATHSIG = 1
START_SECONDS = 90
SERVICES = "10.96.0.0/16"
libc = ctypes.CDLL(None)


class StartFailed(Exception):
    pass


def free_ports(count):
    """Ports that nobody has right now. Somebody may take one before we do: then the start fails and is tried again."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Part:
    """One process of the cluster: how it is started, and how it is known to answer."""

    def __init__(self, folder, name, arguments, ready):
        self.name = name
        self.ready = ready
        self.log = folder / f"{name}.log"
        self.command = [name, *arguments]
        self.process = None

    def start(self, program):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, executable=program, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))
        until = time.monotonic() + START_SECONDS
        while not self.ready():
            if self.process.poll() is not None:
                raise StartFailed(f"{self.name} ended with {self.process.returncode}:\n{self.last_lines()}")
            if time.monotonic() > until:
                raise StartFailed(f"{self.name} does not answer:\n{self.last_lines()}")
            time.sleep(0.05)

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
        if self.process:
            self.process.wait()

    def last_lines(self):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])


def answers(url, context=None):
    try:
        with urllib.request.urlopen(url, timeout=2, context=context) as reply:
            return reply.status == 200
    except (OSError, urllib.error.URLError):
        return False


class Cluster:
    def __init__(self, folder):
        self.folder = folder
        self.program = build.program()
        if not self.program.exists():
            raise StartFailed(f"{self.program} is not there: run tests/kubernetes/cluster/build.py (about five minutes)")
        self.pki = certificates.make(folder / "pki", services_ip="10.96.0.1")
        etcd_port, peer_port, self.port, controllers_port = free_ports(4)
        etcd = f"http://127.0.0.1:{etcd_port}"
        self.server = f"https://127.0.0.1:{self.port}"
        (folder / "tokens.csv").write_text("outsider-token,outsider,1\n")
        trust = ssl.create_default_context(cafile=self.pki / "ca.crt")
        trust.load_cert_chain(self.pki / "admin.crt", self.pki / "admin.key")
        self.write_kubeconfigs()
        pki = self.pki
        # In the order in which they need each other.
        parts = [
            # The data don't outlive the test.
            Part(folder, "etcd", [
                f"--data-dir={folder}/etcd", "--unsafe-no-fsync", f"--listen-client-urls={etcd}", f"--advertise-client-urls={etcd}",
                f"--listen-peer-urls=http://127.0.0.1:{peer_port}", f"--initial-advertise-peer-urls=http://127.0.0.1:{peer_port}",
                f"--initial-cluster=default=http://127.0.0.1:{peer_port}", "--log-level=warn",
            ], lambda: answers(f"{etcd}/health")),
            Part(folder, "kube-apiserver", [
                f"--etcd-servers={etcd}", f"--secure-port={self.port}", "--bind-address=127.0.0.1",
                "--advertise-address=127.0.0.1", "--authorization-mode=Node,RBAC", f"--cert-dir={folder}",
                f"--client-ca-file={pki}/ca.crt", f"--tls-cert-file={pki}/apiserver.crt",
                f"--tls-private-key-file={pki}/apiserver.key", f"--service-cluster-ip-range={SERVICES}",
                f"--service-account-issuer={self.server}", f"--service-account-key-file={pki}/accounts.pub",
                f"--service-account-signing-key-file={pki}/accounts.key", f"--token-auth-file={folder}/tokens.csv",
                f"--kubelet-client-certificate={pki}/admin.crt", f"--kubelet-client-key={pki}/admin.key",
                "--kubelet-preferred-address-types=InternalIP", "--endpoint-reconciler-type=none",
            ], lambda: answers(f"{self.server}/readyz", trust)),
            # With the default rate the first service account takes five seconds.
            Part(folder, "kube-controller-manager", [
                f"--kubeconfig={folder}/admin.conf", "--leader-elect=false", f"--secure-port={controllers_port}",
                "--bind-address=127.0.0.1", f"--cert-dir={folder}", "--use-service-account-credentials",
                f"--service-account-private-key-file={pki}/accounts.key", f"--root-ca-file={pki}/ca.crt",
                "--kube-api-qps=1000", "--kube-api-burst=2000", "--controller-start-interval=0s",
                f"--flex-volume-plugin-dir={folder}/plugins",
            ], lambda: answers(f"{self.server}/api/v1/namespaces/default/serviceaccounts/default", trust)),
        ]
        self.parts = {part.name: part for part in parts}

    def write_kubeconfigs(self):
        def data(name):
            return base64.b64encode((self.pki / name).read_bytes()).decode()

        admin = {"client-certificate-data": data("admin.crt"), "client-key-data": data("admin.key")}
        users = {"admin": admin, "outsider": {"token": "outsider-token"}, "stranger": {"token": "nobody-knows-this"}}
        config = {
            "apiVersion": "v1", "kind": "Config", "current-context": "admin",
            "clusters": [{"name": "test", "cluster": {"server": self.server, "certificate-authority-data": data("ca.crt")}}],
            "users": [{"name": name, "user": user} for name, user in users.items()],
            "contexts": [{"name": name, "context": {"cluster": "test", "user": name}} for name in users],
        }
        self.kubeconfig = self.folder / "admin.conf"
        self.kubeconfig.write_text(json.dumps(config, indent=1))

    def start(self):
        for part in self.parts.values():
            part.start(self.program)

    def stop(self):
        for part in reversed(self.parts.values()):
            part.kill()


def obey(cluster, line):
    words = line.split()
    if len(words) != 2 or words[0] not in ("kill", "start") or words[1] not in cluster.parts:
        return "error: kill PART or start PART"
    part = cluster.parts[words[1]]
    if words[0] == "kill":
        part.kill()
    else:
        part.start(cluster.program)
    return "done"


def run(folder):
    cluster = Cluster(folder)
    try:
        cluster.start()
        print(json.dumps({"kubeconfig": str(cluster.kubeconfig), "folder": str(folder)}), flush=True)
        for line in sys.stdin:
            print(obey(cluster, line), flush=True)
    finally:
        cluster.stop()


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    for attempt in (1, 2, 3):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="skiff-kube-"))
        try:
            return run(folder)
        except StartFailed as error:
            taken = "address already in use" in str(error)
            if not taken or attempt == 3:
                sys.exit(f"error: {error}")
        finally:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
