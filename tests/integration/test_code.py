"""Code that runs in contexts: /v1/sessions/{sid}/code and the routes below it."""

import base64
import concurrent.futures
import json
import os
import shutil
import signal

import pytest

import proc
from waiting import until

CODE = "/v1/sessions/default/code"


def run(agent, code, status=200, **fields):
    """The answer of the mode wait, or the code of the problem."""
    answer = agent.request("POST", CODE, json={"code": code, **fields}, timeout=120)
    assert answer.status == status, answer
    return answer.json() if status == 200 else answer.json()["code"]


def value(agent, code, **fields):
    """The text of the value of the last expression."""
    told = run(agent, code, **fields)
    assert "error" not in told, told
    return next(result["text"] for result in told["results"] if result["is_main_result"])


def pid_of(agent, **fields):
    return int(value(agent, "__import__('os').getpid()", **fields))


def contexts(agent, session="default"):
    return agent.request("GET", f"/v1/sessions/{session}/code/contexts").json()["items"]


def test_variables_are_kept_from_call_to_call(agent):
    first = run(agent, "x = 1")
    assert first == {"context": "python", "fresh": True, "stdout": "", "stderr": "", "results": [], "execution_count": 1,
                     "cause": "completed", "truncated": False}
    second = run(agent, "x")
    assert second["results"] == [{"text": "1", "is_main_result": True}]
    assert not second["fresh"] and second["execution_count"] == 2


def test_output_results_and_errors_are_told_apart(agent):
    told = run(agent, "import sys\nprint('to out')\nprint('to err', file=sys.stderr)\ndisplay(7)\n1/0")
    assert told["stdout"] == "to out\n" and told["stderr"] == "to err\n"
    assert told["results"] == [{"text": "7", "is_main_result": False}]
    assert told["error"]["name"] == "ZeroDivisionError" and told["error"]["value"] == "division by zero"
    assert 'File "<cell 1>", line 5' in told["error"]["traceback"] and "skiff" not in told["error"]["traceback"]


def test_output_of_programs_that_the_code_starts_comes_too(agent):
    told = run(agent, "import os, subprocess\nos.system('echo one')\nsubprocess.run(['echo', 'two'])\n!echo three\n_ = 0")
    assert told["stdout"] == "one\ntwo\nthree\n"


def test_a_value_is_shown_in_every_form_that_it_offers(agent):
    told = run(agent, """
class Shown:
    def _repr_html_(self): return "<b>x</b>"
    def _repr_png_(self): return b"\\x89PNG"
    def _repr_json_(self): return {"a": 1}
    def _repr_mimebundle_(self, include=None, exclude=None): return {"application/x-own": "own"}
    def __repr__(self): return "shown"
Shown()""")
    assert told["results"] == [{"text": "shown", "html": "<b>x</b>", "png": base64.b64encode(b"\x89PNG").decode(),
                                "json": {"a": 1}, "extra": {"application/x-own": "own"}, "is_main_result": True}]


def test_await_stands_anywhere(agent):
    assert value(agent, "import asyncio\nawait asyncio.sleep(0, 'slept')") == "'slept'"


def test_input_fails_and_says_why(agent):
    assert "input() has nobody to ask" in run(agent, "input('name: ')")["error"]["value"]


def test_syntax_errors_and_exits_leave_the_context_alive(agent):
    run(agent, "x = 5")
    assert run(agent, "def")["error"]["name"] == "SyntaxError"
    assert run(agent, "raise SystemExit(3)")["error"]["name"] == "SystemExit"
    assert value(agent, "x") == "5"


def test_events_come_while_the_code_runs(agent):
    (agent.root / "wait").touch()
    code = "print('begun')\nimport os, time\nwhile os.path.exists('wait'): time.sleep(0.01)\n'over'"
    body = json.dumps({"code": code, "mode": "stream"}).encode()
    with agent.stream("POST", CODE, body=body, headers={"Content-Type": "application/json"}) as stream:
        lines = (json.loads(line) for chunk in stream.chunks() for line in chunk.splitlines())
        assert next(lines) == {"type": "started", "context": "python", "fresh": True}
        begun = next(lines)
        assert begun.pop("timestamp") and begun == {"type": "stdout", "text": "begun\n"}
        (agent.root / "wait").unlink()
        assert next(lines) == {"type": "result", "text": "'over'", "is_main_result": True}
        assert next(lines) == {"type": "end", "execution_count": 1, "cause": "completed"}


def test_a_time_limit_ends_the_whole_tree_and_the_next_call_starts_anew(agent):
    run(agent, "x = 1")
    told = run(agent, "import subprocess, time\np = subprocess.Popen(['sleep', '1000'])\nprint(p.pid, flush=True)\ntime.sleep(1000)",
               timeout_ms=1500)
    assert told["cause"] == "timeout" and told["error"]["name"] == "ContextEnded" and "new one" in told["error"]["value"]
    assert not proc.alive(int(told["stdout"]))
    fresh = run(agent, "x")
    assert fresh["fresh"] and fresh["error"]["name"] == "NameError" and fresh["execution_count"] == 1


def test_a_worker_that_is_killed_is_told_and_replaced(agent):
    told = run(agent, "import os\nprint('last')\nos.kill(os.getpid(), 9)")
    assert told["cause"] == "ended" and told["stdout"] == "last\n" and "signal 9" in told["error"]["value"]
    assert run(agent, "1")["fresh"]
    # Between two calls: the next one says it.
    os.kill(pid_of(agent), signal.SIGKILL)
    until(lambda: "command" not in contexts(agent)[0], what="the end of the worker")
    told = run(agent, "1")
    assert told["fresh"] and "had ended" in told["stderr"]


