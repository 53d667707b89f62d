"""`skiff serve` on a real node: two replicas that know nothing of each other, and whatever is asked of the one the other has."""

import concurrent.futures
import hashlib
import http.client
import json
import os
import pathlib
import subprocess
import tempfile
import urllib.parse

import pytest

import installed
from alternating import Alternating
from metrics_text import metrics_of
from replicas import DOMAIN, Replicas, in_the_network_of_pods
from waiting import until

SCRIPTS = pathlib.Path(__file__).resolve().parent / "clients"
PACKAGES = pathlib.Path(installed.__file__).resolve().parent / "e2b"
QUICK_STARTS = PACKAGES.parent / "quick_starts"
TEXT = {"Content-Type": "text/plain"}


@pytest.fixture(scope="module")
def replicas(namespaces):
    with tempfile.TemporaryDirectory(prefix="skiff-") as directory:
        one = Replicas(pathlib.Path(directory), namespaces.make("serve"), namespaces.make("serve, another tenant"))
        try:
            yield one
        finally:
            one.finish()


@pytest.fixture
def made(replicas):
    """Makes sandboxes by the first replica, and removes them by the second one."""
    ids = []

    def make(body=None):
        answer = replicas.pair[0].request("POST", "/v1/sandboxes", body or {}, replicas.key, timeout=130)
        assert answer.status == 201, answer.body
        ids.append(answer.json()["id"])
        return ids[-1]

    yield make
    for one in ids:
        assert replicas.pair[1].request("DELETE", f"/v1/sandboxes/{one}", key=replicas.key).status in (204, 404)


def run(replicas, server, sandbox, script):
    answer = server.request("POST", f"/s/{sandbox}/7070/v1/run", script.encode(), replicas.key, TEXT)
    assert answer.status == 200, (answer.status, answer.body, server.told()[-2000:])
    return answer.body.decode()


# --- E2B's SDKs, unmodified ---

@pytest.fixture
def run_sdk(replicas, tmp_path):
    """Runs a program that knows of one server, while each of its requests goes to another replica than the one before."""
    def run(*command):
        before = [server.told().count('"message":"request"') for server in replicas.pair]
        with Alternating([tuple(server.host.rsplit(":", 1)) for server in replicas.pair]) as proxy:
            done = subprocess.run(
                list(map(str, command)), cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=150,
                env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1",
                     "E2B_API_URL": proxy.url, "E2B_SANDBOX_URL": proxy.url, "E2B_API_KEY": replicas.key})
        told = [server.told()[-3000:] for server in replicas.pair]
        assert (done.returncode, done.stdout) == (0, "done\n"), (done.stdout[-2000:], done.stderr[-6000:], *told)
        after = [server.told().count('"message":"request"') for server in replicas.pair]
        assert all(now >= then + 5 for then, now in zip(before, after)), (before, after)
        until(lambda: replicas.pods() == [], 60, "that its Pods are gone")

    return run


def test_the_python_sdk(run_sdk):
    run_sdk(installed.python_of(PACKAGES / "newest.txt"), SCRIPTS / "e2b_sandbox.py")


def test_the_javascript_sdk(run_sdk, tmp_path):
    # Node looks for packages beside the program.
    program = tmp_path / "e2b_sandbox.mjs"
    program.write_text((SCRIPTS / program.name).read_text())
    (tmp_path / "node_modules").symlink_to(installed.node_modules(PACKAGES))
    run_sdk(installed.node(), program)


def test_a_sandbox_agent_of_the_openai_agents_sdk(run_sdk, tmp_path):
    """The program of the tests of quick starts. Its sandbox pauses at its end, as the SDK wants it: the template has a volume."""
    program = tmp_path / "program.py"
    program.write_text(f"""import contextlib, io, runpy, sys
sys.argv[1:] = ["kept"]
with contextlib.redirect_stdout(io.StringIO()) as told:
    runpy.run_path({str(QUICK_STARTS / "sandbox_agent.py")!r}, run_name="__main__")
assert all(text in told.getvalue() for text in ("# Notes", "/workspace", "Output:\\n42", "ready")), told.getvalue()
print("done")
""")
    run_sdk(installed.python_of(QUICK_STARTS / "openai_agents.txt"), program)


