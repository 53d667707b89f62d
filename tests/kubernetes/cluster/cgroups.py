"""The cgroups of one cluster: a folder of its own at the top of each hierarchy of cgroup v1."""

import errno
import os
import pathlib
import time

REMOVE_SECONDS = 20


def hierarchies():
    """Where each hierarchy of cgroup v1 is mounted."""
    lines = [line.split() for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()]
    return [pathlib.Path(words[1]) for words in lines if words[2] == "cgroup" and words[1].startswith("/sys/fs/cgroup/")]


def make(name):
    for top in hierarchies():
        (top / name).mkdir()
        # A new cpuset holds nothing, and takes no process until it does.
        for file in ("cpuset.cpus", "cpuset.mems"):
            if (top / file).exists():
                (top / name / file).write_text((top / file).read_text())


def remove(name):
    """Once all of its processes are gone. One that is on its way out keeps its cgroup busy for a moment."""
    until = time.monotonic() + REMOVE_SECONDS
    for top in [*hierarchies(), pathlib.Path("/sys/fs/cgroup/unified")]:
        for folder, _, _ in os.walk(top / name, topdown=False):
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
