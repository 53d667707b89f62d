"""`skiff logs`: the output of a command that runs or has run, and the log of the agent."""

from waiting import until


def test_logs_without_an_id_are_those_of_the_newest_command(skiff):
    skiff.up()
    assert "no command was started" in skiff("logs", "box", status=125)[1]
    skiff("exec", "--id", "zz-first", "box", "--", "echo", "first")
    skiff("exec", "--id", "aa-second", "box", "--", "echo", "second")
    assert skiff("logs", "box")[0] == "second\n"
    assert skiff("logs", "box", "zz-first")[0] == "first\n"
    skiff("exec", "--mode", "background", "box", "--", "sh", "-c", "echo begun; while [ ! -e go ]; do sleep 0.02; done; echo over")
    process = skiff.start("logs", "-f", "box")
    assert process.stdout.readline() == b"begun\n"
    (skiff.root() / "go").touch()
    assert process.communicate(timeout=60)[0] == b"over\n" and process.returncode == 0
    assert "session" in skiff("logs", "-s", "nope", "box", status=125)[1]


def test_logs_begin_at_the_last_lines_or_at_a_time(skiff):
    skiff.up()
    skiff("exec", "--id", "count", "box", "--", "seq", "1000")
    skiff("exec", "--id", "rest", "box", "--", "printf", "one\\ntwo\\nthree")
    assert skiff("logs", "box", "count", "--tail", "3")[0] == "998\n999\n1000\n"
    assert skiff("logs", "box", "--tail", "2")[0] == "two\nthree" and skiff("logs", "box", "--tail", "0")[0] == ""
    assert skiff("logs", "box", "count", "--tail", "5000")[0] == skiff("logs", "box", "count")[0]
    assert skiff("logs", "box", "--since", "1h")[0] == "one\ntwo\nthree" and skiff("logs", "box", "--since", "1ms")[0] == ""
    lines = skiff("logs", "box", "--timestamps", "--tail", "2")[0].split("\n")
    assert [line.split(" ")[1] for line in lines] == ["two", "three"] and all(line.startswith("20") for line in lines)
    skiff("exec", "--mode", "background", "--id", "more", "box", "--", "sh", "-c", "seq 9; while [ ! -e go ]; do sleep 0.02; done; echo over")
    until(lambda: skiff("logs", "box", "more")[0].endswith("9\n"), what="its output")
    process = skiff.start("logs", "-f", "--tail", "1", "box", "more")
    assert process.stdout.readline() == b"9\n"
    (skiff.root() / "go").touch()
    assert process.communicate(timeout=60)[0] == b"over\n"


def test_many_lines_are_counted_from_their_end(skiff):
    skiff.up()
    skiff("exec", "--id", "long", "box", "--", "sh", "-c", "seq 100000; seq 100000 >&2")
    got = skiff("logs", "box", "long", "--tail", "50000")
    assert (got[0] + got[1]).count("\n") == 50_000


def test_logs_of_the_agent_are_those_of_the_sandbox(skiff):
    skiff.up()
    (skiff.sandboxes / "box/skiffd.log").write_text("one\ntwo\n")
    assert skiff("logs", "box", "--agent")[0] == "one\ntwo\n"
    assert skiff("logs", "box", "--agent", "--tail", "1")[0] == "two\n"
    assert "omit" in skiff("logs", "box", "--agent", "-p", status=125)[1]
    assert "omit" in skiff("logs", "box", "--agent", "-f", status=125)[1]
    assert "--agent" in skiff("logs", "box", "-p", status=125)[1]


def test_logs_follows_from_the_time_that_since_names(skiff):
    """`logs -f --since` begins where that time begins and goes on."""
    skiff.up()
    skiff("exec", "-d", "--id", "job", "box", "--", "sh", "-c", "echo begun; while [ ! -e go ]; do sleep 0.02; done; echo over")
    until(lambda: skiff("logs", "box", "job")[0] == "begun\n", what="its output")
    late = skiff.start("logs", "-f", "--since", "1ms", "box", "job")
    whole = skiff.start("logs", "-f", "--since", "5m", "box", "job")
    assert whole.stdout.readline() == b"begun\n"
    (skiff.root() / "go").touch()
    assert whole.communicate(timeout=60)[0] == b"over\n" and whole.returncode == 0
    out, err = late.communicate(timeout=60)
    assert b"begun" not in out and (late.returncode, err) == (0, b"")
    assert "--timestamps" in skiff("logs", "-f", "--timestamps", "box", "job", status=125)[1]
