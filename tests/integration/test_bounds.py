"""Every limit is a setting, and reaching it gets a clear answer: counts, times, kept output."""

import contextlib

import pytest

import proc
from sockets import RawWs
from waiting import until, with_time
from wire import check_contiguous, gather, parse, request_bytes


def test_more_sessions_than_allowed_are_refused_until_one_goes(start_agent):
    agent = start_agent("--max-sessions", "3")  # the default one included
    first, _ = agent.session(), agent.session()
    refused = agent.request("POST", "/v1/sessions", json={})
    refused.problem(429, "too_many_sessions")
    assert refused.headers["Retry-After"]
    assert agent.request("DELETE", f"/v1/sessions/{first}").status == 204
    agent.session()


def test_more_live_commands_than_allowed_are_refused_until_one_ends(start_agent):
    agent = start_agent("--max-commands", "2")
    running = [agent.start("sleep 300")["id"] for _ in range(2)]
    refused = agent.request("POST", "/v1/commands", json={"command": "true"})
    refused.problem(429, "too_many_commands")
    assert refused.headers["Retry-After"]
    assert agent.request("DELETE", f"/v1/commands/{running[0]}").status == 204
    assert agent.run("echo room")["stdout"] == "room\n"


def test_more_connections_than_allowed_are_refused_until_one_goes(start_agent):
    agent = start_agent("--max-connections", "8")
    agent.start("exec sleep 1000", id="long")
    with contextlib.ExitStack() as held:
        for _ in range(8):
            assert held.enter_context(agent.stream("GET", "/v1/commands/long/output?follow=true")).status == 200  # and goes on
        for _ in range(40):
            refused = agent.request("GET", "/v1/version")
            refused.problem(503, "too_many_connections")
            assert refused.headers["Retry-After"]
    until(lambda: agent.request("GET", "/v1/version").status == 200, what="room for a connection")
    assert agent.run("echo hi")["stdout"] == "hi\n"


def test_only_so_many_ended_commands_are_kept_the_oldest_goes_first(start_agent):
    agent = start_agent("--max-ended-commands", "3")
    for number in range(6):
        assert agent.run("true", id=f"c{number}")["exit_code"] == 0
    kept = until(lambda: len(items := agent.request("GET", "/v1/commands").json()["items"]) <= 3 and items)
    assert [item["id"] for item in kept] == ["c3", "c4", "c5"]
    agent.request("POST", "/v1/commands", json={"command": "true", "id": "c0"}).problem(410, "command_forgotten")


def test_ended_commands_are_forgotten_after_their_time(start_agent):
    agent = start_agent("--ended-command-ttl", "300ms")
    cid = agent.run("echo hi")["id"]
    assert agent.run("echo hi", id="mine")["id"] == "mine"
    until(lambda: agent.request("GET", "/v1/commands/mine").status != 200)
    # Only the ids of clients are remembered: those of the agent never come again.
    agent.request("GET", "/v1/commands/mine").problem(410, "command_forgotten")
    agent.request("GET", f"/v1/commands/{cid}").problem(404, "command_not_found")
    assert agent.request("GET", "/v1/commands").json()["items"] == []


def test_a_client_that_dribbles_its_headers_is_cut_off(start_agent):
    agent = start_agent("--header-timeout", "300ms")
    with agent.connect() as sock:
        sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: local")
        answer = sock.makefile("rb").read()
    parse(answer).problem(408, "request_timeout")
    assert agent.request("GET", "/healthz").status == 200


def test_a_client_that_never_sends_its_body_is_cut_off(start_agent):
    agent = start_agent("--body-timeout", "300ms")
    head = agent.headers({"Content-Type": "application/json", "Content-Length": "50"})
    answer = agent.exchange(request_bytes("POST", "/v1/commands", head, b'{"command"'))
    parse(answer).problem(408, "request_timeout")


def test_an_idle_connection_is_closed(start_agent):
    agent = start_agent("--idle-timeout", "300ms")
    with agent.stream("GET", "/healthz") as stream:
        stream.read()
        assert stream.file.read() == b""


def test_a_connection_with_a_slow_command_is_not_idle(start_agent):
    # A client on a busy machine may need a while for its handshake, but not as long as the commands take.
    agent = start_agent("--idle-timeout", "100ms", "--header-timeout", "900ms", "--body-timeout", "100ms")
    assert agent.run("sleep 1; echo done")["stdout"] == "done\n"
    with agent.stream("POST", "/v1/commands", json={"command": "sleep 1; echo done", "mode": "stream"}) as stream:
        assert gather(list(stream.events()))[0] == b"done\n"
    with agent.ws("/v1/connect") as ws:
        assert agent.run("sleep 1")["exit_code"] == 0
        ws.ping()


