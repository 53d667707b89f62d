"""`skiff serve`: names that clients choose, and bring-ups that are waited for, looked at, given up and refused."""

import concurrent.futures
import http.client
import signal

import pytest

from launcher import DRIVER
from waiting import until


@pytest.fixture
def held(serving, key):
    """Two servers whose sandboxes stay in the making."""
    serving.hold_agents()
    yield [serving.start(), serving.start()]
    serving.let_agents_go()


def create(server, key, body, **more):
    return server.request("POST", "/v1/sandboxes", body, key, **more)


def code_of(answer):
    return answer.status, answer.json()["code"]


def test_a_name_is_the_id_and_is_there_once(server, serving, key):
    first = create(server, key, {"name": "demo"})
    assert first.status == 201 and first.json()["id"] == "demo"
    assert first.headers["Location"] == "/v1/sandboxes/demo"
    assert serving.skiff.names() == ["demo"]
    again = create(server, key, {"name": "demo"})
    assert code_of(again) == (409, "sandbox_conflict") and again.json()["field"] == "name"
    assert server.request("GET", "/v1/sandboxes/demo", key=key).json() == first.json()


def test_get_or_create_gives_the_one_that_is_there_and_starts_it(server, key):
    body = {"name": "demo", "get_or_create": True}
    first = create(server, key, body)
    assert first.status == 201
    again = create(server, key, {**body, "labels": {"other": "wish"}})
    assert again.status == 200 and again.json() == first.json()
    assert server.request("POST", "/v1/sandboxes/demo/stop", key=key).json()["state"] == "stopped"
    started = create(server, key, body)
    assert started.status == 200 and started.json()["state"] == "running"
    assert code_of(create(server, key, {"get_or_create": True})) == (400, "missing_field")


def test_get_or_create_finds_no_place_beyond_the_limit_of_its_key(server, serving):
    one = serving.key("one", "--max-sandboxes", "1")
    assert create(server, one, {"name": "first"}).status == 201
    assert server.request("POST", "/v1/sandboxes/first/stop", key=one).status == 200
    assert create(server, one, {"name": "second"}).status == 201
    assert code_of(create(server, one, {"name": "first", "get_or_create": True})) == (429, "too_many_sandboxes")
    assert server.request("GET", "/v1/sandboxes/first", key=one).json()["state"] == "stopped"


def test_at_two_servers_at_once_a_name_is_made_once(serving, key):
    servers = [serving.start(), serving.start()]
    body = {"name": "demo", "get_or_create": True}
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda i: create(servers[i % 2], key, body), range(20)))
    assert sorted(answer.status for answer in answers) == [200] * 19 + [201], [answer.body for answer in answers]
    assert {answer.json()["state"] for answer in answers} == {"running"}
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda i: create(servers[i % 2], key, {"name": "other"}), range(20)))
    assert sorted(answer.status for answer in answers) == [201] + [409] * 19
    assert serving.skiff.names() == ["demo", "other"]


def test_a_repeated_request_with_a_name_meets_its_own_sandbox_alone(server, key):
    mine = {"headers": {"Idempotency-Key": "mine"}}
    assert create(server, key, {"name": "demo"}, **mine).status == 201
    assert create(server, key, {"name": "demo"}, **mine).status == 200
    assert code_of(create(server, key, {"name": "demo"}, headers={"Idempotency-Key": "other"})) == (409, "sandbox_conflict")
    assert code_of(create(server, key, {"name": "demo", "env": {"A": "b"}}, **mine)) == (409, "sandbox_conflict")


def test_invalid_names_are_refused_before_a_sandbox_is_created(server, serving, key):
    made = create(server, key, {}).json()["id"]
    for name in ["A", "a/b", "../a", "-a", "a-", "a" * 51, "a.b", "a b", "ä", made, "s" + "0" * 20, "s" + "z" * 20]:
        answer = create(server, key, {"name": name})
        assert answer.status == 400 and answer.json()["field"].strip("/") == "name", (name, answer.body)
    assert create(server, key, {"name": "s" + "0" * 19}).status == 201
    assert serving.skiff.names() == ["s" + "0" * 19, made]


def test_the_name_of_somebody_elses_sandbox_opens_nothing(server, serving, key):
    other = serving.key("other", "--tenant", "other")
    assert create(server, key, {"name": "demo"}).status == 201
    serving.skiff.up("by-hand")
    before = [serving.skiff.record(name) for name in ("demo", "by-hand")]
    for name in ("demo", "by-hand"):
        for more in ({}, {"get_or_create": True}, {"wait": False}):
            answer = create(server, other, {"name": name, **more})
            assert code_of(answer) == (409, "sandbox_conflict"), answer.body
        assert code_of(server.request("GET", f"/v1/sandboxes/{name}?wait=ready", key=other)) == (404, "sandbox_not_found")
        assert code_of(server.request("GET", f"/v1/sandboxes/{name}/events", key=other)) == (404, "sandbox_not_found")
    assert [serving.skiff.record(name) for name in ("demo", "by-hand")] == before


