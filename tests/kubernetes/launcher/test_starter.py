"""The cluster's starter removes everything, however it ends. Each of these runs beside the cluster of all other tests."""

import json
import os
import pathlib
import signal
import subprocess

import pytest

import cgroups
import proc
from cluster import STARTER
from waiting import until


@pytest.fixture
def begin(tmp_path):
    """Starts one whose directory lies in `tmp_path`."""
    processes = []

    def start(*arguments):
        process = subprocess.Popen(["/usr/bin/python3", "-B", STARTER, *map(str, arguments)], env={**os.environ, "TMPDIR": str(tmp_path)},
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def folder_of(tmp_path):
    return next(iter(tmp_path.glob("skiff-node-*")), None)


def left_of(tmp_path, name):
    """The files, cgroups and processes of a cluster, also those of its containers."""
    processes = [line for line in map(proc.command_line, proc.pids()) if name in line]
    return [*tmp_path.iterdir(), *cgroups.of(name), *processes]


def wait_until_gone(tmp_path, name):
    until(lambda: not left_of(tmp_path, name), seconds=30, what="that nothing is left")


@pytest.mark.parametrize("phase", ["pki", "kube-apiserver.log", "kubelet.log"])
def test_nothing_is_left_when_it_is_killed_while_it_starts(begin, tmp_path, phase):
    process = begin()
    folder = until(lambda: folder_of(tmp_path), what="its directory")
    until(lambda: (folder / phase).exists(), seconds=60, what=phase)
    process.kill()
    wait_until_gone(tmp_path, folder.name)


def test_nothing_is_left_when_it_is_killed_while_it_runs(begin, tmp_path, cluster):
    process = begin()
    where = json.loads(process.stdout.readline())
    name = pathlib.Path(where["folder"]).name
    assert left_of(tmp_path, name) and proc.alive(where["pid"])
    process.kill()
    wait_until_gone(tmp_path, name)
    assert not proc.alive(where["pid"])
    cluster.api.get("nodes")  # the other one lives on


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_has_removed_everything_when_it_ends_by_a_signal(begin, tmp_path, number):
    process = begin()
    folder = until(lambda: folder_of(tmp_path), what="its directory")
    until(lambda: (folder / "containerd.log").exists(), seconds=60, what="containerd")
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 1
    assert left_of(tmp_path, folder.name) == []


def test_a_start_that_fails_says_why_and_leaves_nothing(begin, tmp_path):
    process = begin("--skiffd", "/no/such/skiffd")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "")
    assert "/no/such/skiffd" in err
    assert list(tmp_path.iterdir()) == []
