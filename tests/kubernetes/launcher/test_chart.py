"""The chart of deploy/helm on a real node, by Helm itself: installed, upgraded, rolled back and uninstalled, with the objects of
the kustomize directories. What each value renders is in tests/clients/helm."""

import concurrent.futures
import contextlib
import json
import os
import subprocess
import tempfile
import threading

import pytest
import yaml

import build
import definitions
import deployed as deployments
from deployed import DEPLOY, EXAMPLE, SERVE, Deployed
from namespace import Namespace
from skiff import AGENT, BUSYBOX, Skiff
from waiting import until

CHART = DEPLOY / "helm/skiff-serve"
NEWER = "skiff.test/serve:2"
# Another release than the one that the kustomize directories would be.
RELEASE, HOME, TENANT = "mine", "my-serve", "my-sandboxes"
BASICS = ("--set", f"agentImage={AGENT},tenants={{{TENANT}}},args={{--image={BUSYBOX}}}")
FRONT = ("--set", "domain=sandboxes.example.com,behindProxy=true,ingress.enabled=true,gateway.enabled=true,gateway.className=example")
FRONT_KINDS = ["gateways.gateway.networking.k8s.io", "httproutes.gateway.networking.k8s.io", "ingresses.networking.k8s.io"]
# The address of the tenant's egress proxy.
PROXY = "10.96.0.77"
SECONDS = 90
# The time after which helm gives up a Pod whose image does not exist.
SECONDS_TO_FAIL = 15
REQUEST_SECONDS = 60


class Helm:
    def __init__(self, cluster, home):
        self.environment = {"HOME": str(home), "PATH": os.defpath, "KUBECONFIG": str(cluster.kubeconfig)}

    def __call__(self, *words, status=0):
        """Runs helm and returns its output; with another `status`, its error output."""
        done = subprocess.run([build.helm(), *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=SECONDS + REQUEST_SECONDS, env=self.environment)
        assert done.returncode == status, (words, done.stdout[-2000:], done.stderr[-2000:])
        return done.stderr if status else done.stdout

    def release(self, verb, *words, seconds=SECONDS, status=0):
        return self(verb, RELEASE, *words, "--namespace", HOME, "--wait", "--timeout", f"{seconds}s", status=status)

    def releases(self):
        return json.loads(self("list", "--all", "--namespace", HOME, "--output", "json"))

    def states(self):
        """The state of each revision."""
        return [one["status"] for one in json.loads(self("history", RELEASE, "--namespace", HOME, "--output", "json"))]


@pytest.fixture(scope="module")
def helm(cluster):
    with tempfile.TemporaryDirectory(prefix="skiff-") as home:
        yield Helm(cluster, home)


@pytest.fixture(scope="module")
def gateways(cluster):
    """The kinds of the Gateway API as they are published; nothing here acts on them."""
    for plural in ("gateways", "httproutes"):
        cluster.kubectl("apply", "--server-side", "-f", build.traefik() / f"gateway-api/gateway.networking.k8s.io_{plural}.yaml")
    definitions.wait(cluster.kubectl)


def by_name(text):
    return {(one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]): one for one in yaml.safe_load_all(text) if one}


def as_stored(cluster, objects):
    """Each object as the API server would store it, with the fields that it fills in itself."""
    kept = []
    for one in objects.values():
        text = cluster.kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", input=yaml.safe_dump(one))
        made = json.loads(text)
        for field in ("uid", "creationTimestamp", "generation", "managedFields"):
            made["metadata"].pop(field, None)
        for address in ("clusterIP", "clusterIPs"):
            made.get("spec", {}).pop(address, None)
        if made["kind"] == "Deployment":
            # Where two have put theirs.
            made["spec"]["template"]["spec"]["containers"][0]["env"].sort(key=lambda variable: variable["name"])
        kept.append(made)
    return by_name(yaml.safe_dump_all(kept))


def test_the_chart_and_the_kustomization_are_the_same_to_the_api_server(cluster, helm, gateways):
    """Whole objects, those of the examples too: Ingress, Gateway and HTTPRoute."""
    ours = by_name(cluster.kubectl("kustomize", EXAMPLE))
    ours.update(by_name((EXAMPLE / "http-route.yaml").read_text()))
    theirs = by_name(helm("template", "skiff-serve", CHART, "--namespace", "skiff-serve", "--kube-version", build.KUBERNETES, *FRONT,
                          "--set", "image=registry.example.com/skiff:1,agentImage=registry.example.com/skiffd:1"))
    # `helm install --create-namespace` makes the first one, and the other one stays when the release goes.
    home, tenant = (ours.pop(("Namespace", None, name)) for name in ("skiff-serve", "skiff-sandboxes"))
    assert theirs.pop(("Namespace", None, "skiff-sandboxes"))["metadata"]["labels"] == tenant["metadata"]["labels"]
    assert len(ours) == 14
    # A dry run needs them.
    cluster.kubectl("create", "-f", "-", input=yaml.safe_dump_all([home, tenant]))
    try:
        assert as_stored(cluster, theirs) == as_stored(cluster, ours)
    finally:
        cluster.kubectl("delete", "namespace", "skiff-serve", "skiff-sandboxes", "--wait=false")


