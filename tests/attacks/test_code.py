"""Code whose worker does what it may not: its frames are lies, its pipe is flooded, closed or held."""

import concurrent.futures
import json

import pytest

import proc
from waiting import until
from wire import request_bytes

CODE = "/v1/sessions/default/code"


def run(agent, code, **fields):
    answer = agent.request("POST", CODE, json={"code": code, **fields}, timeout=120)
    assert answer.status == 200, answer
    return answer.json()


def is_usable(agent):
    """The agent answers, and the next call is right."""
    assert agent.request("GET", "/healthz").status == 200
    assert run(agent, "21 * 2")["results"] == [{"text": "42", "is_main_result": True}]


def frame(text):
    return f"import os, time\nos.write(5, {text!r})\ntime.sleep(1000)"


@pytest.mark.parametrize("lie", [
    b"nonsense\n", b"[]\n", b"{}\n", b"\n", b"\xff\xfe\n", b'{"id":"1"}\n', b'{"id":-1}\n', b'{"id":1,"end":-1}\n',
    b'{"id":1,"result":[]}\n', b'{"id":1,"result":{"text":1}}\n', b'{"id":1,"error":{"name":"E"}}\n', b'{"id":1,"other":1}\n',
    b'{"id":1,"result":{"json":' + b"[" * 5000 + b"\n", b'{"id":1,"id":2}\n'], ids=range(14))
def test_a_frame_that_is_none_ends_the_context(agent, lie):
    told = run(agent, frame(lie))
    assert told["cause"] == "invalid" and told["error"]["name"] == "ContextEnded", told
    is_usable(agent)


def test_frames_of_other_calls_are_not_taken(agent):
    lies = b"".join(b'{"id":%d,"result":{"text":"lie"}}\n{"id":%d,"end":9}\n' % (id, id) for id in (0, 2, 3, 2**63))
    told = run(agent, f"import os\nos.write(5, {lies!r})\n'truth'")
    assert [one["text"] for one in told["results"]] == ["'truth'"] and told["execution_count"] == 1
    is_usable(agent)


def test_a_false_end_only_ends_the_call_that_lies(agent):
    told = run(agent, "import os\nos.write(5, b'{\"id\":1,\"end\":1}\\n')\n'late'")
    assert told["cause"] == "completed"
    is_usable(agent)


def test_a_line_without_an_end_is_bounded(agent):
    told = run(agent, "import os\nwhile True: os.write(5, b'x' * 65536)")
    assert told["cause"] == "invalid" and "longer than" in told["error"]["value"]
    is_usable(agent)


def test_a_flood_of_frames_is_bounded(agent):
    told = run(agent, "while True: display('x' * 1000000)")
    assert told["cause"] == "invalid" and told["truncated"]
    is_usable(agent)


def test_a_flood_holds_nobody_else_up(agent):
    other = agent.request("POST", CODE + "/contexts", json={}).json()["id"]
    flood = "import os\nwhile True: os.write(5, b'{\"id\":99,\"end\":1}\\n' * 3000)"
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        floods = pool.submit(run, agent, flood, timeout_ms=5000)
        for _ in range(5):
            assert run(agent, "1 + 1", context=other)["results"][0]["text"] == "2"
        assert floods.result()["cause"] in ("timeout", "invalid")


def test_a_flood_of_small_frames_of_other_calls_holds_nobody_else_up(agent):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        floods = pool.submit(run, agent, "import os\nopen('begun', 'w')\nwhile True: os.write(5, b'{\"id\":0}\\n' * 7000)")
        until((agent.root / "begun").exists)
        assert agent.request("GET", "/healthz").status == 200
        assert floods.result()["cause"] == "invalid"
    is_usable(agent)


def test_a_result_of_very_many_values_is_refused(agent):
    many = "import os\nos.write(5, b'{\"id\":1,\"result\":{\"extra\":{\"a\":[' + b'[],' * 600000 + b'[]]}}}\\n')"
    assert run(agent, many)["cause"] == "invalid"
    told = run(agent, "[[]] * 600000\nclass Many:\n  def _repr_json_(self): return {'a': [[]] * 600000}\nMany()")
    assert "too large to be shown" in told["results"][0]["text"], told["results"][0]["text"][:100]
    is_usable(agent)


# --- calls that wait for their turn ---

BUSY = "import os, time\nopen('busy', 'w')\nwhile not os.path.exists('go'): time.sleep(0.01)"


