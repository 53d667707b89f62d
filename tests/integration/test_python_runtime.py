"""The dialect python-runtime: commands, errors in the original's words, and HTTP as its clients and routers send it."""

import json
import os
import threading

import pytest

from python_runtime import JSON, MULTIPART, door, multipart, run, start_door  # noqa: F401
from waiting import until, with_time
from wire import Stream, parse, request_bytes

MIB = 1024 * 1024


# --- health ---


def test_health_is_told_in_the_originals_words(door):
    answer = door.request("GET", "/")
    assert (answer.status, answer.body) == (200, b'{"status":"ok","message":"Sandbox Runtime is active."}')
    assert door.request("HEAD", "/").body == b""


def test_the_agent_says_that_it_speaks_it(door):
    assert door.agent.request("GET", "/v1/capabilities").json()["dialects"] == ["mcp", "python-runtime"]


def test_probes_are_no_use_of_the_sandbox(door):
    before = door.agent.request("GET", "/v1/activity").json()
    for _ in range(3):
        door.request("GET", "/")
    after = door.agent.request("GET", "/v1/activity").json()
    assert before["last_used_at"] == after["last_used_at"]
    door.request("GET", "/exists/x")
    assert door.agent.request("GET", "/v1/activity").json()["last_used_at"] > before["last_used_at"]


def test_health_answers_while_commands_run(door):
    with door.connect() as sock:
        body = b'{"command":"echo up > up; sleep 300"}'
        sock.sendall(request_bytes("POST", "/execute", {"Host": "x", **JSON, "Content-Length": len(body)}, body))
        until((door.agent.root / "up").exists)
        assert door.request("GET", "/").status == 200


# --- execute ---


def test_a_command_is_a_shell_line(door):
    assert run(door, "echo a | cat; echo $((1 + 1)) >&2; exit 3") == {"stdout": "a\n", "stderr": "2\n", "exit_code": 3}
    assert run(door, "pwd -P")["stdout"] == os.path.realpath(door.agent.root) + "\n"
    assert run(door, "cat <<'END'\nit's\nEND")["stdout"] == "it's\n"
    assert run(door, "cat; exit 300") == {"stdout": "", "stderr": "", "exit_code": 44}


def test_a_signal_is_a_negative_exit_code(door):
    assert run(door, "kill -9 $$")["exit_code"] == -9
    assert run(door, "kill -TERM $$")["exit_code"] == -15


def test_bytes_arrive_as_they_are_and_what_is_no_text_is_replaced(door):
    assert run(door, r"printf 'a\r\nb\rc'")["stdout"] == "a\r\nb\rc"
    assert run(door, r"printf 'caf\303\251 \377 \303'; printf '\000' >&2") == {
        "stdout": "café \ufffd \ufffd", "stderr": "\0", "exit_code": 0}


def test_what_can_not_run_fails_as_a_command(door):
    for command, why in (("", "empty"), ("  \n", "empty"), ("echo a\0b", "NUL")):
        result = run(door, command)
        assert (result["stdout"], result["exit_code"]) == ("", 1)
        assert result["stderr"].startswith("Failed to execute command: ") and why in result["stderr"]
    missing = run(door, "nope-nope")
    assert missing["exit_code"] == 127 and "not found" in missing["stderr"]


def test_a_long_command_is_run_whole(door):
    assert run(door, f"printf %s {'x' * 300_000} | wc -c")["stdout"].strip() == "300000"


def test_a_command_that_takes_too_long_is_ended(door):
    limits = []

    def printing(seconds):
        limits.append(seconds)
        return run(door, "echo first; sleep 300 & sleep 300", timeout_seconds=seconds)

    result = with_time(printing, lambda result: result["stdout"], least=0.5)
    assert result == {"stdout": "first\n", "stderr": f"Failed to execute command: it timed out after {limits[-1]:g} seconds\n",
                      "exit_code": 124, "timed_out": True}
    assert run(door, "echo in time", timeout_seconds=60)["timed_out"] is False
    assert "timed_out" not in run(door, "true")


def test_the_answer_comes_before_the_client_gives_up(door):
    result = run(door, "trap '' TERM; sleep 300", headers={"X-Sandbox-Timeout": "0.5"})
    assert result["exit_code"] == 1 and result["timed_out"] and "timed out after 0.45 seconds" in result["stderr"]


def test_the_agents_own_limit(start_door):
    door = start_door(env={"SANDBOX_EXEC_TIMEOUT_SECONDS": "0.3"})
    result = run(door, "sleep 300", timeout_seconds=60)
    assert result["exit_code"] == 1 and result["timed_out"]
    assert result["stderr"].startswith("Failed to execute command: ")