def test_without_a_proxy_a_sandbox_has_no_egress_by_name_but_may_have_no_network(replicas, made):
    server = replicas.pair[0]
    for path, body in (("/v1/sandboxes", {"egress": []}), ("/sandboxes", {"network": {"allowOut": ["pypi.org"], "denyOut": ["0.0.0.0/0"]}})):
        answer = server.request("POST", path, body, replicas.key, timeout=60)
        assert answer.status == 501 and b"skiff egress install" in answer.body, answer.body
    answer = server.request("POST", "/sandboxes", {"allow_internet_access": False, "timeout": 600}, replicas.key, timeout=130)
    assert answer.status == 201, answer.body
    name = answer.json()["sandboxID"]
    assert replicas.home.get("pod", f"skiff-{name}")["metadata"]["labels"]["skiff.dev/network"] == "own"
    assert server.request("PUT", f"/sandboxes/{name}/network", {}, replicas.key).status == 501
    assert server.request("DELETE", f"/sandboxes/{name}", key=replicas.key).status == 204


# --- one sandbox in whatever hands ---

def test_replicas_and_the_cli_see_the_same_sandboxes(replicas, made):
    first, second = replicas.pair
    sandbox = made({"labels": {"team": "a/b c"}, "env": {"WHO": "me"}, "ttl_ms": 600_000})
    path = f"/v1/sandboxes/{sandbox}"
    shown = second.request("GET", path, key=replicas.key).json()
    assert shown["state"] == "running" and shown["labels"] == {"team": "a/b c"}
    assert second.request("GET", "/v1/sandboxes?label=team%3Da/b%20c", key=replicas.key).json()["items"] == [shown]
    assert second.request("POST", path + "/extend", {"ttl_ms": 3_600_000}, replicas.key).json()["expires_at"] > shown["expires_at"]
    assert run(replicas, first, sandbox, "echo $WHO; echo data > file") == "me\n"
    assert second.request("GET", f"/s/{sandbox}/7070/v1/files/file", key=replicas.key).body == b"data\n"
    assert sandbox in replicas.skiff("ps", "--everyone", "-q")[0]
    with in_the_network_of_pods(replicas) as ask:
        answer = ask("POST", f"/s/{sandbox}/7070/v1/run", b"cat file", replicas.key, TEXT)
        assert (answer.status, answer.body) == (200, b"data\n")
    assert second.request("DELETE", path, key=replicas.key).status == 204
    assert first.request("GET", path, key=replicas.key).status == 404


def test_a_port_of_a_pod_is_seen_by_path_and_by_a_preview(replicas, made):
    first, second = replicas.pair
    sandbox = made()
    # On loopback: nobody but its agent reaches it there.
    run(replicas, first, sandbox, "mkdir pages; echo hello > pages/index.html; httpd -p 127.0.0.1:3000 -h pages >/dev/null 2>&1")
    page = f"/s/{sandbox}/3000/index.html"
    assert second.request("GET", page, key=replicas.key).body == b"hello\n"
    preview = first.request("POST", f"/v1/sandboxes/{sandbox}/previews", {"port": 3000}, replicas.key).json()
    url = urllib.parse.urlsplit(preview["url"])
    assert url.hostname == f"3000-{sandbox}.{DOMAIN}"
    host = {"Host": url.netloc}
    link = second.request("GET", f"{url.path}?{url.query}", headers=host)
    assert link.status == 302, (link.status, link.body)
    cookie = {"Cookie": link.headers["Set-Cookie"].split(";")[0]}
    assert first.request("GET", "/index.html", headers={**host, **cookie}).body == b"hello\n"
    assert first.request("GET", "/index.html", headers=host).status == 401


def test_one_idempotency_key_makes_one_pod(replicas, made):
    asked = {"Idempotency-Key": "the-one"}
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(
            lambda i: replicas.pair[i % 2].request("POST", "/v1/sandboxes", {}, replicas.key, asked, timeout=130), range(8)))
    assert sorted(answer.status for answer in answers) == [200] * 7 + [201], [answer.body for answer in answers]
    (sandbox,) = {answer.json()["id"] for answer in answers}
    assert replicas.home.names("pods") == [f"skiff-{sandbox}"]
    assert len(replicas.events(f"skiff-{sandbox}", "Scheduled")) == 1
    refused = replicas.pair[1].request("POST", "/v1/sandboxes", {"labels": {"a": "b"}}, replicas.key, asked)
    assert (refused.status, refused.json()["code"]) == (409, "sandbox_conflict")
    assert replicas.pair[1].request("DELETE", f"/v1/sandboxes/{sandbox}", key=replicas.key).status == 204


