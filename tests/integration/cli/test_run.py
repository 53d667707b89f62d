"""`skiff run`: a command in a sandbox of its own."""

import signal

import pytest

from launcher import DRIVER, NO_IMAGE
from waiting import until


def test_run_gives_the_output_and_status_and_leaves_nothing(skiff):
    out, err = skiff("run", "--", "sh", "-c", "pwd; echo err >&2; exit 3", status=3)
    assert out.startswith(str(skiff.sandboxes) if DRIVER == "local" else "/workspace\n") and err.endswith("err\n")
    assert skiff.names() == []


def test_run_keeps_the_sandbox_if_asked_to(skiff):
    skiff("run", "--keep", "kept", "--", "sh", "-c", "echo x > file")
    assert skiff("exec", "kept", "--", "cat", "file")[0] == "x\n"


def test_run_takes_no_image_that_the_driver_cannot_have(skiff):
    err = skiff("run", "alpine", "--", "true", status=125)[1]
    assert NO_IMAGE in err and "alpine" in err
    assert skiff.names() == []


@pytest.mark.parametrize("what, status, told", [
    (["no-such-program"], 127, "no-such-program"), (["/etc/passwd"], 126, "/etc/passwd"),
    (["sh", "-c", "kill -9 $$"], 137, ""), (["sh", "-c", "exit 200"], 200, "")])
def test_run_ends_with_the_status_that_docker_run_gives(skiff, what, status, told):
    assert told in skiff("run", "-q", "--", *what, status=status)[1]


def test_run_passes_signals_to_the_command(skiff):
    process = skiff.start("run", "-q", "--", "sh", "-c", "trap 'echo in''t' INT; trap 'echo te''rm; exit 5' TERM; echo ready; while :; do sleep 0.02; done")
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == b"int\n"
    process.send_signal(signal.SIGTERM)
    assert process.stdout.readline() == b"term\n"
    assert process.wait(60) == 5
    process.communicate()
    assert skiff.names() == []


def test_the_third_interrupt_leaves_a_command_that_does_not_listen(skiff):
    process = skiff.start("run", "-q", "--", "sh", "-c", "trap 'echo no' INT; echo ready; while :; do sleep 0.02; done")
    assert process.stdout.readline() == b"ready\n"
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == b"no\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    process.communicate()
    assert skiff.names() == []


def test_run_takes_the_flags_of_docker_run(skiff):
    name = "basename $(dirname $PWD)" if DRIVER == "local" else "echo $(cat /etc/hostname)"
    assert skiff("run", "-q", "--rm", "--name", "named", "--", "sh", "-c", name)[0] == "named\n"
    assert skiff.names() == [], "with --rm it goes"
    skiff("run", "--name", "kept", "--", "touch", "file")
    assert skiff.names() == ["kept"] and (skiff.root("kept") / "file").exists()
    assert "contradict" in skiff("run", "--rm", "--keep", "x", "--", "true", status=125)[1]
    assert "different names" in skiff("run", "--name", "a", "--keep", "b", "--", "true", status=125)[1]


def test_a_detached_run_goes_on_and_says_where(skiff):
    assert skiff("run", "-d", "--name", "web", "--", "sh", "-c", "echo begun; sleep 1000")[0] == "web\n"
    until(lambda: skiff("logs", "web")[0] == "begun\n", what="its output")
    left = skiff.json("run", "-d", "--rm", "--", "sleep", "1000")
    assert skiff.json("describe", left["sandbox"])["activity"]["lease"]["idle_ttl_ms"] == 300_000, "it ends by itself"
    assert [item["id"] for item in skiff.json("top", left["sandbox"])["items"]] == [left["command"]]
    assert "no-such-program" in skiff("run", "-d", "--name", "x", "--", "no-such-program", status=127)[1]
    assert skiff.names() == sorted(["web", left["sandbox"]]), "one whose command can't be begun is of no use"


def test_logs_and_kill_mean_the_command_that_run_started(skiff):
    assert skiff("run", "-d", "--name", "web", "--", "sh", "-c", "echo begun; sleep 1000")[0] == "web\n"
    skiff("exec", "web", "--", "echo", "later")
    until(lambda: skiff("logs", "web")[0] == "begun\n", what="the output of the first command")
    assert "for the last lines use --tail 5" in skiff("logs", "-n", "5", "web", status=125)[1]
    skiff("exec", "web", "-d", "--id", "other", "--", "sleep", "1000")
    assert "2 commands run" in skiff("kill", "web", status=125)[1]
    skiff("kill", "web", "other")
    skiff("attach", "web", "other", status=143)
    skiff("kill", "-s", "INT", "web")
    skiff("attach", "web", status=130)
    assert 'no command runs in "web"' in skiff("kill", "web", status=125)[1]
