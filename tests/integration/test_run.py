"""The front door: `/v1/run` for curl, `/v1/shell` for a terminal."""

import json
import subprocess

import pytest
import websockets

from waiting import until, with_time
from wire import query


def run(agent, script, headers=None, version="1.1", **fields):
    body = script.encode() if isinstance(script, str) else script
    with agent.stream("POST", query("/v1/run", **fields), body=body, headers=headers, version=version) as stream:
        return stream.answer()


def test_a_script_in_the_body_is_run_and_its_output_comes_back(agent):
    answer = run(agent, "echo one\necho two | tr a-z A-Z\n")
    assert (answer.status, answer.body) == (200, b"one\nTWO\n")
    assert answer.trailers["X-Exit-Code"] == "0"
    assert answer.trailers["X-Cause"] == "exited"
    assert answer.headers["X-Skiff-Command-Id"]


def test_stdout_and_stderr_come_in_the_order_in_which_they_were_written(agent):
    answer = run(agent, "echo 1; sleep 0.1; echo 2 >&2; sleep 0.1; echo 3; exit 3")
    assert answer.body == b"1\n2\n3\n"
    assert answer.trailers["X-Exit-Code"] == "3"


def test_output_comes_while_the_script_still_runs(agent):
    (agent.root / "wait").touch()
    body = b"echo started; while [ -e wait ]; do sleep 0.02; done; echo over"
    with agent.stream("POST", "/v1/run", body=body) as stream:
        pieces = stream.chunks()
        assert next(pieces) == b"started\n"
        (agent.root / "wait").unlink()
        assert b"".join(pieces) == b"over\n"


def test_output_is_bytes(agent):
    every = bytes(range(256)) * 40
    (agent.root / "every").write_bytes(every)
    assert run(agent, "cat every").body == every


def test_a_script_of_any_content_type_but_json_is_a_script(agent):
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/x-sh", "application/octet-stream"):
        assert run(agent, "echo hi", {"Content-Type": kind}).body == b"hi\n", kind


def test_heredocs_quotes_and_syntax_errors_are_the_shells_own_business(agent):
    assert run(agent, "cat <<'E'\na $b 'c' \"d\"\nE\n").body == b"a $b 'c' \"d\"\n"
    broken = run(agent, "echo 'oops")
    assert broken.status == 200 and broken.trailers["X-Exit-Code"] == "2" and broken.body
    assert run(agent, "echo fine").body == b"fine\n"


def test_an_empty_script_is_refused(agent):
    run(agent, "").problem(400, "missing_field")


def test_a_script_larger_than_a_json_body_runs(agent):
    script = "".join(f"x={number}  # {'p' * 90}\n" for number in range(20_000)) + "echo $x\n"
    assert len(script) > 2_000_000
    assert run(agent, script).body == b"19999\n"


def test_the_query_gives_directory_session_and_timeout(agent):
    (agent.root / "sub").mkdir()
    assert run(agent, "pwd", cwd="sub").body == f"{agent.root}/sub\n".encode()
    sid = agent.session(env={"WHO": "session"})
    assert run(agent, "echo $WHO", session=sid).body == b"session\n"
    late = with_time(lambda seconds: run(agent, "echo begun; sleep 60", timeout_ms=int(seconds * 1000)), lambda answer: answer.body)
    assert late.body == b"begun\n" and late.trailers["X-Cause"] == "timeout"
    assert run(agent, "true", session="nope").problem(404, "session_not_found")
    assert run(agent, "true", no_such_parameter=1).status == 400


def test_a_json_body_is_a_command_request(agent):
    body = json.dumps({"argv": ["sh", "-c", "cat; echo $A; echo err >&2; exit 4"], "stdin": "in\n", "env": {"A": "b"}})
    answer = run(agent, body, {"Content-Type": "application/json"})
    assert answer.status == 200
    assert answer.body.startswith(b"in\nb\n")
    assert answer.trailers["X-Exit-Code"] == "4"


def test_the_command_can_be_found_again_by_its_id(agent):
    cid = run(agent, "echo hi; exit 5").headers["X-Skiff-Command-Id"]
    shown = agent.request("GET", f"/v1/commands/{cid}").json()
    assert (shown["id"], shown["state"], shown["exit_code"]) == (cid, "ended", 5)


