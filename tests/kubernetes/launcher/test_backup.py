"""A backup as docs/upgrading.md describes it, restored after everything is lost: keys work again, and a sandbox starts with its files."""

import json
import re

import pytest

import volumes
from readme import TREE
from serving import Server
from waiting import until

OF_ONE_LIFE = ("uid", "resourceVersion", "ownerReferences", "creationTimestamp", "managedFields", "generation")


@pytest.fixture
def volume(namespace):
    with volumes.volume(namespace, "box") as folder:
        yield folder


def saved(namespace):
    """The objects that the page's commands save for this namespace, in the page's order of restoring."""
    wanted = re.findall(r"kubectl get (.+?) -o yaml", (TREE / "docs/upgrading.md").read_text())
    assert len(wanted) == 3, wanted
    objects = {}  # the keys of the server are in the namespace of the tenant here, and so in two of the files
    for words in wanted:
        words = re.sub(r' -n "?[$\w-]+"?', "", words).split()
        found = json.loads(namespace.kubectl("get", *words, "--output=json"))
        for one in found["items"] if found["kind"] == "List" else [found]:
            objects[one["kind"], one["metadata"]["name"]] = one
    order = ("Secret", "PersistentVolumeClaim", "ConfigMap")
    return sorted(objects.values(), key=lambda one: order.index(one["kind"]))


def restorable(one):
    metadata = {name: value for name, value in one["metadata"].items() if name not in OF_ONE_LIFE}
    # A claim that says it is bound, to a volume that does not know it, is lost.
    annotations = metadata.get("annotations", {})
    metadata["annotations"] = {name: value for name, value in annotations.items() if not name.startswith("pv.kubernetes.io/")}
    return {**{name: value for name, value in one.items() if name != "status"}, "metadata": metadata}


def test_a_restored_backup_has_the_keys_and_the_files_of_a_sandbox(skiff, namespace, volume):
    key = skiff("key", "create", "me", "--tenant", namespace.name)[0].strip()
    skiff.up("box", "--volume", "100Mi:/workspace", "--label", "team=blue")
    skiff("exec", "box", "--", "sh", "-c", "echo precious > /workspace/file")
    skiff("stop", "box")
    objects = saved(namespace)
    assert {one["kind"] for one in objects} == {"Secret", "ConfigMap", "PersistentVolumeClaim"}

    for one in objects:
        namespace.kubectl("delete", one["kind"].lower(), one["metadata"]["name"], "--ignore-not-found")
    namespace.kubectl("delete", "pods", "--all")
    until(lambda: not namespace.of_skiff(), 60, "that all is lost", 0.1)
    assert skiff.json("ps")["items"] == []

    # The volume knows its claim by the uid, too.
    namespace.cluster.api.patch("persistentvolume", volume.name, {"spec": {"claimRef": {"uid": None, "resourceVersion": None}}})
    for one in objects:
        namespace.create(restorable(one))
    assert [(one["name"], one["state"], one["labels"]["team"]) for one in skiff.json("ps")["items"]] == [("box", "stopped", "blue")]
    skiff("start", "box")
    assert skiff("exec", "box", "--", "cat", "/workspace/file")[0] == "precious\n"
    server = Server(skiff, driver="pod")
    try:
        seen = server.request("GET", "/v1/sandboxes", key=key)
        assert (seen.status, [one["state"] for one in seen.json()["items"]]) == (200, ["running"])
    finally:
        server.stop()
