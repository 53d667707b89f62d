"""A cluster disrupts sandboxes: skiff names the disruption, and their files are kept."""

import subprocess

import pytest

import volumes
from waiting import until


@pytest.fixture
def volume(namespace):
    with volumes.volume(namespace, "box") as folder:
        yield folder


def ended(skiff, cause, meanwhile=lambda: None):
    """The sandbox as `ps` shows it, once it has ended so. Between two looks, `meanwhile` is called."""
    def look():
        one = skiff.json("ps", "box")
        if one["state"] != "running" and one["details"].get("ended_by") == cause:
            return one
        return meanwhile()
    return until(look, seconds=120, what=f"an end by {cause}")


def kept(skiff):
    assert [one["name"] for one in skiff.json("gc")["kept"]] == ["box"]


def test_an_eviction_does_not_end_the_lease_and_leaves_record_and_volume(skiff, namespace, volume):
    skiff.up("box", "--disk", "8Mi:16Mi", "--ttl", "1h", "--volume", "100Mi:/workspace")
    skiff("exec", "box", "--", "sh", "-c", "echo precious > /workspace/file")
    skiff("exec", "box", "--mode", "background", "--", "dd", "if=/dev/zero", "of=/tmp/big", "bs=1M", "count=64")
    seen = ended(skiff, "eviction")
    assert seen["state"] == "failed", seen
    assert "(Evicted)" in seen["reason"] and seen["expires_at"], seen
    assert "(Evicted)" in skiff("exec", "box", "--", "true", status=125)[1]
    kept(skiff)
    skiff("start", "box")
    assert skiff("exec", "box", "--", "cat", "/workspace/file")[0] == "precious\n"


def test_an_agent_that_is_killed_for_memory_is_reported(skiff):
    skiff.up("box", "--memory", "24Mi")
    # Files in a memory file system are freed only with the container. Each of these commands takes what is left, and the kernel
    # kills it for that. When nothing is left, a request of the agent is the next to take memory.
    def fill():
        process = skiff.start("exec", "box", "--", "sh", "-c", "dd if=/dev/zero of=/dev/shm/$$ bs=1M count=40")
        try:
            process.communicate(timeout=20)
        except subprocess.TimeoutExpired:  # the kernel looks for memory before it kills, and the agent answers nobody meanwhile
            process.kill()
            process.communicate()

    seen = ended(skiff, "out_of_memory", meanwhile=fill)
    assert seen["state"] == "failed" and "OOMKilled" in seen["reason"], seen
    kept(skiff)


def test_the_agent_reports_the_end_of_its_lease(skiff):
    skiff.up("box")
    skiff("extend", "box", "--ttl", "100ms")
    seen = ended(skiff, "lease")
    assert (seen["state"], seen["reason"]) == ("ended", "the lease is over"), seen
    assert [one["name"] for one in skiff.json("gc")["deleted"]] == ["box"]
