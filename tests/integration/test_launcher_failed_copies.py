"""What fails leaves no directory behind that it has made: not in the sandbox, and not on the user's machine."""

import gzip
import io
import json
import os
import tarfile

import pytest

import e2b
from dialect import Door
from speaking import Said, in_place_of_the_agent
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


# --- in the sandbox ---

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


# --- by skiff cp ---

@pytest.fixture
def skiff(skiff):
    skiff.up()
    return skiff


def test_a_copy_in_that_fails_leaves_no_directory(skiff):
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
def test_a_copy_out_of_what_is_not_there_makes_no_directory(skiff, source, to):
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
def test_a_copy_out_that_breaks_off_leaves_no_directory(skiff, kind, archive_of_it):
    def say(asked):
        return {"items": [{"type": kind, "size": 5000, "mode": "0700"}]} if ":stat" in asked.path else archive_of_it

    with in_place_of_the_agent(skiff, say):
        for to in ("out/deep/er", "out/"):
            skiff("cp", "box:it", to, status=125)
        assert list(skiff.work.iterdir()) == []
        (skiff.work / "mine").mkdir()
        skiff("cp", "box:it", "mine", status=125)
    assert (skiff.work / "mine").is_dir()


# --- what they are like, if the copy is made ---

def made(path):
    status = path.stat()
    return oct(status.st_mode & 0o7777), status.st_mtime_ns


@pytest.mark.parametrize("words", [("tree", "new"), ("tree", "."), ("tree/.", "new"), ("tree/.", "new/deep"), ("tree/", "new/deep"), ("way/.", "new")],
                         ids=" to ".join)
@pytest.mark.parametrize("way", ["in", "out"])
def test_a_directory_that_is_made_by_a_copy_is_as_it_was(skiff, way, words):
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
def test_a_directory_that_was_there_keeps_its_own_mode(skiff, way):
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
