"""A right ends with what gave it, and is never wider: every credential of `skiff serve` x every use x every end, and every route
of its table. What is not in the tables fails."""

import base64
import contextlib
import http.server
import json
import threading
import time

import pytest

from rights import CREDENTIALS, ENDS, GONE, GOES_ON, ONCE, OPEN, Scene
from serving import Server
from waiting import until


@pytest.fixture
def scene(serving):
    with Scene(serving) as one:
        yield one


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("credential", CREDENTIALS)
def test_a_right_ends_with_what_gave_it(scene, credential, end):
    get, uses = CREDENTIALS[credential]
    it = get(scene)
    for use in set(uses) & set(ONCE):
        assert ONCE[use](it) in (200, 204, 302), use
    opened = {use: OPEN[use](it) for use in uses if use in OPEN}
    assert all(one.is_open() for one in opened.values())
    ENDS[end](scene)
    of_key = end.startswith("key")
    if of_key:
        scene.wait_for_the_end_of_its_key()
    goes_on = (credential, end) in GOES_ON
    if goes_on and of_key:
        assert all(one.is_open() for one in opened.values())
    else:
        for use, one in opened.items():
            assert one.ends(), use
    for use in set(uses) & set(ONCE):
        status = ONCE[use](it)
        assert (status in (200, 204, 302)) if goes_on else (status in GONE), (use, status)
    for use in set(uses) & set(OPEN) if not goes_on else ():
        with pytest.raises((AssertionError, ConnectionError, FileNotFoundError)):
            assert not OPEN[use](it).ends(), f"{use} is refused, or ends at once"


def test_open_connections_end_when_their_key_expires(serving):
    """The server knows that time from the beginning: the ring is the same before and after."""
    with Scene(serving) as scene:
        scene.key = serving.key("short", "--ttl", "6s")
        get, uses = CREDENTIALS["API key"]
        it = get(scene)
        opened = [OPEN[use](it) for use in uses if use in OPEN]
        assert all(one.ends() for one in opened)
        scene.wait_for_the_end_of_its_key()


def test_a_stream_of_events_and_a_wait_end_with_their_key(serving):
    serving.hold_agents()
    key, other = serving.key(), serving.key("other")
    server = serving.start()
    box = server.request("POST", "/v1/sandboxes", {"name": "box", "wait": False}, key)
    assert box.status == 202, box.body
    waited = {}

    def wait():
        waited["status"] = server.request("GET", "/v1/sandboxes/box?wait=ready&timeout_ms=60000", key=key, timeout=70).status

    waiter = threading.Thread(target=wait)
    waiter.start()
    events = server.events("/v1/sandboxes/box/events", key)
    assert next(events)[0] == "phase"
    serving.skiff("key", "rm", "me")
    *_, last = events
    assert last[0] == "failed" and last[1]["code"] == "unauthenticated", last
    waiter.join(40)
    assert waited["status"] == 401
    serving.let_agents_go()
    assert server.request("GET", "/v1/sandboxes/box?wait=ready", key=other).json()["state"] == "running"


@pytest.fixture
def held(serving):
    """A server whose sandboxes wait to come up: (the server, a key, a paused sandbox of it)."""
    serving.hold_agents()
    serving.let_agents_go()
    key = serving.key()
    server = serving.start()
    box = server.request("POST", "/v1/sandboxes", {"on_end": "stop"}, key).json()["id"]
    assert server.request("POST", f"/v1/sandboxes/{box}/stop", {}, key).status == 200
    serving.hold_agents()
    yield server, key, box
    serving.let_agents_go()


@contextlib.contextmanager
def asked(server, key, method, path, body):
    """A request that waits, while its key is removed: its status will be there at the end."""
    answers = []
    asking = threading.Thread(target=lambda: answers.append(server.request(method, path, body, key).status))
    asking.start()
    yield answers
    asking.join(60)
    assert answers, "no answer"


def test_a_request_does_not_wait_for_its_sandbox_to_wake_when_its_key_is_gone(serving, held):
    """The request does not reach the sandbox."""
    server, key, box = held
    other = serving.key("other")
    with asked(server, key, "PUT", f"/s/{box}/7070/v1/files/late", b"x") as answers:
        until(lambda: '"waking"' in server.told(), what="a start")
        serving.skiff("key", "rm", "me")
    assert answers == [401], "while the sandbox still starts"
    serving.let_agents_go()
    until(lambda: shown(server, other, box)["state"] == "running")
    assert server.request("GET", f"/s/{box}/7070/v1/files/late", key=other).status == 404


