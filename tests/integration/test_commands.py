"""Starting commands: modes, results, environment, what they inherit, limits of time."""

import base64
import ctypes
import hashlib
import json
import os
import platform
import signal

import pytest

import proc
from waiting import until, with_time
from wire import gather, request_bytes


def test_wait_answers_with_the_whole_result(agent):
    result = agent.run("echo out; echo err >&2; exit 3")
    assert (result["stdout"], result["stderr"]) == ("out\n", "err\n")
    assert (result["state"], result["cause"], result["exit_code"]) == ("ended", "exited", 3)
    assert result.get("signal") is None
    assert result["output_complete"] is True and result["truncated"] is False
    assert result["started_at"] <= result["ended_at"] and result["started_at"].endswith("Z")
    assert result["duration_ms"] >= 0 and result["id"]


def test_stream_gives_started_output_and_exit(agent):
    body = {"command": "echo out; echo err >&2; exit 3", "mode": "stream"}
    with agent.stream("POST", "/v1/commands", json=body) as stream:
        assert stream.status == 200 and stream.headers.get_content_type() == "application/x-ndjson"
        instance = stream.headers["X-Skiff-Instance"]
        events = list(stream.events())
    assert events[0]["type"] == "started" and events[0]["instance"] == instance and events[0]["pid"] > 0
    out, err, others = gather(events)
    assert (out, err) == (b"out\n", b"err\n")
    assert events[-1]["type"] == "exit"
    assert (events[-1]["exit_code"], events[-1]["cause"], events[-1]["output_complete"]) == (3, "exited", True)
    assert [event["type"] for event in others] == ["started", "exit"]


def test_background_answers_at_once_and_can_be_asked_later(agent):
    answer = agent.request("POST", "/v1/commands",
                           json={"command": "read x; exit 4", "mode": "background", "stdin_open": True})
    assert answer.status == 202
    started = answer.json()
    assert answer.headers["Location"].endswith(f"/commands/{started['id']}")
    assert started["state"] in ("starting", "running") and started["pid"] > 0
    shown = agent.request("GET", answer.headers["Location"])
    assert shown.status == 200 and shown.json()["state"] == "running"
    assert started["id"] in [c["id"] for c in agent.request("GET", "/v1/commands?state=running").json()["items"]]
    agent.request("POST", f"/v1/commands/{started['id']}/stdin?eof=true", body=b"x\n")
    assert agent.ended(started["id"])["exit_code"] == 4
    assert started["id"] in [c["id"] for c in agent.request("GET", "/v1/commands?state=ended").json()["items"]]


def test_a_soft_wait_gives_what_there_is_and_the_command_goes_on(agent):
    soft = agent.run("echo one; read x; echo two", stdin_open=True, wait_ms=500)
    assert (soft["state"], soft["stdout"], soft["next"]) == ("running", "one\n", 4)
    agent.request("POST", f"/v1/commands/{soft['id']}/stdin?eof=true", body=b"x\n")
    out, _, _ = gather(agent.output(soft["id"], from_=soft["next"]))
    assert out == b"two\n"


@pytest.mark.parametrize("code", [0, 1, 2, 42, 126, 127, 128, 255])
def test_every_exit_code_comes_back(agent, code):
    result = agent.run(f"exit {code}")
    assert (result["exit_code"], result["cause"]) == (code, "exited")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL", "SIGSEGV", "SIGHUP", "SIGUSR1"])
def test_death_by_a_signal_has_a_name_and_no_exit_code(agent, name):
    result = agent.run(f"kill -{name.removeprefix('SIG')} $$")
    assert (result["exit_code"], result["signal"], result["cause"]) == (None, name, "signaled")


@pytest.mark.parametrize("argv, code, errno", [(["/no/such/program"], 127, "ENOENT"),
                                               (["no-such-program"], 127, "ENOENT"),
                                               (["/etc/passwd"], 126, "EACCES"), (["/"], 126, "EACCES")])
def test_a_command_that_can_not_start_has_a_result_with_the_reason(agent, argv, code, errno):
    result = agent.run(argv=argv)
    assert (result["cause"], result["exit_code"]) == ("spawn_failed", code)
    error = result["error"]
    assert (error["stage"], error["errno"]) == ("exec", errno) and error["message"]


