"""A client that repeats itself: an id is started at most once within one agent instance."""

import concurrent.futures

import pytest


def post(agent, session="default", **fields):
    return agent.request("POST", f"/v1/sessions/{session}/commands", json=fields)


def test_an_id_posted_fifty_times_at_once_runs_once(agent):
    body = {"command": "echo x >> runs; echo $$; sleep 0.2; echo done", "id": "once"}
    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        answers = [job.result() for job in [pool.submit(post, agent, **body) for _ in range(50)]]
    assert [answer.status for answer in answers] == [200] * 50
    assert (agent.root / "runs").read_text() == "x\n"
    assert len({answer.json()["stdout"] for answer in answers}) == 1
    assert {answer.json()["id"] for answer in answers} == {"once"}


def test_a_repeat_answers_the_finished_command_in_whatever_mode(agent):
    body = {"command": "echo x >> runs; echo out; exit 3", "id": "again"}
    assert post(agent, **body).json()["exit_code"] == 3
    assert post(agent, **body).json()["stdout"] == "out\n"
    with agent.stream("POST", "/v1/commands", json={**body, "mode": "stream"}) as stream:
        events = list(stream.events())
        assert [event["data"] for event in events if event["type"] == "output"] == ["out\n"]
        assert events[-1]["exit_code"] == 3
    answer = post(agent, **body, mode="background", timeout_ms=5, output={"keep_bytes": 200_000})
    assert answer.status == 202 and answer.json()["id"] == "again"
    assert (agent.root / "runs").read_text() == "x\n"


def test_a_repeat_joins_the_running_command(agent):
    started = agent.start("read x; echo got $x", id="live", stdin_open=True)
    with agent.stream("POST", "/v1/commands", json={"command": "read x; echo got $x", "id": "live", "stdin_open": True,
                                                    "mode": "stream"}) as stream:
        events = stream.events()
        assert next(events)["pid"] == started["pid"]
        agent.request("POST", "/v1/commands/live/stdin?eof=true", body=b"it\n")
        assert "got it\n" in [event.get("data") for event in events]


@pytest.mark.parametrize("other", [{"command": "echo b"}, {"env": {"A": "b"}}, {"cwd": "/"}, {"stdin": "x"},
                                   {"tty": {"cols": 80, "rows": 24}}, {"limits": {"open_files": 99}}], ids=str)
def test_the_same_id_with_other_content_is_a_conflict(agent, other):
    body = {"command": "echo a", "id": "taken"}
    assert post(agent, **body).status == 200
    post(agent, **{**body, **other}).problem(409, "command_conflict")
    assert post(agent, **body).json()["stdout"] == "a\n"


def test_argv_and_command_of_the_same_words_are_other_content(agent):
    assert post(agent, argv=["sh", "-c", "echo a"], id="taken").status == 200
    post(agent, command="echo a", id="taken").problem(409, "command_conflict")


def test_a_forgotten_id_is_gone_and_not_run_again(agent):
    body = {"command": "echo x >> runs", "id": "gone"}
    assert post(agent, **body).status == 200
    assert agent.request("DELETE", "/v1/commands/gone").status == 204
    post(agent, **body).problem(410, "command_forgotten")
    assert (agent.root / "runs").read_text() == "x\n"


def test_an_id_is_used_up_also_in_a_session_that_is_made_again(agent):
    body = {"command": "echo x >> runs", "id": "c"}
    agent.session(id="s")
    assert post(agent, "s", **body).status == 200
    assert agent.request("DELETE", "/v1/sessions/s").status == 204
    agent.session(id="s")
    post(agent, "s", **body).problem(410, "command_forgotten")
    assert (agent.root / "runs").read_text() == "x\n"


def test_an_id_belongs_to_its_session(agent):
    agent.session(id="one")
    agent.session(id="two")
    assert post(agent, "one", command="echo 1", id="c").json()["stdout"] == "1\n"
    assert post(agent, "two", command="echo 2", id="c").json()["stdout"] == "2\n"


def test_a_command_meant_for_another_instance_is_refused(agent):
    instance = agent.request("GET", "/healthz").headers["X-Skiff-Instance"]
    assert post(agent, command="echo hi", id="a", if_instance=instance).status == 200
    post(agent, command="echo x >> runs", id="b", if_instance="other").problem(409, "instance_changed")
    assert not (agent.root / "runs").exists()
    assert post(agent, command="echo hi", id="b", if_instance=instance).status == 200


def test_a_spawn_failure_is_an_answer_that_can_be_repeated(agent):
    body = {"argv": ["/no/such/program"], "id": "failed"}
    first, again = post(agent, **body).json(), post(agent, **body).json()
    assert first["cause"] == again["cause"] == "spawn_failed"


def test_a_refused_request_does_not_use_up_its_id(agent):
    post(agent, command="true", id="later", unheard_of=1).problem(400)
    assert post(agent, command="echo now", id="later").json()["stdout"] == "now\n"


@pytest.mark.parametrize("cid", ["-a", "a" * 65, "a/b", "", "ä", "a b", ".."])
def test_an_id_of_another_form_is_refused(agent, cid):
    post(agent, command="true", id=cid).problem(400)


def test_a_lost_answer_is_found_again(agent):
    for number in range(20):
        body = {"command": f"echo {number} >> runs; echo {number}", "id": f"retry-{number}"}
        agent.stream("POST", "/v1/commands", json={**body, "mode": "stream"}).close()
        assert post(agent, **body).json()["stdout"] == f"{number}\n"
    assert sorted(map(int, (agent.root / "runs").read_text().split())) == list(range(20))
