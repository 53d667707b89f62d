"""The chart of deploy/helm renders, by Helm itself, the objects that deploy/serve and its examples have as files."""

import json
import os
import pathlib
import re
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
# deploy/serve names them; they cannot exist.
IMAGES = ("--set", "image=registry.invalid/skiff,agentImage=registry.invalid/skiffd")
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
        text = helm("template", "skiff-serve", CHART, "--namespace", HOME, *KUBERNETES, *IMAGES, *words)
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
    text = helm("template", "skiff-serve", CHART, "--namespace", "mine", *KUBERNETES, *IMAGES)
    objects = by_name([one for one in yaml.safe_load_all(text) if one])
    assert {where for _, where, _ in objects} == {None, "mine", "skiff-sandboxes"}
    assert objects["RoleBinding", "skiff-sandboxes", HOME]["subjects"][0]["namespace"] == "mine"
    assert objects["Role", "mine", HOME]["rules"] == written("deploy/serve/rbac.yaml")["Role", HOME, HOME]["rules"]


def test_the_time_to_end_follows_the_drain(rendered):
    pod = rendered("--set", "drainSeconds=600")["Deployment", HOME, "skiff-serve"]["spec"]["template"]["spec"]
    assert "--drain-timeout=600s" in pod["containers"][0]["args"] and pod["terminationGracePeriodSeconds"] == 615


@pytest.fixture
def with_values(rendered, tmp_path):
    """Renders the chart with these values."""
    def run(**values):
        file = tmp_path / "values.yaml"
        file.write_text(yaml.safe_dump(values))
        return rendered("--values", file)

    return run


def server_pod(found):
    pod = found["Deployment", HOME, "skiff-serve"]["spec"]["template"]
    return pod["metadata"], pod["spec"], pod["spec"]["containers"][0]


def test_templates_are_a_file_that_the_server_reads(with_values):
    templates = {"python": {"image": "python:3.12", "env": {"A": "b: c"}, "pod": {"cpu": "1:2", "volumes": ["1Gi:/workspace"]}}}
    found = with_values(templates=templates)
    config = found["ConfigMap", HOME, "skiff-serve"]
    assert yaml.safe_load(config["data"]["templates.yaml"]) == templates
    metadata, spec, container = server_pod(found)
    assert "--templates=/etc/skiff/templates.yaml" in container["args"]
    assert container["volumeMounts"] == [{"name": "templates", "mountPath": "/etc/skiff", "readOnly": True}]
    assert spec["volumes"] == [{"name": "templates", "configMap": {"name": "skiff-serve"}}]
    # Another file makes other Pods, because the server reads it when it starts.
    templates["python"]["image"] = "python:3.13"
    assert metadata["annotations"] != server_pod(with_values(templates=templates))[0]["annotations"]


def test_the_program_accepts_each_option_of_a_template_that_the_schema_permits():
    """The names of the schema are those of the program's table."""
    schema = json.loads((CHART / "values.schema.json").read_text())["properties"]["templates"]["additionalProperties"]["properties"]["pod"]
    header = (TREE / "container/sandbox/pod_options.hpp").read_text()
    rows = re.findall(r"^  X\(\w+(?:::\w+)?, (\w+),(.*?)(?=^  X\(|clang-format on)", header, re.M | re.S)
    names = {(re.search(r'\.json = "(\w+)"', row) or [None, name])[1] for name, row in rows}
    assert set(schema["properties"]) == names and len(names) > 30


def test_the_servers_pods_are_scheduled_and_described_as_values_say(with_values):
    toleration = {"key": "dedicated", "operator": "Equal", "value": "skiff", "effect": "NoSchedule"}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [
        {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]}]}}}
    spread = {"maxSkew": 2, "topologyKey": "example.com/rack", "whenUnsatisfiable": "DoNotSchedule"}
    found = with_values(nodeSelector={"pool": "infra"}, tolerations=[toleration], affinity=affinity, priorityClassName="high",
                        topologySpreadConstraints=[spread], resources={"requests": {"cpu": 2}}, env=[{"name": "TZ", "value": "UTC"}],
                        auditLog=True, console=True, behindProxy=True, labels={"team": "a"}, annotations={"owner": "b"}, podLabels={"mesh": "c"}, podAnnotations={"scan": "d"})
    metadata, spec, container = server_pod(found)
    assert (spec["nodeSelector"], spec["tolerations"], spec["affinity"]) == ({"pool": "infra"}, [toleration], affinity)
    assert spec["priorityClassName"] == "high"
    own = {"app.kubernetes.io/name": "skiff-serve"}
    assert spec["topologySpreadConstraints"] == [{**spread, "labelSelector": {"matchLabels": own}}]
    assert container["resources"]["requests"]["cpu"] == 2 and {"name": "TZ", "value": "UTC"} in container["env"]
    assert {"--audit-log=-", "--console"} < set(container["args"])
    assert metadata == {"labels": {**own, "mesh": "c", "team": "a"}, "annotations": {"scan": "d", "owner": "b"}}
    for key, one in found.items():
        assert one["metadata"]["labels"]["team"] == "a" and one["metadata"]["annotations"]["owner"] == "b", key
        assert "mesh" not in one["metadata"]["labels"]
    # A Deployment refuses another selector.
    assert found["Deployment", HOME, "skiff-serve"]["spec"]["selector"]["matchLabels"] == own
    assert found["Service", HOME, "skiff-serve"]["spec"]["selector"] == own
    assert server_pod(with_values(topologySpreadConstraints=[]))[1].keys().isdisjoint({"topologySpreadConstraints"})


