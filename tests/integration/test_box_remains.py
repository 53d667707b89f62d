"""Boxes whose records are gone, as after `rm -rf` of the state directory: skiff ends what runs there, and removes what is left."""

import contextlib
import os
import shutil
import signal
import subprocess

import pytest

import boxes
import proc
from boxes import as_user, skiff  # noqa: F401
from tools import tool
from waiting import until

#: A directory that nobody may write to, as module caches have them, and a process that leaves the tree of its command.
WORK = "mkdir -p ~/cache/module && touch ~/cache/module/file && chmod 500 ~/cache/module && (setsid sleep 1000 &) </dev/null >/dev/null 2>&1"
WAYS = {"rm": ["rm", "demo"], "rm --all": ["rm", "--all"], "gc": ["gc"]}


@contextlib.contextmanager
def working(skiff, name="demo", *arguments):
    """The process 1 of a box with such a directory and such a process. It ends with the block."""
    pid = int(skiff.up(name, *arguments)["details"]["pid"])
    skiff.sh(WORK, name)
    try:
        yield pid
    finally:
        if proc.alive(pid):
            os.kill(pid, signal.SIGKILL)
            until(lambda: not proc.alive(pid), what="the end of the box")


def forget(skiff, name="demo"):
    """Removes what `rm -rf` removes of a box: not the files of a directory that is write-protected."""
    for path in skiff.sandboxes.joinpath(name).iterdir():
        if path.name != "root":
            path.unlink()
    for path in skiff.sandboxes.joinpath(name, "root").iterdir():
        if path.name != "home":
            shutil.rmtree(path)


@pytest.mark.parametrize("way", WAYS)
def test_a_box_whose_record_is_gone_is_ended_and_removed(skiff, way):
    with working(skiff) as pid:
        forget(skiff)
        (seen,) = skiff.json("ps")["items"]
        assert (seen["name"], seen["state"]) == ("demo", "failed") and "its record is gone" in seen["reason"]
        assert "demo" in skiff(*WAYS[way])[0]
        assert not proc.alive(pid) and skiff.names() == []


@pytest.mark.parametrize("way", WAYS)
def test_a_box_whose_directory_is_gone_is_ended(skiff, way):
    with working(skiff) as pid:
        shutil.rmtree(skiff.state / "skiff")
        assert "demo" in skiff(*WAYS[way])[0]
        assert not proc.alive(pid)


@pytest.mark.parametrize("way", WAYS)
def test_files_of_a_box_that_has_ended_are_removed(skiff, way):
    with working(skiff) as pid:
        os.kill(pid, signal.SIGKILL)
        until(lambda: not proc.alive(pid), what="the end of the box")
        forget(skiff)
        assert "demo" in skiff(*WAYS[way])[0]
        assert skiff.names() == []


def test_a_copy_of_a_directory_is_removed_with_its_layer(skiff):
    mounted = skiff.work / "project"
    mounted.mkdir()
    skiff.own(mounted)
    with working(skiff, "demo", "--mount", str(mounted)) as pid:
        forget_all_but = skiff.sandboxes / "demo/root/changes"
        for path in [*(skiff.sandboxes / "demo").iterdir(), *(skiff.sandboxes / "demo/root").iterdir()]:
            if path not in (forget_all_but, forget_all_but.parent):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        assert skiff("gc")[0].startswith("removed demo")
        assert not proc.alive(pid) and skiff.names() == [] and mounted.is_dir()


def test_a_name_with_a_space_in_the_path_is_found(skiff):
    spaced = skiff.state / "a place\\with\tsigns"
    spaced.mkdir()
    skiff.own(spaced)
    pid = int(skiff.json("up", "demo", "-q", env={"XDG_STATE_HOME": str(spaced)})["details"]["pid"])
    shutil.rmtree(spaced / "skiff")
    try:
        assert skiff("gc", env={"XDG_STATE_HOME": str(spaced)})[0].startswith("removed demo")
        assert not proc.alive(pid)
    finally:
        if proc.alive(pid):
            os.kill(pid, signal.SIGKILL)


# --- what is not a box's ---

def test_boxes_with_a_record_stay(skiff):
    with working(skiff) as pid:
        assert skiff("gc")[0] == "" and proc.alive(pid)
        skiff.up("other")
        shutil.rmtree(skiff.sandboxes / "other")
        assert skiff("gc")[0].startswith("removed other") and proc.alive(pid)


def test_a_box_of_another_state_directory_stays(skiff):
    with working(skiff) as pid:
        another = skiff.state / "another"
        another.mkdir()
        skiff.own(another)
        other = {"XDG_STATE_HOME": str(another)}
        assert skiff("gc", env=other)[0] == "" and skiff("rm", "demo", env=other)[0] == ""
        assert proc.alive(pid) and skiff.names() == ["demo"]


def test_files_of_others_stay(skiff):
    skiff.up("box")  # its directory is there
    for path in "mine/root/notes", "mine/notes", "alike/root/home/x", "alike/more":
        (skiff.sandboxes / path).parent.mkdir(parents=True, exist_ok=True)
        (skiff.sandboxes / path).touch()
        for made in (skiff.sandboxes / path, *(skiff.sandboxes / path).parents):
            if made != skiff.sandboxes and skiff.sandboxes in made.parents:
                skiff.own(made)
    try:
        assert skiff("gc")[0] == "" and skiff("rm", "--all")[0] == "box\n"
        assert [item["name"] for item in skiff.json("ps")["items"]] == []
        assert (skiff.sandboxes / "mine/root/notes").exists() and (skiff.sandboxes / "alike/more").exists()
    finally:
        for name in "mine", "alike":
            shutil.rmtree(skiff.sandboxes / name)


def test_a_process_that_is_no_box_stays(skiff):
    """It is process 1 of namespaces of its own, and has mounted a directory of a box where a box has it."""
    skiff.up("demo")
    home = skiff.folder("home", "demo")
    script = f"mount --bind '{home}' /tmp && echo ready && exec sleep 1000"
    process = subprocess.Popen([*as_user(skiff.uid), tool("unshare"), "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child",
                                "sh", "-c", script], stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"ready\n"
        shutil.rmtree(skiff.sandboxes / "demo")
        assert skiff("gc")[0].startswith("removed demo") and process.poll() is None
        assert skiff("gc")[0] == "" and skiff("rm", "demo")[0] == "" and process.poll() is None
    finally:
        process.kill()
        process.wait()


def test_the_files_of_an_egress_proxy_are_those_of_a_box(skiff):
    """Its record alone is gone; what its proxy has written is there."""
    with working(skiff, "demo", "--egress", "pypi.org") as pid:
        directory = skiff.sandboxes / "demo"
        assert any(path.name.startswith("egress-") for path in directory.iterdir())
        os.kill(pid, signal.SIGKILL)
        until(lambda: not proc.alive(pid), what="the end of the box")
        for path in directory.glob("record.json*"):
            path.unlink()
        assert "demo" in skiff("rm", "demo")[0]
        assert skiff.names() == []