def test_a_program_without_its_interpreter_differs_from_a_missing_program(agent):
    (agent.root / "script").write_text("#!/no/such/interpreter\n")
    (agent.root / "script").chmod(0o755)
    for argv in (["./script"], [str(agent.root / "script")]):
        error = agent.run(argv=argv)["error"]
        assert error["errno"] == "ENOENT" and "its first line" in error["message"]
    assert "its first line" not in agent.run(argv=["./other"])["error"]["message"]


def test_a_missing_working_directory_is_a_spawn_failure(agent):
    result = agent.run("true", cwd="no/such/folder")
    assert (result["cause"], result["exit_code"]) == ("spawn_failed", 127)
    assert (result["error"]["stage"], result["error"]["errno"]) == ("chdir", "ENOENT")


def test_argv_needs_no_shell_and_is_passed_untouched(agent):
    words = ["a b", "$HOME", "*", "", "'\"", "äöü", "new\nline"]
    result = agent.run(argv=["/usr/bin/printf", "[%s]", *words])
    assert result["stdout"] == "".join(f"[{word}]" for word in words)


def test_a_command_line_of_300_kilobytes_runs(agent):
    text = "x" * 300_000
    assert agent.run(f"printf %s {text} | wc -c")["stdout"].strip() == "300000"
    assert agent.run(f"v={text}; exec printf %s ${{#v}}")["stdout"] == "300000"


def test_hostile_shell_lines_end_by_themselves(agent):
    assert agent.run("echo 'oops")["exit_code"] == 2
    assert agent.run("cat <<E\nheredoc\nE")["stdout"] == "heredoc\n"
    assert agent.run("set -e; false; echo no")["stdout"] == ""
    assert agent.run("exec echo replaced")["stdout"] == "replaced\n"
    assert agent.run("trap 'echo bye' EXIT; echo hi; exit 9")["stdout"] == "hi\nbye\n"
    assert agent.run("exec 1>&- 2>&-; exit 5")["exit_code"] == 5
    assert agent.run("echo fine")["stdout"] == "fine\n"


def test_the_working_directory_is_the_root_or_below(agent):
    (agent.root / "sub").mkdir()
    assert agent.run("pwd")["stdout"] == f"{agent.root}\n"
    assert agent.run("pwd", cwd="sub")["stdout"] == f"{agent.root}/sub\n"


def test_the_commands_environment_adds_replaces_and_removes(start_agent):
    agent = start_agent(env={"GIVEN": "agent", "GONE": "agent"})
    result = agent.run('echo "$GIVEN|${GONE-unset}|$NEW|$MULTI"',
                       env={"GIVEN": "command", "GONE": None, "NEW": "a b", "MULTI": "x\ny"})
    assert result["stdout"] == "command|unset|a b|x\ny\n"
    assert agent.run('echo "$GIVEN|${NEW-unset}"')["stdout"] == "agent|unset\n"
    for name in ("", "A=B", "A\0B"):
        assert agent.request("POST", "/v1/commands", json={"command": "true", "env": {name: "x"}}).status == 400, name


def test_a_secret_variable_is_given_and_never_shown(agent):
    secret = "s3cret-4d1f00d"
    fields = {"command": "printf %s \"$KEY\" | sha256sum; sleep 300", "secret_env": {"KEY": secret}, "id": "c"}
    started = agent.start(**fields)
    digest = hashlib.sha256(secret.encode()).hexdigest()
    assert agent.request("POST", "/v1/sessions/default/wait", json={
        "for": {"output": {"command": "c", "pattern": digest}}, "timeout_ms": 20_000}).json()["met"] is True
    answers = [agent.request("GET", path)
                             for path in ("/v1/commands", "/v1/commands/c", "/v1/sessions/default/processes")]
    answers += [agent.request("POST", "/v1/commands", json={**fields, "unheard_of": 1}),
                agent.request("POST", "/v1/commands", json={**fields, "command": "other"})]
    for answer in answers:
        assert secret not in answer.text, answer
    assert proc.alive(started["pid"]) and secret not in agent.log()


