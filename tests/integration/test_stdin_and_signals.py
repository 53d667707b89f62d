"""Talking to a running command: stdin, the terminal's size, signals."""

import base64
import hashlib
import json
import sys
import threading

import pytest

import proc
from waiting import until


def stdin(agent, cid, data=b"", **fields):
    text = "&".join(f"{name}={value}" for name, value in fields.items())
    return agent.request("POST", f"/v1/commands/{cid}/stdin?{text}", body=data)


def signal(agent, cid, name, **fields):
    return agent.request("POST", f"/v1/commands/{cid}/signal", json={"signal": name, **fields})


def printed(agent, cid, pattern):
    answer = agent.request("POST", "/v1/sessions/default/wait", json={
        "for": {"output": {"command": cid, "pattern": pattern}}, "timeout_ms": 20_000})
    assert answer.status == 200 and answer.json()["met"] is True, answer


def test_stdin_is_empty_and_closed_by_default(agent):
    assert agent.run("cat; echo over")["stdout"] == "over\n"


def test_stdin_given_at_once_is_read_to_its_end(agent):
    assert agent.run("cat", stdin="text ä\n")["stdout"] == "text ä\n"
    every = bytes(range(256))
    done = agent.run("cat", stdin_base64=base64.b64encode(every).decode())
    assert base64.b64decode(done["stdout_base64"]) == every
    big = "0123456789" * 50_000
    assert agent.run("cat | wc -c", stdin=big)["stdout"].strip() == "500000"
    assert agent.run("exec true", stdin=big)["exit_code"] == 0  # never read: no harm


def test_stdin_that_is_kept_open_takes_pieces_until_its_end(agent):
    cid = agent.start("cat", stdin_open=True, stdin="first ")["id"]
    assert stdin(agent, cid, b"second ").status == 204
    assert stdin(agent, cid, b"third", eof="true").status == 204
    assert agent.ended(cid)["exit_code"] == 0
    assert b"".join(event["data"].encode() for event in agent.output(cid)
                    if event["type"] == "output") == b"first second third"
    stdin(agent, cid, b"late").problem(409, "stdin_closed")


def test_an_end_of_stdin_may_be_repeated(agent):
    cid = agent.start("cat; while [ ! -e go ]; do sleep 0.02; done", stdin_open=True)["id"]
    stdin(agent, cid, offset=7, eof="true").problem(409, "stdin_offset_mismatch")
    for _ in range(2):  # the answer was lost, say
        assert stdin(agent, cid, b"hello ", offset=0).status == 204
        assert stdin(agent, cid, b"world", offset=6, eof="true").status == 204
        assert stdin(agent, cid, offset=11, eof="true").status == 204
    for late in ({}, {"offset": 11}, {"offset": 8}):
        stdin(agent, cid, b"more", **late).problem(409, "stdin_closed")
    (agent.root / "go").touch()
    assert agent.ended(cid)["exit_code"] == 0
    assert stdin(agent, cid, b"world", offset=6, eof="true").status == 204
    assert "".join(event["data"] for event in agent.output(cid) if event["type"] == "output") == "hello world"
    # A command that has closed its input itself has not read the end.
    cid = agent.start("exec <&-; touch closed; exec sleep 300", stdin_open=True)["id"]
    until((agent.root / "closed").exists)
    stdin(agent, cid, b"x").problem(409, "stdin_closed")
    stdin(agent, cid, eof="true").problem(409, "stdin_closed")


def test_a_write_to_a_closed_stdin_is_refused(agent):
    cid = agent.start("sleep 300")["id"]
    stdin(agent, cid, b"x").problem(409, "stdin_closed")
    cid = agent.start("sleep 300", stdin_open=True)["id"]
    assert stdin(agent, cid, eof="true").status == 204
    stdin(agent, cid, b"x").problem(409, "stdin_closed")


