"""A command that takes an hour to be ended: its session is not lost with it, and its end has a limit."""

import threading

from waiting import until

STUBBORN = "trap '' TERM; touch ready; while :; do sleep 0.1; done"
AN_HOUR = 3_600_000


def begin(agent):
    agent.session(id="s")
    agent.start(STUBBORN, session="s", id="c", kill_grace_ms=AN_HOUR)
    until((agent.root / "ready").exists, what="a command that ignores SIGTERM")


def deleted_in_a_thread(agent, answers):
    thread = threading.Thread(target=lambda: answers.append(agent.request("DELETE", "/v1/sessions/s").status))
    thread.start()
    until(lambda: agent.request("POST", "/v1/sessions/s/commands", json={"command": "true"}).status == 404,
          what="a session that takes no commands")
    return thread


def test_a_deleted_session_ends_in_spite_of_a_long_grace(start_agent):
    agent = start_agent("--drain-timeout", "500ms")
    begin(agent)
    assert agent.request("DELETE", "/v1/sessions/s", timeout=20).status == 204
    agent.request("GET", "/v1/sessions/s").problem(404, "session_not_found")


def test_processes_that_outlive_a_deletion_are_listed_and_can_be_killed(start_agent):
    agent = start_agent("--drain-timeout", "10m")
    begin(agent)
    answers = []
    deleting = deleted_in_a_thread(agent, answers)
    assert agent.request("GET", "/v1/sessions/s/commands/c").json()["state"] == "running"
    assert agent.request("GET", "/v1/sessions/s/processes").json()["items"]
    for method, path in (("PUT", "/v1/sessions/s"), ("POST", "/v1/sessions")):
        agent.request(method, path, json={"id": "s"}).problem(409, "session_conflict")
    assert agent.request("POST", "/v1/sessions/s/commands/c/signal", json={"signal": "SIGKILL"}).status == 204
    deleting.join()
    assert answers == [204]
    assert agent.request("PUT", "/v1/sessions/s", json={}).status == 201


def test_a_session_is_deleted_although_the_client_that_asked_has_left(start_agent):
    agent = start_agent("--drain-timeout", "10m")
    begin(agent)
    with agent.connect() as sock:
        sock.sendall(f"DELETE /v1/sessions/s HTTP/1.1\r\nHost: {agent.host}\r\n"
                     f"Authorization: Bearer {agent.token}\r\n\r\n".encode())
        until(lambda: agent.request("POST", "/v1/sessions/s/commands", json={"command": "true"}).status == 404,
              what="a session that takes no commands")
    assert agent.request("POST", "/v1/sessions/s/commands/c/signal", json={"signal": "SIGKILL"}).status == 204
    until(lambda: agent.request("PUT", "/v1/sessions/s", json={}).status == 201, what="the end of the session")
