"""Version skew on a cluster: this tree's `skiff` with Pods whose agent is older, and an older `skiff` with Pods of this tree's agent."""

import pathlib
import sys

import pytest

import images
from readme import TREE
from serving import Server
from skiff import AGENT, Skiff

sys.path.append(str(TREE / "tests/skew"))
import older  # noqa: E402

OLDER_AGENT = "skiff.test/older:1"


@pytest.fixture(scope="module")
def programs():
    name = older.commit()
    if name is None:
        pytest.skip("the older commit is not in this clone: git fetch --unshallow --tags")
    return older.programs(name)


@pytest.fixture(params=["this skiff, older skiffd", "older skiff, this skiffd"])
def skiff(request, programs, cluster, namespace, tmp_path):
    client = Skiff(tmp_path, namespace)
    client.agent = AGENT
    if request.param == "this skiff, older skiffd":
        layer = images.Layer().file("skiffd", (programs / "skiffd").read_bytes(), 0o755).done()
        cluster.load(OLDER_AGENT, layer, {"Entrypoint": ["/skiffd"], "User": "1000:1000"})
        client.agent = OLDER_AGENT
    else:
        client.program = client.command[-1] = str(programs / "skiff")
    ours = client.environment
    client.environment = lambda **more: ours(**{"SKIFF_AGENT_IMAGE": client.agent, **more})
    yield client
    client.finish()


def test_a_sandbox_is_used_stopped_and_started(skiff):
    skiff.up("box", "--env", "A=b", "--ttl", "10m")
    assert skiff("exec", "box", "--", "sh", "-c", "echo $A; exit 3", status=3)[0] == "b\n"
    skiff("exec", "box", "--mode", "background", "--id", "job", "--", "sh", "-c", "echo one; sleep 60")
    assert "job" in skiff("top", "box")[0]
    skiff("kill", "box", "job")
    assert "one" in skiff("logs", "box", "job")[0]
    file = skiff.work / "file"
    file.write_bytes(bytes(range(256)) * 1000)
    skiff("cp", str(file), "box:file")
    skiff("cp", "box:file", str(skiff.work / "back"))
    assert (skiff.work / "back").read_bytes() == file.read_bytes()
    skiff("extend", "box", "--ttl", "1h")
    skiff("stop", "box")
    assert [one["state"] for one in skiff.json("ps")["items"]] == ["stopped"]
    skiff("start", "box")
    assert skiff("exec", "box", "--", "echo", "again")[0] == "again\n"
    skiff("rm", "box")


def test_a_sandbox_by_an_api_key(skiff):
    key = skiff("key", "create", "me", "--tenant", skiff.namespace.name)[0].strip()
    templates = skiff.work / "templates.yaml"
    templates.write_text('base: {image: "skiff.test/busybox:1", pod: {cpu: "5m:1"}}\n')
    server = Server(skiff, "--templates", templates, driver="pod")
    try:
        made = server.request("POST", "/v1/sandboxes", {"template": "base"}, key, timeout=130)
        assert made.status == 201, made.body
        path = f"/v1/sandboxes/{made.json()['id']}"
        ran = server.request("POST", f"/s/{made.json()['id']}/7070/v1/run", b"echo there", key, {"Content-Type": "text/plain"})
        assert (ran.status, ran.body) == (200, b"there\n")
        assert server.request("DELETE", path, key=key).status == 204
    finally:
        server.stop()
