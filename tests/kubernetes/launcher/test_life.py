"""The life of a sandbox in a cluster, from `up` to `rm`, and what it is made of."""

import json
import subprocess

import pytest

from skiff import BUSYBOX, SCRATCH


def made_of(namespace, *objects):
    return sorted(f"{each} in {namespace.name}" for each in objects)


def test_a_sandbox_is_made_used_and_removed_with_all_that_belongs_to_it(skiff, namespace):
    out, err = skiff("up", "box")
    assert out.startswith("box is up at http://")
    assert err.index("scheduling") < err.index("ready")
    assert namespace.of_skiff() == made_of(namespace, "ConfigMap/skiff-box", "Pod/skiff-box", "Service/skiff-box-svc")
    assert skiff("exec", "box", "--", "sh", "-c", "echo out; echo err >&2; exit 7", status=7) == ("out\n", "err\n")
    assert skiff("rm", "box")[0] == "box\n"
    assert namespace.of_skiff() == []
    # A sandbox that does not exist counts as removed.
    assert skiff("rm", "box") == ("", f"skiff: box: there is none (driver pod, namespace {namespace.name})\n")


@pytest.mark.parametrize("image", [BUSYBOX, SCRATCH])
def test_any_image_becomes_a_sandbox_in_a_restricted_namespace(make_namespace, skiff, image):
    skiff.namespace = make_namespace(**{"pod-security.kubernetes.io/enforce": "restricted"})
    skiff("up", "box", "--image", image)
    if image == SCRATCH:
        skiff("exec", "box", "--", "/testcmd", "exit", "7", status=7)
        skiff("exec", "box", "--", "sh", "-c", "true", status=127)
    else:
        out = skiff("exec", "box", "--", "sh", "-c", "id -u; grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/self/status | cut -f2")[0]
        assert out.split() == ["1000", "0000000000000000", "1", "2"]


def test_all_that_belongs_to_a_record_is_owned_by_it(skiff, namespace):
    skiff.up()
    uid = namespace.get("configmap", "skiff-box")["metadata"]["uid"]
    for what in ("pod/skiff-box", "service/skiff-box-svc"):
        assert [owner["uid"] for owner in namespace.get(*what.split("/"))["metadata"]["ownerReferences"]] == [uid]
    namespace.delete("configmap/skiff-box")
    # Kubernetes itself takes the rest.
    for what in ("pod/skiff-box", "service/skiff-box-svc"):
        namespace.wait(what, "delete")
    assert namespace.of_skiff() == []


