"""The dialect e2b: processes, the agent's own routes, and the Connect protocol as clients send it."""

import hashlib
import os
import socket

import pytest

import proc
from e2b import STREAM, UNARY, client, collected, encoded, envelope, output_until, pid_of, start_client  # noqa: F401
from waiting import until

TOKEN = "e2b-token-of-the-tests"
DIGEST = hashlib.sha256(TOKEN.encode()).hexdigest()
MIB = 1024 * 1024


# --- processes ---


def test_a_process_says_what_it_writes_and_how_it_ends(client):
    ran = client.run("echo out; echo err >&2; exit 3")
    assert (ran.out, ran.err, ran.error) == (b"out\n", b"err\n", None)
    assert ran.end == {"exitCode": 3, "exited": True, "status": "exit status 3", "error": "exit status 3"}
    assert client.run("true").end == {"exitCode": 0, "exited": True, "status": "exit status 0"}
    killed = client.run("kill -9 $$").end
    assert killed == {"exitCode": -1, "exited": False, "status": "signal: killed", "error": "signal: killed"}


def test_a_process_is_a_command_of_the_agent(client):
    with client.start("echo up; sleep 300") as events:
        pid = pid_of(events)
        command, = [one for one in client.agent.request("GET", "/v1/commands").json()["items"] if one["state"] == "running"]
        assert command["pid"] == pid
        listed, = client.unary("process.Process/List", {})["processes"]
        assert listed["pid"] == pid and listed["config"]["cmd"] == "/bin/sh" and listed["config"]["args"] == ["-c", "echo up; sleep 300"]
        assert listed["config"]["envs"] == {}


def test_a_command_of_the_agents_own_api_is_listed_as_a_process(client):
    started = client.agent.start("echo native; sleep 300")
    listed, = client.unary("process.Process/List", {})["processes"]
    assert listed["pid"] == started["pid"] and listed["config"]["args"][-1] == "echo native; sleep 300"
    with client.connect(started["pid"]) as events:
        assert output_until(events, b"native\n") == b"native\n"
    client.unary("process.Process/SendSignal", {"process": {"pid": started["pid"]}, "signal": "SIGNAL_SIGKILL"})


def test_variables_and_directory(client, tmp_path):
    ran = client.run("echo $A$B$E2B_SANDBOX; pwd", process={"envs": {"A": "1"}, "cwd": str(tmp_path)})
    assert ran.out.decode().split() == ["1true", str(tmp_path)]
    assert client.run("pwd -P").out.decode().strip() == os.path.realpath(client.agent.root)
    os.mkdir(client.agent.root / "d")
    assert client.run("pwd -P", process={"cwd": "d"}).out.endswith(b"/d\n")


@pytest.mark.parametrize("process, code", [
    ({"cwd": "/nowhere"}, "invalid_argument"), ({"cmd": "/nowhere"}, "invalid_argument"), ({"cmd": ""}, "invalid_argument"),
    ({"envs": {"A": 1}}, "invalid_argument"), ({"args": "x"}, "invalid_argument"), ({"cwd": "~root"}, "invalid_argument")])
def test_the_stream_of_a_process_that_can_not_start_ends_with_the_reason(client, process, code):
    with client.start("true", process=process) as events:
        assert events.code() == code


def test_stdin(client):
    with client.start("cat; echo end; exec sleep 300", stdin=True) as events:
        process = {"process": {"pid": pid_of(events)}}
        client.unary("process.Process/SendInput", {**process, "input": {"stdin": encoded(b"a\xff")}})
        client.unary("process.Process/SendInput", {**process, "input": {"stdin": encoded(b"b")}})
        client.unary("process.Process/CloseStdin", process)
        client.unary("process.Process/CloseStdin", process)
        assert output_until(events, b"end\n") == b"a\xffbend\n"
        client.unary("process.Process/SendSignal", {**process, "signal": "SIGNAL_SIGKILL"})
    assert client.run("cat").out == b""


def test_input_of_the_wrong_kind_is_refused(client):
    with client.start("cat", stdin=False) as events:
        pid_of(events)
    with client.start("cat", stdin=True) as events:
        process = {"process": {"pid": pid_of(events)}}
        assert client.unary("process.Process/SendInput", {**process, "input": {"pty": ""}}, 400) == "failed_precondition"
        assert client.unary("process.Process/SendInput", {**process, "input": {}}, 400) == "invalid_argument"
        assert client.unary("process.Process/SendInput", {**process, "input": {"stdin": "!"}}, 400) == "invalid_argument"
        assert client.unary("process.Process/Update", {**process, "pty": {"size": {"cols": 1, "rows": 1}}}, 400) == "failed_precondition"
        client.unary("process.Process/SendSignal", {**process, "signal": "SIGNAL_SIGKILL"})


