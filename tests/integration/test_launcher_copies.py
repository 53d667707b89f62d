"""`skiff cp` as cp -r does it: what arrives is what was there, and what does not arrive is told. Real skiff, real skiffd."""

import json
import os
import socket
import subprocess
import tarfile
import threading

import pytest

from speaking import Said, in_place_of_the_agent
from tools import tool

MIB = 1 << 20


@pytest.fixture
def skiff(skiff):
    skiff.up()
    return skiff


def at_ns(path, seconds):
    os.utime(path, ns=(int(seconds * 1e9), int(seconds * 1e9)), follow_symlinks=False)
    return path


# --- what arrives ---

def make_odd(tree):
    """Files of all kinds that a copy keeps; gives what `look` says of them."""
    (tree / "deep").mkdir(parents=True)
    (tree / "one").write_text("shared\n")
    os.link(tree / "one", tree / "deep/two")
    os.link(tree / "one", tree / "three")
    for name, head, size, tail in (("hole at the end", b"x", 3_000_000, b""), ("hole", b"x", 3_000_000, b"y"), ("only a hole", b"", 8192, b"")):
        with open(tree / name, "wb") as file:
            file.write(head)
            file.truncate(size)
            file.seek(0, 2)
            file.write(tail)
    (tree / "sticky").mkdir()
    (tree / "sticky").chmod(0o1777)
    (tree / "script").write_text("#!/bin/sh\n")
    (tree / "script").chmod(0o750)
    (tree / "dash -n").symlink_to("deep/two")
    at_ns(tree / "one", 1_700_000_000.5)
    at_ns(tree / "script", -86_400.25)
    at_ns(tree / "dash -n", 1_600_000_000.125)
    at_ns(tree / "sticky", 1_500_000_000.0625)
    return look(tree)


def look(tree):
    """{path: (mode, time, content or target, first of its names, whether it has holes)}"""
    seen, found = {}, {}
    for path in sorted(tree.rglob("*")):
        status = path.lstat()
        first = seen.setdefault((status.st_dev, status.st_ino), path.relative_to(tree))
        what = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        time = None if path.is_dir() and path.name == "deep" else status.st_mtime_ns
        found[str(path.relative_to(tree))] = (oct(status.st_mode), time, what, str(first))
    return found


def has_holes(path):
    return path.stat().st_blocks * 512 < path.stat().st_size


def test_a_tree_arrives_as_it_was_both_ways(skiff):
    before = make_odd(skiff.work / "odd")
    assert skiff("cp", "odd", "box:there") == ("", "")
    inside = look(skiff.root() / "there")
    assert inside == before
    assert has_holes(skiff.root() / "there/hole") and has_holes(skiff.root() / "there/hole at the end")
    assert skiff("cp", "box:there", "back") == ("", "")
    assert look(skiff.work / "back") == before
    assert has_holes(skiff.work / "back/hole") and has_holes(skiff.work / "back/hole at the end")
    skiff("cp", "odd/hole", "box:alone")
    assert (skiff.root() / "alone").read_bytes() == (skiff.work / "odd/hole").read_bytes()
    skiff("cp", "box:alone", "alone")
    assert (skiff.work / "alone").read_bytes() == (skiff.work / "odd/hole").read_bytes() and has_holes(skiff.work / "alone")


def test_many_zeros_take_no_room(skiff):
    with open(skiff.work / "image", "wb") as file:
        file.truncate(128 * MIB)
        file.seek(50 * MIB)
        file.write(b"x" * 4096)
    skiff("cp", "image", "box:image")
    skiff("cp", "box:image", "back")
    for copy in (skiff.root() / "image", skiff.work / "back"):
        assert copy.stat().st_size == 128 * MIB and copy.stat().st_blocks * 512 < MIB
        with open(copy, "rb") as file:
            file.seek(50 * MIB - 1)
            assert file.read(4098) == b"\0" + b"x" * 4096 + b"\0"


