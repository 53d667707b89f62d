"""Two processes of `skiff serve` on the same sandboxes: one is killed under streams, uploads, creations and wake-ups, and
the other one goes on where it was; limits and starts hold with both of them. At night with the numbers that are promised."""

import concurrent.futures
import contextlib
import hashlib
import http.client
import os
import pathlib
import re
import shutil
import socket
import threading

import pytest

import proc
from launcher import DRIVER
from waiting import until
from wire import Stream, request_bytes

AT_NIGHT = bool(os.environ.get("SKIFF_NIGHTLY"))
STREAMS = 100 if AT_NIGHT else 20
CREATIONS, LIMIT = (200, 20) if AT_NIGHT else (40, 4)
WAKING = 50  # requests at once; they cost little
CUT = (ConnectionError, OSError, http.client.HTTPException)
COMMANDS = "v1/sessions/default/commands"
FILES = "v1/sessions/default/files"


@pytest.fixture
def servers(serving, key):
    return [serving.start(), serving.start()]


def made(server, key, body=None, **more):
    answer = server.request("POST", "/v1/sandboxes", body or {}, key, **more)
    assert answer.status == 201, (answer.status, answer.body)
    return answer.json()["id"]


def opened(server, key, method, path, fields=None):
    """A connection with the head of a request on it."""
    host, _, port = server.host.partition(":")
    sock = socket.create_connection((host, int(port)), timeout=60)
    sock.sendall(request_bytes(method, path, {"Host": server.host, "X-API-Key": key, **(fields or {})}))
    return sock


def attempt(server, *request, **more):
    """The answer, or None when it is cut off."""
    with contextlib.suppress(*CUT):
        return server.request(*request, **more)


def agents(serving):
    return [line for line in serving.skiff.processes().values() if " --root " in line]


def agents_of(serving, sandbox):
    """The processes of the agent that serves it: one, whatever has happened."""
    if DRIVER == "box":
        lines = map(proc.command_line, proc.with_mounts_of(serving.skiff.sandboxes / sandbox))
        return [line for line in lines if line.startswith("/.skiff/skiffd ")]
    return [line for line in agents(serving) if f" --root {serving.skiff.root(sandbox)} " in line + " "]


def numbers(begin, end):
    return b"".join(b"%d\n" % number for number in range(begin, end))


class Reader(threading.Thread):
    """Reads what a command prints, from server to server: where one breaks off, the next one goes on at that offset."""

    def __init__(self, servers, key, path):
        super().__init__()
        self.servers, self.key, self.path = servers, key, path
        self.data, self.cuts, self.failure = bytearray(), 0, None
        self.start()

    def run(self):
        try:
            for server in self.servers:
                if self.read_from(server):
                    return
                self.cuts += 1
            self.failure = "it was cut through the last server, too"
        except BaseException as error:
            self.failure = error

    def read_from(self, server):
        """False: it broke off."""
        path = f"{self.path}/output?stream=stdout&follow=true&from={len(self.data)}"
        try:
            with Stream(opened(server, self.key, "GET", path, {"Accept": "application/octet-stream"})) as stream:
                assert stream.status == 200, stream.read()
                for piece in stream.chunks():
                    self.data += piece
            return True
        except CUT:
            return False


def test_streams_go_on_at_their_offsets_through_the_other_process(serving, servers, key):
    # Numbers that are printed, then a line is waited for; each command takes one from the pipe. All of it is within what
    # the agent keeps of output in memory: nobody reads while the one process is gone.
    part = 400_000 // STREAMS
    first, second = servers
    sandbox = made(first, key)
    root = pathlib.Path(serving.skiff.root(sandbox))
    gates = []
    for name in "one", "two":
        os.mkfifo(root / name)
        gates.append(os.open(root / name, os.O_RDWR))
    readers, wanted = [], []
    try:
        for number in range(STREAMS):
            at = 1_000_000 * (number + 1)
            script = (f"seq {at} {at + part - 1}; read _ < one; seq {at + part} {at + 2 * part - 1}; read _ < two; "
                      f"seq {at + 2 * part} {at + 3 * part - 1}")
            answer = first.request("POST", f"/s/{sandbox}/7070/{COMMANDS}", {"command": script, "mode": "background"}, key)
            assert answer.status == 202, answer.body
            path = f"/s/{sandbox}/7070/{COMMANDS}/{answer.json()['id']}"
            readers.append(Reader(servers, key, path))
            wanted.append(hashlib.sha256(numbers(at, at + 3 * part)).hexdigest())
        until(lambda: all(len(reader.data) > 0 for reader in readers), 60, "every stream has begun")
        # The second part is on its way when the process ends; the third is printed when nobody listens through it.
        os.write(gates[0], b"\n" * STREAMS)
        first.kill()
        os.write(gates[1], b"\n" * STREAMS)
        for reader in readers:
            reader.join(60)
    finally:
        for gate in gates:
            os.write(gate, b"\n" * 2 * STREAMS)
            os.close(gate)
        for reader in readers:
            reader.join(60)
    assert [reader.failure for reader in readers] == [None] * STREAMS
    assert [reader.cuts for reader in readers] == [1] * STREAMS
    assert [hashlib.sha256(reader.data).hexdigest() for reader in readers] == wanted


