"""The dialect kubebox: REST and Socket.IO as its client has them, and the limits of the original, which are gone."""

import json
import os
import signal
import threading

import pytest

from kubebox import box, joined, start_kubebox  # noqa: F401
from waiting import until, with_time

MIB = 1024 * 1024


# --- sessions ---


def test_a_session_is_one_of_the_agents(box):
    assert box.post("initialize", session_id="s2", path="deep/er") == {"session_id": "s2"}
    shown = box.agent.request("GET", "/v1/sessions/s2").json()
    assert shown["root"] == os.path.realpath(box.agent.root) + "/deep/er"
    assert box.run("pwd", session="s2")["stdout"] == shown["root"] + "\n"


def test_the_same_session_again_keeps_its_processes_and_another_path_ends_them(box):
    process = box.start("sleep 300", mode="background")
    box.post("initialize", session_id="s", path="ws")
    with box.socket() as socket:
        socket.event("check_status", session_id="s", process_id=process)
        assert socket.next() == ("status", {"running": True, "session_id": "s", "process_id": process})
    box.post("initialize", session_id="s", path="elsewhere")
    until(lambda: not box.agent.strays(), what="the end of the process")
    assert box.run("basename $PWD")["stdout"] == "elsewhere\n"


@pytest.mark.parametrize("name", ["user 7/ü", "a" * 500, "../x", "kubebox-"])
def test_an_id_that_the_agent_cannot_have_is_the_clients_all_the_same(box, name):
    assert box.post("initialize", session_id=name, path="odd") == {"session_id": name}
    process = box.start("echo x", session=name)
    with box.socket() as socket:
        socket.follow(process, session=name)
        events = socket.until_exits(process)[process]
    assert joined(events) == ("x\n", "", 0) and {one["session_id"] for one in events} == {name}


def test_a_session_of_somebody_else_is_not_replaced(box):
    box.agent.session(id="native", root="mine")
    for name in ("native", "default"):
        assert "session" in box.post("initialize", 409, session_id=name, path="other")["detail"]
    box.post("write_file", session_id="native", file_path="f", content="x")
    assert (box.agent.root / "mine/f").read_text() == "x"


def test_a_path_outside_the_root_is_refused(box):
    for path in ("../up", "/etc", "/", "a/../../up"):
        assert box.post("initialize", 422, session_id="out", path=path)["detail"]
    assert box.run("echo x", session="s")["stdout"] == "x\n"


# --- commands that are waited for ---


def test_a_wait_gives_both_streams_and_the_exit_code(box):
    assert box.run("echo out; echo err >&2; exit 3") == {"stdout": "out\n", "stderr": "err\n", "exit_code": 3, "finished": False}
    assert box.run("printf 'a\\r\\nb'") == {"stdout": "a\r\nb", "stderr": "", "exit_code": 0, "finished": True}
    assert box.run("kill -9 $$")["exit_code"] == -9
    assert box.run("printf 'caf\\303\\251 \\377\\303'")["stdout"] == "café \ufffd\ufffd"


def test_a_path_is_the_working_directory(box):
    (box.agent.root / "ws/sub").mkdir()
    assert box.run("basename $PWD", path="sub")["stdout"] == "sub\n"
    answer = box.run("echo x", path="nope")
    assert answer["exit_code"] != 0 and "nope" in answer["stderr"] and not answer["finished"]


def test_a_timeout_keeps_the_output(box):
    answer = with_time(lambda seconds: box.run("echo begun; echo bad >&2; sleep 300 & sleep 300", timeout=seconds),
                       lambda answer: answer["stderr"])
    assert answer == {"stdout": "begun\n", "stderr": "bad\n", "exit_code": None, "error": "Command timed out", "finished": False}


def test_a_wait_of_megabytes_is_whole(box):
    answer = box.run("head -c 3000000 /dev/zero | tr '\\0' a; head -c 2000000 /dev/zero | tr '\\0' b >&2")
    assert answer["stdout"] == "a" * 3_000_000 and answer["stderr"] == "b" * 2_000_000