def test_another_tenants_sandbox_does_not_exist(replicas, made):
    sandbox, missing = made(), "s00000000000000000000"
    document = replicas.pair[0].request("GET", "/openapi.json").json()
    routes = [(method.upper(), path) for path, methods in document["paths"].items() for method in methods if "{id}" in path]
    bodies = {"extend": {"ttl_ms": 1000}, "previews": {"port": 3000}, "timeout": {"timeout": 60}, "refreshes": {"duration": 60}, "network": {"egress": []}}
    hidden = 0
    for number, (method, path) in enumerate(routes):
        server = replicas.pair[number % 2]
        body = bodies.get(path.rpartition("/")[2], {}) if method in ("POST", "PUT") else None
        real, none = (server.request(method, path.replace("{id}", one), body, replicas.others_key) for one in (sandbox, missing))
        # The two can't be told apart, not even by what is not offered at all.
        refused = path.endswith(("/snapshots", "/fork")) or path.startswith(("/templates/", "/volumes/", "/secrets/"))
        status = 501 if refused else 404
        assert (real.status, none.status) == (status, status), (method, path, real.body, none.body)
        hidden += real.status == 404
    assert hidden >= 15
    for server in replicas.pair:
        assert server.request("GET", f"/s/{sandbox}/7070/v1/version", key=replicas.others_key).status == 404
        named = {"X-Sandbox-ID": sandbox, "X-Sandbox-Namespace": replicas.home.name, "X-Sandbox-Port": "7070"}
        assert server.request("GET", "/v1/version", key=replicas.others_key, headers=named).status == 404
        assert server.request("GET", "/v1/version", key=replicas.key, headers=named).status == 200
        assert server.request("GET", "/v1/sandboxes", key=replicas.others_key).json()["items"] == []
        assert server.request("GET", "/v2/sandboxes", key=replicas.others_key).json() == []
    theirs = replicas.pair[0].request("POST", "/v1/sandboxes", {}, replicas.others_key, timeout=130).json()["id"]
    assert replicas.elsewhere.names("pods") == [f"skiff-{theirs}"] and theirs not in str(replicas.home.names("pods"))
    assert replicas.pair[1].request("GET", f"/v1/sandboxes/{theirs}", key=replicas.key).status == 404
    assert replicas.pair[1].request("DELETE", f"/v1/sandboxes/{theirs}", key=replicas.others_key).status == 204
    assert replicas.pair[1].request("GET", f"/v1/sandboxes/{sandbox}", key=replicas.key).json()["state"] == "running"


def test_keys_are_those_of_both_as_soon_as_they_are_made_and_removed(replicas):
    def statuses(key):
        return [server.request("GET", "/v1/me", key=key).status for server in replicas.pair]

    key = replicas.make_key("late")
    assert statuses(key) == [200, 200]
    secret = replicas.home.get("secret", "skiff-api-keys")
    assert key not in json.dumps(secret) and statuses("e2b_" + "0" * 40) == [401, 401]
    replicas.skiff("key", "rm", "late")
    until(lambda: statuses(key) == [401, 401], what="that the key has ended")
    assert statuses(replicas.key) == [200, 200]
    writers = [replicas.skiff.start("key", "create", f"many-{number}") for number in range(6)]
    ended = [process.communicate(timeout=60) for process in writers]
    assert [process.returncode for process in writers] == [0] * 6, ended
    listed = {one["name"] for one in json.loads(replicas.skiff("key", "ls", "-o", "json")[0])["items"]}
    assert listed == {"me", "other", *(f"many-{number}" for number in range(6))}


# --- service accounts ---

def token_of(namespace, account, *audiences):
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": list(audiences)}}
    path = f"/api/v1/namespaces/{namespace.name}/serviceaccounts/{account}/token"
    return namespace.cluster.api.request("POST", path, asked)["status"]["token"]