def test_several_at_once_make_one_sandbox_and_remove_it(skiff, namespace):
    processes = [skiff.start("up", "box", "--get-or-create", "-o", "json") for _ in range(4)]
    outcomes = [process.communicate(timeout=100) for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, outcomes
    assert sum(json.loads(out)["new"] for out, _ in outcomes) == 1
    assert len({json.loads(out)["id"] for out, _ in outcomes}) == 1
    removers = [skiff.start("rm", "box") for _ in range(3)]
    outcomes = [process.communicate(timeout=100) for process in removers]
    assert [process.returncode for process in removers] == [0] * 3, outcomes
    assert namespace.of_skiff() == []


# orbiter's KubernetesSandbox: start, stop and cleanup; no tool runs in one that is stopped
def test_stop_keeps_the_record_and_start_makes_it_again(skiff, namespace):
    first = skiff.up("box", "-e", "WHO=me")
    skiff("stop", "box")
    assert namespace.of_skiff() == made_of(namespace, "ConfigMap/skiff-box")
    assert skiff.json("ps")["items"][0]["state"] == "stopped"
    err = skiff("exec", "box", "--", "true", status=125)[1]
    assert "is stopped" in err and "skiff start box" in err
    assert "is stopped" in skiff("tool", "box", "count", status=125)[1]
    again = skiff.json("start", "box", "-q")
    assert again["id"] == first["id"]
    assert skiff("exec", "box", "--", "sh", "-c", "echo $WHO")[0] == "me\n"
    uid = skiff.pod()["metadata"]["uid"]
    skiff("start", "box")  # one that runs is left as it is
    assert skiff.pod()["metadata"]["uid"] == uid
    skiff("stop", "box")
    skiff("stop", "box")
    skiff("rm", "box")
    assert "no sandbox" in skiff("describe", "box", status=125)[1]
    assert namespace.of_skiff() == []


# langchain-kubernetes: TTL and cleanup
def test_a_lease_is_kept_by_the_agent_and_can_be_extended(skiff, namespace):
    skiff.up("box", "--ttl", "1h")
    first = skiff.json("describe", "box")["expires_at"]
    assert skiff.json("extend", "box", "--ttl", "2h")["expires_at"] > first
    assert skiff.json("describe", "box")["activity"]["lease"]["ttl_ms"] == 7_200_000
    skiff("extend", "box", "--ttl", "100ms")
    namespace.wait("pod/skiff-box", "phase=Succeeded")
    item = skiff.json("ps")["items"][0]
    assert item["state"] == "ended" and "lease" in item["reason"]
    err = skiff("exec", "box", "--", "true", status=125)[1]
    assert "skiff start box" in err
    assert [each["name"] for each in skiff.json("gc", "--dry-run")["deleted"]] == ["box"]
    done = skiff.json("gc")
    assert [each["name"] for each in done["deleted"]] == ["box"] and done["kept"] == []
    assert namespace.of_skiff() == []


def test_sandboxes_belong_to_an_owner_and_have_labels(skiff, namespace):
    skiff.ups(("mine", "-l", "team=a"), ("yours", "--owner", "somebody else, with a name that no label takes", "-l", "team=b"))
    assert [item["name"] for item in skiff.json("ps")["items"]] == ["mine"]
    assert skiff("ps", "--everyone", "-o", "name")[0] == "mine\nyours\n"
    assert skiff("ps", "--everyone", "--label", "team=b", "-o", "name")[0] == "yours\n"
    assert skiff("ps", "--status", "stopped", "-o", "name")[0] == ""
    assert skiff.json("ps", "--everyone")["items"][1]["owner"] == "somebody else, with a name that no label takes"
    assert skiff("rm", "-l", "team=b") == ("", "")
    assert skiff("rm", "-l", "team=a")[0] == "mine\n"
    assert skiff("rm", "--all") == ("", "")
    assert skiff("ps", "--everyone", "-o", "name")[0] == "yours\n"


def test_a_service_is_of_the_kind_that_was_asked_for(skiff, namespace):
    skiff.ups(*((kind, "--service", kind) for kind in ("none", "headless", "nodeport")))
    services = {one["metadata"]["name"]: one["spec"] for one in namespace.items("services")}
    assert services.keys() == {"skiff-headless-svc", "skiff-nodeport-svc"}
    assert services["skiff-headless-svc"]["clusterIP"] == "None" and services["skiff-nodeport-svc"]["type"] == "NodePort"
    for kind in ("none", "headless", "nodeport"):
        assert skiff("exec", kind, "--", "echo", "hello")[0] == "hello\n"


def test_one_run_is_one_pod_and_leaves_nothing(skiff, namespace):
    process = skiff.start("run", "-i", BUSYBOX, "--", "sh", "-c", "echo begun; read line; echo $line; exit 9", stdin=subprocess.PIPE)
    assert process.stdout.readline() == b"begun\n"
    kinds = [found.partition("/")[0] for found in namespace.of_skiff()]
    assert kinds == ["Pod"]
    out, err = process.communicate(b"typed\n", timeout=100)
    assert (process.returncode, out) == (9, b"typed\n"), err
    assert namespace.of_skiff() == []


def test_run_with_a_name_and_an_image_is_that_of_kubectl(skiff, namespace):
    """It is left running under its name, unless somebody is attached."""
    assert skiff("run", "web", f"--image={BUSYBOX}", "--", "sh", "-c", "echo begun; exec sleep 1000")[0] == "web\n"
    assert skiff("exec", "web", "--", "echo", "there")[0] == "there\n"
    process = skiff.start("logs", "-f", "web")
    assert process.stdout.readline() == b"begun\n"
    skiff("rm", "-f", "web")
    process.communicate(timeout=60)
    assert skiff("run", "tmp", "--rm", "-i", f"--image={BUSYBOX}", "--", "cat", typed=b"typed\n")[0] == "typed\n"
    assert namespace.of_skiff() == []


# langchain-kubernetes: a namespace for each sandbox, with quota
def test_a_namespace_of_its_own_goes_with_it(skiff, cluster, namespace):
    # The controller of namespaces comes again after half of the time that their pods are given.
    made = skiff.up("box", "--namespace-per-sandbox", "--quota", "pods=3", *skiff.overrides({"terminationGracePeriodSeconds": 1}))
    own = made["details"]["namespace"]
    assert own.startswith("skiff-box-")
    assert cluster.api.get("resourcequota", "skiff-quota", own)["spec"]["hard"] == {"pods": "3"}
    assert skiff("exec", "box", "--", "echo", "hello")[0] == "hello\n"
    skiff("rm", "box")
    assert cluster.api.find("namespace", own) is None
    assert namespace.of_skiff() == []


# langchain-kubernetes: overrides of the pod
def test_overrides_are_merged_deeply(skiff):
    flags = skiff.overrides({"hostname": "elsewhere", "enableServiceLinks": None, "containers": [{"name": "sandbox", "env": [{"name": "MORE", "value": "yes"}]}],
                             "terminationGracePeriodSeconds": 7})
    skiff.up("box", "-e", "WHO=me", *flags)
    spec = skiff.pod()["spec"]
    assert (spec["terminationGracePeriodSeconds"], spec["hostname"]) == (7, "elsewhere")
    assert skiff("exec", "box", "--", "sh", "-c", "echo $WHO $MORE")[0] == "me yes\n"


def test_secrets_and_config_maps_of_the_namespace_are_mounted_or_become_variables(skiff, namespace):
    namespace.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"}, "stringData": {"API_KEY": "veiled", "file": "content"}},
                     {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "plain"}, "data": {"LEVEL": "high"}})
    skiff.up("box", "--env-from", "secret/keys", "--env-from", "config/plain", "--volume", "secret/keys:/keys")
    assert skiff("exec", "box", "--", "sh", "-c", "echo $API_KEY $LEVEL; cat /keys/file")[0] == "veiled high\ncontent"
    assert "veiled" not in json.dumps(skiff.json("describe", "box"))
    skiff("rm", "box")
    assert "keys" in namespace.names("secrets")


