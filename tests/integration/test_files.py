"""Files through the API: bytes, names, directories, paths that mean harm, searches and archives."""

import base64
import concurrent.futures
import ctypes
import hashlib
import io
import json
import os
import shutil
import socket
import tarfile
import threading
from urllib.parse import quote

import pytest

from waiting import until

MIB = 1024 * 1024
FILES = "/v1/files"


def at(path, query=""):
    return f"{FILES}/{quote(path, safe='/')}" + (f"?{query}" if query else "")


def put(agent, path, data, query="", **headers):
    return agent.request("PUT", at(path, query), body=data, headers=headers)


def op(agent, name, body, **headers):
    return agent.request("POST", f"{FILES}:{name}", json=body, headers=headers)


def names(agent, query=""):
    answer = agent.request("GET", f"{FILES}:list?{query}")
    assert answer.status == 200, answer
    return [item["path"] for item in answer.json()["items"]]


# --- bytes ---


def test_what_is_written_is_read_back_and_is_there_for_commands(agent):
    data = os.urandom(3 * MIB + 17)
    made = put(agent, "a/b/data", data)
    assert made.status == 201 and made.json()["size"] == len(data) and made.headers["ETag"] == made.json()["etag"]
    got = agent.request("GET", at("a/b/data"))
    assert got.status == 200 and got.body == data and got.headers["ETag"] == made.headers["ETag"]
    assert agent.run("sha256sum < a/b/data")["stdout"].split()[0] == hashlib.sha256(data).hexdigest()
    assert put(agent, "a/b/data", b"").status == 200
    assert agent.request("GET", at("a/b/data")).body == b""


def test_a_head_tells_all_but_the_bytes(agent):
    put(agent, "f", b"twelve bytes")
    head = agent.request("HEAD", at("f"))
    assert (head.status, head.body, head.headers["Content-Length"]) == (200, b"", "12")


@pytest.mark.parametrize("asked, status, expected", [
    ("bytes=0-3", 206, b"0123"), ("bytes=-2", 206, b"89"), ("bytes=7-", 206, b"789"), ("bytes=7-99", 206, b"789"),
    ("bytes=10-", 416, None), ("bytes=1-2,4-5", 200, b"0123456789"), ("lines=1-2", 200, b"0123456789")])
def test_a_range_is_the_part_that_was_asked_for(agent, asked, status, expected):
    put(agent, "f", b"0123456789")
    answer = agent.request("GET", at("f"), headers={"Range": asked})
    if status == 416:
        answer.problem(416, "range_not_satisfiable")
        assert answer.headers["Content-Range"] == "bytes */10"
    else:
        assert (answer.status, answer.body) == (status, expected)


def test_a_range_holds_only_for_the_file_that_the_client_knows(agent):
    tag = put(agent, "f", b"0123456789").headers["ETag"]
    assert agent.request("GET", at("f"), headers={"Range": "bytes=0-1", "If-Range": tag}).status == 206
    assert agent.request("GET", at("f"), headers={"Range": "bytes=0-1", "If-Range": '"other"'}).body == b"0123456789"


def test_lines_are_counted_from_one(agent):
    put(agent, "f", "".join(f"line {number}\n" for number in range(1, 100_001)).encode())
    assert agent.request("GET", at("f", "lines=99998-")).text == "line 99998\nline 99999\nline 100000\n"
    assert agent.request("GET", at("f", "lines=2-3")).text == "line 2\nline 3\n"
    agent.request("GET", at("f", "lines=3-2")).problem(400, "invalid_field")


def test_a_tag_says_whether_it_is_still_the_same(agent):
    tag = put(agent, "f", b"one").headers["ETag"]
    assert agent.request("GET", at("f"), headers={"If-None-Match": tag}).status == 304
    put(agent, "f", b"two", **{"If-Match": '"m-old"'}).problem(412, "precondition_failed")
    assert put(agent, "f", b"two", **{"If-Match": tag}).status == 200
    put(agent, "f", b"three", **{"If-None-Match": "*"}).problem(412, "precondition_failed")
    assert put(agent, "new", b"", **{"If-None-Match": "*"}).status == 201
    assert agent.request("GET", at("f"), headers={"If-None-Match": tag}).body == b"two"


