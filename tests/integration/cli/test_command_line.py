"""The command line itself: where flags and commands are looked for, forms of output, the file of settings, and mistakes."""

import json
import os

import pytest

from launcher import DRIVER, NO_IMAGE
from terminal import Terminal, ended


def test_flags_of_every_command_may_stand_before_it(skiff):
    skiff.up()
    assert skiff("-o", "name", "ps")[0] == skiff("--output=name", "--driver", DRIVER, "ps")[0] == "box\n"
    assert skiff("-q", "exec", "box", "echo", "-q")[0] == "-q\n"
    assert "flags of every command" in skiff("--image", "x", "up", status=125)[1]


def test_a_command_is_found_by_its_other_names_and_a_wrong_one_is_answered_with_the_nearest(skiff):
    skiff.up()
    assert skiff("get", "-o", "name")[0] == skiff("ls", "-o", "name")[0] == "box\n"
    assert skiff("delete", "box")[0] == "box\n"
    assert 'did you mean "describe"?' in skiff("descibe", "box", status=125)[1]
    assert "delete (rm)" in skiff("--help")[0] and "skiff delete" in skiff("rm", "--help")[0]


def test_forms_of_output_colour_and_the_config_file(skiff):
    skiff.up("box")
    assert skiff("ps", "-o", "name")[0] == "box\n"
    assert skiff("ps")[0].split()[:5] == ["NAME", "STATUS", "AGE", "EXPIRES", "ADDRESS"]
    assert "name: box" in skiff("ps", "-o", "yaml")[0]
    config = skiff.home / ".config/skiff/config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("output: name\nttl: 3h\n")
    assert skiff("ps")[0] == "box\n"
    assert skiff("ps", env={"SKIFF_OUTPUT": "yaml"})[0].startswith("items:")
    assert skiff("ps", "-o", "table", env={"SKIFF_OUTPUT": "yaml"})[0].startswith("NAME")
    skiff("up", "leased", "-q")
    assert skiff.json("describe", "leased")["activity"]["lease"]["ttl_ms"] == 3 * 3_600_000
    config.write_text("outputs: name\n")
    assert "outputs" in skiff("ps", status=125)[1]
    config.unlink()


def test_what_the_config_file_says_of_new_sandboxes_changes_no_other_command(skiff):
    config = skiff.home / ".config/skiff/config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("label: [team=a]\nttl: 3h\n")
    skiff("up", "mine", "-q")
    skiff("up", "other", "-q", "--label", "team=b")
    assert skiff("ps", "-o", "name")[0] == "mine\nother\n"
    assert skiff.json("describe", "mine")["labels"] == {"team": "a"}
    skiff("extend", "mine", "--ttl", "1h")
    skiff("extend", "mine")
    assert skiff.json("describe", "mine")["activity"]["lease"]["ttl_ms"] == 3_600_000, "it keeps the time it had"
    config.unlink()


def test_progress_is_drawn_on_a_terminal_and_printed_in_lines_elsewhere(skiff, box):
    with Terminal(skiff.start, "up", "other") as terminal:
        terminal.seen(b"other is up")
        ended(terminal, 0)
        assert b"\033[K" in terminal.output and b"\033[32m" not in terminal.output
    assert "skiff: third: starting" in skiff("up", "third")[1]
    assert "third" not in skiff("rm", "third", "-q")[1]
    with Terminal(skiff.start, "ps") as terminal:
        ended(terminal, 0)
        terminal.until(lambda: b"running" in terminal.output, "the list")
        colour = os.environ.get("TERM") not in (None, "dumb")
        assert (b"\033[32mrunning\033[0m" in terminal.output) == colour
    with Terminal(skiff.start, "ps", env={"NO_COLOR": "1", "TERM": "xterm"}) as terminal:
        ended(terminal, 0)
        terminal.until(lambda: b"running" in terminal.output, "the list")
        assert b"\033[" not in terminal.output


def test_an_unknown_variable_is_reported(skiff):
    told = "skiff: SKIFF_OUTPTU is not a variable of skiff: did you mean SKIFF_OUTPUT?\n"
    for words in (("ps",), ("ps", "-o", "json")):
        assert skiff(*words, env={"SKIFF_OUTPTU": "json"})[1] == told
    assert skiff("ps", env={"SKIFF_MY_OWN": "x"})[1] == "skiff: SKIFF_MY_OWN is not a variable of skiff, and is ignored\n"
    assert skiff("ps", env={"SKIFF_LISTEN": "x", "SKIFF_SERVICE_HOST": "10.0.0.1", "SKIFF_PORT": "tcp://10.0.0.1:80"})[1] == ""
    assert skiff("ps", "-q", env={"SKIFF_OUTPTU": "json"})[1] == "" and skiff("__complete", "--", "ps", "", env={"SKIFF_OUTPTU": "json"})[1] == ""


def test_words_that_are_not_utf8_are_refused_before_anything_is_created(skiff):
    skiff.up("box")
    byte = "\udce9"  # how Python passes on the byte E9, which is not UTF-8
    for words in (("exec", "box", "--", "echo", byte), ("exec", "box", "--cwd", byte, "--", "pwd"),
                  ("exec", "box", "--env", f"A={byte}", "--", "env"), ("exec", "box", "--mode", "wait", "--", byte),
                  ("run", "--", byte)):
        process = skiff.start(*words)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 125 and b"UTF-8" in err and b"json.exception" not in err, (words, err)
    assert skiff.names() == ["box"]


def test_errors_of_the_command_line_say_what_to_do(skiff):
    assert "did you mean --idle-ttl" in skiff("up", "box", "--idle-tll", "1h", status=125)[1]
    assert "no command" in skiff("upp", status=125)[1]
    assert "usage: skiff exec" in skiff("exec", "box", status=125)[1]
    assert "there is no sandbox" in skiff("exec", "box", "--", "true", status=125)[1]
    assert NO_IMAGE in skiff("run", "echo", "hello", status=125)[1]


@pytest.mark.parametrize("words", [("up", "box", "--dry-run"), ("up", "box", "--dry-run=client"), ("run", "--dry-run", "--", "true"),
                                   ("manifest", "box"), ("manifest", "--template", "py"),
                                   pytest.param(("network", "box"), marks=pytest.mark.skipif(DRIVER == "box", reason="a box has rules"))])
def test_what_only_a_cluster_has_is_refused_with_the_driver_that_has_it(skiff, words):
    assert "`--driver pod`" in skiff(words[0], "--driver", DRIVER, *words[1:], status=125)[1]
    assert skiff.names() == []


def test_an_error_is_json_with_its_code_where_output_is(skiff):
    out, err = skiff("describe", "nope", "-o", "json", "-q", status=125)
    assert out == "" and err.count("\n") == 1
    assert json.loads(err) == {"code": "sandbox_not_found", "detail": 'there is no sandbox "nope"', "field": "name"}
    skiff.up("box")
    assert json.loads(skiff("up", "box", "-q", env={"SKIFF_OUTPUT": "json"}, status=125)[1])["code"] == "sandbox_conflict"
    told = json.loads(skiff("token", "box", "--scope", "all", "-o", "json", "-q", status=125)[1])
    assert told["code"] == "invalid_field" and "scope" in told["detail"]
    # An escape sequence does not reach the terminal.
    assert "\\u001b" in skiff("describe", "a\x1b[2J", "-o", "json", "-q", status=125)[1]
    assert skiff("describe", "nope", "-o", "yaml", status=125)[1] == 'skiff: there is no sandbox "nope"\n'
