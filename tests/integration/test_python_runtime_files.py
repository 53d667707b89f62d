"""The files of the dialect python-runtime: names, paths, uploads, downloads, lists."""

import os
import urllib.parse

from python_runtime import MULTIPART, door, multipart, path_of, start_door, upload  # noqa: F401
from wire import Stream, request_bytes

MIB = 1024 * 1024


ODD_NAMES = ["with space.txt", "a%41.txt", "a+b&c=d?e#f.txt", "50%.txt", "quo'te.txt", 'dou"ble".txt', "back\\slash.txt",
             "ends\\", "two\\\\slashes", "semi;colon.txt", "comma,.txt", "[glob]*.txt", "$HOME `x`.txt", "-rf", "~", "...",
             "caf\u00e9.txt", "\u65e5\u672c\u8a9e.txt", "\U0001f600.txt", "e\u0301 combining.txt", " blanks ", "a:b|c<d>.txt",
             "%2F", "%2e%2e", "x" * 255, "deep/er/and deeper/still.txt"]


def test_a_name_that_is_not_utf8_is_listed_and_read(door):
    with open(os.fsencode(door.agent.root) + b"/\xff\xfe", "wb") as file:
        file.write(b"here")
    assert [one["name"] for one in door.request("GET", "/list/").json()] == ["\ufffd\ufffd"]
    assert door.request("GET", "/download/%FF%FE").body == b"here"
    assert door.request("GET", "/exists/%FF%FE").json() == {"path": "\ufffd\ufffd", "exists": True}


def test_a_download_has_the_originals_fields(door):
    (door.agent.root / "sub").mkdir()
    (door.agent.root / "sub" / "caf\u00e9 1.txt").write_bytes(b"0123456789")
    answer = door.request("GET", "/download/sub%2Fcaf%C3%A9%201.txt")
    assert answer.body == b"0123456789" and answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["Content-Length"] == "10" and answer.headers["ETag"] and answer.headers["Last-Modified"]
    assert answer.headers["Content-Disposition"] == "attachment; filename*=utf-8''sub/caf%C3%A9%201.txt"
    assert "Content-Encoding" not in answer.headers
    part = door.request("GET", "/download/sub/caf%C3%A9%201.txt", headers={"Range": "bytes=2-4", "Accept-Encoding": "gzip"})
    assert (part.status, part.body, part.headers["Content-Range"]) == (206, b"234", "bytes 2-4/10")
    head = door.request("HEAD", "/download/sub%2Fcaf%C3%A9%201.txt")
    assert (head.status, head.body, head.headers["Content-Length"]) == (200, b"", "10")
    (door.agent.root / "none").write_bytes(b"")
    empty = door.request("GET", "/download/none")
    assert (empty.status, empty.body) == (200, b"")
    assert empty.headers["Content-Disposition"] == 'attachment; filename="none"'
    (door.agent.root / "sub" / "plain_1-2.tar~").write_bytes(b"1")
    for path, name in (("sub/plain_1-2.tar~", "sub/plain_1-2.tar~"), ("%2Fsub%2Fplain_1-2.tar~", "/sub/plain_1-2.tar~")):
        answer = door.request("GET", f"/download/{path}")
        assert answer.headers["Content-Disposition"] == f'attachment; filename="{name}"', path
        assert answer.headers["Accept-Ranges"] == "bytes"


def test_only_regular_files_are_found(door):
    os.mkfifo(door.agent.root / "fifo")
    (door.agent.root / "loop").symlink_to("loop")
    (door.agent.root / "file").write_text("x")
    for path in ("nope", "", ".", "fifo", "loop", "file/x", "n" * 256):
        answer = door.request("GET", f"/download/{path}")
        assert (answer.status, answer.json()) == (404, {"message": "File not found"}), path


def test_a_directory_is_listed(door):
    root = door.agent.root
    (root / "dir").mkdir()
    (root / "file").write_bytes(b"12345")
    os.utime(root / "file", ns=(0, 1_700_000_000_250_000_000))
    (root / "to-dir").symlink_to("dir")
    (root / "to-file").symlink_to(root / "file")
    (root / "dangling").symlink_to("nowhere")
    (root / "outside").symlink_to("/etc/passwd")
    os.mkfifo(root / "fifo")
    for path in ("", ".", "%2F", "/", "./", "dir/.."):
        listed = door.request("GET", f"/list/{path}")
        assert listed.status == 200, path
        entries = {one["name"]: one for one in listed.json()}
        assert set(entries) == {"dir", "file", "to-dir", "to-file", "dangling", "outside", "fifo"}
        assert entries["file"] == {"name": "file", "size": 5, "type": "file", "mod_time": 1_700_000_000.25}
        assert entries["to-file"]["size"] == 5 and entries["to-dir"]["type"] == "directory"
        assert entries["outside"]["size"] == len("/etc/passwd") and entries["dangling"]["type"] == "file"
        assert all(isinstance(one["mod_time"], float) for one in entries.values())
    assert door.request("GET", "/list/dir").body == b"[]"
    assert door.request("GET", "/list").status == 200
    for path in ("nope", "file", "fifo", "dangling"):
        answer = door.request("GET", f"/list/{path}")
        assert (answer.status, answer.json()) == (404, {"message": "Path is not a directory"}), path


def test_a_large_directory_is_listed_whole(door):
    (door.agent.root / "many").mkdir()
    names = [f"{n:05}" for n in range(2500)]
    for name in names:
        (door.agent.root / "many" / name).touch()
    assert [one["name"] for one in door.request("GET", "/list/many").json()] == names
    assert door.request("HEAD", "/list/many").body == b""


