"""Watches of directories through the API: what is told, over server-sent events and WebSockets, and where one goes on."""

import ctypes
import json
import os
import shutil

import pytest

FILES = "/v1/files"


@pytest.fixture
def folder(agent):
    """A directory to be watched. A watch is kept for a client that comes back, unless the directory is gone."""
    (agent.root / "w").mkdir()
    yield agent.root / "w"
    shutil.rmtree(agent.root / "w", ignore_errors=True)


def watched(stream):
    """The events of an SSE stream, without its keepalives."""
    for line in iter(stream.file.readline, b""):
        if line.startswith(b"data: "):
            yield json.loads(line[6:])


def exchange(one, other):
    """renameat2(2) with RENAME_EXCHANGE."""
    at_cwd, with_each_other = -100, 2
    if ctypes.CDLL(None, use_errno=True).renameat2(at_cwd, os.fsencode(one), at_cwd, os.fsencode(other), with_each_other) != 0:
        raise OSError(ctypes.get_errno(), "renameat2")


def until_told(events, kind, path):
    seen = []
    for event in events:
        seen.append(event)
        if (event["type"], event["path"]) == (kind, path):
            return seen
    raise AssertionError(f"not told that {path} was {kind}: {seen}")


def test_changes_are_reported_as_they_happen(agent, folder):
    with agent.stream("GET", f"{FILES}:watch?path=w&recursive=true") as stream:
        assert stream.status == 200
        events = watched(stream)
        first = next(events)
        assert first == {"type": "watching", "cursor": int(stream.headers["x-skiff-cursor"])}
        agent.run("mkdir -p w/a/b")
        seen = until_told(events, "created", "w/a/b")
        # A watch can't report files that come and go in a new directory before the agent watches it.
        agent.run("echo x > w/a/b/f; mv w/a/b/f w/a/g; rm w/a/g")
        seen += until_told(events, "deleted", "w/a/g")
    assert ("created", "w/a") in {(event["type"], event["path"]) for event in seen}
    renamed = [event for event in seen if event["type"] == "renamed"]
    assert not renamed or (renamed[0]["from"], renamed[0]["path"]) == ("w/a/b/f", "w/a/g")
    cursors = [first["cursor"], *(event["cursor"] for event in seen)]
    assert cursors == sorted(set(cursors))


def test_a_watch_over_websocket_tells_the_same_and_takes_pings(agent, folder):
    with agent.ws(f"{FILES}:watch?path=w", "skiff.v1.json") as socket:
        assert socket.subprotocol == "skiff.v1.json"
        assert socket.recv()["type"] == "watching"
        socket.send({"type": "ping", "data": "x"})
        assert socket.recv() == {"type": "pong", "data": "x"}
        agent.run("echo x > w/f")
        assert socket.recv().items() >= {"type": "created", "path": "w/f", "is_directory": False}.items()
        agent.run("rm -r w")
        assert socket.until("deleted", path="w")[-1]["is_directory"] is True
        assert socket.code() == 1000


def test_a_watch_over_websocket_refuses_what_it_does_not_take(agent, folder):
    for frame in b"bytes", {"type": "stdin", "data": "x"}, "[]":
        with agent.ws(f"{FILES}:watch?path=w") as socket:
            socket.recv()
            socket.send(frame)
            assert socket.code() == 1002


def test_a_watch_ends_with_its_session(agent, folder):
    assert agent.request("PUT", "/v1/sessions/w", json={}).status == 201
    with agent.ws("/v1/sessions/w/files:watch?path=w") as socket:
        socket.recv()
        assert agent.request("DELETE", "/v1/sessions/w").status == 204
        assert socket.code() == 4004