def test_input_that_nobody_reads_ends_with_its_time(client):
    with client.start("sleep 300", stdin=True) as events:
        process = {"process": {"pid": pid_of(events)}}
        code = client.unary("process.Process/SendInput", {**process, "input": {"stdin": encoded(b"x" * 500_000)}}, 504,
                            **{"Connect-Timeout-Ms": "300"})
        assert code == "deadline_exceeded"
        client.unary("process.Process/CloseStdin", process)


def test_a_stream_of_input_keeps_its_order(client):
    with client.start("cat", stdin=True) as events:
        pid = pid_of(events)
        pieces = [{"data": {"input": {"stdin": encoded(b"%d\n" % i)}}} for i in range(500)]
        with client.stream("process.Process/StreamInput", {"start": {"process": {"pid": pid}}}, *pieces, {"keepalive": {}}) as answers:
            assert list(answers) == [{}] and answers.end == {}
        client.unary("process.Process/CloseStdin", {"process": {"pid": pid}})
        assert collected(events).out == b"".join(b"%d\n" % i for i in range(500))


def test_a_stream_of_input_needs_its_process(client):
    with client.stream("process.Process/StreamInput", {"data": {"input": {"stdin": ""}}}) as answers:
        assert answers.code() == "invalid_argument"
    with client.stream("process.Process/StreamInput", {"start": {"process": {"pid": 4_000_000}}}) as answers:
        assert answers.code() == "not_found"


def test_terminals(client):
    with client.start("stty size; read a; stty size; echo got $a", pty={"size": {"cols": 70, "rows": 20}}) as events:
        process = {"process": {"pid": pid_of(events)}}
        output_until(events, b"20 70\r\n", "pty")
        client.unary("process.Process/Update", {**process, "pty": {"size": {"cols": 90}}})
        client.unary("process.Process/Update", {**process, "pty": {"size": {"rows": 30}}})
        client.unary("process.Process/Update", {**process, "pty": {}})
        assert client.unary("process.Process/SendInput", {**process, "input": {"stdin": ""}}, 400) == "failed_precondition"
        assert client.unary("process.Process/CloseStdin", process, 400) == "failed_precondition"
        client.unary("process.Process/SendInput", {**process, "input": {"pty": encoded(b"it\n")}})
        ran = collected(events)
        assert b"30 90\r\n" in ran.pty and b"got it\r\n" in ran.pty and ran.end["exitCode"] == 0


def test_ctrl_c_reaches_what_runs_in_a_terminal(client):
    with client.start("trap 'echo caught; exit 7' INT; echo up; while :; do sleep 1; done", pty={"size": {"cols": 80, "rows": 24}}) as events:
        process = {"process": {"pid": pid_of(events)}}
        output_until(events, b"up\r\n", "pty")
        client.unary("process.Process/SendInput", {**process, "input": {"pty": encoded(b"\x03")}})
        assert collected(events).end["exitCode"] == 7


def test_sigkill_is_for_the_whole_tree(client):
    with client.start("setsid sleep 301 & sleep 302 & echo $!; wait") as events:
        pid = pid_of(events)
        child = int(output_until(events, b"\n"))
        assert proc.alive(child)
        client.unary("process.Process/SendSignal", {"process": {"pid": pid}, "signal": "SIGNAL_SIGKILL"})
        # None of its processes is left when the answer arrives.
        assert not proc.alive(child) and not proc.alive(pid)
        assert not [one for one in client.agent.strays() if "30" in " ".join(proc.command_line(one))]
        assert collected(events).end["status"] == "signal: killed"
    process = {"process": {"pid": pid}}
    assert client.unary("process.Process/SendSignal", {**process, "signal": "SIGNAL_SIGKILL"}, 404) == "not_found"
    assert client.unary("process.Process/SendInput", {**process, "input": {"stdin": ""}}, 404) == "not_found"


def test_sigterm_can_be_caught_and_others_are_not_known(client):
    with client.start("trap 'echo caught; exit 5' TERM; echo up; while :; do sleep 1; done") as events:
        process = {"process": {"pid": pid_of(events)}}
        output_until(events, b"up\n")
        assert client.unary("process.Process/SendSignal", {**process, "signal": 2}, 501) == "unimplemented"
        client.unary("process.Process/SendSignal", {**process, "signal": 15})
        assert collected(events).end["exitCode"] == 5


