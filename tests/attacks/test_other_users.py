"""Processes of another user, which the agent has no right to signal (kill(2)): a command that has become somebody else by a
set-user-id program. They hold up neither the end of their command nor the agent's."""

import contextlib
import os
import signal

import pytest

import proc
from confined import without_right_to_signal_others
from dialect import Door
from e2b import Client, pid_of
from kubebox import Kubebox
from waiting import until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else without a set-user-id program")

BECOME = "exec setpriv --reuid 1 sh -c 'echo $$ > pid.new; mv pid.new pid; exec sleep 1000'"
AS_LEADER = BECOME
AS_CHILD = f"sh -c \"{BECOME.replace('$$', chr(92) + '$$')}\" & sleep 1000"
AS_WHAT_IS_LEFT = f"sh -c \"{BECOME.replace('$$', chr(92) + '$$')}\" > /dev/null 2>&1 &"


@contextlib.contextmanager
def untouchable(agent, command, **fields):
    """Yields the command's id, and the pid of the process that the agent can't end; the process is ended afterwards."""
    agent.root.chmod(0o777)
    cid = agent.start(command, **fields)["id"]
    until((agent.root / "pid").exists, what="a pid")
    pid = int((agent.root / "pid").read_text())
    until(lambda: os.stat(f"/proc/{pid}").st_uid == 1, what="another user")
    try:
        yield cid, pid
        assert proc.alive(pid)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def agent(start_agent):
    return start_agent("--max-commands", "1", wrapper=without_right_to_signal_others())


@pytest.mark.parametrize("command", [AS_LEADER, AS_CHILD])
def test_a_command_at_its_time_limit_is_over_and_says_that_it_is_not_all(agent, command):
    with untouchable(agent, command, timeout_ms=3000, kill_grace_ms=0) as (cid, _):
        shown = agent.ended(cid)
        assert (shown["cause"], shown["kill_level"]) == ("timeout", "incomplete")
        assert agent.request("DELETE", f"/v1/commands/{cid}").status == 204
        assert agent.run("echo on")["stdout"] == "on\n"  # its place is free


def test_a_signal_that_none_of_it_got_is_refused_by_its_reason(agent):
    with untouchable(agent, AS_LEADER) as (cid, _):
        problem = agent.request("POST", f"/v1/commands/{cid}/signal", json={"signal": "SIGTERM"})
        assert "another user" in problem.problem(403, "permission_denied")["detail"]


@contextlib.contextmanager
def made_untouchable(agent):
    """A sandbox whose command has become another user. The command is ended afterwards."""
    until(lambda: list(agent.root.rglob("pid")), what="a pid")
    pid = int(next(agent.root.rglob("pid")).read_text())
    until(lambda: os.stat(f"/proc/{pid}").st_uid == 1, what="another user")
    try:
        yield
        assert proc.alive(pid)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_dialects_do_not_report_a_kill_that_the_kernel_refused(start_agent):
    agent = start_agent("--dialect", "e2b=127.0.0.1:0,kubebox=127.0.0.1:0", wrapper=without_right_to_signal_others())
    agent.root.chmod(0o777)
    client, box = Client(Door(agent)), Kubebox(agent)
    with client.start(f"cd {agent.root}; {BECOME}") as events, made_untouchable(agent):
        process = {"process": {"pid": pid_of(events)}}
        assert client.unary("process.Process/SendSignal", {**process, "signal": "SIGNAL_SIGKILL"}, 403) == "permission_denied"
    (agent.root / "pid").unlink()
    process = box.start(f"cd {agent.root}; {BECOME}", mode="background")
    with made_untouchable(agent):
        assert "killed" not in box.ask("kill_command", session_id="s", process_id=process).text.replace("could be killed", "")


@pytest.mark.parametrize("command", [AS_LEADER, AS_CHILD, AS_WHAT_IS_LEFT])
@pytest.mark.parametrize("what", ["commands", "sessions"])
def test_a_deletion_ends_although_a_process_belongs_to_another_user(agent, command, what):
    session = agent.session(root=".")
    with untouchable(agent, command, session=session) as (cid, _):
        path = f"/v1/sessions/{session}" if what == "sessions" else f"/v1/sessions/{session}/commands/{cid}"
        assert agent.request("DELETE", path).status == 204
        assert agent.request("GET", path).status == 404
        assert agent.run("echo on")["stdout"] == "on\n"


@pytest.mark.parametrize("command", [AS_LEADER, AS_CHILD])
def test_the_agent_stops(agent, command):
    with untouchable(agent, command):
        assert agent.terminate() == 143