def test_an_answer_says_how_much_output_the_log_dropped(start_kubebox):
    box = start_kubebox("--keep-bytes", "128KiB")
    answer = box.run("head -c 1000000 /dev/zero | tr '\\0' a")
    missing = int(answer["stderr"].removeprefix("skiffd: ").split()[0])
    assert missing > 0 and len(answer["stdout"]) + missing == 1_000_000


def test_white_space_keeps_a_long_wait_alive(start_kubebox):
    box = start_kubebox("--keepalive", "20ms")
    answer = box.ask("run_command", session_id="s", command="sleep 0.5; echo x", timeout=None)
    assert answer.body.startswith(b"  ") and answer.json()["stdout"] == "x\n"


# --- commands that are streamed ---


def test_a_stream_has_both_streams_and_its_exit_comes_last(box):
    with box.socket() as socket:
        assert socket.output(box.start("echo out; echo err >&2; exit 4")) == ("out\n", "err\n", 4)
        assert socket.output(box.start("kill -TERM $$")) == ("", "", -15)
        out, err, code = socket.output(box.start("echo x", path="nope"))
        assert out == "" and "nope" in err and code != 0


def test_output_comes_while_it_is_written(box):
    process = box.start("echo first; while [ ! -e go ]; do sleep 0.02; done; echo second")
    with box.socket() as socket:
        socket.follow(process)
        assert socket.next()[1]["output"] == "first\n"
        box.run("touch go")
        assert joined(socket.until_exits(process)[process]) == ("second\n", "", 0)


def test_many_streams_at_once(box):
    with box.socket() as socket:
        processes = [box.start(f"for i in 1 2 3; do echo {i} $i; echo e{i} >&2; sleep 0.05; done; exit {i}") for i in range(20)]
        for process in processes:
            socket.follow(process)
        seen = socket.until_exits(*processes)
    for i, process in enumerate(processes):
        assert joined(seen[process]) == ("".join(f"{i} {j}\n" for j in (1, 2, 3)), f"e{i}\n" * 3, i)


def test_many_lines_are_few_events(box):
    process = box.start("i=0; while [ $i -lt 200000 ]; do echo $i; i=$((i+1)); done")
    with box.socket() as socket:
        socket.follow(process)
        events = socket.until_exits(process)[process]
    assert joined(events) == ("".join(f"{i}\n" for i in range(200_000)), "", 0)
    assert len(events) < 2000


def test_long_lines_and_invalid_utf8_do_not_end_the_stream(box):
    with box.socket() as socket:
        assert socket.output(box.start("head -c 1000000 /dev/zero | tr '\\0' a; echo; echo end")) == ("a" * 1_000_000 + "\nend\n", "", 0)
        assert socket.output(box.start("printf 'a\\377b\\303'; sleep 0.1; printf '\\251c\\303'")) == ("a\ufffdbéc\ufffd", "", 0)


def test_nothing_is_lost_before_the_stream_begins(start_kubebox):
    box = start_kubebox("--keep-bytes", "128KiB")
    process = box.start("seq 300000; touch all")
    assert box.run("echo other")["stdout"] == "other\n"
    with box.socket() as socket:
        assert socket.output(process) == ("".join(f"{i}\n" for i in range(1, 300_001)), "", 0)


def test_a_background_process_ends_whatever_it_writes_and_can_be_streamed_later(box):
    process = box.start("head -c 2000000 /dev/zero | tr '\\0' a; touch ended", mode="background")
    until((box.agent.root / "ws/ended").exists)
    with box.socket() as socket:
        assert socket.output(process) == ("a" * 2_000_000, "", 0)


def test_a_timeout_ends_a_stream_too(box):
    with box.socket() as socket:
        assert socket.output(box.start("echo x; exec sleep 300", timeout=1)) == ("x\n", "", -15)


def test_a_stream_that_is_asked_for_twice_is_one(box):
    process = box.start("while [ ! -e go ]; do sleep 0.02; done; echo x")
    with box.socket() as socket:
        socket.follow(process)
        socket.event("start_command_stream", id=7, session_id="s", process_id=process)
        assert socket.frame() == "437[]"
        box.run("touch go")
        assert joined(socket.until_exits(process)[process]) == ("x\n", "", 0)