@pytest.mark.parametrize("path", ["/proc/self/status", "/proc/cpuinfo", "/sys/kernel/mm/transparent_hugepage/enabled"])
def test_a_file_that_does_not_say_its_size_is_not_empty(skiff, path):
    skiff("cp", path, "box:kernel")
    size = (skiff.root() / "kernel").stat().st_size
    assert 0 < size != 4096 and b"\0" not in (skiff.root() / "kernel").read_bytes()


# --- where it goes: links are followed, as by cp ---

def links(top):
    (top / "releases/7").mkdir(parents=True)
    (top / "current").symlink_to("releases/7")
    (top / "absolute").symlink_to(top / "releases/7")
    (top / "twice").symlink_to("current")
    (top / "dotfile").write_text("old\n")
    (top / "config").symlink_to("dotfile")
    (top / "chain").symlink_to("config")
    (top / "nowhere").symlink_to("not/there")
    (top / "round").symlink_to("round")


# {destination: where the file is afterwards}
DESTINATIONS = {
    "current": "releases/7/new", "current/": "releases/7/new", "current/.": "releases/7/new", "absolute": "releases/7/new",
    "twice": "releases/7/new", "current/other": "releases/7/other", "config": "dotfile", "chain": "dotfile", "plain": "plain",
    "releases": "releases/new", "made/": "made/new", "made/deep": "made/deep", "current/../up": "releases/up",
}


@pytest.mark.parametrize("to", DESTINATIONS)
@pytest.mark.parametrize("way", ["in", "out"])
def test_a_link_at_the_destination_is_followed(skiff, to, way):
    top = skiff.root() if way == "in" else skiff.work / "here"
    top.mkdir(exist_ok=True)
    links(top)
    before = {path.name: os.readlink(path) for path in top.iterdir() if path.is_symlink()}
    source = skiff.work if way == "in" else skiff.root()
    (source / "new").write_text("new\n")
    if way == "in":
        skiff("cp", "new", f"box:{to}")
    else:
        skiff("cp", "box:new", f"here/{to}")
    assert (top / DESTINATIONS[to]).read_text() == "new\n" and not (top / DESTINATIONS[to]).is_symlink()
    assert {path.name: os.readlink(path) for path in top.iterdir() if path.is_symlink()} == before


@pytest.mark.parametrize("way", ["in", "out"])
def test_a_directory_goes_into_the_one_that_a_link_leads_to(skiff, way):
    top = skiff.root() if way == "in" else skiff.work / "here"
    source = skiff.work if way == "in" else skiff.root()
    top.mkdir(exist_ok=True)
    links(top)
    (source / "tree").mkdir()
    (source / "tree/file").write_text("x")
    for words, place in ((("tree", "current"), "releases/7/tree/file"), (("tree/.", "current"), "releases/7/file")):
        skiff("cp", *((words[0], f"box:{words[1]}") if way == "in" else (f"box:{words[0]}", f"here/{words[1]}")))
        assert (top / place).read_text() == "x" and (top / "current").is_symlink()


@pytest.mark.parametrize("way", ["in", "out"])
@pytest.mark.parametrize("to", ["nowhere", "round", "pipe"])
def test_what_would_be_lost_is_refused(skiff, way, to):
    top = skiff.root() if way == "in" else skiff.work / "here"
    top.mkdir(exist_ok=True)
    links(top)
    os.mkfifo(top / "pipe")
    ((skiff.work if way == "in" else skiff.root()) / "new").write_text("new\n")
    err = skiff("cp", *(("new", f"box:{to}") if way == "in" else ("box:new", f"here/{to}")), status=125)[1]
    assert to in err and (top / to).lstat().st_mode == {True: 0o120777}.get(to != "pipe", (top / "pipe").lstat().st_mode)
    assert to != "nowhere" or "leads nowhere" in err
    assert to != "pipe" or "neither a file nor a directory" in err


