"""deploy/examples/serve and the chart behind a real controller, Traefik, with a wildcard certificate at it: the Ingress as it is
written for ingress-nginx, a plain one of the chart, and the Gateway with its HTTPRoute."""

import contextlib
import hashlib
import json
import os
import pathlib
import random
import subprocess
import tempfile
import urllib.parse

import pytest

import build
import deployed as deployments
import images as image_files
import installed
from deployed import DEPLOY, EXAMPLE, HOME, TENANT
from front import NAME, Front
from names import NODE, Names
from skiff import Skiff
from waiting import until

DOMAIN = "sandboxes.example.com"
API = f"api.{DOMAIN}"
WILDCARD = f"*.{DOMAIN}"
SECRET = "skiff-serve-tls"
BASH = "skiff.test/bash:1"
SHELL = {"Content-Type": "text/plain"}
WAYS = ["ingress of the example", "ingress of the chart", "gateway of the example"]
E2B = pathlib.Path(installed.__file__).resolve().parent / "e2b/newest.txt"
LOOK_SECONDS = 30
NAMES, GATEWAY = f"names below {DOMAIN}", f"gateway of {DOMAIN}"


@pytest.fixture(scope="module")
def names(cluster):
    with Names(cluster) as one:
        yield one


@pytest.fixture(scope="module")
def front(cluster):
    with Front(cluster) as one:
        yield one


@pytest.fixture(scope="module")
def deployed(cluster, names):
    # E2B's SDKs run /bin/bash, whatever an image has.
    layer = image_files.shell().file("bin/bash", b"#!/bin/sh\nexec sh \"$@\"\n", 0o755)
    cluster.load(BASH, layer.done(), {"Cmd": ["sh"], "Env": ["PATH=/usr/local/bin:/usr/bin:/bin"]})
    with deployments.deployed(cluster, "--behind-proxy", SKIFF_IMAGE=BASH, SKIFF_SERVE_DOMAIN=DOMAIN,
                              pod={"dnsPolicy": "None", "dnsConfig": {"nameservers": [NODE]}}) as one:
        yield one


@pytest.fixture(scope="module")
def key(deployed):
    with tempfile.TemporaryDirectory(prefix="skiff-") as folder:
        operator = Skiff(pathlib.Path(folder), deployed.home)
        yield operator("key", "create", "me", "--tenant", TENANT)[0].strip()
        operator("key", "rm", "me")


