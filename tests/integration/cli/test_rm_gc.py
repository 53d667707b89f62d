"""`skiff rm` and `skiff gc`: sandboxes of the local driver are removed."""

import os
import signal

from waiting import until


def test_several_are_removed_by_their_label(skiff):
    skiff.up("one", "-l", "team=a")
    skiff.up("two", "-l", "team=a")
    skiff.up("other", "-l", "team=b")
    skiff.up("theirs", "--owner", "somebody", "-l", "team=a")
    assert skiff("rm", "--dry-run", "-l", "team=a")[0] == "one\ntwo\n"
    assert skiff("rm", "-f", "-l", "team=a")[0] == "one\ntwo\n"
    assert skiff.names() == ["other", "theirs"]
    assert skiff("rm", "-l", "team=c") == ("", "")
    for words in (("-l", "team=b", "other"), ("--all", "other"), ()):
        skiff("rm", *words, status=125)
    assert skiff.names() == ["other", "theirs"]


def test_an_unreadable_record_is_reported_and_removed_with_its_agent(skiff):
    skiff.up()
    (skiff.sandboxes / "box/record.json").write_text("{")
    sandbox = skiff.json("ps")["items"][0]
    assert sandbox["state"] == "failed" and "record.json" in sandbox["reason"]
    skiff("rm", "--all")
    assert skiff.names() == [] and not skiff.processes()


def test_gc_removes_what_has_ended_and_says_why(skiff):
    skiff.up("alive")
    skiff.up("stopped")
    skiff("stop", "stopped")
    skiff.up("over")
    skiff("extend", "over", "--idle-ttl", "100ms")
    os.kill(int(skiff.up("killed")["details"]["pid"]), signal.SIGKILL)
    until(lambda: {"over": "ended", "killed": "failed"}.items()
          <= {item["name"]: item["state"] for item in skiff.json("ps")["items"]}.items(), what="their ends")
    done = skiff.json("gc")
    assert {item["name"]: item["reason"].split(":")[0] for item in done["deleted"]} == {"over": "ended"}
    # The record does not say that its lease was over: its files are kept, and `start` runs it again.
    assert [item["name"] for item in done["kept"]] == ["alive", "killed", "stopped"]
    skiff("rm", "killed")
    assert skiff.names() == ["alive", "stopped"]
    until(lambda: [item["name"] for item in skiff.json("gc", "--max-idle", "10ms")["deleted"]] == ["alive"])
    assert skiff.names() == ["stopped"]


def test_a_skiff_that_was_killed_in_the_middle_leaves_what_gc_finds(skiff):
    process = skiff.start("up", "box", "--setup", "touch began; exec sleep 1000")
    until(lambda: (skiff.root() / "began").exists(), what="the setup")
    process.kill()
    process.communicate()
    skiff.change_record(port=0, socket="")  # as if it had been killed before it knew the address
    sandbox = skiff.json("ps")["items"][0]
    assert sandbox["state"] == "failed"
    skiff("gc")
    assert skiff.names() == [] and not skiff.processes()
