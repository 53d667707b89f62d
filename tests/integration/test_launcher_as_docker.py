"""What fingers know from docker and kubectl works with `skiff` too: real skiff, real skiffd, driver `local`."""

import pathlib
import signal

import pytest

from launcher import Skiff
from waiting import until

NOTICE = pathlib.Path(__file__).resolve().parents[2] / "NOTICE"


@pytest.fixture
def skiff(tmp_path):
    client = Skiff(tmp_path)
    yield client
    client.finish()


def test_a_command_needs_no_dashes_and_its_flags_are_its_own(skiff):
    skiff.up()
    assert skiff("exec", "box", "echo", "-n", "--help", "--", "--config=/no/such/file")[0] == "--help -- --config=/no/such/file"
    (skiff.root() / "sub").mkdir()
    assert skiff("exec", "box", "-w", "sub", "pwd")[0] == f"{skiff.root()}/sub\n"
    assert skiff("exec", "box", "--mode", "background", "--id", "job", "--", "sh", "-c", "echo ran")[0] == "job\n"
    assert skiff("exec", "box", "--help")[0].startswith("usage: skiff exec [flags] NAME [--] COMMAND")


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


def test_an_interrupt_of_a_wait_ends_the_command(skiff):
    skiff.up()
    process = skiff.start("exec", "box", "--mode", "wait", "--id", "nap", "--", "sh", "-c", "touch begun; exec sleep 1000")
    until(lambda: (skiff.root() / "begun").exists(), what="its start")
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    process.communicate()
    until(lambda: skiff.json("top", "box")["items"][0]["state"] != "running", what="its end")


def test_the_help_lists_each_group_once(skiff):
    headings = [line for line in skiff("--help")[0].splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert "Access:" in headings and len(headings) == len(set(headings))


def test_it_prints_its_license_and_the_notices(skiff):
    out, _ = skiff("licenses")
    assert out.startswith("Licensed under the Apache License, Version 2.0") and out.endswith("\n" + NOTICE.read_text())
