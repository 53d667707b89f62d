"""The dialect e2b: files, directories, watches, signed URLs."""

import gzip
import hashlib
import os
import time
from urllib.parse import quote, urlencode

import pytest

from e2b import client, encoded, signature, start_client  # noqa: F401
from waiting import until

TOKEN = "e2b-token-of-the-tests"
DIGEST = hashlib.sha256(TOKEN.encode()).hexdigest()
OCTETS = {"Content-Type": "application/octet-stream"}
BOUNDARY = {"Content-Type": "multipart/form-data; boundary=cut"}


def files(**query):
    return "/files?" + urlencode(query)


def write(client, path, data, **headers):
    answer = client.door.request("POST", files(path=path), body=data, headers={**OCTETS, **headers})
    assert answer.status == 200, answer
    return answer.json()


def form(*parts):
    return b"".join(b'--cut\r\nContent-Disposition: form-data; name="file"; filename="%s"\r\n\r\n%s\r\n' % part for part in parts) + b"--cut--\r\n"


def stat(client, path, status=200):
    answer = client.unary("filesystem.Filesystem/Stat", {"path": path}, status)
    return answer["entry"] if status == 200 else answer


# --- paths ---


def test_with_a_home_programs_use_every_path(start_client, tmp_path):
    """E2B's programs name paths anywhere, and their commands start at home. The agent's own root stays as it is."""
    home = tmp_path / "home"
    home.mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    client = start_client("--e2b-home", str(home))
    assert write(client, "a.txt", b"a")[0]["path"] == f"{home}/a.txt"
    assert write(client, "~/b.txt", b"b")[0]["path"] == f"{home}/b.txt"
    assert write(client, f"{elsewhere}/c.txt", b"c")[0]["path"] == f"{elsewhere}/c.txt"
    assert client.run("pwd; echo $HOME; ls").out == f"{home}\n{home}\na.txt\nb.txt\n".encode()
    assert client.run("echo $HOME", process={"envs": {"HOME": "/other"}}).out == b"/other\n"
    assert client.run("pwd", process={"cwd": str(elsewhere)}).out == f"{elsewhere}\n".encode()
    refused = client.agent.request("GET", f"/v1/sessions/default/files/{quote(str(elsewhere / 'c.txt'), safe='')}")
    refused.problem(403, "path_escapes_root")


def test_with_a_home_the_agents_own_files_stay_closed(start_client, tmp_path):
    client = start_client("--e2b-home", str(tmp_path))
    for path in ("environ", "mem", "fd/0", "root/etc/passwd", "cwd"):
        answer = client.door.request("GET", files(path=f"/proc/{client.agent.pid}/{path}"))
        assert answer.status in (400, 403, 404), (path, answer)


# --- bytes ---


def test_a_file_comes_back_as_it_went(client):
    root = str(client.agent.root)
    data = bytes(range(256)) * 1000
    assert write(client, "a/b/c.bin", data) == [{"path": f"{root}/a/b/c.bin", "name": "c.bin", "type": "file"}]
    for path in ("a/b/c.bin", f"{root}/a/b/c.bin", "./a/../a/b/c.bin"):
        answer = client.door.request("GET", files(path=path))
        assert (answer.status, answer.body) == (200, data), path
    part = client.door.request("GET", files(path="a/b/c.bin"), headers={"Range": "bytes=10-19"})
    assert (part.status, part.body) == (206, data[10:20])
    head = client.door.request("HEAD", files(path="a/b/c.bin"))
    assert (head.status, head.headers["Content-Length"], head.body) == (200, str(len(data)), b"")


def test_a_form_holds_any_number_of_files(client):
    root = str(client.agent.root)
    answer = client.door.request("POST", "/files", body=form((b"one", b"1"), (f"{root}/d/two".encode(), b"2"), ("ü %22q%22".encode(), b"3")),
                                 headers=BOUNDARY)
    assert [one["path"] for one in answer.json()] == [f"{root}/one", f"{root}/d/two", f'{root}/ü "q"']
    assert [(client.agent.root / name).read_bytes() for name in ("one", "d/two", 'ü "q"')] == [b"1", b"2", b"3"]
    one = client.door.request("POST", files(path="named"), body=form((b"other", b"4")), headers=BOUNDARY)
    assert one.json()[0]["name"] == "named" and (client.agent.root / "named").read_bytes() == b"4"
    assert client.door.request("POST", files(path="named"), body=form((b"a", b""), (b"b", b"")), headers=BOUNDARY).status == 400
    assert client.door.request("POST", "/files", body=b"--cut--\r\n", headers=BOUNDARY).status == 400
    twice = client.door.request("POST", "/files", body=form((b"one", b"5"), (b"./one", b"6")), headers=BOUNDARY)
    assert (twice.status, (client.agent.root / "one").read_bytes()) == (400, b"5"), twice.body


