"""The `claim` driver reports with the reason what it can't create, and leaves nothing; Ctrl-C leaves nothing either."""

import signal

import pytest

from held_requests import HeldRequests
from namespace import LOOK_SECONDS
from skiff import BUSYBOX, make_pool, pool_json
from waiting import until

EXTENSIONS = "extensions.agents.x-k8s.io/v1beta1"


@pytest.fixture
def skiff(claim_skiff):
    return claim_skiff


@pytest.fixture
def pool(skiff):
    return make_pool(skiff)


def test_flags_that_a_template_can_not_satisfy_are_refused(skiff, pool):
    for words in (("--allow", "203.0.113.7/32"), ("--service-account", "default"), ("--pull-policy", "Always")):
        for source in (("--pool", pool), ("--template", "warm")):
            _, err = skiff("up", "box", *source, *words, status=125)
            assert words[0] in err, err
    _, err = skiff("ps", "--cursor", "demo", status=125)
    assert "--cursor" in err and "substr" not in err, err
    for words in (("rm", ""), ("status", ""), ("scale", "", "1")):
        _, err = skiff("pool", *words, status=125)
        assert "name" in err, err
    assert set(skiff.objects("sandboxwarmpools.extensions.agents.x-k8s.io")) == {"warm"}


def test_a_missing_pool_is_reported_before_anything_is_created(skiff):
    _, err = skiff("up", "box", "--pool", "none", status=125)
    assert "skiff pool create none" in err
    assert skiff.objects("sandboxclaims.extensions.agents.x-k8s.io") == {}


def test_a_sandbox_whose_image_can_not_be_had_says_so_early_and_is_gone(skiff):
    _, err = skiff("up", "box", "--image", "skiff.test/nobody-has-this:1", status=125)
    assert "ErrImagePull" in err or "ImagePullBackOff" in err, err
    assert skiff.objects("sandboxes.agents.x-k8s.io") == {} and skiff.objects("pods") == {}


def test_up_gives_the_reason_when_the_cluster_refuses(skiff):
    skiff.namespace.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}})
    skiff.namespace.wait("resourcequota/none", lambda quota: quota["status"].get("hard") == {"pods": "0"})
    _, err = skiff("up", "box", "--image", BUSYBOX, status=125)
    assert "exceeded quota" in err, err
    assert skiff.objects("sandboxes.agents.x-k8s.io") == {}


def test_a_template_that_does_not_run_skiffd_is_reported_with_the_remedy(skiff):
    container = {"name": "runtime", "image": BUSYBOX, "command": ["sh", "-c", "sleep 1000"], "ports": [{"containerPort": 8888}]}
    skiff.namespace.create(
        {"apiVersion": EXTENSIONS, "kind": "SandboxTemplate", "metadata": {"name": "foreign"},
         "spec": {"podTemplate": {"spec": {"containers": [container], "terminationGracePeriodSeconds": 1}}}},
        {"apiVersion": EXTENSIONS, "kind": "SandboxWarmPool", "metadata": {"name": "foreign"},
         "spec": {"replicas": 0, "sandboxTemplateRef": {"name": "foreign"}}})
    _, err = skiff("up", "box", "--pool", "foreign", status=125)
    assert "does not run skiffd" in err and "skiff pool create" in err, err
    assert skiff.objects("sandboxclaims.extensions.agents.x-k8s.io") == {}
    for kind in ("sandboxwarmpool", "sandboxtemplate"):
        skiff.namespace.delete(f"{kind}/foreign")


def test_a_template_is_refused_where_it_can_not_be(skiff):
    assert "--driver claim" in skiff("manifest", "--template", "py", env={"SKIFF_DRIVER": "pod"}, status=125)[1]
    assert "--template NAME" in skiff("manifest", status=125)[1]
    assert "--volume" in skiff("manifest", "--template", "py", "--volume", "1Gi:/data", status=125)[1]


def test_a_dry_run_reports_what_the_server_would_refuse(skiff):
    overrides = skiff.overrides({"containers": [{"name": "sandbox", "livenessProbe": {"exec": {"command": "no list"}}}]})
    assert "livenessProbe" in skiff("up", "box", "--dry-run", "--image", BUSYBOX, *overrides, status=125)[1]


def test_the_network_of_what_agent_sandbox_made_stays(skiff):
    assert "skiff pool create --network" in skiff("network", "box", "--network", "deny", status=125)[1]


# --- Ctrl-C ---

EXTENDED, CORE = "extensions.agents.x-k8s.io", "agents.x-k8s.io"
REQUESTS = {
    "a bare Sandbox": (CORE, "sandboxes", ["up", "box", "--image", BUSYBOX]),
    "a claim": (EXTENDED, "sandboxclaims", ["up", "box", "--pool", "cold"]),
    "a template": (EXTENDED, "sandboxtemplates", ["pool", "create", "warm", "--image", BUSYBOX]),
    "a pool": (EXTENDED, "sandboxwarmpools", ["pool", "create", "warm", "--image", BUSYBOX]),
}


@pytest.mark.parametrize("late", [False, True], ids=["lost", "late"])
@pytest.mark.parametrize("made", REQUESTS)
def test_an_interrupt_between_a_request_and_its_answer_leaves_nothing_of(skiff, made, late):
    group, plural, words = REQUESTS[made]
    if made == "a claim":
        pool_json(skiff, "create", "cold", "-q", "--size", "0", "--image", BUSYBOX)
    before = skiff.namespace.of_skiff()
    needle = f"POST /apis/{group}/v1beta1/namespaces/{skiff.namespace.name}/{plural}"
    with HeldRequests(skiff.cluster, skiff.home, needle, late) as held:
        process = skiff.start(*words, env={"KUBECONFIG": str(held.kubeconfig)})
        assert held.seen.wait(60)
        err = interrupt(process)
    # The controllers remove objects that arrive after the client has left; it announces their removal, and does not wait for it.
    if not late or "is being removed" not in err:
        assert skiff.namespace.of_skiff() == before, err
    until(lambda: skiff.namespace.of_skiff() == before, 60, "it is removed", LOOK_SECONDS)


def interrupt(process):
    process.send_signal(signal.SIGINT)
    err = process.communicate(timeout=120)[1].decode()
    assert process.returncode == 130, err[-2000:]
    return err


def test_a_start_waits_for_one_that_somebody_else_has_begun(skiff):
    process = skiff.start("up", "box", "--image", BUSYBOX, "--env", "LEVEL=own")
    skiff.namespace.wait("pod/skiff-box", "create")
    pod = skiff.pod()["metadata"]["uid"]
    process.kill()
    process.communicate()
    assert skiff("start", "box")[0].startswith("box is up")
    assert skiff.run("echo $LEVEL") == "own\n" and skiff.pod()["metadata"]["uid"] == pod


def test_an_interrupt_of_a_start_leaves_it_stopped(skiff):
    skiff.up("box", "--image", BUSYBOX)
    skiff("stop", "box")
    process = skiff.start("start", "box")
    skiff.namespace.wait("pod/skiff-box", "create")
    interrupt(process)
    assert skiff.json("describe", "box")["state"] == "stopped" and skiff.objects("pods") == {}
