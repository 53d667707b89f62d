"""All kinds of work at the same time for minutes: no growth of memory, descriptors, threads or files; health within its limit; every byte correct."""

import http.client
import json
import os
import random
import socket
import threading
import time
from pathlib import Path

from .processes import Failed, Folder, Server

COMMANDS = "/v1/sessions/default/commands"
HEALTH_BOUND_MS = 200
LANES = 3      # threads of each kind of work
SETTLE = 0.25  # share of the time before growth is measured
MOST_GROWTH = 12 << 20
KEPT = 1 << 17  # bytes of each log, so that all logs fit into the budget of memory
BLOCK = bytes(range(256)) * 4096


class Client:
    """A keep-alive connection that reconnects when it was cut."""

    def __init__(self, server: Server):
        self.server = server
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)

    def __call__(self, method: str, path: str, body: bytes | dict | None = None, **headers: str) -> tuple[int, bytes]:
        headers["Authorization"] = "Bearer " + self.server.token
        if isinstance(body, dict):
            body = json.dumps(body)
            headers["Content-Type"] = "application/json"
        self.connection.request(method, path, body, headers)
        response = self.connection.getresponse()
        return response.status, response.read()


def wanted(answer: tuple[int, bytes], *statuses: int) -> bytes:
    if answer[0] not in statuses:
        raise Failed(f"status {answer[0]}: {answer[1][:300]!r}")
    return answer[1]


def equal(got: object, expected: object, what: str):
    if got != expected:
        raise Failed(f"{what}: {str(got)[:200]} is not {str(expected)[:200]}")


def run_commands(client: Client, chance: random.Random, folder: Folder):
    number = chance.randrange(1 << 30)
    result = json.loads(wanted(client("POST", COMMANDS, {"command": f"echo {number}; echo err >&2; exit {number % 100}"}), 200))
    equal((result["stdout"], result["stderr"], result["exit_code"]), (f"{number}\n", "err\n", number % 100), "a command")


def run_streams(client: Client, chance: random.Random, folder: Folder):
    size = chance.randrange(1, 4 << 20)
    body = {"argv": ["/usr/bin/head", "-c", str(size), "/dev/zero"], "mode": "stream", "output": {"keep_bytes": KEPT}}
    equal(wanted(client("POST", COMMANDS, body, Accept="application/octet-stream"), 200), bytes(size), "a stream")


def run_uploads(client: Client, chance: random.Random, folder: Folder):
    at, size = chance.randrange(1 << 16), chance.randrange(1, 900_000)
    content, path = BLOCK[at:at + size], f"/v1/sessions/default/files/soak-{chance.randrange(1 << 40)}"
    wanted(client("PUT", path, content), 200, 201)
    equal(wanted(client("GET", path), 200), content, "a file")
    wanted(client("DELETE", path), 204)


def run_kills(client: Client, chance: random.Random, folder: Folder):
    body = {"command": "sleep 300 & (setsid sleep 300 &); sleep 300", "mode": "background"}
    started = json.loads(wanted(client("POST", COMMANDS, body), 202))
    if chance.random() < 0.5:
        wanted(client("POST", f"{COMMANDS}/{started['id']}/signal", {"signal": "KILL"}), 204)
    wanted(client("DELETE", f"{COMMANDS}/{started['id']}"), 204)


