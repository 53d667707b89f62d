"""What strangers at the port of the dialect python-runtime, and commands beside it, may try."""

import json
import os
import socket

import pytest

from python_runtime import JSON, MULTIPART, door, multipart, run, start_door, upload  # noqa: F401
from waiting import until
from wire import request_bytes

MIB = 1024 * 1024


def test_a_link_that_is_swapped_in_leads_nowhere(door):
    """A command of the agent's own uid exchanges a directory for a link again and again."""
    outside = door.agent.folder / "outside"
    outside.mkdir()
    (outside / "f").write_text("secret")
    (door.agent.root / "real").mkdir()
    (door.agent.root / "real" / "f").write_text("mine")
    swap = "mv -T name a; mv -T link name; mv -T name link; mv -T a name"
    cid = door.agent.start(f"ln -s {outside} link; cp -r real name; while :; do {swap}; done")["id"]
    seen = set()

    def look():
        answer = door.request("GET", "/download/name%2Ff")
        assert b"secret" not in answer.body
        seen.add(answer.status)
        return seen >= {200, 403}

    until(look, what=f"both of what is there: {seen}")
    for _ in range(200):
        assert upload(door, b"name/new", b"from outside").status in (200, 403, 404, 409)
    assert not (outside / "new").exists()
    door.agent.request("DELETE", f"/v1/sessions/default/commands/{cid}")


def test_a_fifo_in_the_way_holds_nobody_up(door):
    os.mkfifo(door.agent.root / "fifo")
    assert door.request("GET", "/download/fifo", timeout=5).status == 404
    answer = upload(door, b"fifo")
    assert 400 <= answer.status < 500 and answer.json()["message"].startswith("File upload failed: ")
    assert (door.agent.root / "fifo").is_fifo()


@pytest.mark.parametrize("body, status, why", [
    (b"--b0undary\r\nA: " + b"x" * MIB, 413, "8192 bytes"),
    (b"--b0undary\r\nContent-Disposition: form-data; name=n\r\n\r\n\r\n" * 1001, 413, "more than 1000 parts"),
    (b"x" * MIB, 400, "last boundary"),
    (b"\r\n--b0undar" * 100_000, 400, "last boundary"),
    (b"--b0undary\r\n\r\n\r\n\r\nx", 400, "Content-Disposition"),
], ids=lambda value: repr(value)[:20])
def test_multipart_that_makes_no_sense_changes_nothing(door, body, status, why):
    answer = door.request("POST", "/upload", body=body, headers=MULTIPART)
    assert answer.status == status and why in answer.json()["detail"]
    assert not list(door.agent.root.iterdir())


def test_a_quote_that_is_not_closed_ends_with_its_line(door):
    body = b'--b0undary\r\nContent-Disposition: form-data; name="file"; filename="a\r\n\r\nx\r\n--b0undary--'
    assert door.request("POST", "/upload", body=body, headers=MULTIPART).status == 200
    assert [(path.name, path.read_bytes()) for path in door.agent.root.iterdir()] == [("a", b"x")]


def test_names_that_are_no_files(door):
    for name in (b".", b"./", b"a/", b"/", b"//", b"x/" * 3000, b"n" * 256, b"nul\0byte"):
        answer = upload(door, name)
        assert 400 <= answer.status < 500, (name[:20], answer)
    assert not [one for one in door.agent.root.rglob("*") if one.is_file()]


def test_uploads_that_stand_still_fill_no_memory(door):
    """Forty at once, each with a megabyte on its way; the agent answers others, and forgets them when they go."""
    whole = multipart(b"never", b"x" * MIB)
    socks = []
    for _ in range(40):
        sock = door.connect()
        sock.sendall(request_bytes("POST", "/upload", {"Host": "x", **MULTIPART, "Content-Length": len(whole)}, whole[:-10]))
        socks.append(sock)
    assert door.request("GET", "/").status == 200
    with open(f"/proc/{door.agent.pid}/status") as file:
        resident = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
    assert resident < 128 * 1024 or os.environ.get("SKIFFD_SANITIZER"), f"{resident} KiB"
    for sock in socks:
        sock.close()
    until(lambda: not list(door.agent.root.iterdir()))
    assert upload(door, b"after").status == 200


def test_a_client_that_reads_nothing_holds_up_nobody(door):
    (door.agent.root / "large").write_bytes(os.urandom(32 * MIB))
    with door.connect() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.sendall(request_bytes("GET", "/download/large", {"Host": "x"}))
        for _ in range(5):
            assert run(door, "echo on")["stdout"] == "on\n"


def test_what_a_stranger_may_not(door):
    """No other session, no user, no credential of the agent's: those are fields and routes that the dialect lacks."""
    result = run(door, "id -u; env | grep -c ^SKIFF_", user="nobody", session="other", env={"A": "b"})
    assert result["stdout"] == f"{os.getuid()}\n0\n"
    for path in ("/v1/sessions", "/v1/init", "/metrics", "/openapi.json"):
        assert door.request("GET", path, headers={"Authorization": f"Bearer {door.agent.token}"}).status == 404
    assert door.agent.request("GET", "/v1/sessions", token="wrong").status == 401


def test_a_command_that_leaves_its_tree_ends_with_it(door):
    """setsid and a double fork, as daemons do: ended at the limit."""
    result = run(door, "(setsid sh -c 'sleep 301 & sleep 302' &) ; sleep 303", timeout_seconds=0.5)
    assert result["timed_out"]
    until(lambda: not [pid for pid in door.agent.strays() if name_of(pid) == "sleep"])


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    except OSError:
        return ""


def test_a_flood_of_output_is_bounded(door):
    answer = door.request("POST", "/execute", json={"command": "head -c 100000000 /dev/zero; echo end", "timeout_seconds": 60})
    assert answer.status == 200 and len(answer.body) < 16 * MIB
    assert answer.json()["stdout"].endswith("end\n") and "left out of this answer" in answer.json()["stderr"]


def test_a_background_process_holds_no_answer_up(door):
    assert run(door, "sleep 300 & echo $! > pid; echo done")["stdout"] == "done\n"
    os.kill(int((door.agent.root / "pid").read_text()), 9)


def test_many_at_once_are_told_to_come_again(start_door):
    door = start_door("--max-commands", "2")
    held = []
    for n in range(2):
        body = json.dumps({"command": f"touch up{n}; sleep 300"}).encode()
        sock = door.connect()
        sock.sendall(request_bytes("POST", "/execute", {"Host": "x", **JSON, "Content-Length": len(body)}, body))
        held.append(sock)
        until((door.agent.root / f"up{n}").exists)
    answer = door.request("POST", "/execute", json={"command": "true"})
    assert answer.status == 429 and answer.headers["Retry-After"] == "1" and "--max-commands" in answer.json()["detail"]
    for sock in held:
        sock.close()
    until(lambda: door.request("POST", "/execute", json={"command": "true"}).status == 200)
