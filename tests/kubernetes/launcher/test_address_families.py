"""Clusters whose Pods and Services have addresses of IPv6 alone, and of IPv4 and IPv6. In the first of them the API server listens
on IPv6 alone; the other one is what most of these files share."""

import contextlib
import json
import pathlib
import signal
import tempfile
import urllib.request

import pytest

import cluster as clusters
import deployed as deployments
from deployed import TENANT
from families import in_url, lie_in
from serving import Server
from skiff import BUSYBOX, ClaimSkiff, Skiff
from waiting import until

DOMAIN = "sandboxes.localhost"
# The ports of the agent and of its dialects, with a path that answers without a credential.
PATHS = {7070: "/healthz", 8080: "/v1/health", 49983: "/health"}
PAGE = 3000


@pytest.fixture(scope="session", params=["ip6", "both"])
def cluster(request):
    own = clusters.running("agent-sandbox", of_families="ip6")
    with own if request.param == "ip6" else clusters.shared() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def box(namespaces):
    """A skiff whose sandbox `box` has two dialects, and a server on its port PAGE."""
    with tempfile.TemporaryDirectory(prefix="skiff-") as folder:
        skiff = Skiff(pathlib.Path(folder), namespaces.make("box"))
        skiff.up("box", "--dialect", "sandboxd", "--dialect", "e2b", "--port", PAGE)
        serve_page(skiff)
        yield skiff
        skiff.finish()


def serve_page(skiff, **options):
    script = f"echo hello > page; httpd -p {PAGE} >/dev/null 2>&1; until nc 127.0.0.1 {PAGE} </dev/null; do sleep 0.05; done"
    skiff("exec", "box", "--", "sh", "-c", script, **options)


def addresses_of_pod(skiff):
    return [one["ip"] for one in skiff.pod()["status"]["podIPs"]]


def status_at(cluster, url):
    """That of an answer to somebody in the cluster."""
    return cluster.inside("curl", "--silent", "--max-time", "10", "--output", "/dev/null", "--write-out", "%{http_code}",
                          "--retry", "5", "--retry-connrefused", url)


def works(skiff, **options):
    """Uses a sandbox by one way, as its owner would."""
    assert skiff("exec", "box", "--", "sh", "-c", "echo out; exit 7", status=7, **options)[0] == "out\n"
    (skiff.work / "file").write_text("there and back")
    skiff("cp", "file", "box:copied", **options)
    skiff("cp", "box:copied", "back", **options)
    assert (skiff.work / "back").read_text() == "there and back"
    (row,) = [row for row in skiff("ps", "-o", "wide", **options)[0].splitlines() if row.startswith("box ")]
    assert "running" in row


def is_forwarded(skiff, loopback, **options):
    """The page of the server in the sandbox is at a port of this address here."""
    process = skiff.start("forward", "--address", loopback, "box", f":{PAGE}", **options)
    try:
        here = process.stdout.readline().decode().split(" -> ")[0]
        assert here.startswith(in_url(loopback))
        with urllib.request.urlopen(f"http://{here}/page", timeout=60) as answer:
            assert answer.read() == b"hello\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    finally:
        process.kill()
        process.communicate()


def test_a_pod_and_its_service_have_an_address_of_each_family(box, cluster):
    """By each of them the agent and its dialects answer. The Pod is ready, so the probes have found the agent."""
    of_pod, service = addresses_of_pod(box), box.namespace.get("service", "skiff-box-svc")["spec"]
    assert lie_in(of_pod, [family.pods for family in cluster.families]), of_pod
    assert lie_in(service["clusterIPs"], [family.services for family in cluster.families]), service
    for address in [*of_pod, *service["clusterIPs"]]:
        for port, path in PATHS.items():
            url = f"http://{in_url(address)}:{port}{path}"
            until(lambda url=url: status_at(cluster, url) in ("200", "204"), 30, url, 0.1)


def test_a_sandbox_is_worked_in_and_looked_at(box, cluster):
    works(box)
    is_forwarded(box, cluster.families[-1].loopback)
    described = box.json("describe", "box")
    service = box.namespace.get("service", "skiff-box-svc")["spec"]
    assert (described["details"]["pod_ip"], described["details"]["cluster_ip"]) == (addresses_of_pod(box)[0], service["clusterIP"])
    assert described["details"]["node"] == "node0"
    assert box.json("doctor")["passed"] is True


@contextlib.contextmanager
def in_its_network(skiff):
    """The program runs where the addresses of Pods and of the API server are reached."""
    outside = skiff.command
    skiff.command = skiff.cluster.in_its_network(*outside)
    try:
        yield {"KUBECONFIG": str(skiff.cluster.folder / "admin.conf")}
    finally:
        skiff.command = outside


