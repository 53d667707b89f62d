"""Version skew, as docs/upgrading.md promises it: this tree's `skiff` works with an older `skiffd`, an older `skiff` with this tree's
`skiffd`, and what one `skiff` has created the other one finds, uses and removes."""

import concurrent.futures
import json
import os
import shutil
import signal
import socket
import urllib.request

import pytest

import older
from serving import Serving
from launcher import Skiff

PAIRS = {"this skiff, older skiffd": ("this", "older"), "older skiff, this skiffd": ("older", "this")}


@pytest.fixture(scope="session")
def programs():
    """{"this": {program: path}, "older": {program: path}}"""
    name = older.commit()
    if name is None:
        pytest.skip("the older commit is not in this clone: git fetch --unshallow --tags")
    directory = older.programs(name)
    this = {"skiff": os.path.abspath(os.environ["SKIFF"]), "skiffd": os.path.abspath(os.environ["SKIFFD"])}
    return {"this": this, "older": {program: str(directory / program) for program in older.PROGRAMS}}


def directory_of(folder, programs, skiff, skiffd):
    """A directory with both: skiff starts the skiffd that is beside it."""
    place = folder / f"{skiff}-{skiffd}"
    place.mkdir()
    shutil.copy2(programs[skiff]["skiff"], place / "skiff")
    shutil.copy2(programs[skiffd]["skiffd"], place / "skiffd")
    return place / "skiff"


@pytest.fixture(params=PAIRS)
def pair(request, programs, tmp_path):
    return directory_of(tmp_path, programs, *PAIRS[request.param])


@pytest.fixture
def skiff(pair, tmp_path):
    one = Skiff(tmp_path)
    one.command[-1] = str(pair)
    yield one
    one.finish()


@pytest.fixture
def serving(pair, tmp_path):
    one = Serving(tmp_path)
    one.skiff.command[-1] = str(pair)
    yield one
    one.finish()


def test_commands(skiff):
    skiff.up("box", "--env", "A=b", "--label", "l=m")
    assert skiff("exec", "box", "--", "sh", "-c", "echo $A; echo err >&2; exit 3", status=3) == ("b\n", "err\n")
    assert skiff("exec", "box", "-i", "--", "cat", typed=b"typed")[0] == "typed"
    skiff("exec", "box", "--mode", "background", "--id", "job", "--", "sh", "-c", "echo one; sleep 60")
    assert skiff("exec", "box", "--id", "once", "--", "sh", "-c", "echo x >> count; cat count")[0] == "x\n"
    assert "job" in skiff("top", "box")[0]
    skiff("kill", "box", "job")
    assert "one" in skiff("logs", "box", "job")[0]
    skiff("session", "create", "box", "other", "--env", "B=c")
    assert "other" in skiff("session", "ls", "box")[0]
    assert skiff("exec", "box", "--session", "other", "--", "sh", "-c", "echo $B")[0] == "c\n"
    skiff("session", "rm", "box", "other")
    assert skiff("run", "--", "echo", "once")[0] == "once\n"


def test_files(skiff):
    skiff.up("box")
    tree = skiff.work / "tree"
    (tree / "a").mkdir(parents=True)
    (tree / "a/file").write_text("content\n")
    (tree / "link").symlink_to("a/file")
    skiff("cp", str(tree), "box:tree")
    skiff("cp", "box:tree", str(skiff.work / "back"))
    assert (skiff.work / "back/a/file").read_text() == "content\n" and os.readlink(skiff.work / "back/link") == "a/file"
    assert skiff("files", "cat", "box", "tree/a/file")[0] == "content\n"
    skiff("files", "write", "box", "new", typed=b"written")
    assert skiff("files", "ls", "box", "-o", "name")[0].split() == ["new", "tree"]
    assert "tree/a/file" in skiff("files", "grep", "box", "cont")[0]
    assert "tree/a/file" in skiff("files", "glob", "box", "tree/*/file")[0]
    skiff("files", "rm", "box", "new")


def test_ports(skiff):
    with socket.create_server(("127.0.0.1", 0)) as server:
        skiff.up("box")
        process = skiff.start("forward", "box", f":{server.getsockname()[1]}")
        port = int(process.stdout.readline().decode().split(" -> ")[0].rsplit(":", 1)[1])
        with socket.create_connection(("127.0.0.1", port)) as client:
            peer, _ = server.accept()
            with peer:
                client.sendall(b"there")
                assert peer.recv(100) == b"there"
                peer.sendall(b"back")
                assert client.recv(100) == b"back"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        process.communicate()


