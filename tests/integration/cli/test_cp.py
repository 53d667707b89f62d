"""`skiff cp` as cp -r does it: what arrives is what was there. What fails is in test_cp_failures.py."""

import hashlib
import io
import os
import random
import subprocess
import tarfile

import pytest

from terminal import Terminal, ended

MIB = 1 << 20


# --- what arrives ---

def at_ns(path, seconds):
    os.utime(path, ns=(int(seconds * 1e9), int(seconds * 1e9)), follow_symlinks=False)
    return path


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


def test_a_tree_arrives_as_it_was_both_ways(skiff, box):
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


def test_many_zeros_take_no_room(skiff, box):
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
def test_a_file_that_does_not_say_its_size_is_not_empty(skiff, box, path):
    skiff("cp", path, "box:kernel")
    size = (skiff.root() / "kernel").stat().st_size
    assert 0 < size != 4096 and b"\0" not in (skiff.root() / "kernel").read_bytes()


def tree(folder):
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = ("link", os.readlink(path))
        elif path.is_dir():
            found[name] = ("folder", path.stat().st_mode)
        else:
            found[name] = (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mode, int(path.stat().st_mtime))
    return found


@pytest.fixture
def source(skiff, box):
    folder = skiff.work / "src"
    (folder / "deep/er").mkdir(parents=True)
    (folder / "deep/run").write_text("#!/bin/sh\necho ran\n")
    (folder / "deep/run").chmod(0o750)
    (folder / "noise ü").write_bytes(random.Random(4).randbytes(3_000_000))
    (folder / "link").symlink_to("deep/run")
    os.utime(folder / "deep/run", (1_500_000_000, 1_500_000_000))
    return folder


def test_a_directory_goes_in_and_comes_back_as_it_was(skiff, source):
    assert skiff("cp", "src", "box:there") == ("", "")
    assert tree(skiff.root() / "there") == tree(source)
    skiff("cp", "box:there", "back")
    assert tree(skiff.work / "back") == tree(source)
    # It is copied into a directory that exists, under its own name.
    skiff("cp", "src", "box:there")
    assert tree(skiff.root() / "there/src") == tree(source)
    skiff("cp", "box:there/src", "back")
    assert tree(skiff.work / "back/src") == tree(source)
    skiff("cp", "src/.", "box:flat/")
    assert tree(skiff.root() / "flat") == tree(source)
    skiff("cp", "box:flat/.", "level")
    assert tree(skiff.work / "level") == tree(source)


def test_hard_links_come_out_as_such(skiff, box):
    (skiff.root() / "tree/deep").mkdir(parents=True)
    (skiff.root() / "tree/one").write_text("text")
    os.link(skiff.root() / "tree/one", skiff.root() / "tree/deep/two")
    skiff("cp", "box:tree", "got")
    assert (skiff.work / "got/deep/two").read_text() == "text"
    assert os.path.samefile(skiff.work / "got/one", skiff.work / "got/deep/two")


def test_an_archive_goes_by_stdin_and_stdout(skiff, box):
    (skiff.root() / "tree/deep").mkdir(parents=True)
    (skiff.root() / "tree/deep/file").write_text("text")
    process = skiff.start("cp", "box:tree", "-")
    archive = process.communicate(timeout=60)[0]
    assert process.returncode == 0
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        assert tar.extractfile("deep/file").read() == b"text"
    assert skiff("cp", "-", "box:again", typed=archive) == ("", "")
    assert (skiff.root() / "again/deep/file").read_text() == "text"
    assert skiff("cp", "-", "box:bad", typed=b"not an archive at all" * 100, status=125)[1]
    assert "whole archive" in skiff("cp", "-", "file", "box:", status=125)[1]
    assert 'look at "none": No such file or directory' in skiff("cp", "box:none", "-", status=125)[1]


# --- where it goes: links are followed, as by cp ---