def test_an_agent_is_reached_by_an_address(box, cluster):
    """By skiff in the cluster, through the API server's proxy, and by each address of the Pod."""
    token = box("token", "box")[0].strip()
    with in_its_network(box) as environment:
        at = f"http://{in_url(addresses_of_pod(box)[0])}:7070"
        for way, where in (("in-cluster", at), ("proxy", None)):
            reached = box.json("describe", "box", "--reach", way, env=environment)["reached"]
            assert reached["by"] == way and where in (None, reached["at"]), reached
        for address in addresses_of_pod(box):
            words = ("--driver", "direct", "--url", f"http://{in_url(address)}:7070")
            assert box("exec", *words, "box", "--", "echo", "here", env={**environment, "SKIFF_TOKEN": token})[0] == "here\n"


def test_policies_name_networks_of_both_families(box):
    box("network", "box", "--network", "cidr=fd00:244::/64,10.244.0.0/16", "--allow", "fd00:89::/64", "--allow", "10.89.0.0/24")
    (policy,) = box.namespace.items("networkpolicies")

    def blocks(direction, side):
        return [peer["ipBlock"]["cidr"] for rule in policy["spec"][direction] for peer in rule[side]]

    assert blocks("egress", "to") == ["fd00:244::/64", "10.244.0.0/16"]
    assert blocks("ingress", "from") == ["fd00:89::/64", "10.89.0.0/24"]
    documents = box("manifest", "other", "--network", "deny", "--allow", "::/0", "--allow", "0.0.0.0/0", "--image", BUSYBOX)[0]
    box.namespace.kubectl("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-", input=documents)


def test_a_server_that_listens_on_an_address_of_the_last_family(skiff, cluster):
    """Somebody who has its address and a key makes a sandbox, uses it and removes it."""
    loopback = cluster.families[-1].loopback
    key = skiff("key", "create", "me", "--tenant", skiff.namespace.name)[0].strip()
    server = Server(skiff, "--domain", DOMAIN, driver="pod", listen=f"{in_url(loopback)}:0")
    try:
        assert server.url.startswith(f"http://{in_url(loopback)}:")
        client = {"env": {"SKIFF_URL": server.url, "SKIFF_API_KEY": key, "SKIFF_DRIVER": "", "SKIFF_IMAGE": "", "SKIFF_AGENT_IMAGE": "",
                          "KUBECONFIG": "", "SKIFF_NAMESPACE": ""}}
        assert skiff.json("up", "box", "-q", **client)["state"] == "running"
        works(skiff, **client)
        assert skiff.json("describe", "box", **client)["address"] == f"{server.url}/s/box/7070"
        serve_page(skiff, **client)
        is_forwarded(skiff, loopback, **client)
        port = server.url.rpartition(":")[2]
        for path, headers in ((f"/s/box/{PAGE}/page", {}), ("/page", {"Host": f"{PAGE}-box.{DOMAIN}:{port}"})):
            answer = server.request("GET", path, key=key, headers=headers)
            assert (answer.status, answer.body) == (200, b"hello\n"), path
        # A page of the server's own sends this Origin.
        assert server.request("GET", "/v1/sandboxes", key=key, headers={"Origin": server.url}).status == 200
        found = {check["what"]: check for check in skiff.json("doctor", "--serve", "--url", server.url)["items"]}
        assert found[f"server at {server.url}"]["passed"], found
        skiff("rm", "box", **client)
        assert skiff.namespace.items("pods") == []
    finally:
        assert server.stop() == 0


@pytest.mark.parametrize("cluster", ["ip6"], indirect=True)
def test_a_server_in_a_pod(cluster, tmp_path):
    """It reaches the API server and sandboxes by their addresses. On the cluster that is shared, test_deployed_serve.py does this."""
    with deployments.deployed(cluster) as server:
        operator = Skiff(tmp_path, server.home)
        key = operator("key", "create", "me", "--tenant", TENANT)[0].strip()
        made = json.loads(server.curl("POST", "/v1/sandboxes", key, "{}", status=201))
        assert server.curl("POST", f"/s/{made['id']}/7070/v1/run", key, "echo hello", "application/octet-stream") == "hello\n"
        server.curl("DELETE", f"/v1/sandboxes/{made['id']}", key, status=204)
        until(lambda: server.tenant.of_skiff() == [], what="nothing of it", every=0.1)
        operator("key", "rm", "me")


def test_a_claim_is_reached_by_the_first_address_of_its_pod(namespace, cluster, tmp_path):
    skiff = ClaimSkiff(tmp_path, namespace)
    try:
        made = skiff.up("box", "--image", BUSYBOX)
        assert made["address"] == f"http://{in_url(addresses_of_pod(skiff)[0])}:7070"
        works(skiff)
        with in_its_network(skiff) as environment:
            assert skiff.json("describe", "box", "--reach", "in-cluster", env=environment)["reached"]["at"] == made["address"]
    finally:
        skiff.finish()
