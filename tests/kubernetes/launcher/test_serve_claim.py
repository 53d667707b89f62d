"""`skiff serve --driver claim` with the real controller of kubernetes-sigs/agent-sandbox: what it makes, and what it refuses."""

import pytest

from serving import Server
from skiff import BUSYBOX, pool_json
from waiting import until

TEMPLATES = f"""
kept: {{image: "{BUSYBOX}", pod: {{cpu: "50m:1"}}}}
pooled: {{pod: {{pool: warm}}}}
"""
SANDBOXES = "sandboxes.agents.x-k8s.io"
CLAIMS = "sandboxclaims.extensions.agents.x-k8s.io"


@pytest.fixture
def key(claim_skiff):
    return claim_skiff("key", "create", "me", "--tenant", claim_skiff.namespace.name)[0].strip()


@pytest.fixture
def server(claim_skiff, key):
    templates = claim_skiff.work / "templates.yaml"
    templates.write_text(TEMPLATES)
    one = Server(claim_skiff, "--templates", templates, driver="claim")
    yield one
    assert one.stop() == 0


def create(server, key, **body):
    return server.request("POST", "/v1/sandboxes", body, key, timeout=130)


def run(server, key, sandbox, script):
    answer = server.request("POST", f"/s/{sandbox}/7070/v1/run", script.encode(), key, {"Content-Type": "text/plain"})
    assert answer.status == 200, (answer.status, answer.body, server.told()[-2000:])
    return answer.body.decode()


def refusal(answer):
    return answer.status, answer.json()["code"], answer.json().get("field")


def test_a_sandbox_is_one_of_the_controllers_from_its_creation_to_its_end(claim_skiff, server, key):
    made = create(server, key, name="box", template="kept", env={"GREETING": "hello"}, labels={"u": "v"}, ttl_ms=600_000)
    assert made.status == 201, (made.body, server.told()[-2000:])
    assert made.json()["state"] == "running" and made.json()["expires_at"]
    assert "skiff-box" in claim_skiff.objects(SANDBOXES)
    assert run(server, key, "box", "echo $GREETING") == "hello\n"
    listed = server.request("GET", "/v1/sandboxes?label=u=v", key=key).json()["items"]
    assert [one["id"] for one in listed] == ["box"]
    assert server.request("POST", "/v1/sandboxes/box/extend", {"ttl_ms": 3_600_000}, key).status == 200
    # Its files would go with its Pod, and nobody hurries the controller.
    assert refusal(server.request("POST", "/v1/sandboxes/box/stop", {}, key)) == (501, "not_supported", None)
    hurried = server.request("DELETE", "/v1/sandboxes/box?grace_ms=0", key=key)
    assert refusal(hurried) == (501, "not_supported", "grace_ms")
    assert server.request("DELETE", "/v1/sandboxes/box", key=key, timeout=130).status == 204
    assert server.request("GET", "/v1/sandboxes/box", key=key).status == 404
    until(lambda: claim_skiff.objects(SANDBOXES) == {}, 60)


def test_a_claim_from_a_pool_is_reached_and_has_its_variables(claim_skiff, server, key):
    pool_json(claim_skiff, "create", "warm", "-q", "--size", "1", "--image", BUSYBOX, "--dialect", "e2b")
    assert refusal(create(server, key, template="pooled", on_end="stop")) == (501, "not_supported", "on_end")
    assert refusal(create(server, key, template="pooled", network="deny")) == (501, "not_supported", "network")
    assert claim_skiff.objects(CLAIMS) == {}
    made = create(server, key, name="box", template="pooled", env={"GREETING": "hello"})
    assert made.status == 201, (made.body, server.told()[-2000:])
    assert "skiff-box" in claim_skiff.objects(CLAIMS)
    assert run(server, key, "box", "echo $GREETING; env | grep -c SKIFF_E2B || true") == "hello\n0\n"
    assert server.request("DELETE", "/v1/sandboxes/box", key=key, timeout=130).status == 204
    assert claim_skiff.objects(CLAIMS) == {}
    claim_skiff("pool", "rm", "warm")