def test_much_output_comes_in_full(door):
    result = run(door, "head -c 6000000 /dev/zero | tr '\\0' x; head -c 3000000 /dev/zero | tr '\\0' y >&2")
    assert result == {"stdout": "x" * 6_000_000, "stderr": "y" * 3_000_000, "exit_code": 0}


def test_an_answer_stays_below_what_the_go_sdk_takes(door):
    """And says how much is missing: head and tail of the larger stream are there."""
    answer = door.request("POST", "/execute", json={"command": "echo begin; head -c 9000000 /dev/zero; echo; echo end; echo e >&2"})
    assert answer.status == 200 and len(answer.body) < 16 * MIB
    result = answer.json()
    out, err = result["stdout"], result["stderr"]
    assert out.startswith("begin\n") and out.endswith("\nend\n") and err.startswith("e\n[skiffd: ")
    assert f" {9_000_011 - len(out)} bytes of stdout are left out" in err


def test_a_command_is_one_of_the_agents(door):
    run(door, "echo seen")
    commands = door.agent.request("GET", "/v1/sessions/default/commands").json()["items"]
    seen = [one for one in commands if one.get("command") == "echo seen"]
    assert len(seen) == 1 and seen[0]["state"] == "ended"


def test_the_tree_is_ended_when_the_client_goes(door):
    for way in ("close", "half"):
        body = json.dumps({"command": "(setsid sleep 300 &) ; echo $$ > pid; sleep 300"}).encode()
        with door.connect() as sock:
            sock.sendall(request_bytes("POST", "/execute", {"Host": "x", **JSON, "Content-Length": len(body)}, body))
            until(lambda: (door.agent.root / "pid").exists() and (door.agent.root / "pid").read_text())
            if way == "half":
                sock.shutdown(1)
                until(lambda: not door.agent.request("GET", "/v1/sessions/default/commands?state=running").json()["items"])
        until(lambda: not door.agent.request("GET", "/v1/sessions/default/commands?state=running").json()["items"])
        until(lambda: not [pid for pid in door.agent.strays() if is_sleep(pid)])
        (door.agent.root / "pid").unlink()


def is_sleep(pid):
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read() == "sleep\n"
    except OSError:
        return False


def test_a_client_that_shuts_its_half_gets_what_is_done_at_once(door):
    (door.agent.root / "f").write_text("here")
    for path, wanted in (("/", b"active"), ("/download/f", b"here"), ("/exists/f", b"true"), ("/list/", b'"f"')):
        answer = parse(door.exchange(request_bytes("GET", path, {"Host": "x"}), shut=True))
        assert answer.status == 200 and wanted in answer.body