def test_compressed_bytes_are_decompressed(client):
    data = os.urandom(100_000) + b"x" * 3_000_000
    write(client, "big", gzip.compress(data), **{"Content-Encoding": "gzip"})
    assert (client.agent.root / "big").read_bytes() == data
    for body in (gzip.compress(data)[:-20], b"not gzip"):
        answer = client.door.request("POST", files(path="big"), body=body, headers={**OCTETS, "Content-Encoding": "gzip"})
        assert answer.status == 400 and (client.agent.root / "big").read_bytes() == data
    assert client.door.request("POST", files(path="big"), body=b"", headers={**OCTETS, "Content-Encoding": "br"}).status == 415


def test_metadata_is_kept_with_a_file(client):
    probe = client.agent.root / "probe"
    probe.touch()
    try:
        os.setxattr(probe, "user.x", b"")
    except OSError:
        assert client.door.request("POST", files(path="m"), body=b"", headers={**OCTETS, "X-Metadata-A": "1"}).status == 501
        return
    assert write(client, "m", b"1", **{"X-Metadata-Author": "me", "X-Metadata-N": "2"})[0]["metadata"] == {"author": "me", "n": "2"}
    assert stat(client, "m")["metadata"] == {"author": "me", "n": "2"}
    assert os.getxattr(client.agent.root / "m", "user.e2b.author") == b"me"
    write(client, "m", b"2")
    assert "metadata" not in stat(client, "m")
    long = client.door.request("POST", files(path="m"), body=b"", headers={**OCTETS, "X-Metadata-A": "x" * 5000})
    assert long.status == 400 and (client.agent.root / "m").read_bytes() == b"2"


@pytest.mark.parametrize("path, status", [("none", 404), ("d", 400), ("/nowhere/x", 403), ("d/../../x", 403), ("~root", 400), (None, 400)])
def test_errors_of_reading_are_numbers(client, path, status):
    (client.agent.root / "d").mkdir()
    answer = client.door.request("GET", files(path=path) if path else "/files")
    assert answer.status == status and answer.json()["code"] == status and answer.json()["message"]


def test_errors_of_writing(client):
    (client.agent.root / "d").mkdir()
    (client.agent.root / "f").touch()
    for path, status in (("d", 400), ("f/x", 400), ("/nowhere/x", 403)):
        answer = client.door.request("POST", files(path=path), body=b"x", headers=OCTETS)
        assert answer.status == status, (path, answer)
    assert client.door.request("POST", "/files", body=b"x", headers=OCTETS).status == 400
    unknown = client.door.request("GET", files(path="f", username="no-such-user"))
    assert (unknown.status, unknown.json()["code"]) == (401, 401)


def test_the_refusal_of_a_path_outside_the_root_names_the_root(client):
    answer = client.door.request("GET", files(path="/etc/passwd"))
    assert answer.status == 403 and str(client.agent.root) in answer.json()["message"]


# --- signed URLs ---


def test_a_signature_opens_one_file_for_one_thing(start_client):
    client = start_client("--e2b-token-sha256", DIGEST, headers={"X-Access-Token": TOKEN})
    (client.agent.root / "f").write_text("text")
    signed = files(path="f", signature=signature("f", "read", "", TOKEN))
    assert client.door.request("GET", signed).status == 401, "nobody has shown the token yet"
    client.unary("process.Process/List", {})
    assert client.door.request("GET", signed).body == b"text"
    assert client.door.request("POST", signed, body=b"", headers=OCTETS).status == 401
    assert client.door.request("GET", signed.replace("path=f", "path=g")).status == 401
    assert client.door.request("GET", files(path="f")).status == 401
    upload = files(path="up", signature=signature("up", "write", "", TOKEN))
    assert client.door.request("POST", upload, body=b"up", headers=OCTETS).status == 200
    later, before = int(time.time()) + 1000, int(time.time()) - 1000
    for expires, status in ((later, 200), (before, 401)):
        url = files(path="f", signature=signature("f", "read", "", TOKEN, expires), signature_expiration=expires)
        assert client.door.request("GET", url).status == status


# --- entries ---