def test_a_stream_that_cannot_begin_ends(box):
    with box.socket() as socket:
        for session, process, sentence in (("s", 12, "No such process"), ("nope", 12, "Session not found")):
            socket.follow(process, session)
            told = {"session_id": session, "process_id": process}
            assert socket.next() == ("command_error", {"error": sentence, **told})
            assert socket.next() == ("command_exit", {"exit_code": -1, **told})


def test_exits_are_sent_when_the_agent_stops(box):
    process = box.start("echo x; exec sleep 300")
    with box.socket() as socket:
        socket.follow(process)
        assert socket.next()[1]["output"] == "x\n"
        box.agent.process.send_signal(signal.SIGTERM)
        assert joined(socket.until_exits(process)[process]) == ("", "", -15)
        assert socket.ws.close_code() == 1001
    assert box.agent.process.wait(30) == 143


# --- kill, status ---


def test_kill_tells_the_exit_code_once(box):
    process = box.start("exec sleep 300", mode="background")
    until(box.agent.strays)
    assert box.post("kill_command", session_id="s", process_id=process) == {"status": "killed", "exit_code": -15}
    assert box.post("kill_command", 404, session_id="s", process_id=process) == {"detail": "No such process"}


def test_kill_takes_the_id_as_a_text_too(box):
    process = box.start("trap '' TERM; exec sleep 300", mode="background")
    until(lambda: any(line.startswith("sleep") for line in box.agent.strays().values()))
    assert box.post("kill_command", session_id="s", process_id=str(process))["exit_code"] == -9


def test_kill_all_ends_what_kubebox_started_in_the_session(box):
    box.post("initialize", session_id="other", path="other")
    for _ in range(3):
        box.start("exec sleep 300", mode="background")
    kept = box.start("exec sleep 300", mode="background", session="other")
    assert box.post("kill_all_processes", session_id="s") == {"success": True, "failed_processes": []}
    until(lambda: len(box.agent.strays()) == 1, what="the end of three of four")
    assert box.post("kill_command", session_id="other", process_id=kept)["status"] == "killed"


def test_status_tells_of_what_runs_has_ended_or_never_was(box):
    process = box.start("while [ ! -e go ]; do sleep 0.02; done")
    with box.socket() as socket:
        socket.event("check_status", session_id="s", process_id=process)
        assert socket.next()[1]["running"] is True
        box.run("touch go")
        socket.output(process)
        socket.event("check_status", session_id="s", process_id=process)
        assert socket.next()[1]["running"] is False
        socket.event("check_status", session_id="s", process_id=1)
        assert socket.next()[1]["running"] is None
        socket.event("check_status", session_id="nope", process_id=1)
        assert socket.next() == ("status", {"running": None, "session_id": "nope", "process_id": 1})


# --- the connection ---


def test_the_handshake_and_the_namespace(box):
    with box.socket(connect=False) as socket:
        told = json.loads(socket.handshake[1:])
        assert told["upgrades"] == [] and told["pingInterval"] == 15000 and told["pingTimeout"] == 30000 and told["sid"]
        socket.send('40{"token":"x"}')
        assert socket.frame().startswith('40{"sid":"')
        socket.event("initialize", id=0, session_id="s")
        assert socket.next() == ("initialized", {"status": "success", "session_id": "s"})
        assert socket.frame() == "430[]"
        socket.event("initialize", session_id="nope")
        assert socket.next() == ("command_error", {"error": "Session not found", "session_id": "nope"})


def test_a_connection_that_breaks_is_taken_up_by_the_next_one(box):
    process = box.start("seq 100000; while [ ! -e go ]; do sleep 0.02; done; echo end")
    quiet = box.start("while [ ! -e go ]; do sleep 0.02; done; exit 5")
    got = ""
    with box.socket() as socket:
        socket.follow(process)
        socket.follow(quiet)
        while "\n50000\n" not in got:
            got += socket.next()[1]["output"]
        socket.break_off()
    until(lambda: box.sockets() == 0, what="the end of the connection")
    box.run("touch go")
    with box.socket() as socket:
        seen = socket.until_exits(process, quiet)
    rest, err, code = joined(seen[process])
    # The server sends unacknowledged output again; no output is missing.
    whole = "".join(f"{i}\n" for i in range(1, 100_001)) + "end\n"
    assert whole.startswith(got) and whole.endswith(rest) and len(got) + len(rest) >= len(whole)
    assert (err, code) == ("", 0) and joined(seen[quiet]) == ("", "", 5)


