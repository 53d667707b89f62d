"""The tool run_code of /mcp."""

import proc
from mcp_client import NEWEST, Mcp


def run(client, code, **arguments):
    told = client.call("tools/call", {"name": "run_code", "arguments": {"code": code, **arguments}})
    return told if told["isError"] else told["structuredContent"]


def test_code_runs_in_a_context_that_keeps_its_variables(agent):
    client = Mcp(agent, NEWEST)
    assert run(client, "x = 20")["cause"] == "completed"
    told = run(client, "print('hi')\nx + 22")
    assert told["stdout"] == "hi\n" and told["results"] == [{"text": "42", "is_main_result": True}]
    assert run(client, "1/0")["error"]["name"] == "ZeroDivisionError"
    assert run(client, "echo $((6 * 7))", language="bash")["stdout"] == "42\n"


def test_a_time_limit_ends_the_context(agent):
    client = Mcp(agent, NEWEST)
    pid = int(run(client, "import os; os.getpid()")["results"][0]["text"])
    assert run(client, "while True: pass", timeout_ms=1000)["cause"] == "timeout"
    assert not proc.alive(pid)
    assert run(client, "1")["fresh"]


def test_what_is_not_there_is_told_with_advice(agent):
    told = run(Mcp(agent, NEWEST), "1", language="cobol")
    assert told["isError"] and "language_unavailable" in told["content"][0]["text"] and "Use another" in told["content"][0]["text"]
    assert "context_not_found" in run(Mcp(agent, NEWEST), "1", context="gone")["content"][0]["text"]
