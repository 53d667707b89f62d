"""WebSockets: one command, many commands, both forms, and frames that are wrong."""

import base64
import json

import pytest
import websockets

import proc
from sockets import binary_header, binary_stdin
from waiting import until, until_still
from wire import bytes_of, check_contiguous, gather, query

MIB = 1024 * 1024


def attach(agent, cid, subprotocol=None, session="default", **fields):
    return agent.ws(query(f"/v1/sessions/{session}/commands/{cid}/attach", **fields), subprotocol)


def test_attach_gives_the_log_and_closes_after_the_exit(agent):
    cid = agent.run("echo out; echo err >&2; exit 3")["id"]
    with attach(agent, cid) as ws:
        frames = list(ws.frames())
        assert ws.code() == 1000
    out, err, others = gather(frames)
    assert (out, err) == (b"out\n", b"err\n") and check_contiguous(frames) == 8
    assert others[-1]["type"] == "exit" and others[-1]["exit_code"] == 3


def test_attach_takes_input_and_signals(agent):
    cid = agent.start("trap 'echo usr1' USR1; echo up; while read x; do echo got $x; done; echo over",
                      stdin_open=True)["id"]
    with attach(agent, cid, "skiff.v1.json") as ws:
        assert ws.subprotocol == "skiff.v1.json"
        ws.until("output")
        ws.send({"type": "stdin", "data": "a\n"})
        assert ws.until("output")[-1]["data"] == "got a\n"
        ws.send({"type": "stdin", "data_base64": base64.b64encode(b"b\n").decode()})
        assert ws.until("output")[-1]["data"] == "got b\n"
        ws.send({"type": "stdin_close"})
        assert gather(ws.until("exit"))[0] == b"over\n"
        assert ws.code() == 1000
    cid = agent.start("sleep 300")["id"]
    with attach(agent, cid) as ws:
        ws.send({"type": "signal", "signal": "SIGKILL"})
        assert ws.until("exit")[-1]["signal"] == "SIGKILL"


def test_attach_resumes_from_an_offset(agent):
    cid = agent.run("printf 0123456789")["id"]
    with attach(agent, cid, from_=4) as ws:
        assert gather(list(ws.frames()))[0] == b"456789"


def test_attach_until_end_also_gives_what_comes_late(agent):
    cid = agent.run("(sleep 0.6; echo late) & echo now")["id"]
    with attach(agent, cid, until="end") as ws:
        frames = list(ws.frames())
        assert ws.code() == 1000
    assert gather(frames)[0] == b"now\nlate\n" and frames[-1]["type"] == "end"


def test_a_terminal_is_resized_over_attach(agent):
    cid = agent.start("trap 'stty size' WINCH; echo up; while :; do sleep 0.05; done",
                      tty={"cols": 80, "rows": 24})["id"]
    with attach(agent, cid) as ws:
        ws.until("output")
        ws.send({"type": "resize", "cols": 132, "rows": 50})
        while "50 132" not in ws.until("output")[-1]["data"]:
            pass
        ws.send({"type": "resize", "rows": 20})
        while "20 132" not in ws.until("output")[-1]["data"]:
            pass


def test_a_command_can_be_run_from_the_url(agent):
    with agent.ws(query("/v1/sessions/default/run", command="echo hi; exit 4")) as ws:
        frames = list(ws.frames())
        assert ws.code() == 1000
    assert frames[0]["type"] == "started" and gather(frames)[0] == b"hi\n"
    assert (frames[-1]["type"], frames[-1]["exit_code"]) == ("exit", 4)


def test_one_connection_carries_many_commands(agent):
    agent.session(id="other")
    with agent.ws("/v1/connect") as ws:
        for channel in range(1, 41):
            ws.send({"type": "start", "channel": channel, "session": "other" if channel % 2 else "default",
                     "command": f"seq {channel * 1000}; exit {channel}"})
        frames, ended = [], 0
        while ended < 40:
            frames.append(ws.recv())
            ended += frames[-1]["type"] == "exit"
        for channel in range(1, 41):
            mine = [frame for frame in frames if frame["channel"] == channel]
            assert mine[0]["type"] == "started" and mine[-1]["type"] == "exit"
            assert mine[-1]["exit_code"] == channel
            assert gather(mine)[0] == "".join(f"{n}\n" for n in range(1, channel * 1000 + 1)).encode()
        ws.ping()


