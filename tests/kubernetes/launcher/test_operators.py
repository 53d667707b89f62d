"""Operators need these: keys that can be rotated, a doctor whose advice helps, deploy/base, and traces of a bring-up."""

import json
import pathlib

import pytest

import collector as collectors
from accounts import kubeconfig
from namespace import Namespace
from skiff import AGENT, BUSYBOX, Skiff
from waiting import until

DEPLOY = pathlib.Path(__file__).resolve().parents[3] / "deploy"


def test_sandboxes_keep_their_key_when_another_one_is_added(skiff):
    skiff("pool", "create", "warm", "-q", "--size", "1")
    skiff.up("old")
    (before,) = json.loads(skiff("key", "rotate", "-o", "json")[0])["older"]
    skiff.ups(("new",), ("warmed", "--pool", "warm"))
    for name in ("old", "new", "warmed"):
        assert skiff("exec", name, "--", "echo", "hello")[0] == "hello\n"
    out, err = skiff("key", "rotate", "--finish", "-o", "json", status=125)
    (older,) = json.loads(out)["older"]
    assert older["fingerprint"] == before["fingerprint"] and {"old", "warmed"} <= set(older["users"]) and "new" not in older["users"]
    assert "skiff stop NAME && skiff start NAME" in err
    for name in ("old", "warmed"):
        skiff("stop", name)
        skiff("start", name, "-q")
    skiff("pool", "rm", "warm")
    assert json.loads(skiff("key", "rotate", "--finish", "-o", "json")[0])["removed"] == [before["fingerprint"]]
    for name in ("old", "new", "warmed"):
        assert skiff("exec", name, "--", "echo", "hello")[0] == "hello\n"


def checks(skiff, *words, status=0, **options):
    out, err = skiff("doctor", "-o", "json", *words, status=status, **options)
    return {check["what"]: check for check in json.loads(out)["items"]}


def test_doctor_finds_nothing_wrong_where_all_is_well(skiff):
    skiff.up("box")
    found = checks(skiff)
    assert found["agents"]["detail"].startswith("1 asked") and found["admission"]["passed"]
    assert found["agent image"]["detail"] == AGENT
    assert found["API server"]["detail"].startswith("v1.34.4 at https://")


def test_doctors_advice_about_rights_helps(skiff, namespace, tmp_path):
    namespace.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "you"}})
    env = {"KUBECONFIG": kubeconfig(namespace, "you", tmp_path)}
    found = checks(skiff, env=env, status=125)
    assert "create pods" in found["permissions"]["detail"]
    assert f"`skiff rbac | kubectl apply -n {namespace.name} -f -`" in found["permissions"]["remedy"]
    role = skiff("rbac")[0]
    namespace.kubectl("apply", "-f", "-", input=role)
    namespace.kubectl("create", "rolebinding", "skiff", "--role=skiff", f"--serviceaccount={namespace.name}:you")
    until(lambda: "create pods" not in checks_or_all(skiff, env).get("permissions", {}).get("detail", ""), what="the Role")
    assert all(check["passed"] for check in checks(skiff, env=env).values())


def checks_or_all(skiff, env):
    process = skiff.start("doctor", "-o", "json", env=env)
    out, _ = process.communicate(timeout=60)
    return {check["what"]: check for check in json.loads(out)["items"]}


# --- deploy/base ---

@pytest.fixture(scope="module")
def deployed(cluster):
    cluster.kubectl("apply", "--server-side", "-k", DEPLOY / "base")
    yield Namespace(cluster, "skiff")
    cluster.kubectl("delete", "--wait=false", "-k", DEPLOY / "base")


def job_pod(namespace):
    [job] = namespace.items("cronjobs")
    return job["spec"]["jobTemplate"]["spec"]["template"]["spec"]


def test_the_deployment_can_be_applied_again_and_its_job_fits_the_namespace(cluster, deployed):
    cluster.kubectl("apply", "--server-side", "-k", DEPLOY / "base")
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "try"}, "spec": job_pod(deployed)}
    deployed.create(pod)  # at the level `restricted`; there is no such image here
    deployed.delete("pod/try")


def test_the_job_removes_what_has_ended_and_may_do_nothing_else(deployed, tmp_path):
    skiff = Skiff(tmp_path, deployed)
    skiff.ups(("ended",), ("alive",))
    skiff("extend", "ended", "--ttl", "10ms")
    deployed.wait("pod/skiff-ended", "phase=Succeeded")
    env = {"KUBECONFIG": kubeconfig(deployed, "skiff-gc", tmp_path)}
    done = json.loads(skiff(*job_pod(deployed)["containers"][0]["args"], env=env)[0])
    assert [item["name"] for item in done["deleted"]] == ["ended"]
    assert [item["name"] for item in done["kept"]] == ["alive"]
    assert "cannot create" in skiff("up", "more", env=env, status=125)[1]
    skiff("rm", "--all", "--everyone", "-q")
    assert deployed.of_skiff() == []


# --- traces ---

def test_a_trace_shows_the_phases_of_a_pod_and_reaches_the_command(skiff):
    with collectors.collector() as collector:
        out, _ = skiff("run", BUSYBOX, "--", "sh", "-c", "echo $TRACEPARENT", env={"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url})
        root, made = collector.span("skiff run"), collector.span("create sandbox")
        assert made["parentSpanId"] == root["spanId"] and collectors.values(made)["container.image.name"] == BUSYBOX
        phases = [event["name"] for event in made["events"]]
        assert phases[0] == "scheduling" and phases[-1] == "ready" and "starting" in phases
        assert out.split("-")[1] == root["traceId"]
        assert out.split("-")[2] in {span["spanId"] for span in collector.children(root)}


def test_a_plan_of_a_sandbox_is_a_span(skiff):
    with collectors.collector() as collector:
        skiff("manifest", "box", env={"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url})
        assert collector.span("plan sandbox")["parentSpanId"] == collector.span("skiff manifest")["spanId"]


def test_operations_on_pools_are_spans(skiff):
    with collectors.collector() as collector:
        told = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
        skiff("pool", "create", "warm", "-q", "--size", "0", env=told)
        made = collector.span("create pool")
        assert collectors.values(made)["skiff.pool.name"] == "warm" and made["events"][-1]["name"] == "ready"
        skiff("pool", "rm", "warm", env=told)
        assert collector.span("remove pool")["parentSpanId"] == collector.span("skiff pool rm")["spanId"]
