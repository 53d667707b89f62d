"""A launcher of boxes that is killed at any moment leaves nothing that the next command does not find and remove."""

import os
import random
import signal
import time

import pytest

import boxes
import proc
from boxes import skiff  # noqa: F401


def agents_of(skiff):
    return [pid for pid in proc.pids() if proc.command_line(pid).startswith("/.skiff/skiffd") and
            os.stat(f"/proc/{pid}").st_uid not in (0, *boxes.USERS.values())]


def mounts():
    with open("/proc/self/mounts") as file:
        return file.read().count("/usr/.staging")


@pytest.mark.parametrize("moment", range(12))
def test_a_launcher_that_is_killed_leaves_nothing(skiff, moment):
    before = mounts()
    chosen = random.Random(moment)
    process = skiff.start("up", "box", "-q")
    time.sleep(chosen.uniform(0, 0.04))  # any moment will do: what is left may differ, and must be removed
    process.send_signal(signal.SIGKILL)
    process.communicate()
    if (skiff.sandboxes / "box/record.json").exists():
        skiff.users.add(skiff.record()["user"])
    skiff("rm", "--all", "--everyone", "-q", "-f")
    assert skiff.names() == [] and not skiff.processes()
    assert mounts() == before
    assert skiff.up("box")["state"] == "running"


def test_a_box_whose_record_does_not_know_its_process_is_found(skiff):
    pid = int(skiff.up()["details"]["pid"])
    skiff.change_record(pid=0, started_ticks=0)
    os.chown(skiff.sandboxes / "box/record.json", skiff.uid, -1)
    skiff("rm", "box", "-q")
    assert not proc.alive(pid)


def test_a_launcher_that_is_interrupted_takes_the_box_back(skiff):
    process = skiff.start("up", "box", "-q")
    time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    process.communicate()
    if process.returncode:
        assert skiff.names() == [] and not skiff.processes()