def test_a_write_has_the_mode_and_time_that_were_asked_for_and_the_umask_otherwise(agent):
    plain = put(agent, "plain", b"x").json()
    assert plain["mode"] == f"{0o666 & ~agent_umask():04o}"
    special = put(agent, "special", b"x", "mode=0751&mtime=1700000000.5").json()
    assert (special["mode"], special["modified_at"]) == ("0751", "2023-11-14T22:13:20.500Z")
    assert put(agent, "special", b"y").json()["mode"] == "0751"


def agent_umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_wrong_checksum_changes_nothing(agent):
    put(agent, "f", b"old")
    put(agent, "f", b"new", "sha256=" + "0" * 64).problem(422, "checksum_mismatch")
    assert agent.request("GET", at("f")).body == b"old"
    assert put(agent, "f", b"new", "sha256=" + hashlib.sha256(b"new").hexdigest()).status == 200
    put(agent, "f", b"part", **{"Content-Range": "bytes 0-3/9"}).problem(400, "invalid_request")


def test_a_connection_that_breaks_in_a_write_leaves_the_old_file_and_nothing_else(agent):
    put(agent, "f", b"old")
    for _ in range(5):
        sock = agent.connect()
        head = agent.headers({"Content-Length": str(8 * MIB)})
        sock.sendall(("PUT " + at("f") + " HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in head.items()) + "\r\n").encode())
        sock.sendall(b"x" * MIB)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        sock.close()
    assert agent.request("GET", at("f")).body == b"old"
    until(lambda: os.listdir(agent.root) == ["f"], what="what broken writes left")


def test_an_upload_is_resumed_where_it_ended(agent):
    data = os.urandom(2 * MIB)
    assert agent.request("PATCH", at("up.part", "append=true&offset=0"), body=data[:MIB]).status == 201
    refused = agent.request("PATCH", at("up.part", "append=true&offset=7"), body=b"x").problem(409, "append_offset_mismatch")
    assert refused["size"] == MIB
    assert agent.request("PATCH", at("up.part", f"append=true&offset={MIB}"), body=data[MIB:]).status == 200
    assert op(agent, "move", {"from": "up.part", "to": "up"}).status == 201
    assert agent.request("GET", at("up")).body == data


def test_twenty_writers_with_if_match_lose_no_update(agent):
    put(agent, "count", b"0")

    def add_five():
        for _ in range(5):
            while True:
                now = agent.request("GET", at("count"))
                answer = put(agent, "count", str(int(now.body) + 1).encode(), **{"If-Match": now.headers["ETag"]})
                if answer.status == 200:
                    break
                answer.problem(412, "precondition_failed")

    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        for job in [pool.submit(add_five) for _ in range(20)]:
            job.result()
    assert agent.request("GET", at("count")).body == b"100"


# --- edits ---


def test_edits_are_made_all_or_none_and_answered_by_a_diff(agent):
    put(agent, "f.txt", b"one\ntwo\nthree\n")
    edits = [{"old": "two", "new": "2"}, {"old": "three", "new": "3"}]
    answer = agent.request("PATCH", at("f.txt"), json={"edits": edits})
    assert answer.status == 200 and "-two\n" in answer.json()["diff"] and "+2\n" in answer.json()["diff"]
    refused = agent.request("PATCH", at("f.txt"), json={"edits": [{"old": "one", "new": "1"}, {"old": "gone", "new": ""}]})
    assert refused.problem(409, "edit_not_found")["field"] == "/edits/1/old"
    assert agent.request("GET", at("f.txt")).body == b"one\n2\n3\n"


def test_the_old_text_must_occur_as_often_as_was_said(agent):
    put(agent, "f", b"a a a")
    agent.request("PATCH", at("f"), json={"edits": [{"old": "a", "new": "b"}]}).problem(409, "edit_not_found")
    assert agent.request("PATCH", at("f"), json={"edits": [{"old": "a", "new": "b", "count": 3}]}).status == 200
    assert agent.request("PATCH", at("f"), json={"edits": [{"old": "b", "new": "c", "count": 0}]}).status == 200
    assert agent.request("GET", at("f")).body == b"c c c"


def test_a_batch_is_all_or_nothing(agent):
    put(agent, "a", b"1")
    put(agent, "b", b"2")
    done = op(agent, "batch", {"operations": [
        {"op": "write", "path": "c/new", "content_base64": base64.b64encode(b"\x00\xff").decode(), "mode": "0600"},
        {"op": "edit", "path": "a", "edits": [{"old": "1", "new": "one"}]}, {"op": "delete", "path": "b"}]})
    assert done.status == 200 and [item.get("path") for item in done.json()["items"]] == ["c/new", "a", "b"]
    assert agent.request("GET", at("c/new")).body == b"\x00\xff"
    failing = [{"op": "write", "path": "d", "content": "x"}, {"op": "delete", "path": "missing"}]
    assert op(agent, "batch", {"operations": failing}).problem(404)["field"].startswith("/operations/1")
    agent.request("GET", at("d")).problem(404, "path_not_found")
    each = op(agent, "batch", {"operations": failing, "atomic": False}).json()["items"]
    assert each[0]["size"] == 1 and each[1]["error"]["code"] == "path_not_found"
    op(agent, "batch", {"operations": []}).problem(400, "invalid_field")


# --- names and directories ---


def test_directories_are_listed_in_pages_in_the_order_of_their_bytes(agent):
    for number in range(25):
        put(agent, f"many/{number:02}.{'c' if number % 5 == 0 else 'h'}", b"x" * number)
    whole = names(agent, "path=many")
    assert whole == sorted(whole) and len(whole) == 25
    paged, cursor = [], ""
    while True:
        page = agent.request("GET", f"{FILES}:list?path=many&limit=10" + cursor).json()
        paged += [item["path"] for item in page["items"]]
        if "next_cursor" not in page:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert paged == whole
    assert len(names(agent, "path=many&pattern=*.c")) == 5
    assert names(agent, "path=many&pattern=re:^0[12]") == ["01.h", "02.h"]
    assert "many/03.h" in names(agent, "recursive=true")


def test_names_that_are_not_utf8_are_listed_exactly(agent):
    with open(os.path.join(os.fsencode(agent.root), b"bad-\xff\n"), "wb"):
        pass
    item = agent.request("GET", f"{FILES}:list").json()["items"][0]
    assert base64.b64decode(item["name_base64"]) == b"bad-\xff\n"
    assert agent.request("DELETE", FILES + "/bad-%FF%0A").status == 204


def test_stat_reports_links_and_does_not_follow_them(agent):
    put(agent, "target", b"there")
    assert op(agent, "symlink", {"path": "link", "target": "target"}).status == 201
    link, target, missing = agent.request("GET", f"{FILES}:stat?path=link&path=target&path=none").json()["items"]
    assert (link["type"], link["target"]) == ("symlink", "target") and target["type"] == "file"
    assert missing["error"]["code"] == "path_not_found"
    assert agent.request("GET", at("link")).body == b"there"


def test_moves_copies_directories_and_modes(agent):
    op(agent, "mkdir", {"path": "x/y"}).problem(404, "path_not_found")
    assert op(agent, "mkdir", {"path": "x/y", "parents": True}).status == 201
    put(agent, "x/y/f", b"data", "mode=0640")
    assert op(agent, "copy", {"from": "x", "to": "copy"}).status == 201
    assert agent.request("GET", at("copy/y/f")).body == b"data"
    op(agent, "move", {"from": "copy", "to": "x"}).problem(409, "already_exists")
    assert op(agent, "chmod", {"path": "x/y/f", "mode": "0600"}).json()["mode"] == "0600"
    op(agent, "chmod", {"path": "x/y/f", "mode": "rw"}).problem(400, "invalid_field")
    agent.request("DELETE", at("x")).problem(409, "directory_not_empty")
    assert agent.request("DELETE", at("x", "recursive=true")).status == 204
    assert names(agent) == ["copy"]


# --- paths that mean harm ---


@pytest.mark.parametrize("path", ["../etc/passwd", "%2e%2e/etc/passwd", "..%2fetc%2fpasswd", "/etc/passwd", "%2Fetc/passwd",
                                  "a/../../etc/passwd", "out/passwd", "out-absolute", "loop", "magic/root/etc/passwd"])
def test_no_path_leads_out_of_the_root(agent, path):
    (agent.root / "a").mkdir()
    (agent.root / "out").symlink_to("../../../../../../../../etc")
    (agent.root / "out-absolute").symlink_to("/etc/passwd")
    (agent.root / "loop").symlink_to("loop")
    (agent.root / "magic").symlink_to("/proc/self")
    for method, body in (("GET", None), ("PUT", b"x"), ("DELETE", None)):
        if method == "DELETE" and path in ("out-absolute", "loop"):
            continue  # the link itself, which is inside
        answer = agent.request(method, f"{FILES}/{path}", body=body)
        answer.problem(*((409, "too_many_links") if path == "loop" else (403, "path_escapes_root")))
    assert b"root:" in open("/etc/passwd", "rb").read()


def test_two_dots_that_stay_inside_are_just_a_path(agent):
    put(agent, "a/b/f", b"here")
    assert agent.request("GET", FILES + "/a/b/../b/f").body == b"here"


def test_a_directory_that_becomes_a_link_in_the_middle_never_leads_out(agent):
    inside, outside = agent.root / "inside", agent.folder / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret").write_text("secret")
    stop = threading.Event()

    link = agent.root / "link"
    link.symlink_to(outside)
    exchange = ctypes.CDLL(None, use_errno=True).renameat2

    def swap():
        while not stop.is_set():
            assert exchange(-100, bytes(inside), -100, bytes(link), 2) == 0  # AT_FDCWD, RENAME_EXCHANGE

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for number in range(400):
            # The refusal depends on what the name is at that moment: a directory without that file, or a link that leads out.
            refused = agent.request("GET", at("inside/secret"))
            refused.problem(*((404, "path_not_found") if refused.status == 404 else (403, "path_escapes_root")))
            made = put(agent, "inside/new", str(number).encode())
            assert made.status in (200, 201) or made.problem(403, "path_escapes_root")
    finally:
        stop.set()
        swapper.join()
    assert sorted(os.listdir(outside)) == ["secret"]


def test_only_regular_files_are_read_and_written(agent):
    os.mkfifo(agent.root / "fifo")
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(agent.root / "s"))
    for name in ("fifo", "s"):
        agent.request("GET", at(name)).problem(409, "not_a_regular_file")
        put(agent, name, b"x").problem(409, "not_a_regular_file")
    agent.request("GET", FILES + "/").problem(409, "is_a_directory")


@pytest.mark.parametrize("length, status", [(255, 201), (256, 400)])
def test_names_are_as_long_as_the_kernel_allows(agent, length, status):
    answer = put(agent, "n" * length, b"x")
    assert answer.status == status
    if status == 400:
        answer.problem(400, "name_too_long")


def test_a_read_only_root_can_be_read_and_nothing_else(agent, tmp_path):
    extra = tmp_path / "extra"
    extra.mkdir()
    (extra / "f").write_text("here")
    sid = agent.request("POST", "/v1/sessions", json={"extra_roots": [{"path": str(extra), "access": "ro"}]}).json()["id"]
    path = f"/v1/sessions/{sid}/files/{quote(str(extra), safe='')}"
    assert agent.request("GET", path + "/f").body == b"here"
    for method in ("PUT", "DELETE"):
        agent.request(method, path + "/f", body=b"x").problem(403, "permission_denied")
    agent.request("GET", at(str(extra) + "/f")).problem(403, "path_escapes_root")


def test_a_root_that_was_removed_and_made_again_is_the_root_again(agent):
    (agent.root / "r").mkdir()
    assert agent.request("PUT", "/v1/sessions/r", json={"root": str(agent.root / "r")}).status == 201
    files = "/v1/sessions/r/files"
    assert agent.request("PUT", f"{files}/f", body=b"1").status == 201
    shutil.rmtree(agent.root / "r")
    assert agent.request("GET", f"{files}/f").problem(404, "path_not_found")
    (agent.root / "r").mkdir()
    assert agent.request("GET", f"{files}/f").problem(404, "path_not_found")
    assert agent.request("PUT", f"{files}/f", body=b"2").status == 201
    assert (agent.root / "r" / "f").read_bytes() == b"2"


# --- searching, archives ---


def records(answer):
    assert answer.status == 200, answer
    lines = [json.loads(line) for line in answer.body.splitlines()]
    assert lines[-1]["type"] == "summary"
    return lines[:-1], lines[-1]


def test_grep_and_glob_heed_gitignore_and_say_when_there_is_more(agent):
    put(agent, "src/a.c", b"int main(void) {\n  return 42;\n}\n")
    put(agent, "src/b.h", b"// main\n")
    put(agent, "build/a.o", b"main\x00main")
    put(agent, "ignored/c.c", b"main\n")
    put(agent, ".gitignore", b"ignored/\n")
    found, summary = records(agent.request("GET", f"{FILES}:grep?pattern=main%5Cb&context=1"))
    assert {match["path"] for match in found} == {"src/a.c", "src/b.h"} and summary["truncated"] is False
    first = next(match for match in found if match["path"] == "src/a.c")
    assert (first["line_number"], first["column"], first["after"]) == (1, 5, ["  return 42;"])
    assert records(agent.request("GET", f"{FILES}:grep?pattern=main(&literal=true"))[1]["matches"] == 1
    assert records(agent.request("GET", f"{FILES}:grep?pattern=main&limit=1"))[1]["truncated"] is True
    agent.request("GET", f"{FILES}:grep?pattern=main(").problem(400, "invalid_field")
    globbed = {one["path"] for one in records(agent.request("GET", f"{FILES}:glob?pattern=**/*.%7Bc,h%7D"))[0]}
    assert globbed == {"src/a.c", "src/b.h"}


@pytest.mark.parametrize("format", ["tar", "tar.gz", "tar.zst"])
def test_an_archive_goes_out_and_comes_back(agent, format):
    data = os.urandom(MIB)
    put(agent, "tree/deep/data", data, "mode=0750")
    (agent.root / "tree" / "link").symlink_to("nowhere")
    packed = agent.request("GET", f"{FILES}:archive?path=tree&format={format}")
    assert packed.status == 200
    unpacked = agent.request("PUT", f"{FILES}:archive?path=again", body=packed.body,
                             headers={"Content-Type": "application/x-tar"})
    assert unpacked.status == 200 and unpacked.json()["bytes"] == MIB
    assert agent.request("GET", at("again/deep/data")).body == data
    assert os.readlink(agent.root / "again" / "link") == "nowhere"
    assert agent.request("PUT", f"{FILES}:archive?path=third&most_bytes=1000", body=packed.body).problem(
        413, "payload_too_large")
    assert not (agent.root / "third").exists()


def test_an_archive_of_one_file_is_found_by_its_absolute_path_in_any_root(agent, tmp_path):
    extra = tmp_path / "extra"
    extra.mkdir()
    (extra / "there").write_text("outside")
    put(agent, "deep/file", b"inside")
    sid = agent.request("POST", "/v1/sessions", json={"extra_roots": [{"path": str(extra)}]}).json()["id"]
    for path, text in ((agent.root / "deep/file", b"inside"), (extra / "there", b"outside")):
        packed = agent.request("GET", f"/v1/sessions/{sid}/files:archive?path={path}")
        assert packed.status == 200, packed.body
        with tarfile.open(fileobj=io.BytesIO(packed.body)) as tar:
            assert tar.getnames() == [path.name] and tar.extractfile(path.name).read() == text
    agent.request("GET", f"/v1/sessions/{sid}/files:archive?path={extra}/none").problem(404, "path_not_found")
    agent.request("GET", f"/v1/sessions/{sid}/files:archive?path=/etc/passwd").problem(403, "path_escapes_root")