@pytest.mark.parametrize("path", ["/v2/sandboxes", "/sandboxes/{box}/resume", "/sandboxes/{box}/connect"])
def test_no_access_token_is_given_out_when_its_key_is_gone(serving, held, path):
    server, key, box = held
    with asked(server, key, "POST", path.format(box=box), {"templateID": "base", "timeout": 600}) as answers:
        until(lambda: any(" --root " in line for line in serving.skiff.processes().values()), what="an agent that starts")
        serving.skiff("key", "rm", "me")
        until(lambda: server.request("GET", "/v1/me", key=key).status == 401)
        serving.let_agents_go()
    assert answers == [401]


def test_an_open_socket_starts_nothing_when_its_key_is_gone(scene):
    """It is closed, rather than listened to."""
    it = CREDENTIALS["API key"][0](scene)
    opened = OPEN["agent socket"](it)
    ENDS["key removed"](scene)
    assert opened.ends()
    until(lambda: scene.server.request("GET", "/v1/me", key=scene.key).status == 401)
    other = scene.server.request("GET", f"/s/{scene.sandbox}/7070/v1/version", key=scene.other_key)
    assert other.status == 200, "others go on"


# --- scopes: each route of the table, by what it needs ---

#: "METHOD path": the scope, None for everybody. A route that is not here fails.
ROUTES = {
    "GET /healthz": None, "GET /readyz": None, "GET /openapi.json": None, "GET /metrics": "admin", "GET /v1/me": "use",
    "POST /v1/sandboxes": "create", "GET /v1/sandboxes": "use", "GET /v1/events": "use", "GET /v1/sandboxes/{id}": "use",
    "GET /v1/sandboxes/{id}/events": "use", "DELETE /v1/sandboxes/{id}": "create", "POST /v1/sandboxes/{id}/stop": "create",
    "POST /v1/sandboxes/{id}/start": "create", "POST /v1/sandboxes/{id}/extend": "create", "POST /v1/sandboxes/{id}/tokens": "use",
    "GET /v1/sandboxes/{id}/network": "use", "PUT /v1/sandboxes/{id}/network": "create",
    "PATCH /v1/sandboxes/{id}/network": "create", "GET /v1/sandboxes/{id}/network/log": "use",
    "POST /v1/sandboxes/{id}/previews": "use", "GET /v1/pools": "use", "GET /v1/pools/{id}": "use",
    "POST /sandboxes": "create", "POST /v2/sandboxes": "create", "GET /sandboxes": "use", "GET /v2/sandboxes": "use",
    "GET /sandboxes/{id}": "use", "DELETE /sandboxes/{id}": "create", "POST /sandboxes/{id}/timeout": "create",
    "POST /sandboxes/{id}/refreshes": "create", "POST /sandboxes/{id}/connect": "use", "POST /v2/sandboxes/{id}/connect": "use",
    "POST /sandboxes/{id}/pause": "create", "POST /sandboxes/{id}/resume": "create", "GET /sandboxes/{id}/metrics": "use",
    "GET /sandboxes/{id}/logs": "use", "GET /v2/sandboxes/{id}/logs": "use", "PUT /sandboxes/{id}/network": "create",
    "POST /sandboxes/{id}/snapshots": "create", "POST /sandboxes/{id}/fork": "create", "GET /snapshots": "use",
    "GET /templates": "use", "POST /templates": "use", "POST /v2/templates": "use", "POST /v3/templates": "use",
    "GET /v2/templates": "use", "GET /templates/aliases/{id}": "use", "GET /templates/{id}": "use", "POST /templates/{id}": "use",
    "DELETE /templates/{id}": "use", "GET /templates/{id}/tags": "use", "GET /volumes": "use", "POST /volumes": "use",
    "GET /volumes/{id}": "use", "DELETE /volumes/{id}": "use", "GET /secrets": "use", "POST /secrets": "use",
    "GET /secrets/{id}": "use", "POST /secrets/{id}": "use", "DELETE /secrets/{id}": "use",
}