PEM = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA\n-----END PUBLIC KEY-----\n"


def installed_for(tenant, image, host, keys):
    """The objects of `skiff egress install`, with the note for the launchers."""
    text = (CHART / "files/egress.yaml").read_text()
    for before, after in (("skiff-sandboxes", tenant), ("192.0.2.1", host), ("registry.invalid/skiff", image)):
        text = text.replace(before, after)
    ours = by_name([one for one in yaml.safe_load_all(text)])
    for (kind, _, _), one in ours.items():
        if kind == "ConfigMap":
            one["data"]["public.pem"] = keys
    return ours


def test_a_tenant_with_egress_has_what_the_program_installs(with_values):
    addresses = {"a": "10.96.7.7", "b": "fd00:96::7"}
    found = with_values(tenants=["a", "b", "c"], egress={name: {"clusterIP": ip, "publicKeys": PEM} for name, ip in addresses.items()})
    assert not [key for key in found if key[1] == "c-egress"]
    for tenant, ip in addresses.items():
        ours = installed_for(tenant, "registry.invalid/skiff", f"[{ip}]" if ":" in ip else ip, PEM)
        assert found["Service", f"{tenant}-egress", "skiff-egress"]["spec"].pop("clusterIP") == ip
        # A fence is made by who makes a sandbox, and both outlive the release.
        for name in ("skiff-network-egress", "skiff-network-egress-agent", "skiff-network-egress-dialects"):
            assert ours.pop(("NetworkPolicy", tenant, name)) and ("NetworkPolicy", tenant, name) not in found
        assert {key: found[key] for key in ours} == ours and len(ours) == 12
        assert ours["ConfigMap", tenant, "skiff-egress"]["data"]["proxy"] == (f"[{ip}]:3128" if ":" in ip else f"{ip}:3128")
    secrets = with_values(tenants=["a"], imagePullSecrets=[{"name": "r"}], egress={"a": {"clusterIP": "10.96.7.7", "publicKeys": PEM}})
    assert secrets["Deployment", "a-egress", "skiff-egress"]["spec"]["template"]["spec"]["imagePullSecrets"] == [{"name": "r"}]


@pytest.mark.parametrize("endpoint, port", [
    ("http://collector.observability:4318", 4318), ("https://otlp.example.com/x", 443), ("http://[fd00::1]", 80),
    ("http://[fd00::1]:9000/x", 9000)])
def test_the_network_policy_admits_the_collector_of_traces(with_values, rendered, endpoint, port):
    peer = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "observability"}}}
    found = with_values(otlp={"endpoint": endpoint, "headersSecret": {"name": "otlp", "key": "headers"}, "to": [peer]})
    _, _, container = server_pod(found)
    assert {"name": "OTEL_EXPORTER_OTLP_ENDPOINT", "value": endpoint} in container["env"]
    assert {"name": "OTEL_EXPORTER_OTLP_HEADERS", "valueFrom": {"secretKeyRef": {"name": "otlp", "key": "headers"}}} in container["env"]
    policy = ("NetworkPolicy", HOME, "skiff-serve")
    before, now = rendered()[policy]["spec"]["egress"], found[policy]["spec"]["egress"]
    assert now == [*before, {"ports": [{"protocol": "TCP", "port": port}], "to": [peer]}]
    [rule] = with_values(otlp={"endpoint": endpoint})[policy]["spec"]["egress"][len(before):]
    assert rule == {"ports": [{"protocol": "TCP", "port": port}]}