def test_an_entry_has_its_real_type_and_size(client):
    root = client.agent.root
    (root / "f").write_text("12345")
    (root / "f").chmod(0o640)
    entry = stat(client, "f")
    assert entry.pop("modifiedTime").endswith("Z") and entry.pop("owner") and entry.pop("group")
    assert entry == {"name": "f", "type": "FILE_TYPE_FILE", "path": f"{root}/f", "size": "5", "mode": 0o640, "permissions": "-rw-r-----"}
    (root / "d").mkdir(mode=0o755)
    assert stat(client, "d")["permissions"] == "drwxr-xr-x"
    (root / "to_f").symlink_to("f")
    link = stat(client, "to_f")
    assert (link["type"], link["name"], link["size"], os.path.realpath(link["symlinkTarget"])) == ("FILE_TYPE_FILE", "to_f", "5", os.path.realpath(root / "f"))
    (root / "out").symlink_to("/etc/passwd")
    assert (stat(client, "out")["type"], stat(client, "out")["symlinkTarget"]) == ("FILE_TYPE_SYMLINK", "/etc/passwd")
    assert stat(client, "none", 404) == "not_found"
    assert stat(client, "/etc/passwd", 403) == "permission_denied"


def test_the_root_has_a_name(start_client):
    client = start_client("--root", "/")
    assert stat(client, "/")["name"] == "/"
    assert stat(client, "/proc/")["name"] == "proc"


def test_directories_are_made_once(client):
    root = client.agent.root
    assert client.unary("filesystem.Filesystem/MakeDir", {"path": "a/b/c"})["entry"]["path"] == f"{root}/a/b/c"
    assert client.unary("filesystem.Filesystem/MakeDir", {"path": "a/b/c"}, 409) == "already_exists"
    (root / "f").touch()
    assert client.unary("filesystem.Filesystem/MakeDir", {"path": "f"}, 400) == "invalid_argument"
    assert client.unary("filesystem.Filesystem/MakeDir", {"path": "/nowhere/x"}, 403) == "permission_denied"


def test_lists_go_as_deep_as_asked(client):
    root = client.agent.root
    (root / "a/b/c").mkdir(parents=True)
    (root / "a/f").touch()
    (root / "a/b/g").touch()
    (root / "a/loop").symlink_to(".")
    def names(**message):
        return [os.path.relpath(one["path"], root) for one in client.unary("filesystem.Filesystem/ListDir", message)["entries"]]
    assert names(path="a") == names(path="a", depth=0) == ["a/b", "a/f", "a/loop"]
    assert names(path="a", depth=2) == ["a/b", "a/b/c", "a/b/g", "a/f", "a/loop"]
    assert names(path="", depth=1) == ["a"]
    assert client.unary("filesystem.Filesystem/ListDir", {"path": "a/f"}, 400) == "invalid_argument"
    assert client.unary("filesystem.Filesystem/ListDir", {"path": "none"}, 404) == "not_found"


def test_moves_replace_files(client):
    root = client.agent.root
    (root / "a").write_text("a")
    (root / "b").write_text("b")
    entry = client.unary("filesystem.Filesystem/Move", {"source": "a", "destination": "b"})["entry"]
    assert entry["path"] == f"{root}/b" and (root / "b").read_text() == "a" and not (root / "a").exists()
    client.unary("filesystem.Filesystem/Move", {"source": "b", "destination": "deep/er/c"})
    assert (root / "deep/er/c").read_text() == "a"
    assert client.unary("filesystem.Filesystem/Move", {"source": "none", "destination": "x"}, 404) == "not_found"
    assert client.unary("filesystem.Filesystem/Move", {"source": "deep", "destination": "/nowhere/x"}, 403) == "permission_denied"
    assert client.unary("filesystem.Filesystem/Move", {"source": "deep"}, 400) == "invalid_argument"


def test_removal_takes_all_and_asks_for_nothing(client):
    root = client.agent.root
    (root / "d/e").mkdir(parents=True)
    (root / "d/e/f").touch()
    assert client.unary("filesystem.Filesystem/Remove", {"path": "d"}) == {}
    assert not (root / "d").exists()
    assert client.unary("filesystem.Filesystem/Remove", {"path": "d"}) == {}
    assert client.unary("filesystem.Filesystem/Remove", {"path": "/etc/passwd"}, 403) == "permission_denied"


# --- watches ---


