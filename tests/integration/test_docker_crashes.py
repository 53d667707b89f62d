"""A launcher of containers that is killed at any moment leaves nothing that the next command does not find and remove."""

import os
import signal
import stat
import subprocess

import pytest

from engines import by_docker, podman, skiff  # noqa: F401
from waiting import until

#: The calls of an engine that bring a sandbox up, in their order.
CALLS = ["version", "info", "create", "cp", "start", "inspect"]


def watched_engine(skiff, folder, call, when):
    """An engine that says in a file that it is about to make this call, or has made it, and then waits to be ended."""
    said = folder / "said"
    program = folder / skiff.environment()["SKIFF_ENGINE"]
    engine = subprocess.run(["sh", "-c", f"command -v {program.name}"], capture_output=True, text=True, check=True).stdout.strip()
    hold = f"touch {said}; exec sleep 1000"
    before, after = (hold, "") if when == "before" else (f"{engine} \"$@\"", hold)
    program.write_text(f"#!/bin/sh\n[ \"$1\" = {call} ] || exec {engine} \"$@\"\n{before}\n{after}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program), said


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("call", CALLS)
def test_a_launcher_that_is_killed_leaves_nothing(skiff, tmp_path, call, when):
    program, said = watched_engine(skiff, tmp_path, call, when)
    process = skiff.start("up", "box", "-q", env={"SKIFF_ENGINE": program}, start_new_session=True)
    until(said.exists)
    children = [int(pid) for pid in open(f"/proc/{process.pid}/task/{process.pid}/children").read().split()]
    process.send_signal(signal.SIGKILL)
    process.communicate()
    for child in children:
        os.kill(child, signal.SIGKILL)
    skiff("gc", "-q")
    assert skiff.names() == [] and skiff.containers() == {}
    skiff.up()


def test_a_container_that_comes_after_its_record_was_removed_is_found(skiff, tmp_path):
    program, said = watched_engine(skiff, tmp_path, "create", "after")
    process = skiff.start("up", "box", "-q", env={"SKIFF_ENGINE": program})
    until(said.exists)
    children = [int(pid) for pid in open(f"/proc/{process.pid}/task/{process.pid}/children").read().split()]
    process.send_signal(signal.SIGKILL)
    process.communicate()
    for child in children:
        os.kill(child, signal.SIGKILL)
    assert len(skiff.containers()) == 1
    for file in (skiff.sandboxes / "box").glob("*"):
        file.rmdir() if file.is_dir() else file.unlink()
    (skiff.sandboxes / "box").rmdir()
    assert skiff.json("ps")["items"] == [] and skiff.containers() == {}


def test_a_launcher_that_is_interrupted_takes_the_container_back(skiff, tmp_path):
    program, said = watched_engine(skiff, tmp_path, "cp", "before")
    process = skiff.start("up", "box", "-q", env={"SKIFF_ENGINE": program})
    until(said.exists)
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode and skiff.names() == [] and skiff.containers() == {}
