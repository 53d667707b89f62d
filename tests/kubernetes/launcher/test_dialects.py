"""`--dialect` on a real node: what other systems' clients speak is reached where they look for it."""

import json

import pytest

from families import in_url
from skiff import BUSYBOX, Skiff, pool_json
from waiting import until

SPOKEN = {"python-runtime": (8888, "/", '"status":"ok"'), "sandboxd": (8080, "/v1/health", '"status":"ok"'),
          "kubebox": (80, "/", '"message"')}


def flags(*names):
    return [word for name in names for word in ("--dialect", name)]


def ask(skiff, address, port, path, *words):
    return skiff.cluster.inside("curl", "-sS", "--max-time", "10", *words, f"http://{in_url(address)}:{port}{path}")


def answers(skiff, dialect, address):
    """Asks through the address of a Service, which takes the nodes a while to know."""
    port, path, told = SPOKEN[dialect]

    def asked():
        try:
            return told in ask(skiff, address, port, path).replace(" ", "")
        except AssertionError:
            return False
    until(asked, 30, f"{dialect} at {address}", 0.1)


def service_address(skiff, name="box"):
    return skiff.namespace.get("service", f"skiff-{name}-svc")["spec"]["clusterIP"]


def test_a_service_leads_to_each_dialect_also_after_a_stop(skiff):
    skiff.up("box", *flags("python-runtime", "sandboxd"), "--port", "3000")
    for again in (False, True):
        if again:
            skiff("stop", "box")
            skiff("start", "box")
        service = skiff.namespace.get("service", "skiff-box-svc")["spec"]
        assert [(one["name"], one["port"]) for one in service["ports"]] == [
            ("agent", 7070), ("python-runtime", 8888), ("sandboxd-rest", 8080), ("sandboxd-grpc", 9090), ("port-3000", 3000)]
        for dialect in ("python-runtime", "sandboxd"):
            answers(skiff, dialect, service["clusterIP"])
        told = json.loads(ask(skiff, service["clusterIP"], 8888, "/execute", "--json", '{"command": "pwd; id -u"}'))
        assert (told["stdout"], told["exit_code"]) == ("/workspace\n1000\n", 0)


def test_a_page_in_a_browser_is_not_taken_for_a_client(skiff):
    """One whose name was made to lead to the sandbox. The agent's own port may be asked by any name, for a token."""
    skiff.up("box", *flags("python-runtime"))
    address = service_address(skiff)
    answers(skiff, "python-runtime", address)
    body = ("--json", '{"command": "id"}', "--output", "/dev/null", "--write-out", "%{http_code}")
    for header, status in (("Host: page.example:8888", "421"), ("Origin: http://page.example", "403"), ("Accept: */*", "200")):
        assert ask(skiff, address, 8888, "/execute", *body, "--header", header) == status, header


def test_a_port_that_is_for_root_elsewhere_needs_no_rights(tmp_path, restricted):
    """The namespace takes only Pods that pass the strictest Pod Security Standard."""
    skiff = Skiff(tmp_path, restricted)
    try:
        skiff.up("box", *flags("kubebox"))
        answers(skiff, "kubebox", service_address(skiff))
        assert "CapEff:\t0000000000000000" in skiff.inside("grep", "Cap", "/proc/1/status")
    finally:
        skiff.finish()


def test_sandboxes_of_a_pool_speak_the_dialects_of_the_pool(skiff):
    pool_json(skiff, "create", "warm", "-q", "--size", "1", *flags("python-runtime"))
    try:
        _, err = skiff("up", "box", "--pool", "warm", *flags("sandboxd"), status=125)
        assert "--dialect: the pool decides this for its sandboxes" in err
        skiff.up("box", "--pool", "warm", *flags("python-runtime"))
        answers(skiff, "python-runtime", service_address(skiff))
        skiff("rm", "box")
    finally:
        skiff("pool", "rm", "warm")


def test_a_network_that_lets_nobody_in_lets_its_clients_in(skiff):
    skiff.up("box", *flags("sandboxd"), "--network", "deny")
    (policy,) = skiff.namespace.items("networkpolicies")
    assert policy["spec"]["podSelector"]["matchLabels"].items() <= skiff.pod()["metadata"]["labels"].items()
    assert [one["port"] for one in policy["spec"]["ingress"][0]["ports"]] == [7070, 8080, 9090]
    skiff("network", "box", "--network", "dns")
    (policy,) = skiff.namespace.items("networkpolicies")
    assert [one["port"] for one in policy["spec"]["ingress"][0]["ports"]] == [7070, 8080, 9090]
    skiff("rm", "box")
    assert skiff.namespace.items("networkpolicies") == []


def test_nobody_from_outside_is_let_in_unless_he_is_named(skiff):
    for kind in ("nodeport", "loadbalancer"):
        _, err = skiff("up", "box", *flags("kubebox"), "--service", kind, status=125)
        assert "restrict access with --allow CIDR" in err
    assert skiff.namespace.of_skiff() == []
    skiff.up("box", *flags("kubebox"), "--service", "nodeport", "--allow", "203.0.113.7/32")
    assert skiff.namespace.get("service", "skiff-box-svc")["spec"]["externalTrafficPolicy"] == "Local"
    _, err = skiff("network", "box", "--allow", "0.0.0.0/0", status=125)
    assert "restrict access with --allow CIDR" in err


@pytest.mark.parametrize("driver", ["pod", "claim"])
def test_the_api_server_accepts_the_printed_manifest(skiff, driver):
    documents = skiff("manifest", "box", "--driver", driver, "--image", BUSYBOX, *flags("kubebox", "python-runtime", "sandboxd"),
                      "--network", "deny")[0]
    skiff.namespace.kubectl("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-", input=documents)
    assert skiff.namespace.of_skiff() == []