def test_a_client_can_not_set_what_its_template_decides(server, serving, key):
    for option in ("image", "pod", "cpu", "pool", "volumes", "service_account", "run_as", "setup"):
        assert code_of(create(server, key, {option: "x"})) == (400, "unknown_field"), option
    assert code_of(create(server, key, {"network": "open"})) == (400, "invalid_field")
    assert serving.skiff.names() == []


def test_a_client_may_give_up_the_network_where_the_driver_can_do_that(server, serving, key):
    made = create(server, key, {"network": "deny"})
    if DRIVER == "box":
        assert made.status == 201, made.body
    else:
        assert code_of(made) == (400, "invalid_field") and "network" in made.json()["detail"]
        assert serving.skiff.names() == []


def test_without_a_wait_it_is_there_at_once_and_any_server_waits_for_it(held, serving, key):
    answer = create(held[0], key, {"name": "slow", "wait": False})
    assert answer.status == 202 and answer.json()["state"] == "creating"
    assert answer.headers["Location"] == "/v1/sandboxes/slow"
    for server in held:
        assert server.request("GET", "/v1/sandboxes/slow", key=key).json()["state"] == "creating"
        soon = server.request("GET", "/v1/sandboxes/slow?wait=ready&timeout_ms=1", key=key)
        assert soon.status == 200 and soon.json()["state"] == "creating"
    # A client that asks for it again gets it, and creates no second one.
    assert create(held[1], key, {"name": "slow", "get_or_create": True, "wait": False}).status == 202
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        waits = [pool.submit(held[i % 2].request, "GET", "/v1/sandboxes/slow?wait=ready&timeout_ms=60000", None, key)
                 for i in range(8)]
        serving.let_agents_go()
        for wait in waits:
            assert wait.result().status == 200 and wait.result().json()["state"] == "running"
    assert serving.skiff.names() == ["slow"]


def test_a_refusal_comes_at_once_also_without_a_wait(held, serving, key):
    assert code_of(create(held[0], key, {"template": "none", "wait": False})) == (404, "not_found")
    one = serving.key("one", "--max-sandboxes", "1")
    assert create(held[0], one, {"name": "first", "wait": False}).status == 202
    assert code_of(create(held[1], one, {"name": "second", "wait": False})) == (429, "too_many_sandboxes")
    assert code_of(create(held[0], one, {"name": "first", "wait": False})) == (409, "sandbox_conflict")
    for query, field in [("wait=up", "wait"), ("wait=ready&timeout_ms=x", "timeout_ms"), ("wait=ready&timeout_ms=600001", "timeout_ms")]:
        answer = held[0].request("GET", f"/v1/sandboxes/first?{query}", key=one)
        assert answer.status == 400 and answer.json()["field"] == field, answer.body


def test_events_tell_each_phase_and_that_it_is_ready(held, serving, key):
    assert create(held[0], key, {"name": "slow", "wait": False}).status == 202
    here, elsewhere = (server.events("/v1/sandboxes/slow/events", key) for server in held)
    assert next(here) == ("phase", {"phase": "starting", "detail": "skiffd"})
    # Somebody who comes later hears it from the beginning.
    later = held[0].events("/v1/sandboxes/slow/events", key)
    assert next(later) == ("phase", {"phase": "starting", "detail": "skiffd"})
    serving.let_agents_go()
    shown = held[0].request("GET", "/v1/sandboxes/slow?wait=ready", key=key).json()
    assert shown["state"] == "running"
    for stream in (here, later, elsewhere):
        assert list(stream) == [("ready", shown)]
    assert list(held[1].events("/v1/sandboxes/slow/events", key)) == [("ready", shown)]
    assert held[0].request("POST", "/v1/sandboxes/slow/stop", key=key).status == 200
    [(event, problem)] = held[0].events("/v1/sandboxes/slow/events", key)
    assert (event, problem["code"]) == ("failed", "sandbox_not_running")


def test_all_who_wait_get_the_reason_of_a_failure_and_nothing_is_left(held, serving, key):
    assert create(held[0], key, {"name": "bad", "wait": False}).status == 202
    stream = held[0].events("/v1/sandboxes/bad/events", key)
    assert next(stream)[0] == "phase"
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        wait = pool.submit(held[0].request, "GET", "/v1/sandboxes/bad?wait=ready", None, key)
        serving.let_agents_fail()
        [(event, problem)] = stream
        assert (event, problem["code"]) == ("failed", "sandbox_failed")
        assert "skiffd can not" in problem["detail"]
        assert wait.result().json()["code"] == "sandbox_failed"
    # Also to those who come later, as long as nothing has this name.
    assert held[0].request("GET", "/v1/sandboxes/bad?wait=ready", key=key).json()["code"] == "sandbox_failed"
    assert [event for event, _ in held[0].events("/v1/sandboxes/bad/events", key)][-1] == "failed"
    assert code_of(held[0].request("GET", "/v1/sandboxes/bad", key=key)) == (404, "sandbox_not_found")
    other = serving.key("other", "--tenant", "other")
    assert code_of(held[0].request("GET", "/v1/sandboxes/bad?wait=ready", key=other)) == (404, "sandbox_not_found")
    assert serving.skiff.names() == []
    serving.let_agents_go()
    assert create(held[0], key, {"name": "bad"}).status == 201
    assert held[0].request("GET", "/v1/sandboxes/bad?wait=ready", key=key).json()["state"] == "running"