@pytest.fixture
def watched(client):
    """A directory; a watch is kept for a while unless its directory is gone."""
    (client.agent.root / "w/sub").mkdir(parents=True)
    yield client.agent.root / "w"
    client.unary("filesystem.Filesystem/Remove", {"path": "w"})


def test_a_watch_streams_what_happens(client, watched):
    with client.stream("filesystem.Filesystem/WatchDir", {"path": "w", "recursive": True, "includeEntry": True}) as events:
        assert next(events) == {"start": {}}
        write(client, "w/sub/new", b"1")
        seen = {}
        while len(seen) < 2:
            event = next(events)["filesystem"]
            seen[event["type"]] = event
        assert {one["name"] for one in seen.values()} == {"sub/new"} and set(seen) == {"EVENT_TYPE_CREATE", "EVENT_TYPE_WRITE"}
        assert seen["EVENT_TYPE_WRITE"]["entry"]["path"] == f"{watched}/sub/new"
        os.unlink(watched / "sub/new")
        event = next(events)["filesystem"]
        assert (event["type"], event["name"], "entry" in event) == ("EVENT_TYPE_REMOVE", "sub/new", False)


def test_a_watch_ends_with_its_directory_and_its_time(client, watched):
    with client.stream("filesystem.Filesystem/WatchDir", {"path": "w/sub"}) as events:
        next(events)
        os.rmdir(watched / "sub")
        # The directory itself is called as Go calls it.
        assert [one["filesystem"] for one in events] == [{"name": ".", "type": "EVENT_TYPE_REMOVE"}]
        assert events.end == {}
    with client.stream("filesystem.Filesystem/WatchDir", {"path": "w"}, **{"Connect-Timeout-Ms": "200"}) as events:
        assert events.code() == "deadline_exceeded"
    with client.stream("filesystem.Filesystem/WatchDir", {"path": "w"}, **{"Keepalive-Ping-Interval": "1"}) as events:
        next(events)
        assert next(events) == {"keepalive": {}}


def test_a_watch_can_be_polled(client, watched):
    watcher = client.unary("filesystem.Filesystem/CreateWatcher", {"path": "w"})
    def poll():
        return [(one["type"], one["name"]) for one in client.unary("filesystem.Filesystem/GetWatcherEvents", watcher)["events"]]
    def polled(wanted):
        found = []
        until(lambda: found.extend(poll()) or wanted in found, what=f"{wanted} in {found}")
        return found
    assert poll() == []
    write(client, "w/f", b"1")
    assert polled(("EVENT_TYPE_WRITE", "f"))[0] == ("EVENT_TYPE_CREATE", "f")
    write(client, "w/f", b"2")
    assert polled(("EVENT_TYPE_WRITE", "f")) == [("EVENT_TYPE_WRITE", "f")]
    os.rename(watched / "f", watched / "g")
    assert polled(("EVENT_TYPE_CREATE", "g")) == [("EVENT_TYPE_RENAME", "f"), ("EVENT_TYPE_CREATE", "g")]
    assert client.unary("filesystem.Filesystem/RemoveWatcher", watcher) == {}
    assert client.unary("filesystem.Filesystem/GetWatcherEvents", watcher, 404) == "not_found"
    assert client.unary("filesystem.Filesystem/RemoveWatcher", watcher, 404) == "not_found"


def test_a_watch_of_something_else_than_a_directory_is_refused(client):
    (client.agent.root / "f").touch()
    for path, status, code in (("f", 400, "invalid_argument"), ("none", 404, "not_found"), ("/etc", 403, "permission_denied")):
        assert client.unary("filesystem.Filesystem/CreateWatcher", {"path": path}, status) == code
        with client.stream("filesystem.Filesystem/WatchDir", {"path": path}) as events:
            assert events.code() == code


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_files_belong_to_the_user_that_is_named(start_client):
    client = start_client("--e2b-token-sha256", DIGEST, headers={"X-Access-Token": TOKEN})
    answer = client.door.request("POST", files(path=f"{client.agent.root}/n/f", username="nobody"), body=b"x",
                                 headers={**OCTETS, "X-Access-Token": TOKEN})
    assert answer.status == 200
    assert stat(client, f"{client.agent.root}/n/f")["owner"] == stat(client, f"{client.agent.root}/n")["owner"] == "nobody"
    client.unary("filesystem.Filesystem/MakeDir", {"path": f"{client.agent.root}/m"}, Authorization="Basic " + encoded(b"nobody:"))
    assert stat(client, f"{client.agent.root}/m")["owner"] == "nobody"
