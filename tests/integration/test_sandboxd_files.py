"""The REST door of the dialect sandboxd: files, health, metadata."""

import os

import pytest

from python_runtime import MULTIPART, multipart
from sandboxd import doors, rest, start_doors  # noqa: F401


def problem(answer, status, code):
    assert (answer.status, answer.headers["Content-Type"]) == (status, "application/json"), answer
    body = answer.json()
    assert body["code"] == code and body["message"] and answer.body.endswith(b"\n"), body
    return body["message"]


def test_a_file_is_written_read_listed_and_removed(rest):
    assert rest.request("PUT", "/v1/files/notes%2Fhello.txt", body=b"hi").status == 204
    assert os.stat(rest.agent.root / "notes/hello.txt").st_mode & 0o7777 == 0o644
    answer = rest.request("GET", "/v1/files/notes/hello.txt")
    assert (answer.status, answer.body, answer.headers["Content-Type"]) == (200, b"hi", "application/octet-stream")
    part = rest.request("GET", "/v1/files/notes/hello.txt", headers={"Range": "bytes=1-"})
    assert (part.status, part.body) == (206, b"i")
    since = {"If-Modified-Since": answer.headers["Last-Modified"]}
    assert rest.request("GET", "/v1/files/notes/hello.txt", headers=since).status == 304
    for other, status in (("Fri, 31 Dec 2100 23:59:59 GMT", 304), ("Sun, 06 Nov 1994 08:49:37 GMT", 200), ("soon", 200)):
        answered = rest.request("GET", "/v1/files/notes/hello.txt", headers={"If-Modified-Since": other})
        assert (answered.status, answered.body) == (status, b"" if status == 304 else b"hi"), other
    for tags, status in ((answer.headers["ETag"], 304), ('"x", ' + answer.headers["ETag"], 304), ("*", 304), ('"x"', 200)):
        known = rest.request("GET", "/v1/files/notes/hello.txt", headers={**since, "If-None-Match": tags})
        assert (known.status, known.headers["ETag"]) == (status, answer.headers["ETag"]), tags
    os.utime(rest.agent.root / "notes/hello.txt", (0, 1767323045))
    listing = rest.request("GET", "/v1/files/notes").json()
    assert listing == {"path": "/notes", "entries": [{"name": "hello.txt", "size": 2, "type": "file",
                                                      "modified_at": "2026-01-02T03:04:05Z", "mode": "0644"}]}
    head = rest.request("HEAD", "/v1/files/notes%2Fhello.txt")
    assert (head.status, head.headers["Content-Length"], head.body) == (200, "2", b"")
    assert rest.request("DELETE", "/v1/files/notes%2Fhello.txt").status == 204
    problem(rest.request("GET", "/v1/files/notes%2Fhello.txt"), 404, "NOT_FOUND")
    assert rest.request("HEAD", "/v1/files/notes%2Fhello.txt").status == 404


def test_parts_of_a_file(rest):
    (rest.agent.root / "f").write_bytes(b"0123456789")
    for asked, status, body, told in (("bytes=0-3", 206, b"0123", "bytes 0-3/10"), ("bytes=4-", 206, b"456789", "bytes 4-9/10"),
                                      ("bytes=-3", 206, b"789", "bytes 7-9/10"), ("bytes=0-0", 206, b"0", "bytes 0-0/10"),
                                      ("bytes=8-99", 206, b"89", "bytes 8-9/10"), ("bytes=-99", 206, b"0123456789", "bytes 0-9/10"),
                                      ("lines=1-2", 200, b"0123456789", None)):
        answer = rest.request("GET", "/v1/files/f", headers={"Range": asked})
        assert (answer.status, answer.body, answer.headers["Content-Range"]) == (status, body, told), asked
        assert answer.headers["Accept-Ranges"] == "bytes"
        head = rest.request("HEAD", "/v1/files/f", headers={"Range": asked})
        assert (head.status, head.body, head.headers["Content-Length"]) == (status, b"", str(len(body))), asked
    beyond = rest.request("GET", "/v1/files/f", headers={"Range": "bytes=10-"})
    assert (beyond.status, beyond.headers["Content-Range"]) == (416, "bytes */10")
    # A client that resumes a download asks for a range of an empty file, too.
    (rest.agent.root / "empty").touch()
    for asked in ("bytes=0-", "bytes=0-99", "bytes=-5"):
        empty = rest.request("GET", "/v1/files/empty", headers={"Range": asked})
        assert (empty.status, empty.body, empty.headers["Content-Length"]) == (200, b"", "0"), asked


@pytest.mark.parametrize("path", ["", "/", "//", "/.", "/%2F", "/a%2F.."])
def test_the_root_has_many_names_and_no_redirect(rest, path):
    answer = rest.request("GET", f"/v1/files{path}")
    assert answer.status == 200 and answer.json()["entries"] == []


def test_names_that_pwd_prints_are_below_the_root(rest):
    root = os.path.realpath(rest.agent.root)
    quoted = root.replace("/", "%2F")
    assert rest.request("PUT", f"/v1/files/{quoted}%2Fa", body=b"1").status == 204
    assert (rest.agent.root / "a").read_bytes() == b"1"
    assert rest.request("PUT", "/v1/files/%2Fetc%2Fb", body=b"2").status == 204
    assert (rest.agent.root / "etc/b").read_bytes() == b"2"


