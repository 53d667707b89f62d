"""`skiff stop`, `skiff start` and `skiff extend`: a sandbox of the local driver ends and starts again."""

import json
import os
import signal

import proc
from launcher import DRIVER
from waiting import until


def test_stop_keeps_the_files_and_start_makes_it_again(skiff):
    first = skiff.up("box", "-e", "WHO=me")
    skiff("exec", "box", "--", "sh", "-c", "echo kept > file")
    skiff("stop", "box")
    assert not skiff.processes()
    assert skiff.json("ps")["items"][0]["state"] == "stopped"
    err = skiff("exec", "box", "--", "true", status=125)[1]
    assert "is stopped" in err and "skiff start box" in err
    again = skiff.json("start", "box", "-q")
    assert again["id"] == first["id"]
    assert skiff("exec", "box", "--", "sh", "-c", "cat file; echo $WHO")[0] == "kept\nme\n"
    assert skiff.json("start", "box", "-q")["details"]["pid"] == again["details"]["pid"]


def test_several_are_stopped_and_started_whatever_happens_to_one(skiff):
    for name in ("one", "two"):
        skiff.up(name)
    assert skiff.json("stop", "one") == {"stopped": ["one"]}
    out, err = skiff("stop", "-o", "json", "one", "none", "two", status=125)
    assert json.loads(out) == {"stopped": ["one", "two"]}
    assert "skiff: none: there is no sandbox" in err and "not everything could be stopped" in err
    out, err = skiff("start", "-q", "-o", "json", "one", "none", "two", status=125)
    assert [item["name"] for item in json.loads(out)["items"]] == ["one", "two"]
    assert "skiff: none: there is no sandbox" in err and "not everything could be started" in err
    assert skiff("stop", "none", status=125) == ("", 'skiff: there is no sandbox "none"\n')


def test_a_dry_run_stops_nothing(skiff):
    skiff.up()
    for form in ("--dry-run", "--dry-run=client", "--dry-run=server"):
        assert skiff("stop", form, "box")[0] == "box\n"
    assert "there is no sandbox" in skiff("stop", "--dry-run", "none", status=125)[1]
    assert skiff.json("ps", "box")["state"] == "running"


def test_an_end_is_as_gentle_as_it_was_asked_to_be(skiff):
    deaf = ("exec", "box", "--mode", "background", "--", "sh", "-c", "trap '' TERM; while :; do sleep 1; done")
    for words in (("stop", "-t", "1"), ("stop", "--force"), ("rm", "--grace-period", "1"), ("rm", "-f")):
        if not skiff.names():
            skiff.up("box")
        skiff("start", "box", "-q")
        skiff(*deaf)
        skiff(words[0], "box", *words[1:], "--wait=false")
        assert not skiff.processes()
    err = skiff("rm", "box", "--wait", "soon", status=125)[1]
    assert "--wait" in err and "or false" in err


def test_an_agent_that_was_killed_is_reported_and_started_again(skiff):
    pid = int(skiff.up()["details"]["pid"])
    skiff("exec", "box", "--mode", "background", "--", "sh", "-c", "setsid sleep 1000")
    until(lambda: any("sleep 1000" in line for line in skiff.processes().values()), what="the daemon")
    os.kill(pid, signal.SIGKILL)
    # The last thread of a box's process 1 ends all others before it ends itself.
    sandbox = until(lambda: (found := skiff.json("ps")["items"][0])["state"] != "running" and found, what="its end")
    assert sandbox["state"] == "failed" and "was killed" in sandbox["reason"]
    err = skiff("exec", "box", "--", "true", status=125)[1]
    assert "was killed" in err and "skiff start box" in err
    skiff("start", "box")
    assert not any("sleep 1000" in line for line in skiff.processes().values())
    assert skiff("exec", "box", "--", "echo", "back")[0] == "back\n"


def test_an_agent_that_was_ended_from_outside_has_not_had_its_time(skiff):
    pid = int(skiff.up("box", "--ttl", "1h")["details"]["pid"])
    skiff("exec", "box", "--", "sh", "-c", "echo kept > file")
    os.kill(pid, signal.SIGTERM)
    sandbox = until(lambda: not proc.alive(pid) and skiff.json("ps")["items"][0], what="its end")
    assert sandbox["state"] == "failed" and "SIGTERM" in sandbox["reason"], sandbox
    assert [item["name"] for item in skiff.json("gc")["kept"]] == ["box"]
    skiff("start", "box")
    assert skiff("exec", "box", "--", "cat", "file")[0] == "kept\n"


def test_start_shows_the_error_of_an_agent_that_does_not_start(skiff):
    skiff.up()
    skiff("stop", "box")
    skiff.change_record(ttl_ms=10**11)  # more than it takes
    err = skiff("start", "box", status=125)[1]
    assert "--ttl" in err and "a time from" in err
    if DRIVER == "local":
        skiff.root().rmdir()
        assert str(skiff.root()) in skiff("start", "box", status=125)[1]
    assert not skiff.processes()


def test_a_lease_ends_and_can_be_extended(skiff):
    skiff.up("box", "--ttl", "1h")
    first = skiff.json("describe", "box")["expires_at"]
    longer = skiff.json("extend", "box", "--ttl", "2h")
    assert longer["expires_at"] > first
    assert skiff.json("describe", "box")["activity"]["lease"]["ttl_ms"] == 7_200_000
    skiff.up("short")
    skiff("extend", "short", "--ttl", "50ms")
    until(lambda: skiff.json("describe", "short")["state"] == "ended", what="its end")
    assert "lease" in skiff.json("describe", "short")["reason"]
