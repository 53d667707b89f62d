"""The companion `skiff` with its local driver: real skiff, real skiffd."""

import http.client
import json
import os
import random
import shutil
import signal
import socket
import stat

import pytest

import proc
from cutting_proxy import CuttingProxy
from waiting import until


# --- the life of a sandbox ---

def test_a_sandbox_is_made_used_and_removed(skiff):
    out, err = skiff("up", "box")
    assert out.startswith("box is up at http://127.0.0.1:")
    assert "does not isolate" in err and "box: ready" in err
    assert skiff("exec", "box", "--", "sh", "-c", "echo out; echo err >&2; exit 7", status=7) == ("out\n", "err\n")
    assert skiff("rm", "box", "box")[0] == "box\n"
    assert skiff.names() == [] and not skiff.processes()
    out, err = skiff("rm", "box")  # one that is not there counts as removed
    assert out == "" and err.startswith("skiff: box: there is none (driver local, "), err


def test_a_sandbox_outlives_the_skiff_that_made_it(skiff):
    made = skiff.up()
    pid = int(made["details"]["pid"])
    assert proc.alive(pid) and os.getsid(pid) == pid
    assert skiff.json("describe", "box")["agent"]["sandbox_id"] == made["id"]


def test_what_is_remembered_is_for_the_user_alone(skiff):
    skiff.up()
    for folder in (skiff.state / "skiff", skiff.sandboxes, skiff.sandboxes / "box", skiff.root()):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700, folder
    for file in (skiff.state / "skiff/signing-key.pem", skiff.sandboxes / "box/record.json", skiff.sandboxes / "box/skiffd.log"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    (skiff.state / "skiff").chmod(0o755)
    skiff("ps")
    assert stat.S_IMODE((skiff.state / "skiff").stat().st_mode) == 0o700


def test_a_name_is_taken_once(skiff):
    first = skiff.up()
    assert "already" in skiff("up", "box", status=125)[1]
    again = skiff.json("up", "box", "--get-or-create", "-q")
    assert (first["new"], again["new"], again["id"]) == (True, False, first["id"])
    assert "lower-case" in skiff("up", "../box", status=125)[1]


def test_two_at_once_make_one_sandbox(skiff):
    processes = [skiff.start("up", "box", "--get-or-create", "-o", "json") for _ in range(4)]
    outcomes = [process.communicate(timeout=100) for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, outcomes
    assert sum(b'"new": true' in out for out, _ in outcomes) == 1
    assert len(skiff.processes()) == 1
    removers = [skiff.start("rm", "box") for _ in range(3)]
    outs = [process.communicate(timeout=100)[0] for process in removers]
    assert [process.returncode for process in removers] == [0] * 3
    assert sorted(outs) == [b"", b"", b"box\n"]


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


def test_an_agent_that_was_killed_behind_our_back_is_told_and_started_again(skiff):
    pid = int(skiff.up()["details"]["pid"])
    skiff("exec", "box", "--mode", "background", "--", "sh", "-c", "setsid sleep 1000")
    until(lambda: any("sleep 1000" in line for line in skiff.processes().values()), what="the daemon")
    os.kill(pid, signal.SIGKILL)
    until(lambda: not proc.alive(pid), what="its end")
    sandbox = skiff.json("ps")["items"][0]
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
    # Nobody has written down that its time was over: its files are there, and `start` runs it again.
    assert [item["name"] for item in done["kept"]] == ["alive", "killed", "stopped"]
    skiff("rm", "killed")
    assert skiff.names() == ["alive", "stopped"]
    until(lambda: [item["name"] for item in skiff.json("gc", "--max-idle", "10ms")["deleted"]] == ["alive"])
    assert skiff.names() == ["stopped"]


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


def test_sandboxes_belong_to_an_owner_and_have_labels(skiff):
    skiff.up("mine", "-l", "team=a")
    skiff.up("yours", "--owner", "you", "-l", "team=b")
    assert [item["name"] for item in skiff.json("ps")["items"]] == ["mine"]
    assert skiff("ps", "--everyone", "-o", "name")[0] == "mine\nyours\n"
    assert skiff("ps", "--everyone", "--label", "team=b", "-o", "name")[0] == "yours\n"
    assert skiff("ps", "--status", "stopped", "-o", "name")[0] == ""
    skiff("rm", "--all")
    assert skiff.names() == ["yours"]


def test_an_interrupt_in_the_middle_of_up_leaves_nothing(skiff):
    process = skiff.start("up", "box", "--setup", "touch began; exec sleep 1000")
    until(lambda: (skiff.root() / "began").exists(), what="the setup")
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    process.communicate()
    assert skiff.names() == [] and not skiff.processes()


def test_a_skiff_that_was_killed_in_the_middle_leaves_what_gc_finds(skiff):
    process = skiff.start("up", "box", "--setup", "touch began; exec sleep 1000")
    until(lambda: (skiff.root() / "began").exists(), what="the setup")
    process.kill()
    process.communicate()
    skiff.change_record(port=0)  # as if it had been killed before it knew the port
    sandbox = skiff.json("ps")["items"][0]
    assert sandbox["state"] == "failed"
    skiff("gc")
    assert skiff.names() == [] and not skiff.processes()


def test_a_setup_that_fails_shows_its_output_and_leaves_nothing(skiff):
    err = skiff("up", "box", "--setup", "echo went wrong; exit 3", status=125)[1]
    assert "went wrong" in err
    assert skiff.names() == []


def test_a_record_that_can_not_be_read_is_told_and_removed_with_its_agent(skiff):
    skiff.up()
    (skiff.sandboxes / "box/record.json").write_text("{")
    sandbox = skiff.json("ps")["items"][0]
    assert sandbox["state"] == "failed" and "record.json" in sandbox["reason"]
    skiff("rm", "--all")
    assert skiff.names() == [] and not skiff.processes()


def test_an_agent_that_does_not_come_up_is_told_with_its_own_words(skiff):
    skiff.up()
    skiff("stop", "box")
    skiff.change_record(ttl_ms=10**11)  # more than it takes
    err = skiff("start", "box", status=125)[1]
    assert "--ttl" in err and "a time from" in err
    skiff.root().rmdir()
    assert str(skiff.root()) in skiff("start", "box", status=125)[1]
    assert not skiff.processes()


# --- run ---

def test_run_gives_the_output_and_status_and_leaves_nothing(skiff):
    out, err = skiff("run", "--", "sh", "-c", "pwd; echo err >&2; exit 3", status=3)
    assert out.startswith(str(skiff.sandboxes)) and err.endswith("err\n")
    assert skiff.names() == []


def test_run_keeps_the_sandbox_if_asked_to(skiff):
    skiff("run", "--keep", "kept", "--", "sh", "-c", "echo x > file")
    assert skiff("exec", "kept", "--", "cat", "file")[0] == "x\n"


def test_run_takes_no_image_with_the_local_driver(skiff):
    err = skiff("run", "alpine", "--", "true", status=125)[1]
    assert "takes no image" in err and "alpine" in err
    assert skiff.names() == []


@pytest.mark.parametrize("what, status, told", [
    (["no-such-program"], 127, "no-such-program"), (["/etc/passwd"], 126, "/etc/passwd"),
    (["sh", "-c", "kill -9 $$"], 137, ""), (["sh", "-c", "exit 200"], 200, "")])
def test_run_ends_with_the_status_that_docker_run_gives(skiff, what, status, told):
    assert told in skiff("run", "-q", "--", *what, status=status)[1]


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
    # One that does not read its input ends all the same.
    skiff("exec", "-i", "box", "--", "true", typed=bytes(1_000_000))


def test_signals_are_the_commands(skiff):
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


def test_nobody_reading_stdout_ends_the_command_as_in_a_shell(skiff):
    skiff.up()
    process = skiff.start("exec", "box", "--", "sh", "-c", "while :; do echo yes; done")
    assert process.stdout.readline() == b"yes\n"
    process.stdout.close()
    assert process.wait(60) == 141
    process.stderr.close()


# --- commands ---

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
    assert out == f"{skiff.root()}/sub\n12\n"
    assert "session" in skiff("exec", "-s", "nope", "box", "--", "true", status=125)[1]


def test_an_id_starts_a_command_once(skiff):
    skiff.up()
    for _ in range(2):
        assert skiff("exec", "--id", "once", "box", "--", "sh", "-c", "echo ran >> count; cat count")[0] == "ran\n"


def test_output_goes_on_when_connections_break(skiff):
    """Nothing is lost, repeated or started twice, whichever byte the connection is cut at."""
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


def test_a_sandbox_that_goes_while_a_command_is_attached_is_told(skiff):
    pid = int(skiff.up()["details"]["pid"])
    process = skiff.start("exec", "box", "--", "sh", "-c", "echo ready; sleep 1000")
    assert process.stdout.readline() == b"ready\n"
    os.kill(pid, signal.SIGKILL)
    err = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 125 and "was killed" in err


# --- the rest ---

def test_ports_are_forwarded(skiff):
    with socket.create_server(("127.0.0.1", 0)) as server:
        skiff.up()
        process = skiff.start("forward", "box", f":{server.getsockname()[1]}")
        line = process.stdout.readline().decode()
        port = int(line.split(" -> ")[0].rsplit(":", 1)[1])
        with socket.create_connection(("127.0.0.1", port)) as client:
            peer, _ = server.accept()
            with peer:
                client.sendall(b"there")
                assert peer.recv(100) == b"there"
                peer.sendall(b"back")
                assert client.recv(100) == b"back"
                client.shutdown(socket.SHUT_WR)
                assert peer.recv(100) == b""
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        process.communicate()


def test_a_token_works_for_its_sandbox_alone(skiff):
    skiff.up("one")
    skiff.up("two")

    def status(port, token, method="GET", path="/v1/version"):
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        client.request(method, path, headers={"Authorization": f"Bearer {token}"})
        try:
            return client.getresponse().status
        finally:
            client.close()

    one, two = skiff.record("one")["port"], skiff.record("two")["port"]
    token = skiff("token", "one")[0].strip()
    assert status(one, token) == 200 and status(two, token) == 401
    reader = skiff("token", "one", "--scope", "read")[0].strip()
    assert status(one, reader) == 200 and status(one, reader, "DELETE", "/v1/files/x") == 403
    assert "scope" in skiff("token", "one", "--scope", "all", status=125)[1]


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


def test_bytes_that_are_no_text_are_refused_before_anything_is_made(skiff):
    skiff.up("box")
    byte = "\udce9"  # as Python passes on an E9 that is no UTF-8
    for words in (("exec", "box", "--", "echo", byte), ("exec", "box", "--cwd", byte, "--", "pwd"),
                  ("exec", "box", "--env", f"A={byte}", "--", "env"), ("exec", "box", "--mode", "wait", "--", byte),
                  ("run", "--", byte)):
        process = skiff.start(*words)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 125 and b"UTF-8" in err and b"json.exception" not in err, (words, err)
    assert skiff.names() == ["box"]


def test_the_doctor_and_the_version_tell(skiff):
    assert skiff.json("doctor")["passed"] is True
    assert skiff("version")[0].startswith("skiff ")
    skiff.up()
    assert "skiffd " in skiff("version", "box")[0]


def remedies(skiff, **options):
    out, _ = skiff("doctor", "-o", "json", status=125, **options)
    return {check["what"]: check["remedy"] for check in json.loads(out)["items"] if not check["passed"]}


def test_the_doctors_advice_helps_where_there_is_no_skiffd(skiff, tmp_path):
    beside = tmp_path / "skiff"
    shutil.copy(skiff.program, beside)
    skiff.command[-1] = str(beside)
    alone = {"PATH": str(tmp_path)}
    advice = remedies(skiff, env=alone)
    assert list(advice) == ["skiffd"] and "install it beside skiff" in advice["skiffd"]
    shutil.copy(os.environ["SKIFFD"], tmp_path / "skiffd")
    assert skiff.json("doctor", env=alone)["passed"]


def test_the_doctors_advice_helps_where_the_key_is_damaged(skiff):
    skiff("doctor")
    (key,) = skiff.state.rglob("signing-key.pem")
    key.write_text("no key")
    advice = remedies(skiff)
    assert list(advice) == ["signing key"] and "remove it" in advice["signing key"]
    key.unlink()
    assert skiff.json("doctor")["passed"]


def test_a_mistake_is_told_with_what_to_do(skiff):
    assert "did you mean --idle-ttl" in skiff("up", "box", "--idle-tll", "1h", status=125)[1]
    assert "no command" in skiff("upp", status=125)[1]
    assert "usage: skiff exec" in skiff("exec", "box", status=125)[1]
    assert "there is no sandbox" in skiff("exec", "box", "--", "true", status=125)[1]
    assert "takes no image" in skiff("run", "echo", "hello", status=125)[1]


@pytest.mark.parametrize("words", [("up", "box", "--dry-run"), ("up", "box", "--dry-run=client"), ("run", "--dry-run", "--", "true"),
                                   ("manifest", "box"), ("manifest", "--template", "py"), ("network", "box")])
def test_what_only_a_cluster_has_is_refused_with_the_driver_that_has_it(skiff, words):
    assert "`--driver pod`" in skiff(words[0], "--driver", "local", *words[1:], status=125)[1]
    assert skiff.names() == []