def test_an_offset_makes_a_repeated_write_exact(agent):
    cid = agent.start("cat", stdin_open=True)["id"]
    assert stdin(agent, cid, b"hello ", offset=0).status == 204
    assert stdin(agent, cid, b"world", offset=6).status == 204
    assert stdin(agent, cid, b"world", offset=6).status == 204  # the answer was lost, say
    stdin(agent, cid, b"x", offset=100).problem(409, "stdin_offset_mismatch")
    assert stdin(agent, cid, b"!", offset=11, eof="true").status == 204
    events = agent.output(cid)
    assert "".join(event["data"] for event in events if event["type"] == "output") == "hello world!"


def test_an_offset_is_that_of_the_whole_body_however_large(agent):
    cid = agent.start("sha256sum", stdin_open=True)["id"]
    body = bytes(range(256)) * 1000
    for _ in range(2):
        assert stdin(agent, cid, body, offset=0).status == 204
    assert stdin(agent, cid, body[-100_000:] + b"more", offset=len(body) - 100_000, eof="true").status == 204
    assert agent.ended(cid)["exit_code"] == 0
    [line] = [event["data"] for event in agent.output(cid) if event["type"] == "output"]
    assert line.split()[0] == hashlib.sha256(body + b"more").hexdigest()


def test_a_write_that_does_not_fit_waits_and_holds_nobody_up(agent):
    cid = agent.start("echo up; while [ ! -e go ]; do sleep 0.02; done; wc -c", stdin_open=True)["id"]
    answers = []
    writer = threading.Thread(target=lambda: answers.append(stdin(agent, cid, b"x" * 3_000_000, eof="true").status))
    writer.start()
    for number in range(20):
        assert agent.run(f"echo {number}")["stdout"] == f"{number}\n"
    assert answers == []
    (agent.root / "go").touch()
    writer.join(60)
    assert answers == [204]
    printed(agent, cid, "3000000")


def test_a_write_to_a_command_that_never_reads_ends_with_the_command(agent):
    cid = agent.start("sleep 300", stdin_open=True)["id"]
    answers = []
    writer = threading.Thread(target=lambda: answers.append(stdin(agent, cid, b"x" * 1_000_000)))
    writer.start()
    assert agent.run("echo others go on")["exit_code"] == 0
    assert signal(agent, cid, "SIGKILL").status == 204
    writer.join(60)
    answers[0].problem(409, "stdin_closed")


def test_input_to_a_terminal_is_typed(agent):
    cid = agent.start("cat", tty={"cols": 80, "rows": 24}, stdin_open=True)["id"]
    assert stdin(agent, cid, b"hello\n").status == 204
    printed(agent, cid, "hello\r\nhello")  # the echo, and what cat says
    assert stdin(agent, cid, eof="true").status == 204
    assert agent.ended(cid)["exit_code"] == 0


def test_a_terminal_is_resized_and_gets_the_signal(agent):
    cid = agent.start("trap 'stty size' WINCH; echo up; while :; do sleep 0.05; done",
                      tty={"cols": 80, "rows": 24})["id"]
    printed(agent, cid, "up")
    answer = agent.request("POST", f"/v1/commands/{cid}/resize", json={"cols": 132, "rows": 50})
    assert answer.status == 204
    printed(agent, cid, "50 132")
    for size in ({"cols": 0, "rows": 1}, {"cols": 100_000, "rows": 1}, {"cols": "80", "rows": 24}):
        agent.request("POST", f"/v1/commands/{cid}/resize", json=size).problem(400)


SIZES = [({"cols": 132}, "24 132"), ({"rows": 50}, "50 132"), ({}, "50 132"), ({"cols": 90}, "50 90")]


def test_a_side_that_is_not_said_stays_as_it_is(agent):
    cid = agent.start("while read _; do stty size; done", tty={}, stdin_open=True)["id"]
    for size, expected in SIZES:
        assert agent.request("POST", f"/v1/commands/{cid}/resize", json=size).status == 204
        stdin(agent, cid, b"\n")
        printed(agent, cid, expected + "\r\n")