def test_exists(door):
    (door.agent.root / "dir").mkdir()
    (door.agent.root / "dangling").symlink_to("nowhere")
    for path, expected in (("dir", True), ("dir%2F", True), ("nope", False), ("dangling", False), ("", True), (".", True),
                           ("n" * 300, False), ("dir/x/y", False)):
        answer = door.request("GET", f"/exists/{path}")
        assert answer.json() == {"path": urllib.parse.unquote(path), "exists": expected}


def test_paths_are_below_the_root_and_no_way_leads_out(door):
    (door.agent.root / "secret").symlink_to("/etc")
    denied = {"message": "Access denied"}
    for path in ("..", "../", "../../etc/passwd", "..%2F..%2Fetc%2Fpasswd", "%2F..%2Fetc%2Fpasswd", "%2e%2e/%2e%2e/etc",
                 "secret/passwd", "secret"):
        for route in ("exists", "list", "download"):
            answer = door.request("GET", f"/{route}/{path}")
            assert (answer.status, answer.json()) == (403, denied), (route, path)
    for name in (b"../out", b"/../out", b"secret/out", b"a/../../out"):
        answer = upload(door, name)
        assert (answer.status, answer.json()) == (403, denied), name
    assert not (door.agent.root.parent / "out").exists() and not os.path.exists("/etc/out")
    # Decoded once: this is a name.
    assert door.request("GET", "/exists/%252e%252e%252fx").json() == {"path": "%2e%2e%2fx", "exists": False}


def test_absolute_paths(door):
    """They begin at the root; and what `pwd` prints is found where nothing is there under that name."""
    root = os.path.realpath(door.agent.root)
    assert upload(door, b"/made/on the way/file", b"1").status == 200
    assert (door.agent.root / "made" / "on the way" / "file").read_bytes() == b"1"
    for path in ("/made/on the way/file", f"{root}/made/on the way/file", f"{root[1:]}/made/on the way/file"):
        assert door.request("GET", f"/download/{path_of(path)}").body == b"1"
        assert door.request("GET", f"/exists/{path_of(path)}").json() == {"path": path, "exists": True}
    assert [one["name"] for one in door.request("GET", f"/list/{path_of(root + '/made')}").json()] == ["on the way"]
    # A file of that very name comes first.
    inner = door.agent.root / root[1:] / "made" / "on the way"
    inner.mkdir(parents=True)
    (inner / "file").write_bytes(b"2")
    assert door.request("GET", f"/download/{path_of(root + '/made/on the way/file')}").body == b"2"


def test_an_upload_replaces_a_file_whole(door):
    target = door.agent.root / "f"
    target.write_bytes(b"old")
    target.chmod(0o751)
    assert upload(door, b"f", b"").status == 200
    assert target.read_bytes() == b"" and target.stat().st_mode & 0o777 == 0o751
    for name in (b"f/below", b"dir"):
        (door.agent.root / "dir").mkdir(exist_ok=True)
        answer = upload(door, name)
        assert 400 <= answer.status < 500 and answer.json()["message"].startswith("File upload failed: ")
    assert target.read_bytes() == b"" and (door.agent.root / "dir").is_dir()


def test_a_form_without_its_last_boundary_leaves_nothing(door):
    target = door.agent.root / "f"
    target.write_bytes(b"old")
    answer = door.request("POST", "/upload", body=multipart(b"f", os.urandom(3 * MIB))[:2 * MIB], headers=MULTIPART)
    assert answer.status == 400 and "last boundary" in answer.json()["detail"]
    assert target.read_bytes() == b"old" and [one.name for one in door.agent.root.iterdir()] == ["f"]


def test_chunked_multipart(door):
    """The newest SDK sends a file object so: the head, pieces of the file, the last boundary, each a chunk."""
    data = b"\r\n--b0undar\r\n--" + os.urandom(200_000)
    whole = multipart(b"streamed", data)

    def pieces():
        yield whole[:100]
        for at in range(100, len(whole), 65536):
            yield whole[at:at + 65536]

    for _ in range(2):
        assert door.request("POST", "/upload", body=pieces(), headers=MULTIPART).status == 200
        assert (door.agent.root / "streamed").read_bytes() == data
        (door.agent.root / "streamed").unlink()
    # Cut anywhere: one byte a chunk.
    small = multipart(b"small", b"\r\n--b\r\n")
    assert door.request("POST", "/upload", body=iter([bytes([byte]) for byte in small]), headers=MULTIPART).status == 200
    assert (door.agent.root / "small").read_bytes() == b"\r\n--b\r\n"


def test_the_last_of_several_files_counts(door):
    first = multipart(b"one", b"1")[:-len("--\r\n")]
    body = first + multipart(b"two", b"2")[len("--b0undary"):]
    answer = door.request("POST", "/upload", body=body, headers=MULTIPART)
    assert answer.json() == {"message": "File 'two' uploaded successfully."}
    assert [one.name for one in door.agent.root.iterdir()] == ["two"]


def test_a_refused_upload_is_read_to_its_end_and_the_connection_stays(door):
    refused = multipart(b"../out", os.urandom(4 * MIB))
    with door.connect() as sock:
        sock.sendall(request_bytes("POST", "/upload", {"Host": "x", **MULTIPART, "Content-Length": len(refused)}, refused))
        stream = Stream(sock)
        assert stream.answer().status == 403
        sock.sendall(request_bytes("GET", "/", {"Host": "x"}))
        stream.next_response()
        assert stream.answer().status == 200
        stream.file.close()
