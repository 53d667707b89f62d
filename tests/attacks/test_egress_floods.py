"""Floods from within a box, and from servers that it may reach, to use up the memory, the descriptors and the turns of its proxy."""

import json
import os
import subprocess

import pytest

import hostile_origin
import proc
from boxes import skiff  # noqa: F401
from box_secrets import get, origin, say  # noqa: F401
from egressing import PROBE, log_of, outside, proxies, through  # noqa: F401
from hostile import Hostile, hostile, place  # noqa: F401
from waiting import until, until_still

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a laptop and an internet"),
              pytest.mark.parametrize("skiff", ["user"], indirect=True)]


MIB = 1 << 20


class Holder:
    """The program held_open.py in the box: what it says of each kind."""

    def __init__(self, skiff, *kinds):
        skiff("cp", "-q", PROBE.with_name("held_open.py"), "box:/tmp/held_open.py")
        self.process = skiff.start("exec", "-i", "box", "--", "python3", "/tmp/held_open.py", json.dumps(kinds), stdin=subprocess.PIPE)
        lines = [self.process.stdout.readline() for _ in kinds]
        assert all(lines), self.process.communicate(timeout=60)
        self.said = [json.loads(line) for line in lines]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate(timeout=60)


def memory_of(pid):
    """Its bytes of memory: at present, and at most so far."""
    return proc.rss_bytes(pid), int(proc.status(pid, "VmHWM").split()[0]) * 1024


#: AddressSanitizer keeps freed blocks. The proxy does not have the variable by which .ci/test lets it keep few.
QUARANTINE = 256 * MIB if os.environ.get("SKIFFD_SANITIZER") else 0


def descriptors_of(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


@pytest.fixture
def box(hostile):
    hostile.skiff("network", "box", "-q", "--egress", f"+*.wild.example.com:{hostile_origin.HELLOS}", "--egress", "+pypi.org")
    hostile.teach(endless=["HTTP/1.1 200 OK\r\n\r\n", {"again": "x" * 16384}])
    return hostile


def test_slow_readers_take_little_memory(box):
    (pid,) = proxies(box.skiff)
    agent = int(box.skiff.json("ps", "box")["details"]["pid"])
    before = memory_of(pid)[0], memory_of(agent)[0]
    with Holder(box.skiff, {"tunnels": 100, "to": f"one.wild.example.com:{hostile_origin.HELLOS}"},
                {"requests": 100, "to": place(hostile_origin.ANSWERS), "path": "/endless"}) as holder:
        assert holder.said == [100, 100]
        until_still(lambda: memory_of(pid)[0] // MIB)
        grown = memory_of(pid)[1] - before[0], memory_of(agent)[1] - before[1]
        # 16 MiB of slow receivers, and less than 256 KiB beside them for each connection with two ends of TLS.
        assert grown[0] < proc.allowance((16 + 25) * MIB) + QUARANTINE and grown[1] < proc.allowance(32 * MIB), grown
        assert through(box.skiff, {"to": "pypi.org:443"})[0]["status"] == 200
    until(lambda: descriptors_of(pid) < 40)


def test_halves_of_requests_keep_their_places_and_no_more(box):
    (pid,) = proxies(box.skiff)
    head = "CONNECT pypi.org:443 HTTP/1.1\r\nX: " + "x" * 15_000
    before, memory = descriptors_of(pid), memory_of(pid)[0]
    with Holder(box.skiff, {"hellos": 6, "to": "pypi.org:443"}, {"halves": 400, "text": head}) as holder:
        assert holder.said == [6, 6 + 400 - 256]
        assert before + 256 <= descriptors_of(pid) < before + 256 + 40
        # The next one is refused, with a reason unless it is still sending. What is there already goes on.
        until(lambda: through(box.skiff, {"to": "pypi.org:443"})[0].get("code") == "too_many_connections")
        assert memory_of(pid)[1] - memory < proc.allowance(32 * MIB)
    until(lambda: through(box.skiff, {"to": "pypi.org:443"})[0]["status"] == 200)


@pytest.mark.skipif("SKIFF_NIGHTLY" not in os.environ, reason="at night")
def test_halves_of_requests_give_their_places_back(box):
    """They have ten seconds."""
    with Holder(box.skiff, {"hellos": 6, "to": "pypi.org:443"}, {"halves": 250, "text": "CONNECT pypi.org:443 HTTP/1.1\r\n"}) as holder:
        assert holder.said == [6, 0]
        until(lambda: through(box.skiff, {"to": "pypi.org:443"})[0]["status"] == 200, 60, "the end of the halves", every=1)
        codes = [one["code"] for one in log_of(box.skiff, "--denied")["items"]]
        assert (codes.count("timeout"), codes.count("not_tls")) == (250, 6)


MANY = """
import socket, sys
held = [socket.create_connection(("127.0.0.1", 3128), 60) for _ in range(900)]
print("ready", flush=True)
sys.stdin.read()
"""


def test_connections_beyond_the_most_hold_no_descriptors(box):
    (pid,) = proxies(box.skiff)
    agent = int(box.skiff.json("ps", "box")["details"]["pid"])
    before, of_agent = descriptors_of(pid), descriptors_of(agent)
    held = box.skiff.start("exec", "-i", "box", "--", "python3", "-c", MANY, stdin=subprocess.PIPE)
    assert held.stdout.readline() == b"ready\n"
    until(lambda: descriptors_of(pid) >= before + 256)
    until(lambda: descriptors_of(pid) <= before + 256 + 16)
    # They do not pass through the agent, which has a stream of output more.
    assert descriptors_of(agent) < of_agent + 16
    assert box.skiff.sh("echo fine") == "fine\n"
    held.communicate(timeout=60)
    until(lambda: through(box.skiff, {"to": "pypi.org:443"})[0]["status"] == 200)


PIPELINED = """
import socket, ssl, sys, threading
to, path, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
one = socket.create_connection(("127.0.0.1", 3128), 60)
request = f"GET http://{to}{path} HTTP/1.1\\r\\nHost: {to}\\r\\n\\r\\n".encode()
threading.Thread(target=one.sendall, args=(request * count,), daemon=True).start()
got = b""
while got.count(b"HTTP/1.1 403") < 1 and (block := one.recv(65536)):
    got += block
print(got.count(b"HTTP/1.1 200"), got.count(b"X-Skiff-Egress: not_allowed"))
"""


def test_requests_in_a_row_end_with_the_first_that_is_refused(box):
    box.skiff("network", "box", "-q", "--egress", "+http://files.example.com")
    out = box.skiff("exec", "box", "--", "python3", "-c", PIPELINED, "evil.org", "/", "5000")[0]
    assert out.split() == ["0", "1"]


def test_rules_that_change_all_the_time_cut_what_they_forbid_and_lose_nothing(box):
    """Changes by the operator while the box opens connections: none lives on that the last rules forbid."""
    box.skiff("cp", "-q", PROBE, "box:/tmp/by_name.py")
    stays = [box.skiff.start("exec", "box", "--", "python3", "/tmp/by_name.py", json.dumps([{"to": "pypi.org:443", "stay": True}] * 40)) for _ in range(2)]
    assert [one.stdout.readline() for one in stays] == [b"pypi.org 443 hello\n"] * 2
    for rule in ("-pypi.org", "+pypi.org", "-pypi.org", "+pypi.org", "-pypi.org"):
        box.skiff("network", "box", "-q", "--egress", rule)
    assert [one.wait(60) for one in stays] == [0, 0]
    assert through(box.skiff, {"to": "pypi.org:443"})[0]["code"] == "not_allowed"
