"""Attacks of a tenant of `skiff serve` on the network of sandboxes: readers of the log without number, readers that never read, and
rules that change all the time."""

import json
import os
import subprocess
import urllib.parse

import pytest

import proc
from boxes import skiff  # noqa: F401
from egressing import outside, through  # noqa: F401
from inside import FollowedLog, Inside

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a laptop and an internet"),
              pytest.mark.parametrize("skiff", ["user"], indirect=True)]

#: In the laptop's network: it opens so many streams of a log and reads the beginning of each, then none of them; and prints their statuses.
READERS = """
import json, socket, sys
host, port, key, path, count = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5])
held, said = [], []
for _ in range(count):
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    one.settimeout(60)
    one.connect((host, port))
    one.sendall(f"GET {path} HTTP/1.1\\r\\nHost: x\\r\\nX-API-Key: {key}\\r\\n\\r\\n".encode())
    held.append(one)
for one in held:
    said.append(int(one.recv(12).split()[1]))
print(json.dumps(said), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def serving(skiff, outside):
    one = Inside(skiff, outside)
    yield one
    one.server.stop()


def make(serving, skiff, name, key=None, egress=()):
    status, made = serving("POST", "/v1/sandboxes", {"name": name, "egress": list(egress)}, key)
    assert status == 201, made
    skiff.users.add(skiff.record(name)["user"])


def readers(serving, outside, name, key, count):
    """A process that has so many streams of a log, and their statuses."""
    url = urllib.parse.urlsplit(serving.server.url)
    process = subprocess.Popen([*outside.laptop.words, "python3", "-c", READERS, url.hostname, str(url.port), key, f"/v1/sandboxes/{name}/network/log", str(count)],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    return process, json.loads(process.stdout.readline())


def test_readers_without_number_leave_the_logs_of_others_alone(skiff, outside, serving):
    """One tenant holds as many streams as it gets."""
    other = skiff("key", "create", "other", "--tenant", "other")[0].strip()
    make(serving, skiff, "box")
    make(serving, skiff, "its", other)
    held, said = readers(serving, outside, "box", serving.key, 200)
    try:
        assert set(said) <= {200, 503}, said
        log = FollowedLog(serving, other, "its")
        through(skiff, {"to": "evil.org:443"}, name="its")
        assert next(log.events())[1]["host"] == "evil.org"
        log.process.kill()
        log.process.communicate()
    finally:
        held.communicate(timeout=60)
    assert said.count(200) == 32


FLOOD = """
import socket
for number in range(3000):
    with socket.create_connection(("127.0.0.1", 3128)) as one:
        one.sendall(b"CONNECT n%d.%s.evil.org:443 HTTP/1.1\\r\\n\\r\\n" % (number, b".".join([b"x" * 56] * 4)))
        while one.recv(65536):
            pass
"""


def test_readers_that_never_read_hold_a_bounded_part_of_a_flooded_log(skiff, outside, serving):
    make(serving, skiff, "box")
    held, said = readers(serving, outside, "box", serving.key, 32)
    try:
        assert said == [200] * 32
        pid = serving.server.process.pid
        before = proc.rss_bytes(pid)
        # Some megabytes of lines, for each reader.
        skiff("exec", "box", "--", "python3", "-c", FLOOD)
        grown = int(proc.status(pid, "VmHWM").split()[0]) * 1024 - before
        assert grown < proc.allowance(32 << 20), grown
        assert serving.rules() == []
    finally:
        held.communicate(timeout=60)


#: In the laptop's network: so many changes at once, each of its own; and their statuses.
CHANGES = """
import concurrent.futures, http.client, json, sys
host, key, path, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
def change(number):
    method, body = [("PATCH", {"add": [f"n{number}.example.org"]}), ("PATCH", {"remove": [f"n{number}.example.org"]}), ("PUT", {"egress": [f"p{number}.example.org"]}),
                    ("PATCH", {"add": ["10.0.0.1"]})][number % 4]
    one = http.client.HTTPConnection(host, timeout=60)
    one.request(method, path, json.dumps(body), {"X-API-Key": key, "Content-Type": "application/json"})
    return one.getresponse().status
with concurrent.futures.ThreadPoolExecutor(32) as threads:
    print(json.dumps([list(threads.map(change, range(count))), change(2)]))
"""


def test_a_storm_of_changes_leaves_whole_rules_in_force(skiff, outside, serving):
    make(serving, skiff, "box", egress=["pypi.org"])
    host = urllib.parse.urlsplit(serving.server.url).netloc
    done = subprocess.run([*outside.laptop.words, "python3", "-c", CHANGES, host, serving.key, "/v1/sandboxes/box/network", "120"], stdout=subprocess.PIPE, check=True, timeout=90)
    statuses, last = json.loads(done.stdout)
    # To remove what is not there, and to name an address, are errors of the client.
    assert set(statuses[0::4]) == set(statuses[2::4]) == {200} and set(statuses[1::4]) <= {200, 400, 422} and set(statuses[3::4]) <= {400, 422}, statuses
    assert last == 200 and serving.rules() == ["p2.example.org"]
    assert json.loads((skiff.sandboxes / "box/egress.json").read_text()) == ["p2.example.org"]
    assert [one["code"] for one in through(skiff, {"to": "pypi.org:443"}, {"to": "p2.example.org:443"})] == ["not_allowed", "dns"]