def test_a_new_terminal_has_24_rows_and_80_columns_unless_told_otherwise(agent):
    for size, expected in (({}, "24 80"), ({"cols": 100}, "24 100"), ({"rows": 30}, "30 80")):
        assert agent.run("stty size", tty=size)["stdout"].strip() == expected


def test_only_a_terminal_has_a_size(agent):
    cid = agent.start("sleep 300")["id"]
    agent.request("POST", f"/v1/commands/{cid}/resize", json={"cols": 80, "rows": 24}).problem(409, "not_a_terminal")


CATCHER = """
import signal, sys, time
signal.signal(signal.SIGHUP, signal.SIG_IGN)
signal.signal(signal.SIGINT, lambda *_: (open("got", "w").close(), sys.exit()))
open("up", "w").close()
time.sleep(1000)
"""


def test_a_signal_behind_the_end_of_a_terminals_leader_reaches_what_is_left(agent):
    (agent.root / "catcher.py").write_text(CATCHER)
    cid = agent.start(f"{sys.executable} catcher.py & while [ ! -e up ]; do sleep 0.05; done; exit 0", tty={})["id"]
    agent.ended(cid)
    assert agent.request("POST", f"/v1/commands/{cid}/signal", json={"signal": "SIGINT"}).status == 204
    until((agent.root / "got").exists, what="the signal")


def test_a_signal_that_ends_a_command_is_its_cause(agent):
    for name in ("SIGTERM", "SIGINT", "SIGUSR1"):
        cid = agent.start(argv=["sleep", "300"])["id"]
        assert signal(agent, cid, name).status == 204
        shown = agent.ended(cid)
        assert (shown["cause"], shown["signal"], shown["exit_code"]) == ("signaled", name, None)


def test_a_kill_of_the_tree_is_verified(agent):
    for target in ({}, {"target": "tree"}):
        cid, *pids = family(agent)
        assert signal(agent, cid, "SIGKILL", **target).status == 204
        shown = agent.ended(cid)
        assert (shown["cause"], shown["signal"], shown["kill_level"]) == ("killed_by_client", "SIGKILL", "tree")
        assert not any(proc.alive(pid) for pid in pids)
    cid = agent.start(argv=["sleep", "300"])["id"]
    assert signal(agent, cid, "SIGSTOP").status == 204
    assert signal(agent, cid, "SIGKILL").status == 204
    assert agent.ended(cid)["kill_level"] == "tree"
    # To one process it is a signal like others.
    cid = agent.start(argv=["sleep", "300"])["id"]
    assert signal(agent, cid, "SIGKILL", target="leader").status == 204
    shown = agent.ended(cid)
    assert (shown["cause"], shown["signal"]) == ("signaled", "SIGKILL") and "kill_level" not in shown


def test_a_signal_can_be_caught(agent):
    cid = agent.start("trap 'echo got; exit 6' USR1; echo up; while :; do sleep 0.05; done")["id"]
    printed(agent, cid, "up")
    assert signal(agent, cid, "SIGUSR1").status == 204
    shown = agent.ended(cid)
    assert (shown["cause"], shown["exit_code"]) == ("exited", 6)


def family(agent):
    """A shell, a child in its group, and a child in a session of its own: (command id, leader, sleep, daemon)."""
    script = "sleep 300 & echo $! > near; setsid sleep 301 & echo $! > far; "
    script += "trap 'echo usr1' USR1; echo up; while :; do wait; done"
    started = agent.start(script)
    printed(agent, started["id"], "up")

    def find_sleeps():
        return {line.split()[-1]: pid for pid, line in agent.strays().items() if line.startswith("sleep")}

    sleeps = until(lambda: (found := find_sleeps()).keys() >= {"300", "301"} and found)
    return started["id"], started["pid"], sleeps["300"], sleeps["301"]


