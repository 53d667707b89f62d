"""A key or token that asks much of a server makes only itself wait."""

import contextlib

import pytest

from mcp_client import Mcp
from signing import Signer


def test_repeats_of_one_key_take_one_bring_up(serving):
    key = serving.key("one", "--max-sandboxes", "1")
    other = serving.key("other", "--tenant", "other")
    serving.hold_agents()
    server = serving.start()
    body = {"name": "x", "get_or_create": True, "wait": False}
    try:
        for _ in range(1_200):
            answer = server.request("POST", "/v1/sandboxes", body, key)
            assert answer.status == 202, answer.body
        answer = server.request("POST", "/v1/sandboxes", {"name": "y", "wait": False}, other)
        assert answer.status == 202, answer.body
        conflict = server.request("POST", "/v1/sandboxes", {"name": "x", "wait": False}, key)
        assert (conflict.status, conflict.json()["code"]) == (409, "sandbox_conflict")
    finally:
        serving.let_agents_go()
    for name, whose in (("x", key), ("y", other)):
        assert server.request("GET", f"/v1/sandboxes/{name}?wait=ready", key=whose).status == 200
        assert server.request("DELETE", f"/v1/sandboxes/{name}", key=whose).status == 204


@pytest.fixture
def signed(start_agent, tmp_path):
    signer = Signer(tmp_path)
    agent = start_agent("--public-key", signer.public, "--sandbox-id", "box-1")
    return agent, {scope: signer.token(sub="tenant", scope=scope) for scope in ("read", "admin")}


def test_a_reader_of_the_same_subject_takes_no_session_of_the_admins(signed):
    agent, tokens = signed
    begun = []
    with contextlib.suppress(KeyError):
        for _ in range(64):
            begun.append(Mcp(agent, token=tokens["read"]))
    assert 16 <= len(begun) < 64
    admin = Mcp(agent, token=tokens["admin"])
    assert admin.call("ping") == {}
    for client in [*begun, admin]:
        assert client.end().status == 204
