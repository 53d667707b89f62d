"""skiff reports early, with the reason, what can't become a sandbox, and leaves nothing; it sees what ends behind its back."""

import os
import signal

import pytest

import cgroups
from agents import agents_of
from waiting import until


def all_refused(skiff, *several):
    """The error output of `up` with each of these flags, run at the same time; none leaves a sandbox."""
    processes = [skiff.start("up", f"box-{number}", *flags) for number, flags in enumerate(several)]
    ended = [process.communicate(timeout=100) for process in processes]
    assert [process.returncode for process in processes] == [125] * len(several), ended
    # The kubelet may need a moment for a Pod that was undone.
    until(lambda: skiff.namespace.of_skiff() == [], 60, "nothing left")
    return [err.decode() for _, err in ended]


def refused(skiff, *flags):
    return all_refused(skiff, flags)[0]


def command(*words, **more):
    """Overrides that run this instead of skiffd."""
    return {"containers": [{"name": "sandbox", "command": list(words)}], **more}


def test_an_image_that_can_not_be_pulled_and_whose_it_is(skiff):
    own, agents = all_refused(skiff, ("--image", "skiff.test/nobody-has-this:1"), ("--agent-image", "skiff.test/nobody-has-that:1"))
    assert "skiff.test/nobody-has-this:1" in own and ("ErrImagePull" in own or "ImagePullBackOff" in own)
    assert "skiff.test/nobody-has-that:1" in agents and "--agent-image" in agents


def test_a_pod_that_no_node_takes(skiff):
    # A node might be made for it, which takes minutes: it is waited for as long as was said.
    wishes = [("--node-selector", "kind=none-like-this"), ("--cpu", "1000"), ("--memory", "9Ti")]
    for err in all_refused(skiff, *(("--wait", "5s", *wish) for wish in wishes)):
        assert "0/1 nodes are available" in err


@pytest.mark.parametrize("hard,flags,says", [
    ({"pods": "0"}, (), "exceeded quota: little"),
    ({"limits.memory": "100Mi"}, (), "exceeded quota: little"),
    ({"limits.memory": "100Mi"}, ("--memory", ""), "limits.memory"),
    ({"services": "0"}, (), "exceeded quota: little"),
    ({"configmaps": "1"}, (), "exceeded quota: little")])  # there is kube-root-ca.crt
def test_a_quota_that_is_exceeded(skiff, namespace, hard, flags, says):
    namespace.wait("configmap/kube-root-ca.crt", "create")
    namespace.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "little"}, "spec": {"hard": hard}})
    # It counts once its controller has looked.
    namespace.wait("resourcequota/little", lambda quota: hard.keys() <= quota["status"].get("used", {}).keys())
    assert says in refused(skiff, *flags)


def test_a_namespace_whose_policy_refuses_it(skiff, make_namespace):
    skiff.namespace = make_namespace(**{"pod-security.kubernetes.io/enforce": "restricted"})
    assert "violates PodSecurity" in refused(skiff, "--run-as", "0:0")


def test_a_missing_service_account_and_a_missing_secret(skiff):
    account, secret = all_refused(skiff, ("--service-account", "nobody"), ("--token-secret", "no-such-secret"))
    assert "nobody" in account and "no-such-secret" in secret


def test_an_image_whose_user_is_root(skiff):
    assert "root" in refused(skiff, *skiff.overrides({"securityContext": {"runAsUser": None, "runAsGroup": None, "runAsNonRoot": True}}))


def test_an_image_without_skiffd_when_none_is_injected(skiff):
    assert "box" in refused(skiff, "--image", "skiff.test/scratch:1", "--no-inject")


def test_an_agent_that_ends_again_and_again(skiff):
    err = refused(skiff, *skiff.overrides(command("sh", "-c", "echo the last words; exit 3", restartPolicy="Always")))
    assert ("again and again" in err or "CrashLoopBackOff" in err) and "the last words" in err


def test_an_agent_that_ends_at_once(skiff):
    err = refused(skiff, *skiff.overrides(command("sh", "-c", "echo the last words; exit 3")))
    assert "status 3" in err and "the last words" in err


def test_an_agent_that_the_kernel_ends_for_its_memory(skiff):
    assert "OOMKilled" in refused(skiff, "--memory", "32Mi", *skiff.overrides(command("tail", "/dev/zero")))


