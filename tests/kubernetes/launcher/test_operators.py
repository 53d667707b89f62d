"""What operators need: roles that suffice, a doctor whose advice helps, deploy/base, and traces of a bring-up."""

import json
import pathlib
import tempfile
import urllib.request

import pytest

import collector as collectors
from accounts import await_rights, kubeconfig
from namespace import Namespace, namespaces
from skiff import AGENT, BUSYBOX, ClaimSkiff, Skiff
from waiting import until

DEPLOY = pathlib.Path(__file__).resolve().parents[3] / "deploy"


@pytest.fixture(scope="session")
def cluster(cluster_with_agent_sandbox):
    """The roles of both drivers are tried."""
    return cluster_with_agent_sandbox


def account(skiff, namespace, folder, command, *flags):
    """The ServiceAccount of `command`, still without rights: (environment, a function that gives it the role of `skiff rbac`)."""
    command = command.split()[0]
    role = json.loads(skiff("rbac", command, "-o", "json", "--service-account", command, *flags)[0])
    alone = [one for one in role["items"] if one["kind"] == "ServiceAccount"]
    namespace.kubectl("apply", "-f", "-", input=json.dumps({**role, "items": alone}))

    def give():
        namespace.kubectl("apply", "-f", "-", input=json.dumps(role))
        await_rights(namespace, role["items"], f"system:serviceaccount:{namespace.name}:{command}")

    return {"KUBECONFIG": kubeconfig(namespace, command, folder)}, give


def refused(skiff, words, env):
    """It says what is missing, and which command prints the Role."""
    err = skiff(*words, env={**env, "SKIFF_QUIET": "1"}, status=125)[1]
    told = [line for line in err.splitlines() if " cannot " in line]
    assert told and all(f"`skiff rbac {words[0]}` prints the Role that allows it" in line for line in told), err


def works_with_its_role(skiff, folder, *lines, typed=None):
    """Each of these lines of one command; in this order."""
    env, give = account(skiff, skiff.namespace, folder, lines[0][0])
    for words in lines:
        refused(skiff, words, env)
    give()
    for words in lines:
        skiff(*words, env=env, typed=typed)


# What is tried in a sandbox that all of these share.
USES = {
    "ps": ["ps"],
    "describe": ["describe", "box"],
    "extend": ["extend", "box", "--ttl", "1h"],
    "exec": ["exec", "box", "--", "true"],
    "shell": ["shell", "box"],
    "attach": ["attach", "box", "ended"],
    "logs": ["logs", "box", "ended"],
    "top": ["top", "box"],
    "kill": ["kill", "box", "lasting"],
    "tool": ["tool", "box", "say", '{"a": 1}'],
    "cp": ["cp", "box:kept", "."],
    "files": ["files", "rm", "box", "kept"],
    "session": ["session", "ls", "box"],
    "token": ["token", "box"],
    "version": ["version", "box"],
    "manifest": ["manifest", "new"],
}

PREPARE = """echo text >kept; mkdir -p tools; printf '#!/bin/sh\\necho {}\\n' >tools/say; chmod +x tools/say"""


def prepare(skiff):
    skiff("exec", "box", "--", "sh", "-c", PREPARE)
    for name, command in {"ended": ["true"], "lasting": ["sleep", "1000"]}.items():
        skiff("exec", "box", "--mode", "background", "--id", name, "--", *command)
    return skiff


@pytest.fixture(scope="module")
def pod_box(shared):
    return prepare(shared)


@pytest.fixture(scope="module")
def claim_box(cluster):
    with namespaces(cluster) as make, tempfile.TemporaryDirectory(prefix="skiff-") as folder:
        client = ClaimSkiff(pathlib.Path(folder), make())
        client.up("box", "--image", BUSYBOX)
        yield prepare(client)
        client.finish()


@pytest.mark.parametrize("command", [*USES, "network"])
def test_a_command_works_with_just_its_role_and_without_it_says_what_is_missing(pod_box, tmp_path, command):
    words = {**USES, "network": ["network", "box", "--network", "deny"]}[command]
    more = [["logs", "box", "--agent"]] if command == "logs" else []
    works_with_its_role(pod_box, tmp_path, words, *more, typed=b"true\n" if command == "shell" else None)


def test_the_events_about_a_sandbox_need_no_more_than_the_role_of_describe(pod_box, tmp_path):
    env, give = account(pod_box, pod_box.namespace, tmp_path, "describe")
    give()
    described = json.loads(pod_box("describe", "-o", "json", "box", env=env)[0])
    assert described["events"] and "events_error" not in described