@pytest.mark.parametrize("resume", ["cursor", "Last-Event-ID", "websocket"])
def test_a_watch_goes_on_where_a_broken_connection_left_it(agent, folder, resume):
    """Every file that is made while nobody is connected is told to the one who comes back, once and in order."""
    watch = f"{FILES}:watch?path=w"
    with agent.stream("GET", watch) as stream:
        cursor = next(watched(stream))["cursor"]
    told = []
    for turn in range(20):
        agent.run(f"mkdir w/{turn}")
        if resume == "websocket":
            with agent.ws(f"{watch}&cursor={cursor}") as socket:
                assert socket.recv() == {"type": "watching", "cursor": cursor}
                event = socket.recv()
        else:
            where = f"{watch}&cursor={cursor}" if resume == "cursor" else watch
            headers = {"Last-Event-ID": str(cursor)} if resume == "Last-Event-ID" else None
            with agent.stream("GET", where, headers=headers) as stream:
                events = watched(stream)
                assert next(events) == {"type": "watching", "cursor": cursor}
                event = next(events)
        told.append((event["type"], event["path"]))
        cursor = event["cursor"]
    assert told == [("created", f"w/{turn}") for turn in range(20)]


def test_an_old_cursor_gets_an_overflow_event(agent, folder):
    with agent.stream("GET", f"{FILES}:watch?path=w&cursor=5") as stream:
        events = watched(stream)
        assert next(events)["type"] == "watching"
        assert next(events)["type"] == "overflow"


def test_an_invalid_cursor_is_refused(agent):
    assert agent.request("GET", f"{FILES}:watch", headers={"Last-Event-ID": "soon"}).problem(400, "invalid_field")
    assert agent.request("GET", f"{FILES}:watch?cursor=-1").problem(400, "invalid_field")


def end_of(events, folder, number):
    """The events up to that of a file of this name, which is created now in the watched directory itself."""
    (folder / f"end-{number}").touch()
    return {(event["type"], event["path"]) for event in until_told(events, "created", f"w/end-{number}")}


@pytest.mark.parametrize("how", ["replaced", "renamed", "back"])
def test_a_directory_whose_name_is_taken_again_is_still_watched(agent, folder, how):
    """`mv dist old; mv new dist`, as deployments do it: what is moved away is given up a little later, what has its name then is not."""
    for path in "w/dist/sub", "w/other/sub", "new/sub":
        (agent.root / path).mkdir(parents=True)
    old = agent.root / "old"
    try:
        with agent.stream("GET", f"{FILES}:watch?path=w&recursive=true") as stream:
            events = watched(stream)
            next(events)
            (folder / "dist").rename(old)
            {"replaced": agent.root / "new", "renamed": folder / "other", "back": old}[how].rename(folder / "dist")
            # The first one that was moved away and did not come back is told of after it was given up.
            (folder / "gone").mkdir()
            (folder / "gone").rename(agent.root / "gone")
            until_told(events, "deleted", "w/gone")
            (folder / "dist/later").touch()
            (folder / "dist/sub/later").touch()
            told = end_of(events, folder, 1)
        assert {("created", "w/dist/later"), ("created", "w/dist/sub/later")} <= told
    finally:
        for name in "old", "new", "gone":
            shutil.rmtree(agent.root / name, ignore_errors=True)


@pytest.mark.parametrize("below", ["a b", "a/sub b/sub", "a b/sub"])
def test_a_watch_reports_exchanged_directories_by_their_new_names(agent, folder, below):
    one, other = (folder / name for name in below.split())
    for name in "a/sub", "b/sub":
        (folder / name).mkdir(parents=True)
    with agent.stream("GET", f"{FILES}:watch?path=w&recursive=true") as stream:
        events = watched(stream)
        next(events)
        exchange(one, other)
        end_of(events, folder, 1)
        paths = [path for path in sorted(folder.rglob("*")) if path.is_dir()]
        for path in paths:
            (path / "new").touch()
        told = end_of(events, folder, 2)
        assert {path for kind, path in told if kind == "created"} == {f"{path.relative_to(agent.root)}/new" for path in paths} | {"w/end-2"}


def test_a_replaced_empty_directory_is_not_reported_as_an_exchange(agent, folder):
    (folder / "a/sub").mkdir(parents=True)
    (folder / "b").mkdir()
    with agent.stream("GET", f"{FILES}:watch?path=w&recursive=true") as stream:
        events = watched(stream)
        next(events)
        (folder / "a").rename(folder / "b")
        (folder / "b").rename(folder / "a")
        (folder / "a/sub/new").touch()
        assert ("created", "w/a/sub/new") in end_of(events, folder, 1)