def test_a_sandbox_that_does_not_answer_in_time(skiff):
    still = command("sh", "-c", "trap exit TERM; while :; do sleep 0.1; done", terminationGracePeriodSeconds=5)
    err = refused(skiff, "--wait", "3s", *skiff.overrides(still))
    assert "in time" in err


def test_a_setup_that_fails_shows_its_output(skiff):
    err = refused(skiff, "--setup", "echo went wrong; exit 3")
    assert "the setup failed" in err and "went wrong" in err


@pytest.mark.skipif(cgroups.version2(), reason="on cgroup version 2 the kubelet lets the kernel end the container as a whole")
def test_a_command_that_the_kernel_ends_for_its_memory_leaves_the_sandbox_alive(skiff):
    skiff.up("box", "--memory", "64Mi")
    skiff("exec", "box", "--", "tail", "/dev/zero", status=137)
    assert skiff("exec", "box", "--", "echo", "alive")[0] == "alive\n"


# --- behind our back ---

def test_no_drain_takes_it_for_a_pod_that_is_made_again_but_start_makes_an_evicted_one(skiff, cluster, namespace):
    first = skiff.up("box", "-e", "WHO=me")
    [node] = [one["metadata"]["name"] for one in cluster.api.get("nodes")["items"]]
    err = cluster.kubectl("drain", node, "--dry-run=client", "--ignore-daemonsets", "--delete-emptydir-data",
                          f"--pod-selector=skiff.dev/sandbox={first['id']}", status=1)
    assert "declare no controller" in err
    cluster.api.request("POST", f"/api/v1/namespaces/{namespace.name}/pods/skiff-box/eviction", {
        "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "skiff-box", "namespace": namespace.name}})
    namespace.wait("pod/skiff-box", "delete")
    item = skiff.json("ps")["items"][0]
    assert (item["state"], item["id"]) == ("failed", first["id"]) and "drain" in item["reason"]
    assert [one["name"] for one in skiff.json("gc")["kept"]] == ["box"]
    err = skiff("exec", "box", "--", "true", status=125)[1]
    assert "skiff start box" in err
    again = skiff.json("start", "box", "-q")
    assert again["id"] == first["id"] and "without the files that no volume keeps" in again["reason"], again
    assert skiff("exec", "box", "--", "sh", "-c", "echo $WHO")[0] == "me\n"


def test_a_pod_that_went_is_collected_when_its_lease_is_over(skiff, namespace):
    skiff.ups(("box", "--ttl", "1h"), ("forever",))
    for name in ("box", "forever"):
        namespace.delete(f"pod/skiff-{name}")
    assert {each["name"] for each in skiff.json("gc")["kept"]} == {"box", "forever"}
    namespace.patch("configmap/skiff-box", {"data": {"expires_at": "2020-01-01T00:00:00.000Z"}})
    assert [each["name"] for each in skiff.json("gc")["deleted"]] == ["box"]
    assert [each["name"] for each in skiff.json("ps")["items"]] == ["forever"]
    skiff("start", "forever")
    assert skiff("exec", "forever", "--", "echo", "back")[0] == "back\n"


def test_a_pod_that_goes_while_a_command_is_attached(skiff):
    skiff.up()
    process = skiff.start("exec", "box", "--", "sh", "-c", "echo ready; sleep 1000")
    assert process.stdout.readline() == b"ready\n"
    skiff.namespace.kubectl("delete", "pod", "skiff-box", "--grace-period=1", "--wait=true")
    err = process.communicate(timeout=120)[1].decode()
    assert process.returncode == 125 and "box" in err


def test_an_agent_that_was_killed_is_told(skiff, namespace):
    skiff.up()
    # PID 1 of the container takes no signal from inside: the node's own hand ends it.
    for pid in agents_of(skiff.pod()["metadata"]["uid"]):
        os.kill(pid, signal.SIGKILL)
    namespace.wait("pod/skiff-box", "phase=Failed")
    item = skiff.json("ps")["items"][0]
    assert item["state"] == "failed" and "137" in item["reason"]
    assert "skiff start box" in skiff("exec", "box", "--", "true", status=125)[1]
    skiff("start", "box")
    skiff("exec", "box", "--", "true")