# --- where it comes from ---

SOURCES = {  # {source: what there is in the destination, which is not there before}
    "link/.": {"sub/file"}, "link/./.": {"sub/file"}, "absolute/.": {"sub/file"}, "link/sub/.": {"file"}, "link/": {"sub/file"},
    "real/.": {"sub/file"}, "real": {"sub/file"}, "real/": {"sub/file"}, "link/sub": {"file"}, "link/sub/..": {"sub/file"},
}


@pytest.mark.parametrize("source", SOURCES)
def test_a_slash_behind_a_local_link_means_what_it_leads_to(skiff, source):
    (skiff.work / "real/sub").mkdir(parents=True)
    (skiff.work / "real/sub/file").write_text("x")
    (skiff.work / "link").symlink_to("real")
    (skiff.work / "absolute").symlink_to(skiff.work / "real")
    for number, path in enumerate((source, f"{skiff.work}/{source}")):
        assert skiff("cp", path, f"box:to{number}") == ("", "")
        top = skiff.root() / f"to{number}"
        assert not top.is_symlink() and {str(one.relative_to(top)) for one in top.rglob("*") if one.is_file()} == SOURCES[source]
    skiff("cp", "link", "box:itself")
    assert os.readlink(skiff.root() / "itself") == "real"
    (skiff.root() / "into").mkdir()
    skiff("cp", "link/", "box:into")
    assert (skiff.root() / "into/link/sub/file").read_text() == "x"


def test_a_name_behind_two_dashes_is_a_name(skiff):
    for name in ("-x", "--help", "-o", "--"):
        (skiff.work / name).write_text(name)
        skiff("cp", "--", name, f"box:{name}")
        assert (skiff.root() / name).read_text() == name
        assert skiff("files", "cat", "box", "--", name)[0] == name
    skiff("cp", "--", "-x", "--help", "box:both")
    assert sorted(path.name for path in (skiff.root() / "both").iterdir()) == ["--help", "-x"]


def test_a_directory_that_was_removed_is_no_riddle(skiff):
    (skiff.work / "gone").mkdir()
    (skiff.work / "file").write_text("x")
    (skiff.root() / "file").write_text("y")
    script = 'cd "$1" && rmdir "$1" && shift && exec "$@"'

    def from_there(*words):
        os.makedirs(skiff.work / "gone", exist_ok=True)
        return subprocess.run(["sh", "-c", script, "sh", skiff.work / "gone", *skiff.command, *words], env=skiff.environment(),
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)

    done = from_there("cp", f"{skiff.work}/file", "box:came")
    assert (done.returncode, done.stderr) == (0, "") and (skiff.root() / "came").read_text() == "x"
    done = from_there("cp", "box:file", f"{skiff.work}/out")
    assert (done.returncode, done.stderr) == (0, "") and (skiff.work / "out").read_text() == "y"
    for words in (("file", "box:x"), ("box:file", "out"), ("box:file", ".")):
        done = from_there("cp", *words)
        assert done.returncode == 125 and "filesystem error" not in done.stderr and "No such file or directory" in done.stderr, (words, done)


# --- what does not arrive is told ---

