"""Pools that no controller keeps, on a real node, by the real `skiff`."""

import pytest

from skiff import BUSYBOX, Skiff, pool_json
from waiting import until


@pytest.fixture
def skiff(namespace, tmp_path):
    client = Skiff(tmp_path, namespace)
    yield client
    for pool in client("pool", "status", "-o", "name")[0].split():
        client("pool", "rm", pool)
    client.finish()


def make_pool(skiff, size):
    made = pool_json(skiff, "create", "warm", "-q", "--size", size, "--env", "LEVEL=pool")
    assert made == {"name": "warm", "available": size, "active": 0, "total": size, "target": size}
    return "warm"


@pytest.fixture
def pool(skiff):
    """One with a sandbox that waits."""
    return make_pool(skiff, 1)


@pytest.fixture
def pool_of_two(skiff):
    return make_pool(skiff, 2)


def pods(skiff):
    listed = skiff.namespace.items("pods")
    return {pod["metadata"]["name"]: pod["metadata"]["labels"].get("skiff.dev/pool-state") for pod in listed}


def run(skiff, line, name="box"):
    return skiff("exec", name, "--", "sh", "-c", line)[0]


def test_a_waiting_member_of_a_pool_is_a_pod_alone_and_not_listed(skiff, pool_of_two):
    assert skiff.json("ps", "--everyone")["items"] == []
    assert pods(skiff) == {"skiff-pool-warm-0": "free", "skiff-pool-warm-1": "free"}
    found = skiff.namespace.of_skiff()
    assert [one.partition("/")[0] for one in found] == ["ConfigMap", "Pod", "Pod"], found
    # The next command replaces a Pod that died while it waited.
    skiff.namespace.kubectl("delete", "pod", "skiff-pool-warm-0", "--grace-period=0", "--force")
    assert pool_json(skiff, "scale", "warm", "2", "-q")["available"] == 2
    assert BUSYBOX == skiff.namespace.get("pod", "skiff-pool-warm-1")["spec"]["containers"][0]["image"]


def test_a_dry_run_changes_no_pool(skiff, pool):
    assert pool_json(skiff, "scale", pool, "3", "--dry-run")["target"] == 3
    assert skiff("pool", "rm", pool, "none", "--dry-run")[0] == f"{pool}\n"
    assert "there is a pool" in skiff("pool", "create", pool, "--dry-run", status=125)[1]
    assert pool_json(skiff, "status", pool)["target"] == 1


def test_a_sandbox_from_a_pool_has_its_environment_labels_and_lease_bound_late(skiff, pool):
    up = skiff.up("box", "--pool", pool, "--env", "GREETING=hello", "--label", "team=blue", "--ttl", "1h",
                  "--setup", "echo set up, $GREETING > note")
    assert up["details"]["pod"].startswith("skiff-pool-warm-") and up["details"]["pool"] == pool, up
    assert skiff("ps", "-o", "wide", "--no-headers")[0].split()[-1] == pool
    assert up["labels"] == {"team": "blue"} and up["expires_at"]
    assert run(skiff, "echo $GREETING $LEVEL; cat note") == "hello pool\nset up, hello\n"
    pod = skiff.namespace.get("pod", up["details"]["pod"])
    assert [owner["name"] for owner in pod["metadata"]["ownerReferences"]] == ["skiff-box"]
    assert pod["metadata"]["labels"]["label.skiff.dev/team"] == "blue"
    assert [one["name"] for one in skiff.json("ps", "--label", "team=blue")["items"]] == ["box"]
    assert skiff.json("describe", "box")["id"] == pod["metadata"]["labels"]["skiff.dev/sandbox"]


def test_pool_status_tells_available_active_total_and_target_as_langchain_kubernetes_does(skiff, pool):
    skiff.up("box", "--pool", pool)
    # Made full again at once by who took one; the new one takes its time to be ready.
    refilled = until(lambda: (now := pool_json(skiff, "status", pool))["available"] == 1 and now, seconds=60)
    assert refilled == {"name": "warm", "available": 1, "active": 1, "total": 2, "target": 1}
    assert pool_json(skiff, "status")["items"] == [refilled]
    skiff("rm", "box")
    assert pool_json(skiff, "status", pool)["active"] == 0


def test_two_processes_that_come_for_the_last_one_never_get_the_same(skiff):
    skiff("pool", "create", "warm", "-q", "--size", "1")
    both = [skiff.start("up", name, "--pool", "warm", "-o", "json") for name in ("one", "two")]
    told = [process.communicate(timeout=100) for process in both]
    assert [process.returncode for process in both] == [0, 0], told
    names = [skiff.json("describe", name)["details"]["pod"] for name in ("one", "two")]
    assert len(set(names)) == 2, names
    assert sum(name.startswith("skiff-pool-warm-") for name in names) >= 1
    for (_, err), name in zip(told, names):
        # A command that had to create a sandbox says so.
        assert ("a cold one is made" in err.decode()) == (not name.startswith("skiff-pool-")), (err, name)
    skiff("rm", "one", "two")


