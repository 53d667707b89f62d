"""`GET /v1/events` of `skiff serve`: the list of sandboxes, and each change of it."""

import contextlib
import http.client
import json
import os
import signal
import socket

import pytest

from launcher import DRIVER
from waiting import until


class Events:
    """An open stream; an iterator of the events' data."""

    def __init__(self, server, key, cursor=None, query="", headers=None):
        self.connection = http.client.HTTPConnection(server.host, timeout=60)
        fields = {"X-API-Key": key, **({"Last-Event-ID": cursor} if cursor else {}), **(headers or {})}
        self.connection.request("GET", "/v1/events" + query, headers=fields)
        self.answer = self.connection.getresponse()
        self.told = self._told()

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.told)

    def _told(self):
        assert self.answer.status == 200, self.answer.read()
        assert self.answer.headers["Content-Type"] == "text/event-stream"
        fields = {}
        for line in self.answer:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            assert name or line == b"\n", "nothing has come for as long as the server is silent"
            if name:
                fields[name] = value
            elif "data" in fields:
                told = json.loads(fields["data"])
                assert told["type"] == fields["event"] and told.get("cursor") == fields.get("id")
                yield told
                fields = {}

    def close(self):
        self.answer.close()
        self.connection.close()


@pytest.fixture
def listen():
    """Begins streams, and ends them."""
    with contextlib.ExitStack() as stack:
        def begin(*arguments, **more):
            return stack.enter_context(contextlib.closing(Events(*arguments, **more)))
        yield begin


def create(server, key, name, **body):
    answer = server.request("POST", "/v1/sandboxes", {"name": name, **body}, key)
    assert answer.status == 201, answer.body
    return answer.json()


def snapshot(stream):
    """The sandboxes, by id, and the cursor behind them."""
    found = {}
    for told in stream:
        assert told["type"] == "snapshot"
        found.update({one["id"]: one for one in told["items"]})
        if not told["more"]:
            return found, told["cursor"]
    raise AssertionError("the stream ended within the snapshot")


def follow(stream, sandbox, *kinds, **wanted):
    """Reads until such an event of this sandbox. What is done at once may come as one event."""
    for told in stream:
        if told["type"] in (kinds or ("added", "changed")) and told["sandbox"]["id"] == sandbox and wanted.items() <= told["sandbox"].items():
            return told
    raise AssertionError(f"the stream ended before {kinds} {sandbox}")


def test_the_list_comes_first_and_then_each_change_as_the_list_shows_it(server, serving, key, listen):
    first = create(server, key, "first", labels={"of": "me"})
    stream = listen(server, key)
    assert snapshot(stream)[0] == {"first": first}
    made = create(server, key, "second")
    assert follow(stream, "second", state="running")["sandbox"] == made
    assert server.request("POST", "/v1/sandboxes/second/stop", key=key).status == 200
    shown = server.request("GET", "/v1/sandboxes/second", key=key).json()
    assert follow(stream, "second", state="stopped")["sandbox"] == shown
    assert server.request("DELETE", "/v1/sandboxes/second", key=key).status == 204
    assert follow(stream, "second", "removed")["sandbox"]["uid"] == made["uid"]


def test_what_other_programs_do_is_told_too(serving, key, listen):
    here, elsewhere = serving.start(), serving.start()
    stream = listen(here, key)
    assert snapshot(stream)[0] == {}
    create(elsewhere, key, "demo")
    follow(stream, "demo", state="running")
    serving.skiff("stop", "demo", "-q")
    follow(stream, "demo", state="stopped")
    serving.skiff("rm", "demo", "-q")
    follow(stream, "demo", "removed")


@pytest.mark.skipif(DRIVER not in ("local", "box"), reason="the agent is a process of this machine")
def test_the_end_of_an_agent_is_told(server, serving, key, listen):
    create(server, key, "demo")
    stream = listen(server, key)
    snapshot(stream)
    os.kill(serving.skiff.record("demo")["pid"], signal.SIGKILL)
    assert "was killed" in follow(stream, "demo", state="failed")["sandbox"]["reason"]