def test_contexts_are_apart(agent):
    made = agent.request("POST", CODE + "/contexts", json={"cwd": "/tmp"})
    assert made.status == 201
    other = made.json()
    assert other["language"] == "python" and other["cwd"] == "/tmp" and "command" not in other
    run(agent, "x = 'usual'")
    run(agent, "x = 'other'", context=other["id"])
    assert value(agent, "x") == "'usual'" and value(agent, "x", context=other["id"]) == "'other'"
    assert value(agent, "import os; os.getcwd()", context=other["id"]) == "'/tmp'"
    assert [one["id"] for one in contexts(agent)] == [other["id"], "python"]
    path = f"{CODE}/contexts/{other['id']}"
    assert agent.request("POST", path + "/restart").status == 204
    assert run(agent, "x", context=other["id"])["error"]["name"] == "NameError"
    pid = pid_of(agent, context=other["id"])
    assert agent.request("DELETE", path).status == 204
    assert not proc.alive(pid)
    assert run(agent, "x", context=other["id"], status=404) == "context_not_found"
    agent.request("DELETE", path).problem(404, "context_not_found")


def test_a_context_is_a_command_of_its_session(agent):
    agent.request("PUT", "/v1/sessions/boxed", json={"env": {"WHOSE": "boxed"}, "root": "boxed"})
    told = agent.request("POST", "/v1/sessions/boxed/code", json={"code": "import os; (os.environ['WHOSE'], os.getcwd(), os.getpid())"})
    whose, cwd, pid = eval(told.json()["results"][0]["text"])
    assert whose == "boxed" and cwd == str(agent.root / "boxed")
    (context,) = contexts(agent, "boxed")
    command = agent.request("GET", f"/v1/sessions/boxed/commands/{context['command']}").json()
    assert command["state"] == "running" and command["pid"] == pid
    assert contexts(agent) == []
    assert agent.request("DELETE", "/v1/sessions/boxed").status == 204
    assert not proc.alive(pid)


def test_bash_keeps_its_state(agent):
    run(agent, "x=1; cd /tmp; f() { echo \"f $x\"; }", language="bash")
    told = run(agent, "f; pwd; echo $WHO; false", language="bash", env={"WHO": "it's me"})
    assert told["stdout"] == "f 1\n/tmp\nit's me\n"
    assert told["error"]["name"] == "ExitStatus" and told["error"]["value"] == "1"
    assert run(agent, "exit 3", language="bash")["cause"] == "ended"
    assert run(agent, "echo again", language="bash")["stdout"] == "again\n"


@pytest.mark.skipif(not shutil.which("node"), reason="there is no node")
def test_javascript_keeps_its_state(agent):
    run(agent, "const x = 20; let y = 22", language="javascript")
    told = run(agent, "console.log('hi'); await Promise.resolve(x + y)", language="js")
    assert told["stdout"] == "hi\n"
    assert value(agent, "await Promise.resolve(x + y)", language="js") == "42"
    assert run(agent, "throw new TypeError('no')", language="javascript")["error"]["name"] == "TypeError"


def test_variables_of_the_environment_hold_for_one_call(agent):
    assert value(agent, "import os; os.environ['WHO']", env={"WHO": "me"}) == "'me'"
    assert value(agent, "os.environ.get('WHO', 'nobody')") == "'nobody'"


def test_what_is_not_there_is_a_clear_error(agent, start_agent):
    assert run(agent, "1", language="cobol", status=422) == "language_unavailable"
    assert run(agent, "1", language="python", context="x", status=400) == "invalid_request"
    bare = start_agent(env={"PATH": "/nonexistent-path"}, warm=False)
    answer = bare.request("POST", CODE, json={"code": "1"})
    problem = answer.problem(422, "language_unavailable")
    assert "no python3" in problem["detail"]


def test_fifty_contexts_at_once(agent):
    ids = [agent.request("POST", CODE + "/contexts", json={}).json()["id"] for _ in range(50)]
    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        list(pool.map(lambda id: run(agent, f"x = {id!r}", context=id), ids))
        assert list(pool.map(lambda id: value(agent, "x", context=id), ids)) == [repr(id) for id in ids]


def test_calls_of_one_context_take_turns(agent):
    run(agent, "n = 0")
    code = "m = n\nimport time; time.sleep(0.005)\nn = m + 1"
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        list(pool.map(lambda _: run(agent, code), range(30)))
    assert value(agent, "n") == "30"


def test_a_client_that_leaves_interrupts_its_code(agent):
    run(agent, "x = 'kept'")
    body = json.dumps({"code": "print('begun', flush=True)\nimport time\ntime.sleep(1000)", "mode": "stream"}).encode()
    with agent.stream("POST", CODE, body=body, headers={"Content-Type": "application/json"}) as stream:
        pieces = stream.chunks()
        while b"begun" not in next(pieces):
            pass
    told = run(agent, "x")
    assert not told["fresh"] and told["results"][0]["text"] == "'kept'"


def test_a_credential_needs_the_scope_exec(start_agent):
    agent = start_agent(tokens=("reader read",))
    agent.request("POST", CODE, json={"code": "1"}, token="reader").problem(403, "insufficient_scope")
    assert agent.request("GET", CODE + "/contexts", token="reader").status == 200
