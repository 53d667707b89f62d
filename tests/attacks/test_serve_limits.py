"""The limits of a key of `skiff serve` hold in spite of unreadable records, a second key, or what a sandbox does to itself."""

import concurrent.futures
import os
import signal

import pytest

from waiting import until


def made(server, key, body=None, status=201):
    answer = server.request("POST", "/v1/sandboxes", body or {}, key)
    assert answer.status == status, (answer.status, answer.body)
    return answer.json()


def ids(server, key, query=""):
    return [one["id"] for one in server.request("GET", "/v1/sandboxes" + query, key=key).json()["items"]]


def running(server, key):
    return ids(server, key, "?state=running")


# --- records ---

@pytest.mark.parametrize("said", [
    {"env": {"A": "x" * 1_000_000}}, {"env": {f"A{i}": "x" * 1000 for i in range(300)}}, {"labels": {"a": "x" * 300_000}},
    {"env": {"A": "\x01" * 60_000}}, {"env": {"A": "x" * 140_000}, "labels": {"b": "y" * 140_000}}], ids=["one", "many", "labels", "escaped", "both"])
def test_a_record_that_could_not_be_read_is_not_written(serving, said):
    one, other = serving.key("one", "--max-sandboxes", "1", "--tenant", "a"), serving.key("other", "--tenant", "b")
    server = serving.start()
    refused = made(server, one, said, 400)
    assert refused["code"] == "invalid_field" and refused["field"] in ("env", "labels") and "256 KiB" in refused["detail"]
    e2b = {"envVars": said.get("env", {}), "metadata": said.get("labels", {})}
    assert server.request("POST", "/sandboxes", e2b, one).status == 400
    assert ids(server, one) == ids(server, other) == []
    assert serving.skiff.names() == [] and not [line for line in serving.skiff.processes().values() if "skiffd" in line]
    sandbox = made(server, one, {"env": {f"A{i}": "x" * 1000 for i in range(100)}, "labels": {"b": "y" * 100_000}})
    assert server.request("GET", f"/v1/sandboxes/{sandbox['id']}", key=one).json()["labels"] == {"b": "y" * 100_000}


def test_the_command_line_says_it_too(skiff):
    file = skiff.work / "env"
    file.write_text("".join(f"A{i}={'x' * 1000}\n" for i in range(300)))
    assert "256 KiB" in skiff("up", "box", "--env-file", str(file), status=125)[1]
    assert skiff.names() == []


def damage(serving, name):
    (serving.skiff.sandboxes / name / "record.json").write_text("{")


def test_a_damaged_record_belongs_to_no_tenant(serving):
    """Neither its owner nor the next tenant reaches it, whatever they ask; the operator of the server sees and removes it."""
    one, other = serving.key("one", "--tenant", "a"), serving.key("other", "--tenant", "b")
    server = serving.start()
    box = made(server, one, {"name": "box"})["id"]
    whole = made(server, one)["id"]
    damage(serving, box)
    for key in one, other:
        path = f"/v1/sandboxes/{box}"
        for method, at, body in [("GET", path, None), ("DELETE", path, None), ("POST", path + "/stop", {}), ("POST", path + "/start", None),
                                 ("POST", path + "/extend", {"ttl_ms": 60_000}), ("POST", path + "/tokens", {}),
                                 ("GET", path + "/events", None), ("GET", path + "?wait=ready&timeout_ms=10", None),
                                 ("GET", f"/sandboxes/{box}", None), ("POST", f"/sandboxes/{box}/connect", {"timeout": 60}),
                                 ("POST", f"/sandboxes/{box}/pause", {}), ("DELETE", f"/sandboxes/{box}", None),
                                 ("GET", f"/v2/sandboxes/{box}/logs", None), ("GET", f"/sandboxes/{box}/metrics", None),
                                 ("GET", f"/s/{box}/7070/v1/version", None)]:
            answer = server.request(method, at, body, key)
            assert answer.status == 404, (method, at, answer.status, answer.body)
            assert b"record.json" not in answer.body and str(serving.skiff.state).encode() not in answer.body
        for query in "", "?state=failed", "?owner=":
            assert box not in ids(server, key, query)
        assert f'"{box}"' not in server.request("GET", "/v2/sandboxes", key=key).body.decode()
    assert ids(server, one) == [whole]
    assert made(server, other, {"name": "box"}, 409)["code"] == "sandbox_conflict"
    shown = serving.skiff.json("ps", "--everyone")["items"]
    assert {one["name"]: one["state"] for one in shown}[box] == "failed"
    serving.skiff("rm", box)
    assert serving.skiff.names() == [whole]


# --- a second key ---

def asleep(server, key, count):
    found = []
    for _ in range(count):
        found.append(made(server, key, {"on_end": "stop"})["id"])
        assert server.request("POST", f"/v1/sandboxes/{found[-1]}/stop", {}, key).status == 200
    return found


WAYS = {
    "start": lambda server, key, box: server.request("POST", f"/v1/sandboxes/{box}/start", key=key),
    "connect": lambda server, key, box: server.request("POST", f"/sandboxes/{box}/connect", {"timeout": 60}, key),
    "connect-v2": lambda server, key, box: server.request("POST", f"/v2/sandboxes/{box}/connect", {"timeout": 60}, key),
    "resume": lambda server, key, box: server.request("POST", f"/sandboxes/{box}/resume", {"timeout": 60}, key),
}


