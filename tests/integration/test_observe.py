"""The agent describes itself: metrics as Prometheus reads them, stats, ports, activity, and traces."""

import json
import os
import socket

import pytest
from prometheus_client.parser import text_string_to_metric_families

import proc
from waiting import is_same_moment, until

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class Metrics:
    """One scrape, parsed by Prometheus' own parser."""

    def __init__(self, agent):
        answer = agent.request("GET", "/metrics")
        assert answer.status == 200, answer
        assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        self.families = {family.name: family for family in text_string_to_metric_families(answer.text)}

    def __call__(self, name, **labels):
        """The one sample with that name and at least those labels; 0 when it has none yet."""
        family = next(family for known, family in self.families.items() if name.startswith(known))
        found = [s.value for s in family.samples if s.name == name and labels.items() <= s.labels.items()]
        assert len(found) <= 1, found
        return found[0] if found else 0


def test_metrics_are_parsed_and_say_what_happened(agent):
    before = Metrics(agent)
    assert agent.run("echo hello; echo oops >&2; exit 3")["exit_code"] == 3
    agent.run(argv=["/nonexistent/program"])
    agent.run("kill -9 $$")
    agent.request("GET", "/v1/nothing-here").problem(404)
    after = Metrics(agent)

    def grown(name, **labels):
        return after(name, **labels) - before(name, **labels)

    commands = {"route": "/v1/sessions/{sid}/commands", "method": "POST"}
    assert grown("skiff_requests_total", status="2xx", **commands) == 3
    assert grown("skiff_request_duration_seconds_count", **commands) == 3
    assert grown("skiff_request_duration_seconds_bucket", le="+Inf", **commands) == 3
    assert grown("skiff_requests_total", route="-", method="-", status="4xx") == 1
    assert grown("skiff_commands_started_total") == 3
    assert grown("skiff_commands_ended_total", cause="exited") == 1
    assert grown("skiff_commands_ended_total", cause="signaled") == 1
    assert grown("skiff_commands_ended_total", cause="spawn_failed") == 1
    assert grown("skiff_spawn_duration_seconds_count") == 3
    assert grown("skiff_output_bytes_total", stream="stdout") == 6
    assert grown("skiff_output_bytes_total", stream="stderr") == 5
    assert after("skiff_build_info") == 1 and after("skiff_sessions") == 1
    assert after("process_cpu_seconds_total") > 0 and after("process_open_fds") > 3
    assert after("process_resident_memory_bytes") > 1 << 20
    assert {family.type for family in after.families.values()} == {"counter", "gauge", "histogram"}
    assert all(family.documentation for family in after.families.values())


def test_metrics_follow_what_is_open(agent):
    cid = agent.start("sleep 300")["id"]
    with agent.ws("/v1/connect") as ws:
        ws.ping()
        metrics = Metrics(agent)
        assert metrics("skiff_commands_live") == 1 and metrics("skiff_websockets") == 1
        assert metrics("skiff_connections") >= 2
    agent.request("DELETE", f"/v1/commands/{cid}")
    until(lambda: Metrics(agent)("skiff_commands_live") == 0)
    until(lambda: Metrics(agent)("skiff_websockets") == 0)


def test_dropped_output_is_a_gap_in_the_metrics(agent):
    agent.run("head -c 2000000 /dev/zero", output={"overflow": "drop", "keep_bytes": 131072})
    metrics = Metrics(agent)
    assert metrics("skiff_output_gaps_total") == 1
    assert 1_500_000 < metrics("skiff_output_gap_bytes_total") < 2_000_000
    assert metrics("skiff_output_kept_bytes") >= 131072