def test_tags(client):
    with client.start("echo a; sleep 300", tag="one") as first, client.start("echo b; sleep 300", tag="two") as second:
        pids = {"one": pid_of(first), "two": pid_of(second)}
        assert {one["tag"]: one["pid"] for one in client.unary("process.Process/List", {})["processes"]} == pids
        with client.stream("process.Process/Connect", {"process": {"tag": "one"}}) as events:
            assert pid_of(events) == pids["one"]
        client.unary("process.Process/SendSignal", {"process": {"tag": "two"}, "signal": "SIGNAL_SIGKILL"})
        assert collected(second).end["status"] == "signal: killed"
    assert client.unary("process.Process/Update", {"process": {"tag": "three"}}, 404) == "not_found"


def test_a_tag_means_its_newest_process_that_lives(client):
    with client.start("sleep 300", tag="one") as first, client.start("sleep 300", tag="one") as second:
        older, newer = pid_of(first), pid_of(second)
        assert {one["pid"]: one["tag"] for one in client.unary("process.Process/List", {})["processes"]} == {older: "one", newer: "one"}
        kill = {"process": {"tag": "one"}, "signal": "SIGNAL_SIGKILL"}
        client.unary("process.Process/SendSignal", kill)
        assert collected(second).end["status"] == "signal: killed"
        with client.stream("process.Process/Connect", {"process": {"tag": "one"}}) as events:
            assert pid_of(events) == older
        client.unary("process.Process/SendSignal", kill)
        assert collected(first).end["status"] == "signal: killed"
    assert client.unary("process.Process/SendSignal", kill, 404) == "not_found"
    with client.stream("process.Process/Connect", {"process": {"tag": "one"}}) as events:
        assert pid_of(events) == newer


# --- streams ---


def test_a_connect_gets_all_events_from_the_start(client):
    with client.start("echo one; read a; echo $a", stdin=True) as events:
        pid = pid_of(events)
        output_until(events, b"one\n")
        with client.connect(pid) as again:
            assert output_until(again, b"one\n") == b"one\n"
            client.unary("process.Process/SendInput", {"process": {"pid": pid}, "input": {"stdin": encoded(b"two\n")}})
            assert collected(again).out == b"two\n"
    # Also when it has ended.
    with client.connect(pid) as ended:
        ran = collected(ended)
        assert (ran.out, ran.end["exitCode"]) == (b"one\ntwo\n", 0)


def test_a_broken_stream_goes_on_where_it_was(client):
    with client.start("printf 0123456789; printf abcdef >&2; sleep 0.1; printf 0123456789") as events:
        start = next(events)["event"]["start"]
        assert start["offsets"] == {"stdout": "0", "stderr": "0", "pty": "0"}
        ran = collected(events)
    with client.connect(start["pid"], resumeFrom={"stdout": "15", "stderr": 2}) as again:
        first = next(again)["event"]["start"]
        assert (first["offsets"]["stdout"], first["offsets"]["stderr"]) == ("15", "2")
        data = [message["event"]["data"] for message in again if "data" in message["event"]]
    assert {"stderr": encoded(b"cdef"), "offset": "2"} in data
    assert {"stdout": encoded(b"56789"), "offset": "15"} in data and len(data) == 2
    assert ran.out == b"0123456789" * 2


def test_a_stream_says_which_output_is_no_longer_kept(start_client):
    client = start_client("--keep-bytes", "128KiB", "--output-memory", "1MiB")
    pid = client.run("true").pid
    started = client.agent.start("head -c 3000000 /dev/zero", output={"overflow": "drop"})
    client.agent.ended(started["id"])
    assert pid != started["pid"]
    with client.connect(started["pid"]) as events:
        messages = list(events)
        lost = [int(message["lostBytes"]) for message in messages if "lostBytes" in message]
        assert sum(lost) > 2_000_000 and events.end == {}
    with client.connect(started["pid"], resumeFrom={"stdout": "100"}) as events:
        assert events.code() == "out_of_range"


def test_old_clients_get_no_fields_that_they_do_not_know(client):
    with client.start("echo a", headers={"User-Agent": "connect-python"}) as events:
        assert list(next(events)["event"]["start"]) == ["pid"]
        assert next(events) == {"event": {"data": {"stdout": encoded(b"a\n")}}}


def test_a_silent_stream_shows_signs_of_life(client):
    with client.start("sleep 300", headers={"Keepalive-Ping-Interval": "1"}) as events:
        pid_of(events)
        assert next(events) == {"event": {"keepalive": {}}}
        assert next(events) == {"event": {"keepalive": {}}}