def test_a_command_has_descriptors_0_to_2_only(agent):
    with agent.ws("/v1/connect"), agent.stream("POST", "/v1/commands", json={"command": "sleep 300", "mode": "stream"}):
        for fields in ({}, {"stdin_open": True}, {"tty": {"cols": 80, "rows": 24}}):
            started = agent.start(argv=["sleep", "300"], **fields)
            until(lambda: proc.name(started["pid"]) == "sleep")
            until(lambda: sorted(proc.descriptors(started["pid"])) == [0, 1, 2], what=f"0 to 2 only {fields}")


def test_a_command_starts_with_default_dispositions_whatever_the_agent_inherited(start_agent):
    def as_under_nohup():
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE, signal.SIGCHLD):
            signal.signal(number, signal.SIG_IGN)
        # And as under GNU make, whose posix_spawn(3) leaves 32 and 33 ignored: the C library keeps them for itself.
        rt_sigaction, ignore = {"x86_64": 13, "aarch64": 134}[platform.machine()], (ctypes.c_ulong * 4)(signal.SIG_IGN)
        for number in (32, 33, 64):
            assert ctypes.CDLL(None).syscall(rt_sigaction, number, ignore, None, 8) == 0
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGALRM})

    agent = start_agent(preexec_fn=as_under_nohup, restore_signals=False)
    for fields in ({}, {"tty": {"cols": 80, "rows": 24}}):
        lines = agent.run(argv=["grep", "^Sig", "/proc/self/status"], **fields)["stdout"].split()
        seen = dict(zip(lines[::2], lines[1::2]))
        assert int(seen["SigIgn:"], 16) == 0 and int(seen["SigBlk:"], 16) == 0, seen
    assert agent.run("yes | head -1")["stdout"] == "y\n"
    assert agent.run("kill -HUP $$; echo survived")["signal"] == "SIGHUP"


def test_a_terminal_is_a_terminal(agent):
    result = agent.run("test -t 0 && test -t 1 && test -t 2 && tty && stty size && echo $TERM",
                       tty={"cols": 100, "rows": 30})
    lines = result["stdout"].split("\r\n")
    assert lines[0].startswith("/dev/pts/") and lines[1] == "30 100" and lines[2], result
    assert result["exit_code"] == 0
    assert agent.run("test -t 0 || test -t 1 || test -t 2")["exit_code"] == 1


def test_stderr_can_be_merged_into_stdout(agent):
    result = agent.run("echo 1; echo 2 >&2; echo 3", output={"merge_stderr": True})
    assert (result["stdout"], result["stderr"]) == ("1\n2\n3\n", "")


def printing(agent, command, **fields):
    """A command with a limit of time in which it prints something."""
    return with_time(lambda seconds: agent.run(command, timeout_ms=int(seconds * 1000), **fields), lambda result: result["stdout"])


def test_a_timeout_ends_the_tree_and_keeps_the_output(agent):
    result = printing(agent, "(sleep 300 &); echo begun; sleep 301")
    assert (result["cause"], result["exit_code"], result["stdout"]) == ("timeout", None, "begun\n")
    assert result["signal"] == "SIGTERM"
    until(lambda: not agent.strays())


def test_a_timeout_ends_also_what_ignores_the_request(agent):
    result = printing(agent, "trap '' TERM; echo begun; sleep 300; sleep 301", kill_grace_ms=200)
    assert (result["cause"], result["signal"], result["stdout"]) == ("timeout", "SIGKILL", "begun\n")


def test_a_command_may_use_its_grace_to_say_goodbye(agent):
    result = printing(agent, "trap 'echo bye; exit 7' TERM; echo hi; sleep 300 & wait", kill_grace_ms=10_000)
    assert (result["cause"], result["stdout"]) == ("timeout", "hi\nbye\n")


def test_silence_ends_a_command_and_output_keeps_it_alive(agent):
    result = agent.run("for i in 1 2 3 4 5; do echo $i; sleep 0.2; done; sleep 300", idle_timeout_ms=2000)
    assert (result["cause"], result["stdout"]) == ("idle_timeout", "1\n2\n3\n4\n5\n")


def hang_up(agent, body):
    """Posts a command and goes away as soon as it is known to run."""
    if body["mode"] == "stream":
        agent.stream("POST", "/v1/commands", json=body).close()
        return
    text = json.dumps(body).encode()
    head = agent.headers({"Content-Type": "application/json", "Content-Length": str(len(text))})
    with agent.connect() as sock:
        sock.sendall(request_bytes("POST", "/v1/commands", head, text))
        until(lambda: agent.request("GET", f"/v1/commands/{body['id']}").status == 200)


