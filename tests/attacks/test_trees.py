"""A command tries to outlive its end: it takes its mark off, leaves its session, holds pipes."""

import os
import sys

import proc
from waiting import until

# The agent marks its commands by a hard limit, and any process may lower that.
UNMARK = "import os, resource, time; resource.setrlimit(15, (1000, 1000))\n"
STAY = "open('{name}.new', 'w').write(str(os.getpid())); os.rename('{name}.new', '{name}'); time.sleep(100)\n"


def started(agent, text, name="pid", **fields):
    """The command's id, and the pid that it writes into the file."""
    cid = agent.start(argv=[sys.executable, "-c", text + STAY.format(name=name)], **fields)["id"]
    until((agent.root / name).exists, what="a pid")
    return cid, int((agent.root / name).read_text())


def test_a_leader_without_its_mark_is_ended_at_its_time(agent):
    result = agent.run(argv=[sys.executable, "-c", UNMARK + "time.sleep(100)"], timeout_ms=1000, kill_grace_ms=5000)
    assert (result["cause"], result["signal"], result["kill_level"]) == ("timeout", "SIGTERM", "tree")


def test_a_leader_without_its_mark_is_listed_and_signalled(agent):
    cid, pid = started(agent, UNMARK)
    assert f'"pid":{pid}' in agent.request("GET", "/v1/sessions/default/processes").text.replace(" ", "")
    assert agent.request("POST", f"/v1/commands/{cid}/signal", json={"signal": "SIGKILL"}).status == 204
    assert agent.ended(cid)["signal"] == "SIGKILL"


def test_a_child_without_its_mark_and_session_ends_with_its_parent(agent):
    cid, pid = started(agent, f"import os, time\nif os.fork(): time.sleep(100)\nos.setsid()\n{UNMARK}")
    assert agent.request("DELETE", f"/v1/commands/{cid}").status == 204
    until(lambda: not proc.alive(pid), what=f"the end of {pid}")


def test_escaped_processes_do_not_hold_up_the_deletion_of_their_command(start_agent):
    agent = start_agent("--max-commands", "2")
    escape = f"import os\nif os.fork(): os._exit(0)\nos.setsid()\n{UNMARK}if os.fork(): os._exit(0)\n"
    escaped = []
    for number in range(4):
        cid, pid = started(agent, escape, f"pid{number}")
        escaped.append((cid, pid))
        assert agent.ended(cid)["output_complete"] is False
    for cid, _ in escaped:
        assert agent.request("DELETE", f"/v1/commands/{cid}").status == 204
    for _, pid in escaped:
        os.kill(pid, 9)
    until(lambda: not agent.strays(), what="the end of those that escaped")


def test_an_agent_with_the_mark_of_its_command_does_not_end_itself(agent):
    lower = f"""
import ctypes, resource, time
mark = resource.getrlimit(15)[1]
limit = (ctypes.c_uint64 * 2)(mark, mark)
print(ctypes.CDLL(None).prlimit({agent.pid}, 15, limit, None), flush=True)
time.sleep(100)
"""
    result = agent.run(argv=[sys.executable, "-c", lower], timeout_ms=2000, kill_grace_ms=0)
    assert (result["stdout"], result["cause"], result["signal"]) == ("0\n", "timeout", "SIGKILL")
    assert agent.request("GET", "/healthz").status == 200


def test_a_pipe_that_waits_for_a_reader_does_not_delay_the_exit(agent):
    cid = agent.start("head -c 4000000 /dev/zero & sleep 1000", output={"overflow": "block", "keep_bytes": 131_072})["id"]
    until(lambda: agent.request("GET", f"/v1/commands/{cid}").json()["output"]["next_offset"] > 0, what="output")
    agent.request("POST", f"/v1/commands/{cid}/signal", json={"signal": "SIGKILL", "target": "leader"})
    assert agent.ended(cid)["output_complete"] is False