def test_a_process_outlives_its_streams_time_where_that_is_wanted(start_client):
    client = start_client("--e2b-deadline", "detach")
    with client.start("echo up; read a; echo $a", stdin=True, headers={"Connect-Timeout-Ms": "300"}) as events:
        pid = pid_of(events)
        assert events.code() == "deadline_exceeded"
    with client.connect(pid) as events:
        output_until(events, b"up\n")
        client.unary("process.Process/SendInput", {"process": {"pid": pid}, "input": {"stdin": encoded(b"still here\n")}})
        assert collected(events).out == b"still here\n"


def test_a_process_ends_with_its_streams_time(client):
    with client.start("sleep 301 & echo $!; wait", headers={"Connect-Timeout-Ms": "300"}) as events:
        child = int(output_until(events, b"\n"))
        assert events.code() == "deadline_exceeded"
    until(lambda: not proc.alive(child), what="the end of its child")
    until(lambda: client.unary("process.Process/List", {})["processes"] == [])


def test_a_process_outlives_a_client_that_goes(client):
    with client.start("echo up; sleep 300") as events:
        pid = pid_of(events)
    assert [one["pid"] for one in client.unary("process.Process/List", {})["processes"]] == [pid]


def test_a_client_that_reads_nothing_holds_up_no_other(client):
    """The process does not wait for a reader that connects."""
    with client.start("read a; head -c 20000000 /dev/zero; echo end >&2", stdin=True) as events:
        pid = pid_of(events)
        request = envelope({"process": {"pid": pid}})
        with client.door.connect() as silent:
            silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            head = "".join(f"{name}: {value}\r\n" for name, value in {**STREAM, "Host": "x", "Content-Length": len(request)}.items())
            silent.sendall(f"POST /process.Process/Connect HTTP/1.1\r\n{head}\r\n".encode() + request)
            silent.recv(100)
            client.unary("process.Process/SendInput", {"process": {"pid": pid}, "input": {"stdin": encoded(b"\n")}})
            ran = collected(events)
            assert len(ran.out) == 20_000_000 and ran.err == b"end\n"


# --- the protocol ---


@pytest.mark.parametrize("headers, status", [
    ({"Content-Type": "application/proto"}, 415), ({"Content-Type": "application/connect+json"}, 415), ({}, 415),
    ({"Content-Type": "application/json", "Connect-Protocol-Version": "2"}, 400),
    ({"Content-Type": "application/json", "Content-Encoding": "gzip"}, 501),
    ({"Content-Type": "application/json; charset=utf-8", "Content-Encoding": "identity"}, 200),
    ({"Content-Type": "application/json", "Connect-Timeout-Ms": "soon"}, 400)])
def test_heads_of_unary_calls(client, headers, status):
    assert client.door.request("POST", "/process.Process/List", body=b"{}", headers=headers).status == status


@pytest.mark.parametrize("body, code", [
    (b"", "invalid_argument"), (envelope({})[:-1], "invalid_argument"), (envelope({}) * 2, "invalid_argument"),
    (envelope({}, 1), "unimplemented"), (envelope({}, 2), "unimplemented"), (b"\0\xff\xff\xff\xff", "resource_exhausted"),
    (envelope(b"{"), "invalid_argument"), (envelope(b"[]"), "invalid_argument"), (envelope(b"\xff"), "invalid_argument")])
def test_broken_streams_end_with_an_error(client, body, code):
    answer = client.door.request("POST", "/process.Process/Start", body=body, headers=STREAM)
    assert answer.status == 200 and answer.headers["Content-Type"] == "application/connect+json"
    assert answer.body[0] == 2 and f'"code":"{code}"'.encode() in answer.body


def test_streams_of_other_types_are_refused(client):
    assert client.door.request("POST", "/process.Process/Start", body=b"{}", headers=UNARY).status == 415
    compressed = {**STREAM, "Connect-Content-Encoding": "gzip"}
    assert b'"code":"unimplemented"' in client.door.request("POST", "/process.Process/Start", body=envelope({}), headers=compressed).body


def test_an_address_that_ends_with_a_slash_is_one(client):
    """The Python SDK puts the path behind it as it is, and takes a 404 for a file that is not there."""
    assert client.unary("/process.Process/List", {}) == {"processes": []}
    assert client.door.request("GET", "//health").status == 204
    assert client.door.request("GET", "//files").json()["message"] == "path: this parameter is needed"


# --- the agent's own routes ---