# langchain-kubernetes: network blocking. This cluster keeps policies and enforces none: what is proved is the object.
def test_the_policies_for_the_network_are_for_all_and_select_those_who_asked(skiff, namespace):
    skiff.ups(("one", "--network", "deny"), ("two", "--network", "deny"))
    out, into = sorted(namespace.items("networkpolicies"), key=lambda policy: policy["metadata"]["name"])
    assert out["spec"]["policyTypes"] == ["Egress"] and out["spec"].keys().isdisjoint(("egress", "ingress"))
    assert into["spec"]["policyTypes"] == ["Ingress"] and into["spec"]["ingress"][0]["ports"][0]["port"] == 7070
    for policy in (out, into):
        for name in ("one", "two"):
            assert policy["spec"]["podSelector"]["matchLabels"].items() <= skiff.pod(name)["metadata"]["labels"].items()
    # A sandbox that opens its own port has its own policy, which is removed with it.
    skiff.up("three", "--network", "deny", "--port", "8080")
    own = namespace.get("networkpolicy", "skiff-three-net")["spec"]
    assert [port["port"] for port in own["ingress"][0]["ports"]] == [7070, 8080] and own.get("egress", []) == []
    assert own["podSelector"]["matchLabels"].items() <= skiff.pod("three")["metadata"]["labels"].items()
    skiff("rm", "three")
    assert sorted(namespace.names("networkpolicies")) == ["skiff-network-deny", "skiff-network-deny-agent"]