def test_a_service_account_needs_no_key_for_its_namespace(replicas):
    server = replicas.start("--service-accounts")
    replicas.home.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "runner"}})

    def ask(token, method, path, body=None, by=server, **headers):
        return by.request(method, path, body, headers={"Authorization": f"Bearer {token}", **headers}, timeout=130)

    token, theirs = token_of(replicas.home, "runner", "skiff"), token_of(replicas.elsewhere, "default", "skiff")
    me = ask(token, "GET", "/v1/me").json()
    assert (me["tenant"], me["scopes"]) == (replicas.home.name, ["create", "use"]) and me["name"].endswith(":runner")
    made = ask(token, "POST", "/v1/sandboxes", {})
    assert made.status == 201, made.body
    path = f"/v1/sandboxes/{made.json()['id']}"
    # The commands in the sandbox do not see the token.
    seen = ask(token, "POST", f"/s/{made.json()['id']}/7070/v1/run", b"env; cat /proc/*/cmdline", **TEXT)
    assert seen.status == 200 and token.encode() not in seen.body
    assert ask(token, "GET", "/metrics").status == 403
    assert ask(theirs, "GET", path).status == 404 and ask(theirs, "GET", "/v1/sandboxes").json()["items"] == []
    assert ask(token, "GET", path, by=replicas.pair[0]).status == 401, "one that was not told to take them"

    head, claims, signature = token.split(".")
    forged = [".".join((head, claims, signature[::-1])), ".".join((head, theirs.split(".")[1], signature)), f"{head}.{claims}.",
              token_of(replicas.home, "runner", "other"), token_of(replicas.home, "runner"), token_of(replicas.home, "runner", "skiff-other")]
    for one in forged:
        for method, target in (("GET", path), ("GET", f"/s/{made.json()['id']}/7070/v1/version"), ("DELETE", path)):
            assert ask(one, method, target).status == 401, (one, method, target)
    assert ask(token, "DELETE", path).status == 204
    replicas.home.delete("serviceaccount/runner")
    until(lambda: ask(token, "GET", "/v1/me").status == 401, 30, "that its account is gone")
    reviews = metrics_of(server, replicas.others_key)
    assert reviews.of("skiff_serve_token_reviews_total", result="valid") >= 2
    assert reviews.of("skiff_serve_token_reviews_total", result="refused") >= 2


# --- asleep ---

def test_many_requests_wake_one_that_sleeps_once(replicas, made):
    sandbox = made({"template": "kept", "on_end": "stop"})
    pod = f"skiff-{sandbox}"
    run(replicas, replicas.pair[0], sandbox, "echo kept > file")
    assert replicas.pair[1].request("POST", f"/v1/sandboxes/{sandbox}/stop", key=replicas.key).json()["state"] == "stopped"
    assert replicas.pods() == []
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda i: run(replicas, replicas.pair[i % 2], sandbox, "cat file"), range(20)))
    assert answers == ["kept\n"] * 20
    assert len(replicas.pods()) == 1
    # That of the beginning, and one more.
    until(lambda: len(replicas.events(pod, "Scheduled")) == 2, what="its events")
    lines = [line for server in replicas.pair for line in server.told().splitlines() if '"waking"' in line and sandbox in line]
    assert 1 <= len(lines) <= 2, lines


def test_an_expired_sandbox_is_removed_or_sleeps_until_a_request(replicas, made):
    goes, stays = made(), made({"template": "kept", "on_end": "stop", "idle_ttl_ms": 5000})
    run(replicas, replicas.pair[0], stays, "echo kept > file")
    assert replicas.pair[1].request("POST", f"/v1/sandboxes/{goes}/extend", {"ttl_ms": 1}, replicas.key).status == 200
    until(lambda: replicas.pair[0].request("GET", f"/v1/sandboxes/{stays}", key=replicas.key).json()["state"] == "ended", 30, "its end")
    assert run(replicas, replicas.pair[1], stays, "cat file") == "kept\n"
    until(lambda: replicas.pair[1].request("GET", f"/v1/sandboxes/{goes}", key=replicas.key).status == 404, 30, "its end")
    until(lambda: f"skiff-{goes}" not in replicas.home.names("configmaps"), 60, "its removal", 0.2)


# --- a replica that is killed ---