def test_health_and_metrics(client):
    assert client.door.request("GET", "/health").status == 204
    metrics = client.door.request("GET", "/metrics").json()
    assert metrics["cpu_count"] >= 1 and metrics["mem_total"] > 0 and metrics["disk_total"] > 0
    assert 0 <= client.door.request("GET", "/metrics").json()["cpu_used_pct"] <= 100


def test_init_sets_what_processes_get(client):
    (client.agent.root / "w").mkdir()
    body = {"envVars": {"A": "init", "B": "b"}, "defaultWorkdir": str(client.agent.root / "w"), "timestamp": "2026-01-01T00:00:00Z"}
    assert client.door.request("POST", "/init", json=body).status == 204
    assert client.door.request("GET", "/envs").json() == {"A": "init", "B": "b"}
    ran = client.run("echo $A $B; pwd", process={"envs": {"A": "own"}})
    assert ran.out.decode().split() == ["own", "b", str(client.agent.root / "w")]
    # They are replaced, and concern nothing but this door.
    assert client.door.request("POST", "/init", json={"envVars": {"C": "c"}}).status == 204
    assert client.door.request("GET", "/envs").json() == {"C": "c"}
    assert client.agent.run("echo $C")["stdout"] == "\n"


@pytest.mark.parametrize("body", [{"defaultUser": "no-such-user"}, {"defaultWorkdir": "w"}, {"envVars": {"A=": ""}},
                                  {"accessToken": "with space"}])
def test_an_init_that_is_not_right_changes_nothing(client, body):
    assert client.door.request("POST", "/init", json={"envVars": {"X": "1"}, **body}).status == 400
    assert client.door.request("GET", "/envs").json() == {}


def test_init_does_not_promise_what_a_container_can_not_do(client):
    assert client.door.request("POST", "/init", json={"volumeMounts": [{"nfs_target": "a", "path": "/b"}]}).status == 501


# --- the token ---


def test_the_first_init_sets_the_token(client):
    assert client.door.request("POST", "/init", json={"accessToken": TOKEN}).status == 204
    assert client.unary("process.Process/List", {}, **{"X-Access-Token": TOKEN}) == {"processes": []}
    answer = client.door.request("POST", "/process.Process/List", json={}, headers=UNARY)
    assert (answer.status, answer.json()["code"]) == (401, 401)
    assert client.door.request("POST", "/init", json={"accessToken": "other"}).status == 401
    assert client.door.request("POST", "/init", json={"envVars": {"A": "1"}}).status == 401
    assert client.door.request("POST", "/init", json={"accessToken": TOKEN, "envVars": {"A": "1"}}).status == 204
    # With the token another one can be set.
    assert client.door.request("POST", "/init", json={"accessToken": "next"}, headers={"X-Access-Token": TOKEN}).status == 204
    assert client.unary("process.Process/List", {}, **{"X-Access-Token": "next"}) == {"processes": []}
    assert client.door.request("GET", "/envs", headers={"X-Access-Token": TOKEN}).status == 401


def test_a_token_can_be_configured(start_client):
    client = start_client("--e2b-token-sha256", DIGEST, headers={"X-Access-Token": TOKEN})
    assert "may run commands" not in client.agent.log()
    assert client.run("echo in").out == b"in\n"
    assert client.door.request("GET", "/health").status == 204
    for method, path in [("GET", "/metrics"), ("GET", "/envs"), ("GET", "/files?path=x"), ("POST", "/files?path=x"),
                         ("POST", "/process.Process/Start"), ("POST", "/filesystem.Filesystem/Stat")]:
        answer = client.door.request(method, path, body=b"" if method == "POST" else None, headers={"X-Access-Token": "wrong"})
        assert answer.status == 401, (method, path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may switch users")
def test_only_a_client_with_the_token_switches_users(start_client):
    client = start_client("--e2b-token-sha256", DIGEST, headers={"X-Access-Token": TOKEN})
    os.chmod(client.agent.folder, 0o755)
    nobody = {"Authorization": "Basic " + encoded(b"nobody:")}
    assert client.run("id -un", headers=nobody, process={"cwd": "/"}).out == b"nobody\n"
    unknown = {"Authorization": "Basic " + encoded(b"no-such-user:")}
    with client.start("true", headers=unknown) as events:
        assert events.code() == "unauthenticated"


def test_the_agents_own_user_may_be_named(client):
    own = {"Authorization": "Basic " + encoded(f"{os.geteuid()}:".encode())}
    assert client.run("id -u", headers=own).out.decode().strip() == str(os.geteuid())

