"""The dialect python-runtime: commands, and errors in the original's words."""

import os

import pytest

from python_runtime import JSON, MULTIPART, door, multipart, run, start_door  # noqa: F401
from waiting import with_time

MIB = 1024 * 1024


# --- health ---


def test_health_has_the_originals_words(door):
    answer = door.request("GET", "/")
    assert (answer.status, answer.body) == (200, b'{"status":"ok","message":"Sandbox Runtime is active."}')
    assert door.request("HEAD", "/").body == b""


# --- execute ---


def test_a_command_is_a_shell_line(door):
    assert run(door, "echo a | cat; echo $((1 + 1)) >&2; exit 3") == {"stdout": "a\n", "stderr": "2\n", "exit_code": 3}
    assert run(door, "pwd -P")["stdout"] == os.path.realpath(door.agent.root) + "\n"
    assert run(door, "cat <<'END'\nit's\nEND")["stdout"] == "it's\n"
    assert run(door, "cat; exit 300") == {"stdout": "", "stderr": "", "exit_code": 44}


def test_a_signal_is_a_negative_exit_code(door):
    assert run(door, "kill -9 $$")["exit_code"] == -9
    assert run(door, "kill -TERM $$")["exit_code"] == -15


def test_bytes_arrive_unchanged_and_invalid_utf8_is_replaced(door):
    assert run(door, r"printf 'a\r\nb\rc'")["stdout"] == "a\r\nb\rc"
    assert run(door, r"printf 'caf\303\251 \377 \303'; printf '\000' >&2") == {
        "stdout": "café \ufffd \ufffd", "stderr": "\0", "exit_code": 0}


def test_an_invalid_command_fails_with_an_exit_code(door):
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
    """The answer says how much is missing: head and tail of the larger stream are there."""
    answer = door.request("POST", "/execute", json={"command": "echo begin; head -c 9000000 /dev/zero; echo; echo end; echo e >&2"})
    assert answer.status == 200 and len(answer.body) < 16 * MIB
    result = answer.json()
    out, err = result["stdout"], result["stderr"]
    assert out.startswith("begin\n") and out.endswith("\nend\n") and err.startswith("e\n[skiffd: ")
    assert f" {9_000_011 - len(out)} bytes of stdout are left out" in err


# --- bodies that are refused ---


@pytest.mark.parametrize("body, named", [
    (b"", "JSON"), (b" null", "JSON object"), (b"{}", "command"), (b'{"cmd":"ls"}', "command"), (b'{"command":null}', "command"),
    (b'{"command":["ls"]}', "command"), (b'"ls"', "JSON object"), (b"not json", "JSON"), (b'{"command":"x"', "JSON"),
    (b'{"command":"\xff"}', "JSON"), (b'{"command":"x","timeout_seconds":"soon"}', "timeout_seconds"),
    (b'{"command":"x","timeout_seconds":0}', "timeout_seconds"),
], ids=lambda value: repr(value)[:24])
def test_an_invalid_body_is_422_and_says_what_is_wrong(door, body, named):
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
    assert door.request("GET", "/execute").json() == {"detail": "Method Not Allowed"}
    # Not redirected, which the SDK would refuse.
    assert door.request("POST", "/execute/", json={"command": "echo x"}).json()["stdout"] == "x\n"
