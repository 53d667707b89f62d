"""A command's result and its exit event list, as `background`, the processes that still hold its pipes."""

import os
import signal
import subprocess
import sys

import pytest

import proc
from tools import tool
from waiting import until

UNMARK = "import os, resource, time; resource.setrlimit(15, (1000, 1000))\n"
STAY = "open('pid.new', 'w').write(str(os.getpid())); os.rename('pid.new', 'pid'); time.sleep(1000)\n"
# It leaves the session, takes its mark off and leaves its parents: nothing shows any more whose it is.
ESCAPE = f"""
import os
if os.fork(): os._exit(0)
os.setsid()
{UNMARK}parent = os.getpid()
if os.fork(): os._exit(0)
while os.getppid() == parent: time.sleep(0.005)
{STAY}"""


def written_pid(agent):
    until((agent.root / "pid").exists, what="a pid")
    return int((agent.root / "pid").read_text())


def named(agent, result):
    """The holders that the result, its event and the command's later description name."""
    [exit_] = [event for event in agent.output(result["id"]) if event["type"] == "exit"]
    shown = agent.request("GET", f"/v1/commands/{result['id']}").json()
    assert exit_.get("background") == result.get("background") == shown.get("background")
    assert result["output_complete"] is False
    return result.get("background")


def test_a_child_is_named(agent):
    result = agent.run("sleep 1000 & echo $!")
    assert named(agent, result) == [int(result["stdout"])]


def test_a_process_that_has_escaped_is_named(agent):
    result = agent.run(f"{sys.executable} -c \"$TEXT\"; until [ -e pid ]; do sleep 0.02; done", env={"TEXT": ESCAPE})
    assert named(agent, result) == [written_pid(agent)]
    os.kill(written_pid(agent), signal.SIGKILL)


def test_the_commands_own_processes_are_named_before_all_others(agent):
    text = f"{sys.executable} -c \"$TEXT\"; until [ -e pid ]; do sleep 0.02; done; sleep 1000 & echo $!"
    result = agent.run(text, env={"TEXT": ESCAPE})
    assert named(agent, result) == [int(result["stdout"]), written_pid(agent)]
    os.kill(written_pid(agent), signal.SIGKILL)


def test_a_foreign_process_that_holds_the_pipe_is_named(agent):
    cid = agent.start("read line", stdin_open=True)["id"]
    pid = agent.request("GET", f"/v1/commands/{cid}").json()["pid"]
    with open(f"/proc/{pid}/fd/1", "wb") as pipe, subprocess.Popen(["sleep", "1000"], stdout=pipe) as other:
        pipe.close()
        agent.request("POST", f"/v1/commands/{cid}/stdin", body=b"go on\n")
        assert agent.ended(cid)["background"] == [other.pid]
        other.kill()


def test_a_process_that_holds_no_pipe_is_not_named(agent):
    result = agent.run("sleep 1000 > /dev/null 2>&1 & echo $!")
    assert "background" not in result and result["output_complete"] is True
    assert proc.alive(int(result["stdout"]))
    os.kill(int(result["stdout"]), signal.SIGKILL)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else without a set-user-id program")
def test_an_invisible_holder_of_the_pipe_makes_the_output_incomplete(start_agent):
    """The kernel shows nobody its descriptors without CAP_SYS_PTRACE."""
    agent = start_agent(wrapper=[tool("setpriv"), "--bounding-set=-sys_ptrace", "--"])
    agent.root.chmod(0o777)
    become = "setpriv --reuid 1 sh -c 'echo $$ > pid.new; mv pid.new pid; exec sleep 1000' &"
    result = agent.run(f"{become} until [ -e pid ]; do sleep 0.02; done")
    assert named(agent, result) is None
    os.kill(written_pid(agent), signal.SIGKILL)
