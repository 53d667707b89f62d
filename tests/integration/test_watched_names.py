"""A watch reports names: never the agent's own temporary ones, and a renamed directory as removed."""

import contextlib
import itertools
import json
import os
import shutil

import pytest

from writing import DIALECTS, WAYS, Everything


def changes(stream):
    """The changes of a watch, without the first event."""
    events = (json.loads(line[5:]) for line in stream.lines() if line.startswith(b"data:"))
    assert next(events)["type"] == "watching"
    return events


MARKS = itertools.count()


def until_mark(directory, events):
    """(type, path, from) of what was told before another file is made and its creation told."""
    mark = f"mark{next(MARKS)}"
    (directory / mark).write_text("")
    told = []
    for event in events:
        name = event["path"].rpartition("/")[2]
        if name == mark:
            return told
        if not name.startswith("mark"):
            told.append((event["type"], event["path"], *([event["from"]] if "from" in event else [])))
    raise AssertionError("the watch has ended")


@pytest.fixture
def watched():
    """A directory is made in the root, watched, and goes at the end, which ends the watch."""
    @contextlib.contextmanager
    def watch(agent, recursive):
        directory = agent.root / "w"
        directory.mkdir()
        with agent.stream("GET", f"/v1/files:watch?path=w&recursive={recursive}") as stream:
            yield directory, changes(stream)
            shutil.rmtree(directory)

    return watch


@pytest.mark.parametrize("recursive", ["false", "true"])
@pytest.mark.parametrize("way", [way for way in WAYS if way != "python-runtime"])
def test_a_watch_reports_a_write_by_the_files_own_name(start_agent, watched, way, recursive):
    on = Everything(start_agent(*DIALECTS))
    with watched(on.agent, recursive) as (directory, events):
        if "edit" not in way and way != "PATCH":
            assert on.write(way, "w/new", b"", b"text") < 300
            told = until_mark(directory, events)
            assert told[:1] == [("created", "w/new")] and set(told) <= {("created", "w/new"), ("modified", "w/new")}, told
        (directory / "old").write_text("text")
        until_mark(directory, events)
        assert on.write(way, "w/old", b"text", b"other") < 300
        told = until_mark(directory, events)
        assert told and set(told) == {("modified", "w/old")}, told


def test_a_watch_reports_trees_and_batches_by_their_own_names(agent, watched):
    with watched(agent, "true") as (directory, events):
        (directory / "d/e").mkdir(parents=True)
        (directory / "d/e/f").write_text("x")
        until_mark(directory, events)
        assert agent.request("POST", "/v1/files:copy", json={"from": "w/d", "to": "w/copy"}).status == 201
        assert sorted(set(until_mark(directory, events))) == [("created", f"w/{name}") for name in ("copy", "copy/e", "copy/e/f")]
        batch = [{"op": "delete", "path": "w/copy/e/f"}, {"op": "write", "path": "w/d/e/f", "content": "new"}]
        answer = agent.request("POST", "/v1/files:batch", json={"operations": batch})
        assert answer.status == 200, answer
        told = until_mark(directory, events)
        assert ("deleted", "w/copy/e/f") in told and ("modified", "w/d/e/f") in told, told
        assert not [one for one in told if ".skiff-" in one[1] or one[0] == "renamed"], told
        packed = agent.request("GET", "/v1/files:archive?path=w/d").body
        assert agent.request("PUT", "/v1/files:archive?path=w/out", body=packed).status == 200
        assert not [one for one in until_mark(directory, events) if ".skiff-" in "".join(one)]


@pytest.mark.parametrize("moved", ["d/w", "d"])
@pytest.mark.parametrize("recursive", ["false", "true"])
def test_a_directory_that_is_renamed_is_gone(agent, moved, recursive):
    root = agent.root
    (root / "d/w/sub").mkdir(parents=True)
    with agent.stream("GET", f"/v1/files:watch?path=d/w&recursive={recursive}") as stream:
        events = changes(stream)
        os.rename(root / moved, root / "elsewhere")
        inside = root / "elsewhere" / os.path.relpath("d/w", moved)
        (inside / "late").write_text("")
        (inside / "sub/late").write_text("")
        told = [(event["type"], event["path"]) for event in events]
        assert told == [("deleted", "d/w")]
    # Another directory has the name now.
    (root / "d/w").mkdir(parents=True)
    with agent.stream("GET", f"/v1/files:watch?path=d/w&recursive={recursive}") as stream:
        events = changes(stream)
        (root / "d/w/g").write_text("")
        assert next(events)["path"] == "d/w/g"
        (root / "d/w/g").unlink()
        (root / "d/w").rmdir()


def test_a_directory_that_is_moved_out_is_reported_as_deleted_and_not_watched(agent, watched, tmp_path):
    with watched(agent, "true") as (directory, events):
        for number in range(20):
            (directory / "sub/deep").mkdir(parents=True)
            until_mark(directory, events)
            os.rename(directory / "sub", tmp_path / f"out{number}")
            (tmp_path / f"out{number}/f").write_text("")
            (tmp_path / f"out{number}/deep/f").write_text("")
            assert until_mark(directory, events) == [("deleted", "w/sub")]
        (directory / "sub").mkdir()
        until_mark(directory, events)
        os.rename(directory / "sub", directory / "other")
        (directory / "other/f").write_text("")
        told = until_mark(directory, events)
        assert told[0] == ("renamed", "w/other", "w/sub") and {one[1] for one in told[1:]} == {"w/other/f"}


UPGRADE = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAMAAABkAAQCAAAAAAIAAAAA"}


def test_an_offer_of_http2_changes_no_answer(agent):
    (agent.root / "f").write_text("x")
    for path in ("/v1/files/f", "/v1/files:list", "/v1/version", "/healthz", "/v1/commands", "/v1/files:archive"):
        assert agent.request("GET", path, headers=UPGRADE).status == 200, path
    assert agent.request("PUT", "/v1/files/g", body=b"x", headers=UPGRADE).status == 201
    (agent.root / "d").mkdir()
    with agent.stream("GET", "/v1/files:watch?path=d", headers={**UPGRADE, "Accept": "text/event-stream"}) as stream:
        assert stream.status == 200
        changes(stream)
        (agent.root / "d").rmdir()
