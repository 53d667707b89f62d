"""`skiff serve` on this machine: its own API, keys, tenants, limits, one sandbox for one Idempotency-Key, its end."""

import concurrent.futures
import http.client
import json
import pathlib
import signal
import stat
import subprocess

from tools import tool
from waiting import until


def made(server, key, body=None, **more):
    answer = server.request("POST", "/v1/sandboxes", body or {}, key, **more)
    assert answer.status == 201, (answer.status, answer.body)
    return answer.json()


def test_a_sandbox_is_made_shown_listed_stopped_started_extended_and_removed(server, key):
    answer = server.request("POST", "/v1/sandboxes", {"labels": {"team": "a/b c"}, "ttl_ms": 600_000}, key)
    assert answer.status == 201
    sandbox = answer.json()
    assert answer.headers["Location"] == f"/v1/sandboxes/{sandbox['id']}"
    assert sandbox["state"] == "running" and sandbox["template"] == "base" and sandbox["on_end"] == "remove"
    assert sandbox["labels"] == {"team": "a/b c"}
    path = f"/v1/sandboxes/{sandbox['id']}"
    assert server.request("GET", path, key=key).json() == sandbox
    assert server.request("GET", "/v1/sandboxes?label=team%3Da/b%20c", key=key).json()["items"] == [sandbox]
    assert server.request("GET", "/v1/sandboxes?label=team%3Dother", key=key).json()["items"] == []
    assert server.request("GET", "/v1/sandboxes?state=stopped", key=key).json()["items"] == []
    longer = server.request("POST", path + "/extend", {"ttl_ms": 3_600_000}, key).json()
    assert longer["expires_at"] > sandbox["expires_at"]
    assert server.request("POST", path + "/stop", key=key).json()["state"] == "stopped"
    assert server.request("POST", path + "/extend", {"ttl_ms": 1000}, key).status == 409
    assert server.request("POST", path + "/start", key=key).json()["state"] == "running"
    assert server.request("DELETE", path, key=key).status == 204
    gone = server.request("GET", path, key=key)
    assert gone.status == 404 and gone.json()["code"] == "sandbox_not_found"


def test_pages_of_a_list_hold_everything_once(server, key):
    ids = sorted(made(server, key)["id"] for _ in range(3))
    seen, cursor = [], ""
    while True:
        page = server.request("GET", f"/v1/sandboxes?limit=2&cursor={cursor}", key=key).json()
        seen += [one["id"] for one in page["items"]]
        cursor = page["next"]
        if not cursor:
            break
    assert seen == ids


def test_a_token_of_it_opens_its_agent(server, serving, key):
    sandbox = made(server, key)
    token = server.request("POST", f"/v1/sandboxes/{sandbox['id']}/tokens", {"scopes": ["read"]}, key).json()["token"]
    address = serving.skiff.json("describe", sandbox["id"])["address"]
    way = ["--unix-socket", address.removeprefix("unix:"), "http://localhost"] if address.startswith("unix:") else [address]
    command = [tool("curl"), "-sS", "-m", "20", "-H", f"Authorization: Bearer {token}", *way[:-1], way[-1] + "/v1/version"]
    assert json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["name"] == "skiffd"
    refused = server.request("POST", f"/v1/sandboxes/{sandbox['id']}/tokens", {"scopes": ["admin"]}, key)
    assert refused.status == 403 and refused.json()["code"] == "insufficient_scope"


def test_a_refusal_names_the_invalid_field(server, key):
    for body, code, field in [({"ttl_ms": 999}, "invalid_field", "/ttl_ms"), ({"tll_ms": 1}, "unknown_field", "/tll_ms"),
                              ({"env": {"SKIFF_PUBLIC_KEY": "x"}}, "invalid_field", "env"),
                              ({"labels": {"": "x"}}, "invalid_field", "labels"),
                              ({"template": "other"}, "not_found", "template")]:
        answer = server.request("POST", "/v1/sandboxes", body, key)
        assert (answer.json()["code"], answer.json()["field"]) == (code, field), answer.body
    assert server.request("POST", "/v1/sandboxes", b"{}", key, {"Content-Type": "text/plain"}).status == 415
    assert server.request("POST", "/v1/sandboxes", b"{", key, {"Content-Type": "application/json"}).status == 400
    assert server.request("POST", "/v1/sandboxes", {"env": {"A": "x" * 2_000_000}}, key).status == 413
    assert server.request("GET", "/v1/sandboxes?limit=0", key=key).status == 400
    assert server.request("GET", "/nothing", key=key).json()["code"] == "not_found"
    refused = server.request("PUT", "/v1/sandboxes", {}, key)
    assert refused.status == 405 and refused.headers["Allow"] == "POST, GET"
    assert server.request("GET", "/v1/sandboxes", key=key).json()["items"] == []