HALF = 3_000_000
SCRIPT = f"""half() {{ i=0; while [ $i -lt {HALF // 1000} ]; do printf "%0999d\\n" $1$i; i=$((i+1)); done; }}
half 1; while ! [ -e go ]; do sleep 0.05; done; half 2"""


def expected():
    lines = (f"{int(f'{half}{i}'):0999d}\n" for half in (1, 2) for i in range(HALF // 1000))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def read_until_cut(response, kill):
    """The bytes that came before the connection broke; the server is killed after the first ones."""
    data = b""
    try:
        while piece := response.read1(65536):
            data += piece
            if len(data) > HALF // 2:
                kill()
    except (OSError, http.client.HTTPException):
        pass
    return data


def test_a_stream_goes_on_at_its_offset_through_another_replica(replicas, made):
    sandbox = made()
    doomed, other = replicas.start(), replicas.pair[1]
    answer = other.request("POST", f"/s/{sandbox}/7070/v1/commands", {"command": SCRIPT, "mode": "background"}, replicas.key)
    assert answer.status == 202, answer.body
    output = f"/s/{sandbox}/7070/v1/commands/{answer.json()['id']}/output?follow=true&stream=stdout&from="
    raw = {"X-API-Key": replicas.key, "Accept": "application/octet-stream"}
    connection = http.client.HTTPConnection(doomed.host, timeout=60)
    connection.request("GET", output + "0", headers=raw)
    data = read_until_cut(connection.getresponse(), doomed.kill)
    connection.close()
    assert doomed.process.poll() is not None and HALF // 2 < len(data) <= HALF
    assert other.request("PUT", f"/s/{sandbox}/7070/v1/files/go", b"", replicas.key).status == 201
    rest = other.request("GET", f"{output}{len(data)}", headers=raw)
    assert rest.status == 200
    data += rest.body
    assert (len(data), hashlib.sha256(data).hexdigest()) == (2 * HALF, expected())


def test_a_creation_is_ended_by_another_replica(replicas):
    doomed, other = replicas.start(), replicas.pair[0]
    asked = {"Idempotency-Key": "cut-off"}
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        cut_off = pool.submit(doomed.request, "POST", "/v1/sandboxes", {}, replicas.key, asked, 130)
        (pod,) = until(replicas.pods, 30, "its Pod")
        doomed.kill()
        with pytest.raises((OSError, http.client.HTTPException)):
            cut_off.result()
    answer = other.request("POST", "/v1/sandboxes", {}, replicas.key, asked, 130)
    assert answer.status == 200, answer.body
    assert replicas.pods() == [pod]
    assert run(replicas, other, answer.json()["id"], "echo there") == "there\n"
    assert other.request("DELETE", f"/v1/sandboxes/{answer.json()['id']}", key=replicas.key).status == 204


@pytest.fixture
def pool(replicas):
    replicas.skiff("pool", "create", "warm", "--size", "2", "--dialect", "e2b", "-q")
    yield "warm"
    replicas.skiff("pool", "rm", "warm")


def test_a_pool_heals_after_a_drain_and_a_quota(replicas, pool):
    def status():
        return json.loads(replicas.skiff("pool", "status", pool, "-o", "json")[0])

    def counted(state):
        return metrics_of(replicas.pair[0], replicas.others_key).of("skiff_serve_pool_members", tenant=replicas.home.name, pool=pool, state=state)

    until(lambda: counted("available") == 2, 60, "that the metrics have both", every=0.5)
    replicas.home.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "little"}, "spec": {"hard": {"pods": "1"}}})
    replicas.home.wait("resourcequota/little", lambda quota: "pods" in quota["status"].get("used", {}))
    members = [one["metadata"]["name"] for one in replicas.home.items("pods")]
    for name in members:
        replicas.cluster.api.request("POST", f"/api/v1/namespaces/{replicas.home.name}/pods/{name}/eviction", {
            "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": replicas.home.name}})
    until(lambda: status().get("missing") == 1 and "exceeded quota: little" in status()["reason"], 60, "one of them, and why no more")
    until(lambda: any("a pool cannot be filled" in server.told() for server in replicas.pair), 60, "a line about it")
    until(lambda: counted("missing") == 1 and counted("available") < 2, 60, "that the metrics lack one", every=0.5)
    replicas.home.delete("resourcequota/little")
    until(lambda: status()["available"] == 2, 60, "both of them")