def test_a_client_that_leaves_ends_nothing_but_its_own_stream(held, serving, key):
    assert create(held[0], key, {"name": "slow", "wait": False}).status == 202
    def requests_under_way():
        return sum(line.count("/v1/sandboxes/{id}") for line in held[0].told().splitlines() if '"request"' in line)
    streams = [held[0].events("/v1/sandboxes/slow/events", key) for _ in range(20)]
    for stream in streams:
        assert next(stream)[0] == "phase"
    waiting = http.client.HTTPConnection(held[0].host, timeout=60)
    waiting.request("GET", "/v1/sandboxes/slow?wait=ready&timeout_ms=600000", headers={"X-API-Key": key})
    before = requests_under_way()
    for stream in streams[1:]:
        stream.close()
    waiting.close()
    # Their requests end while it is still being made.
    until(lambda: requests_under_way() == before + 20, what="the ends of those who have left")
    assert held[0].request("GET", "/v1/sandboxes/slow", key=key).json()["state"] == "creating"
    serving.let_agents_go()
    assert [event for event, _ in streams[0]] == ["ready"]


def test_a_server_that_ends_finishes_what_it_has_promised(held, serving, key):
    assert create(held[0], key, {"name": "slow", "wait": False}).status == 202
    held[0].process.send_signal(signal.SIGTERM)
    until(lambda: '"draining"' in held[0].told(), what="the drain")
    assert held[0].process.poll() is None
    serving.let_agents_go()
    assert held[0].process.wait(60) == 0
    assert held[1].request("GET", "/v1/sandboxes/slow", key=key).json()["state"] == "running"


def test_a_server_that_stops_leaves_no_unfinished_sandbox(serving, key):
    serving.hold_agents()
    server = serving.start("--drain-timeout", "1ms")
    assert create(server, key, {"name": "slow", "wait": False}).status == 202
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(60) == 0
    assert serving.skiff.names() == []
    assert serving.skiff.processes() == {}
    serving.let_agents_go()


def test_get_or_create_takes_over_what_a_killed_server_was_creating(held, serving, key):
    body = {"name": "slow", "get_or_create": True}
    assert create(held[0], key, {**body, "wait": False}).status == 202
    held[0].kill()
    serving.let_agents_go()
    answer = create(held[1], key, body)
    assert answer.status == 200 and answer.json()["state"] == "running", answer.body


def test_previews_are_for_what_no_other_tenant_can_have(serving, key):
    server = serving.start("--domain", "sandboxes.localhost")
    assert create(server, key, {"name": "demo"}).status == 201
    assert code_of(server.request("POST", "/v1/sandboxes/demo/previews", {"port": 3000}, key)) == (501, "not_supported")


def test_the_document_names_all_that_is_asked_and_answered(server, key):
    document = server.request("GET", "/openapi.json").json()
    schemas, paths = document["components"]["schemas"], document["paths"]
    assert {"name", "get_or_create", "wait", "network"} <= schemas["CreateSandbox"]["properties"].keys()
    assert {"200", "201", "202", "404", "409", "429"} <= paths["/v1/sandboxes"]["post"]["responses"].keys()
    shown = paths["/v1/sandboxes/{id}"]["get"]
    assert {"wait", "timeout_ms"} <= {one["name"] for one in shown["parameters"]} and "502" in shown["responses"]
    events = paths["/v1/sandboxes/{id}/events"]["get"]["responses"]["200"]
    assert list(events["content"]) == ["text/event-stream"]
    assert create(server, key, {"name": "demo"}).json().keys() <= schemas["Sandbox"]["properties"].keys()
    assert server.request("GET", "/v1/pools", key=key).json().keys() <= schemas["PoolList"]["properties"].keys()
    assert set(schemas["Pool"]["properties"]) == {"name", "available", "active", "total", "target", "reason"}


def test_a_driver_without_pools_has_none(server, key):
    assert server.request("GET", "/v1/pools", key=key).json() == {"items": []}
    for name in ("pool", "..", "a%2Fb", "A"):
        assert server.request("GET", f"/v1/pools/{name}", key=key).status == 404, name