def links(top, seen_as=None):
    """Links in a directory that whoever follows them knows by another path."""
    (top / "releases/7").mkdir(parents=True)
    (top / "current").symlink_to("releases/7")
    (top / "absolute").symlink_to(f"{seen_as or top}/releases/7")
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
def test_a_link_at_the_destination_is_followed(skiff, box, to, way):
    top = skiff.root() if way == "in" else skiff.work / "here"
    top.mkdir(exist_ok=True)
    links(top, skiff.workdir() if way == "in" else None)
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
def test_a_directory_goes_into_the_one_that_a_link_leads_to(skiff, box, way):
    top = skiff.root() if way == "in" else skiff.work / "here"
    source = skiff.work if way == "in" else skiff.root()
    top.mkdir(exist_ok=True)
    links(top, skiff.workdir() if way == "in" else None)
    (source / "tree").mkdir()
    (source / "tree/file").write_text("x")
    for words, place in ((("tree", "current"), "releases/7/tree/file"), (("tree/.", "current"), "releases/7/file")):
        skiff("cp", *((words[0], f"box:{words[1]}") if way == "in" else (f"box:{words[0]}", f"here/{words[1]}")))
        assert (top / place).read_text() == "x" and (top / "current").is_symlink()


@pytest.mark.parametrize("way", ["in", "out"])
@pytest.mark.parametrize("to", ["nowhere", "round", "pipe"])
def test_a_copy_to_a_broken_link_or_a_pipe_is_refused(skiff, box, way, to):
    top = skiff.root() if way == "in" else skiff.work / "here"
    top.mkdir(exist_ok=True)
    links(top, skiff.workdir() if way == "in" else None)
    os.mkfifo(top / "pipe")
    ((skiff.work if way == "in" else skiff.root()) / "new").write_text("new\n")
    err = skiff("cp", *(("new", f"box:{to}") if way == "in" else ("box:new", f"here/{to}")), status=125)[1]
    assert to in err and (top / to).lstat().st_mode == {True: 0o120777}.get(to != "pipe", (top / "pipe").lstat().st_mode)
    assert to != "nowhere" or "leads nowhere" in err
    assert to != "pipe" or "neither a file nor a directory" in err


def test_a_file_goes_where_cp_would_put_it(skiff, source):
    skiff("cp", "src/deep/run", "box:")
    skiff("cp", "src/deep/run", "box:other")
    skiff("cp", "src/deep/run", "box:new/folder/")
    for name in ("run", "other", "new/folder/run"):
        assert (skiff.root() / name).read_text() == "#!/bin/sh\necho ran\n"
        assert (skiff.root() / name).stat().st_mode & 0o777 == 0o750
    skiff("cp", "box:run", "got")
    skiff("cp", "box:run", ".")
    skiff("cp", "box:new/folder/run", "made/it/")
    for name in ("got", "run", "made/it/run"):
        assert (skiff.work / name).stat().st_mode & 0o777 == 0o750


# --- where it comes from ---

SOURCES = {  # {source: what there is in the destination, which is not there before}
    "link/.": {"sub/file"}, "link/./.": {"sub/file"}, "absolute/.": {"sub/file"}, "link/sub/.": {"file"}, "link/": {"sub/file"},
    "real/.": {"sub/file"}, "real": {"sub/file"}, "real/": {"sub/file"}, "link/sub": {"file"}, "link/sub/..": {"sub/file"},
}


@pytest.mark.parametrize("source", SOURCES)
def test_a_slash_behind_a_local_link_means_what_it_leads_to(skiff, box, source):
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


def test_words_behind_two_dashes_are_names_of_files(skiff, box):
    for name in ("-x", "--help", "-o", "--"):
        (skiff.work / name).write_text(name)
        skiff("cp", "--", name, f"box:{name}")
        assert (skiff.root() / name).read_text() == name
        assert skiff("files", "cat", "box", "--", name)[0] == name
    skiff("cp", "--", "-x", "--help", "box:both")
    assert sorted(path.name for path in (skiff.root() / "both").iterdir()) == ["--help", "-x"]


def test_cp_works_or_says_why_not_in_a_removed_directory(skiff, box):
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


@pytest.mark.parametrize("source, name", [("d/e/../f", "f"), ("d/../d/f", "f"), ("d/e/..", "e"), ("./d/./f", "f"), ("other/../d/f", "f")])
def test_a_path_may_lead_up(skiff, box, source, name):
    (skiff.root() / "d/e").mkdir(parents=True)
    (skiff.root() / "d/f").write_text("x")
    (skiff.root() / "other").mkdir()
    skiff("cp", f"box:{source}", "into/")
    assert (skiff.work / "into" / name).exists()
    assert "leaves the session's roots" in skiff("cp", "box:d/../../f", "out", status=125)[1]


