"""The first process of a cluster's namespaces: `machine.py FOLDER [ADDON...]`, started by start_node.py.

It ends with everything that runs in them, mounts and networks too. It says `ready` when all of the cluster answers, and then
obeys orders like start.py."""

import os
import pathlib
import sys

import agent_sandbox
import build
import network_policies
import node
import simulated_nodes
import surroundings
from part import StartFailed, obey

ADDONS = {"agent-sandbox": agent_sandbox.current, "agent-sandbox-v1alpha1": agent_sandbox.v1alpha1, "kwok": simulated_nodes.kwok,
          "kube-router": network_policies.kube_router}


def start(folder, wanted):
    """Everything, each part as soon as what it needs is there. Returns the parts."""
    kube = build.kube()
    etcd, server, controllers = node.control_plane_parts(folder, kube)
    containerd = node.containerd(folder)
    rest = node.parts(folder, kube)
    etcd.launch()
    containerd.launch()
    etcd.wait()  # else the API server's first dials fail, and it waits a second
    server.launch()
    containerd.wait()
    node.import_images(folder)
    server.wait()
    for part in rest:
        part.launch()
    # The controllers look for new kinds of objects every 30 seconds, and until then don't remove what belongs to one of them:
    # the add-ons define theirs before.
    later = [controllers, *(ADDONS[name](folder, kube) for name in wanted)]
    for part in later:
        part.launch()
    for part in [*rest, *later]:
        part.wait()
    return {part.name: part for part in [etcd, server, containerd, *rest, *later]}


def run(folder, wanted):
    surroundings.arrange(folder)
    parts = start(folder, wanted)
    print("ready", flush=True)
    for line in sys.stdin:
        print(obey(parts, line), flush=True)


def reap(first):
    """Reaps orphans, as the first process of a pid namespace must, until `first` ends. Then the kernel ends all others."""
    while True:
        pid, status = os.wait()
        if pid == first:
            return os.waitstatus_to_exitcode(status)


def main():
    child = os.fork()
    if child:
        sys.exit(reap(child))
    try:
        run(pathlib.Path(sys.argv[1]), sys.argv[2:])
    except (StartFailed, OSError, build.Missing) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