def test_each_route_is_for_its_scope_alone(serving):
    removed, keys = serving.key("gone"), {scope: serving.key(scope, "--scope", scope) for scope in ("create", "use", "admin")}
    server = serving.start("--domain", "sandboxes.localhost")
    document = server.request("GET", "/openapi.json").json()
    there = {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods}
    assert there == set(ROUTES), "a route without a row, or a row without a route"
    box = server.request("POST", "/v1/sandboxes", {"name": "box"}, keys["create"])
    assert box.status == 201
    serving.skiff("key", "rm", "gone")
    until(lambda: server.request("GET", "/v1/me", key=removed).status == 401)
    for route, scope in ROUTES.items():
        method, path = route.split()
        body = {} if method in ("POST", "PUT", "PATCH") else None
        at = path.replace("{id}", "box")
        if scope is None:
            assert server.request(method, at, body).status == 200, route
            continue
        assert server.request(method, at, body).status == 401, route
        assert server.request(method, at, body, removed).status == 401, route
        for name in {"create", "use"} - {scope}:
            refused = server.request(method, at, body, keys[name])
            assert refused.status == 403, (route, name, refused.status, refused.body)
    assert server.request("GET", "/v1/sandboxes/box", key=keys["use"]).json()["state"] == "running"


def shown(server, key, box):
    return server.request("GET", f"/v1/sandboxes/{box}", key=key).json()


def test_a_key_that_may_only_use_neither_extends_nor_starts(serving):
    maker, user = serving.key(), serving.key("user", "--scope", "use")
    server = serving.start()
    box = server.request("POST", "/v1/sandboxes", {"ttl_ms": 600_000, "on_end": "stop", "wakes": False}, maker).json()["id"]
    before = shown(server, user, box)
    for path in f"/sandboxes/{box}/connect", f"/v2/sandboxes/{box}/connect":
        assert server.request("POST", path, {"timeout": 25_920_000}, user).status == 403
        assert server.request("POST", path, {}, user).status == 200
        assert server.request("POST", path, {"timeout": 1}, user).status == 200
    assert shown(server, user, box) == before
    agent = server.request("POST", f"/s/{box}/7070/v1/lease", {"ttl_ms": 900_000}, user)
    assert agent.status == 403 and shown(server, user, box) == before
    assert server.request("POST", f"/v1/sandboxes/{box}/stop", {}, maker).status == 200
    for path in f"/sandboxes/{box}/connect", f"/v2/sandboxes/{box}/connect":
        assert server.request("POST", path, {"timeout": 60}, user).status == 403
    assert shown(server, user, box)["state"] == "stopped"


def test_a_key_that_may_only_use_wakes_a_sandbox_with_the_lease_that_it_has(serving):
    maker, user = serving.key("me", "--max-sandboxes", "1"), serving.key("user", "--scope", "use")
    server = serving.start()
    box = server.request("POST", "/v1/sandboxes", {"ttl_ms": 600_000, "on_end": "stop"}, maker).json()["id"]
    assert server.request("POST", f"/v1/sandboxes/{box}/stop", {}, maker).status == 200
    other = server.request("POST", "/v1/sandboxes", {}, maker).json()["id"]
    assert server.request("POST", f"/sandboxes/{box}/connect", {"timeout": 60}, user).status == 429, "its maker is full"
    assert server.request("DELETE", f"/v1/sandboxes/{other}", key=maker).status == 204
    assert server.request("POST", f"/sandboxes/{box}/connect", {"timeout": 25_920_000}, user).status == 201
    now = shown(server, user, box)
    assert now["state"] == "running" and now["expires_at"] < shown_end_of(server, maker, box)


def shown_end_of(server, key, box):
    """The end that the server shows for a lease of an hour from now."""
    return server.request("POST", f"/v1/sandboxes/{box}/extend", {"ttl_ms": 3_600_000}, key).json()["expires_at"]


def test_a_key_that_may_only_create_gets_nothing_that_uses(serving):
    key = serving.key("maker", "--scope", "create")
    server = serving.start()
    made = server.request("POST", "/v2/sandboxes", {"templateID": "base", "timeout": 600, "autoPause": True}, key)
    assert made.status == 201 and made.json()["envdAccessToken"] is None
    box = made.json()["sandboxID"]
    assert server.request("POST", f"/sandboxes/{box}/pause", {}, key).status == 204
    assert server.request("POST", f"/sandboxes/{box}/resume", {}, key).json()["envdAccessToken"] is None
    assert server.request("GET", f"/s/{box}/7070/v1/version", key=key).status == 403


