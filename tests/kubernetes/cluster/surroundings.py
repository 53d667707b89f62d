"""The parts of the machine that a node sees. All of it belongs to the namespaces of the process that calls this: the
machine itself is left as it is, and everything is gone with the namespaces' last process."""

import os
import pathlib
import subprocess

import families

NODE = "node0"

# The kubelet insists on these, and they are the whole machine's: it is shown files in their place.
KERNEL = {
    "vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
}


def run(*words):
    subprocess.run(list(map(str, words)), stdin=subprocess.DEVNULL, check=True)


def bind(source, target):
    run("mount", "--bind", source, target)


def arrange(folder):
    """Mounts a node's file systems; `folder` is the cluster's own directory, on a disk."""
    mount_sys(folder)
    # The kubelet hands mounts on to containers; those who see them end at this namespace.
    run("mount", "--make-rshared", "/")
    mount_folders(folder)
    show_kernel_settings(folder)
    set_up_network(families.of(folder))


def mount_sys(folder):
    """/sys as this network namespace has it, with the cgroups as they were. In a shared tree the last step would take them
    away again, so this comes first."""
    aside = folder / "cgroups"
    aside.mkdir()
    run("mount", "--rbind", "/sys/fs/cgroup", aside)
    run("mount", "-t", "sysfs", "sysfs", "/sys")
    run("mount", "--rbind", aside, "/sys/fs/cgroup")
    run("umount", "-l", aside)


def mount_folders(folder):
    # A resolver's address would find its way into pods, and a pull that fails would wait for its answer.
    resolver = folder / "resolv.conf"
    resolver.write_text("nameserver 127.0.0.1\n")
    if os.path.exists("/etc/resolv.conf"):
        bind(resolver, os.path.realpath("/etc/resolv.conf"))
    run("mount", "-t", "tmpfs", "tmpfs", "/run")
    (folder / "etcd").mkdir()
    run("mount", "-t", "tmpfs", "-o", "mode=700", "tmpfs", folder / "etcd")
    # The state that a node keeps: the kubelet's, containerd's and the network plug-ins' state, and the containers' output.
    for path in ("/var/lib", "/var/log"):
        own = folder / path[1:]
        own.mkdir(parents=True)
        bind(own, path)


def show_kernel_settings(folder):
    shown = folder / "kernel"
    shown.mkdir()
    for name, value in KERNEL.items():
        file = shown / name.replace("/", "-")
        file.write_text(value + "\n")
        bind(file, f"/proc/sys/{name}")


def set_up_network(of_cluster):
    run("hostname", NODE)
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", NODE, "type", "bridge")
    run("ip", "link", "set", NODE, "up")
    for family in of_cluster:
        # Without a search for duplicates (nodad) an address of IPv6 may be used at once.
        run("ip", "address", "add", f"{family.node}/{family.node_bits}", "dev", NODE, *(["nodad"] if family == families.IP6 else []))
        # It leads nowhere: services' addresses need some route before they are translated.
        run("ip", "route", "add", family.everything, "dev", NODE)
    settings = pathlib.Path("/proc/sys/net")
    (settings / "ipv4/ip_forward").write_text("1\n")
    if families.IP6 in of_cluster:
        (settings / "ipv6/conf/all/forwarding").write_text("1\n")
    # A module that changes bridges on the whole machine, so it is not loaded for this: where it isn't, a pod reaches the
    # others by their own addresses and not by those of services.
    for tables in ("iptables", "ip6tables"):
        bridged = settings / f"bridge/bridge-nf-call-{tables}"
        if bridged.exists():
            bridged.write_text("1\n")