@pytest.mark.parametrize("way", WAYS)
def test_two_keys_do_not_pass_the_limit_of_both(serving, way):
    one, two = serving.key("one", "--max-sandboxes", "1"), serving.key("two", "--max-sandboxes", "1")
    server = serving.start()
    answers = [WAYS[way](server, two, box).status for box in asleep(server, one, 3)]
    assert answers[0] in (200, 201) and answers[1:] == [429, 429], answers
    assert len(running(server, two)) == 1
    # It goes on by the key that has started it: that one is full, and the other has a place again.
    assert made(server, two, status=429)["code"] == "too_many_sandboxes"
    made(server, one)
    assert made(server, one, status=429) and len(running(server, one)) == 2


@pytest.mark.parametrize("maker", ["unlimited", "removed"])
def test_a_key_pays_for_what_it_starts_of_one_that_has_no_limit(serving, maker):
    one, two = serving.key("one"), serving.key("two", "--max-sandboxes", "1")
    server = serving.start()
    boxes = asleep(server, one, 3)
    if maker == "removed":
        serving.skiff("key", "rm", "one")
        until(lambda: server.request("GET", "/v1/me", key=one).status == 401)
    assert [WAYS["start"](server, two, box).status for box in boxes] == [200, 429, 429]
    assert [WAYS["connect"](server, two, box).status for box in boxes[1:]] == [429, 429]
    other = serving.start()
    assert [WAYS["start"](other, two, box).status for box in boxes] == [200, 429, 429], "another process knows as much"


def test_get_or_create_is_a_start(serving):
    one, two = serving.key("one", "--max-sandboxes", "1"), serving.key("two", "--max-sandboxes", "1")
    server = serving.start()
    for name in "a", "b", "c":
        made(server, one, {"name": name, "on_end": "stop"})
        assert server.request("POST", f"/v1/sandboxes/{name}/stop", {}, one).status == 200
    answers = [server.request("POST", "/v1/sandboxes", {"name": name, "get_or_create": True, "wait": wait}, two).status
               for name, wait in [("a", True), ("b", True), ("c", False)]]
    assert answers == [200, 429, 429]
    assert len(running(server, one)) == 1


def test_a_start_takes_a_place_of_the_key_that_has_made_it(serving):
    """The key's limit is reached: else a helper without a limit would wake its sandboxes."""
    one, two = serving.key("one", "--max-sandboxes", "1"), serving.key("two")
    server = serving.start()
    box = asleep(server, one, 1)[0]
    made(server, one)
    assert WAYS["start"](server, two, box).status == 429


# --- a sandbox that ends its own agent ---

def test_a_sandbox_whose_agent_was_killed_keeps_its_place_while_its_daemons_may_run(serving):
    key = serving.key("one", "--max-sandboxes", "1")
    server = serving.start()
    box = made(server, key, {"on_end": "stop"})["id"]
    os.kill(serving.skiff.record(box)["pid"], signal.SIGKILL)
    until(lambda: server.request("GET", f"/v1/sandboxes/{box}", key=key).json()["state"] == "failed")
    assert made(server, key, status=429)["code"] == "too_many_sandboxes"
    assert server.request("POST", f"/v1/sandboxes/{box}/stop", {}, key).status == 200
    made(server, key)


# --- what many records cost ---

def test_a_page_is_as_long_as_its_labels_let_it_be(serving):
    """A page holds fewer than 500 large sandboxes: the cursors of both APIs give the whole list."""
    key, other = serving.key("one", "--tenant", "a"), serving.key("other", "--tenant", "b")
    server = serving.start()
    wanted = sorted(made(server, key, {"labels": {"a": "x" * 250_000}})["id"] for _ in range(6))
    pages, cursor = [], ""
    while cursor is not None:
        answer = server.request("GET", f"/v1/sandboxes?cursor={cursor}", key=key)
        assert len(answer.body) < 1_600_000
        pages.append([one["id"] for one in answer.json()["items"]])
        cursor = answer.json()["next"] or None
    assert len(pages) == 2 and sum(pages, []) == wanted
    pages, cursor = [], ""
    while cursor is not None:
        answer = server.request("GET", "/v2/sandboxes" + (f"?nextToken={cursor}" if cursor else ""), key=key)
        assert len(answer.body) < 2_600_000
        pages.append([one["sandboxID"] for one in answer.json()])
        cursor = answer.headers.get("X-Next-Token")
    assert sum(pages, []) == wanted
    assert ids(server, other) == [] and server.request("GET", "/v2/sandboxes", key=other).json() == []
    listed = serving.skiff.json("ps", "--everyone")["items"]
    assert sorted(one["name"] for one in listed) == wanted
    # The server's knowledge of a record's owner follows the record.
    for box in wanted:
        assert server.request("DELETE", f"/v1/sandboxes/{box}", key=key).status == 204
    mine = made(server, other)["id"]
    assert ids(server, other) == [mine] and ids(server, key) == []


def test_a_name_that_changes_hands_is_listed_for_its_new_owner_alone(serving):
    one, other = serving.key("one", "--tenant", "a"), serving.key("other", "--tenant", "b")
    server = serving.start()
    for key, stranger in [(one, other), (other, one)] * 2:
        made(server, key, {"name": "box"})
        assert ids(server, key) == ["box"] and ids(server, stranger) == []
        assert server.request("DELETE", "/v1/sandboxes/box", key=key).status == 204


def test_stops_at_the_same_time_keep_within_the_limit_of_stopped_sandboxes(serving):
    key = serving.key("one", "--max-sandboxes", "5", "--max-stopped", "1")
    server = serving.start()
    boxes = [made(server, key)["id"] for _ in range(5)]
    with concurrent.futures.ThreadPoolExecutor(len(boxes)) as pool:
        statuses = list(pool.map(lambda box: server.request("POST", f"/v1/sandboxes/{box}/stop", {}, key).status, boxes))
    assert statuses.count(200) == 1 and statuses.count(429) == 4, statuses
    assert len(ids(server, key, "?state=stopped")) == 1
