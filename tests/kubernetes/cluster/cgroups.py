"""The cgroups of one cluster: one of its own at the top of each hierarchy of version 1, or of the one tree of version 2."""

import errno
import os
import pathlib
import time

TOP = pathlib.Path("/sys/fs/cgroup")
# The kubelet limits its pods by these on version 2, each where the kernel has it; without the first three no pod can start.
CONTROLLERS = ("cpu", "memory", "pids", "cpuset", "hugetlb")
REQUIRED = CONTROLLERS[:3]
REMOVE_SECONDS = 20


def version2():
    """True where there is nothing but version 2."""
    return (TOP / "cgroup.controllers").exists()


def hierarchies():
    """The mount point of the tree of version 2, or those of each hierarchy of version 1."""
    if version2():
        return [TOP]
    lines = [line.split() for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()]
    return [pathlib.Path(words[1]) for words in lines if words[2] == "cgroup" and words[1].startswith(f"{TOP}/")]


def why_not():
    """Why no cluster can have cgroups here, or None."""
    if not version2():
        return None if hierarchies() else f"no cgroups are mounted below {TOP}"
    there = words(TOP / "cgroup.controllers")
    missing = [name for name in REQUIRED if name not in there]
    if missing:
        return f"the cgroups of version 2 in {TOP} lack the controllers {', '.join(missing)}"
    # A group with processes hands nothing down (cgroups(7)); only the machine's first one may do both, and has no such file.
    held = (TOP / "cgroup.events").exists() and words(TOP / "cgroup.procs")
    if held and not set(wanted()) <= set(words(TOP / "cgroup.subtree_control")):
        return f"processes in {TOP} keep it from handing its controllers down: move them into a group below it"
    return None


def words(file):
    return file.read_text().split()


def wanted():
    there = words(TOP / "cgroup.controllers")
    return [name for name in CONTROLLERS if name in there]


def make(name):
    if version2():
        # They stay handed down: another cluster may rely on it by the time that this one ends.
        (TOP / "cgroup.subtree_control").write_text(" ".join(f"+{one}" for one in wanted()))
    for top in hierarchies():
        (top / name).mkdir()
        # A new cpuset of version 1 holds nothing, and takes no process until it does.
        for file in () if version2() else ("cpuset.cpus", "cpuset.mems"):
            if (top / file).exists():
                (top / name / file).write_text((top / file).read_text())


def of(name):
    """The cgroups of the cluster or container of that name."""
    # Beside version 1 there may be a tree of version 2 without controllers, in which runc makes them too.
    return [top / name for top in [*hierarchies(), TOP / "unified"] if (top / name).exists()]


def remove(name):
    """Removes it once all of its processes are gone. One that is on its way out keeps its cgroup busy for a moment."""
    until = time.monotonic() + REMOVE_SECONDS
    for group in of(name):
        for folder, _, _ in os.walk(group, topdown=False):
            while True:
                try:
                    os.rmdir(folder)
                    break
                except FileNotFoundError:
                    break
                except OSError as error:
                    if error.errno != errno.EBUSY or time.monotonic() > until:
                        raise
                    time.sleep(0.02)
