"""Strangers at the port of the dialect kubebox, which asks for no credential, and what commands put in its way."""

import os

import pytest

import proc
from kubebox import PATH, box, joined, start_kubebox  # noqa: F401
from sockets import client_frame
from waiting import until


# --- Socket.IO ---


@pytest.mark.parametrize("opcode, payload", [
    (1, b""), (1, b"x"), (1, b"2"), (1, b"5"), (1, b"6"), (1, b"0{}"), (1, b"4"), (1, b"49"), (1, b'451-["a",{}]'),
    (1, b"42"), (1, b"42[]"), (1, b"42{}"), (1, b"42[1]"), (1, b'42["a"'), (1, b"40"), (1, b"43[]"), (1, b"44{}"),
    (1, b'42/x,["initialize",{}]'), (1, b"429007199254740992[\"a\"]"), (1, b"40/" + b"a" * 1000), (1, b"41/x"), (1, b'42["a",' + b"[" * 100_000),
    (2, b'42["initialize",{}]')])
def test_a_malformed_packet_ends_only_its_own_connection(box, opcode, payload):
    with box.socket() as other, box.socket() as socket:
        socket.ws.send(opcode, payload)
        assert socket.ws.close_code() == 1002
        other.event("initialize", session_id="s")
        assert other.next()[0] == "initialized"


def test_events_before_the_namespace_is_connected_end_the_connection(box):
    with box.socket(connect=False) as socket:
        socket.event("initialize", session_id="s")
        assert socket.ws.close_code() == 1002


def test_a_message_that_is_too_large_ends_the_connection(box):
    with box.socket() as socket:
        socket.ws.send(1, b'42["initialize","' + b"a" * (1 << 20) + b'"]')
        assert socket.ws.close_code() == 1009


def test_more_streams_than_there_may_be_are_refused(box):
    processes = [box.start("true", mode="background") for _ in range(257)]
    with box.socket(acks=False, pongs=False) as socket:
        for process in processes:
            socket.follow(process)
        events = [socket.next() for _ in range(len(processes) + 1)]
    refused = [data for name, data in events if name == "command_error"]
    assert [(data["process_id"], "256 streams" in data["error"]) for data in refused] == [(processes[-1], True)]
    exits = {data["process_id"]: data["exit_code"] for name, data in events if name == "command_exit"}
    assert exits == {**dict.fromkeys(processes, 0), processes[-1]: -1}


def test_a_process_that_is_streamed_takes_no_further_place(box):
    process = box.start("while [ ! -e go ]; do sleep 0.1; done; exit 3")
    with box.socket() as socket:
        for _ in range(400):
            socket.follow(process)
        box.run("touch go")
        assert joined(socket.until_exits(process)[process]) == ("", "", 3)


@pytest.mark.parametrize("asked", ["40/elsewhere,", '427["check_status",{"session_id":"s","process_id":1}]',
                                   '42["start_command_stream",{"session_id":"s","process_id":' + "9" * 15 + "}]"])
def test_answers_that_nobody_reads_do_not_pile_up(start_kubebox, asked):
    """Each request has an answer: who takes none is heard no longer, then let go, and has cost no memory."""
    box = start_kubebox("--write-timeout", "1s")
    before = proc.rss_bytes(box.agent.pid)
    with box.socket(acks=False, pongs=False) as deaf:
        unsent = memoryview(client_frame(1, asked.encode()) * 5000)
        left = unsent
        deaf.ws.sock.settimeout(3)

        def is_let_go():
            nonlocal left
            try:
                left = left[deaf.ws.sock.send(left):] or unsent
            except TimeoutError:
                # Linux 6.18 answers nothing at a window that it closed with less than 1,024 bytes on their way
                # (tcp_acceptable_seq): where both windows are closed, both ends wait for minutes. Reading opens one.
                deaf.ws.sock.recv(1 << 16)
            except ConnectionError:
                return box.sockets() == 0
            return False

        until(is_let_go, 100, what="the end of the connection")
        with box.socket() as other:
            assert other.output(box.start("echo x")) == ("x\n", "", 0)
    assert proc.rss_bytes(box.agent.pid) - before < proc.allowance(16 << 20)


# --- HTTP ---


@pytest.mark.parametrize("headers, status", [({"Host": "evil.example.com"}, 421), ({"Origin": "http://evil.example.com"}, 403)])
def test_web_pages_get_no_socket(box, headers, status):
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "a" * 22 + "=="}
    assert box.request("GET", PATH, headers={**upgrade, **headers}).status == status


@pytest.mark.parametrize("path", ["../outside", "a/../../outside", "link/d", "\0", "a" * 5000])
def test_no_directory_is_made_outside_the_session(box, path):
    os.symlink("..", box.agent.root / "ws/link")
    assert box.ask("make_dirs", session_id="s", file_path=path).status in (400, 403, 422)
    assert os.listdir(box.agent.root) == ["ws"]


def test_a_client_of_no_process_cannot_end_another_ones(box):
    box.agent.session(id="native")
    started = box.agent.start("exec sleep 300", session="native")
    for process in (started["pid"], started["id"], -1, 1.5, None, [], {}, "kubebox-1", 2**70):
        answer = box.ask("kill_command", session_id="native", process_id=process)
        assert answer.status == 404, answer
    assert box.post("kill_all_processes", session_id="native") == {"success": True, "failed_processes": []}
    assert box.agent.request("GET", f"/v1/sessions/native/commands/{started['id']}").json()["state"] == "running"
