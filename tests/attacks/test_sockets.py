"""Clients of WebSockets that leave, or never listen: no command without an owner, no memory without a bound."""

import signal
import socket

import pytest

from sockets import binary_stdin
from waiting import until
from wire import request_bytes


def states(agent):
    return {item["id"]: (item["state"], item.get("cause"))
            for item in agent.request("GET", "/v1/commands").json()["items"] if item["id"] != "warm-up"}


def ask_and_hear_nothing(agent, path):
    """An upgrade whose answer can't be sent: this end takes nothing any more when it asks."""
    with agent.connect() as deaf:
        deaf.shutdown(socket.SHUT_RD)
        deaf.sendall(request_bytes("GET", path, agent.headers({
            "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="})))
        until(lambda: is_hung_up(deaf), what="the end of the connection")


def is_hung_up(sock):
    try:
        sock.send(b"x")
    except (BrokenPipeError, ConnectionResetError):
        return True
    return False


@pytest.mark.parametrize("path", ["/v1/shell", "/v1/sessions/default/run?command=exec+sleep+600"])
def test_a_command_of_a_client_that_never_hears_of_it_is_killed(start_agent, tmp_path, path):
    agent = start_agent(listen=f"unix:{tmp_path}/socket")
    ask_and_hear_nothing(agent, path)
    assert len(states(agent)) == 1
    until(lambda: set(states(agent).values()) == {("ended", "killed_by_client")}, what="the end of what was started")


def test_a_command_that_ran_before_goes_on_when_a_client_hears_nothing(start_agent, tmp_path):
    agent = start_agent(listen=f"unix:{tmp_path}/socket")
    agent.start("exec sleep 600", id="mine")
    for path in ("/v1/commands/mine/attach", "/v1/sessions/default/run?id=mine&command=exec+sleep+600"):
        ask_and_hear_nothing(agent, path)
    assert states(agent) == {"mine": ("running", None)}


@pytest.mark.parametrize("frame", [
    {"type": "stdin", "channel": 1, "data": ""},
    {"type": "stdin_close", "channel": 1},
    binary_stdin(b"", channel=1),
], ids=["stdin", "stdin_close", "binary"])
def test_frames_without_bytes_do_not_pile_up(start_agent, frame):
    """Each takes memory while the command doesn't read, so each counts."""
    agent = start_agent("--stdin-bytes", "256KiB")
    with agent.ws("/v1/connect", "skiff.v1.binary") as ws:
        ws.send({"type": "start", "channel": 1, "command": "exec sleep 600", "stdin_open": True})
        ws.until("started")
        ws.send({"type": "stdin", "channel": 1, "data": "x" * 200_000})  # more than a pipe holds, less than may wait
        for _ in range(3000):
            ws.send(frame)
        ws.send({"type": "ping"})
        errors = ws.until("pong")[:-1]
        assert errors and {event["code"] for event in errors} == {"resource_exhausted"}


def test_the_end_of_the_input_is_never_lost_behind_input_that_waits(start_agent):
    agent = start_agent("--stdin-bytes", "4KiB")
    with agent.ws("/v1/connect") as ws:
        ws.send({"type": "start", "channel": 1, "command": "until [ -e go ]; do sleep 0.01; done; wc -c",
                 "stdin_open": True})
        ws.until("started")
        ws.send({"type": "stdin", "channel": 1, "data": "x" * 200_000})
        ws.send({"type": "stdin", "channel": 1, "data": "x" * 4000})
        ws.send({"type": "stdin_close", "channel": 1})
        ws.send({"type": "ping"})
        ws.until("pong")
        (agent.root / "go").touch()
        assert ws.until("output")[-1]["data"].split() == ["204000"]
        assert ws.until("exit")[-1]["exit_code"] == 0


def test_channels_that_are_let_go_while_the_agent_stops(start_agent):
    """The agent waits for the commands of a connection, whose client takes channels away under it."""
    agent = start_agent("--kill-grace", "1s")
    with agent.ws("/v1/connect") as ws:
        channels = range(1, 17)
        for channel in channels:
            ws.send({"type": "start", "channel": channel, "id": f"c{channel}",
                     "command": "trap 'echo stopping' TERM; echo up; while :; do sleep 0.05; done"})
            ws.until("output", channel=channel)
        agent.process.send_signal(signal.SIGTERM)
        ws.until("output", channel=channels[0])
        for channel in channels:
            ws.send({"type": "detach", "channel": channel})
        assert ws.code() == 1001
    assert agent.process.wait(20) == 143
