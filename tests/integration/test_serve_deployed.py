"""`skiff doctor --serve` tells operators of `skiff serve` what is wrong, and deploy/serve is as documented: real skiff, no
cluster."""

import json
import pathlib

import yaml


TREE = pathlib.Path(__file__).resolve().parents[2]


def checks(serving, *words, status=0):
    out, _ = serving.skiff("doctor", "--serve", "-o", "json", *words, status=status)
    return {check["what"]: check for check in json.loads(out)["items"]}


def test_doctor_says_how_a_server_gets_its_first_key(serving):
    found = checks(serving, status=125)["API keys"]
    assert not found["passed"] and "`skiff key create NAME --tenant TENANT`" in found["remedy"]
    serving.key()
    assert checks(serving)["API keys"]["detail"].startswith("1 in ")


def test_doctor_says_that_keys_are_over(serving):
    serving.key("brief", "--ttl", "1ms")
    found = checks(serving, status=125)["API keys"]
    assert not found["passed"] and "all of them have expired" in found["detail"]


def test_doctor_asks_the_server_that_is_named(serving):
    serving.key()
    server = serving.start()
    what = f"server at {server.url}"
    assert checks(serving, "--url", server.url)[what] == {"what": what, "passed": True, "offered": True, "detail": "ready", "remedy": ""}
    server.stop()
    found = checks(serving, "--url", server.url, status=125)[what]
    assert not found["passed"] and "kubectl get pods" in found["remedy"]


def test_a_domain_is_that_of_a_server(serving):
    refused = lambda *words: serving.skiff("doctor", *words, status=125)[1]
    assert "add --serve" in refused("--domain", "sandboxes.test")
    assert "domain" in refused("--serve", "--domain", "https://sandboxes.test")


def test_a_replica_has_the_time_that_it_takes_to_end():
    [deployment] = yaml.safe_load_all((TREE / "deploy/serve/deployment.yaml").read_text())
    pod = deployment["spec"]["template"]["spec"]
    [container] = pod["containers"]
    [drain] = [word.partition("=")[2] for word in container["args"] if word.startswith("--drain-timeout=")]
    before = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert pod["terminationGracePeriodSeconds"] >= before + int(drain.removesuffix("s")) + 10


def objects(*files):
    return [one for file in files for one in yaml.safe_load_all((TREE / file).read_text())]


def test_all_that_selects_replicas_selects_the_pods_of_the_deployment():
    things = {one["kind"]: one for one in objects("deploy/serve/deployment.yaml", "deploy/serve/service.yaml", "deploy/serve/disruption-budget.yaml",
                                                 "deploy/serve/network-policy.yaml")}
    labels = things["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert things["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert things["Service"]["spec"]["selector"] == labels
    assert things["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    assert things["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == labels
    # skiff finds its own sandboxes by this label.
    assert "app.kubernetes.io/managed-by" not in labels


def test_the_examples_lead_to_the_service_by_one_wildcard():
    [service] = objects("deploy/serve/service.yaml")
    name, [port] = service["metadata"]["name"], service["spec"]["ports"]
    [ingress] = objects("deploy/examples/serve/ingress.yaml")
    [rule] = ingress["spec"]["rules"]
    [path] = rule["http"]["paths"]
    assert path["backend"]["service"] == {"name": name, "port": {"name": port["name"]}}
    [gateway, route] = objects("deploy/examples/serve/http-route.yaml")
    [listener] = gateway["spec"]["listeners"]
    [way] = route["spec"]["rules"]
    assert way["backendRefs"] == [{"name": name, "port": port["port"]}]
    assert ingress["spec"]["tls"][0]["hosts"] == route["spec"]["hostnames"] == [rule["host"]] == [listener["hostname"]]
    [patch] = objects("deploy/examples/serve/deployment-patch.yaml")
    environment = {one["name"]: one["value"] for one in patch["spec"]["template"]["spec"]["containers"][0]["env"]}
    assert rule["host"] == f"*.{environment['SKIFF_SERVE_DOMAIN']}"