def routes_of(server):
    """(method, path) of all that needs a key and names a sandbox, from the server's own document."""
    document = server.request("GET", "/openapi.json").json()
    return [(method.upper(), path) for path, methods in document["paths"].items() for method in methods]


def test_a_stranger_gets_nowhere(server, key):
    assert server.request("GET", "/healthz").status == 200
    assert server.request("GET", "/readyz").status == 200
    routes = routes_of(server)
    assert len(routes) > 30
    for method, path in routes:
        if path in ("/healthz", "/readyz", "/openapi.json"):
            continue
        target = path.replace("{id}", "s00000000000000000000")
        for shown in [{}, {"X-API-Key": "e2b_" + "0" * 40}, {"Authorization": "Bearer " + key[:-1]},
                      {"X-API-Key": key, "Authorization": "Bearer other"}]:
            answer = server.request(method, target, headers=shown)
            assert answer.status == 401, (method, path, shown, answer.body)
            assert key not in answer.body.decode()


def test_another_tenants_sandbox_does_not_exist(serving, key):
    server = serving.start("--domain", "sandboxes.localhost")
    other = serving.key("other", "--tenant", "other", "--scope", "admin")
    sandbox = made(server, key, {"on_end": "stop"})
    before = server.request("GET", f"/v1/sandboxes/{sandbox['id']}", key=key).json()
    asked = 0
    for method, path in routes_of(server):
        if "{id}" not in path:
            continue
        body = {"timeout": 60, "ttl_ms": 1000, "duration": 60} if method in ("POST", "PUT") else None
        if path.startswith("/v1/"):
            bodies = {"extend": {"ttl_ms": 1000}, "previews": {"port": 3000}, **({"network": {"egress": []}} if method == "PUT" else {})}
            body = bodies.get(path.rpartition("/")[2], {} if method == "POST" else None)
        real = server.request(method, path.replace("{id}", sandbox["id"]), body, other)
        missing = server.request(method, path.replace("{id}", "s00000000000000000000"), body, other)
        # The two can't be told apart, not even by what is not offered at all.
        refused = path.endswith(("/snapshots", "/fork")) or path.startswith(("/templates/", "/volumes/", "/secrets/"))
        status = 501 if refused else 404
        assert (real.status, missing.status) == (status, status), (method, path, real.body, missing.body)
        assert sandbox["id"] not in missing.body.decode()
        asked += real.status == 404
    assert asked >= 15
    assert server.request("GET", "/v1/sandboxes", key=other).json()["items"] == []
    assert server.request("GET", "/v2/sandboxes", key=other).json() == []
    assert server.request("GET", f"/v1/sandboxes/{sandbox['id']}", key=key).json() == before


def test_the_page_about_e2b_has_each_of_its_routes_and_each_refusal(server, key):
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "e2b.md").read_text()
    sandbox = made(server, key)["id"]
    of_e2b = [(method, path) for method, path in routes_of(server)
              if path.split("/")[1] in ("v2", "v3", "sandboxes", "snapshots", "templates", "volumes", "secrets")]
    refusals = set()
    for method, path in of_e2b:
        assert f"`{method} {path}`" in page, (method, path)
        if (method, path) == ("DELETE", "/sandboxes/{id}"):
            continue
        answer = server.request(method, path.replace("{id}", sandbox), {} if method in ("POST", "PUT") else None, key)
        if answer.status == 501:
            refusals.add(answer.json()["message"])
    for name in ("mcp", "iam", "volumeMounts"):
        refusals.add(server.request("POST", "/v2/sandboxes", {name: {"a": "b"}}, key).json()["message"])
    refusals.add(server.request("POST", "/v2/sandboxes", {"network": {"rules": {"a.example": []}}}, key).json()["message"])
    assert len(refusals) >= 8
    for message in refusals:
        assert message in page, message


def test_a_key_allows_what_its_scopes_say_and_ends(server, serving, key):
    looks = serving.key("looks", "--scope", "use")
    assert server.request("GET", "/v1/sandboxes", key=looks).status == 200
    refused = server.request("POST", "/v1/sandboxes", {}, looks)
    assert refused.status == 403 and refused.json()["code"] == "insufficient_scope"
    assert server.request("GET", "/metrics", key=looks).status == 403
    chief = serving.key("chief", "--scope", "admin")
    assert b"skiff_serve_requests_total{" in server.request("GET", "/metrics", key=chief).body
    assert server.request("GET", "/v1/me", key=looks).json()["scopes"] == ["use"]
    short = serving.key("short", "--ttl", "1ms")
    assert server.request("GET", "/v1/me", key=short).status == 401
    serving.skiff("key", "rm", "looks")
    until(lambda: server.request("GET", "/v1/me", key=looks).status == 401, what="the key has ended")
    listed = json.loads(serving.skiff("key", "ls", "-o", "json")[0])
    assert sorted(one["name"] for one in listed["items"]) == ["chief", "me", "short"]
    assert serving.skiff("key", "create", "me", status=125)[1].count("already") == 1