def test_an_upload_is_whole_or_absent_and_asked_again_whole(serving, servers, key):
    first, second = servers
    sandbox = made(first, key)
    bodies = {f"file-{number}": hashlib.sha256(b"%d" % number).digest() * 65_536 for number in range(8)}
    replaced = "file-0"
    assert first.request("PUT", f"/s/{sandbox}/7070/{FILES}/{replaced}", b"before", key).status == 201
    open_ones = []
    for number, (name, body) in enumerate(bodies.items()):
        sock = opened(first, key, "PUT", f"/s/{sandbox}/7070/{FILES}/{name}", {"Content-Length": len(body)})
        # Half of them lack a half, the others lack nothing but their answer.
        sock.sendall(body if number % 2 else body[:len(body) // 2])
        open_ones.append(sock)
    first.kill()
    for sock in open_ones:
        sock.close()
    names = sorted(bodies)

    def there():
        return sorted(os.listdir(serving.skiff.root(sandbox)))

    # The agent ends what is cut when it sees the end of the connection; nothing half written is ever under a name.
    until(lambda: set(there()) <= set(names), what="nothing of a cut upload stays beside the files")
    for number, name in enumerate(names):
        now = second.request("GET", f"/s/{sandbox}/7070/{FILES}/{name}", key=key)
        old = (200, b"before") if name == replaced else (404, None)
        assert (now.status, now.body) == (200, bodies[name]) or (now.status, now.body if old[1] else None) == old, name
        if number % 2 == 0:
            assert now.body != bodies[name], name
        again = second.request("PUT", f"/s/{sandbox}/7070/{FILES}/{name}", bodies[name], key)
        assert again.status == (200 if now.status == 200 else 201), again.body
    for name in names:
        assert second.request("GET", f"/s/{sandbox}/7070/{FILES}/{name}", key=key).body == bodies[name]
    assert there() == names


def half_made(serving):
    """The records of the sandboxes on this machine, also of those whose creation goes on."""
    records = []
    for name in serving.skiff.names():
        with contextlib.suppress(OSError, ValueError):
            records.append(serving.skiff.record(name))
    return records


MOMENTS = {
    "a directory": lambda serving: serving.skiff.names(),
    "an agent": lambda serving: any(record.get("pid") for record in half_made(serving)),
    "an address": lambda serving: any(record.get("port") or record.get("socket") for record in half_made(serving)),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_creation_that_was_cut_is_asked_again_and_there_once(serving, servers, key, moment):
    first, second = servers
    asked = [f"creation-{number}" for number in range(4)]

    def create(server, name):
        return attempt(server, "POST", "/v1/sandboxes", {"labels": {"name": name}}, key, {"Idempotency-Key": name})

    with concurrent.futures.ThreadPoolExecutor(len(asked)) as pool:
        cut = [pool.submit(create, first, name) for name in asked]
        until(lambda: MOMENTS[moment](serving), 30, moment, every=0)
        first.kill()
        told = [one.result() for one in cut]
        answers = list(pool.map(lambda name: create(second, name), asked))
    assert {answer.status for answer in answers} <= {200, 201}, [answer.body for answer in answers]
    sandboxes = [answer.json() for answer in answers]
    assert [sandbox["state"] for sandbox in sandboxes] == ["running"] * len(asked), sandboxes
    assert [sandbox["labels"]["name"] for sandbox in sandboxes] == asked
    ids = [sandbox["id"] for sandbox in sandboxes]
    for before, after in zip(told, ids):
        assert before is None or before.json()["id"] == after
    assert len(set(ids)) == len(asked) and serving.skiff.names() == sorted(ids)
    for one in ids:
        assert second.request("GET", f"/s/{one}/7070/v1/version", key=key).status == 200
        assert len(agents_of(serving, one)) == 1


def test_remains_of_a_killed_process_without_a_record_block_no_creation(serving, servers, key):
    headers = {"Idempotency-Key": "once"}
    sandbox = made(servers[0], key, headers=headers)
    assert servers[0].request("DELETE", f"/v1/sandboxes/{sandbox}", key=key).status == 204
    (serving.skiff.sandboxes / sandbox / "root").mkdir(parents=True)
    answer = servers[1].request("POST", "/v1/sandboxes", {}, key, headers)
    assert (answer.status, answer.json().get("id")) == (201, sandbox), answer.body
    assert servers[0].request("GET", f"/s/{sandbox}/7070/v1/version", key=key).status == 200
    # No client asks for this one again; the other one has files that somebody may want.
    (serving.skiff.sandboxes / "forgotten" / "root").mkdir(parents=True)
    files = serving.skiff.sandboxes / "with-files"
    (files / "root").mkdir(parents=True)
    (files / "root" / "file").touch()
    listed = servers[0].request("GET", "/v1/sandboxes", key=key).json()["items"]
    assert [one["id"] for one in listed] == [sandbox]
    assert serving.skiff.names() == sorted([sandbox, "with-files"])
    shutil.rmtree(files)


def test_a_sandbox_whose_creation_was_cut_is_listed_and_can_be_removed(serving, servers, key):
    first, second = servers
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        cut = [pool.submit(attempt, first, "POST", "/v1/sandboxes", {}, key) for _ in range(4)]
        until(lambda: MOMENTS["an agent"](serving), 30, "an agent", every=0)
        first.kill()
        concurrent.futures.wait(cut)
        there = serving.skiff.names()
        listed = [one["id"] for one in second.request("GET", "/v1/sandboxes", key=key).json()["items"]]
        # A sweep may have come between.
        assert listed and set(listed) <= set(there)
        third = serving.start()
        cut = [pool.submit(attempt, third, "DELETE", f"/v1/sandboxes/{one}", key=key) for one in listed]
        until(lambda: len(serving.skiff.names()) < len(listed), 30, "one is gone", every=0)
        third.kill()
        concurrent.futures.wait(cut)
    assert {second.request("DELETE", f"/v1/sandboxes/{one}", key=key).status for one in listed} <= {204, 404}
    assert second.request("GET", "/v1/sandboxes", key=key).json()["items"] == []
    assert serving.skiff.names() == [] and not agents(serving)


def test_an_unfinished_sandbox_that_no_client_can_name_is_removed(serving, key):
    """The client has no id of it. A sandbox with an idempotency key or a name is kept for a client that comes back."""
    serving.hold_agents()
    first = serving.start()
    asked = [({}, {}), ({}, {}), ({}, {"Idempotency-Key": "once"}), ({"name": "demo"}, {})]
    with concurrent.futures.ThreadPoolExecutor(len(asked)) as pool:
        cut = [pool.submit(attempt, first, "POST", "/v1/sandboxes", body, key, fields) for body, fields in asked]
        until(lambda: sum(bool(record.get("pid")) for record in half_made(serving)) == len(asked), 30, "all agents")
        first.kill()
        assert [one.result() for one in cut] == [None] * len(asked)
    records = half_made(serving)
    assert all(record["half_made"] for record in records)
    stays = {record["name"] for record in records if record["name"] == "demo" or "serve.creation" in record["labels"]}
    lost = {record["name"] for record in records} - stays
    assert len(stays) == len(lost) == 2
    third = serving.start()  # which looks at once
    until(lambda: set(serving.skiff.names()) == stays, 60, "what is lost has gone")
    for one in lost:
        assert not agents_of(serving, one)
        assert third.request("GET", f"/v1/sandboxes/{one}", key=key).status == 404
    serving.let_agents_go()
    for body, fields in asked[2:]:
        answer = third.request("POST", "/v1/sandboxes", {**body, "get_or_create": True} if body else {}, key, fields)
        assert answer.status in (200, 201) and answer.json()["state"] == "running", answer.body
    assert set(serving.skiff.names()) == stays


def test_a_wake_up_that_was_cut_is_begun_again_and_the_files_are_there(serving, servers, key):
    first, second = servers
    sandboxes = [made(first, key, {"on_end": "stop"}) for _ in range(3)]
    for one in sandboxes:
        assert first.request("PUT", f"/s/{one}/7070/{FILES}/kept", one.encode(), key).status == 201
        assert first.request("POST", f"/v1/sandboxes/{one}/stop", key=key).status == 200

    def read(server, one):
        return attempt(server, "GET", f"/s/{one}/7070/{FILES}/kept", key=key)

    with concurrent.futures.ThreadPoolExecutor(len(sandboxes)) as pool:
        cut = [pool.submit(read, first, one) for one in sandboxes]
        until(lambda: any(record.get("pid") for record in half_made(serving)), 30, "an agent is being started", every=0)
        first.kill()
        for one in cut:
            one.result()
        answers = list(pool.map(lambda one: read(second, one), sandboxes))
    assert [(answer.status, answer.body) for answer in answers] == [(200, one.encode()) for one in sandboxes]
    assert [len(agents_of(serving, one)) for one in sandboxes] == [1] * len(sandboxes)
    assert serving.skiff.names() == sorted(sandboxes)


def test_many_requests_through_both_start_it_once(serving, servers, key):
    sandbox = made(servers[0], key, {"on_end": "stop"})
    assert servers[0].request("POST", f"/v1/sandboxes/{sandbox}/stop", key=key).status == 200
    with concurrent.futures.ThreadPoolExecutor(WAKING) as pool:
        asked = [pool.submit(servers[i % 2].request, "GET", f"/s/{sandbox}/7070/v1/version", key=key) for i in range(WAKING)]
        answers = [one.result() for one in asked]
    assert [answer.status for answer in answers] == [200] * WAKING
    assert len({answer.json()["instance"] for answer in answers}) == 1
    assert len(agents_of(serving, sandbox)) == 1


class Held:
    """Counts the sandboxes that the clients of a key have now: from the answer that reports one to the request that removes it."""

    def __init__(self):
        self.lock, self.now, self.most = threading.Lock(), 0, 0

    def add(self, count):
        with self.lock:
            self.now += count
            self.most = max(self.most, self.now)


def test_a_storm_of_creations_through_both_keeps_the_limit_and_leaves_nothing(serving, servers):
    key = serving.key("few", "--max-sandboxes", LIMIT)
    held = Held()

    def create_and_remove(number):
        server = servers[number % 2]
        answer = server.request("POST", "/v1/sandboxes", {}, key)
        if answer.status == 201:
            held.add(1)
            # The rest of the storm meets it: what has no place is refused before anything is made.
            sandbox = answer.json()["id"]
            assert server.request("GET", f"/s/{sandbox}/7070/v1/version", key=key).status == 200
            held.add(-1)
            assert server.request("DELETE", f"/v1/sandboxes/{sandbox}", key=key).status == 204
        return answer

    with concurrent.futures.ThreadPoolExecutor(CREATIONS) as pool:
        answers = list(pool.map(create_and_remove, range(CREATIONS)))
    assert {answer.status for answer in answers} <= {201, 429}, [answer.body for answer in answers if answer.status != 429]
    for answer in answers:
        if answer.status == 429:
            assert answer.json()["code"] == "too_many_sandboxes" and re.fullmatch("[1-9][0-9]*", answer.headers["Retry-After"])
    assert held.most <= LIMIT
    # No refused sandbox exists, or counts.
    assert serving.skiff.names() == [] and not agents(serving)
    for number in range(LIMIT):
        made(servers[number % 2], key)
    assert [server.request("POST", "/v1/sandboxes", {}, key).status for server in servers] == [429, 429]


def test_starts_at_once_through_both_keep_the_limit(serving, servers):
    key = serving.key("few", "--max-sandboxes", 2)
    sandboxes = []
    for number in range(6):
        sandboxes.append(made(servers[0], key, {"on_end": "stop"}))
        assert servers[0].request("POST", f"/v1/sandboxes/{sandboxes[-1]}/stop", key=key).status == 200

    def start(number):
        # By name, and by a request that would wake it.
        one = sandboxes[number]
        asked = ("POST", f"/v1/sandboxes/{one}/start") if number % 3 else ("GET", f"/s/{one}/7070/v1/version")
        return servers[number % 2].request(*asked, key=key)

    with concurrent.futures.ThreadPoolExecutor(len(sandboxes)) as pool:
        answers = list(pool.map(start, range(len(sandboxes))))
    assert {answer.status for answer in answers} <= {200, 429}, [answer.body for answer in answers]
    assert all("Retry-After" in answer.headers for answer in answers if answer.status == 429)
    running = [one for one in sandboxes if agents_of(serving, one)]
    assert len(running) <= 2 and len(running) == [answer.status for answer in answers].count(200)
    assert serving.skiff.names() == sorted(sandboxes)
