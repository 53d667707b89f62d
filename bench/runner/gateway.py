"""`skiff serve` and nginx before the same agent: the time that each of them adds to a request and to a large file, and the cost of an
idle WebSocket for the former. nginx makes a connection to the agent for each request, as it does unless it is told to keep
some; the gateway keeps some by itself (docs/adr/0024)."""

import contextlib
import copy
import http.client
import json
import resource
import socket
import statistics
import subprocess
from pathlib import Path
from typing import Callable

from .files import Files
from .memory import HANDSHAKE
from .processes import Absent, Failed, Folder, Reached, Server

AGENT_PORT = 7070
SOCKETS = 10_000    # idle WebSockets
REPLICAS = 2        # processes that hold them: each has its own descriptors
SPARE = 200         # descriptors beside those of the sockets
FEW = 100           # sockets of each before the measurement
A_SANDBOX = 1000    # sockets of each: below the limit of its agent
PATIENCE = 60
LEASE_MS = 3_600_000  # also if the runner is killed
FILES = 65_536      # limit of open files of a process, where root may raise it


@contextlib.contextmanager
def many_files():
    """Raises the limit of open files for this process and its children; at most to the hard limit without the right to raise that."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(FILES, before[1]),) * 2)
    except (OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (before[1],) * 2)
    try:
        yield resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


class Serve(Server):
    """One process of `skiff serve`, with the local driver."""

    def __init__(self, folder: Folder, home: Path, key: str):
        self.home, self.key = home, key
        super().__init__(folder, "serve")
        self.token = key

    def command(self) -> list[str]:
        return [*skiff(self.folder, self.home), "serve", "--driver", "local", "--listen", "127.0.0.1:0"]

    def ask(self, method: str, path: str, body: dict | None = None) -> dict:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            fields = {"X-API-Key": self.key, "Content-Type": "application/json"}
            connection.request(method, path, json.dumps(body) if body is not None else None, fields)
            answer = connection.getresponse()
            text = answer.read()
            if answer.status >= 300:
                raise Failed(f"{method} {path}: {answer.status} {text[:300].decode(errors='replace')}")
            return json.loads(text)
        finally:
            connection.close()

    def make_sandbox(self) -> str:
        return self.ask("POST", "/v1/sandboxes", {"ttl_ms": LEASE_MS})["id"]


class Crowd:
    """The clients' ends of many WebSockets."""

    def __init__(self):
        self.all: list[socket.socket] = []

    def alive(self) -> int:
        """Returns their number; fails unless all are open."""
        for one in self.all:
            with contextlib.suppress(BlockingIOError):
                if not one.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT):
                    raise Failed("a WebSocket was closed while the others were opened")
        return len(self.all)

    def close(self):
        for one in self.all:
            one.close()


class Proxy(Server):
    """nginx before a port."""

    def __init__(self, folder: Folder, behind: int):
        self.behind = behind
        super().__init__(folder, "nginx")

    def locations(self) -> str:
        # By default nginx closes a connection after 1,000 requests.
        return (f"keepalive_requests 1000000000; location / {{ proxy_pass http://127.0.0.1:{self.behind}; proxy_http_version 1.1;\n"
                "proxy_buffering off; proxy_request_buffering off; }")


def skiff(folder: Folder, home: Path) -> list[str]:
    program = folder.skiffd.parent / "skiff"
    if not program.exists():
        raise Absent("skiff is not built")
    return ["/usr/bin/env", f"XDG_STATE_HOME={home}", str(program)]