def test_concurrent_commands(door):
    results = []
    threads = [threading.Thread(target=lambda n=n: results.append(run(door, f"echo {n}")["stdout"])) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == sorted(f"{n}\n" for n in range(16))


# --- bodies that are refused ---


@pytest.mark.parametrize("body, named", [
    (b"", "JSON"), (b" null", "JSON object"), (b"{}", "command"), (b'{"cmd":"ls"}', "command"), (b'{"command":null}', "command"),
    (b'{"command":["ls"]}', "command"), (b'"ls"', "JSON object"), (b"not json", "JSON"), (b'{"command":"x"', "JSON"),
    (b'{"command":"\xff"}', "JSON"), (b'{"command":"x","timeout_seconds":"soon"}', "timeout_seconds"),
    (b'{"command":"x","timeout_seconds":0}', "timeout_seconds"),
], ids=lambda value: repr(value)[:24])
def test_a_body_that_is_no_request_is_422_and_says_what_is_wrong(door, body, named):
    answer = door.request("POST", "/execute", body=body, headers=JSON)
    assert answer.status == 422 and set(answer.json()) == {"detail"}
    assert named in answer.json()["detail"]


def test_a_body_of_another_type_is_422(door):
    answer = door.request("POST", "/execute", body=b"command=ls", headers={"Content-Type": "text/plain"})
    assert answer.status == 422 and "application/json" in answer.json()["detail"]


def test_an_upload_without_a_file_is_422(door):
    field = b'--b0undary\r\nContent-Disposition: form-data; name="file"\r\n\r\nabc\r\n--b0undary--\r\n'
    for body, headers in ((b"", {}), (b"x", {"Content-Type": "application/octet-stream"}),
                          (multipart(b"a", b"x", name="other"), MULTIPART), (b"--b0undary--\r\n", MULTIPART),
                          (field.replace(b"abc", b""), MULTIPART), (field, MULTIPART)):
        answer = door.request("POST", "/upload", body=body, headers=headers)
        assert answer.status == 422 and '"file"' in answer.json()["detail"]
    answer = door.request("POST", "/upload", body=b"x", headers={"Content-Type": "multipart/form-data"})
    assert (answer.status, answer.json()) == (400, {"detail": "Missing boundary in multipart."})
    assert not list(door.agent.root.iterdir())


# --- HTTP ---


def test_routes_and_methods(door):
    for path in ("/nope", "/execute/x", "//", "/v1/sessions", "/metrics", "/docs"):
        answer = door.request("GET", path)
        assert (answer.status, answer.json()) == (404, {"detail": "Not Found"}), path
    for method, path, allow in (("GET", "/execute", "POST"), ("DELETE", "/download/x", "GET"), ("POST", "/", "GET")):
        answer = door.request(method, path)
        assert (answer.status, answer.json(), answer.headers["Allow"]) == (405, {"detail": "Method Not Allowed"}, allow)
    # Not redirected, which the SDK would refuse.
    assert door.request("POST", "/execute/", json={"command": "echo x"}).json()["stdout"] == "x\n"


def test_a_get_with_an_empty_chunked_body(door):
    """As the Python router of agent-sandbox forwards it; the connection stays."""
    (door.agent.root / "f").write_text("here")
    with door.connect() as sock:
        stream = None
        for path in ("/", "/download/f", "/list/", "/exists/f"):
            sock.sendall(request_bytes("GET", path, {"Host": "x", "Transfer-Encoding": "chunked"}, b"0\r\n\r\n"))
            if stream is None:
                stream = Stream(sock)
            else:
                stream.next_response()
            assert stream.answer().status == 200
        stream.file.close()


def test_expect_100_continue(door):
    body = multipart(b"f", b"1")
    with door.connect() as sock:
        sock.sendall(request_bytes("POST", "/upload", {"Host": "x", **MULTIPART, "Content-Length": len(body), "Expect": "100-continue"}))
        assert sock.recv(100).startswith(b"HTTP/1.1 100 ")
        sock.sendall(body)
        with Stream(sock) as stream:
            assert stream.answer().status == 200


def test_broken_requests_are_refused_in_the_originals_form(door):
    for request, status in ((b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
                            (b"GET /exists/%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 400),
                            (b"GET /exists/%00 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 400),
                            (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414),
                            (b"POST /execute HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400)):
        answer = parse(door.exchange(request))
        assert answer.status == status and isinstance(answer.json()["detail"], str), answer


def test_web_pages_are_kept_away(door):
    assert door.request("GET", "/exists/x", headers={"Host": "evil.example"}).status == 421
    for host in ("10.1.2.3:8888", "sandbox-1", "sandbox-1.ns.svc.cluster.local:8888", "[fd00::1]:8888"):
        assert door.request("GET", "/exists/x", headers={"Host": host}).status == 200, host
    answer = door.request("POST", "/execute", json={"command": "touch made"}, headers={"Origin": "http://evil.example"})
    assert answer.status == 403 and isinstance(answer.json()["detail"], str)
    assert not (door.agent.root / "made").exists()


def test_the_log_warns_and_tells_of_requests(door):
    door.request("GET", "/exists/some%20name")
    door.request("GET", "/")

    def told():
        lines = [json.loads(line) for line in door.agent.log().splitlines() if line.endswith("}")]
        return [line for line in lines if line.get("who") == "dialect:python-runtime"]

    until(told)
    assert [line["route"] for line in told()] == ["/exists/"], "probes are not told"
    log = door.agent.log()
    assert "everyone who can connect to 127.0.0.1:0 may run commands (--dialect python-runtime)" in log
    assert "some name" not in log


def test_the_audit_log_and_the_metrics_tell_of_it(start_door, tmp_path):
    log = tmp_path / "audit.log"
    door = start_door("--audit-log", log)
    run(door, "echo x")
    door.request("GET", "/")

    def told():
        return [json.loads(line) for line in log.read_text().splitlines()]

    until(lambda: len([one for one in told() if one["who"] == "dialect:python-runtime"]) == 2)
    command, request = (one for one in told() if one["who"] == "dialect:python-runtime")
    assert (command["event"], request["event"], request["route"]) == ("command", "request", "/execute")
    assert request["command"] == command["command"] and request["session"] == "default"
    metrics = door.agent.request("GET", "/metrics").text
    assert 'skiff_requests_total{route="dialect:python-runtime",method="-",status="2xx"} 2' in metrics
