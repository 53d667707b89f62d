"""Runs a whole Kubernetes for a test: `start_node.py [--skiffd PATH] [--testcmd PATH] [--families ip4|ip6|both] [--audit] [ADDON...]`,
of the add-ons --agent-sandbox, --agent-sandbox-v1alpha1 (an old release, which has no other version; one of the two), --kwok
and --kube-router. families.py says which addresses a cluster of IPv4, of IPv6 and of both has. With --audit the API server
writes every request to audit.log, and the node takes more Pods than usual.

etcd, API server, controllers, scheduler, and one real node, `node0`: containerd, runc, kubelet, kube-proxy. All of it in
namespaces of its own, so that nothing collides with the machine or with another cluster, and everything ends with them;
only root may make them. What it isn't: there is no name service, no registry, no load balancer, no storage class, and
network policies are kept but, without kube-router, not enforced. images.py says which images there are (--skiffd, --testcmd: the
static programs in two of them).

When all of it answers, one line of JSON says where: {"kubeconfig", "folder", "pid"}. The pid is of the namespaces' first
process: `nsenter --target PID --net` is where addresses of pods and services are reached from. The kubeconfig has the contexts
admin (system:masters), outsider, user-1 .. user-8 (tokens without any rights, for tests to give them some) and stranger (a
token that nobody knows). The directory has the authority that signs all certificates (pki/ca.crt, ca.key) and every log.

Then lines on standard input are obeyed, each answered by one line: `kill PART` (SIGKILL) and `start PART` (and wait until it
answers). The parts are etcd, kube-apiserver, kube-controller-manager, kube-scheduler, containerd, kubelet, kube-proxy; relay,
the way in, whose end cuts all connections to the API server; agent-sandbox-controller, kwok and kube-router where they were asked
for.

At the end of standard input, and when this process is ended, however that happens, processes, containers, mounts, networks,
cgroups and the directory are removed."""

import argparse
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

import build
import certificates
import cgroups
import control_plane
import families
import images
import node
import surroundings
from part import PR_SET_PDEATHSIG, Part, StartFailed, die_with_parent, libc, obey

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = ["/usr/bin/python3", "-B"]
PR_SET_CHILD_SUBREAPER = 36
ADDONS = ("agent-sandbox", "agent-sandbox-v1alpha1", "kwok", "kube-router")
USERS = ["outsider", *(f"user-{number}" for number in range(1, 9))]


class Namespaces:
    """The machine inside: machine.py and all that it runs."""

    def __init__(self, folder, addons):
        self.process = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "--net", "--pid", "--fork", "--mount-proc", "--ipc", "--uts",
             "--kill-child", *PYTHON, HERE / "machine.py", folder, *addons],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent)

    def line(self):
        """The next line of its output."""
        said = self.process.stdout.readline()
        if not said:
            raise StartFailed("the cluster has ended, see its message above")
        return said.strip()

    def tell(self, order):
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()
        return self.line()

    def pid(self):
        """The pid of the first process in them, seen from outside."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return int(children.read_text().split()[0])


def prepare(folder, options):
    """All files that the cluster is started from. Returns the kubeconfig's users."""
    families.write(folder, options.families)
    of_cluster = families.of(folder)
    pki = certificates.make(folder / "pki", [address for one in of_cluster for address in (one.loopback, one.kubernetes, one.node)])
    certificates.make_for_node(pki, surroundings.NODE, [one.node for one in of_cluster])
    if options.audit:
        control_plane.write_audit_policy(folder)
    node.write_configs(folder, folder.name, most_pods=400 if options.audit else 110)
    images.make(folder / "images", options.skiffd, options.testcmd)
    return {"admin": control_plane.certificate_user(pki, "admin"),
            **control_plane.write_tokens(folder / "tokens.csv", USERS), "stranger": {"token": "nobody-knows-this"}}


def open_way_in(folder, machine, users):
    """A port of ours that leads to the API server inside, and the kubeconfig that names it."""
    first = families.of(folder)[0]
    listener = socket.create_server((first.loopback, 0), family=socket.AF_INET6 if first == families.IP6 else socket.AF_INET, backlog=1024)
    server = f"https://{families.in_url(first.loopback)}:{listener.getsockname()[1]}"
    kubeconfig = control_plane.write_kubeconfig(folder / "kubeconfig", folder / "pki", server, users)
    # The socket stays ours when the relay is killed: connections wait for the next relay.
    descriptor = listener.detach()
    relay = Part(folder, PYTHON[0], [
        "-B", HERE / "relay.py", descriptor, f"/proc/{machine.process.pid}/ns/net", first.server, families.server_url(folder).rpartition(":")[2],
    ], lambda: True, "relay", pass_fds=[descriptor])
    relay.launch()
    return relay, kubeconfig


def why_not(word):
    """Why no node of these families can run here, or None."""
    if os.geteuid() != 0:
        return "only root may make the namespaces of a node"
    if reason := cgroups.why_not() or families.why_not(word):
        return reason
    missing = [program for program in ("containerd", "runc", "iptables", "ip6tables", "ip", "clang-19") if shutil.which(program) is None]
    return f".ci/setup --tests has not installed {', '.join(missing)}" if missing else None


def run(folder, options):
    cgroups.make(folder.name)
    users = prepare(folder, options)
    machine = Namespaces(folder, [name for name in ADDONS if vars(options)[name.replace("-", "_")]])
    machine.line()
    relay, kubeconfig = open_way_in(folder, machine, users)
    print(json.dumps({"kubeconfig": str(kubeconfig), "folder": str(folder), "pid": machine.pid()}), flush=True)
    for line in sys.stdin:
        ours = line.split()[1:] == [relay.name]
        print(obey({relay.name: relay}, line) if ours else machine.tell(line.strip()), flush=True)


def end_children():
    """The end of `unshare` takes the namespaces' first process along, and that one all others. They are ours then, and
    only when the last one is reaped nothing holds a mount or a cgroup any more."""
    children = pathlib.Path(f"/proc/self/task/{os.getpid()}/children")
    while pids := children.read_text().split():
        for pid in pids:
            os.kill(int(pid), signal.SIGKILL)
        os.wait()


def keep(options):
    """Lives until all is removed, whatever becomes of the process that was started."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="skiff-node-"))
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        run(folder, options)
    except (StartFailed, OSError, subprocess.CalledProcessError, build.Missing) as error:
        sys.exit(f"error: {error}")
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        end_children()
        cgroups.remove(folder.name)
        shutil.rmtree(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--skiffd", type=pathlib.Path)
    parser.add_argument("--testcmd", type=pathlib.Path)
    parser.add_argument("--families", choices=families.FAMILIES, default="ip4")
    parser.add_argument("--audit", action="store_true")
    for name in ADDONS:
        parser.add_argument(f"--{name}", action="store_true")
    options = parser.parse_args()
    if reason := why_not(options.families):
        sys.exit(f"error: no node here: {reason}")
    front = os.getpid()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    keeper = os.fork()
    if keeper == 0:
        os.setsid()  # a terminal's Ctrl-C is for the one in front
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() == front:
            keep(options)
        return
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os.kill(keeper, signal.SIGTERM))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(keeper, 0)[1]))


if __name__ == "__main__":
    main()