def test_a_client_that_comes_again_gets_what_it_has_missed_and_nothing_twice(server, key, listen):
    create(server, key, "kept")
    first = listen(server, key)
    _, cursor = snapshot(first)
    create(server, key, "one")
    cursor = follow(first, "one", state="running")["cursor"]
    first.close()
    create(server, key, "two")
    assert server.request("DELETE", "/v1/sandboxes/one", key=key).status == 204
    for more in ({"cursor": cursor}, {"query": f"?cursor={cursor}"}, {"cursor": cursor, "query": "?cursor=older"}):
        again = listen(server, key, **more)
        seen = set()
        for told in again:
            assert told["type"] in ("added", "changed", "removed"), told
            seen.add((told["type"], told["sandbox"]["id"]))
            if ("removed", "one") in seen and ("added", "two") in seen:
                break
        assert "kept" not in {name for _, name in seen}


def test_a_cursor_of_another_server_is_a_gap_and_a_new_snapshot(serving, key, listen):
    here, elsewhere = serving.start(), serving.start()
    create(here, key, "demo")
    _, cursor = snapshot(listen(here, key))
    name, _, number = cursor.rpartition("-")
    for server, strange in [(elsewhere, cursor), (here, "nonsense"), (here, f"{name}-{int(number) + 1}"), (here, f"{name}-"),
                            (here, f"{name}--1"), (here, f"{name}-{1 << 70}")]:
        stream = listen(server, key, cursor=strange)
        assert next(stream)["type"] == "gap"
        assert list(snapshot(stream)[0]) == ["demo"]


def test_an_owner_within_the_tenant_can_be_chosen(server, key, listen):
    create(server, key, "mine", owner="me")
    create(server, key, "yours", owner="you")
    stream = listen(server, key, query="?owner=me")
    assert list(snapshot(stream)[0]) == ["mine"]
    create(server, key, "other", owner="you")
    create(server, key, "last", owner="me")
    told = next(stream)
    assert told["sandbox"]["id"] == "last"


def test_a_tenant_sees_nothing_of_another_ones(server, serving, key, listen):
    other = serving.key("other", "--tenant", "other")
    create(server, key, "mine")
    stream = listen(server, other)
    assert snapshot(stream)[0] == {}
    # A cursor of another tenant's list is none.
    _, cursor = snapshot(listen(server, key))
    foreign = listen(server, other, cursor=cursor)
    assert next(foreign)["type"] == "gap" and snapshot(foreign)[0] == {}
    assert server.request("DELETE", "/v1/sandboxes/mine", key=key).status == 204
    create(server, other, "theirs")
    for one in (stream, foreign):
        assert next(one)["sandbox"]["id"] == "theirs"


def test_a_stream_ends_with_its_key(serving, listen):
    key = serving.key("gone")
    server = serving.start()
    stream = listen(server, key)
    snapshot(stream)
    serving.skiff("key", "rm", "gone", "--driver", DRIVER)
    *_, last = stream
    assert (last["type"], last["code"]) == ("error", "unauthenticated")
    assert server.request("GET", "/v1/events", key=key).status == 401


def test_a_stream_ends_when_its_server_is_to_stop(server, key, listen):
    stream = listen(server, key)
    snapshot(stream)
    server.process.send_signal(signal.SIGTERM)
    *_, last = stream
    assert (last["type"], last["code"]) == ("error", "draining")
    assert server.process.wait(60) == 0


def test_who_leaves_leaves_nothing(server, key, listen):
    def ended():
        return sum('"/v1/events"' in line for line in server.told().splitlines() if '"request"' in line)
    streams = [listen(server, key) for _ in range(20)]
    for stream in streams:
        snapshot(stream)
    for stream in streams:
        stream.close()
    until(lambda: ended() == 20, what="the ends of those who have left")


def test_a_key_without_the_scope_gets_nothing(server, serving):
    maker = serving.key("maker", "--scope", "create")
    assert server.request("GET", "/v1/events", key=maker).status == 403
    assert server.request("GET", "/v1/events").status == 401


def test_a_slow_reader_is_told_that_it_has_missed_events(server, key, listen):
    """The server keeps a few events for it, and then it gets the list anew."""
    create(server, key, "wide", labels={"wide": "x" * 200_000})
    slow, fast = listen(server, key), listen(server, key)
    snapshot(slow)
    snapshot(fast)
    # With little room in the kernel, so that it is soon over: who takes nothing for 30 s is cut.
    slow.connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    for turn in range(45):
        extended = server.request("POST", "/v1/sandboxes/wide/extend", {"ttl_ms": 3_600_000 + 60_000 * turn}, key)
        assert extended.status == 200
        follow(fast, "wide", expires_at=extended.json()["expires_at"])
    for told in slow:
        if told["type"] == "gap":
            break
    assert snapshot(slow)[0] == {"wide": server.request("GET", "/v1/sandboxes/wide", key=key).json()}