@pytest.fixture
def busy(agent):
    """A context that runs code until there is a file `go`."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(run, agent, BUSY)
        until((agent.root / "busy").exists)
        yield
        (agent.root / "go").touch()
        assert running.result()["cause"] == "completed"


def test_a_call_whose_client_has_left_does_not_run_and_keeps_no_place(agent, busy):
    for number in range(70):
        body = json.dumps({"code": f"open('ran-{number}', 'w')"}).encode()
        with agent.connect() as sock:
            sock.sendall(request_bytes("POST", CODE, agent.headers({"Content-Type": "application/json", "Content-Length": str(len(body))})) + body)
    # A call that may wait is told that the context was busy, and not that too many wait.
    until(lambda: "busy" in agent.request("POST", CODE, json={"code": "1", "timeout_ms": 20}).json()["detail"])
    (agent.root / "go").touch()
    assert [one["text"] for one in run(agent, "'last'")["results"]] == ["'last'"]
    assert not list(agent.root.glob("ran-*"))


def test_the_time_limit_of_a_call_holds_while_it_waits(agent, busy):
    answer = agent.request("POST", CODE, json={"code": "open('ran', 'w')", "timeout_ms": 100})
    answer.problem(503, "resource_exhausted")
    assert not (agent.root / "ran").exists()


def test_the_usual_time_limit_of_a_session_ends_no_context(agent):
    agent.request("PUT", "/v1/sessions/short", json={"default_timeout_ms": 300})
    path = "/v1/sessions/short/code"
    assert agent.request("POST", path, json={"code": "x = 1"}).status == 200
    listed = agent.request("GET", "/v1/sessions/short/code/contexts").json()["items"]
    command = f"/v1/sessions/short/commands/{listed[0]['command']}"
    assert agent.request("GET", command + "?wait_ms=700").json()["state"] == "running"
    assert agent.request("POST", path, json={"code": "x"}).json()["results"][0]["text"] == "1"


def test_a_flood_of_output_is_cut_in_one_answer(agent):
    told = run(agent, "for _ in range(200): print('x' * 100000)", max_output_bytes=1000)
    assert len(told["stdout"]) == 1000 and told["truncated"] and told["cause"] == "completed"


def test_a_pipe_that_is_closed_ends_the_context(agent):
    told = run(agent, "import os, time\nos.close(5)\ntime.sleep(1000)")
    assert told["cause"] == "ended"
    is_usable(agent)


def test_a_request_that_is_not_read_ends_with_the_time_limit(agent):
    run(agent, "import os\nos.close(4)\nimport time\nimport threading")
    told = run(agent, "1")
    assert told["cause"] == "ended" or told["fresh"]
    is_usable(agent)


def test_children_that_hold_the_pipes_end_with_the_context(agent):
    code = """
import os, time
pids = []
for _ in range(3):
    pid = os.fork()
    if pid == 0:
        os.setsid()
        time.sleep(1000)
    pids.append(pid)
print(*pids, flush=True)
os._exit(0)
"""
    told = run(agent, code)
    assert told["cause"] == "ended", told
    assert not [pid for pid in told["stdout"].split() if proc.alive(int(pid))]
    is_usable(agent)


def test_a_child_that_returns_from_the_code_answers_nothing(agent):
    told = run(agent, "import os\nif os.fork() == 0: print('child')\nelse: os.wait()\n'parent'")
    assert [one["text"] for one in told["results"]] == ["'parent'"] and told["stdout"] == "child\n"
    is_usable(agent)


def test_there_is_a_most_of_contexts(agent):
    made = [agent.request("POST", CODE + "/contexts", json={}) for _ in range(140)]
    codes = {answer.status for answer in made}
    assert codes == {201, 429}
    refused = next(answer for answer in made if answer.status == 429)
    assert refused.json()["code"] == "too_many_contexts"
    one = next(answer for answer in made if answer.status == 201).json()["id"]
    assert agent.request("DELETE", f"{CODE}/contexts/{one}").status == 204
    assert agent.request("POST", CODE + "/contexts", json={}).status == 201


def test_code_that_is_too_long_is_refused(agent):
    answer = agent.request("POST", CODE, json={"code": "#" * (8 << 20)})
    assert answer.status == 413


def test_code_with_a_nul_byte_is_refused(agent):
    agent.request("POST", CODE, json={"code": "1\0"}).problem(400, "invalid_field")


def test_another_session_does_not_reach_the_contexts(agent):
    made = agent.request("POST", CODE + "/contexts", json={}).json()["id"]
    agent.request("PUT", "/v1/sessions/other", json={})
    body = json.dumps({"code": "1", "context": made}).encode()
    answer = agent.request("POST", "/v1/sessions/other/code", body=body, headers={"Content-Type": "application/json"})
    answer.problem(404, "context_not_found")
