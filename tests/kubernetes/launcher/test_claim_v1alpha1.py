"""The `claim` driver with an old release of kubernetes-sigs/agent-sandbox, which serves nothing but v1alpha1."""

import datetime

import pytest

from cluster import running
from skiff import BUSYBOX, make_pool, pool_json
from waiting import until

CLAIMS = "sandboxclaims.extensions.agents.x-k8s.io"
SANDBOXES = "sandboxes.agents.x-k8s.io"


@pytest.fixture(scope="session")
def cluster():
    with running("agent-sandbox-v1alpha1") as cluster:
        yield cluster


@pytest.fixture
def skiff(claim_skiff):
    return claim_skiff


@pytest.fixture
def pool(skiff):
    """A template that runs skiffd and a pool of it, as `skiff pool create` makes them."""
    return make_pool(skiff)


def test_the_cluster_has_no_other_version(skiff):
    served = skiff.cluster.kubectl("api-versions").split()
    assert sorted(one for one in served if "agents.x-k8s.io" in one) == ["agents.x-k8s.io/v1alpha1", "extensions.agents.x-k8s.io/v1alpha1"]
    checks = {one["what"]: one for one in skiff.json("doctor")["items"]}
    assert checks["agent-sandbox"]["detail"] == "SandboxClaims v1alpha1" and checks["agent-sandbox"]["passed"]


def test_a_bare_sandbox_runs_commands_and_is_removed(skiff):
    up = skiff.up("box", "--image", BUSYBOX, "--env", "GREETING=hello", "--label", "team=blue")
    assert (up["driver"], up["state"], up["details"]["kind"]) == ("claim", "running", "Sandbox")
    assert skiff.run("echo $GREETING") == "hello\n"
    assert [one["name"] for one in skiff.json("ps", "--label", "team=blue")["items"]] == ["box"]
    again = skiff.json("up", "box", "-q", "--image", BUSYBOX, "--get-or-create")
    assert again["new"] is False and again["id"] == up["id"]
    assert skiff("rm", "box")[0] == "box\n"
    assert skiff.objects("pods") == {}


def test_stop_takes_the_replica_away_and_start_gives_it_back(skiff):
    up = skiff.up("box", "--image", BUSYBOX, "--env", "GREETING=hello", "--ttl", "1h")
    skiff("stop", "box")
    assert skiff.objects(SANDBOXES)["skiff-box"]["spec"]["replicas"] == 0
    assert skiff.objects("pods") == {}
    assert skiff.json("describe", "box")["state"] == "stopped"
    _, err = skiff("exec", "box", "--", "true", status=125)
    assert "skiff start box" in err
    started = skiff.json("start", "box", "-q")
    assert started["id"] == up["id"] and started["expires_at"]
    assert skiff.objects(SANDBOXES)["skiff-box"]["spec"]["replicas"] == 1
    assert skiff.run("echo $GREETING") == "hello\n"


def test_a_claim_names_the_template_of_its_pool_and_its_agent_gets_the_rest(skiff, pool):
    up = skiff.up("box", "--pool", pool, "--env", "GREETING=hello", "--label", "team=blue")
    assert up["details"]["kind"] == "SandboxClaim", up
    assert skiff.run("echo $GREETING $LEVEL") == "hello pool\n"
    assert skiff.objects(CLAIMS)["skiff-box"]["spec"]["sandboxTemplateRef"] == {"name": "warm"}
    assert [one["name"] for one in skiff.json("ps")["items"]] == ["box"], "what waits, and a claim's Sandbox, are none"
    refilled = until(lambda: (now := pool_json(skiff, "status", pool))["available"] == 1 and now, seconds=60)
    assert refilled["target"] == 1
    skiff("rm", "box")
    assert skiff.objects(CLAIMS) == {} and skiff.objects(SANDBOXES) == {}


def test_a_claimed_one_is_stopped_and_started_too(skiff, pool):
    skiff.up("box", "--pool", pool, "--env", "GREETING=hello")
    skiff("stop", "box")
    assert until(lambda: skiff.json("describe", "box")["state"] == "stopped", seconds=60)
    skiff.json("start", "box", "-q")
    assert skiff.run("echo $GREETING $LEVEL") == "hello pool\n"


def test_a_template_needs_no_pool(skiff, pool):
    skiff("pool", "scale", pool, "0")
    up = skiff.up("box", "--template", "warm")
    assert up["state"] == "running" and skiff.run("echo $LEVEL") == "pool\n"
    _, err = skiff("up", "other", "--template", "none", status=125)
    assert "none" in err, err
    assert "skiff-other" not in skiff.objects(CLAIMS)


def test_a_ttl_is_kept_and_extended(skiff, pool):
    def shutdown():
        text = skiff.objects(CLAIMS)["skiff-box"]["spec"]["lifecycle"]["shutdownTime"]
        return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))

    skiff.up("box", "--pool", pool, "--ttl", "1h")
    first = shutdown()
    skiff("extend", "box", "--ttl", "3h")
    assert shutdown() - first > datetime.timedelta(hours=1)
    skiff("extend", "box", "--ttl", "2s")
    until(lambda: skiff.objects(CLAIMS) == {}, seconds=60)
    assert skiff.json("ps")["items"] == []