@pytest.mark.parametrize("command", USES)
def test_so_does_a_command_of_the_claim_driver(claim_box, tmp_path, command):
    words = [*USES[command], *(["--image", BUSYBOX] if command == "manifest" else [])]
    works_with_its_role(claim_box, tmp_path, words, typed=b"true\n" if command == "shell" else None)


@pytest.mark.parametrize("driver", ["pod", "claim"])
def test_so_does_forward(request, tmp_path, driver):
    skiff = request.getfixturevalue(f"{driver}_box")
    env, give = account(skiff, skiff.namespace, tmp_path, "forward")
    refused(skiff, ["forward", "box", ":7070"], env)
    give()
    process = skiff.start("forward", "box", ":7070", env=env)
    try:
        port = int(process.stdout.readline().decode().split(" -> ")[0].rsplit(":", 1)[1])
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=60) as answer:
            assert answer.status == 200
    finally:
        process.kill()
        process.communicate()


MAKES = {
    "run": [["run", BUSYBOX, "--", "true"]],
    "up": [["up", "new", "--image", BUSYBOX]],
    "stop": [["stop", "box"]],
    "start": [["start", "rest"]],
    "rm": [["rm", "box", "rest"]],
    "gc": [["gc", "--max-idle", "10ms"]],
    "pool": [["pool", "create", "warm", "--image", BUSYBOX], ["pool", "status", "warm"], ["pool", "status"],
             ["pool", "scale", "warm", "2"], ["pool", "rm", "warm"]],
}


def makes(skiff, folder, command):
    if command in ("stop", "rm", "gc"):
        skiff.up("box", "--image", BUSYBOX)
    if command in ("start", "rm"):
        skiff.up("rest", "--image", BUSYBOX)
        skiff("stop", "rest")
    works_with_its_role(skiff, folder, *MAKES[command])


@pytest.mark.parametrize("command", MAKES)
def test_what_makes_and_removes_works_with_just_its_role_too(skiff, tmp_path, command):
    makes(skiff, tmp_path, command)


@pytest.mark.parametrize("command", MAKES)
def test_so_does_what_makes_and_removes_claims(claim_skiff, tmp_path, command):
    makes(claim_skiff, tmp_path, command)


@pytest.mark.parametrize("driver", ["pod", "claim"])
def test_up_takes_one_of_a_pool_with_just_its_role(request, tmp_path, driver):
    skiff = request.getfixturevalue("skiff" if driver == "pod" else "claim_skiff")
    skiff("pool", "create", "warm", "--image", BUSYBOX, "-q")
    works_with_its_role(skiff, tmp_path, ["up", "new", "--pool", "warm", "--network", "open"])
    skiff("rm", "new")
    skiff("pool", "rm", "warm")


def test_a_template_is_printed_with_just_the_role_of_manifest(claim_skiff, tmp_path):
    works_with_its_role(claim_skiff, tmp_path, ["manifest", "--template", "py", "--image", BUSYBOX])


def test_a_key_is_rotated_with_just_its_role_which_no_user_has(skiff, tmp_path):
    skiff.up("box")
    works_with_its_role(skiff, tmp_path, ["key", "rotate"])
    rules = json.loads(skiff("rbac", "-o", "json")[0])["items"][0]["rules"]
    assert not [rule for rule in rules if "secrets" in rule["resources"] and "patch" in rule["verbs"]]


def test_another_key_leaves_everybody_the_one_that_he_was_made_with(skiff):
    skiff.up("old")
    skiff("pool", "create", "warm", "-q", "--size", "1")
    (before,) = json.loads(skiff("key", "rotate", "-o", "json")[0])["older"]
    skiff.up("new")
    skiff.up("warmed", "--pool", "warm")
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


@pytest.fixture
def roles_of_the_cluster(namespace):
    """The flags for them; they are removed at the end."""
    name = f"skiff-{namespace.name}"
    yield "--role-name", name
    namespace.kubectl("delete", "clusterrole,clusterrolebinding", name, "--ignore-not-found")


def test_gc_in_all_namespaces_needs_its_cluster_role(skiff, make_namespace, tmp_path, roles_of_the_cluster):
    (tmp_path / "other").mkdir()
    other = Skiff(tmp_path / "other", make_namespace())
    for one in (skiff, other):
        one.up("brief")
        one("extend", "brief", "--ttl", "10ms")
        one.namespace.wait("pod/skiff-brief", "phase=Succeeded")
    env, give = account(skiff, skiff.namespace, tmp_path, "gc", "-A", *roles_of_the_cluster)
    refused(skiff, ["gc", "-A"], env)
    give()
    gone = {item["name"] for item in skiff.json("gc", "-A", env=env)["deleted"]}
    assert gone >= {f"{one.namespace.name}/brief" for one in (skiff, other)}