def test_a_link_that_is_asked_for_is_the_file_that_it_leads_to(skiff, box):
    (skiff.work / "secret").write_text("mine")
    (skiff.root() / "file").write_text("text")
    (skiff.root() / "link").symlink_to("file")
    (skiff.root() / "out").symlink_to(skiff.work / "secret")
    (skiff.root() / "nowhere").symlink_to("nothing")
    (skiff.root() / "folder").mkdir()
    (skiff.root() / "folder/file").write_text("in it")
    (skiff.root() / "way").symlink_to("folder")
    skiff("cp", "box:link", "got")
    assert not (skiff.work / "got").is_symlink() and (skiff.work / "got").read_text() == "text"
    skiff("cp", "box:way", "there")
    assert (skiff.work / "there/file").read_text() == "in it"
    for name in ("out", "nowhere"):
        assert skiff("cp", f"box:{name}", "none", status=125)[1]
        assert not os.path.lexists(skiff.work / "none")


# --- several, modes, what the user has ---

def test_several_are_copied_into_a_directory(skiff, box):
    for name in ("one", "two"):
        (skiff.work / name).write_text(name)
    skiff("cp", "one", "two", "box:inputs")
    assert {path.name: path.read_text() for path in (skiff.root() / "inputs").iterdir()} == {"one": "one", "two": "two"}
    skiff("cp", "box:inputs/one", "box:inputs/two", "back")
    assert {path.name: path.read_text() for path in (skiff.work / "back").iterdir()} == {"one": "one", "two": "two"}
    err = skiff("cp", "one", "none", "two", "box:some", status=125)[1]
    assert "none: " in err and "No such file" in err
    assert sorted(path.name for path in (skiff.root() / "some").iterdir()) == ["one", "two"]
    assert "exactly one" in skiff("cp", "one", "box:two", "box:", status=125)[1]


@pytest.mark.parametrize("to", ["box:", "box:.", "box:./"])
def test_several_go_into_the_sandboxs_own_directory(skiff, box, to):
    for name in "one", "two":
        (skiff.work / name).write_text(name)
    skiff("cp", "one", "two", to)
    assert (skiff.root() / "one").read_text() == "one" and (skiff.root() / "two").read_text() == "two"


def test_an_empty_destination_is_refused(skiff, box):
    (skiff.root() / "one").touch()
    (skiff.root() / "two").touch()
    for words in ["box:one"], ["box:one", "box:two"]:
        assert "destination is empty" in skiff("cp", *words, "", status=125)[1]


@pytest.mark.parametrize("to", ["new", "inside", "contents"])
def test_a_directory_that_comes_out_is_as_private_as_it_was(skiff, box, to):
    (skiff.root() / "ssh").mkdir(mode=0o700)
    (skiff.root() / "ssh/key").write_text("secret")
    words = {"new": ("box:ssh", "new"), "inside": ("box:ssh", "."), "contents": ("box:ssh/.", "contents")}[to]
    skiff("cp", *words)
    assert oct((skiff.work / ("ssh" if to == "inside" else to)).stat().st_mode & 0o7777) == "0o700"


def test_a_directory_that_only_gets_more_in_it_keeps_its_mode(skiff, box):
    (skiff.root() / "open").mkdir(mode=0o755)
    (skiff.root() / "open/file").touch()
    (skiff.work / "mine").mkdir(mode=0o700)
    skiff("cp", "box:open/.", "mine")
    assert oct((skiff.work / "mine").stat().st_mode & 0o7777) == "0o700"


def test_a_users_link_to_a_directory_is_not_replaced_by_one(skiff, box):
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
def test_a_file_that_is_a_mount_gets_other_contents(skiff, box, way):
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


# --- progress ---

def test_a_copy_shows_how_much_of_it_is_done_on_a_terminal_alone(skiff, source):
    (skiff.work / "file").write_bytes(bytes(3 << 20))
    for words in (("file", "box:file"), ("box:file", "got"), ("src", "box:tree")):
        with Terminal(skiff.start, "cp", *words) as terminal:
            ended(terminal, 0)
            terminal.until(lambda: b"  100%  " in terminal.output and terminal.output.endswith(b"\r\x1b[K"), "all of it")
            assert b"MiB of " in terminal.output, terminal.output
    assert skiff("cp", "file", "box:file") == ("", "")
    with Terminal(skiff.start, "cp", "-q", "file", "box:file") as terminal:
        ended(terminal, 0)
        terminal.until(lambda: True, "")
        assert terminal.output == b""