class Gateway:
    """Started at the first use."""

    def __init__(self, folder: Folder, size: int, seconds: float, turns: int):
        self.folder, self.size, self.seconds, self.turns = folder, size, seconds, turns
        self.home = folder.files / "gateway"
        self.serve: Serve | None = None
        self.doors: dict[str, Reached] = {}
        self.files: Files | None = None
        self.crowd: list[str] = []  # sandboxes that many sockets lead to

    def close(self):
        proxy = self.doors.get("nginx")
        if isinstance(proxy, Server):
            proxy.stop()
        if self.serve is not None:
            self.serve.stop()
            self._run("rm", "--driver", "local", "--all", "--everyone", "-q")

    def _run(self, *arguments: str) -> str:
        done = subprocess.run([*skiff(self.folder, self.home), *arguments], capture_output=True, text=True, timeout=PATIENCE,
                              stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise Failed(f"skiff {arguments[0]}: {done.stderr.strip()[-300:]}")
        return done.stdout.strip()

    def _begin(self):
        if self.doors:
            return
        self.home.mkdir(exist_ok=True)
        if self.serve is None:
            self.serve = Serve(self.folder, self.home, self._run("key", "create", "bench", "--driver", "local"))
        sandbox = self.serve.make_sandbox()
        described = json.loads(self._run("describe", sandbox, "--driver", "local", "-o", "json"))
        agent = Reached(self.folder, "agent", int(described["address"].rpartition(":")[2]))
        grant = {"scopes": ["read", "exec"], "ttl_ms": LEASE_MS}
        agent.token = self.serve.ask("POST", f"/v1/sandboxes/{sandbox}/tokens", grant)["token"]
        self.serve.prefix = f"/s/{sandbox}/{AGENT_PORT}"
        inside = copy.copy(self.folder)  # the same programs, and the directory of the sandbox
        inside.files = Path(described["details"]["folder"])
        self.files = Files(inside, self.size)
        self.doors = {"agent": agent, "gateway": self.serve}

    def _door(self, kind: str) -> Reached:
        self._begin()
        if kind == "nginx" and kind not in self.doors:
            agent = self.doors["agent"]
            proxy = self.doors[kind] = Proxy(self.folder, agent.port)
            proxy.token = agent.token
        return self.doors[kind]

    def request(self, kind: str) -> dict:
        """Measures requests directly to the agent and through `kind`, one after the other."""
        took = {}
        for name in ("agent", kind):
            took[name] = self._door(name).load("requests", path="/healthz", clients=1, seconds=self.seconds)
        return took[kind] | {"added_us": took[kind]["p50_us"] - took["agent"]["p50_us"]}

    def download(self, kind: str) -> dict:
        return self._in_turns(kind, lambda door: self.files.download(door))

    def upload(self, kind: str) -> dict:
        return self._in_turns(kind, lambda door: self.files.upload(door))

    def _in_turns(self, kind: str, transfer: Callable[[Reached], dict]) -> dict:
        """Alternates transfers directly to the agent and through `kind`: each takes a tenth of a second, and the alternation removes
        the effect of other work on the machine."""
        rates = {"agent": [], kind: []}
        for turn in range(self.turns):
            for name in rates if turn % 2 == 0 else reversed(rates):
                rates[name].append(transfer(self._door(name))["mb_per_s"])
        return {"mb_per_s": statistics.median(rates[kind]), "agent_mb_per_s": statistics.median(rates["agent"])}

    def websockets(self) -> dict:
        """Idle WebSockets through replicas without other work, a share through each: a replica has two descriptors for one, to the
        client and to the agent."""
        self._begin()
        with many_files() as files:
            # This process holds one end of each of them, too.
            if max(SOCKETS, 2 * SOCKETS // REPLICAS) + SPARE > files:
                raise Absent(f"the hard limit of open files leaves no room for {SOCKETS:,} WebSockets")
            with contextlib.ExitStack() as stack:
                servers = [stack.enter_context(Serve(self.folder, self.home, self.serve.key)) for _ in range(REPLICAS)]
                opened = stack.enter_context(contextlib.closing(Crowd()))
                return self._websockets(servers, opened)

    def _websockets(self, servers: list[Serve], opened: "Crowd") -> dict:
        share, grown = SOCKETS // REPLICAS, 0
        for server in servers:
            for number in range(share):
                at = len(opened.all) // A_SANDBOX
                if at == len(self.crowd):
                    self.crowd.append(server.make_sandbox())
                opened.all.append(self._open(server, f"/s/{self.crowd[at]}/{AGENT_PORT}"))
                if number + 1 == FEW:
                    grown -= server.rss_bytes()
        grown += sum(server.rss_bytes() for server in servers)
        return {"kib_each": grown / 1024 / (REPLICAS * (share - FEW)), "sockets": opened.alive()}

    @staticmethod
    def _open(server: Serve, place: str) -> socket.socket:
        one = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
        handshake = HANDSHAKE.replace("/v1/connect", place + "/v1/connect").format(port=server.port, token=server.token)
        one.sendall(handshake.encode())
        answer = one.recv(4096)
        if not answer.startswith(b"HTTP/1.1 101 "):
            one.close()
            raise Failed("WebSocket handshake: " + answer[:300].decode(errors="replace"))
        return one
