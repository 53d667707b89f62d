"""A client that has taken all connections keeps nobody else out, whether its connections wait, are upgraded or are at work."""

import contextlib

import pytest

from holders import WEBSOCKET, dial, few_descriptors, get, status_of
from upstream import Upstream
from waiting import until

AGENT_PLACES = 8
DOMAIN = "sandboxes.localhost"
READER = "reader-" + "r" * 32
RUNNER = "runner-" + "x" * 32


@pytest.fixture
def agent(start_agent):
    return start_agent("--max-connections", AGENT_PLACES, tokens=(f"{READER} read", f"{RUNNER} exec"))


def hold(agent, how, token):
    """(path, fields) of a request with which a connection is kept."""
    fields = agent.headers(token=token)
    if how == "waiting":
        return "/v1/version", fields
    if how == "a WebSocket":
        return "/v1/connect", {**fields, **WEBSOCKET}
    return "/v1/commands/long/output?follow=true", fields


@pytest.mark.parametrize("how", ["waiting", "a WebSocket", "a stream"])
@pytest.mark.parametrize("holder, next_one", [(READER, None), (READER, RUNNER), (RUNNER, READER)])
def test_one_token_does_not_keep_another_out_of_the_agent(agent, how, holder, next_one):
    agent.start("echo begun; exec sleep 1000", id="long")
    with contextlib.ExitStack() as held:
        for _ in range(2 * AGENT_PLACES):
            status_of(agent.connect, get(*hold(agent, how, holder)), held)
        for _ in range(3):  # and stay, side by side
            assert status_of(agent.connect, get("/v1/version", agent.headers(token=next_one)), held) == 200
        assert status_of(agent.connect, get("/healthz", {"Host": agent.host})) == 200
    assert agent.request("DELETE", "/v1/commands/long").status == 204


def test_an_administrator_takes_idle_connections_of_readers_even_if_he_has_more(agent):
    with contextlib.ExitStack() as held:
        for _ in range(2):
            assert status_of(agent.connect, get(*hold(agent, "a WebSocket", READER)), held) == 101
        for _ in range(AGENT_PLACES):
            assert status_of(agent.connect, get(*hold(agent, "a WebSocket", None)), held) == 101
        assert status_of(agent.connect, get(*hold(agent, "a WebSocket", None)), held) == 503


def test_a_working_connection_is_not_closed_for_its_clients_next_one(agent):
    agent.start("echo begun; exec sleep 1000", id="long")
    with contextlib.ExitStack() as held:
        streams = [held.enter_context(agent.stream("GET", "/v1/commands/long/output?follow=true")) for _ in range(AGENT_PLACES)]
        for _ in range(3):
            agent.request("GET", "/v1/version").problem(503, "too_many_connections")
        for stream in streams:
            assert stream.status == 200
        agent_ends = agent.request("GET", "/healthz")
        assert agent_ends.status == 200
    until(lambda: agent.request("GET", "/v1/version").status == 200, what="room again")
    assert agent.request("DELETE", "/v1/commands/long").status == 204


@pytest.fixture
def crowded(serving):
    """A server of 28 connections: (server, the sandbox's id, its owner's key, another tenant's)."""
    key, other = serving.key(), serving.key("other", "--tenant", "other")
    few_descriptors(serving, 256)
    server = serving.start("--domain", DOMAIN)
    until(lambda: '"connections":28' in server.told(), what="its limit in the log")
    answer = server.request("POST", "/v1/sandboxes", {}, key)
    assert answer.status == 201, answer.body
    return server, answer.json()["id"], key, other


@pytest.mark.parametrize("who", ["a preview", "a tenant's key"])
def test_one_holder_does_not_shut_the_other_tenants_out(crowded, who):
    server, sandbox, key, other = crowded
    with contextlib.ExitStack() as held, Upstream(lambda connection: connection.answer(b"hello")) as page:
        if who == "a preview":
            url = server.request("POST", f"/v1/sandboxes/{sandbox}/previews", {"port": page.port}, key).json()["url"]
            host, _, path = url.partition("://")[2].partition("/")
            request = get("/" + path, {"Host": host})
        else:
            request = get("/v1/sandboxes", {"Host": server.host, "X-API-Key": key})
        for _ in range(40):
            status_of(dial(server.host), request, held)
        # Another tenant, an admin of this one whose link was passed on, and a probe.
        for shown in (other, key, other):
            assert status_of(dial(server.host), get("/v1/sandboxes", {"Host": server.host, "X-API-Key": shown}), held) == 200
        assert status_of(dial(server.host), get("/healthz", {"Host": server.host})) == 200


def test_sockets_of_one_tenant_do_not_shut_the_others_out(crowded):
    server, sandbox, key, other = crowded
    with contextlib.ExitStack() as held:
        upgrade = get(f"/s/{sandbox}/7070/v1/connect", {"Host": server.host, "X-API-Key": key, **WEBSOCKET})
        opened = [status_of(dial(server.host), upgrade, held) for _ in range(40)]
        assert opened.count(101) >= 8, opened
        for _ in range(3):
            assert status_of(dial(server.host), get("/v1/sandboxes", {"Host": server.host, "X-API-Key": other}), held) == 200


def test_strangers_do_not_take_the_descriptors(crowded):
    server, _, key, _ = crowded
    with contextlib.ExitStack() as held:
        for _ in range(256):
            with contextlib.suppress(OSError):
                held.enter_context(dial(server.host)())
        for _ in range(10):
            assert server.request("GET", "/v1/sandboxes", key=key).status == 200


def test_strangers_do_not_take_the_agents_descriptors(start_agent):
    from confined import with_descriptors
    agent = start_agent(wrapper=with_descriptors(256))
    assert "the agent takes 28 connections" in agent.log()
    with contextlib.ExitStack() as held:
        for _ in range(256):
            with contextlib.suppress(OSError):
                held.enter_context(agent.connect())
        for number in range(10):
            assert agent.request("PUT", f"/v1/files/f{number}", body=b"x").status == 201
            assert agent.run("echo well")["stdout"] == "well\n"