def test_what_can_not_be_read_is_named_and_the_rest_is_copied(skiff):
    tree = skiff.work / "tree"
    (tree / "a/shut").mkdir(parents=True)
    (tree / "a/fine").write_text("x")
    (tree / "a/secret").write_text("x")
    (tree / "z").write_text("z")
    os.mkfifo(tree / "pipe")
    bound = socket.socket(socket.AF_UNIX)
    bound.bind(str(tree / "socket"))
    bound.close()
    (tree / "a/secret").chmod(0)
    (tree / "a/shut").chmod(0)
    lesser = [tool("setpriv"), "--bounding-set=-all", "--inh-caps=-all", "--"] if os.geteuid() == 0 else []
    if lesser:
        # Root without its rights: files of root's own that nobody may read.
        skiff.command = [*lesser, *skiff.command]
    done = skiff.start("cp", "tree", "box:tree")
    out, err = done.communicate(timeout=60)
    (tree / "a/shut").chmod(0o755)
    err = err.decode()
    assert done.returncode == 1 and not out
    assert f"{tree.relative_to(skiff.work)}/a/secret: Permission denied" in err and "tree/a/shut: Permission denied" in err
    assert "2 files or directories were left out" in err and "2 sockets, pipes or devices were left out" in err
    assert {path.name for path in (skiff.root() / "tree").rglob("*")} >= {"a", "fine", "z", "shut"}
    done = skiff.start("cp", "-o", "json", "tree/a/secret", "tree/z", "box:single")
    out, err = done.communicate(timeout=60)
    assert done.returncode == 125 and b'open "tree/a/secret": Permission denied' in err and (skiff.root() / "single/z").exists()


class Slow:
    """A way to an agent that stops behind the first bytes, in one direction, until it may go on."""

    def __init__(self, port, direction):
        self.port, self.direction, self.reached, self.go_on = port, direction, threading.Event(), threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.threads = [threading.Thread(target=self.accept, daemon=True)]
        self.threads[0].start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.port))
            for one, other, name in ((client, server, "in"), (server, client, "out")):
                threading.Thread(target=self.carry, args=(one, other, name), daemon=True).start()

    def carry(self, source, sink, direction):
        carried = 0
        try:
            while piece := source.recv(65536):
                sink.sendall(piece)
                carried += len(piece)
                if direction == self.direction and carried > 1_000_000:
                    self.reached.set()
                    self.go_on.wait(60)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        self.go_on.set()
        self.listener.close()


@pytest.mark.parametrize("is_single", [True, False])
def test_a_file_that_shrinks_on_its_way_in_is_told(skiff, agent, is_single):
    (skiff.work / "logs").mkdir()
    log = skiff.work / "logs/log"
    log.write_bytes(b"a" * 60_000_000)
    slow = Slow(agent.port, "in")
    variables = {"SKIFF_URL": slow.url, "SKIFF_TOKEN": agent.token}
    process = skiff.start("cp", *(("logs/log", "any:log") if is_single else ("logs", "any:logs")), env=variables)
    assert slow.reached.wait(60)
    os.truncate(log, 1000)
    slow.go_on.set()
    err = process.communicate(timeout=60)[1].decode()
    slow.close()
    assert process.returncode == 1 and "logs/log: it shrank while it was copied: its last" in err and "bytes are zeros" in err


@pytest.fixture
def said(skiff):
    """What an agent says behind its archive: {"trailers": {name: value}}."""
    says = {"trailers": {}}

    def say(asked):
        if ":stat" in asked.path:
            return {"items": [{"type": "directory"}]}
        return Said(body=tarfile.TarInfo("empty").tobuf() + b"\0" * 1024, trailers=says["trailers"])

    with in_place_of_the_agent(skiff, say):
        yield says


@pytest.mark.parametrize("to", ["got", "-"])
def test_what_the_agent_has_left_out_is_told(skiff, said, to):
    assert skiff("cp", "box:tree", to, stderr=subprocess.PIPE)[1] == ""
    said["trailers"] = {"X-Skiff-Left-Out": "12", "X-Skiff-Left-Out-Names": "unreadable secret/key, changed logs/app%2Clog%1B%0A",
                        "X-Skiff-Special-Files": "3"}
    err = skiff("cp", "box:tree", to, status=1)[1]
    assert "12 files or directories were left out or are not whole" in err and "secret/key: it could not be read" in err
    assert r"logs/app,log\x1b\x0a: it shrank while it was copied" in err and "..." in err and "3 sockets" in err
    said["trailers"] = {"X-Skiff-Left-Out": "0", "X-Skiff-Special-Files": "1"}
    assert "1 sockets, pipes or devices" in skiff("cp", "box:tree", to)[1]
    if to != "-":
        said["trailers"] = {"X-Skiff-Left-Out": "1"}
        assert json.loads(skiff("cp", "-o", "json", "box:tree", to, status=1)[0])["left_out"] == 1


