"""`skiff serve` with the driver box: programs for E2B find their paths on this machine, isolated."""

import pytest

from boxes import skiff  # noqa: F401
from serving import Server


@pytest.fixture
def server(skiff):
    one = Server(skiff, driver="box")
    yield one
    one.stop()


def test_a_program_for_e2b_uses_its_usual_paths_also_after_a_pause(skiff, server):
    key = skiff("key", "create", "me")[0].strip()
    made = server.request("POST", "/v2/sandboxes", {"timeout": 600}, key)
    assert made.status == 201, made.body
    name, token = made.json()["sandboxID"], made.json()["envdAccessToken"]
    skiff.users.add(skiff.record(name)["user"])

    def file(method, path, body=None):
        headers = {"E2b-Sandbox-Id": name, "E2b-Sandbox-Port": "49983", "X-Access-Token": token, "Content-Type": "application/octet-stream"}
        answer = server.request(method, f"/files?path={path}", body, headers=headers)
        assert answer.status == 200, (method, path, answer.body)
        return answer

    for path in ("/home/user/a.txt", "/tmp/a.txt", "/workspace/a.txt"):
        assert file("POST", path, b"kept").json()[0]["path"] == path
    assert file("POST", "b.txt", b"at home").json()[0]["path"] == "/home/user/b.txt"
    assert skiff.sh("cat ~/a.txt /tmp/a.txt a.txt", name) == "kept" * 3
    assert server.request("POST", f"/sandboxes/{name}/pause", key=key).status == 204
    woken = server.request("POST", f"/sandboxes/{name}/connect", {"timeout": 600}, key)
    assert woken.status == 201, woken.body
    token = woken.json()["envdAccessToken"]
    assert file("GET", "/home/user/a.txt").body == b"kept"
    assert server.request("DELETE", f"/sandboxes/{name}", key=key).status == 204
    assert skiff.names() == []
