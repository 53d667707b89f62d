"""`skiff exec`: a command in a sandbox that is there, its input and output, and `skiff kill` and `skiff top` beside it."""

import os
import random
import signal

from cutting_proxy import CuttingProxy
from launcher import as_json
from waiting import until


def test_a_command_that_takes_too_long_is_ended_with_124(skiff):
    skiff.up()
    err = skiff("exec", "box", "--timeout", "100ms", "--", "sh", "-c", "trap '' TERM; while :; do sleep 0.02; done", status=124)[1]
    assert "--timeout" in err


def test_stdin_is_passed_on_when_asked_for(skiff):
    skiff.up()
    data = random.Random(1).randbytes(3_000_000)
    (skiff.work / "in").write_bytes(data)
    with open(skiff.work / "in", "rb") as stdin:
        process = skiff.start("exec", "-i", "box", "--", "cat", stdin=stdin)
        assert process.communicate(timeout=100)[0] == data and process.returncode == 0
    assert skiff("exec", "box", "--", "cat", typed=b"not for it")[0] == ""
    # A command that does not read its input ends all the same.
    skiff("exec", "-i", "box", "--", "true", typed=bytes(1_000_000))


def test_nobody_reading_stdout_ends_the_command_as_in_a_shell(skiff):
    skiff.up()
    process = skiff.start("exec", "box", "--", "sh", "-c", "while :; do echo yes; done")
    assert process.stdout.readline() == b"yes\n"
    process.stdout.close()
    assert process.wait(60) == 141
    process.stderr.close()


def test_background_commands_are_listed_read_signalled_and_joined(skiff):
    skiff.up()
    assert skiff("exec", "box", "--mode", "background", "--id", "job", "-i", "--", "sh", "-c",
                 "echo one; echo two >&2; read line; echo got $line; exit 4")[0] == "job\n"
    until(lambda: skiff("logs", "box", "job") == ("one\n", "two\n"), what="its output")
    assert skiff.json("top", "box")["items"][0]["state"] == "running"
    assert "read line" in skiff("top", "box")[0]
    assert skiff("attach", "box", "job", "--from", "4", typed=b"this\n", status=4) == ("got this\n", "two\n")
    assert skiff("logs", "-f", "box", "job")[0] == "one\ngot this\n"
    skiff("exec", "box", "--mode", "background", "--id", "nap", "--", "sleep", "1000")
    assert "sleep 1000" in skiff("top", "-p", "box")[0]
    assert skiff("kill", "box", "nap")[0] == "nap: ended, 1 process, none left\n"
    until(lambda: "SIGTERM" in skiff("top", "box")[0], what="its end")
    assert "no command" in skiff("logs", "box", "nope", status=125)[1].lower()


def test_wait_prints_both_streams_when_the_command_has_ended(skiff):
    skiff.up()
    command = ("exec", "box", "--mode", "wait", "--", "sh", "-c", "printf '\\377'; echo err >&2; exit 6")
    process = skiff.start(*command)
    assert process.communicate(timeout=60) == (b"\377", b"err\n") and process.returncode == 6
    assert skiff.json(*command[:-4], "-e", "X=1", "--", *command[-3:], status=6)["exit_code"] == 6


def test_a_working_directory_an_environment_and_a_session_are_given(skiff):
    skiff.up()
    (skiff.root() / "sub").mkdir()
    out = skiff("exec", "-w", "sub", "-e", "A=1", "-e", "B", "box", "--", "sh", "-c", "pwd; echo $A$B$C", env={"B": "2", "C": "3"})[0]
    assert out == f"{skiff.workdir()}/sub\n12\n"
    assert "session" in skiff("exec", "-s", "nope", "box", "--", "true", status=125)[1]


def test_an_id_starts_a_command_once(skiff):
    skiff.up()
    for _ in range(2):
        assert skiff("exec", "--id", "once", "box", "--", "sh", "-c", "echo ran >> count; cat count")[0] == "ran\n"


def test_a_command_needs_no_dashes_and_its_flags_are_its_own(skiff):
    skiff.up()
    assert skiff("exec", "box", "echo", "-n", "--help", "--", "--config=/no/such/file")[0] == "--help -- --config=/no/such/file"
    (skiff.root() / "sub").mkdir()
    assert skiff("exec", "box", "-w", "sub", "pwd")[0] == f"{skiff.workdir()}/sub\n"
    assert skiff("exec", "box", "--mode", "background", "--id", "job", "--", "sh", "-c", "echo ran")[0] == "job\n"
    assert skiff("exec", "box", "--help")[0].startswith("usage: skiff exec [flags] NAME [--] COMMAND")