def test_creations_that_fail_are_counted(serving):
    serving.hold_agents()
    key = serving.key("me", "--creations-per-minute", "2")
    server = serving.start()
    serving.let_agents_fail()
    statuses = [server.request("POST", "/v1/sandboxes", {}, key).status for _ in range(3)]
    assert statuses[2] == 429 and 429 not in statuses[:2], statuses
    serving.let_agents_go()


def test_a_key_keeps_no_more_than_it_may(serving):
    key = serving.key("me", "--max-sandboxes", "2", "--max-stopped", "1")
    server = serving.start()
    assert server.request("GET", "/v1/me", key=key).json()["max_stopped"] == 1
    boxes = [server.request("POST", "/v1/sandboxes", {"on_end": "stop"}, key).json()["id"] for _ in range(2)]
    assert server.request("POST", f"/v1/sandboxes/{boxes[0]}/stop", {}, key).status == 200
    assert server.request("POST", f"/v1/sandboxes/{boxes[0]}/stop", {}, key).status == 200, "nothing to do"
    refused = server.request("POST", f"/v1/sandboxes/{boxes[1]}/stop", {}, key)
    assert refused.status == 429 and refused.json()["code"] == "too_many_sandboxes"
    assert server.request("POST", f"/sandboxes/{boxes[1]}/pause", {}, key).status == 429
    assert server.request("POST", "/v1/sandboxes", {"on_end": "stop"}, key).status == 429
    assert server.request("DELETE", f"/v1/sandboxes/{boxes[0]}", key=key).status == 204
    assert server.request("POST", f"/v1/sandboxes/{boxes[1]}/stop", {}, key).status == 200


# --- service accounts ---

class Cluster(http.server.BaseHTTPRequestHandler):
    """An API server that has a Secret with the keys, and says whose token one is."""

    good = set()
    ring = {"token_secret": "a" * 64, "keys": [
        {"name": "me", "sha256": "b" * 64, "tenant": "team-a", "scopes": ["use"], "created_at": "2026-01-01T00:00:00Z"}]}

    def answer(self, status, value):
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        if not self.path.endswith("api-keys"):
            return self.answer(404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404})
        name = self.path.rpartition("/")[2]
        data = {"api-keys.json": base64.b64encode(json.dumps(self.ring).encode()).decode()}
        self.answer(200, {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": name, "namespace": "default"}, "data": data})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        token = asked.get("spec", {}).get("token")
        user = {"username": "system:serviceaccount:team-a:runner"}
        status = {"authenticated": True, "user": user, "audiences": ["skiff"]} if token in self.good else {"authenticated": False}
        self.answer(201, {**asked, "status": status})

    def log_message(self, *_):
        pass


def account_token(seconds):
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    claims = {"aud": ["skiff"], "sub": "system:serviceaccount:team-a:runner", "exp": int(time.time()) + seconds}
    return ".".join([part({"alg": "RS256"}), part(claims), "c2lnbmVk"])


def test_a_service_accounts_right_ends_with_its_token_and_when_the_cluster_takes_it_back(serving):
    long, short = account_token(3600), account_token(3)
    Cluster.good = {long, short}
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Cluster) as cluster:
        threading.Thread(target=cluster.serve_forever).start()
        try:
            kubeconfig = serving.skiff.work / "kubeconfig"
            kubeconfig.write_text(json.dumps({
                "apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [{"name": "u", "user": {}}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{cluster.server_address[1]}"}}]}))
            server = Server(serving.skiff, "--kubeconfig", str(kubeconfig), "--service-accounts", "--agent-image", "x", driver="pod")
            try:
                def status(token):
                    return server.request("GET", "/v1/me", headers={"Authorization": f"Bearer {token}"}).status

                assert status(long) == 200
                until(lambda: status(short) == 401, seconds=30)
                assert status(long) == 200
                Cluster.good = set()
                until(lambda: status(long) == 401, seconds=30)
            finally:
                assert server.stop() == 0
        finally:
            cluster.shutdown()
