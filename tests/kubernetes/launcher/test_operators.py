"""What operators need: roles that suffice, a doctor whose advice helps, deploy/base, and traces of a bring-up."""

import json
import pathlib
import subprocess

import pytest

import collector as collectors
from cluster import Namespace
from skiff import AGENT, BUSYBOX, Skiff
from waiting import until

DEPLOY = pathlib.Path(__file__).resolve().parents[3] / "deploy"


def kubeconfig(namespace, account, folder):
    """A file by which one is that ServiceAccount."""
    config = json.loads(namespace.kubectl("config", "view", "--raw", "-o", "json"))
    config["users"] = [{"name": "account", "user": {"token": namespace.kubectl("create", "token", account).strip()}}]
    config["contexts"] = [{"name": "account", "context": {**config["contexts"][0]["context"], "user": "account"}}]
    config["current-context"] = "account"
    file = folder / f"{account}.conf"
    file.write_text(json.dumps(config))
    return str(file)


def await_rights(namespace, objects, user):
    """The authorizer reads roles from a cache, which is a moment behind."""
    [role] = [one for one in objects if one["kind"] == "Role"]
    rule = role["rules"][-1]
    resource, _, part = rule["resources"][0].partition("/")
    ask = ["auth", "can-i", rule["verbs"][0], resource, f"--as={user}", *([f"--subresource={part}"] if part else [])]
    until(lambda: subprocess.run(namespace.cluster.command(f"--namespace={namespace.name}", *ask), stdin=subprocess.DEVNULL,
                                 capture_output=True).returncode == 0, what="the Role")


# What each command is tried with. `box` runs, `rest` is stopped; both are there again before each of them.
COMMANDS = {
    "run": ["run", BUSYBOX, "--", "true"],
    "up": ["up", "new"],
    "ps": ["ps"],
    "describe": ["describe", "box"],
    "stop": ["stop", "box"],
    "start": ["start", "rest"],
    "extend": ["extend", "box", "--ttl", "1h"],
    "network": ["network", "box", "--network", "deny"],
    "rm": ["rm", "box", "rest"],
    "gc": ["gc", "--max-idle", "10ms"],
    "exec": ["exec", "box", "--", "true"],
    "attach": ["attach", "box", "job"],
    "logs": ["logs", "box", "job"],
    "top": ["top", "box"],
    "kill": ["kill", "box", "job"],
    "cp": ["cp", "box:kept", "."],
    "files": ["files", "rm", "box", "kept"],
    "token": ["token", "box"],
    "version": ["version", "box"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_works_with_just_its_role_and_without_it_says_what_is_missing(skiff, namespace, tmp_path, command):
    if command not in ("run", "up", "ps"):
        skiff.up("box")
        skiff("exec", "box", "--", "sh", "-c", "echo text >kept")
        skiff("exec", "box", "--mode", "background", "--id", "job", "--", *(["sleep", "1000"] if command == "kill" else ["true"]))
    if command in ("start", "rm"):
        skiff.up("rest")
        skiff("stop", "rest")
    role = json.loads(skiff("rbac", command, "-o", "json", "--service-account", command)[0])
    account = [one for one in role["items"] if one["kind"] == "ServiceAccount"]
    namespace.kubectl("apply", "-f", "-", input=json.dumps({**role, "items": account}))
    env = {"KUBECONFIG": kubeconfig(namespace, command, tmp_path)}
    err = skiff(*COMMANDS[command], "-q", env=env, status=125)[1] if "--" not in COMMANDS[command] else \
        skiff(COMMANDS[command][0], "-q", *COMMANDS[command][1:], env=env, status=125)[1]
    told = [line for line in err.splitlines() if " cannot " in line]
    assert told and all(f"`skiff rbac {command}` prints the Role that allows it" in line for line in told), err
    namespace.kubectl("apply", "-f", "-", input=json.dumps(role))
    await_rights(namespace, role["items"], f"system:serviceaccount:{namespace.name}:{command}")
    skiff(*COMMANDS[command], env=env)


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
    [job] = namespace.get("cronjobs")["items"]
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
    deployed.kubectl("wait", "pod/skiff-ended", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s")
    env = {"KUBECONFIG": kubeconfig(deployed, "skiff-gc", tmp_path)}
    done = json.loads(skiff(*job_pod(deployed)["containers"][0]["args"], env=env)[0])
    assert [item["name"] for item in done["deleted"]] == ["ended"]
    assert [item["name"] for item in done["kept"]] == ["alive"]
    assert "cannot create" in skiff("up", "more", env=env, status=125)[1]
    skiff.finish()


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