def test_keys_are_kept_as_digests_in_a_file_of_the_user_alone(serving, key):
    kept = serving.skiff.state / "skiff/api-keys.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert key not in kept.read_text() and key[4:] not in kept.read_text()


def test_the_limits_of_a_key(server, serving):
    few = serving.key("few", "--max-sandboxes", "2")
    first = made(server, few)
    made(server, few)
    refused = server.request("POST", "/v1/sandboxes", {}, few)
    assert refused.status == 429 and refused.json()["code"] == "too_many_sandboxes"
    assert int(refused.headers["Retry-After"]) > 0
    assert server.request("POST", "/v2/sandboxes", {"templateID": "base"}, few).json()["code"] == 429
    # A stopped sandbox does not count, and needs room when it starts again.
    assert server.request("POST", f"/v1/sandboxes/{first['id']}/stop", key=few).status == 200
    made(server, few)
    assert server.request("POST", f"/v1/sandboxes/{first['id']}/start", key=few).status == 429
    slow = serving.key("slow", "--creations-per-minute", "2")
    made(server, slow)
    made(server, slow)
    refused = server.request("POST", "/v1/sandboxes", {}, slow)
    assert refused.status == 429 and 0 < int(refused.headers["Retry-After"]) <= 60


def test_creations_at_once_keep_within_the_limit_of_two_servers(serving):
    key = serving.key("many", "--max-sandboxes", "4")
    servers = [serving.start(), serving.start()]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda i: servers[i % 2].request("POST", "/v1/sandboxes", {}, key).status, range(24)))
    assert set(answers) <= {201, 429}, answers
    there = servers[0].request("GET", "/v1/sandboxes", key=key).json()["items"]
    assert len(there) == answers.count(201) <= 4


def test_one_idempotency_key_makes_one_sandbox(serving, key):
    servers = [serving.start(), serving.start()]
    headers = {"Idempotency-Key": "the-one"}
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda i: servers[i % 2].request("POST", "/v1/sandboxes", {}, key, headers), range(50)))
    assert {answer.status for answer in answers} <= {200, 201}, [answer.body for answer in answers][:3]
    assert [answer.status for answer in answers].count(201) == 1
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert len(serving.skiff.names()) == 1
    other = servers[0].request("POST", "/v1/sandboxes", {"labels": {"a": "b"}}, key, headers)
    assert other.status == 409 and other.json()["code"] == "sandbox_conflict"
    stranger = serving.key("stranger", "--tenant", "stranger")
    assert servers[0].request("POST", "/v1/sandboxes", {}, stranger, headers).json()["id"] != answers[0].json()["id"]


def test_sandboxes_outlive_a_killed_server(serving, key):
    first = serving.start()
    sandbox = made(first, key, {"labels": {"kept": "yes"}})
    first.kill()
    second = serving.start()
    assert second.request("GET", "/v1/sandboxes", key=key).json()["items"] == [sandbox]
    assert second.request("DELETE", f"/v1/sandboxes/{sandbox['id']}", key=key).status == 204


def test_an_expired_sandbox_is_removed_or_stopped_as_it_was_created(server, serving, key):
    goes = made(server, key)["id"]
    stays = made(server, key, {"on_end": "stop"})["id"]
    for one in (goes, stays):
        assert server.request("POST", f"/v1/sandboxes/{one}/extend", {"ttl_ms": 1}, key).status == 200
    until(lambda: server.request("GET", f"/v1/sandboxes/{goes}", key=key).status == 404, what="its end")
    until(lambda: server.request("GET", f"/v1/sandboxes/{stays}", key=key).json()["state"] == "ended", what="its end")
    until(lambda: goes not in serving.skiff.names(), seconds=40, what="its removal")
    assert stays in serving.skiff.names()


def test_it_drains_and_ends_with_status_0(serving, key):
    server = serving.start()
    connection = http.client.HTTPConnection(server.host, timeout=60)
    for sandbox in (made(server, key), made(server, key)):
        connection.request("DELETE", f"/v1/sandboxes/{sandbox['id']}", headers={"X-API-Key": key})
        assert connection.getresponse().read() == b""
    # The connection is still there.
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(40) == 0
    connection.close()
    told = [json.loads(line) for line in server.told().splitlines() if line.startswith("{")]
    requests = [line for line in told if line["message"] == "request"]
    assert requests and requests[0]["who"] == "me" and requests[0]["tenant"] == "default", told
    assert key not in server.told()


def test_without_a_cluster_there_are_no_service_accounts(serving):
    _, err = serving.skiff("serve", "--listen", "127.0.0.1:0", "--service-accounts", status=125)
    assert "--service-accounts needs a cluster" in err