@pytest.mark.parametrize("mode", ["wait", "stream"])
def test_on_disconnect_decides_what_a_lost_client_means(agent, mode):
    hang_up(agent, {"command": "sleep 300", "mode": mode, "id": "killed", "on_disconnect": "kill"})
    assert agent.ended("killed")["cause"] == "killed_by_client"
    for choice in ({}, {"on_disconnect": "continue"}):
        hang_up(agent, {"command": "sleep 0.5; echo done", "mode": mode, "id": f"kept{len(choice)}", **choice})
        shown = agent.ended(f"kept{len(choice)}")
        assert (shown["cause"], shown["exit_code"]) == ("exited", 0)


def test_the_result_is_a_receipt_of_what_was_used(agent):
    result = agent.run(argv=["/usr/bin/python3", "-c", "x = bytearray(50_000_000); sum(range(2_000_000))"])
    usage = result["usage"]
    assert usage, result
    numbers = {key: value for key, value in usage.items() if isinstance(value, (int, float))}
    assert any("rss" in key and 40_000_000 < value < 500_000_000 for key, value in numbers.items()), usage
    assert any("user" in key and value > 0 for key, value in numbers.items()), usage


def test_limits_are_kept_or_refused_but_never_forgotten(start_agent):
    agent = start_agent("--cgroup", "none")
    assert agent.run("ulimit -n", limits={"open_files": 64})["stdout"] == "64\n"
    cut = agent.run("head -c 100000 /dev/zero > big; wc -c < big", limits={"file_size_bytes": 4096})
    assert os.path.getsize(agent.root / "big") == 4096, cut
    busy = agent.run("while :; do :; done", limits={"cpu_time_ms": 1000}, timeout_ms=60_000)
    assert busy["cause"] == "signaled" and busy["signal"] == "SIGXCPU", busy
    answer = agent.request("POST", "/v1/commands", json={"command": "true", "limits": {"memory_bytes": 1 << 30}})
    answer.problem(422, "limit_unavailable")


def test_text_that_is_not_utf_8_comes_with_its_bytes(agent):
    result = agent.run(r"printf 'a\377\000b'; printf 'fine' >&2")
    assert result["stdout"] == "a\ufffd\0b"
    assert base64.b64decode(result["stdout_base64"]) == b"a\xff\0b"
    assert result["stderr"] == "fine" and result.get("stderr_base64") is None


def test_switching_the_user_works_for_root_and_is_refused_otherwise(agent):
    answer = agent.request("POST", "/v1/commands",
                           json={"command": "id -un; echo $HOME $USER", "user": "nobody", "cwd": "/"})
    if os.geteuid() == 0:
        assert answer.status == 200, answer
        assert answer.json()["stdout"].splitlines()[0] == "nobody" and answer.json()["stdout"].split()[-1] == "nobody"
        unknown = agent.request("POST", "/v1/commands", json={"command": "true", "user": "no-such-user"})
        assert "no-such-user" in unknown.problem(422, "user_not_found")["detail"]
    else:
        answer.problem(403, "cannot_switch_user")


def test_a_result_goes_on_at_its_exit_also_when_more_has_come_since(agent):
    request = {"command": "(read x < go; echo late) & echo now", "id": "c"}
    os.mkfifo(agent.root / "go")
    first = agent.run(**request)
    assert (first["stdout"], first["next"]) == ("now\n", 4)
    (agent.root / "go").write_text("on\n")
    assert gather(agent.output("c", until="end"))[0] == b"now\nlate\n"
    again = agent.run(**request)
    assert (again["stdout"], again["next"]) == ("now\n", 4)
    assert gather(agent.output("c", from_=again["next"], until="end"))[0] == b"late\n"


def test_deleting_a_command_forgets_it(agent):
    result = agent.run("echo hi", id="gone")
    assert agent.request("DELETE", f"/v1/commands/{result['id']}").status == 204
    agent.request("GET", "/v1/commands/gone").problem(410, "command_forgotten")
    agent.request("GET", "/v1/commands/gone/output").problem(410, "command_forgotten")
    assert "gone" not in [c["id"] for c in agent.request("GET", "/v1/commands").json()["items"]]