def test_unacknowledged_output_is_sent_again(box):
    process = box.start("printf 'caf\\303'; while [ ! -e go ]; do sleep 0.02; done; printf '\\251'; exit 6")
    with box.socket() as socket:
        socket.follow(process)
        assert socket.next()[1]["output"] == "caf"
        socket.acks = False
        box.run("touch go")
        assert socket.next()[1]["output"] == "é"
        assert socket.next()[0] == "command_exit"
        socket.break_off()
    until(lambda: box.sockets() == 0, what="the end of the connection")
    with box.socket() as socket:
        out, err, code = joined(socket.until_exits(process)[process])
    assert out in ("é", "café") and (err, code) == ("", 6)


def test_a_connection_that_is_found_dead_late_is_taken_up_by_the_one_that_came_after(start_kubebox):
    box = start_kubebox("--keepalive", "50ms", "--write-timeout", "200ms")
    process = box.start("while [ ! -e go ]; do sleep 0.02; done; echo x; exit 5")
    with box.socket(pongs=False) as dead:
        dead.follow(process)
        with box.socket() as socket:
            reader = threading.Thread(target=lambda: list(iter(dead.ws.recv, None)))
            reader.start()
            while reader.is_alive():
                socket.event("check_status", session_id="nope", process_id=process)
                assert socket.next()[0] == "status"
            reader.join()
            box.run("touch go")
            assert joined(socket.until_exits(process)[process]) == ("x\n", "", 5)


def test_another_namespace_is_not_there_and_ends_nothing(box):
    with box.socket() as socket:
        socket.send("40/admin,{}")
        assert socket.frame() == '44/admin,{"message":"Invalid namespace"}'
        socket.send('42/,["initialize",{"session_id":"s"}]')
        assert socket.next()[0] == "initialized"


@pytest.mark.parametrize("goodbye", ["41", "1"])
def test_a_connection_that_was_left_is_not_taken_up(box, goodbye):
    process = box.start("echo x; while [ ! -e go ]; do sleep 0.02; done")
    with box.socket() as socket:
        socket.follow(process)
        assert socket.next()[1]["output"] == "x\n"
        socket.send(goodbye)
        assert socket.ws.close_code() == 1000
    with box.socket() as socket:
        socket.event("check_status", session_id="s", process_id=process)
        assert socket.next()[0] == "status"
        box.run("touch go")
        assert socket.output(process) == ("x\n", "", 0)  # asked for again, it begins again


def test_pings_are_answered_or_the_connection_ends(start_kubebox):
    box = start_kubebox("--keepalive", "50ms", "--write-timeout", "200ms")
    with box.socket(pongs=False) as silent, box.socket() as answering:
        frames = []
        reader = threading.Thread(target=lambda: frames.extend(iter(silent.ws.recv, None)))
        reader.start()
        while reader.is_alive():
            answering.event("initialize", session_id="s")
            assert answering.next()[0] == "initialized"
        reader.join()
        assert set(frames) == {(1, b"2")}


def test_a_connection_that_never_joins_the_namespace_is_closed(start_kubebox):
    box = start_kubebox("--keepalive", "50ms")
    with box.socket(connect=False) as socket:
        assert socket.ws.recv() is None


def test_polling_and_other_protocols_are_refused(box):
    for query in ("transport=polling&EIO=4", "transport=websocket&EIO=3", ""):
        answer = box.request("GET", f"/socket.io/?{query}")
        assert answer.status == 400 and "WebSocket" in answer.json()["detail"]
    answer = box.request("GET", "/socket.io/?transport=websocket&EIO=4")
    assert answer.status == 426 and answer.headers["Upgrade"] == "websocket"


# --- files ---


