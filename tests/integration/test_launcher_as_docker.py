"""What fingers know from docker and kubectl works with `skiff` too: real skiff, real skiffd, driver `local`."""

import pathlib
import signal
import socket

from waiting import until

NOTICE = pathlib.Path(__file__).resolve().parents[2] / "NOTICE"


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


def test_flags_of_every_command_may_stand_before_it(skiff):
    skiff.up()
    assert skiff("-o", "name", "ps")[0] == skiff("--output=name", "--driver", "local", "ps")[0] == "box\n"
    assert skiff("-q", "exec", "box", "echo", "-q")[0] == "-q\n"
    assert "flags of every command" in skiff("--image", "x", "up", status=125)[1]


def test_a_command_is_found_by_its_other_names_and_a_wrong_one_is_answered_with_the_nearest(skiff):
    skiff.up()
    assert skiff("get", "-o", "name")[0] == skiff("ls", "-o", "name")[0] == "box\n"
    assert skiff("delete", "box")[0] == "box\n"
    assert 'did you mean "describe"?' in skiff("descibe", "box", status=125)[1]
    assert "delete (rm)" in skiff("--help")[0] and "skiff delete" in skiff("rm", "--help")[0]


def test_run_takes_the_flags_of_docker_run(skiff):
    assert skiff("run", "-q", "--rm", "--name", "named", "--", "sh", "-c", "basename $(dirname $PWD)")[0] == "named\n"
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


def test_what_run_started_is_what_logs_and_kill_mean(skiff):
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


def test_lists_have_the_forms_of_kubectl(skiff):
    skiff.up("one", "-l", "n=2")
    skiff.up("two", "-l", "n=1")
    assert skiff("ps", "-q")[0] == "one\ntwo\n"
    assert skiff("ps", env={"SKIFF_QUIET": "1"})[0].startswith("NAME"), "that variable is for all commands"
    assert skiff("ps", "--no-headers")[0].split()[0] == "one"
    assert skiff("ps", "-q", "--sort-by", ".labels.n")[0] == "two\none\n"
    assert skiff("ps", "-o", "jsonpath={range .items[*]}{.name}:{.labels.n}{'\\n'}{end}")[0] == "one:2\ntwo:1\n"
    assert "jsonpath" in skiff("ps", "-o", "jsonpath={.items[}", status=125)[1]
    waited = ("exec", "one", "--mode", "wait", "-o", "jsonpath={.exit_code} {.stdout}", "--", "sh", "-c", "echo out; exit 3")
    assert skiff(*waited, status=3)[0] == "3 out\n"
    assert skiff("rbac", "ps", "-o", "wide") == skiff("rbac", "ps")
    heads, first, _ = skiff("ps", "-o", "wide")[0].splitlines()
    assert heads.split()[5:] == ["LAST", "USED", "IMAGE", "OWNER", "NODE", "POOL"] and " ago " in first
    assert skiff.json("ps", "two")["name"] == "two"
    assert [item["name"] for item in skiff.json("get", "two", "one")["items"]] == ["two", "one"]
    assert "there is no sandbox" in skiff("ps", "none", status=125)[1]
    assert "namespaces" in skiff("ps", "-A", "--driver", "local", status=125)[1]


def test_a_watch_tells_what_changes(skiff):
    skiff.up()
    process = skiff.start("ps", "-w", "--no-headers")
    assert process.stdout.readline().split()[:2] == [b"box", b"running"]
    skiff("stop", "box")
    while (line := process.stdout.readline().split()[:2]) != [b"box", b"stopped"]:
        assert line[0] == b"box", line
    skiff("rm", "box")
    assert b"removed" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    process.communicate()


def test_describe_has_sections_and_takes_several_names(skiff):
    skiff.up("one", "-l", "team=a", "--ttl", "1h")
    skiff.up("two")
    page = skiff("describe", "one", "two")[0]
    lines = page.splitlines()
    assert lines[0].split() == ["name:", "one"] and any(line.split() == ["labels:", "team=a"] for line in lines)
    assert any(line.startswith("workspace:") and line.endswith("/one/root") for line in lines)
    for heading in ("details:", "agent:", "activity:", "reached:"):
        assert lines.count(heading) == 2, page
    assert [item["name"] for item in skiff.json("describe", "one", "two")["items"]] == ["one", "two"]
    assert skiff.json("describe", "one")["workspace"] == str(skiff.root("one"))
    assert skiff.json("describe", "one")["default_timeout_ms"] is None


def test_a_command_without_a_time_limit_takes_that_of_the_variable(skiff):
    skiff.up()
    endless = ("exec", "box", "--", "sh", "-c", "trap '' TERM; while :; do sleep 0.02; done")
    assert "--timeout" in skiff(*endless, env={"SKIFF_EXEC_TIMEOUT": "100ms"}, status=124)[1]
    assert skiff("exec", "--timeout", "0", "box", "echo", "done", env={"SKIFF_EXEC_TIMEOUT": "1m"})[0] == "done\n"


def test_up_without_a_name_makes_one_and_a_uuid_is_one(skiff):
    name = skiff("up", "-o", "name")[0].strip()
    assert name.startswith("box-") and skiff.names() == [name]
    uuid = "018f2c6e-7b1a-7c52-9d3e-0a4b5c6d7e8f"
    assert skiff.up(uuid)["name"] == uuid
    assert skiff("exec", uuid, "echo", "in")[0] == "in\n"


def test_up_may_remove_its_sandbox_at_its_end(skiff):
    process = skiff.start("up", "box", "--rm-on-exit")
    assert process.stdout.readline().startswith(b"box is up at ")
    assert skiff("exec", "box", "echo", "in")[0] == "in\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 143
    process.communicate()
    assert skiff.names() == [] and not skiff.processes()


def test_a_dry_run_stops_nothing(skiff):
    skiff.up()
    for form in ("--dry-run", "--dry-run=client", "--dry-run=server"):
        assert skiff("stop", form, "box")[0] == "box\n"
    assert "there is no sandbox" in skiff("stop", "--dry-run", "none", status=125)[1]
    assert skiff.json("ps", "box")["state"] == "running"


def test_ports_are_forwarded_from_the_addresses_that_are_named(skiff):
    with socket.create_server(("127.0.0.1", 0)) as server:
        skiff.up()
        process = skiff.start("port-forward", "--address", "127.0.0.2", "--address", "127.0.0.1", "box", f":{server.getsockname()[1]}")
        places = [process.stdout.readline().decode().split(" -> ")[0] for _ in range(2)]
        assert [place.rsplit(":", 1)[0] for place in places] == ["127.0.0.2", "127.0.0.1"]
        for place in places:
            host, port = place.rsplit(":", 1)
            with socket.create_connection((host, int(port))) as client:
                peer, _ = server.accept()
                with peer:
                    client.sendall(b"there")
                    assert peer.recv(100) == b"there"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        process.communicate()
    assert "--address" in skiff("forward", "--address", "nowhere", "box", "80", status=125)[1]
