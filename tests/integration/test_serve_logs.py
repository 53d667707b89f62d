"""E2B's logs of a sandbox: what its commands did, told by `skiff serve` from what the agent keeps."""

import concurrent.futures
import json
import os
import sys

import pytest

import proc


@pytest.fixture
def server(serving, key):
    return serving.start()


@pytest.fixture
def sandbox(server, key):
    answer = server.request("POST", "/v2/sandboxes", {"templateID": "base", "timeout": 600}, key)
    assert answer.status == 201, answer.body
    return answer.json()["sandboxID"]


def agent(server, key, sandbox, method, path, **fields):
    answer = server.request(method, f"/s/{sandbox}/7070{path}", fields or None, key)
    assert answer.status < 300, answer.body
    return answer


def run(server, key, sandbox, session="default", **fields):
    return agent(server, key, sandbox, "POST", f"/v1/sessions/{session}/commands", **fields).json()


def logs(server, key, sandbox, query=""):
    answer = server.request("GET", f"/v2/sandboxes/{sandbox}/logs{query}", key=key)
    assert answer.status == 200, answer.body
    return answer.json()["logs"]


def told(entries):
    return [(entry["level"], entry["message"]) for entry in entries]


def test_the_logs_list_the_output_of_commands_in_its_order(server, key, sandbox):
    first = run(server, key, sandbox, command="echo one; echo two >&2; printf 'no end'; exit 3")
    run(server, key, sandbox, argv=["printf", "a\\r\\n\\377\\n"])
    agent(server, key, sandbox, "POST", "/v1/sessions", id="other")
    run(server, key, sandbox, session="other", command="kill -9 $$")
    entries = logs(server, key, sandbox)
    assert sorted(told(entries)[:4]) == sorted(
        [("info", "started: echo one; echo two >&2; printf 'no end'; exit 3"), ("info", "one"), ("warn", "two"), ("info", "no end")])
    assert told(entries)[4:] == [
        ("error", "ended: exit code 3"), ("info", "started: printf a\\r\\n\\377\\n"), ("info", "a"), ("info", "\ufffd"),
        ("info", "ended: exit code 0"), ("info", "started: kill -9 $$"), ("error", "ended: SIGKILL")]
    assert entries[1]["fields"]["command"] == first["id"] and entries[-1]["fields"]["session"] == "other"
    assert [entry["timestamp"] for entry in entries] == sorted(entry["timestamp"] for entry in entries)


def test_the_first_form_has_lines_too(server, key, sandbox):
    run(server, key, sandbox, command="echo one")
    document = server.request("GET", f"/sandboxes/{sandbox}/logs", key=key).json()
    assert [line["line"] for line in document["logs"]] == ["started: echo one", "one", "ended: exit code 0"]
    assert [entry["message"] for entry in document["logEntries"]] == [line["line"] for line in document["logs"]]


def test_entries_are_chosen(server, key, sandbox):
    run(server, key, sandbox, command="seq 5000; echo needle >&2")
    assert told(logs(server, key, sandbox, "?limit=2")) == [("info", "started: seq 5000; echo needle >&2"), ("info", "1")]
    assert told(logs(server, key, sandbox, "?limit=2&direction=backward"))[0] == ("info", "ended: exit code 0")
    assert told(logs(server, key, sandbox, "?search=needle&level=warn")) == [("warn", "needle")]
    assert len(logs(server, key, sandbox)) == 1000
    assert logs(server, key, sandbox, "?limit=0") == []
    assert logs(server, key, sandbox, "?cursor=4000000000000") == []
    assert logs(server, key, sandbox, "?cursor=1000&direction=backward") == []


@pytest.mark.parametrize("query", ["limit=1001", "limit=-1", "limit=x", "cursor=-1", "direction=up", "level=fatal"])
def test_invalid_queries_of_logs_are_refused(server, key, sandbox, query):
    assert server.request("GET", f"/v2/sandboxes/{sandbox}/logs?{query}", key=key).status == 400


def test_a_sleeping_sandbox_has_no_logs_and_is_not_woken(server, key, sandbox):
    run(server, key, sandbox, command="echo gone")
    assert server.request("POST", f"/sandboxes/{sandbox}/pause", {}, key).status == 204
    assert logs(server, key, sandbox) == []
    assert server.request("GET", f"/v1/sandboxes/{sandbox}", key=key).json()["state"] == "stopped"


def test_another_tenant_sees_no_logs(server, serving, key, sandbox):
    stranger = serving.key("stranger", "--tenant", "stranger")
    for path in (f"/sandboxes/{sandbox}/logs", f"/v2/sandboxes/{sandbox}/logs"):
        assert server.request("GET", path).status == 401
        refused = server.request("GET", path, key=stranger)
        assert refused.status == 404 and json.loads(refused.body)["code"] == 404


def test_much_output_is_shown_from_its_end(server, key, sandbox):
    run(server, key, sandbox, command="yes | head -c 3000000; echo the end")
    entries = logs(server, key, sandbox, "?direction=backward&limit=3")
    assert [entry["message"] for entry in entries] == ["ended: exit code 0", "the end", "y"]


# Each byte is told by itself: the agent reads them one by one.
SLOWLY = "import os, time\nfor _ in range(20_000): os.write(1, b'x'); time.sleep(0.0001)"


def test_many_who_ask_at_once_cost_no_more_memory_than_a_few(server, key, sandbox):
    for _ in range(2):
        run(server, key, sandbox, argv=[sys.executable, "-c", SLOWLY])
    assert [entry["message"] for entry in logs(server, key, sandbox)].count("x" * 8192 + "...") == 2
    before = proc.rss_bytes(server.process.pid)
    # Each has its turn within the time that a request has, with sanitizers too.
    many = 5 if os.environ.get("SKIFFD_SANITIZER") else 50
    with concurrent.futures.ThreadPoolExecutor(many) as pool:
        told_to_all = list(pool.map(lambda _: len(logs(server, key, sandbox)), range(many)))
    assert set(told_to_all) == {6}
    assert int(proc.status(server.process.pid, "VmHWM").split()[0]) * 1024 - before < proc.allowance(48 << 20)