def test_the_life_of_a_sandbox(skiff):
    skiff.up("box", "--ttl", "10m")
    skiff("exec", "box", "--", "sh", "-c", "echo kept > file")
    skiff("extend", "box", "--ttl", "1h")
    skiff("stop", "box")
    assert "stopped" in skiff("ps")[0]
    skiff("start", "box")
    assert skiff("exec", "box", "--", "cat", "file")[0] == "kept\n"
    request = urllib.request.Request(skiff.json("describe", "box")["address"] + "/v1/version",
                                     headers={"Authorization": "Bearer " + skiff("token", "box")[0].strip()})
    with urllib.request.urlopen(request, timeout=20) as answer:
        assert json.load(answer)["name"] == "skiffd"
    skiff("rm", "box")


def test_mcp(skiff):
    skiff.up("box")
    asked = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                 "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}},
             {"jsonrpc": "2.0", "method": "notifications/initialized"},
             {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}]
    out = skiff("mcp", "box", typed="".join(json.dumps(one) + "\n" for one in asked).encode())[0]
    answers = {one["id"]: one for one in map(json.loads, out.splitlines()) if "id" in one}
    assert len(answers[2]["result"]["tools"]) > 3


def test_sandboxes_by_an_api_key(serving):
    key = serving.key()
    server = serving.start()
    made = server.request("POST", "/v1/sandboxes", {"name": "demo", "on_end": "stop"}, key)
    assert made.status == 201, made.body

    def run(script, path="/s/demo/7070/v1/run"):
        answer = server.request("POST", path, script.encode(), key, {"Content-Type": "text/plain"})
        assert answer.status == 200, answer.body
        return answer.body

    assert b"here" in run("echo here")
    assert server.request("POST", "/v1/sandboxes/demo/stop", {}, key).status == 200
    assert b"awake" in run("echo awake"), "it was woken"
    # E2B's dialect, by the access token.
    made = server.request("POST", "/sandboxes", {"templateID": "base", "timeout": 600}, key).json()
    told = server.request("GET", "/files?path=none", headers={
        "E2b-Sandbox-Id": made["sandboxID"], "E2b-Sandbox-Port": "49983", "X-Access-Token": made["envdAccessToken"]})
    assert told.status == 404, told.body
    assert server.request("GET", f"/sandboxes/{made['sandboxID']}/metrics", key=key).status == 200
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(b"here" in body for body in pool.map(run, ["echo here"] * 8))
    assert server.request("DELETE", "/v1/sandboxes/demo", key=key).status == 204


@pytest.mark.parametrize("first, second", [("older", "this"), ("this", "older")], ids=["upgrade", "rollback"])
def test_what_one_has_created_the_other_one_uses(programs, tmp_path, first, second):
    """The programs of a machine, or the image of `skiff serve`, are replaced while sandboxes run."""
    serving = Serving(tmp_path)
    skiff, commands = serving.skiff, [directory_of(tmp_path, programs, one, one) for one in (first, second)]
    skiff.command[-1] = str(commands[0])
    key = serving.key()
    server = serving.start()
    assert server.request("POST", "/v1/sandboxes", {"name": "served", "on_end": "stop", "labels": {"a": "b"}}, key).status == 201
    for name in ("runs", "stopped"):
        skiff.up(name)
        skiff("exec", name, "--", "sh", "-c", f"echo {name} > file")
    skiff("exec", "runs", "--mode", "background", "--id", "job", "--", "sh", "-c", "echo before; sleep 60")
    skiff("stop", "stopped")
    assert server.stop() == 0

    skiff.command[-1] = str(commands[1])
    skiff("start", "stopped")
    assert skiff("exec", "stopped", "--", "cat", "file")[0] == "stopped\n"
    assert "before" in skiff("logs", "runs", "job")[0] and "job" in skiff("top", "runs")[0]
    skiff("kill", "runs", "job")
    server = serving.start()
    shown = server.request("GET", "/v1/sandboxes/served", key=key).json()
    assert (shown["state"], shown["labels"]) == ("running", {"a": "b"})
    assert server.request("GET", "/s/served/7070/v1/version", key=key).status == 200
    assert server.request("POST", "/v1/sandboxes/served/stop", {}, key).status == 200
    assert server.request("GET", "/s/served/7070/v1/version", key=key).status == 200, "it was woken"
    assert server.request("DELETE", "/v1/sandboxes/served", key=key).status == 204
    serving.finish()
