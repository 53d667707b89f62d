"""`POST .../wait`: until it listens, prints, appears, ends."""

import json
import socket
import threading
import time

import pytest

from wire import request_bytes


def wait(agent, condition, timeout_ms=20_000, session="default"):
    answer = agent.request("POST", f"/v1/sessions/{session}/wait", json={"for": condition, "timeout_ms": timeout_ms})
    assert answer.status == 200, answer
    return answer.json()


class Later:
    """Runs a wait in a thread; `result()` gives its answer."""

    def __init__(self, agent, condition, **fields):
        self.answer = None

        def run():
            self.answer = wait(agent, condition, **fields)

        self.thread = threading.Thread(target=run)
        self.thread.start()

    def result(self):
        self.thread.join(60)
        assert self.answer is not None, "the wait did not end"
        return self.answer


def test_a_wait_for_a_command_ends_with_the_command(agent):
    started = agent.start("read x")  # stdin is closed: ends at once
    assert wait(agent, {"command": started["id"]})["met"] is True
    started = agent.start("read x", stdin_open=True)
    later = Later(agent, {"command": started["id"]})
    assert agent.request("POST", f"/v1/commands/{started['id']}/stdin?eof=true", body=b"x\n").status == 204
    assert later.result()["met"] is True


def test_a_wait_that_is_not_met_says_so_in_time(agent):
    started = agent.start("sleep 300")
    began = time.monotonic()
    assert wait(agent, {"command": started["id"]}, timeout_ms=200)["met"] is False
    assert time.monotonic() - began >= 0.2
    assert wait(agent, {"path": "never"}, timeout_ms=0)["met"] is False


def test_a_wait_for_a_port_ends_when_something_listens(agent):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        port = holder.getsockname()[1]
        assert wait(agent, {"port": port}, timeout_ms=100)["met"] is False  # bound, but nothing listens
        later = Later(agent, {"port": port})
        holder.listen()
        assert later.result()["met"] is True
        assert wait(agent, {"port": port})["met"] is True


def test_a_wait_for_a_port_also_sees_ipv6_and_all_addresses(agent):
    for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::1")):
        with socket.socket(family) as holder:
            try:
                holder.bind((address, 0))
            except OSError:
                continue
            holder.listen()
            assert wait(agent, {"port": holder.getsockname()[1]})["met"] is True, address


def test_a_wait_for_a_path_ends_when_it_appears(agent):
    (agent.root / "there").touch()
    assert wait(agent, {"path": "there"})["met"] is True
    (agent.root / "sub").mkdir()
    later = Later(agent, {"path": "sub/new"})
    (agent.root / "sub" / "new").touch()
    assert later.result()["met"] is True


def test_a_wait_for_a_path_outside_the_roots_is_refused(agent):
    answer = agent.request("POST", "/v1/sessions/default/wait",
                           json={"for": {"path": "../../etc/passwd"}, "timeout_ms": 100})
    answer.problem(403, "path_escapes_root")


def test_a_wait_through_a_link_that_leaves_the_roots_tells_nothing(agent):
    (agent.root / "out").symlink_to("/etc")
    (agent.root / "nowhere").symlink_to("/nothing-of-this-name")
    for path in ("out/passwd", "out/nothing-of-this-name"):
        answer = agent.request("POST", "/v1/sessions/default/wait", json={"for": {"path": path}, "timeout_ms": 100})
        answer.problem(403, "path_escapes_root")
    assert wait(agent, {"path": "nowhere"})["met"] is True  # the link itself is there


def test_many_waits_for_ports_and_paths_are_answered_alike(agent):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        waits = [Later(agent, {"port": holder.getsockname()[1]}) for _ in range(30)]
        waits += [Later(agent, {"path": "new"}) for _ in range(30)]
        holder.listen()
        (agent.root / "new").touch()
        assert all(one.result()["met"] for one in waits)


def test_a_wait_for_output_sees_what_was_printed_before_and_after(agent):
    started = agent.start("echo early; read x; echo server on port $x.", stdin_open=True)
    cid = started["id"]
    assert wait(agent, {"output": {"command": cid, "pattern": "early"}})["met"] is True
    assert wait(agent, {"output": {"command": cid, "pattern": "port"}}, timeout_ms=100)["met"] is False
    later = Later(agent, {"output": {"command": cid, "pattern": r"port [0-9]+\."}})
    agent.request("POST", f"/v1/commands/{cid}/stdin", body=b"8080\n")
    assert later.result()["met"] is True


def test_a_pattern_is_found_across_the_pieces_in_which_it_was_written(agent):
    started = agent.start("printf 'rea'; sleep 0.3; printf 'dy now'; sleep 300")
    assert wait(agent, {"output": {"command": started["id"], "pattern": "ready now"}})["met"] is True


def test_a_wait_for_output_ends_when_the_command_ends_without_it(agent):
    started = agent.start("echo other; sleep 0.2")
    # Within the limit of the request itself, which is below this one.
    assert wait(agent, {"output": {"command": started["id"], "pattern": "never"}}, timeout_ms=60_000)["met"] is False


def test_a_pattern_that_would_take_forever_does_not(agent):
    started = agent.start("head -c 100000 /dev/zero | tr '\\0' a; sleep 300")
    answer = agent.request("POST", "/v1/sessions/default/wait", json={
        "for": {"output": {"command": started["id"], "pattern": "(a+)+b"}}, "timeout_ms": 500})
    assert answer.status == 200 and answer.json()["met"] is False
    assert agent.request("GET", "/healthz").status == 200


@pytest.mark.parametrize("condition, status", [
    ({}, 400), ({"port": 0}, 400), ({"port": 70_000}, 400), ({"port": 80, "path": "x"}, 400), ({"moon": "full"}, 400),
    ({"command": "nope"}, 404), ({"output": {"command": "nope", "pattern": "x"}}, 404),
], ids=str)
def test_a_wait_for_nonsense_is_refused(agent, condition, status):
    agent.request("POST", "/v1/sessions/default/wait", json={"for": condition, "timeout_ms": 100}).problem(status)


def test_a_bad_pattern_is_refused(agent):
    cid = agent.start("sleep 300")["id"]
    body = {"for": {"output": {"command": cid, "pattern": "(["}}, "timeout_ms": 100}
    agent.request("POST", "/v1/sessions/default/wait", json=body).problem(400)


def test_a_waiter_that_goes_away_leaves_nothing(agent):
    body = json.dumps({"for": {"path": "never"}, "timeout_ms": 600_000}).encode()
    head = agent.headers({"Content-Type": "application/json", "Content-Length": str(len(body))})
    for _ in range(20):
        with agent.connect() as sock:
            sock.sendall(request_bytes("POST", "/v1/sessions/default/wait", head, body))
    # The check at the end of each test counts the agent's descriptors.
    assert agent.run("echo hi")["stdout"] == "hi\n"
