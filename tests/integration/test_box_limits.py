"""Limits of boxes: held where this machine lets skiff, refused where it does not, seen from within, and gone with the box."""

import os
import pathlib
import signal

import pytest

from boxes import skiff  # noqa: F401
from waiting import until

GROUPS = [pathlib.Path("/sys/fs/cgroup", one, "skiff") for one in ("memory", "cpu", "cpu,cpuacct", ".")]
MEMORY_FILES = "/sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max"
GREEDY = "held = [bytearray(1 << 20) for _ in range(2000)]"


def groups_of(name):
    """The control groups of a sandbox with a name of its own."""
    return [one for top in GROUPS if top.is_dir() for one in top.glob(name + ".*")]


def need_groups(skiff):
    lines = [one["detail"] for one in skiff.json("doctor", "--driver", "box")["items"] if one["what"] == "limits of memory and CPU"]
    if lines != ["by control groups"]:
        pytest.skip(f"not run: {lines}")


def test_limits_that_are_not_held_are_refused_with_the_ways_on(skiff):
    if skiff.uid == 0:
        pytest.skip("not run: root may create control groups")
    for flag, value in (("--memory", "512Mi"), ("--cpu", "1")):
        err = skiff("up", "box", flag, value, status=125)[1]
        for word in (flag, "control groups", "as root", "--driver docker", f"leave out {flag}"):
            assert word in err, err
        assert skiff.names() == [] and not groups_of("box")
    (said,) = [one for one in skiff.json("doctor")["items"] if one["what"] == "limits of memory and CPU"]
    assert (said["passed"], said["offered"]) == (True, False) and "as root" in said["remedy"], said
    details = skiff.up("box")["details"]
    assert details["limits"] == "4096 processes; memory, CPU and disk are not limited"


def test_a_box_has_the_memory_that_it_was_given_and_sees_it(skiff):
    need_groups(skiff)
    made = skiff.up("memory-box", "--memory", "64Mi:128Mi", "--cpu", "500m")
    assert made["details"]["limits"] == "4096 processes, 128 MiB of memory, 0.5 CPU; disk is not limited"
    assert groups_of("memory-box")
    assert skiff.sh(f"cat {MEMORY_FILES} 2>/dev/null; true", "memory-box").strip() == str(128 << 20)
    assert skiff.sh("for f in $(find /sys/fs/cgroup -type f); do (echo 1 > $f) 2>/dev/null && echo $f; done; true", "memory-box") == ""
    assert skiff.sh("mkdir /sys/fs/cgroup/x /sys/fs/cgroup/memory/x 2>/dev/null && echo made; true", "memory-box") == ""
    greedy = skiff.start("exec", "memory-box", "--", "python3", "-c", GREEDY)
    _, err = greedy.communicate(timeout=100)
    assert greedy.returncode in (137, 143) and b"oom" in err, (greedy.returncode, err)
    assert skiff.json("ps", "memory-box")["state"] == "running", "the agent went with its command"
    assert skiff.sh("echo still", "memory-box") == "still\n"


def test_its_groups_end_with_it(skiff):
    need_groups(skiff)
    skiff.up("group-box", "--memory", "256Mi", "--cpu", "2")
    skiff("stop", "group-box")
    assert not groups_of("group-box")
    pid = int(skiff.json("start", "group-box", "-q")["details"]["pid"])
    assert groups_of("group-box")
    skiff("exec", "group-box", "--mode", "background", "--", "setsid", "sleep", "1000")
    os.kill(pid, signal.SIGKILL)
    skiff("rm", "group-box", "-q")
    assert not groups_of("group-box")


def test_a_garbage_collection_removes_the_groups_of_a_box_that_has_ended(skiff):
    need_groups(skiff)
    skiff.up("leased-box", "--memory", "256Mi", "--ttl", "1s")
    until(lambda: skiff.json("ps")["items"][0]["state"] == "ended")
    skiff("gc", "-q")
    assert skiff.names() == [] and not groups_of("leased-box")


def test_a_damaged_record_does_not_keep_its_groups(skiff):
    need_groups(skiff)
    skiff.up("damaged-box", "--memory", "256Mi")
    record = skiff.sandboxes / "damaged-box/record.json"
    record.write_text("{")
    skiff("rm", "damaged-box", "-q", "--everyone")
    assert not groups_of("damaged-box")


def test_a_box_has_as_many_processes_as_it_was_given(skiff):
    made = skiff.up("box", "--pids", "40")
    assert made["details"]["limits"].startswith("40 processes;")
    said = skiff.sh("ulimit -u 2>/dev/null; python3 -c 'import subprocess as s\nall = []\ntry:\n  for _ in range(60): "
                    "all.append(s.Popen([\"sleep\", \"100\"]))\nexcept OSError as e: print(e.errno, len(all) < 40)\n"
                    "for one in all: one.kill()'")
    assert "11 True" in said, said


def test_limits_that_no_box_has_are_refused(skiff):
    for words, what in ((("--pids", "3"), "16 to 4096"), (("--pids", "5000"), "16 to 4096"), (("--memory", "1Mi"), "from 32Mi"),
                        (("--cpu", "1m"), "from 10m"), (("--disk", "1Gi"), "cannot limit the disk")):
        err = skiff("up", "box", *words, status=125)[1]
        assert what in err, err
        assert skiff.names() == []
    err = skiff("up", "box", "--driver", "local", "--pids", "64", status=125)[1]
    assert "--pids" in err and "driver box" in err


def test_a_full_disk_has_no_room_for_a_new_box(skiff):
    if os.geteuid() != 0:
        pytest.skip("not run: only root can mount a small file system")
    script = f'mount -t tmpfs -o size=64m,uid={skiff.uid},mode=700 tmpfs {skiff.state} && exec "$@"'
    usual, skiff.command = skiff.command, ["unshare", "--mount", "sh", "-c", script, "sh", *skiff.command]
    try:
        err = skiff("up", "box", status=125)[1]
    finally:
        skiff.command = usual
    assert "MiB are free" in err and "needs 1 GiB" in err and "skiff gc" in err, err