def test_channels_attach_detach_and_take_input(agent):
    cid = agent.start("while read x; do echo got $x; done", stdin_open=True)["id"]
    with agent.ws("/v1/connect") as ws:
        ws.send({"type": "attach", "channel": 7, "session": "default", "id": cid})
        ws.send({"type": "stdin", "channel": 7, "data": "a\n"})
        assert ws.until("output", channel=7)[-1]["data"] == "got a\n"
        ws.send({"type": "detach", "channel": 7})
        ws.send({"type": "attach", "channel": 8, "session": "default", "id": cid, "from": 6})
        ws.send({"type": "stdin", "channel": 8, "data": "b\n"})
        assert ws.until("output", channel=8)[-1]["offset"] == 6
        ws.send({"type": "stdin_close", "channel": 8})
        assert ws.until("exit", channel=8)[-1]["exit_code"] is not None


def test_a_wrong_request_on_a_channel_is_answered_and_hurts_no_other(agent):
    with agent.ws("/v1/connect") as ws:
        ws.send({"type": "start", "channel": 1, "session": "default",
                "command": "read x; echo fine", "stdin_open": True})
        ws.until("started")
        for channel, request, code in (
                (2, {"type": "start", "session": "nope", "command": "true"}, "session_not_found"),
                (3, {"type": "attach", "session": "default", "id": "nope"}, "command_not_found"),
                (4, {"type": "start", "session": "default", "command": "true", "comand": 1}, "unknown_field")):
            ws.send({"channel": channel, **request})
            answer = ws.recv()
            assert answer["channel"] == channel and answer["code"] == code, answer
        ws.send({"type": "stdin", "channel": 1, "data": "x\n"})
        assert gather(ws.until("exit"))[0] == b"fine\n"


def test_the_json_ping_and_the_frame_ping_are_answered(agent):
    with agent.ws("/v1/connect") as ws:
        ws.ping()
        ws.send({"type": "ping"})
        ws.until("pong")


def test_binary_frames_carry_the_bytes_and_where_they_belong(agent):
    noise = bytes(range(256)) * 5000
    (agent.root / "noise").write_bytes(noise)
    cid = agent.run("cat noise; echo err >&2", output={"max_output_bytes": 10})["id"]
    with attach(agent, cid, "skiff.v1.binary") as ws:
        assert ws.subprotocol == "skiff.v1.binary"
        frames = list(ws.frames())
        assert ws.code() == 1000
    at, streams = 0, {1: b"", 2: b""}
    for frame in frames:
        if isinstance(frame, bytes):
            header, data = binary_header(frame)
            assert (header["version"], header["kind"], header["flags"], header["channel"]) == (1, 1, 0, 0)
            assert header["offset"] == at and header["time"] > 1_600_000_000_000_000
            at += len(data)
            streams[header["stream"]] += data
    assert streams == {1: noise, 2: b"err\n"}
    control = [frame for frame in frames if isinstance(frame, dict)]
    assert control[-1]["type"] == "exit" and not [frame for frame in control if frame["type"] == "output"]


def test_binary_frames_take_input_with_an_offset(agent):
    with agent.ws("/v1/connect", "skiff.v1.binary") as ws:
        ws.send({"type": "start", "channel": 9, "session": "default", "command": "cat | sha256sum", "stdin_open": True})
        ws.until("started")
        block = bytes(range(256)) * 1000
        for number in range(8):
            ws.send(binary_stdin(block, 9, number * len(block) if number % 2 else 2**64 - 1))
        ws.send({"type": "stdin_close", "channel": 9})
        import hashlib

        seen = b""
        while isinstance(frame := ws.recv(), bytes) or frame["type"] != "exit":
            if isinstance(frame, bytes):
                header, data = binary_header(frame)
                assert header["channel"] == 9
                seen += data
        assert seen.decode().split()[0] == hashlib.sha256(block * 8).hexdigest()


def test_a_hundred_megabytes_pass_in_binary(agent):
    with agent.ws(query("/v1/sessions/default/run", command="head -c 100000000 /dev/zero"), "skiff.v1.binary") as ws:
        total = sum(len(frame) - 24 for frame in ws.frames() if isinstance(frame, bytes))
    assert total == 100_000_000


def test_late_output_has_its_flag_in_binary(agent):
    cid = agent.run("(sleep 0.6; echo late) & echo now")["id"]
    with attach(agent, cid, "skiff.v1.binary", until="end") as ws:
        frames = [binary_header(frame) for frame in ws.frames() if isinstance(frame, bytes)]
    assert [(header["flags"] & 1, data) for header, data in frames] == [(0, b"now\n"), (1, b"late\n")]


def test_an_attach_to_an_unknown_command_is_refused_before_the_upgrade(agent):
    for path in ("/v1/sessions/default/commands/nope/attach", "/v1/sessions/nope/run?command=true"):
        with pytest.raises(websockets.InvalidStatusCode) as refusal:
            agent.ws(path)
        assert refusal.value.status_code == 404
    agent.request("GET", "/v1/connect").problem(426, "upgrade_required")


