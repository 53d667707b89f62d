"""A token that is bound to a session runs commands and works with files in it, as the session says: it doesn't choose
another session for itself, nor make its own another one."""

import os

import pytest

from wire import query

OWN = "/v1/sessions/own"


@pytest.fixture
def kept(start_agent):
    """An agent with a session, and a token for this session alone."""
    agent = start_agent(tokens=("kept exec own", "master admin own"))
    (agent.root / "own").mkdir()
    agent.session(id="own", root="own", labels={"made": "by another"})
    return agent


def test_it_makes_changes_and_deletes_no_session(kept):
    before = kept.request("GET", OWN).json()
    for method, path, body in (("POST", "/v1/sessions", {}),
                               ("POST", "/v1/sessions", {"id": "own", "isolation": "none"}),
                               ("POST", "/v1/sessions", {"id": "other"}),
                               ("PUT", OWN, {"root": "own", "labels": {"made": "by another"}}),
                               ("PUT", OWN, {"extra_roots": [{"path": str(kept.folder)}]}),
                               ("PUT", "/v1/sessions/other", {}),
                               ("PATCH", OWN, {"env": {"LD_PRELOAD": "/tmp/x"}}),
                               ("PATCH", OWN, {"idle_timeout_ms": 1}),
                               ("PATCH", OWN, {"labels": {"made": None}}),
                               ("DELETE", OWN, None),
                               ("DELETE", OWN + "?purge=true", None)):
        kept.request(method, path, json=body, token="kept",
                     headers={"Content-Type": "application/merge-patch+json"} if method == "PATCH" else None
                     ).problem(403, "insufficient_scope")
    assert kept.request("GET", OWN, token="kept").json() == before
    assert [item["id"] for item in kept.request("GET", "/v1/sessions").json()["items"]] == ["default", "own"]


def test_a_session_that_is_gone_is_not_made_again_by_it(kept):
    assert kept.request("DELETE", OWN).status == 204
    for method, path in (("PUT", OWN), ("POST", "/v1/sessions")):
        kept.request(method, path, json={"id": "own"}, token="kept").problem(403, "insufficient_scope")
    kept.request("GET", OWN, token="kept").problem(404, "session_not_found")


def test_an_administrator_bound_to_a_session_may_change_delete_and_create_it(kept):
    assert kept.request("PATCH", OWN, json={"labels": {"a": "b"}}, token="master",
                        headers={"Content-Type": "application/merge-patch+json"}).status == 200
    assert kept.request("DELETE", OWN, token="master").status == 204
    assert kept.request("PUT", OWN, json={}, token="master").status == 201
    kept.request("PUT", "/v1/sessions/other", json={}, token="master").problem(403, "insufficient_scope")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs commands as others")
def test_it_names_no_other_user_than_the_session(start_agent):
    agent = start_agent(tokens=("kept exec own",))
    agent.root.chmod(0o777)
    for above in agent.root.parents:
        if str(above).startswith("/tmp/"):
            above.chmod(0o755)
    agent.session(id="own", user="1000")
    commands = OWN + "/commands"
    assert agent.request("POST", commands, json={"command": "id -u"}, token="kept").json()["stdout"] == "1000\n"
    assert agent.request("POST", commands, json={"command": "id -u", "user": "1000"}, token="kept").status == 200
    asked = {"command": "touch taken", "user": "0"}
    agent.request("POST", commands, json=asked, token="kept").problem(403, "cannot_switch_user")
    agent.request("POST", query("/v1/run", session="own"), json=asked, token="kept").problem(403, "cannot_switch_user")
    with agent.ws("/v1/connect", token="kept") as ws:
        ws.send({"type": "start", "channel": 1, "session": "own", **asked})
        answer = ws.recv()
        assert (answer["type"], answer.get("code")) == ("error", "cannot_switch_user"), answer
    assert not (agent.root / "taken").exists()
    assert agent.run("id -u", session="own", user="0")["stdout"] == "0\n"