@pytest.mark.parametrize("source, name", [("d/e/../f", "f"), ("d/../d/f", "f"), ("d/e/..", "e"), ("./d/./f", "f"), ("other/../d/f", "f")])
def test_a_path_may_lead_up(skiff, source, name):
    (skiff.root() / "d/e").mkdir(parents=True)
    (skiff.root() / "d/f").write_text("x")
    (skiff.root() / "other").mkdir()
    skiff("cp", f"box:{source}", "into/")
    assert (skiff.work / "into" / name).exists()
    assert "leaves the session's roots" in skiff("cp", "box:d/../../f", "out", status=125)[1]


# --- several, modes, what the user has ---

@pytest.mark.parametrize("to", ["box:", "box:.", "box:./"])
def test_several_go_into_the_sandboxs_own_directory(skiff, to):
    for name in "one", "two":
        (skiff.work / name).write_text(name)
    skiff("cp", "one", "two", to)
    assert (skiff.root() / "one").read_text() == "one" and (skiff.root() / "two").read_text() == "two"


def test_an_empty_destination_is_none(skiff):
    (skiff.root() / "one").touch()
    (skiff.root() / "two").touch()
    for words in ["box:one"], ["box:one", "box:two"]:
        assert "destination is empty" in skiff("cp", *words, "", status=125)[1]


@pytest.mark.parametrize("to", ["new", "inside", "contents"])
def test_a_directory_that_comes_out_is_as_private_as_it_was(skiff, to):
    (skiff.root() / "ssh").mkdir(mode=0o700)
    (skiff.root() / "ssh/key").write_text("secret")
    words = {"new": ("box:ssh", "new"), "inside": ("box:ssh", "."), "contents": ("box:ssh/.", "contents")}[to]
    skiff("cp", *words)
    assert oct((skiff.work / ("ssh" if to == "inside" else to)).stat().st_mode & 0o7777) == "0o700"


def test_a_directory_that_only_gets_more_in_it_keeps_its_mode(skiff):
    (skiff.root() / "open").mkdir(mode=0o755)
    (skiff.root() / "open/file").touch()
    (skiff.work / "mine").mkdir(mode=0o700)
    skiff("cp", "box:open/.", "mine")
    assert oct((skiff.work / "mine").stat().st_mode & 0o7777) == "0o700"


def test_a_users_link_to_a_directory_is_not_replaced_by_one(skiff):
    (skiff.root() / "site/uploads").mkdir(parents=True)
    (skiff.root() / "site/uploads/new").touch()
    (skiff.work / "site").mkdir()
    (skiff.work / "data").mkdir()
    (skiff.work / "site/uploads").symlink_to("../data")
    err = skiff("cp", "box:site", ".", status=125)[1]
    assert "site/uploads" in err and "is a link" in err
    assert os.readlink(skiff.work / "site/uploads") == "../data" and not list((skiff.work / "data").iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root")
@pytest.mark.parametrize("way", ["in", "out"])
def test_a_file_that_is_a_mount_gets_other_contents(skiff, way):
    top, source = (skiff.root(), skiff.work) if way == "in" else (skiff.work, skiff.root())
    (source / "new").write_text("new\n")
    (top / "below").write_text("a longer old text\n")
    (top / "hosts").touch()
    subprocess.run(["mount", "--bind", top / "below", top / "hosts"], check=True)
    try:
        skiff("cp", *(("new", "box:hosts") if way == "in" else ("box:new", "hosts")))
        assert (top / "below").read_text() == "new\n" and not list(top.glob(".skiff-*"))
    finally:
        subprocess.run(["umount", top / "hosts"], check=True)
