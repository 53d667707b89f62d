"""`skiff cp` that fails: it tells what does not arrive, and leaves no directory behind that it has created, neither in the sandbox nor
on the user's machine. The agent's own uploads leave none either."""

import gzip
import io
import json
import os
import socket
import subprocess
import tarfile
import threading

import pytest

import e2b
from dialect import Door
from speaking import Said, in_place_of_the_agent
from tools import tool
from waiting import until
from wire import request_bytes


def archive(*members):
    """A tar archive of (name, bytes) or of TarInfo."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as made:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                made.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                made.addfile(info, io.BytesIO(member[1]))
    return buffer.getvalue()


def device(name="d"):
    info = tarfile.TarInfo(name)
    info.type = tarfile.CHRTYPE
    return info


# --- uploads to the agent ---

REFUSED = {
    "cut": (archive(("f", b"x" * 5000))[:3000], ""), "no archive": (b"text\n" * 500, ""), "leaves": (archive(("f", b"x"), ("../g", b"x")), ""),
    "device": (archive(("f", b"x"), device()), ""), "too large": (archive(("f", b"x" * 5000)), "&most_bytes=100"),
    "damaged": (gzip.compress(archive(("f", b"x" * 5000)))[:-6] + b"\0" * 6, ""),
}


@pytest.mark.parametrize("what", REFUSED)
def test_an_archive_that_is_refused_leaves_no_directory(agent, what):
    body, query = REFUSED[what]
    (agent.root / "there").mkdir()
    for path in ("new", "new/deep/er", "there/new", "there"):
        assert agent.request("PUT", f"/v1/files:archive?path={path}{query}", body=body).status >= 400
    assert [str(path.relative_to(agent.root)) for path in agent.root.rglob("*")] == ["there"]
    assert agent.request("PUT", "/v1/files:archive?path=new/empty", body=archive()).status == 200
    assert (agent.root / "new/empty").is_dir()


def begin_archive(agent, path):
    """An upload of an archive that has begun, and has made its directory."""
    sock = agent.connect()
    sock.sendall(request_bytes("PUT", f"/v1/files:archive?path={path}", agent.headers({"Content-Length": "1000000"}), b"x" * 100))
    until(lambda: (agent.root / path).is_dir(), what="the directory")
    return sock


def test_a_directory_of_a_broken_upload_goes_unless_somebody_uses_it(agent):
    with begin_archive(agent, "new/deep"):
        pass
    until(lambda: not (agent.root / "new").exists(), what="no directory")
    with begin_archive(agent, "new/deep"):
        (agent.root / "new/mine").write_text("kept")
    until(lambda: not (agent.root / "new/deep").exists(), what="no directory")
    assert (agent.root / "new/mine").read_text() == "kept"


def test_a_directory_of_somebody_else_stays(agent):
    """It has got the name of the one that the upload had made."""
    with begin_archive(agent, "new") as sock:
        (agent.root / "new").rename(agent.root / "moved")
        (agent.root / "new").mkdir()
        sock.sendall(b"x" * (1_000_000 - 100))
        assert sock.recv(100).startswith(b"HTTP/1.1 4")
    assert (agent.root / "new").is_dir()


def test_a_file_that_is_refused_leaves_no_directory(start_agent):
    agent = start_agent("--dialect", "e2b=127.0.0.1:0")
    client = e2b.Client(Door(agent))
    wrong = "0" * 64
    assert agent.request("PUT", f"/v1/files/new/deep/f?sha256={wrong}", body=b"x").status == 422
    assert agent.request("PUT", "/v1/files/new/deep/f", body=b"x", headers={"If-Match": '"m-1"'}).status == 412
    assert agent.request("POST", "/v1/files:link", json={"path": "new/l", "target": ""}).status >= 400
    for route in ("copy", "move"):
        assert agent.request("POST", f"/v1/files:{route}", json={"from": "none", "to": "new/deep/f"}).status == 404
    operations = [{"op": "write", "path": "new/deep/f", "content": "x"}, {"op": "write", "path": "new/g", "content": "x"},
                  {"op": "delete", "path": "none"}]
    assert agent.request("POST", "/v1/files:batch", json={"operations": operations}).status == 404
    for body in (b'--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\nhalf', b"--b\r\nContent-Disp"):
        assert client.door.request("POST", "/files?path=new/deep/f", body=body, headers={"Content-Type": "multipart/form-data; boundary=b"}).status >= 400
    (agent.root / "d").mkdir()
    client.unary("filesystem.Filesystem/Move", {"source": "d", "destination": "d/new/deep"}, 400)
    assert [path.name for path in agent.root.rglob("*")] == ["d"]
    client.unary("filesystem.Filesystem/MakeDir", {"path": "new/empty"})
    assert (agent.root / "new/empty").is_dir()


# --- directories that a copy has created ---

def test_a_copy_in_that_fails_leaves_no_directory(skiff, box):
    os.mkfifo(skiff.work / "pipe")
    (skiff.work / "file").write_text("x")
    (skiff.work / "nowhere").symlink_to("none")
    for words in (("pipe", "box:new/"), ("pipe", "box:new/deep/pipe"), ("none", "box:new/"), ("nowhere/", "box:new/"), ("pipe", "none", "box:new")):
        skiff("cp", *words, status=125)
    (skiff.root() / "link").symlink_to("new/deep")
    for to in ("link", "link/", "link/.", "link//"):
        assert "leads nowhere" in skiff("cp", "file", f"box:{to}", status=125)[1]
        assert "leads nowhere" in skiff("cp", "./.", f"box:{to}", status=125)[1]
    (skiff.root() / "link").unlink()
    skiff("cp", "-", "box:new/deep", typed=b"no archive\n" * 100, status=125)
    skiff("files", "write", "box", "new/deep/f/", typed=b"x", status=125)
    assert list(skiff.root().iterdir()) == []


@pytest.mark.parametrize("to", ["out", "out/", "out/deep/", "out/deep/er"])
@pytest.mark.parametrize("source", ["none", "none/", "nowhere", "nowhere/", "round", "file/", "file/x", "pipe", "nowhere/."])
def test_a_copy_out_of_what_is_not_there_makes_no_directory(skiff, box, source, to):
    (skiff.root() / "nowhere").symlink_to("missing")
    (skiff.root() / "round").symlink_to("round")
    (skiff.root() / "file").write_text("x")
    os.mkfifo(skiff.root() / "pipe")
    (skiff.work / "mine").mkdir()
    skiff("cp", f"box:{source}", to, status=125)
    skiff("cp", f"box:{source}", "box:none", f"mine/{to}", status=125)
    assert [str(path.relative_to(skiff.work)) for path in skiff.work.rglob("*")] == ["mine"]


REFUSAL = Said(404, {"Content-Type": "application/problem+json"}, json.dumps({"code": "path_not_found", "detail": "it is gone"}).encode())


@pytest.mark.parametrize("archive_of_it", [REFUSAL, Said(body=b"no archive" * 100), Said(body=b""), Said(body=archive(("../f", b"x"))),
                                           Said(body=archive(("f", b"x" * 5000))[:1500])], ids=["refused", "no archive", "empty", "leaves", "cut"])
@pytest.mark.parametrize("kind", ["file", "directory"])
def test_a_copy_out_that_breaks_off_leaves_no_directory(skiff, box, kind, archive_of_it):
    def say(asked):
        return {"items": [{"type": kind, "size": 5000, "mode": "0700"}]} if ":stat" in asked.path else archive_of_it

    with in_place_of_the_agent(skiff, say):
        for to in ("out/deep/er", "out/"):
            skiff("cp", "box:it", to, status=125)
        assert list(skiff.work.iterdir()) == []
        (skiff.work / "mine").mkdir()
        skiff("cp", "box:it", "mine", status=125)
    assert (skiff.work / "mine").is_dir()


# --- what they are like, if the copy succeeds ---

def made(path):
    status = path.stat()
    return oct(status.st_mode & 0o7777), status.st_mtime_ns


@pytest.mark.parametrize("words", [("tree", "new"), ("tree", "."), ("tree/.", "new"), ("tree/.", "new/deep"), ("tree/", "new/deep"), ("way/.", "new")],
                         ids=" to ".join)
@pytest.mark.parametrize("way", ["in", "out"])
def test_a_directory_that_is_made_by_a_copy_is_as_it_was(skiff, box, way, words):
    source, top = (skiff.work, skiff.root()) if way == "in" else (skiff.root(), skiff.work)
    (source / "tree").mkdir()
    (source / "tree/file").write_text("x")
    (source / "tree").chmod(0o750)
    (source / "way").symlink_to("tree")
    os.utime(source / "tree", ns=(0, 1_500_000_000_123_456_789))
    skiff("cp", *((words[0], f"box:{words[1]}") if way == "in" else (f"box:{words[0]}", words[1])))
    there = top / ("tree" if words[1] == "." else words[1])
    assert (there / "file").read_text() == "x" and made(there) == ("0o750", 1_500_000_000_123_456_789)


@pytest.mark.parametrize("way", ["in", "out"])
def test_a_directory_that_was_there_keeps_its_own_mode(skiff, box, way):
    source, top = (skiff.work, skiff.root()) if way == "in" else (skiff.root(), skiff.work)
    (source / "tree").mkdir(mode=0o700)
    (source / "tree/file").write_text("x")
    (top / "mine").mkdir()
    (top / "mine").chmod(0o755)
    skiff("cp", *(("tree/.", "box:mine") if way == "in" else ("box:tree/.", "mine")))
    assert (top / "mine/file").exists() and made(top / "mine")[0] == "0o755"


def test_the_archive_of_a_directory_has_it_if_that_is_asked_for(agent):
    (agent.root / "d").mkdir()
    (agent.root / "d/f").write_text("x")
    (agent.root / "d").chmod(0o750)
    os.utime(agent.root / "d", ns=(0, 1_500_000_000_123_456_789))

    def members(query):
        return tarfile.open(fileobj=io.BytesIO(agent.request("GET", f"/v1/files:archive?path=d{query}").body)).getmembers()

    itself, file = members("&with_itself=true")
    assert (itself.name, itself.isdir(), itself.mode, itself.pax_headers["mtime"]) == (".", True, 0o750, "1500000000.123456789")
    assert file.name == "f" and [one.name for one in members("")] == ["f"]


# --- what does not arrive is told ---

def test_an_impossible_copy_is_reported(skiff, box):
    assert "No such file" in skiff("cp", "nope", "box:", status=125)[1]
    assert "No such file" in skiff("cp", "box:nope", ".", status=125)[1]
    (skiff.work / "file").write_text("x")
    assert skiff("cp", "file", "box:../out", status=125)[1]
    assert not (skiff.sandboxes / "box/out").exists()
    assert "exactly one" in skiff("cp", "a", "b", status=125)[1]
    assert "exactly one" in skiff("cp", "box:a", "box:b", status=125)[1]


def test_an_archive_of_a_sandbox_is_unpacked_below_the_target_alone(skiff, box):
    (skiff.work / "outside").mkdir()
    (skiff.root() / "evil").mkdir()
    (skiff.root() / "evil/link").symlink_to(skiff.work / "outside")
    skiff("cp", "box:evil", "got", status=1)
    assert not os.path.lexists(skiff.work / "got/link")
    (skiff.work / "got/link").symlink_to(skiff.work / "outside")
    (skiff.root() / "evil/link").unlink()
    (skiff.root() / "evil/link").mkdir()
    (skiff.root() / "evil/link/file").write_text("through the link")
    # The link is the user's: a directory neither goes through it nor takes its place.
    assert "is a link" in skiff("cp", "box:evil/.", "got", status=125)[1]
    assert list((skiff.work / "outside").iterdir()) == [] and (skiff.work / "got/link").is_symlink()


def test_a_copy_makes_no_link_that_leads_out(skiff, box):
    secret = skiff.work / "secret"
    secret.write_text("mine")
    tree = skiff.root() / "tree"
    (tree / "deep").mkdir(parents=True)
    (tree / "file").write_text("text")
    (tree / "in").symlink_to("deep/../file")
    (tree / "deep/in").symlink_to("../file")
    (tree / "absolute").symlink_to(secret)
    (tree / "deep/up").symlink_to("../../secret")
    err = skiff("cp", "box:tree", "got", status=1)[1]
    assert "3 links were left out" in err and "deep/up -> ../../secret" in err and f"absolute -> {secret}" in err
    got = skiff.work / "got"
    assert sorted(path.name for path in got.rglob("*")) == ["deep", "file", "in"]
    assert (got / "deep/in").read_text() == "text"
    counted = json.loads(skiff("cp", "-o", "json", "box:tree", "again", status=1)[0])
    assert counted["links_left_out"] == 3


def test_cp_names_what_it_can_not_read_and_copies_the_rest(skiff, box):
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
        usual, skiff.command = skiff.command, [*lesser, *skiff.command]
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
    if lesser:
        skiff.command = usual


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
def test_cp_reports_a_file_that_shrinks_on_its_way_in(skiff, box, agent, is_single):
    (skiff.work / "logs").mkdir()
    log = skiff.work / "logs/log"
    log.write_bytes(b"a" * 60_000_000)
    slow = Slow(agent.port, "in")
    variables = {"SKIFF_DRIVER": "", "SKIFF_URL": slow.url, "SKIFF_TOKEN": agent.token}
    process = skiff.start("cp", *(("logs/log", "any:log") if is_single else ("logs", "any:logs")), env=variables)
    assert slow.reached.wait(60)
    os.truncate(log, 1000)
    slow.go_on.set()
    err = process.communicate(timeout=60)[1].decode()
    slow.close()
    assert process.returncode == 1 and "logs/log: it shrank while it was copied: its last" in err and "bytes are zeros" in err


@pytest.fixture
def said(skiff, box):
    """The trailers that an agent sends behind its archive: {"trailers": {name: value}}."""
    says = {"trailers": {}}

    def say(asked):
        if ":stat" in asked.path:
            return {"items": [{"type": "directory"}]}
        return Said(body=tarfile.TarInfo("empty").tobuf() + b"\0" * 1024, trailers=says["trailers"])

    with in_place_of_the_agent(skiff, say):
        yield says


@pytest.mark.parametrize("to", ["got", "-"])
def test_cp_tells_what_the_agent_has_left_out(skiff, said, to):
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
