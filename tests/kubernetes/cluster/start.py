"""Runs a Kubernetes control plane for a test: `start.py`. With a node it is start_node.py.

etcd, API server and controllers, as plain processes on free ports of the loopback interface, in a temporary directory. When
all of it answers, one line of JSON says where: {"kubeconfig": ..., "folder": ...}. Then lines on standard input are obeyed,
each answered by one line:

    kill PART     SIGKILL; PART is etcd, kube-apiserver or kube-controller-manager
    start PART    and wait until it answers

At the end of standard input everything is killed and removed. If this process is killed itself, its children die with it
(the directory stays behind).

The kubeconfig has the contexts admin (a client certificate of system:masters), outsider (a token without any rights)
and stranger (a token that nobody knows)."""

import json
import pathlib
import shutil
import signal
import socket
import sys
import tempfile

import build
import certificates
import control_plane
from families import IP4
from part import StartFailed, obey


def free_ports(count):
    """Ports that nobody has right now. Somebody may take one before we do: then the start fails and is tried again."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def run(folder):
    ports = control_plane.Ports(*free_ports(4))
    server = f"https://127.0.0.1:{ports.server}"
    pki = certificates.make(folder / "pki", ["127.0.0.1", IP4.kubernetes])
    users = {"admin": control_plane.certificate_user(pki, "admin"),
             **control_plane.write_tokens(folder / "tokens.csv", ["outsider"]), "stranger": {"token": "nobody-knows-this"}}
    kubeconfig = control_plane.write_kubeconfig(folder / "admin.conf", pki, server, users)
    listed = control_plane.parts(folder, build.kube(), pki, ports, kubeconfig, [
        "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
        f"--service-account-issuer={server}"])
    try:
        for part in listed:
            part.start()
        print(json.dumps({"kubeconfig": str(kubeconfig), "folder": str(folder)}), flush=True)
        parts = {part.name: part for part in listed}
        for line in sys.stdin:
            print(obey(parts, line), flush=True)
    finally:
        for part in reversed(listed):
            part.kill()


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    for attempt in (1, 2, 3):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="skiff-kube-"))
        try:
            return run(folder)
        except (StartFailed, build.Missing) as error:
            taken = "address already in use" in str(error)
            if not taken or attempt == 3:
                sys.exit(f"error: {error}")
        finally:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
