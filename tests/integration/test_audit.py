"""The audit log: who did what, as JSON lines, with nothing secret in it and nothing lost."""

import concurrent.futures
import hashlib
import json
import signal

from test_auth import Signer
from waiting import until

SECRET = "very-secret-words"


def lines(path, event=None, **fields):
    """The log's objects with these fields."""
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return [one for one in found if (event is None or one["event"] == event) and fields.items() <= one.items()]


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def test_the_audit_log_contains_requests_and_commands_with_their_subjects(start_agent, tmp_path):
    log = tmp_path / "audit"
    agent = start_agent("--audit-log", log, warm=False)
    who = "token:" + sha256(agent.token)[:8]
    command = f"echo {SECRET}; cat"
    result = agent.run(command, secret_env={"S": SECRET + "1"}, env={"E": SECRET + "2"}, stdin=SECRET + "3")
    sid = agent.session()
    agent.run(argv=["echo", "a b"], session=sid)
    agent.request("GET", "/v1/sessions/nope").problem(404)
    agent.request("GET", "/v1/sessions?limit=1", headers={"Authorization": f"Bearer {SECRET}"}).problem(401)
    agent.request("GET", "/healthz")
    assert agent.terminate() == 143

    started = lines(log, "command", command=result["id"])
    assert [(one["who"], one["session"], one["sha256"], one["size_bytes"]) for one in started] == [
        (who, "default", sha256(command), len(command))]
    (asked,) = lines(log, "request", command=result["id"])
    assert asked["route"] == "/v1/sessions/{sid}/commands" and asked["status"] == 200 and asked["who"] == who
    assert asked["request_id"] == started[0]["request_id"] and asked["session"] == "default"
    assert lines(log, "command", session=sid, sha256=sha256("echo\0a b\0"))
    assert lines(log, "request", status=404, session="nope", route="/v1/sessions/{sid}")
    (stranger,) = lines(log, "request", status=401)
    assert "who" not in stranger and stranger["route"] == "/v1/sessions"
    assert not lines(log, route="/healthz")
    assert SECRET not in log.read_text() and agent.token not in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


def test_the_audit_log_contains_command_lines_only_if_a_flag_says_so(start_agent, tmp_path):
    log = tmp_path / "audit"
    agent = start_agent("--audit-log", log, "--audit-commands", warm=False)
    agent.run("echo visible", secret_env={"S": SECRET})
    agent.run(argv=["echo", "visible too"])
    assert agent.terminate() == 143
    assert lines(log, "command", command_line="echo visible")
    assert lines(log, "command", argv=["echo", "visible too"])
    assert SECRET not in log.read_text()


def test_the_audit_log_contains_no_control_characters(start_agent, tmp_path):
    log = tmp_path / "audit"
    agent = start_agent("--audit-log", log, "--audit-commands", warm=False)
    line = "true '\x7f\x80\x9b2J\xa0\xe9\u20ac\x1b'"
    agent.run(line)
    assert agent.terminate() == 143
    assert lines(log, "command", command_line=line)
    assert not [one for one in log.read_text() if one != "\n" and (one < " " or "\x7f" <= one < "\xa0")]


def test_the_audit_log_contains_commands_of_websockets_and_no_repeats(start_agent, tmp_path):
    log = tmp_path / "audit"
    agent = start_agent("--audit-log", log, "--audit-commands", warm=False)
    with agent.ws("/v1/connect", headers={"X-Request-Id": "the-socket"}) as ws:
        for channel in 1, 2:
            ws.send({"type": "start", "channel": channel, "session": "default", "id": "once", "command": "true"})
            ws.until("exit", channel=channel)
    assert agent.terminate() == 143
    (started,) = lines(log, "command")
    assert (started["command"], started["request_id"]) == ("once", "the-socket")
    assert lines(log, "request", route="/v1/connect", status=101)


def test_a_signed_token_is_named_by_its_subject(start_agent, tmp_path):
    folder = tmp_path / "keys"
    folder.mkdir()
    signer = Signer(folder)
    log = tmp_path / "audit"
    agent = start_agent("--audit-log", log, "--public-key", signer.public, "--sandbox-id", "box-1", warm=False)
    anonymous = signer.token()
    for token in signer.token(sub="alice", jti="t-1"), signer.token(jti="t-2"), anonymous:
        assert agent.request("GET", "/v1/sessions", token=token).status == 200
    assert agent.terminate() == 143
    assert lines(log, "request", who="jwt:alice") and lines(log, "request", who="jwt:t-2")
    assert lines(log, "request", who="jwt:" + sha256(anonymous)[:8])


def test_no_line_is_lost_when_it_is_rotated_under_load(start_agent, tmp_path):
    log = tmp_path / "audit"
    agent = start_agent("--audit-log", log, warm=False)

    def ask(number):
        assert agent.request("GET", "/v1/sessions", headers={"X-Request-Id": f"n{number}"}).status == 200

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for turn in range(5):
            jobs = [pool.submit(ask, turn * 50 + number) for number in range(50)]
            log.rename(tmp_path / f"audit.{turn}")
            agent.process.send_signal(signal.SIGHUP)
            for job in jobs:
                job.result()
            until(log.exists)
    assert agent.terminate() == 143
    told = [one["request_id"] for path in tmp_path.glob("audit*") for one in lines(path, "request")]
    assert sorted(told) == sorted(f"n{number}" for number in range(250))


def test_an_audit_log_that_cannot_be_written_stops_the_start(start_agent, tmp_path):
    try:
        start_agent("--audit-log", tmp_path / "nowhere" / "audit")
    except AssertionError as error:
        assert "ended with 2" in str(error) and "nowhere" in str(error)
    else:
        raise AssertionError("it started without its audit log")