def test_a_request_that_is_not_http_is_counted(agent):
    agent.exchange(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
    assert Metrics(agent)("skiff_requests_total", route="-", status="4xx") == 1


def test_metrics_need_a_credential(agent):
    agent.request("GET", "/metrics", headers={"Authorization": None}).problem(401, "unauthenticated")


def test_stats_have_every_part_and_null_for_what_is_not_known(agent):
    stats = agent.request("GET", "/v1/stats").json()
    assert stats["cgroup_version"] in (1, 2, None)
    assert stats["cpu"]["cores"] == len(os.sched_getaffinity(0))
    assert set(stats["cpu"]) == {"cores", "limit_millis", "used_ms", "throttled_ms"}
    assert set(stats["memory"]) == {"used_bytes", "limit_bytes", "peak_bytes", "oom_kills"}
    assert set(stats["pids"]) == {"used", "limit"}
    (disk,) = stats["disk"]
    expected = os.statvfs(agent.root)
    assert disk["path"] == str(agent.root) and disk["total_bytes"] == expected.f_blocks * expected.f_frsize
    counted = len(proc.descriptors(agent.pid))  # by root alone
    assert stats["agent"]["open_files"] == pytest.approx(counted, abs=3) if counted else stats["agent"]["open_files"] > 3
    assert stats["commands"] == {"live": 0, "limit": 512}
    assert stats["uptime_ms"] >= 0 and stats["agent"]["rss_bytes"] > 1 << 20


LISTENER = "import socket,time; s=socket.socket(); s.bind(('127.0.0.1',0)); s.listen(); " \
           "print(s.getsockname()[1],flush=True); time.sleep(300)"


def test_ports_are_listed_with_the_command_that_listens(agent):
    cid = agent.start(argv=["/usr/bin/python3", "-c", LISTENER])["id"]
    port = int(until(lambda: agent.request("GET", f"/v1/commands/{cid}/output", headers={
        "Accept": "application/octet-stream"}).text))
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        items = {item["port"]: item for item in agent.request("GET", "/v1/ports").json()["items"]}
        assert items[port]["command"] == cid and items[port]["session"] == "default"
        assert items[port]["address"] == "127.0.0.1" and proc.alive(items[port]["pid"])
        assert items[agent.port]["pid"] == agent.pid and "command" not in items[agent.port]
        assert "command" not in items[other.getsockname()[1]]


def test_looking_at_a_sandbox_does_not_count_as_activity(agent):
    idle = agent.request("GET", "/v1/activity").json()
    assert idle["in_use"] is False and idle["live_commands"] == 0
    assert idle["lease"] == {"ttl_ms": None, "expires_at": None, "idle_ttl_ms": None}
    agent.request("GET", "/v1/activity")
    agent.request("GET", "/metrics")
    agent.request("GET", "/v1/stats")
    assert is_same_moment(agent.request("GET", "/v1/activity").json()["last_used_at"], idle["last_used_at"])
    agent.request("GET", "/v1/nothing").problem(404)
    agent.request("GET", "/v1/sessions", headers={"Authorization": "Bearer wrong"}).problem(401)
    assert is_same_moment(agent.request("GET", "/v1/activity").json()["last_used_at"], idle["last_used_at"])
    cid = agent.start("sleep 300")["id"]
    busy = agent.request("GET", "/v1/activity").json()
    assert busy["in_use"] is True and busy["idle_ms"] == 0 and busy["live_commands"] == 1
    agent.request("DELETE", f"/v1/commands/{cid}")
    until(lambda: not agent.request("GET", "/v1/activity").json()["in_use"])
    with agent.ws("/v1/connect") as ws:
        ws.ping()
        busy = agent.request("GET", "/v1/activity").json()
        assert busy["in_use"] is True and busy["open_websockets"] == 1
    assert agent.request("GET", "/v1/activity").json()["last_used_at"] > idle["last_used_at"]


def logged(agent, request_id):
    """The access log's line about a request; it is written when the answer is over, so after the client has it."""
    def line():
        whole = agent.log().rpartition("\n")[0].splitlines()
        return next((one for one in map(json.loads, whole) if one.get("request_id") == request_id), None)

    return until(line)


def test_the_log_tells_how_each_command_starts_and_ends(start_agent):
    agent = start_agent("--log-level", "debug")
    for fields in ({"id": "a", "argv": ["/nope/program"]}, {"id": "b", "argv": ["true"], "cwd": "/nope"}, {"id": "c", "argv": ["false"]},
                   {"id": "d", "command": "kill -9 $$"}):
        agent.request("POST", "/v1/commands", json=fields)

    def lines(command):
        whole = map(json.loads, agent.log().rpartition("\n")[0].splitlines())
        return [one for one in whole if one.get("command") == command and one["level"] == "debug"]

    absent, = until(lambda: lines("a"))
    assert absent["message"] == "command ended" and absent["session"] == "default"
    assert (absent["cause"], absent["stage"], absent["errno"]) == ("spawn_failed", "exec", "ENOENT")
    assert absent["error"] == 'exec "/nope/program": No such file or directory'
    elsewhere, = until(lambda: lines("b"))
    assert (elsewhere["cause"], elsewhere["stage"], elsewhere["errno"]) == ("spawn_failed", "chdir", "ENOENT")
    started, ended = until(lambda: lines("c")[1:] and lines("c"))
    assert started["message"] == "command started" and started["pid"] > 1
    assert started["program"] == "false"
    assert (ended["message"], ended["cause"], ended["exit_code"]) == ("command ended", "exited", 1) and ended["wall_ms"] > 0
    assert until(lambda: lines("d")[1:])[0]["signal"] == 9


def test_the_log_tells_how_sessions_kills_lost_output_and_refused_connections_come_about(start_agent):
    agent = start_agent("--log-level", "debug", "--max-connections", "1")

    def line(message, **fields):
        whole = map(json.loads, agent.log().rpartition("\n")[0].splitlines())
        return next((one for one in whole if one["message"] == message and fields.items() <= one.items()), None)

    sid = agent.session(root="work")
    cid = agent.start("yes | head -c 3000000; sleep 1000", session=sid, output={"keep_bytes": 131072})["id"]
    dropped = until(lambda: line("output dropped"))
    assert dropped["offset"] < dropped["next"]
    agent.request("DELETE", f"/v1/sessions/{sid}")
    assert until(lambda: line("session created", session=sid))["root"] == str(agent.root / "work")
    killed = until(lambda: line("command killed", command=cid))
    assert (killed["cause"], killed["all_processes_ended"]) == ("session_deleted", True)
    assert until(lambda: line("session deleted", session=sid))
    agent.start("sleep 1000", id="held")
    with agent.stream("GET", "/v1/commands/held/output?follow=true") as held:
        assert held.status == 200
        agent.request("GET", "/v1/version").problem(503, "too_many_connections")
        assert until(lambda: line("connection refused"))["peer"].startswith("127.0.0.1:")


def test_the_log_says_nothing_of_commands_unless_it_is_asked(agent):
    answer = agent.request("POST", "/v1/commands", json={"argv": ["/nope/program"], "id": "absent"})
    assert logged(agent, answer.headers["X-Request-Id"])
    assert "/nope/program" not in agent.log()


def test_a_trace_is_answered_logged_and_given_to_the_command(agent):
    answer = agent.request("POST", "/v1/commands", json={"command": "echo $TRACEPARENT"}, headers={"traceparent": TRACE})
    assert answer.json()["stdout"] == TRACE + "\n" and answer.headers["traceresponse"] == TRACE
    assert logged(agent, answer.headers["X-Request-Id"])["traceparent"] == TRACE
    with agent.ws("/v1/connect", headers={"traceparent": TRACE}) as ws:
        ws.send({"type": "start", "channel": 1, "session": "default", "command": "echo $TRACEPARENT"})
        assert ws.until("exit")[1]["data"] == TRACE + "\n"


@pytest.mark.parametrize("bad", [TRACE.upper(), TRACE[:-1], "00-" + "0" * 32 + TRACE[35:], "nonsense"])
def test_a_trace_that_cannot_be_is_dropped(agent, bad):
    answer = agent.request("POST", "/v1/commands", json={"command": "echo ${TRACEPARENT-none}"},
                           headers={"traceparent": bad})
    assert answer.json()["stdout"] == "none\n" and answer.headers["traceresponse"] is None
    assert logged(agent, answer.headers["X-Request-Id"])["traceparent"] == ""
