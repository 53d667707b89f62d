"""A command or a reader's request tries to keep the agent's threads or its memory from all others."""

import contextlib
import json
import re

import proc
from waiting import until
from wire import request_bytes

WAITS = 50

# Keeps a file fresh, so that its entity tag is made of its bytes, and lets it grow as soon as it is opened to be read.
GROWS = """
import ctypes, os, select, struct
libc = ctypes.CDLL(None)
events = libc.inotify_init1(os.O_NONBLOCK)
file = os.open("log", os.O_RDWR | os.O_CREAT, 0o644)
os.write(file, b"x" * (1 << 20))
libc.inotify_add_watch(events, b"log", 0x20)
print("ready", flush=True)
opened = 0
while opened < 2:
    if select.select([events], [], [], 0.001)[0]:
        opened += len(os.read(events, 65536)) // 16
    os.pwrite(file, b"y", 0)
os.ftruncate(file, 4 << 40)
print("grown", flush=True)
"""

# The holder of a lease is asked to give the file up, and does not.
LEASE = """
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
file = os.open(sys.argv[1], os.O_RDONLY)
fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("held", flush=True)
signal.pause()
"""


def said(agent, cid, word):
    return until(lambda: word in agent.request("GET", f"/v1/commands/{cid}/output").body, what=f"{word} of {cid}")


def memory(agent):
    with open(f"/proc/{agent.pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read())[1]) << 10


def test_a_file_that_grows_while_it_is_hashed_holds_no_thread(agent):
    (agent.root / "small").write_text("small\n")
    for _ in range(4):
        (agent.root / "log").unlink(missing_ok=True)
        cid = agent.start(argv=["python3", "-c", GROWS])["id"]
        said(agent, cid, b"ready")
        while agent.request("GET", f"/v1/commands/{cid}").json()["state"] != "ended":
            assert agent.request("HEAD", "/v1/files/log", timeout=8).status == 200
    assert agent.request("GET", "/v1/files/small", timeout=8).body == b"small\n"


def test_waits_for_patterns_cost_little_memory(agent):
    source = agent.start("head -c 65000 /dev/urandom | od -An -tx1 | tr -d ' \\n' | tr 0-7 a | tr 8-9 b; echo done; sleep 60")["id"]
    met = agent.request("POST", "/v1/sessions/default/wait", json={"for": {"output": {"command": source, "pattern": "done"}}})
    assert met.json()["met"]
    before = memory(agent)
    with contextlib.ExitStack() as open_ones:
        waiting = []
        for number in range(WAITS):
            pattern = f"(x{number}|[ab]*a[abcdef]{{{14 + number % 5}}}c[abcdef]{{{14 + number % 3}}}z)"
            body = json.dumps({"for": {"output": {"command": source, "pattern": pattern}}, "timeout_ms": 170_000}).encode()
            waiting.append(open_ones.enter_context(agent.connect()))
            given = agent.headers({"Content-Type": "application/json", "Content-Length": len(body)})
            waiting[-1].sendall(request_bytes("POST", "/v1/sessions/default/wait", given, body))
        # Its turns come between those of all the others: it ends when they have searched what it has.
        last = {"for": {"output": {"command": source, "pattern": "done"}}, "timeout_ms": 170_000}
        assert agent.request("POST", "/v1/sessions/default/wait", json=last, timeout=170).json()["met"]
        assert memory(agent) - before < proc.allowance(12 << 20)
        # They still wait: nothing but the head of an answer has come.
        for sock in waiting:
            sock.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                assert sock.recv(65536).split(b"\r\n")[0] == b"HTTP/1.1 200 OK"
        assert agent.request("GET", "/healthz").status == 200


def test_a_lease_on_a_program_holds_up_nobody_else(agent):
    program = agent.root / "program"
    program.write_text("#!/bin/sh\necho hi\n")
    program.chmod(0o755)
    holder = agent.start(argv=["python3", "-c", LEASE, "program"])["id"]
    said(agent, holder, b"held")
    for _ in range(5):
        refused = agent.run(argv=["./program"])
        assert (refused["cause"], refused["error"]["message"]) == ("spawn_failed", 'exec "./program": Text file busy')
    assert agent.run(argv=["/bin/echo", "other"])["stdout"] == "other\n"
    agent.request("DELETE", f"/v1/commands/{holder}")
    assert agent.run(argv=["./program"])["stdout"] == "hi\n"


def test_a_start_that_hangs_ends_at_its_timeout(agent):
    interpreter = agent.root / "interpreter"
    interpreter.write_bytes(open("/bin/sh", "rb").read())
    interpreter.chmod(0o755)
    program = agent.root / "program"
    program.write_text("#!./interpreter\necho hi\n")
    program.chmod(0o755)
    holder = agent.start(argv=["python3", "-c", LEASE, "interpreter"])["id"]
    said(agent, holder, b"held")
    started = [agent.start(argv=["./program"], timeout_ms=300)["id"] for _ in range(8)]
    for cid in started:
        assert agent.ended(cid, seconds=15)["cause"] == "timeout"
    assert agent.run(argv=["/bin/echo", "other"])["stdout"] == "other\n"


def test_the_command_lines_of_ended_commands_are_shortened(agent):
    line = "true #" + "ü" * 150_000
    for _ in range(4):
        shown = agent.ended(agent.start(line)["id"])
        assert line.startswith(shown["command"]) and 16_380 < len(shown["command"].encode()) <= 16_384
    words = agent.ended(agent.start(argv=["true", *["w" * 100_000] * 8])["id"])["argv"]
    assert words == ["true", "w" * (16_384 - 4)]


def test_a_list_of_long_requests_comes_in_pages(agent):
    ids = [agent.start("sleep 60 #" + "x" * 900_000)["id"] for _ in range(4)]
    seen, cursor = [], ""
    while cursor is not None:
        answer = agent.request("GET", f"/v1/commands?limit=1000&cursor={cursor}")
        assert len(answer.body) < 3 << 20
        seen += [item["id"] for item in answer.json()["items"]]
        cursor = answer.json().get("next_cursor")
    assert [one for one in seen if one in ids] == ids
    for cid in ids:
        agent.request("DELETE", f"/v1/commands/{cid}")
