"""The `claim` driver with the real controller of kubernetes-sigs/agent-sandbox, by the real `skiff`."""

import json

import pytest

from skiff import BUSYBOX, make_pool, pool_json
from waiting import until

EXTENSIONS = "extensions.agents.x-k8s.io/v1beta1"


@pytest.fixture
def skiff(claim_skiff):
    return claim_skiff


@pytest.fixture
def pool(skiff):
    """A template that runs skiffd and a pool of it, as `skiff pool create` makes them."""
    return make_pool(skiff)


def test_a_bare_sandbox_needs_neither_template_nor_pool(skiff):
    up = skiff.up("box", "--image", BUSYBOX, "--env", "GREETING=hello", "--label", "team=blue")
    assert (up["driver"], up["state"], up["details"]["kind"]) == ("claim", "running", "Sandbox")
    assert skiff.run("echo $GREETING") == "hello\n"
    made = skiff.objects("sandboxes.agents.x-k8s.io")["skiff-box"]
    assert made["spec"]["service"] is True and made["metadata"]["labels"]["label.skiff.dev/team"] == "blue"
    assert [one["name"] for one in skiff.json("ps", "--label", "team=blue")["items"]] == ["box"]
    _, err = skiff("up", "box", "--image", BUSYBOX, status=125)
    assert 'there is a sandbox "box"' in err
    again = skiff.json("up", "box", "-q", "--image", BUSYBOX, "--get-or-create")
    assert again["new"] is False and again["id"] == up["id"]
    assert skiff("rm", "box")[0] == "box\n"
    out, err = skiff("rm", "box")
    assert out == "" and "box: there is none (driver claim, namespace " in err
    assert skiff.objects("pods") == {}


def test_stop_suspends_and_start_resumes_with_the_same_id_and_environment(skiff):
    up = skiff.up("box", "--image", BUSYBOX, "--env", "GREETING=hello", "--ttl", "1h")
    skiff("stop", "box")
    assert skiff.objects("sandboxes.agents.x-k8s.io")["skiff-box"]["spec"]["operatingMode"] == "Suspended"
    assert skiff.objects("pods") == {}
    stopped = skiff.json("describe", "box")
    assert stopped["state"] == "stopped" and not stopped.get("expires_at"), "what is stopped does not run out of time"
    _, err = skiff("exec", "box", "--", "true", status=125)
    assert "skiff start box" in err
    started = skiff.json("start", "box", "-q")
    assert started["id"] == up["id"] and started["expires_at"]
    assert skiff.run("echo $GREETING") == "hello\n"


def test_a_claim_takes_a_warm_sandbox_and_its_agent_gets_the_rest(skiff, pool):
    up = skiff.up("box", "--pool", pool, "--env", "GREETING=hello", "--label", "team=blue")
    assert up["details"]["kind"] == "SandboxClaim" and up["details"]["sandbox"].startswith("warm-"), up
    assert skiff.run("echo $GREETING $LEVEL") == "hello pool\n"
    assert skiff.json("describe", "box")["details"]["pod"] == up["details"]["sandbox"]
    claim = skiff.objects("sandboxclaims.extensions.agents.x-k8s.io")["skiff-box"]
    assert claim["spec"]["warmPoolRef"] == {"name": "warm"} and "env" not in claim["spec"]
    pod = skiff.objects("pods")[up["details"]["sandbox"]]
    assert up["id"] == pod["metadata"]["uid"], "no two agents of a template have the same id"
    refilled = until(lambda: (now := pool_json(skiff, "status", pool))["available"] == 1 and now, seconds=60)
    assert refilled == {"name": "warm", "available": 1, "active": 1, "total": 2, "target": 1}
    assert [one["name"] for one in skiff.json("ps")["items"]] == ["box"], "what waits, and a claim's Sandbox, are none"
    skiff("rm", "box")
    assert up["details"]["sandbox"] not in skiff.objects("pods")