def test_metrics_alerts_and_the_dashboard_are_there_if_values_say_so(with_values, rendered):
    assert not {kind for kind, _, _ in rendered()} & {"ServiceMonitor", "PrometheusRule", "ConfigMap"}
    found = with_values(metrics={
        "keySecret": {"name": "skiff-metrics"}, "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
        "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}}, "dashboard": {"enabled": True}})
    monitor = found["ServiceMonitor", HOME, "skiff-serve"]
    assert monitor["metadata"]["labels"] == {"app.kubernetes.io/name": "skiff-serve", "release": "prometheus"}
    assert monitor["spec"]["selector"]["matchLabels"].items() <= found["Service", HOME, "skiff-serve"]["metadata"]["labels"].items()
    [endpoint] = monitor["spec"]["endpoints"]
    assert endpoint["authorization"] == {"type": "Bearer", "credentials": {"name": "skiff-metrics", "key": "key"}}
    assert endpoint["port"] in [port["name"] for port in found["Service", HOME, "skiff-serve"]["spec"]["ports"]]
    assert found["PrometheusRule", HOME, "skiff-serve"]["spec"] == yaml.safe_load((CHART / "files/alerts.yaml").read_text())
    dashboard = found["ConfigMap", HOME, "skiff-serve-dashboard"]
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert json.loads(dashboard["data"]["skiff-serve.json"]) == json.loads((CHART / "files/dashboard.json").read_text())


def value_names(values, schema):
    """The values that the schema names one by one; others are a whole, for example the labels of Pods."""
    for name, inner in schema["properties"].items():
        if "properties" in inner and name not in ("resources", "affinity", "headersSecret"):
            yield from (f"{name}.{more}" for more in value_names(values.get(name, {}), inner))
        else:
            yield name


def test_the_schema_the_values_and_their_table_agree():
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    schema = json.loads((CHART / "values.schema.json").read_text())
    assert set(schema["properties"]) - {"global"} == set(values)
    told = set()
    for row in re.findall(r"^\| (`[^|]*`) \|", (CHART / "README.md").read_text(), re.M):
        names = re.findall(r"`([^`]+)`", row)
        told |= {names[0].rpartition(".")[0] + name if name.startswith(".") else name for name in names}
    assert told == set(value_names(values, schema)) - {"global"}


@pytest.mark.parametrize("words, why", [
    (("--set", "image="), "name the image of the server: --set image=REGISTRY/skiff:VERSION"),
    (("--set", "agentImage="), "name the image of the agent: --set agentImage=REGISTRY/skiffd:VERSION"),
    (("--set", "replica=3"), "replica"),
    (("--set", "replicas=0"), "replicas"),
    (("--set", "tenants={Team_A}"), "tenants"),
    (("--set", f"tenants={{{HOME}}}"), "is not a place for sandboxes"),
    (("--set", "ingress.enabled=true"), "ingress needs a domain"),
    (("--set", "ingress.enabled=true", "--set", "domain=a.example.com"), "set behindProxy"),
    (("--set", "gateway.enabled=true,gateway.className=a"), "gateway needs a domain"),
    (("--set", "gateway.enabled=true,gateway.className=a,domain=a.example.com"), "set behindProxy"),
    ((*DOMAIN, "--set", "gateway.enabled=true"), "gateway needs a className"),
    (("--set", "resources.limit.cpu=1"), "resources"),
    (("--set", "templates.a.imgae=b"), "templates"),
    (("--set", "templates.a.pod.cpus=1"), "templates"),
    (("--set", "env[0].name=SKIFF_DRIVER"), "env"),
    (("--set", "egress.skiff-sandboxes.clusterIP=10.96.7.7"), "publicKeys"),
    (("--set", f"egress.skiff-sandboxes.clusterIP=proxy,egress.skiff-sandboxes.publicKeys={PEM}"), "clusterIP"),
    (("--set", f"egress.other.clusterIP=10.96.7.7,egress.other.publicKeys={PEM}"), "other is not among the tenants"),
    (("--set", "tolerations[0].effects=NoSchedule"), "tolerations"),
    (("--set", "affinity.node=a"), "affinity"),
    (("--set", "topologySpreadConstraints[0].maxSkew=1"), "topologySpreadConstraints"),
    (("--set", "podLabels.app\\.kubernetes\\.io/name=a"), "app.kubernetes.io/name"),
    (("--set", "otlp.endpoint=collector:4317"), "otlp"),
    (("--set", "otlp.headersSecret.name=a"), "headersSecret"),
    (("--set", "metrics.serviceMonitor.enabled=true"), "serviceMonitor needs metrics.keySecret.name"),
])
def test_contradictory_values_are_refused(helm, words, why):
    assert why in helm("template", "skiff-serve", CHART, "--namespace", HOME, *KUBERNETES, *IMAGES, *words, status=1)


def test_helm_finds_nothing_wrong_with_it(helm):
    assert "0 chart(s) failed" in helm("lint", "--strict", CHART, "--namespace", HOME, *KUBERNETES)
