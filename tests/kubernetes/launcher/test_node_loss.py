"""A node that is emptied, needed for something else, or lost: what was on it is told by name, kept with its volume, and can be
started again; and pools are filled again."""

import json

import pytest

import volumes
import watchdogs
from api import Refused
from cluster import running
from serving import Server
from waiting import until

NODE = "node0"


@pytest.fixture(scope="session")
def cluster():
    """One whose node may go."""
    with running() as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def watchdog(cluster):
    """The controller that removes the Pods of a lost node takes its time."""
    with watchdogs.at_most(seconds=480):
        yield


@pytest.fixture
def make(skiff, namespace):
    """Makes sandboxes with a file on a volume."""
    kept = []

    def make(name, *flags):
        kept.append(volumes.volume(namespace, name))
        kept[-1].__enter__()
        skiff.up(name, "--ttl", "2h", "--volume", "100Mi:/workspace", *flags)
        skiff("exec", name, "--", "sh", "-c", f"echo {name} > /workspace/file")

    yield make
    for one in kept:
        one.__exit__(None, None, None)


def ended(skiff, name, cause):
    """The sandbox as `ps` shows it, once it has ended so and its Pod is gone."""
    def look():
        is_gone = skiff.namespace.cluster.api.find("pod", f"skiff-{name}", skiff.namespace.name) is None
        one = skiff.json("ps", name)
        return one if is_gone and one["state"] == "failed" and (not cause or one["details"].get("ended_by") == cause) else None
    return until(look, 180, f"an end by {cause}", 0.2)


def comes_back(skiff, *names):
    assert sorted(one["name"] for one in skiff.json("gc")["kept"]) == sorted(names)
    for name in names:
        assert "skiff start" in skiff("exec", name, "--", "true", status=125)[1]
        assert skiff.json("start", name, "-q")["state"] == "running"
        assert skiff("exec", name, "--", "cat", "/workspace/file")[0] == f"{name}\n"


def test_a_drain(skiff, cluster, make):
    make("box")
    cluster.kubectl("drain", NODE, "--force", "--delete-emptydir-data", "--ignore-daemonsets")
    try:
        assert "by a drain of its node" in ended(skiff, "box", None)["reason"]
    finally:
        cluster.kubectl("uncordon", NODE)
    comes_back(skiff, "box")


def test_a_preemption(skiff, cluster, namespace, make):
    make("box", "--cpu", "1100m:2")
    cluster.api.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 1000})
    needs = {"resources": {"requests": {"cpu": "1100m"}}, "name": "urgent", "image": "skiff.test/busybox:1", "command": ["sh", "-c", "exit 0"]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "urgent"}, "spec": {
        "containers": [needs], "priorityClassName": "urgent", "restartPolicy": "Never"}}

    def is_admitted():
        # The admission of the API server looks the class up in a cache, which may not have it yet.
        try:
            namespace.create(pod)
        except Refused as refused:
            assert "no PriorityClass" in str(refused), refused
            return False
        return True

    until(is_admitted, what="that the class is known")
    assert "preempted" in ended(skiff, "box", "preemption")["reason"]
    namespace.wait("pod/urgent", "phase=Succeeded")
    namespace.delete("pod/urgent")
    cluster.api.delete("priorityclass", "urgent")
    comes_back(skiff, "box")


def test_a_node_that_is_silent_and_then_gone(skiff, cluster, namespace, make):
    # One is told to leave as soon as its node is silent, and the other stays as long as there is the node.
    brief = [{"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}
             for what in ("unreachable", "not-ready")]
    make("one", *skiff.overrides({"tolerations": brief}))
    make("two")
    skiff("pool", "create", "warm", "--size", "1", "-q")

    def pool():
        return json.loads(skiff("pool", "status", "warm", "-o", "json")[0])

    server = Server(skiff, driver="pod")
    skiff("key", "create", "me", "--tenant", namespace.name)
    try:
        cluster.kill("kubelet")
        try:
            # The node's controller adds this taint when it has heard nothing for long.
            cluster.kubectl("taint", "node", NODE, "node.kubernetes.io/unreachable=:NoExecute")
            seen = until(lambda: (now := skiff.json("ps", "one"))["state"] == "failed" and now, 60, "that it is told")
            assert seen["details"]["ended_by"] == "node_lost" and "skiff rm --force" in seen["reason"], seen
            assert skiff.json("ps", "two")["state"] == "running"
            cluster.api.delete("node", NODE)
            assert "does not answer, or was tainted" in ended(skiff, "one", "node_lost")["reason"]
            assert "its node node0 is gone" in ended(skiff, "two", "node_lost")["reason"]
            until(lambda: pool()["total"] == 1 and not pool().get("missing"), 90, "that the pool has another one", 0.5)
        finally:
            cluster.start("kubelet")
        assert "is gone" in ended(skiff, "two", "node_lost")["reason"], "another one has its name"
        until(lambda: pool()["available"] == 1, 120, "that it is ready", 0.5)
        comes_back(skiff, "one", "two")
    finally:
        server.stop()
        skiff("pool", "rm", "warm")
