"""Network policies where they are enforced, by kube-router's controller: who reaches a sandbox, what it reaches, and what the
policies of deploy/serve leave of that. Nodes reach their own Pods whatever a policy says, so all of this is asked from Pods."""

import json

import pytest

import cluster as clusters
import deployed as deployments
from deployed import HOME, TENANT
from skiff import BUSYBOX, ClaimSkiff, Skiff
from waiting import until

# A policy is put on the node within a moment.
LOOK_SECONDS = 30
API_SERVER = "10.96.0.1"
AGENT, E2B = 7070, 49983


@pytest.fixture(scope="session")
def cluster():
    with clusters.running("kube-router", "agent-sandbox") as cluster:
        yield cluster


def asking(*places):
    """A shell's line that asks at each (address, port) by itself, and prints 1 for those that answer, 0 for the others. The time
    is that of a network that drops what it refuses."""
    one = "printf 'GET / HTTP/1.0\\r\\n\\r\\n' | timeout 5 nc -w 3 {} {} 2>&1 | head -c 12 | grep -c H"
    return "; ".join(one.format(*place) for place in places) + "; true"


def answers(printed):
    return [line == "1" for line in printed.split()]


class Stranger:
    """A Pod of somebody else with a shell; on its ports 53 and 80 a server answers."""

    def __init__(self, namespace, name="stranger"):
        self.namespace, self.name = namespace, name
        namespace.create({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}},
            "spec": {"terminationGracePeriodSeconds": 0, "containers": [
                {"name": "shell", "image": BUSYBOX, "command": ["sh", "-c", "httpd -p 53; exec httpd -f -p 80"]}]}})
        namespace.wait(f"pod/{name}", "condition=Ready")
        self.address = namespace.get("pod", name)["status"]["podIP"]

    def reaches(self, *places):
        return answers(self.namespace.kubectl("exec", self.name, "--", "sh", "-c", asking(*places)))


@pytest.fixture
def strangers(make_namespace):
    """Two of them, in a namespace that is nobody else's."""
    namespace = make_namespace()
    return Stranger(namespace, "one"), Stranger(namespace, "two")


def comes_to(wanted, ask, what):
    """It is so, by and by."""
    seen = None

    def is_so():
        nonlocal seen
        seen = ask()
        return seen == wanted

    try:
        until(is_so, LOOK_SECONDS, every=0.1)
    except AssertionError:
        assert seen == wanted, what


def serve_pages(skiff, *ports, name="box"):
    skiff("exec", name, "--", "sh", "-c", "; ".join(f"httpd -p {port} >/dev/null 2>&1" for port in ports))


def test_the_network_policy_decides_who_reaches_a_sandbox(skiff, strangers):
    one, two = strangers
    skiff.up("box", "--port", "8080", "--dialect", "python-runtime")
    address = skiff.pod()["status"]["podIP"]
    serve_pages(skiff, 8080, 9090)

    def seen():
        """The ports that each of them reaches: the agent's, its dialect's, one that a flag names, and another one."""
        return [who.reaches(*((address, port) for port in (AGENT, 8888, 8080, 9090))) for who in strangers]

    everything, nothing, what_was_named = [True] * 4, [False] * 4, [True, True, True, False]
    comes_to([everything, everything], seen, "open")
    skiff("network", "box", "--network", "deny")
    comes_to([what_was_named, what_was_named], seen, "deny")
    skiff("network", "box", "--network", "open", "--allow", f"{one.address}/32")
    comes_to([everything, nothing], seen, "--allow")
    # By the API server it is reached as ever.
    assert skiff("exec", "box", "--", "echo", "here")[0] == "here\n"
    skiff("network", "box", "--allow", f"{two.address}/32")
    comes_to([nothing, everything], seen, "another --allow")
    skiff("network", "box", "--allow", "0.0.0.0/0")
    comes_to([everything, everything], seen, "everybody")


def test_a_policy_outlives_the_pod_of_its_sandbox(skiff, strangers):
    one, two = strangers
    skiff.up("box", "--allow", f"{one.address}/32")
    skiff("stop", "box")
    skiff("start", "box")
    address = skiff.pod()["status"]["podIP"]
    comes_to([[True], [False]], lambda: [who.reaches((address, AGENT)) for who in strangers], "after a start")


