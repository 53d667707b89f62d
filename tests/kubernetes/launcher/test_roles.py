"""The roles that `skiff rbac` prints suffice, each for its command and for no more, with either driver."""

import json
import pathlib
import tempfile
import urllib.request

import pytest

from accounts import await_rights, kubeconfig
from skiff import BUSYBOX, ClaimSkiff, Skiff
from waiting import until


def account(skiff, namespace, folder, command, *flags):
    """The ServiceAccount of `command`, still without rights: (environment, a function that gives it the role of `skiff rbac`)."""
    command = command.split()[0]
    role = json.loads(skiff("rbac", command, "-o", "json", "--service-account", command, *flags)[0])
    alone = [one for one in role["items"] if one["kind"] == "ServiceAccount"]
    namespace.apply(*alone)

    def give():
        namespace.apply(*role["items"])
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


# Commands that are tried in a sandbox that all of these share.
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
def claim_box(namespaces, request):
    with tempfile.TemporaryDirectory(prefix="skiff-") as folder:
        client = ClaimSkiff(pathlib.Path(folder), namespaces.make(request.node.name))
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
def test_a_command_of_the_claim_driver_works_with_just_its_role(claim_box, tmp_path, command):
    words = [*USES[command], *(["--image", BUSYBOX] if command == "manifest" else [])]
    works_with_its_role(claim_box, tmp_path, words, typed=b"true\n" if command == "shell" else None)


@pytest.mark.parametrize("driver", ["pod", "claim"])
def test_forward_works_with_just_its_role(request, tmp_path, driver):
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
    "gc": [["gc", "--max-idle", "10ms"]],
    "pool": [["pool", "create", "warm", "--image", BUSYBOX, "--network", "deny"], ["pool", "status", "warm"], ["pool", "status"],
             ["pool", "scale", "warm", "2"], ["pool", "rm", "warm"]],
}
DRIVERS = pytest.mark.parametrize("driver", ["pod", "claim"])


def of_driver(request, driver):
    return request.getfixturevalue("skiff" if driver == "pod" else "claim_skiff")


@DRIVERS
@pytest.mark.parametrize("command", MAKES)
def test_commands_that_create_and_remove_work_with_just_their_role(request, tmp_path, driver, command):
    skiff = of_driver(request, driver)
    if command == "gc":
        skiff.up("box", "--image", BUSYBOX)
    works_with_its_role(skiff, tmp_path, *MAKES[command])


@DRIVERS
def test_each_step_of_a_sandboxs_life_works_with_just_its_role(request, tmp_path, driver):
    skiff = of_driver(request, driver)
    works_with_its_role(skiff, tmp_path, ["up", "box", "--image", BUSYBOX])
    works_with_its_role(skiff, tmp_path, ["stop", "box"])
    works_with_its_role(skiff, tmp_path, ["start", "box"])
    skiff.up("rest", "--image", BUSYBOX)
    skiff("stop", "rest")
    works_with_its_role(skiff, tmp_path, ["rm", "box", "rest"])


@DRIVERS
def test_up_takes_one_of_a_pool_with_just_its_role(request, tmp_path, driver):
    skiff = of_driver(request, driver)
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


@pytest.fixture
def roles_of_the_cluster(namespace):
    """The flags for them; they are removed at the end."""
    name = f"skiff-{namespace.name}"
    yield "--role-name", name
    for kind in ("clusterrole", "clusterrolebinding"):
        if namespace.cluster.api.find(kind, name):
            namespace.cluster.api.delete(kind, name)


def test_gc_in_all_namespaces_needs_its_cluster_role(skiff, make_namespace, tmp_path, roles_of_the_cluster):
    (tmp_path / "other").mkdir()
    other = Skiff(tmp_path / "other", make_namespace())
    other.owner = skiff.owner
    for one in (skiff, other):
        one.up("brief")
        one("extend", "brief", "--ttl", "10ms")
        one.namespace.wait("pod/skiff-brief", "phase=Succeeded")
    env, give = account(skiff, skiff.namespace, tmp_path, "gc", "-A", *roles_of_the_cluster)
    refused(skiff, ["gc", "-A"], env)
    give()
    gone = {item["name"] for item in skiff.json("gc", "-A", env=env)["deleted"]}
    assert gone >= {f"{one.namespace.name}/brief" for one in (skiff, other)}


def test_gc_of_claims_in_all_namespaces_works_with_just_its_role(claim_skiff, tmp_path, roles_of_the_cluster):
    claim_skiff.up("brief", "--image", BUSYBOX, "--ttl", "10s")
    until(lambda: claim_skiff.json("describe", "brief")["state"] == "ended", seconds=60)
    env, give = account(claim_skiff, claim_skiff.namespace, tmp_path, "gc", "-A", *roles_of_the_cluster)
    refused(claim_skiff, ["gc", "-A"], env)
    give()
    gone = [item["name"] for item in claim_skiff.json("gc", "-A", env=env)["deleted"]]
    assert f"{claim_skiff.namespace.name}/brief" in gone


def test_a_namespace_per_sandbox_needs_its_cluster_role(skiff, tmp_path, roles_of_the_cluster):
    # The controller of namespaces comes again after half of the time that their pods are given.
    brief = skiff.overrides({"terminationGracePeriodSeconds": 1})
    up = ["up", "box", "--namespace-per-sandbox", "--quota", "pods=2", "--network", "deny", *brief]
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
        namespace.apply(*role["items"])
        await_rights(namespace, role["items"], f"system:serviceaccount:{namespace.name}:{command}")
        (skiff.work / "file").write_text("text")
        skiff(*words, env={"KUBECONFIG": kubeconfig(namespace, command, tmp_path)})
