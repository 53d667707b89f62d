"""agent-sandbox's controller replaces a Pod that was evicted or deleted by an empty one, and does not say so. The `claim` driver tells
it: the sandbox is `failed` until somebody starts it."""

import json

import pytest

from skiff import BUSYBOX, make_pool
from waiting import until


@pytest.fixture
def skiff(claim_skiff):
    return claim_skiff


def evict(skiff, pod):
    """Evicts the Pod as `kubectl drain` evicts each Pod of a node."""
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": skiff.namespace.name}}
    path = f"/api/v1/namespaces/{skiff.namespace.name}/pods/{pod}/eviction"
    skiff.namespace.kubectl("create", "--raw", path, "-f", "-", input=json.dumps(eviction))


def delete(skiff, pod):
    skiff.namespace.kubectl("delete", "pod", pod, "--wait=false")


def until_replaced(skiff, pod, uid):
    def look():
        now = skiff.objects("pods").get(pod)
        is_other = now and now["metadata"]["uid"] != uid
        return is_other and any(one["type"] == "Ready" and one["status"] == "True" for one in now["status"].get("conditions", ()))
    until(look, seconds=90, what=f"another Pod {pod}")


def lose_pod(skiff, how):
    """Ends the Pod of the sandbox `box`, and waits for the Pod that takes its place."""
    pod = skiff.json("describe", "box")["details"]["pod"]
    uid = skiff.objects("pods")[pod]["metadata"]["uid"]
    assert "agents.x-k8s.io/sandbox-name-hash" in skiff.objects("pods")[pod]["metadata"]["labels"], "lists select by it"
    how(skiff, pod)
    until_replaced(skiff, pod, uid)
    return uid


def is_lost(skiff):
    described = skiff.json("describe", "box")
    assert described["state"] == "failed" and "a new one took its place" in described["reason"], described
    (listed,) = skiff.json("ps")["items"]
    assert (listed["state"], listed["reason"]) == ("failed", described["reason"]), listed
    assert "skiff start box" in skiff("exec", "box", "--", "true", status=125)[1]
    assert [one["name"] for one in skiff.json("gc")["kept"]] == ["box"]


def begins_anew(skiff):
    started = skiff.json("start", "box", "-q")
    assert started["state"] == "running" and "it began anew" in started["reason"], started
    assert skiff.json("describe", "box")["reason"] == started["reason"]
    assert skiff.run("cat /tmp/file || echo gone; echo $GREETING") == "gone\nhello\n"


@pytest.mark.parametrize("how", [evict, delete])
def test_a_bare_sandbox_whose_pod_was_replaced_has_failed_until_it_is_started(skiff, how):
    skiff.up("box", "--image", BUSYBOX, "--env", "GREETING=hello", "--ttl", "1h")
    skiff.run("echo precious > /tmp/file")
    lose_pod(skiff, how)
    is_lost(skiff)
    begins_anew(skiff)
    skiff("stop", "box")
    assert not skiff.json("start", "box", "-q").get("reason"), "whoever stops it knows that its files go"


def test_a_claim_whose_pod_was_replaced_has_failed_until_it_is_started(skiff):
    skiff.up("box", "--pool", make_pool(skiff), "--env", "GREETING=hello")
    skiff.run("echo precious > /tmp/file")
    lose_pod(skiff, evict)
    is_lost(skiff)
    begins_anew(skiff)
    skiff("rm", "box")


def test_a_sandbox_that_stays_in_its_pod_is_not_lost(skiff):
    skiff.up("box", "--image", BUSYBOX)
    skiff.run("echo precious > /tmp/file")
    for _ in range(2):
        assert skiff.json("ps", "box")["state"] == skiff.json("describe", "box")["state"] == "running"
    assert skiff.run("cat /tmp/file") == "precious\n"