@pytest.mark.parametrize("network", ["open", "deny", "dns", "cidr"])
def test_the_network_policy_decides_what_a_sandbox_reaches(skiff, strangers, network):
    one, two = strangers
    skiff.up("box", "--network", f"cidr={one.address}/32" if network == "cidr" else network)
    places = [(one.address, 80), (one.address, 53), (two.address, 80), (two.address, 53), (API_SERVER, 443)]

    def seen():
        return answers(skiff("exec", "box", "--", "sh", "-c", asking(*places))[0])

    comes_to({"open": [True] * 5, "deny": [False] * 5, "dns": [False, True, False, True, False],
              "cidr": [True, True, False, False, False]}[network], seen, network)


def shared_policy_of_before(network):
    """As older programs made it: one policy for both directions."""
    dns = {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": f"skiff-network-{network}"},
            "spec": {"podSelector": {"matchLabels": {"skiff.dev/network": network}}, "policyTypes": ["Ingress", "Egress"],
                     "ingress": [{"ports": [{"port": AGENT, "protocol": "TCP"}]}], "egress": [dns] if network == "dns" else []}}


@pytest.mark.parametrize("network", ["deny", "dns"])
def test_sandboxes_whose_network_is_restricted_do_not_reach_each_others_agents(skiff, strangers, network):
    """kube-router takes the ingress rules of a policy for egress, too, between the Pods that the policy selects."""
    skiff.namespace.create(shared_policy_of_before(network))
    skiff("pool", "create", "warm", "-q", "--size", "1", "--image", BUSYBOX, "--network", network)
    (waiting,) = (one["status"]["podIP"] for one in skiff.namespace.items("pods"))
    skiff.ups(("box", "--network", network), ("other", "--network", network))
    other, service = skiff.pod("other")["status"]["podIP"], skiff.namespace.get("service", "skiff-other-svc")["spec"]["clusterIP"]
    serve_pages(skiff, 8080, name="other")
    places = [(waiting, AGENT), (other, AGENT), (service, AGENT), (other, 8080)]
    comes_to([True, True, True, False], lambda: strangers[0].reaches(*places), "a stranger")
    comes_to([False] * 4, lambda: answers(skiff("exec", "box", "--", "sh", "-c", asking(*places))[0]), network)
    policies = {one["metadata"]["name"]: one["spec"] for one in skiff.namespace.items("networkpolicies")}
    way_out, way_in = policies.pop(f"skiff-network-{network}"), policies.pop(f"skiff-network-{network}-agent")
    assert (policies, way_out["policyTypes"], way_in["policyTypes"]) == ({}, ["Egress"], ["Ingress"])
    assert "ingress" not in way_out and "egress" not in way_in
    # The launcher reaches each of them as ever.
    assert [skiff("exec", name, "--", "echo", name)[0] for name in ("box", "other")] == ["box\n", "other\n"]
    skiff("pool", "rm", "warm")


@pytest.mark.parametrize("network", ["deny", "dns"])
def test_sandboxes_of_a_restricted_pool_of_agent_sandbox_do_not_reach_each_others_agents(claim_skiff, strangers, network):
    """The controller makes one policy for both directions of a template."""
    claims = claim_skiff
    claims("pool", "create", "warm", "-q", "--size", "1", "--image", BUSYBOX, "--network", network)
    claims.ups(("box", "--pool", "warm"), ("other", "--pool", "warm"))
    taken = {name: claims.json("describe", name)["details"]["pod"] for name in ("box", "other")}
    other = claims.namespace.get("pod", taken["other"])["status"]["podIP"]

    def waits():
        pods = [one for one in claims.namespace.items("pods") if one["metadata"]["name"] not in taken.values()]
        return pods and pods[0]["status"].get("podIP")

    waiting = until(waits, 60, "a Pod that waits")
    places = [(waiting, AGENT), (other, AGENT), (strangers[1].address, 80)]
    comes_to([True, True, True], lambda: strangers[0].reaches(*places), "a stranger")
    comes_to([False] * 3, lambda: answers(claims("exec", "box", "--", "sh", "-c", asking(*places))[0]), network)
    assert [claims("exec", name, "--", "echo", name)[0] for name in ("box", "other")] == ["box\n", "other\n"]
    claims("rm", "box", "other")
    claims("pool", "rm", "warm")
    until(lambda: claims.namespace.items("networkpolicies") == [], 60, "the end of its policies")