def test_a_pool_grows_and_shrinks_without_ending_what_is_in_use(skiff, pool):
    skiff.up("box", "--pool", pool)
    assert pool_json(skiff, "scale", pool, "2", "-q")["available"] == 2
    shrunk = pool_json(skiff, "scale", pool, "0", "-q")
    assert (shrunk["available"], shrunk["active"], shrunk["target"]) == (0, 1, 0)
    assert run(skiff, "echo still here") == "still here\n"
    assert skiff("pool", "rm", pool)[0] == "warm\n"
    assert skiff("pool", "rm", pool)[0] == ""
    assert run(skiff, "echo and without its pool") == "and without its pool\n"


def test_a_sandbox_from_a_pool_stops_and_starts_as_any_other(skiff, pool):
    up = skiff.up("box", "--pool", pool, "--env", "GREETING=hello")
    skiff("stop", "box")
    assert skiff.json("describe", "box")["state"] == "stopped"
    again = skiff.json("start", "box", "-q")
    assert again["id"] == up["id"] and again["details"]["pod"] == "skiff-box"
    assert run(skiff, "echo $GREETING $LEVEL") == "hello pool\n"
    skiff("rm", "box")
    assert "skiff-box" not in pods(skiff)


def test_a_sandbox_that_wants_another_pod_than_the_pool_makes_is_refused(skiff):
    pool = make_pool(skiff, 0)
    for flag, value in (("--memory", "2Gi"), ("--image", "skiff.test/scratch:1")):
        _, err = skiff("up", "box", "--pool", pool, flag, value, status=125, env={"SKIFF_IMAGE": ""})
        assert flag in err and "skiff pool create" in err, err
    for flag, value in (("--service-account", "default"), ("--pull-policy", "Always"), ("--pull-secret", "registry")):
        _, err = skiff("up", "box", "--pool", pool, flag, value, status=125)
        assert flag in err and "skiff pool create" in err, err
    _, err = skiff("up", "box", "--pool", "cold", status=125)
    assert "skiff pool create cold" in err, err
    assert pods(skiff) == {}


def test_sandboxes_from_a_pool_have_the_network_policies_of_their_flags(skiff, pool_of_two):
    asked = {"closed": ("--network", "deny"), "box": ("--allow", "203.0.113.7/32", "--reach", "port-forward")}
    skiff.ups(*((name, "--pool", pool_of_two, *flags) for name, flags in asked.items()))
    labels = {name: skiff.namespace.get("pod", skiff.json("describe", name)["details"]["pod"])["metadata"]["labels"]
              for name in asked}
    shared = skiff.namespace.get("networkpolicy", "skiff-network-deny")["spec"]
    assert shared["podSelector"]["matchLabels"].items() <= labels["closed"].items()
    own = skiff.namespace.get("networkpolicy", "skiff-box-net")["spec"]
    assert own["ingress"] == [{"from": [{"ipBlock": {"cidr": "203.0.113.7/32"}}]}]
    assert own["podSelector"]["matchLabels"].items() <= labels["box"].items() and labels["box"]["skiff.dev/network"] == "own"
    skiff("rm", "box")
    assert "skiff-box-net" not in skiff.namespace.names("networkpolicies")


def test_defaults_of_the_config_file_do_not_rule_out_a_pool(skiff, pool):
    config = skiff.home / ".config/skiff/config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("memory: 2Gi\nttl: 1h\nlabel: [team=a]\npull-policy: IfNotPresent\n")
    skiff("up", "box", "-q", "--pool", pool, env={"SKIFF_IMAGE": "skiff.test/scratch:1", "SKIFF_LABEL": "team=b"})
    assert skiff.json("describe", "box")["labels"] == {"team": "b"}
    skiff("pool", "create", "other", "-q", "--size", "0", env={"SKIFF_LABEL": "team=b"})
    skiff("pool", "rm", "other")


def test_a_pool_whose_image_can_not_be_had_says_so_early_and_is_gone(skiff):
    _, err = skiff("pool", "create", "warm", "--image", "skiff.test/nobody-has-this:1", "--size", "2", status=125)
    assert "ErrImagePull" in err or "ImagePullBackOff" in err, err
    assert pool_json(skiff, "status")["items"] == []
    assert skiff.namespace.of_skiff() == []
