"""A credential for one sandbox of `skiff serve` opens no later one, signs for nobody else, and never reaches a server
that listens in a sandbox."""

import base64
import json

import pytest

from rights import ONCE, Scene, access_token, agent_token, signed
from upstream import Upstream

DOMAIN = "sandboxes.localhost"


@pytest.fixture
def scene(serving):
    with Scene(serving) as one:
        yield one


# --- a later sandbox of the same name ---

@pytest.mark.parametrize("give", [access_token, agent_token])
def test_credentials_of_a_removed_sandbox_do_not_open_its_successor_of_the_same_name(scene, give):
    server, key, other = scene.server, scene.key, scene.other_key
    scene.sandbox = "demo"
    assert server.request("POST", "/v1/sandboxes", {"name": "demo"}, key).status == 201
    scene.access_token = server.request("GET", "/sandboxes/demo", key=key).json()["envdAccessToken"]
    it = give(scene)
    assert ONCE["request"](it) == 200
    assert server.request("DELETE", "/v1/sandboxes/demo", key=key).status == 204
    assert server.request("POST", "/v1/sandboxes", {"name": "demo"}, other).status == 201
    if give is agent_token:
        it.shown.host = agent_token(scene).shown.host
    assert ONCE["request"](it) == 401
    assert server.request("GET", "/sandboxes/demo", key=other).json()["envdAccessToken"] != scene.access_token


def test_an_access_token_stays_good_while_its_sandbox_sleeps(scene):
    """It is the record's, not the run's: E2B's clients keep it."""
    server, key = scene.server, scene.key
    it = access_token(scene)
    for _ in range(2):
        assert server.request("POST", f"/v1/sandboxes/{scene.sandbox}/stop", {}, key).status == 200
        assert server.request("POST", f"/v1/sandboxes/{scene.sandbox}/start", key=key).status == 200
        assert ONCE["request"](it) == 200 and ONCE["rpc"](it) == 200
    other = scene.serving.start("--domain", DOMAIN)
    it.shown.host = other.host
    assert ONCE["request"](it) == 200


@pytest.mark.parametrize("wrong", ["", "0" * 64, "short", "x" * 300])
def test_a_wrong_access_token_is_refused(scene, wrong):
    good = scene.access_token
    for text in wrong, good[:-1] + ("0" if good[-1] != "0" else "1"), ("0" if good[0] != "0" else "1") + good[1:], good.upper(), good + "0":
        if text == good:
            continue
        answer = scene.server.request("GET", f"/s/{scene.sandbox}/7070/v1/version", headers={"X-Access-Token": text})
        assert answer.status == 401, text


# --- the traffic token ---

def test_a_traffic_token_reaches_ports_and_contexts_alone(scene):
    """A page of the sandbox is what it is given out for: it runs no command."""
    for field in "E2B-Traffic-Access-Token", "X-Access-Token":
        def ask(port, path, method="GET", body=None):
            shown = {field: scene.traffic_token, "E2b-Sandbox-Id": scene.sandbox, "E2b-Sandbox-Port": str(port), "Content-Type": "application/json"}
            return scene.server.request(method, path, body, headers=shown)
        assert ask(scene.port, "/").status == 200
        assert ask(49999, "/contexts").status in (200, 404, 502), "the dialect's own answer"
        for port, method, path in ((7070, "GET", "/v1/version"), (7070, "GET", "/v1/ports"), (49983, "POST", "/process.Process/List"),
                                   (49983, "GET", "/envs"), (49983, "GET", "/files?path=x"), (49999, "POST", "/execute"),
                                   (49999, "POST", "/contexts/../execute"), (49999, "POST", "/contexts/%2e%2e/execute"),
                                   (49999, "POST", "/contexts?/../execute"), (49999, "POST", "/contextsexecute"), (49999, "GET", "/")):
            answer = ask(port, path, method, {} if method == "POST" else None)
            assert answer.status == 403 and b"needs the scope" in answer.body, (field, port, path, answer.status, answer.body)
    assert scene.traffic_token[:16] == scene.access_token[:16] and scene.traffic_token != scene.access_token
    neighbour = scene.server.request("POST", "/v2/sandboxes", {"templateID": "base", "timeout": 600}, scene.key).json()["trafficAccessToken"]
    for wrong in neighbour, scene.traffic_token[:16] + "0" * 48:
        answer = scene.server.request("GET", "/", headers={"E2B-Traffic-Access-Token": wrong, "E2b-Sandbox-Id": scene.sandbox,
                                                           "E2b-Sandbox-Port": str(scene.port)})
        assert answer.status == 401


# --- signed links ---

