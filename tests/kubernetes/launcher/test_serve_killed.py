"""A `skiff serve` on a real node that is killed while it makes many sandboxes: what became of each of them."""

import concurrent.futures
import http.client

import pytest

from serving import Server
from skiff import BUSYBOX
from waiting import until

GATE = "test.skiff.dev/gate"
TEMPLATES = f"""
quick: {{image: "{BUSYBOX}", pod: {{cpu: "5m:1"}}}}
held: {{image: "{BUSYBOX}", pod: {{cpu: "5m:1", overrides: '{{"schedulingGates": [{{"name": "{GATE}"}}]}}'}}}}
"""
QUICK, HELD, TOLD = 4, 20, 2


@pytest.fixture
def key(skiff):
    return skiff("key", "create", "me", "--tenant", skiff.namespace.name)[0].strip()


@pytest.fixture
def pair(skiff, key):
    """The first is killed, and the second one cleans up."""
    templates = skiff.work / "templates.yaml"
    templates.write_text(TEMPLATES)
    both = [Server(skiff, "--templates", templates, "--wait", "40s", driver="pod") for _ in range(2)]
    yield both
    for server in both:
        server.stop()


def open_gate(namespace, *ids):
    for one in ids:
        namespace.patch(f"pod/skiff-{one}", {"spec": {"schedulingGates": None}})


def sandboxes(server, key):
    return {one["id"]: one["state"] for one in server.request("GET", "/v1/sandboxes?limit=500", key=key).json()["items"]}


def test_unfinished_sandboxes_of_a_killed_replica_are_removed_and_finished_ones_stay(skiff, namespace, pair, key):
    doomed, other = pair

    def create(template, **more):
        return doomed.request("POST", "/v1/sandboxes", {"template": template, **more}, key, timeout=130)

    with concurrent.futures.ThreadPoolExecutor(QUICK + HELD) as pool:
        held = [pool.submit(create, "held") for _ in range(HELD)]
        quick = [pool.submit(create, "quick") for _ in range(QUICK)]
        told = [create("held", wait=False) for _ in range(TOLD)]
        assert [answer.status for answer in told] == [202] * TOLD, told
        assert [one.result().status for one in quick] == [201] * QUICK
        until(lambda: len(namespace.items("pods")) == QUICK + HELD + TOLD, 60, "all Pods", 0.1)
        doomed.kill()
        for one in held:
            with pytest.raises((OSError, http.client.HTTPException)):
                one.result()
    answered = {one.result().json()["id"] for one in quick} | {answer.json()["id"] for answer in told}
    unanswered = set(sandboxes(other, key)) - answered
    assert len(unanswered) == HELD
    # Some of them come up all the same, and nobody knows them.
    open_gate(namespace, *(answer.json()["id"] for answer in told), *sorted(unanswered)[:HELD // 4])
    until(lambda: sandboxes(other, key).keys() == answered, 200, "that nobody's are gone", 1)
    until(lambda: {record["data"]["was_up"] for record in namespace.items("configmaps") if "spec" in record.get("data", {})} == {"true"},
          60, "that the others are known to be up", 1)
    assert sandboxes(other, key) == dict.fromkeys(answered, "running")
    for one in answered:
        answer = other.request("POST", f"/s/{one}/7070/v1/run", b"echo there", key, {"Content-Type": "text/plain"})
        assert (answer.status, answer.body) == (200, b"there\n")
    until(lambda: {pod["metadata"]["name"] for pod in namespace.items("pods")} == {f"skiff-{one}" for one in answered}, 60, "their Pods", 0.2)