def written(way):
    """The objects that lead from the controller to the server."""
    if way == "ingress of the example":
        return (EXAMPLE / "ingress.yaml").read_text()
    if way == "gateway of the example":
        # Its class is to be chosen.
        return (EXAMPLE / "http-route.yaml").read_text().replace("gatewayClassName: example", f"gatewayClassName: {NAME}")
    with tempfile.TemporaryDirectory(prefix="skiff-") as home:
        return subprocess.run(
            [build.helm(), "template", HOME, DEPLOY / "helm/skiff-serve", "--namespace", HOME, "--kube-version", build.KUBERNETES,
             "--show-only", "templates/ingress.yaml", "--set", f"domain={DOMAIN},behindProxy=true,ingress.enabled=true,image=none,agentImage=none",
             "--set", f"ingress.className={NAME}", "--set-json", "ingress.annotations=null"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, env={"HOME": home, "PATH": os.defpath}).stdout


def by_name(front, words, statuses=(0,), **environment):
    """Runs a program that finds the front by its names, from within the node's network; its output."""
    done = subprocess.run(
        ["nsenter", f"--target={front.cluster.pid}", "--net", "--mount", "--", *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=150, env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", **environment})
    assert done.returncode in statuses, (done.stdout[-2000:], done.stderr[-4000:], front.logs())
    return done.stdout


def doctor(front):
    """{what: check}, by somebody beside the cluster who trusts its authority."""
    text = by_name(front, [os.environ["SKIFF"], "doctor", "--serve", "-o", "json", "--domain", DOMAIN, "--agent-certificate-authority",
                           front.authority, "--driver", "pod", "-n", HOME], (0, 125), KUBECONFIG=str(front.cluster.folder / "admin.conf"))
    return {check["what"]: check for check in json.loads(text)["items"]}


# --- what skiff doctor says is missing, one thing after the other ---

def comes_to_say(ask, what, *words):
    """It fails at this, and says so in its detail or its remedy."""
    def says():
        check = ask()[what]
        return not check["passed"] and all(word in check["detail"] + check["remedy"] for word in words)

    until(says, LOOK_SECONDS, f"{what}: {words}", every=0.1)


@contextlib.contextmanager
def applied(cluster, text):
    cluster.kubectl("apply", "-f", "-", input=text)
    try:
        yield
    finally:
        cluster.kubectl("delete", "-f", "-", "--ignore-not-found", input=text)


def test_doctor_says_that_there_is_no_record_nor_anybody_at_its_address(front, deployed, names, key):
    names.lead({})
    # A replica says so, too.
    for ask in (lambda: deployed.doctor("--domain", DOMAIN), lambda: doctor(front)):
        comes_to_say(ask, NAMES, f"create the DNS record {WILDCARD}")
    names.lead({DOMAIN: NODE})
    comes_to_say(lambda: doctor(front), GATEWAY, f"the proxy that ends TLS for {WILDCARD} has to listen on port 443 there")


def test_doctor_says_that_the_certificate_has_no_wildcard(front, deployed, names, key):
    names.lead({DOMAIN: front.address})
    comes_to_say(lambda: doctor(front), GATEWAY, f"the certificate there has to be for {WILDCARD}")
    front.certificate(deployed.home, SECRET, API)
    with applied(front.cluster, written(WAYS[0])):
        until(lambda: front.is_known(API), LOOK_SECONDS, "the API", every=0.1)
        comes_to_say(lambda: doctor(front), GATEWAY, f"the certificate there has to be for {WILDCARD}")


def test_doctor_says_that_the_hosts_lead_elsewhere(front, deployed, names, key):
    names.lead({DOMAIN: front.address})
    front.certificate(deployed.home, SECRET, WILDCARD)
    with applied(front.cluster, written(WAYS[0]).replace("name: skiff-serve\n                port", "name: nobody\n                port")):
        comes_to_say(lambda: doctor(front), GATEWAY, "the server that answers is not skiff serve", f"route the hosts {WILDCARD} to the Service of the server")


def test_doctor_says_that_the_server_does_not_know_its_domain(front, deployed, names, key):
    names.lead({DOMAIN: front.address})
    front.certificate(deployed.home, SECRET, WILDCARD)
    with applied(front.cluster, written(WAYS[0])):
        deployed.home.kubectl("set", "env", "deployment/skiff-serve", "SKIFF_SERVE_DOMAIN-")
        try:
            until(deployed.is_ready, deployments.READY_SECONDS, "two replicas", every=0.1)
            comes_to_say(lambda: doctor(front), GATEWAY, f"start it with --domain {DOMAIN}")
        finally:
            deployed.home.kubectl("set", "env", "deployment/skiff-serve", f"SKIFF_SERVE_DOMAIN={DOMAIN}")
            until(deployed.is_ready, deployments.READY_SECONDS, "two replicas", every=0.1)


def test_doctor_says_which_role_is_missing(deployed, key):
    rights = (DEPLOY / "serve/rbac.yaml").read_text()
    for namespace, what in ((TENANT, f"tenant {TENANT}"), (HOME, "API keys")):
        deployed.cluster.kubectl("delete", "rolebinding", "skiff-serve", "-n", namespace)
        comes_to_say(deployed.doctor, what, "skiff rbac serve --role-name skiff-serve --service-account skiff-serve -n", "--tenant")
        deployed.cluster.kubectl("apply", "--server-side", "-f", "-", input=rights)
        until(lambda: deployed.doctor()[what]["passed"], LOOK_SECONDS, "the rights", every=0.1)


# --- through the controller ---

@pytest.fixture(scope="module", params=WAYS)
def led(front, deployed, names, request):
    """The controller leads all hosts of the domain to the server, by one of the ways."""
    front.certificate(deployed.home, SECRET, WILDCARD)
    text = written(request.param)
    front.cluster.kubectl("apply", "-f", "-", input=text)
    names.lead({DOMAIN: front.address})
    until(lambda: front.is_known(API), LOOK_SECONDS, "a way to the server", every=0.1)
    yield front
    names.lead({})
    front.cluster.kubectl("delete", "-f", "-", input=text)
    until(lambda: not front.is_known(API), LOOK_SECONDS, "no way to the server", every=0.1)


@pytest.fixture(scope="module")
def sandbox(led, key):
    answer = led.request(API, "POST", "/v1/sandboxes", "{}", key, {"Content-Type": "application/json"})
    assert answer.status == 201, (answer.status, answer.body, led.logs())
    name = answer.json()["id"]
    yield name
    assert led.request(API, "DELETE", f"/v1/sandboxes/{name}", key=key).status == 204


def test_the_api_and_a_sandbox_have_hosts_below_the_wildcard(led, sandbox, key):
    shown = led.request(API, "GET", f"/v1/sandboxes/{sandbox}", key=key)
    assert (shown.status, shown.json()["state"]) == (200, "running")
    said = led.request(f"7070-{sandbox}.{DOMAIN}", "POST", "/v1/run", "echo $((6 * 7))", key, SHELL)
    assert (said.status, said.body) == (200, b"42\n")
    assert led.request(f"7070-{sandbox}.{DOMAIN}", "POST", "/v1/run", "true", headers=SHELL).status == 401


def test_a_preview_is_a_link_for_a_browser(led, sandbox, key):
    led.request(f"7070-{sandbox}.{DOMAIN}", "POST", "/v1/run", "echo hello > index.html; httpd -p 127.0.0.1:3000 >/dev/null 2>&1", key, SHELL)
    made = led.request(API, "POST", f"/v1/sandboxes/{sandbox}/previews", json.dumps({"port": 3000}), key, {"Content-Type": "application/json"})
    url = urllib.parse.urlsplit(made.json()["url"])
    assert (url.scheme, url.netloc) == ("https", f"3000-{sandbox}.{DOMAIN}")
    link = led.request(url.netloc, "GET", f"{url.path}?{url.query}")
    assert link.status == 302 and "Secure" in link.headers["Set-Cookie"], (link.status, dict(link.headers))
    cookie = {"Cookie": link.headers["Set-Cookie"].split(";")[0]}
    assert led.request(url.netloc, "GET", "/index.html", headers=cookie).body == b"hello\n"
    assert led.request(url.netloc, "GET", "/index.html").status == 401


def test_ten_megabytes_pass_either_way(led, sandbox, key):
    data = random.Random(10).randbytes(10_000_000)
    for host, path in ((f"7070-{sandbox}.{DOMAIN}", "/v1/files/by-host"), (API, f"/s/{sandbox}/7070/v1/files/by-path")):
        put = led.request(host, "PUT", path, data, key)
        assert put.status == 201, (put.status, put.body, led.logs())
        back = led.request(host, "GET", path, key=key)
        assert (back.status, hashlib.sha256(back.body).digest()) == (200, hashlib.sha256(data).digest())


def test_a_stream_is_passed_on_as_it_comes(led, sandbox, key):
    host = f"7070-{sandbox}.{DOMAIN}"
    line = {"command": "rm -f go; echo first; until [ -e go ]; do sleep 0.05; done; echo last", "mode": "background"}
    started = led.request(host, "POST", "/v1/commands", json.dumps(line), key, {"Content-Type": "application/json"}).json()
    # Not POST /v1/run: what Go's proxies do with an answer that begins early is in docs/serve-operating.md.
    connection, answer = led.open(host, "GET", f"/v1/commands/{started['id']}/output?follow=true", None, key, {"Accept": "application/octet-stream"})
    assert answer.read1(100) == b"first\n"
    assert led.request(host, "PUT", "/v1/files/go", b"", key).status == 201
    assert answer.read() == b"last\n"
    connection.close()


def test_a_websocket_goes_through(led, sandbox, key):
    host = f"7070-{sandbox}.{DOMAIN}"
    line = {"command": "while read word; do echo got $word; done", "mode": "background", "stdin_open": True}
    for at, before in ((host, ""), (API, f"/s/{sandbox}/7070")):
        started = led.request(host, "POST", "/v1/commands", json.dumps(line), key, {"Content-Type": "application/json"}).json()
        with led.websocket(at, f"{before}/v1/commands/{started['id']}/attach", key) as socket:
            for word in ("one", "two"):
                socket.send({"type": "stdin", "data": f"{word}\n"})
                assert socket.until("output")[-1]["data"] == f"got {word}\n"


def test_the_command_line_needs_an_address_and_a_key(led, key, tmp_path):
    def skiff(*words):
        return by_name(led, [os.environ["SKIFF"], *words], SKIFF_URL=f"https://{API}", SKIFF_API_KEY=key, HOME=str(tmp_path),
                       SKIFF_AGENT_CERTIFICATE_AUTHORITY=str(led.authority))

    skiff("up", "box", "-q")
    try:
        (tmp_path / "file").write_bytes(random.Random(1).randbytes(3_000_000))
        skiff("cp", tmp_path / "file", "box:there")
        skiff("cp", "box:there", tmp_path / "back")
        assert (tmp_path / "back").read_bytes() == (tmp_path / "file").read_bytes()
        assert skiff("exec", "box", "--", "echo", "here") == "here\n" and "box" in skiff("ps", "-q")
    finally:
        skiff("rm", "box", "-q")


def test_e2bs_sdk_needs_a_domain_and_a_key(led, key, tmp_path):
    program = pathlib.Path(__file__).resolve().parent / "clients/e2b_domain.py"
    assert by_name(led, [installed.python_of(E2B), program], E2B_DOMAIN=DOMAIN, E2B_API_KEY=key, SSL_CERT_FILE=str(led.authority),
                   HOME=str(tmp_path)) == "done\n"


def test_doctor_finds_the_gateway(led, key):
    found = doctor(led)
    assert found[NAMES]["passed"] and found[GATEWAY] == {"what": GATEWAY, "passed": True, "detail": "answers, by TLS", "remedy": ""}