def test_files_are_written_read_listed_and_deleted(box):
    content = "ü\r\n\0\"\\" * 1000
    assert box.post("write_file", 404, session_id="s", file_path="a/b.txt", content=content)["detail"]
    assert box.post("write_file", session_id="s", file_path="a/b.txt", content=content, make_dirs=True) == {"status": "success"}
    assert box.get("read_file", session_id="s", file_path="a/b.txt") == {"content": content}
    assert box.request("GET", "/get_file?session_id=s&file_path=a/b.txt").body == content.encode()
    assert (box.agent.root / "ws/a/b.txt").read_bytes() == content.encode()
    assert box.post("make_dirs", session_id="s", file_path="x/y") == {"status": "success"}
    assert box.post("make_dirs", session_id="s", file_path="x/y") == {"status": "success"}
    (box.agent.root / "ws/.hidden").touch()
    (box.agent.root / "ws/x/c.py").touch()
    assert sorted(box.get("get_all_file_paths", session_id="s")) == [".hidden", "a/b.txt", "x/c.py"]
    assert box.get("get_all_file_paths", session_id="s", regexes=["[.]py$", "^a/"]) == ["a/b.txt", "x/c.py"]
    for path, there in (("a/b.txt", True), ("a", True), ("a/b.txt/c", False), ("nope", False)):
        assert box.get("file_exists", session_id="s", file_path=path) == {"exists": there}
    assert box.post("delete_file", session_id="s", file_path="a/b.txt") == {"status": "success"}
    assert box.get("get_all_file_paths", session_id="s", regexes=["b.txt"]) == []


def test_odd_names_are_listed(box):
    names = sorted(["a b+c&d=e%41.txt", "ü", "日本", "x" * 255, ".dot", "-r", "a\nb"])
    for name in names:
        (box.agent.root / "ws" / name).touch()
        assert box.get("file_exists", session_id="s", file_path=name) == {"exists": True}
    assert sorted(box.get("get_all_file_paths", session_id="s")) == names