def test_curl_alone_is_enough(agent):
    def curl(*arguments):
        return subprocess.run(["curl", "-sS", "-m", "30", "-H", f"Authorization: Bearer {agent.token}", *arguments],
                              capture_output=True, timeout=40)

    assert curl(agent.url + "/v1/run", "-d", "echo hi").stdout == b"hi\n"
    shown = curl("-i", agent.url + "/v1/run", "--data-binary", "exit 7")
    assert b"x-exit-code: 7" in shown.stdout.lower()
    assert curl("--http1.0", agent.url + "/v1/run", "-d", "seq 3").stdout == b"1\n2\n3\n"


def test_a_missing_program_is_the_shells_127(agent):
    answer = run(agent, "no-such-program-here")
    assert answer.trailers["X-Exit-Code"] == "127" and b"not found" in answer.body


# --- /v1/shell ---

def read_until(ws, wanted):
    seen = b""
    while wanted not in seen:
        frame = ws.recv()
        seen += frame if isinstance(frame, bytes) else frame["data"].encode() if "data" in frame else b""
    return seen


def test_the_shell_is_a_terminal_of_raw_bytes(agent):
    with agent.ws("/v1/shell") as ws:
        ws.send(b"tty; echo sum=$((40+2))\n")
        assert b"/dev/pts/" in read_until(ws, b"sum=42")


def test_the_shell_can_be_resized_by_a_text_frame(agent):
    with agent.ws("/v1/shell") as ws:
        ws.send({"resize": {"cols": 132, "rows": 50}})
        ws.send(b"stty size; echo e''nd\n")
        assert b"50 132" in read_until(ws, b"end")


def test_a_side_that_the_frame_does_not_say_stays_as_it_is(agent):
    with agent.ws("/v1/shell?cols=100&rows=40") as ws:
        for frame, expected in (({"cols": 132}, b"40 132"), ({"rows": 50}, b"50 132")):
            ws.send({"resize": frame})
            ws.send(b"stty size; echo e''nd\n")
            assert expected in read_until(ws, b"end")


@pytest.mark.parametrize("query, expected", [("", b"24 80"), ("?cols=100", b"24 100"), ("?rows=0&cols=0", b"24 80")])
def test_the_shells_first_size_is_as_usual_where_nothing_is_said(agent, query, expected):
    with agent.ws("/v1/shell" + query) as ws:
        ws.send(b"stty size; echo e''nd\n")
        assert expected in read_until(ws, b"end")


def test_input_that_a_full_terminal_drops_rings_the_bell(start_agent):
    agent = start_agent("--stdin-bytes", "4096")
    with agent.ws(query("/v1/shell", command="stty raw -echo; printf up; exec sleep 1000")) as ws:
        read_until(ws, b"up")
        for _ in range(8):
            ws.send(b"x" * 8192)
        read_until(ws, b"\a")


def test_control_c_interrupts_what_the_shell_runs(agent):
    with agent.ws("/v1/shell") as ws:
        ws.send(b"echo r''eady; cat > got\n")
        read_until(ws, b"ready")
        def cat_runs():
            return any(line.startswith("cat") for line in agent.strays().values())

        until(cat_runs)  # a key typed before its exec meets the shell's own child
        ws.send(b"\x03")
        until(lambda: not cat_runs())  # what is typed before that may still be cat's
        ws.send(b"echo al''ive\n")
        assert b"alive" in read_until(ws, b"alive")


def test_leaving_the_shell_closes_the_websocket(agent):
    with agent.ws("/v1/shell") as ws:
        ws.send(b"exit 3\n")
        assert ws.code() == 1000


def test_a_shell_whose_client_went_away_does_not_stay(agent):
    with agent.ws("/v1/shell") as ws:
        ws.send(b"echo pid=$$.\n")
        read_until(ws, b".\r\n")
    until(lambda: not agent.strays(), what="the shell's end")


def test_the_shell_route_without_an_upgrade_is_an_error(agent):
    agent.request("GET", "/v1/shell").problem(426, "upgrade_required")
    with pytest.raises(websockets.InvalidStatusCode) as refusal:
        agent.ws("/v1/shell", headers={"Authorization": "Bearer wrong"})
    assert refusal.value.status_code == 401