@pytest.mark.parametrize("frame, code", [
    (dict(opcode=1, payload=b'{"type":"ping"}', masked=False), 1002),
    (dict(opcode=3, payload=b"x"), 1002),
    (dict(opcode=1, payload=b"x", reserved=4), 1002),
    (dict(opcode=9, payload=b"x" * 126), 1002),
    (dict(opcode=9, payload=b"x", final=False), 1002),
    (dict(opcode=0, payload=b"x"), 1002),
    (dict(opcode=8, payload=b"x"), 1002),
    (dict(opcode=1, payload=b"\xff\xfe"), 1007),
    (dict(opcode=1, payload=b"{"), 1002),
    (dict(opcode=1, payload=b"[]"), 1002),
    (dict(opcode=1, payload=b'{"type":"dance"}'), 1002),
    (dict(opcode=1, payload=b" " * (MIB + 1)), 1009),
    (dict(opcode=2, payload=b"\0" * 10), 1002),
], ids=lambda value: str(value)[:60])
def test_a_bad_frame_closes_with_a_clear_code(agent, frame, code):
    with agent.raw_ws("/v1/connect") as ws:
        ws.send(**frame)
        assert ws.close_code() == code
    assert agent.request("GET", "/healthz").status == 200


def test_a_client_that_vanishes_leaves_the_command_running(agent):
    cid = agent.start("while read x; do echo $x; done", stdin_open=True)["id"]
    with agent.raw_ws(f"/v1/sessions/default/commands/{cid}/attach"):
        pass
    assert agent.request("GET", f"/v1/commands/{cid}").json()["state"] == "running"
    agent.request("POST", f"/v1/commands/{cid}/stdin?eof=true", body=b"still here\n")
    assert gather(agent.output(cid))[0] == b"still here\n"


def test_deleting_the_session_closes_with_its_code(agent):
    sid = agent.session()
    cid = agent.start("echo up; sleep 300", session=sid)["id"]
    with attach(agent, cid, session=sid) as ws:
        ws.until("output")
        assert agent.request("DELETE", f"/v1/sessions/{sid}").status == 204
        assert ws.until("exit")[-1]["cause"] == "session_deleted"
        assert ws.code() == 4004


def test_shutdown_tells_the_cause_and_closes_with_its_code(agent):
    cid = agent.start("echo up; sleep 300")["id"]
    with attach(agent, cid) as ws, agent.ws("/v1/connect") as idle:
        ws.until("output")
        assert agent.terminate() == 143
        assert ws.until("exit")[-1]["cause"] == "shutdown"
        assert (ws.code(), idle.code()) == (1001, 1001)


def test_a_client_that_does_not_read_costs_bounded_memory_and_holds_nobody_up(agent):
    cid = agent.start("head -c 300000000 /dev/zero; touch over; sleep 300", output={"overflow": "drop"})["id"]
    before = proc.rss_bytes(agent.pid)
    with agent.raw_ws(f"/v1/sessions/default/commands/{cid}/attach") as ws:
        until((agent.root / "over").exists, 60)
        assert agent.run("echo others go on")["exit_code"] == 0
        assert proc.rss_bytes(agent.pid) - before < proc.allowance(64 * MIB)
        assert ws.recv() is not None  # and what waited is still there


@pytest.mark.parametrize("where", ["attach", "connect"])
def test_a_client_that_pauses_holds_up_nothing_unless_it_asked_to(start_agent, where):
    agent = start_agent("--write-timeout", "1h", "--keepalive", "1h")
    cid = agent.start("echo up; until [ -e go ]; do sleep 0.01; done; head -c 60000000 /dev/zero; touch over")["id"]
    path = f"/v1/sessions/default/commands/{cid}/attach" if where == "attach" else "/v1/connect"
    with agent.raw_ws(path) as ws:
        if where == "connect":
            ws.send(1, json.dumps({"type": "attach", "channel": 1, "id": cid}).encode())
        assert b"up" in ws.recv()[1]
        (agent.root / "go").touch()
        until((agent.root / "over").exists, 60)


def test_a_lossless_client_that_pauses_gets_everything(agent):
    started = agent.start("exec head -c 50000000 /dev/zero", output={"overflow": "block"})
    with agent.raw_ws(query(f"/v1/sessions/default/commands/{started['id']}/attach", lossless="true")) as ws:
        until_still(lambda: proc.written_bytes(started["pid"]))
        assert proc.alive(started["pid"])
        at = 0
        while (frame := ws.recv())[0] in (1, 9):
            if frame[0] == 9:
                continue  # a ping: this client pauses for long
            event = json.loads(frame[1])
            if event["type"] == "output":
                assert event["offset"] == at
                at += len(bytes_of(event))
            assert event["type"] != "gap"
        assert at == 50_000_000