def test_listings_show_what_links_lead_to(rest):
    root = rest.agent.root
    (root / "dir").mkdir()
    (root / "b").write_bytes(b"12345")
    os.symlink("dir", root / "a")
    os.symlink("b", root / "c")
    os.symlink("nowhere", root / "broken")
    os.symlink("/etc/passwd", root / "out")
    os.mkfifo(root / "fifo")
    entries = rest.request("GET", "/v1/files/").json()["entries"]
    assert [(one["name"], one["type"]) for one in entries] == [("a", "directory"), ("b", "file"), ("c", "file"),
                                                               ("dir", "directory"), ("fifo", "file")]
    assert entries[2]["size"] == 5
    problem(rest.request("GET", "/v1/files/fifo"), 409, "CONFLICT")


def test_a_directory_of_any_size_is_listed(rest):
    (rest.agent.root / "many").mkdir()
    for i in range(2500):
        (rest.agent.root / "many" / f"{i:04}").touch()
    entries = rest.request("GET", "/v1/files/many").json()["entries"]
    assert [one["name"] for one in entries] == [f"{i:04}" for i in range(2500)]
    (rest.agent.root / "broken").mkdir()
    for i in range(2500):
        os.symlink("nowhere", rest.agent.root / "broken" / f"{i:04}")
    assert rest.request("GET", "/v1/files/broken").json() == {"path": "/broken", "entries": []}
    (rest.agent.root / "broken/z").touch()
    assert [one["name"] for one in rest.request("GET", "/v1/files/broken").json()["entries"]] == ["z"]


def test_writing(rest):
    assert rest.request("PUT", "/v1/files/run.sh?mode=0755", body=b"a").status == 204
    assert os.stat(rest.agent.root / "run.sh").st_mode & 0o7777 == 0o755
    for mode in ("0999", "777", "abcd", "01777", "0o77", "-755"):
        problem(rest.request("PUT", f"/v1/files/x?mode={mode}", body=b"a"), 400, "INVALID_ARGUMENT")
    (rest.agent.root / "dir").mkdir()
    for path in ("dir", "dir/", ".", ""):
        assert "directory" in problem(rest.request("PUT", f"/v1/files/{path}", body=b"a"), 400, "INVALID_ARGUMENT")
    problem(rest.request("PUT", "/v1/files/..%2Fx", body=b"a"), 403, "PERMISSION_DENIED")
    large = os.urandom(3 * 1024 * 1024)
    assert rest.request("PUT", "/v1/files/deep/er/large", body=large).status == 204
    assert rest.request("GET", "/v1/files/deep/er/large").body == large
    assert sorted(os.listdir(rest.agent.root)) == ["deep", "dir", "run.sh"]


def test_multipart_bodies(rest):
    body = multipart(b"ignored", b"content")
    assert rest.request("PUT", "/v1/files/a", body=body, headers=MULTIPART).status == 204
    assert (rest.agent.root / "a").read_bytes() == b"content"
    missing = rest.request("PUT", "/v1/files/b", body=multipart(b"x", b"content", name="other"), headers=MULTIPART)
    assert problem(missing, 400, "INVALID_ARGUMENT") == 'multipart body is missing the required "file" part'
    cut = rest.request("PUT", "/v1/files/b", body=body[:-20], headers=MULTIPART)
    problem(cut, 400, "INVALID_ARGUMENT")
    assert os.listdir(rest.agent.root) == ["a"]


def test_removing(rest):
    root = rest.agent.root
    (root / "dir/sub").mkdir(parents=True)
    (root / "dir/sub/x").touch()
    (root / "target").write_text("stays")
    os.symlink("target", root / "link")
    problem(rest.request("DELETE", "/v1/files/nope"), 404, "NOT_FOUND")
    problem(rest.request("DELETE", "/v1/files/dir?recursive=maybe"), 400, "INVALID_ARGUMENT")
    for flag in ("", "?recursive=false", "?recursive=0"):
        problem(rest.request("DELETE", f"/v1/files/dir{flag}"), 409, "CONFLICT")
    assert rest.request("DELETE", "/v1/files/link").status == 204
    assert (root / "target").read_text() == "stays" and not os.path.lexists(root / "link")
    assert rest.request("DELETE", "/v1/files/dir?recursive=1").status == 204
    for _ in range(2):  # an empty one stays, too
        for path in ("", ".", "%2F"):
            assert "root" in problem(rest.request("DELETE", f"/v1/files/{path}"), 409, "CONFLICT")
        assert rest.request("DELETE", "/v1/files/?recursive=true").status == 204
        assert root.is_dir() and not os.listdir(root)


def test_health_and_metadata(start_doors):
    rest, _ = start_doors(env={"SANDBOX_NAME": "box", "SANDBOX_TOKEN": "secret", "OTHER": "x"})
    health = rest.request("GET", "/v1/health").json()
    assert health["status"] == "ok" and health["uptime_seconds"] >= 0
    assert rest.request("HEAD", "/v1/health").status == 200
    assert rest.request("GET", "/v1/metadata").json() == {"env": {"SANDBOX_NAME": "box"}}


def test_a_path_without_a_route_is_answered_as_by_go(rest):
    for path in ("/", "/v1", "/v1/nope", "/v1/health/x", "/v2/files/x"):
        answer = rest.request("GET", path)
        assert (answer.status, answer.body) == (404, b"404 page not found\n"), path
    for method, path in (("POST", "/v1/files/x"), ("PUT", "/v1/health"), ("DELETE", "/v1/metadata")):
        answer = rest.request(method, path)
        assert answer.status == 405 and answer.headers["Allow"] and answer.body == b"Method Not Allowed\n"