def test_a_foreign_claim_is_shown_used_and_removed_by_its_own_name_alone(skiff, pool):
    skiff.namespace.create({"apiVersion": EXTENSIONS, "kind": "SandboxClaim", "metadata": {"name": "theirs"},
                            "spec": {"warmPoolRef": {"name": pool}}})
    until(lambda: skiff.json("describe", "claim/theirs")["state"] == "running", seconds=60)
    assert skiff.json("ps")["items"] == []
    (seen,) = skiff.json("ps", "--everyone")["items"]
    assert seen["name"] == "claim/theirs" and seen["details"]["managed_by"] == "somebody else"
    assert skiff("exec", "claim/theirs", "--", "echo", "hello")[0] == "hello\n"
    skiff("rm", "--all", "--everyone")
    skiff("gc", "--everyone", "--max-idle", "10ms")
    assert skiff("rm", "theirs")[0] == ""
    assert skiff("rm", "claim/theirs")[0] == "claim/theirs\n"
    assert skiff.objects("sandboxclaims.extensions.agents.x-k8s.io") == {}


def test_a_claimed_one_is_stopped_and_started_too(skiff, pool):
    skiff.up("box", "--pool", pool, "--env", "GREETING=hello")
    skiff("stop", "box")
    assert until(lambda: skiff.json("describe", "box")["state"] == "stopped", seconds=60)
    skiff.json("start", "box", "-q")
    assert skiff.run("echo $GREETING $LEVEL") == "hello pool\n"


def test_a_template_is_as_good_as_a_pool_of_it(skiff, pool):
    up = skiff.up("box", "--template", "warm")
    assert skiff.objects("sandboxclaims.extensions.agents.x-k8s.io")["skiff-box"]["spec"]["warmPoolRef"]["name"] == "warm"
    assert up["state"] == "running"
    _, err = skiff("up", "other", "--template", "none", status=125)
    assert "skiff pool create none --template none --size 0" in err
    made = pool_json(skiff, "create", "cold", "-q", "--template", "warm", "--size", "0")
    assert made["target"] == 0
    assert skiff.up("third", "--pool", "cold")["details"]["sandbox"] == "skiff-third", "made on demand"
    skiff("pool", "rm", "cold")
    assert "warm" in skiff.objects("sandboxtemplates.extensions.agents.x-k8s.io"), "it is not that pool's"


def test_shutdown_after_seconds_of_the_agent_sandbox_sdk_is_the_ttl_of_a_claim(skiff, pool):
    skiff.up("box", "--pool", pool, "--ttl", "8s")
    lifecycle = skiff.objects("sandboxclaims.extensions.agents.x-k8s.io")["skiff-box"]["spec"]["lifecycle"]
    assert lifecycle["shutdownPolicy"] == "Delete" and lifecycle["shutdownTime"]
    until(lambda: skiff.objects("sandboxclaims.extensions.agents.x-k8s.io") == {}, seconds=60)
    assert skiff.json("ps")["items"] == []


def test_extend_moves_the_lifetime_of_the_object_and_the_lease_of_its_agent(skiff):
    before = skiff.up("box", "--image", BUSYBOX, "--ttl", "1h")["expires_at"]
    after = skiff.json("extend", "box", "--ttl", "5h")["expires_at"]
    assert before < after == skiff.objects("sandboxes.agents.x-k8s.io")["skiff-box"]["spec"]["shutdownTime"]


def test_a_sandbox_whose_lease_is_over_stays_as_ended_and_can_be_started_again(skiff):
    skiff.up("box", "--image", BUSYBOX, "--ttl", "10s")
    until(lambda: skiff.json("describe", "box")["state"] == "ended", seconds=60)
    assert skiff.json("start", "box", "-q")["state"] == "running"
    skiff("extend", "box", "--ttl", "1h")
    assert skiff.run("echo again") == "again\n"