def test_a_signed_link_is_for_the_user_that_it_names(scene):
    """The holder of the link chooses neither whose home its path is in, nor whose the file will be."""
    link = signed("notes.txt", scene.access_token)
    upload = signed("up.txt", scene.access_token, "write")
    assert ONCE["rpc"](access_token(scene)) == 200  # the agent knows the token from its first use
    named = {"E2b-Sandbox-Id": scene.sandbox, "E2b-Sandbox-Port": "49983"}

    def by(user):
        return {**named, "Authorization": "Basic " + base64.b64encode(f"{user}:".encode()).decode()}

    plain = scene.server.request("GET", link, headers=named)
    for user in "nobody", "daemon", "no-such-user":
        assert scene.server.request("GET", link, headers=by(user)).body == plain.body
        written = scene.server.request("POST", upload, b"x", headers={**by(user), "Content-Type": "application/octet-stream"})
        assert written.json() == scene.server.request("POST", upload, b"x", headers={**named, "Content-Type": "application/octet-stream"}).json()
    # The agent itself, which a client may reach without the gateway, refuses it too.
    record = scene.serving.skiff.record(scene.sandbox)
    address = next(iter(record["dialect_addresses"].values()))
    it = access_token(scene).shown
    it.host, it.fields = address, {}
    assert it.request("GET", link) == it.request("GET", link, **{"Authorization": by("no-such-user")["Authorization"]})


# --- what reaches the server in the sandbox ---

def account_token(audience="skiff"):
    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    claims = {"aud": [audience], "sub": "system:serviceaccount:team-a:runner", "exp": 4_000_000_000}
    return ".".join([part({"alg": "RS256"}), part(claims), "c2lnbmVk"])


def seen(scene, fields, query=""):
    """The fields that the server in the sandbox got, as (name, value)."""
    got = []

    def note(connection):
        while (head := connection.head()) is not None:
            got.append(head[1])
            connection.answer(b"hello")

    with Upstream(note) as page:
        answer = scene.server.request("GET", f"/s/{scene.sandbox}/{page.port}/{query}", headers=fields)
        assert answer.status == 200, answer.body
    return got[0]


def test_no_credential_reaches_the_server_in_the_sandbox(scene):
    key, other = scene.key, scene.other_key
    neighbour = scene.server.request("POST", "/v2/sandboxes", {"templateID": "base", "timeout": 600}, key).json()["envdAccessToken"]
    shown = [{"X-API-Key": key}, {"Authorization": f"Bearer {key}"}, {"Authorization": f"bearer \t {key} \t"}, {"X-Access-Token": scene.access_token}]
    beside = [{"X-Access-Token": neighbour}, {"x_access_token": neighbour}, {"X-Skiff-Token": neighbour}, {"X_Skiff_Token": neighbour},
              {"X_API_Key": other}, {"x-api_key": "anything"}, {"Authorization": other}, {"Authorization": f"Token {other}"},
              {"Proxy-Authorization": f"Bearer {other}"}, {"X-Forwarded-Access": f"Bearer {other}"}, {"Cookie": f"key={other}"},
              {"X-Auth": account_token()}, {"X-Forwarded-Authorization": f"Bearer \t{account_token()}  "}, {"Referer": f"http://x/?key={other}"}]
    secrets = [key, other, scene.access_token, neighbour, account_token()]
    for one in shown:
        for more in beside:
            fields = {**more, **one}
            if "Authorization" in one and "Authorization" in more:
                continue
            got = seen(scene, fields)
            assert not [(name, value) for name, value in got if any(secret in value for secret in secrets)], (one, more, got)
            names = {name.lower().replace("_", "-") for name, _ in got}
            assert not names & {"x-api-key", "x-access-token", "x-skiff-token"}, (one, more, got)


def test_the_applications_own_credentials_reach_it(scene):
    own = {"Authorization": "Bearer " + account_token("app"), "X-Auth": "e2b_of_its_own", "Cookie": "session=1.2.3", "X-Version": "1.2.3"}
    got = dict(seen(scene, {"X-API-Key": scene.key, **own}))
    assert {name: got.get(name) for name in own} == own


def test_the_dialect_gets_the_access_token(scene):
    assert ONCE["rpc"](access_token(scene)) == 200


# --- what a sandbox does to its siblings ---

def test_a_sandbox_ends_no_cookies_of_its_siblings(scene):
    values = ['"cookies"', '"*"', '"cache", "cookies"', ' "storage" , "*" ', '"Cookies"']

    def serve(connection):
        while (head := connection.head()) is not None:
            number = int(head[0].split()[1].rpartition("/")[2])
            connection.answer(b"hello", "200 OK", f"clear-site-data: {values[number]}")

    with Upstream(serve) as page:
        for number, value in enumerate(values):
            host = {"Host": f"{page.port}-{scene.sandbox}.{DOMAIN}", "X-API-Key": scene.key}
            for answer in (scene.server.request("GET", f"/{number}", headers=host),
                           scene.server.request("GET", f"/s/{scene.sandbox}/{page.port}/{number}", key=scene.key)):
                left = answer.headers.get("Clear-Site-Data") or ""
                assert "cookies" not in left.lower() and "*" not in left, (value, left)
                assert ("cache" in left) == ("cache" in value or "*" in value)