def test_a_signal_reaches_its_target_and_no_more(agent):
    for target, dead, living in (("leader", "l", "nf"), ("group", "ln", "f"), ("tree", "lnf", "")):
        cid, *pids = family(agent)
        names = dict(zip("lnf", pids))
        assert signal(agent, cid, "SIGKILL", target=target).status == 204
        until(lambda: not any(proc.alive(names[one]) for one in dead), what=f"the end of {dead} by {target}")
        assert all(proc.alive(names[one]) for one in living), target
        agent.request("DELETE", f"/v1/commands/{cid}")
        until(lambda: not agent.strays(), what="the end of the family")


def test_kill_and_term_reach_the_tree_by_default_and_others_the_leader(agent):
    for name in ("SIGKILL", "SIGTERM"):
        cid, *_ = family(agent)
        assert signal(agent, cid, name).status == 204
        until(lambda: not agent.strays(), what=f"the end of the tree by {name}")
    cid, leader, near, far = family(agent)
    assert signal(agent, cid, "SIGUSR1").status == 204  # the leader traps it, the sleeps would die of it
    printed(agent, cid, "usr1")
    assert all(proc.alive(pid) for pid in (leader, near, far))


def test_interrupt_reaches_the_group_by_default(agent):
    cid = agent.start("/usr/bin/python3 -c 'import time; print(1, flush=True); time.sleep(300)'; exit 7")["id"]
    printed(agent, cid, "1")
    assert signal(agent, cid, "SIGINT").status == 204
    assert agent.ended(cid)["state"] == "ended"


def test_interrupt_on_a_terminal_is_typed(agent):
    cid = agent.start("trap 'echo shell' INT; sleep 300; echo after", tty={"cols": 80, "rows": 24})["id"]
    until(lambda: "sleep" in [proc.name(pid) for pid in agent.strays()])
    assert signal(agent, cid, "SIGINT").status == 204
    assert agent.ended(cid)["state"] == "ended"
    events = agent.output(cid)
    text = "".join(event["data"] for event in events if event["type"] == "output")
    assert "^C" in text and "shell" in text and "after" in text


def test_a_signal_that_is_ignored_escalates(agent):
    cid = agent.start("trap '' TERM; echo up; while :; do sleep 0.05; done")["id"]
    printed(agent, cid, "up")
    assert signal(agent, cid, "SIGTERM", escalate_after_ms=200, escalate_to="SIGKILL").status == 204
    shown = agent.ended(cid)
    assert (shown["signal"], shown["cause"]) == ("SIGKILL", "killed_by_client")


def test_no_escalation_follows_when_the_first_signal_was_enough(agent):
    cid = agent.start(argv=["sleep", "300"])["id"]
    assert signal(agent, cid, "SIGTERM", escalate_after_ms=200).status == 204
    shown = agent.ended(cid)
    assert (shown["signal"], shown["cause"]) == ("SIGTERM", "signaled")
    assert agent.run("sleep 0.4; echo others are well")["stdout"] == "others are well\n"


def test_a_signal_to_an_ended_command_is_refused(agent):
    cid = agent.run("true")["id"]
    signal(agent, cid, "SIGTERM").problem(409, "command_ended")


@pytest.mark.parametrize("body", [{"signal": "SIGNOPE"}, {"signal": 9999}, {}, {"signal": "SIGTERM", "target": "x"}],
                         ids=json.dumps)
def test_a_signal_that_does_not_exist_is_refused(agent, body):
    cid = agent.start("sleep 300")["id"]
    agent.request("POST", f"/v1/commands/{cid}/signal", json=body).problem(400)
    assert agent.request("GET", f"/v1/commands/{cid}").json()["state"] == "running"


def test_a_stopped_command_is_killed_all_the_same(agent):
    started = agent.start(argv=["sleep", "300"])
    assert signal(agent, started["id"], "SIGSTOP").status == 204
    until(lambda: proc.status(started["pid"], "State").startswith("T"))
    assert agent.request("DELETE", f"/v1/commands/{started['id']}").status == 204
    until(lambda: not proc.alive(started["pid"]))
