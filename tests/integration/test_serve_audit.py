"""The audit log of `skiff serve`: who did what to which sandbox, apart from the request log, with nothing secret in it."""

import hashlib
import json
import os
import signal

from waiting import until

SECRET = "very-secret-words"


def lines(path, event=None, **fields):
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return [one for one in found if (event is None or one["event"] == event) and fields.items() <= one.items()]


def key_id(key):
    return hashlib.sha256(key.encode()).hexdigest()[:8]


def test_the_log_says_who_did_what_to_which_sandbox(serving, key, tmp_path):
    log = tmp_path / "audit"
    server = serving.start("--audit-log", log)
    looks = serving.key("looks", "--scope", "use", "--tenant", "other")
    body = {"name": "demo", "env": {"A": SECRET}, "labels": {"l": SECRET}, "on_end": "stop"}
    assert server.request("POST", "/v1/sandboxes", body, key).status == 201
    assert server.request("POST", "/v1/sandboxes", body, key).status == 409
    made = server.request("POST", "/sandboxes", {"templateID": "base", "timeout": 600}, key).json()["sandboxID"]
    run = server.request("POST", "/s/demo/7070/v1/run", f"echo {SECRET}".encode(), key, {"Content-Type": "text/plain"})
    assert run.status == 200
    assert server.request("GET", f"/s/demo/7070/v1/version?x={SECRET}", key=looks).status == 404
    assert server.request("GET", "/v1/sandboxes", key="e2b_" + "0" * 40, headers={"X-Forwarded-For": "1.2.3.4"}).status == 401
    assert server.request("POST", "/v1/sandboxes/demo/stop", {}, key).status == 200
    assert server.request("GET", "/s/demo/7070/v1/version", key=key).status == 200
    assert server.request("DELETE", "/v1/sandboxes/demo", key=key).status == 204
    assert server.request("GET", "/healthz").status == 200
    assert server.stop() == 0

    mine = {"who": "me", "key": key_id(key), "tenant": "default"}
    [created] = lines(log, "request", method="POST", route="/v1/sandboxes", status=201)
    assert mine.items() <= created.items() and created["sandbox"] == "demo" and created["peer"].startswith("127.0.0.1:")
    assert {"time", "request_id", "duration_ms"} < created.keys() and "error" not in created and "forwarded_for" not in created
    assert lines(log, "request", status=409, sandbox="demo", error="sandbox_conflict", **mine)
    assert lines(log, "request", route="/sandboxes", status=201, sandbox=made, **mine)
    assert lines(log, "request", method="POST", route="gateway:7070", sandbox="demo", status=200, **mine)
    assert lines(log, "request", route="gateway:7070", sandbox="demo", status=404, who="looks", key=key_id(looks), tenant="other")
    [stranger] = lines(log, "request", status=401)
    assert stranger["error"] == "unauthenticated" and not {"who", "key", "tenant"} & stranger.keys()
    assert lines(log, "wake", tenant="default", sandbox="demo")
    assert lines(log, "request", method="DELETE", route="/v1/sandboxes/{id}", sandbox="demo", status=204, **mine)
    assert not lines(log, route="/healthz")
    text = log.read_text()
    assert SECRET not in text and key not in text and looks not in text and "0" * 40 not in text
    assert log.stat().st_mode & 0o777 == 0o600


def test_what_the_server_removes_by_itself_is_logged(serving, key, tmp_path):
    log = tmp_path / "audit"
    server = serving.start("--audit-log", log)
    assert server.request("POST", "/v1/sandboxes", {"name": "short", "ttl_ms": 1000}, key).status == 201
    until(lambda: lines(log, "removal", tenant="default", sandbox="short"), 60, "the removal of a sandbox whose lease is over", every=0.2)


def test_the_file_is_opened_again_after_its_rotation(serving, key, tmp_path):
    log = tmp_path / "audit"
    server = serving.start("--behind-proxy", "--audit-log", log)
    assert server.request("GET", "/v1/me", key=key, headers={"X-Forwarded-For": "6.6.6.6, 1.2.3.4"}).status == 200
    until(lambda: lines(log, "request", route="/v1/me", forwarded_for="1.2.3.4"))
    log.rename(tmp_path / "audit.1")
    server.process.send_signal(signal.SIGHUP)
    until(log.exists, what="a new file")
    assert server.request("GET", "/v1/sandboxes", key=key).status == 200
    until(lambda: lines(log, "request", route="/v1/sandboxes"))
    assert len(lines(tmp_path / "audit.1")) == 1


def test_a_reader_that_does_not_read_holds_up_no_request(serving, key):
    server = serving.start("--audit-log", "-")
    assert server.request("GET", "/v1/me", key=key).status == 200
    line = json.loads(server.process.stdout.readline())
    assert (line["event"], line["route"], line["who"]) == ("request", "/v1/me", "me")
    # More than the pipe holds.
    for _ in range(600):
        assert server.request("GET", "/v1/me", key=key).status == 200
    os.set_blocking(server.process.stdout.fileno(), False)
    # The server ends when it has written all.
    server.process.send_signal(signal.SIGTERM)
    read = []
    until(lambda: read.append(server.process.stdout.read() or b"") or server.process.poll() is not None, 30, "the end")
    assert b"".join(read).count(b"\n") == 600


def test_a_log_that_cannot_be_written_stops_the_start(serving, key, tmp_path):
    _, err = serving.skiff("serve", "--listen", "127.0.0.1:0", "--audit-log", str(tmp_path / "no/audit"), status=125)
    assert "no/audit" in err