def test_so_does_gc_of_claims_in_all_namespaces(claim_skiff, tmp_path, roles_of_the_cluster):
    claim_skiff.up("brief", "--image", BUSYBOX, "--ttl", "10s")
    until(lambda: claim_skiff.json("describe", "brief")["state"] == "ended", seconds=60)
    env, give = account(claim_skiff, claim_skiff.namespace, tmp_path, "gc", "-A", *roles_of_the_cluster)
    refused(claim_skiff, ["gc", "-A"], env)
    give()
    gone = [item["name"] for item in claim_skiff.json("gc", "-A", env=env)["deleted"]]
    assert f"{claim_skiff.namespace.name}/brief" in gone


def test_a_namespace_per_sandbox_needs_its_cluster_role(skiff, tmp_path, roles_of_the_cluster):
    up = ["up", "box", "--namespace-per-sandbox", "--quota", "pods=2", "--network", "deny"]
    env, give = account(skiff, skiff.namespace, tmp_path, "up", "--namespace-per-sandbox", *roles_of_the_cluster)
    refused(skiff, up, env)
    give()
    skiff(*up, env=env)
    env, give = account(skiff, skiff.namespace, tmp_path, "rm", "--namespace-per-sandbox", *roles_of_the_cluster)
    refused(skiff, ["rm", "box"], env)
    give()
    skiff("rm", "box", env=env)


def test_the_proxy_needs_no_more_than_the_role_says(skiff, namespace, tmp_path):
    skiff.up("box")
    for command, words in {"cp": ["cp", "file", "box:file"], "files": ["files", "rm", "box", "file"]}.items():
        role = json.loads(skiff("rbac", command, "-o", "json", "--service-account", command)[0])
        for one in role["items"]:
            if one["kind"] == "Role":
                one["rules"] = [rule for rule in one["rules"] if rule["resources"] != ["pods/portforward"]]
        namespace.kubectl("apply", "-f", "-", input=json.dumps(role))
        await_rights(namespace, role["items"], f"system:serviceaccount:{namespace.name}:{command}")
        (skiff.work / "file").write_text("text")
        skiff(*words, env={"KUBECONFIG": kubeconfig(namespace, command, tmp_path)})


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
    namespace.kubectl("create", "serviceaccount", "you")
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

class Deployed(Namespace):
    def __init__(self, cluster):
        self.cluster, self.name = cluster, "skiff"
        cluster.kubectl("apply", "--server-side", "-k", DEPLOY / "base")


@pytest.fixture
def deployed(cluster):
    namespace = Deployed(cluster)
    yield namespace
    cluster.kubectl("delete", "-k", DEPLOY / "base")


def job_pod(namespace):
    [job] = namespace.items("cronjobs")
    return job["spec"]["jobTemplate"]["spec"]["template"]["spec"]


def test_the_deployment_can_be_applied_again_and_its_job_fits_the_namespace(cluster, deployed):
    cluster.kubectl("apply", "--server-side", "-k", DEPLOY / "base")
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "try"}, "spec": job_pod(deployed)}
    deployed.create(pod)  # at the level `restricted`; there is no such image here
    deployed.kubectl("delete", "pod", "try", "--now")


def test_the_job_removes_what_has_ended_and_may_do_nothing_else(deployed, tmp_path):
    skiff = Skiff(tmp_path, deployed)
    skiff.up("ended")
    skiff.up("alive")
    skiff("extend", "ended", "--ttl", "10ms")
    deployed.wait("pod/skiff-ended", "phase=Succeeded")
    env = {"KUBECONFIG": kubeconfig(deployed, "skiff-gc", tmp_path)}
    done = json.loads(skiff(*job_pod(deployed)["containers"][0]["args"], env=env)[0])
    assert [item["name"] for item in done["deleted"]] == ["ended"]
    assert [item["name"] for item in done["kept"]] == ["alive"]
    assert "cannot create" in skiff("up", "more", env=env, status=125)[1]
    skiff.finish()
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


def test_what_a_cluster_is_only_asked_for_is_in_the_trace_too(skiff):
    with collectors.collector() as collector:
        skiff("manifest", "box", env={"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url})
        assert collector.span("plan sandbox")["parentSpanId"] == collector.span("skiff manifest")["spanId"]


def test_so_are_pools(skiff):
    with collectors.collector() as collector:
        told = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
        skiff("pool", "create", "warm", "-q", "--size", "0", env=told)
        made = collector.span("create pool")
        assert collectors.values(made)["skiff.pool.name"] == "warm" and made["events"][-1]["name"] == "ready"
        skiff("pool", "rm", "warm", env=told)
        assert collector.span("remove pool")["parentSpanId"] == collector.span("skiff pool rm")["spanId"]