def test_an_interrupt_of_a_wait_ends_the_command(skiff):
    skiff.up()
    process = skiff.start("exec", "box", "--mode", "wait", "--id", "nap", "--", "sh", "-c", "touch begun; exec sleep 1000")
    until(lambda: (skiff.root() / "begun").exists(), what="its start")
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    process.communicate()
    until(lambda: skiff.json("top", "box")["items"][0]["state"] != "running", what="its end")


def test_a_command_without_a_time_limit_takes_that_of_the_variable(skiff):
    skiff.up()
    endless = ("exec", "box", "--", "sh", "-c", "trap '' TERM; while :; do sleep 0.02; done")
    assert "--timeout" in skiff(*endless, env={"SKIFF_EXEC_TIMEOUT": "100ms"}, status=124)[1]
    assert skiff("exec", "--timeout", "0", "box", "echo", "done", env={"SKIFF_EXEC_TIMEOUT": "1m"})[0] == "done\n"


# --- connections that break ---

def test_output_goes_on_when_connections_break(skiff):
    """No output is lost or repeated and no command starts twice, whichever byte the connection is cut at."""
    skiff.up()
    source = random.Random(2)
    out, err = source.randbytes(3_000_000), source.randbytes(1_000_000)
    (skiff.root() / "out").write_bytes(out)
    (skiff.root() / "err").write_bytes(err)
    port = skiff.record()["port"]
    cuts = [0, 100, 0, 700, 300_001, 1_000_000, 1, 65_536]
    with CuttingProxy(("127.0.0.1", port), cuts) as proxy:
        skiff.change_record(port=int(proxy.url.rsplit(":", 1)[1]))
        process = skiff.start("exec", "box", "--", "sh", "-c", "echo once >> ran; cat out & cat err >&2; wait; exit 5")
        got = process.communicate(timeout=100)
        assert process.returncode == 5, got[1][-500:]
        assert proxy.done == len(cuts)
        skiff.change_record(port=port)
    assert got[0] == out and got[1] == err
    assert (skiff.root() / "ran").read_text() == "once\n"


def test_input_goes_on_when_connections_break(skiff):
    skiff.up()
    data = random.Random(3).randbytes(1_000_000)
    port = skiff.record()["port"]
    with CuttingProxy(("127.0.0.1", port), [0, 400, 150, 50, 1000, 10]) as proxy:
        skiff.change_record(port=int(proxy.url.rsplit(":", 1)[1]))
        skiff("exec", "-i", "box", "--", "sh", "-c", "cat > got", typed=data)
        skiff.change_record(port=port)
    assert (skiff.root() / "got").read_bytes() == data


def test_exec_reports_a_sandbox_that_ends_while_its_command_is_attached(skiff):
    pid = int(skiff.up()["details"]["pid"])
    process = skiff.start("exec", "box", "--", "sh", "-c", "echo ready; sleep 1000")
    assert process.stdout.readline() == b"ready\n"
    os.kill(pid, signal.SIGKILL)
    err = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 125 and "was killed" in err


# --- kill ---

def test_kill_takes_its_signal_as_docker_does(skiff, box):
    skiff("exec", "box", "--mode", "background", "--id", "job", "--", "sh", "-c", "trap 'echo got; exit 3' USR1; echo ready; while :; do sleep 0.02; done")
    until(lambda: skiff("logs", "box", "job")[0] == "ready\n", what="its start")
    # Its trap may have ended it before the answer.
    assert skiff("kill", "-s", "USR1", "box", "job")[0].startswith(("job: USR1 was sent", "job: ended"))
    assert skiff("logs", "-f", "box", "job")[0] == "ready\ngot\n"


def test_kill_says_whether_all_processes_have_ended(skiff, box):
    def start(name, line):
        skiff("exec", "-d", "--id", name, "box", "--", "sh", "-c", line)
        until(lambda: "ready" in skiff("logs", "box", name)[0], what="its start")

    start("tree", "sleep 1000 & sleep 1000 & echo ready; wait")
    assert as_json(skiff, "kill", "box", "tree") == {"id": "tree", "signal": "TERM", "ended": True, "processes": 3, "left": 0}
    start("deaf", "trap '' TERM; echo ready; while :; do sleep 1; done")
    assert skiff("kill", "box", "deaf")[0] == "deaf: TERM was sent\n"
    assert skiff("kill", "-s", "KILL", "box", "deaf", "-o", "name")[0] == "deaf\n"