# --- deploy/serve ---

@pytest.fixture(scope="module")
def deployed(cluster):
    with deployments.deployed(cluster) as one:
        yield one


@pytest.fixture
def operator(deployed, tmp_path):
    """A user who may do everything in the namespace of the tenant."""
    client = Skiff(tmp_path, deployed.tenant)
    yield client
    client.finish()
    for pool in client("pool", "status", "-o", "name")[0].split():
        client("pool", "rm", pool)
    client("key", "rm", "me", "-n", HOME)
    until(lambda: deployed.tenant.of_skiff() == [], LOOK_SECONDS, "nothing of it", every=0.1)


def replica_reaches(deployed, *places):
    """The places that a replica may connect to: asked by a shell in its Pod, as its image has none."""
    name = deployed.pods()[0]["metadata"]["name"]
    has_shell = deployed.home.get("pod", name)["spec"].get("ephemeralContainers")
    if not has_shell:
        deployed.home.kubectl("debug", name, f"--image={BUSYBOX}", "--container=shell", "--profile=restricted", "--", "sleep", "3600")
        deployed.home.wait(f"pod/{name}", lambda pod: any(
            "running" in one["state"] for one in pod["status"].get("ephemeralContainerStatuses", [])))
    return answers(deployed.home.kubectl("exec", name, "--container=shell", "--", "sh", "-c", asking(*places)))


def test_sandboxes_of_tenants_are_reached_by_the_server_alone(deployed, operator, strangers):
    key = operator("key", "create", "me", "-n", HOME, "--tenant", TENANT)[0].strip()
    # With a dialect: nobody is asked for a credential there, also while it waits.
    operator("pool", "create", "warm", "-q", "--size", "1", "--image", BUSYBOX, "--dialect", "e2b")
    made = [json.loads(deployed.curl("POST", "/v1/sandboxes", key, "{}", status=201))["id"] for _ in range(2)]
    pods = {one["metadata"]["name"]: one["status"]["podIP"] for one in deployed.tenant.items("pods")}
    sandboxes = [pods.pop(f"skiff-{name}") for name in made]
    [waiting] = pods.values()
    places = [(sandboxes[0], AGENT), (sandboxes[1], AGENT), (waiting, AGENT), (waiting, E2B)]
    comes_to([True] * 4, lambda: replica_reaches(deployed, *places), "the server")
    comes_to([False] * 4, lambda: strangers[0].reaches(*places), "a stranger")

    def run(line):
        return deployed.curl("POST", f"/s/{made[0]}/7070/v1/run", key, line, "application/octet-stream")

    assert run("echo hello") == "hello\n"
    # They do not reach each other either, though they may connect to the stranger.
    others = [*places[1:], (strangers[0].address, 80)]
    comes_to([False, False, False, True], lambda: answers(run(asking(*others))), "a sandbox")
    for name in made:
        deployed.curl("DELETE", f"/v1/sandboxes/{name}", key, status=204)


def test_sandboxes_of_agent_sandbox_and_its_pools_are_reached_by_the_server_alone(deployed, strangers, tmp_path):
    claims = ClaimSkiff(tmp_path, deployed.tenant)
    try:
        claims.up("bare", "--image", BUSYBOX)
        claims("pool", "create", "warm", "-q", "--size", "1", "--image", BUSYBOX, "--dialect", "e2b")
        pods = [one["status"]["podIP"] for one in deployed.tenant.items("pods")]
        assert len(pods) == 2
        places = [(address, AGENT) for address in pods]
        comes_to([True, True], lambda: replica_reaches(deployed, *places), "the server")
        comes_to([False, False], lambda: strangers[0].reaches(*places), "a stranger")
    finally:
        claims.finish()
        until(lambda: deployed.tenant.items("pods") == [], LOOK_SECONDS, "their end", every=0.1)


def test_the_server_is_reached_at_its_port_and_reaches_names_the_api_server_and_sandboxes(deployed, strangers):
    one, _ = strangers
    server = deployed.pods()[0]["status"]["podIP"]
    comes_to([True], lambda: one.reaches((server, 7080)), "a client")
    comes_to([False, True, True], lambda: replica_reaches(deployed, (one.address, 80), (one.address, 53), (API_SERVER, 443)), "the server")