@contextlib.contextmanager
def answering(server):
    """The Service answers every request while the block runs; the block sends some."""
    ended = threading.Event()

    def ask():
        answers = []
        while not ended.is_set():
            answers.append(server.is_reached())
        return answers

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        answers = pool.submit(ask)
        try:
            yield
        finally:
            ended.set()
    assert len(answers.result()) > 10 and all(answers.result()), answers.result()


def replicas(server):
    """(how many, by which image, with which arguments)"""
    deployment = server.home.get("deployment", "skiff-serve")["spec"]
    [container] = deployment["template"]["spec"]["containers"]
    return deployment["replicas"], container["image"], container["args"]


def fronts(server):
    return [kind for kind in FRONT_KINDS if "skiff-serve" in server.home.kubectl("get", kind, "-o", "name")]


def with_egress(operator, folder):
    """The words that give the tenant an egress proxy; its keys are what `skiff egress install` would tell it."""
    printed = operator("egress", "install", "-n", TENANT, "--image", "none", "-o", "yaml")[0]
    [keys] = [one["data"]["public.pem"] for one in yaml.safe_load_all(printed) if one["kind"] == "ConfigMap"]
    values = folder / "egress.yaml"
    values.write_text(yaml.safe_dump({"egress": {TENANT: {"clusterIP": PROXY, "publicKeys": keys}}}))
    return "--values", values


def test_a_release_is_installed_upgraded_rolled_back_and_uninstalled(cluster, helm, gateways, tmp_path):
    for name in (SERVE, NEWER):
        deployments.load(cluster, name)
    helm.release("install", CHART, "--create-namespace", *BASICS, "--set", f"image={SERVE},replicas=1")
    server = Deployed(cluster, HOME, TENANT)
    operator = Skiff(tmp_path, server.home)
    try:
        assert server.is_ready(1) and fronts(server) == []
        key = operator("key", "create", "me", "--tenant", TENANT)[0].strip()
        made = json.loads(server.curl("POST", "/v1/sandboxes", key, "{}", status=201))["id"]

        def says(word):
            return server.curl("POST", f"/s/{made}/7070/v1/run", key, f"echo {word}", "application/octet-stream") == f"{word}\n"

        assert says("installed") and all(check["passed"] for check in server.doctor().values())

        egress = with_egress(operator, tmp_path)
        with answering(server):
            helm.release("upgrade", CHART, *BASICS, *FRONT, *egress, "--set", f"image={NEWER},replicas=2,drainSeconds=7")
        # Helm has waited for the proxies, too.
        assert Namespace(cluster, f"{TENANT}-egress").get("deployment", "skiff-egress")["status"]["readyReplicas"] == 2
        assert server.tenant.get("configmap", "skiff-egress")["data"]["proxy"] == f"{PROXY}:3128"
        count, image, arguments = replicas(server)
        assert server.is_ready(2) and (count, image) == (2, NEWER) and {"--drain-timeout=7s", "--behind-proxy"} <= set(arguments)
        assert fronts(server) == FRONT_KINDS and says("upgraded")

        with answering(server):
            err = helm.release("upgrade", CHART, *BASICS, *FRONT, *egress, "--set", "image=skiff.test/nobody:1,replicas=2", "--atomic",
                               seconds=SECONDS_TO_FAIL, status=1)
        assert "rolled back" in err, err
        assert replicas(server)[:2] == (2, NEWER) and says("still") and helm.states() == ["superseded", "superseded", "failed", "deployed"]

        helm.release("rollback", "1")
        assert server.is_ready(1) and replicas(server)[:2] == (1, SERVE) and fronts(server) == [] and says("back")

        helm.release("uninstall")
        assert helm.releases() == []
        for kind in ("deployments", "services", "networkpolicies", "poddisruptionbudgets", "roles", "rolebindings"):
            assert server.home.names(kind) == [], kind
        # Objects that do not belong to the release stay: sandboxes with their namespace, and the keys.
        assert server.tenant.names("pods") == [f"skiff-{made}"] and "skiff-api-keys" in server.home.names("secrets")

        helm.release("install", CHART, *BASICS, "--set", f"image={NEWER},auditLog=true,templates.other.image={BUSYBOX},podLabels.team=a")
        server = Deployed(cluster, HOME, TENANT)
        until(server.is_reached, REQUEST_SECONDS, "the Service", every=0.1)
        assert says("again")
        other = json.loads(server.curl("POST", "/v1/sandboxes", key, '{"template": "other"}', status=201))
        server.curl("DELETE", f"/v1/sandboxes/{other['id']}", key, status=204)
        written = [json.loads(line) for line in server.logs().splitlines() if '"event":"request"' in line]
        assert other["template"] == "other"
        assert sorted(one["method"] for one in written if one.get("sandbox") == other["id"]) == ["DELETE", "POST"]
        server.curl("DELETE", f"/v1/sandboxes/{made}", key, status=204)
        until(lambda: server.tenant.of_skiff() == [], REQUEST_SECONDS, "nothing of it", every=0.1)
    finally:
        if helm.releases():
            helm.release("uninstall")
        cluster.kubectl("delete", "namespace", HOME, TENANT, "--wait=false", "--ignore-not-found")


def test_helm_finds_nothing_wrong_with_it(helm):
    assert "0 chart(s) failed" in helm("lint", "--strict", CHART, *FRONT)