def test_mine_all_get_delete_and_delete_all_of_the_agent_sandbox_sdk(skiff):
    skiff.ups(("one", "--image", BUSYBOX, "--owner", "ann"), ("two", "--image", BUSYBOX, "--owner", "ben"))
    names = lambda *words: sorted(one["name"] for one in skiff.json("ps", *words)["items"])  # noqa: E731
    assert names("--owner", "ann") == ["one"] and names("--everyone") == ["one", "two"]
    assert skiff.json("describe", "one")["owner"] == "ann"
    assert skiff.run("echo attached", "two") == "attached\n"
    assert skiff("rm", "--all", "--owner", "ann")[0] == "one\n"
    assert skiff("rm", "--all", "--everyone")[0] == "two\n"


def test_a_bare_sandbox_is_reached_by_those_alone_whom_it_allows(skiff):
    for _ in range(2):  # the next one of that name is not left to the policy of the one before
        skiff.up("box", "--image", BUSYBOX, "--allow", "203.0.113.7/32", "--reach", "port-forward")
        (policy,) = skiff.objects("networkpolicies").values()
        assert policy["metadata"]["ownerReferences"][0]["kind"] == "Sandbox"
        (pod,) = skiff.objects("pods").values()
        assert policy["spec"]["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
        skiff("rm", "box")
        assert skiff.objects("networkpolicies") == {}


def test_doctor_tells_which_version_is_served(skiff):
    checks = {one["what"]: one for one in skiff.json("doctor")["items"]}
    assert checks["agent-sandbox"]["detail"] == "SandboxClaims v1beta1" and checks["agent-sandbox"]["passed"]


def test_gc_in_every_namespace_looks_at_what_the_controller_keeps(skiff, namespace):
    skiff.up("box", "--image", BUSYBOX)
    found = skiff.json("gc", "-A", "--dry-run")
    assert f"{namespace.name}/box" in [one["name"] for one in found["kept"]]


# --- what would be made ---

def dry(skiff, documents):
    skiff.namespace.kubectl("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-", input=documents)


def kinds(listed):
    return [one["kind"] for one in json.loads(listed)["items"]]


def test_manifest_prints_a_template_that_runs_skiffd(skiff):
    documents = skiff("manifest", "--template", "py", "--image", BUSYBOX, "--env", "LEVEL=template")[0]
    assert skiff.namespace.of_skiff() == []
    closed = skiff("manifest", "--template", "py", "--image", BUSYBOX, "--network", "deny", "-o", "json")[0]
    assert kinds(closed) == ["NetworkPolicy", "SandboxTemplate"]
    dry(skiff, closed)
    dry(skiff, documents)
    skiff.namespace.kubectl("apply", "-f", "-", input=documents)
    assert skiff("manifest", "--template", "py", "--image", BUSYBOX, "-o", "name")[0] == "SandboxTemplate/py\n", "also when it is there"
    pool_json(skiff, "create", "warm", "-q", "--template", "py", "--size", "1")
    skiff.up("box", "--pool", "warm")
    assert skiff.run("echo $LEVEL") == "template\n"
    skiff("rm", "box")
    skiff("pool", "rm", "warm")
    skiff.namespace.kubectl("delete", "-f", "-", input=documents)


def test_manifest_and_a_dry_run_print_what_the_claim_driver_makes_and_make_nothing(skiff, pool):
    before = skiff.namespace.of_skiff()
    bare = ["box", "--image", BUSYBOX, "--network", "dns", "-o", "json"]
    assert kinds(skiff("up", "--dry-run", *bare)[0]) == kinds(skiff("manifest", *bare)[0]) == ["Sandbox", *["NetworkPolicy"] * 2]
    assert kinds(skiff("up", "box", "--dry-run", "--pool", pool, "-o", "json")[0]) == ["SandboxClaim"]
    claim = skiff("manifest", "box", "--pool", pool, "--ttl", "1h")[0]
    dry(skiff, claim)
    assert skiff.namespace.of_skiff() == before
    assert "skiff pool create none" in skiff("up", "box", "--dry-run", "--pool", "none", status=125)[1]
    skiff.namespace.kubectl("apply", "-f", "-", input=claim)
    until(lambda: skiff.json("describe", "box")["state"] == "running", seconds=60)
    assert skiff.run("echo $LEVEL") == "pool\n"