def test_a_websocket_client_that_takes_nothing_is_dropped_and_can_resume(start_agent):
    agent = start_agent("--write-timeout", "500ms")
    if agent.baseline is None:
        pytest.skip("only root can count the agent's descriptors")
    started = agent.start("exec head -c 40000000 /dev/zero", output={"keep_bytes": 64 * 1024 * 1024})
    path = f"/v1/sessions/default/commands/{started['id']}/attach"
    with RawWs(agent.connect(), path, agent.headers()) as ws:
        until(lambda: gone(agent), what="the end of a connection that takes nothing")
        assert ws.close_code() in (4008, None)  # the code may not fit behind a frame that is half written
    # In pieces that the socket holds: on a busy machine this reader, too, may take nothing for half a second.
    had = 0
    while piece := agent.request("GET", f"/v1/commands/{started['id']}/output?from={had}&limit_bytes=1000000",
                                 headers={"Accept": "application/octet-stream"}).body:
        assert piece.strip(b"\0") == b""
        had += len(piece)
    assert had == 40_000_000


def gone(agent):
    """True once the agent has no more connections than it had at the beginning."""
    return agent.descriptor_count() <= agent.baseline


def test_a_lossless_reader_that_takes_nothing_loses_that_right(start_agent):
    agent = start_agent("--write-timeout", "500ms")
    body = {"command": "head -c 60000000 /dev/zero; touch over", "mode": "stream", "id": "c"}
    with agent.stream("POST", "/v1/commands", json=body):
        until((agent.root / "over").exists, 60)  # it was held up for a while, not for ever
        shown = agent.ended("c")
    assert shown["exit_code"] == 0


def test_a_silent_websocket_peer_is_pinged_and_dropped(start_agent):
    agent = start_agent("--keepalive", "100ms")
    with agent.raw_ws("/v1/connect") as ws:
        assert ws.recv()[0] == 9  # a ping, which this client never answers
        assert ws.close_code() is None  # nobody is there to say it to


def test_a_websocket_peer_that_answers_pings_stays(start_agent):
    agent = start_agent("--keepalive", "100ms")
    with agent.raw_ws("/v1/connect") as ws:
        for _ in range(15):
            opcode, payload = ws.recv()
            assert opcode == 9
            ws.send(10, payload)
        ws.send(1, b'{"type":"ping"}')
        while (frame := ws.recv())[0] == 9:
            ws.send(10, frame[1])
        assert b"pong" in frame[1]


def test_smaller_limits_of_requests_are_kept(start_agent):
    agent = start_agent("--max-json-bytes", "4KiB", "--max-header-bytes", "2KiB", "--max-target-bytes", "512",
                        "--max-frame-bytes", "2KiB")
    assert agent.request("POST", "/v1/commands", json={"command": "#" * 5000}).status == 413
    assert agent.request("GET", "/healthz", headers={"X": "x" * 3000}).status == 431
    assert agent.request("GET", "/healthz?" + "x" * 600).status == 414
    with agent.raw_ws("/v1/connect") as ws:
        ws.send(1, b" " * 3000)
        assert ws.close_code() == 1009


def test_the_grace_of_the_setting_is_used_where_the_request_does_not_say(start_agent):
    agent = start_agent("--kill-grace", "100ms")
    stays = "trap '' TERM; echo begun; while :; do sleep 0.05; done"
    result = with_time(lambda seconds: agent.run(stays, timeout_ms=int(seconds * 1000)), lambda result: result["stdout"])
    assert (result["cause"], result["signal"]) == ("timeout", "SIGKILL")


def test_a_stop_is_bounded_whatever_the_commands_grace(start_agent):
    agent = start_agent("--drain-timeout", "1s")
    agent.start("trap '' TERM; while :; do sleep 0.05; done", kill_grace_ms=600_000)
    assert agent.terminate() == 143 and not agent.strays()


def test_output_of_all_commands_together_is_bounded(start_agent):
    agent = start_agent("--output-memory", "16MiB", "--keep-bytes", "8MiB")
    before = proc.rss_bytes(agent.pid)
    for number in range(20):
        assert agent.run("seq 1000000", id=f"c{number}", output={"max_output_bytes": 10})["exit_code"] == 0
    assert proc.rss_bytes(agent.pid) - before < proc.allowance(48 * 1024 * 1024)
    assert check_contiguous(agent.output("c0")) == check_contiguous(agent.output("c19")) == 6_888_896


def test_output_that_does_not_fit_in_memory_is_read_back_from_the_data_directory(start_agent, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    agent = start_agent("--data-dir", data, "--output-memory", "4MiB", "--keep-bytes", "1MiB")
    cid = agent.start("seq 1000000", output={"keep_bytes": 1024 * 1024})["id"]
    assert agent.ended(cid)["exit_code"] == 0
    events = agent.output(cid)
    assert gather(events)[0] == "".join(f"{number}\n" for number in range(1, 1_000_001)).encode()
    assert agent.request("DELETE", f"/v1/commands/{cid}").status == 204
    assert agent.terminate() == 143
    assert sum(file.stat().st_size for file in data.rglob("*") if file.is_file()) < 1024 * 1024
