"""Late binding of a warm sandbox, and how its life ends by itself."""

import concurrent.futures
import hashlib

import pytest

from test_auth import Signer
from waiting import until, with_time


def digest(token):
    return hashlib.sha256(token.encode()).hexdigest()


def test_init_binds_the_sandbox_for_all_sessions(agent):
    before = agent.session()
    answer = agent.request("POST", "/v1/init", json={
        "env": {"COLOUR": "blue", "HOME": "/elsewhere", "ITEST_GONE": None}, "secret_env": {"KEY": "s3cr3t-value"},
        "labels": {"team": "a"}, "token_sha256": [digest("second-token")],
        "setup": {"command": "echo setup $COLOUR; echo made > made; exit 3"}})
    assert answer.status == 200, answer
    setup = answer.json()["setup"]
    assert (setup["stdout"], setup["exit_code"], setup["cause"]) == ("setup blue\n", 3, "exited")
    assert (agent.root / "made").read_text() == "made\n"
    assert agent.run("echo $COLOUR $KEY $HOME", session=before)["stdout"] == "blue s3cr3t-value /elsewhere\n"
    assert agent.run("echo ${COLOUR-none}", env={"COLOUR": "red"})["stdout"] == "red\n"
    plain = agent.session(env_inherit=False)
    assert agent.run("echo ${COLOUR-none}", session=plain)["stdout"] == "none\n"
    assert agent.request("GET", "/v1/sessions", token="second-token").status == 200
    assert agent.request("GET", "/v1/version").json()["labels"] == {"team": "a"}
    assert "s3cr3t-value" not in agent.request("GET", f"/v1/sessions/{before}").text + agent.log()


def test_init_is_for_once(agent):
    assert agent.request("POST", "/v1/init", json={}).json()["setup"] is None
    agent.request("POST", "/v1/init", json={"env": {"LATE": "1"}}).problem(409, "already_initialised")
    assert agent.run("echo ${LATE-none}")["stdout"] == "none\n"


def test_of_many_inits_at_the_same_time_one_counts(agent):
    def init(number):
        setup = {"command": "true", "timeout_ms": 10_000}
        return agent.request("POST", "/v1/init", json={"token_sha256": [digest(f"token-{number}")], "setup": setup}).status

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        statuses = list(pool.map(init, range(16)))
    assert sorted(statuses) == [200] + [409] * 15
    accepted = [number for number in range(16) if agent.request("GET", "/v1/sessions", token=f"token-{number}").status == 200]
    assert accepted == [statuses.index(200)]


@pytest.mark.parametrize("bad, field", [
    ({"token_sha256": ["x" * 64]}, "/token_sha256/0"),
    ({"token_sha256": [digest("a"), "beef"]}, "/token_sha256/1"),
    ({"public_keys": ["not a key"]}, "/public_keys/0"),
    ({"env": {"A=B": "1"}}, "/env"),
    ({"ttl_ms": 0}, "/ttl_ms"),
    ({"setup": {"command": "a\0b"}}, "/setup/command"),
    ({"surprise": 1}, "/surprise"),
])
def test_a_bad_init_changes_nothing_and_can_be_mended(agent, bad, field):
    problem = agent.request("POST", "/v1/init", json={
        "env": {"COLOUR": "blue"}, "labels": {"a": "b"}, "token_sha256": [digest("second")], **bad}).problem(400)
    assert problem["field"].startswith(field), problem
    assert agent.run("echo ${COLOUR-none}")["stdout"] == "none\n"
    agent.request("GET", "/v1/sessions", token="second").problem(401)
    assert agent.request("GET", "/v1/version").json()["labels"] == {}
    assert agent.request("POST", "/v1/init", json={"env": {"COLOUR": "blue"}}).status == 200
    assert agent.run("echo $COLOUR")["stdout"] == "blue\n"


def test_an_init_whose_setup_finds_no_place_changes_nothing(start_agent):
    agent = start_agent("--max-commands", "1")
    cid = agent.start("sleep 300")["id"]
    body = {"env": {"COLOUR": "blue"}, "secret_env": {"TASTE": "sour"}, "labels": {"a": "b"}, "setup": {"command": "true"}}
    agent.request("POST", "/v1/init", json=body).problem(429, "too_many_commands")
    assert agent.request("DELETE", f"/v1/commands/{cid}").status == 204
    assert agent.run("echo ${COLOUR-none} ${TASTE-none}")["stdout"] == "none none\n"
    assert agent.request("GET", "/v1/version").json()["labels"] == {}
    assert agent.request("POST", "/v1/init", json=body).json()["setup"]["exit_code"] == 0
    assert agent.run("echo $COLOUR $TASTE")["stdout"] == "blue sour\n"