def run_stalls(client: Client, chance: random.Random, folder: Folder):
    """Reads nothing for a while, then all: a stream that started its command loses no byte."""
    size = 6 << 20
    body = json.dumps({"argv": [folder.program("writer"), "bytes", str(size)], "mode": "stream", "output": {"keep_bytes": KEPT}})
    with socket.create_connection(("127.0.0.1", client.server.port), timeout=60) as one:
        one.sendall((f"POST {COMMANDS} HTTP/1.0\r\nHost: 127.0.0.1:{client.server.port}\r\nAuthorization: Bearer {client.server.token}\r\n"
                     f"Accept: application/octet-stream\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode())
        time.sleep(chance.uniform(0.05, 0.8))
        got = b"".join(iter(lambda: one.recv(1 << 18), b""))
    equal(len(got.partition(b"\r\n\r\n")[2]), size, "a stalled stream's length")


def run_reconnects(client: Client, chance: random.Random, folder: Folder):
    """Reads the output in pieces, each by a connection of its own, cut at any place."""
    last = chance.randrange(1, 100_000)
    expected = "".join(f"{number}\n" for number in range(1, last + 1)).encode()
    body = {"argv": ["/usr/bin/seq", str(last)], "mode": "background"}
    started = json.loads(wanted(client("POST", COMMANDS, body), 202))
    path, got = f"{COMMANDS}/{started['id']}/output", b""
    wanted(client("GET", f"{COMMANDS}/{started['id']}?wait_ms=60000"), 200)
    while len(got) < len(expected):
        other = Client(client.server)
        piece = wanted(other("GET", f"{path}?from={len(got)}&limit_bytes={chance.randrange(1, 400_000)}", Accept="application/octet-stream"), 200)
        other.connection.close()
        if not piece:
            raise Failed(f"the log ended at {len(got)} of {len(expected)}")
        got += piece
    equal(got == expected, True, "a log in pieces")
    wanted(client("DELETE", f"{COMMANDS}/{started['id']}"), 204)


WORK = (run_commands, run_streams, run_uploads, run_kills, run_stalls, run_reconnects)


def usage(server: Server) -> dict:
    base = Path(f"/proc/{server.process.pid}")
    return {"rss": server.rss_bytes(), "files": len(os.listdir(base / "fd")), "threads": len(os.listdir(base / "task"))}


def soak(folder: Folder, seconds: float, quiet: bool) -> dict:
    """`quiet`: no other process uses the machine, so the response time is that of the agent."""
    done = {work.__name__.removeprefix("run_"): 0 for work in WORK}
    failures, health, stop = [], [], threading.Event()
    before = set(os.listdir(folder.files))
    with Server(folder, "skiff", "--max-ended-commands", "200") as server:
        def lane(work, seed):
            client, chance = Client(server), random.Random(seed)
            while not stop.is_set() and not failures:
                try:
                    work(client, chance, folder)
                    done[work.__name__.removeprefix("run_")] += 1
                except (Failed, OSError, http.client.HTTPException, ValueError) as error:
                    failures.append(f"{work.__name__}: {error!r}")

        def ask():
            """Asks by the compiled client, because this program's threads delay each other."""
            while not stop.is_set() and not failures:
                try:
                    health.append(server.load("requests", path="/healthz", seconds=min(10, seconds / 4), pause_us=20_000))
                except Failed as error:
                    failures.append(f"health: {error!r}")

        threads = [threading.Thread(target=lane, args=(work, number)) for number in range(LANES) for work in WORK]
        threads.append(threading.Thread(target=ask))
        for one in threads:
            one.start()
        samples, end = [usage(server)], time.monotonic() + seconds
        while time.monotonic() < end and not failures:
            time.sleep(min(2.0, seconds / 20))
            samples.append(usage(server))
        stop.set()
        for one in threads:
            one.join()
        settled = samples[int(len(samples) * SETTLE):] or samples
        early, late = settled[:max(1, len(settled) // 4)], settled[-max(1, len(settled) // 4):]
        growth = {what: max(one[what] for one in late) - max(one[what] for one in early) for what in ("rss", "files", "threads")}
        result = {"seconds": seconds, "done": done, "failures": failures[:5], "growth": growth, "last": samples[-1],
                  "health_p99_ms": max((one["p99_us"] for one in health), default=0) / 1000,
                  "health_max_ms": max((one["max_us"] for one in health), default=0) / 1000}
        limit = time.monotonic() + 20
        while (left := _children(server)) and time.monotonic() < limit:
            time.sleep(0.1)
        result["processes_left"] = len(left)
    result["health_judged"] = quiet
    result["files_left"] = sorted(set(os.listdir(folder.files)) - before)
    result["passed"] = not failures and not left and not result["files_left"] and growth["rss"] < MOST_GROWTH and \
        growth["threads"] <= 2 and growth["files"] <= 60 and (result["health_max_ms"] < HEALTH_BOUND_MS or not quiet)
    return result


def _children(server: Server) -> list[str]:
    found = []
    for task in Path(f"/proc/{server.process.pid}/task").iterdir():
        for pid in (task / "children").read_text().split():
            try:
                found.append(Path(f"/proc/{pid}/comm").read_text().strip())
            except OSError:
                continue
    return found
