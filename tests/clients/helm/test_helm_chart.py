"""The chart of deploy/helm renders, by Helm itself, the objects that deploy/serve and its examples have as files."""

import os
import pathlib
import subprocess

import pytest
import yaml

from installed import all_versions, go_program

pytestmark = pytest.mark.skipif(not all_versions(), reason="Helm takes minutes to build")

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parents[2]
CHART = TREE / "deploy/helm/skiff-serve"
HOME = "skiff-serve"
# That of a release knows a version itself.
KUBERNETES = ("--kube-version", "1.30.0")
DOMAIN = ("--set", "domain=sandboxes.example.com", "--set", "behindProxy=true")


@pytest.fixture(scope="module")
def program():
    return go_program(HERE, "helm.sh/helm/v3/cmd/helm")


@pytest.fixture
def helm(program, tmp_path):
    """Runs helm and returns its output; with another `status`, its error output."""
    def run(*words, status=0):
        done = subprocess.run([program, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                              env={"HOME": str(tmp_path), "PATH": os.defpath})
        assert done.returncode == status, (words, done.stdout[-2000:], done.stderr[-2000:])
        return done.stderr if status else done.stdout

    return run


def by_name(objects):
    found = {(one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]): one for one in objects}
    assert len(found) == len(objects)
    return found


@pytest.fixture
def rendered(helm):
    def run(*words):
        text = helm("template", "skiff-serve", CHART, "--namespace", HOME, *KUBERNETES, *words)
        return by_name([one for one in yaml.safe_load_all(text) if one])

    return run


def written(*files):
    return by_name([one for file in files for one in yaml.safe_load_all((TREE / file).read_text())])


def kustomization():
    """It says which files they are and changes nothing in them."""
    told = yaml.safe_load((TREE / "deploy/serve/kustomization.yaml").read_text())
    assert set(told) == {"apiVersion", "kind", "resources"}
    return [f"deploy/serve/{file}" for file in told["resources"]]


def test_the_chart_has_the_objects_of_the_kustomization(rendered):
    ours = written(*kustomization())
    # `helm install --create-namespace` makes this one.
    del ours["Namespace", None, HOME]
    found = rendered()
    # A tenant's sandboxes don't go with the server.
    kept = found["Namespace", None, "skiff-sandboxes"]["metadata"].pop("annotations")
    assert kept == {"helm.sh/resource-policy": "keep"}
    assert found == ours


def test_with_a_domain_it_has_the_ingress_of_the_examples(rendered):
    found = rendered(*DOMAIN, "--set", "ingress.enabled=true")
    [ours] = written("deploy/examples/serve/ingress.yaml").items()
    assert found[ours[0]] == ours[1]
    [container] = found["Deployment", HOME, "skiff-serve"]["spec"]["template"]["spec"]["containers"]
    assert {"name": "SKIFF_SERVE_DOMAIN", "value": "sandboxes.example.com"} in container["env"]
    assert "--behind-proxy" in container["args"]


def test_with_a_gateway_it_has_those_of_the_examples(rendered):
    found = rendered(*DOMAIN, "--set", "gateway.enabled=true,gateway.className=example")
    ours = written("deploy/examples/serve/http-route.yaml")
    assert {kind for kind, _, _ in ours} == {"Gateway", "HTTPRoute"} and not any(kind == "Ingress" for kind, _, _ in found)
    assert {key: found[key] for key in ours} == ours


def test_each_tenant_gets_the_rights_of_the_server_and_nobody_else_does(rendered):
    found = rendered("--set", "tenants={a,b}", "--set", "createTenants=false")
    assert {key for key in found if key[0] in ("Role", "Namespace")} == {("Role", where, HOME) for where in ("a", "b", HOME)}
    ours = written("deploy/serve/rbac.yaml")
    assert found["Role", "a", HOME]["rules"] == ours["Role", "skiff-sandboxes", HOME]["rules"]
    assert found["RoleBinding", "b", HOME]["subjects"] == [{"kind": "ServiceAccount", "name": HOME, "namespace": HOME}]


def test_in_another_namespace_everything_is_there(helm):
    text = helm("template", "skiff-serve", CHART, "--namespace", "mine", *KUBERNETES)
    objects = by_name([one for one in yaml.safe_load_all(text) if one])
    assert {where for _, where, _ in objects} == {None, "mine", "skiff-sandboxes"}
    assert objects["RoleBinding", "skiff-sandboxes", HOME]["subjects"][0]["namespace"] == "mine"
    assert objects["Role", "mine", HOME]["rules"] == written("deploy/serve/rbac.yaml")["Role", HOME, HOME]["rules"]


def test_the_time_to_end_follows_the_drain(rendered):
    pod = rendered("--set", "drainSeconds=600")["Deployment", HOME, "skiff-serve"]["spec"]["template"]["spec"]
    assert "--drain-timeout=600s" in pod["containers"][0]["args"] and pod["terminationGracePeriodSeconds"] == 615


@pytest.mark.parametrize("words, why", [
    (("--set", "replica=3"), "replica"),
    (("--set", "replicas=0"), "replicas"),
    (("--set", "tenants={Team_A}"), "tenants"),
    (("--set", f"tenants={{{HOME}}}"), "is not a place for sandboxes"),
    (("--set", "ingress.enabled=true"), "ingress needs a domain"),
    (("--set", "ingress.enabled=true", "--set", "domain=a.example.com"), "set behindProxy"),
    (("--set", "gateway.enabled=true,gateway.className=a"), "gateway needs a domain"),
    (("--set", "gateway.enabled=true,gateway.className=a,domain=a.example.com"), "set behindProxy"),
    ((*DOMAIN, "--set", "gateway.enabled=true"), "gateway needs a className"),
])
def test_contradictory_values_are_refused(helm, words, why):
    assert why in helm("template", "skiff-serve", CHART, "--namespace", HOME, *KUBERNETES, *words, status=1)


def test_helm_finds_nothing_wrong_with_it(helm):
    assert "0 chart(s) failed" in helm("lint", "--strict", CHART, "--namespace", HOME, *KUBERNETES)