def test_init_takes_public_keys(start_agent, tmp_path):
    folder = tmp_path / "keys"
    folder.mkdir()
    signer = Signer(folder)
    agent = start_agent("--sandbox-id", "box-1")
    agent.request("GET", "/v1/sessions", token=signer.token()).problem(401)
    assert agent.request("POST", "/v1/init", json={"public_keys": [signer.public.read_text()]}).status == 200
    assert agent.request("GET", "/v1/sessions", token=signer.token()).status == 200


def test_a_setup_that_takes_too_long_is_ended_and_seen(start_agent):
    def set_up(seconds):
        setup = {"command": "echo begun; sleep 300", "timeout_ms": int(seconds * 1000)}
        return start_agent().request("POST", "/v1/init", json={"setup": setup}).json()["setup"]

    setup = with_time(set_up, lambda setup: setup["stdout"])
    assert setup["cause"] == "timeout" and setup["stdout"] == "begun\n"


def test_init_and_lease_are_for_administrators(start_agent, tmp_path):
    (tmp_path / "tokens").write_text("boss\nworker exec\nbound admin s1\n")
    agent = start_agent("--token-file", tmp_path / "tokens", credential=False)
    for path in "/v1/init", "/v1/lease":
        for token in "worker", "bound":
            agent.request("POST", path, json={}, token=token).problem(403, "insufficient_scope")
        assert agent.request("POST", path, json={}, token="boss").status == 200


def test_the_agent_ends_with_status_0_when_its_lease_is_over(agent):
    with agent.stream("POST", "/v1/commands", json={"command": "echo up; sleep 300", "mode": "stream"}) as stream:
        events = stream.events()
        next(events), next(events)
        answer = agent.request("POST", "/v1/lease", json={"ttl_ms": 50}).json()
        assert answer["lease"]["ttl_ms"] == 50 and answer["lease"]["expires_at"]
        assert list(events)[-1]["cause"] == "shutdown"
    assert agent.process.wait(20) == 0
    assert "the lease is over" in agent.log()


def test_a_lease_can_be_renewed_and_given_up(agent):
    first = agent.request("POST", "/v1/lease", json={"ttl_ms": 3_600_000}).json()["lease"]
    again = agent.request("POST", "/v1/lease", json={}).json()["lease"]
    assert again["ttl_ms"] == 3_600_000 and again["expires_at"] >= first["expires_at"]
    idle = agent.request("POST", "/v1/lease", json={"idle_ttl_ms": 3_600_000}).json()["lease"]
    assert idle["idle_ttl_ms"] == 3_600_000 and idle["ttl_ms"] == 3_600_000
    none = agent.request("POST", "/v1/lease", json={"ttl_ms": None, "idle_ttl_ms": None}).json()["lease"]
    assert none == {"ttl_ms": None, "expires_at": None, "idle_ttl_ms": None}
    assert agent.request("GET", "/v1/activity").json()["lease"] == none


def test_an_idle_sandbox_ends_although_it_is_looked_at(start_agent):
    agent = start_agent("--idle-ttl", "300ms", warm=False)
    while True:
        try:
            agent.request("GET", "/v1/activity", timeout=5)
        except OSError:
            break
    assert agent.process.wait(20) == 0
    assert "idle" in agent.log()


def test_whatever_is_open_keeps_a_sandbox_from_being_idle(agent):
    cid = agent.start("sleep 300")["id"]
    with agent.ws("/v1/connect") as ws:
        agent.request("POST", "/v1/lease", json={"idle_ttl_ms": 1})
        for _ in range(20):
            ws.ping()
            assert agent.request("GET", "/v1/activity").json()["in_use"] is True
        agent.request("DELETE", f"/v1/commands/{cid}")
        for _ in range(20):
            ws.ping()
        assert agent.running()
    assert agent.process.wait(20) == 0


def test_a_lease_can_be_had_from_the_start(start_agent):
    agent = start_agent("--ttl", "100ms", warm=False)
    assert agent.process.wait(20) == 0


def test_init_sets_the_lease(agent):
    lease = agent.request("POST", "/v1/init", json={"ttl_ms": 50, "idle_ttl_ms": 3_600_000}).json()["lease"]
    assert (lease["ttl_ms"], lease["idle_ttl_ms"]) == (50, 3_600_000)
    assert agent.process.wait(20) == 0
    until(lambda: not agent.strays())
