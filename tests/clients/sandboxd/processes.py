"""The cases of several clients ask these of processes."""

import os
import pathlib
import time

import cases


def pid_of(name):
    """The number that a command wrote to a file of the root, at one stroke."""
    path = pathlib.Path(cases.ROOT) / name
    for _ in range(3000):
        if path.exists():
            return int(path.read_text())
        time.sleep(0.01)
    raise AssertionError(f"{name} was not written")


def ends(pid):
    for _ in range(3000):
        if not os.path.exists(f"/proc/{pid}"):
            return
        time.sleep(0.01)
    raise AssertionError(f"process {pid} still runs")


def tells_its_pid(name):
    """A shell line of a process that ends only when it is ended, and a child of it that left its session."""
    return f"setsid sh -c 'echo $$ > {name}.new; mv {name}.new {name}; sleep 1000' & wait"