def test_large_files_go_through(box):
    content = "0123456789abcdef" * (4 * MIB // 16) + "é"
    box.post("write_file", session_id="s", file_path="big", content=content)
    assert box.get("read_file", session_id="s", file_path="big")["content"] == content
    (box.agent.root / "ws/odd").write_bytes(b"a" * (256 * 1024 - 1) + "é".encode() + b"\xff")
    assert box.get("read_file", session_id="s", file_path="odd")["content"] == "a" * (256 * 1024 - 1) + "é\ufffd"
    (box.agent.root / "ws/empty").touch()
    assert box.get("read_file", session_id="s", file_path="empty") == {"content": ""}


def test_many_paths_are_all_listed(box):
    for i in range(12):
        (box.agent.root / f"ws/{i}").mkdir()
        for j in range(600):
            (box.agent.root / f"ws/{i}/{j}").touch()
    assert len(set(box.get("get_all_file_paths", session_id="s"))) == 7200


def test_errors_of_files_have_their_reasons(box):
    box.post("make_dirs", session_id="s", file_path="dir")
    assert box.get("read_file", 404, session_id="s", file_path="nope") == {"detail": "File not found"}
    assert box.get("get_file", 404, session_id="s", file_path="dir") == {"detail": "File not found"}
    assert box.post("delete_file", 404, session_id="s", file_path="nope")["detail"]
    assert "directory" in box.post("delete_file", 409, session_id="s", file_path="dir")["detail"]
    assert (box.agent.root / "ws/dir").is_dir()
    assert "regular expression" in box.get("get_all_file_paths", 422, session_id="s", regexes="(")["detail"]


def test_what_is_not_a_file_is_not_found(box):
    root = box.agent.root / "ws"
    (root / "loop").symlink_to("loop")
    (root / "broken").symlink_to("nowhere")
    os.mkfifo(root / "fifo")
    for name, exists in (("loop", False), ("broken", False), ("n" * 300, False), ("loop/x", False), ("fifo", True)):
        assert box.get("file_exists", session_id="s", file_path=name) == {"exists": exists}, name
        for route in ("read_file", "get_file"):
            assert box.get(route, 404, session_id="s", file_path=name) == {"detail": "File not found"}, name


def test_the_last_of_two_equal_parameters_counts(box):
    box.post("write_file", session_id="s", file_path="f", content="four")
    asked = "/read_file?session_id=nope&file_path=none&file_path=f&session_id=s"
    assert box.request("GET", asked).json() == {"content": "four"}
    assert box.request("GET", "/read_file?session_id=s&session_id=nope&file_path=f").status == 400


def test_links_to_directories_are_not_listed(box):
    root = box.agent.root / "ws"
    (root / "d").mkdir()
    (root / "d/f").write_text("x")
    (root / "to-directory").symlink_to("d")
    (root / "to-file").symlink_to("d/f")
    (root / "broken").symlink_to("nowhere")
    assert sorted(box.get("get_all_file_paths", session_id="s")) == ["broken", "d/f", "to-file"]


# --- errors ---


@pytest.mark.parametrize("route", ["run_command", "kill_command", "kill_all_processes", "write_file", "make_dirs", "delete_file"])
def test_an_unknown_session_is_400(box, route):
    fields = {"command": "echo", "file_path": "f", "content": "", "process_id": 1}
    assert box.post(route, 400, session_id="nope", **fields) == {"detail": "Session not found"}
    for path in ("read_file", "get_file", "file_exists", "get_all_file_paths"):
        assert box.get(path, 400, session_id="nope", file_path="f") == {"detail": "Session not found"}


def test_bad_requests_have_errors_in_the_originals_form(box):
    for route, fields in (("run_command", {"session_id": "s"}), ("run_command", {"session_id": "s", "command": 5}),
                          ("run_command", {"session_id": "s", "command": "a", "mode": "later"}),
                          ("run_command", {"session_id": "s", "command": "a", "timeout": -1}),
                          ("run_command", {"session_id": "s", "command": "a", "timeout": "1"}),
                          ("run_command", {"session_id": "s", "command": "a\0"}), ("initialize", {"session_id": "", "path": ""}),
                          ("write_file", {"session_id": "s", "file_path": "f", "content": None}),
                          ("get_website_console_logs", {"session_id": "s", "full_url": "--version"})):
        assert isinstance(box.post(route, 422, **fields)["detail"], str)
    answer = box.request("POST", "/run_command", body=b"{")
    assert answer.status == 422 and "byte" in answer.json()["detail"]
    assert box.get("read_file", 422, session_id="s")["detail"]
    assert box.request("GET", "/nope").json() == {"detail": "Not Found"}
    # One slash at the end is redirected by the original.
    assert box.run("echo x", session="s") == box.request("POST", "/run_command/", json={"session_id": "s", "command": "echo x"}).json()
    assert box.request("GET", "/nope/").status == box.request("GET", "/run_command//").status == 404
    assert box.request("GET", "/run_command").json() == {"detail": "Method Not Allowed"}


# --- the page's console ---


def test_a_missing_browser_is_reported_where_the_client_looks(box):
    answer = box.post("get_website_console_logs", 501, session_id="s", full_url="http://localhost:3000/")
    assert answer["logs"] == [] and answer["errors"] == [{"type": "error", "text": answer["detail"]}]
    assert "kubebox-console-logs" in answer["detail"]


def test_the_images_command_visits_the_page(start_kubebox, tmp_path):
    program = tmp_path / "kubebox-console-logs"
    program.write_text("#!/bin/sh\ncase $1 in *bad) echo nothing;; *) printf '{\"logs\":[{\"type\":\"log\",\"text\":\"%s\"}],\"errors\":[]}' \"$1\";; esac\n")
    program.chmod(0o755)
    box = start_kubebox(env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    url = "http://localhost:3000/$(touch x)';"
    assert box.post("get_website_console_logs", session_id="s", full_url=url) == {"logs": [{"type": "log", "text": url}], "errors": []}
    assert box.post("get_website_console_logs", 502, session_id="s", full_url="http://bad")["errors"]


# --- as the agent sees it ---


def test_processes_of_kubebox_are_commands_of_the_agent(box):
    process = box.start("sleep 300", mode="background")
    items = box.agent.request("GET", "/v1/sessions/s/commands").json()["items"]
    assert [one["id"] for one in items] == [f"kubebox-{process}"]
    box.agent.request("DELETE", f"/v1/sessions/s/commands/kubebox-{process}")
    assert box.post("kill_command", 404, session_id="s", process_id=process) == {"detail": "No such process"}
