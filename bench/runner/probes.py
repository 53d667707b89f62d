"""The probes by name, in groups. Each returns a dictionary of figures per round."""

import functools
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from . import compiling, dialects, memory
from .boxes import Boxes
from .bursts import Bursts
from .files import ROUTE, WRITERS, Files
from .gateway import Gateway
from .launcher import Launcher
from .processes import Failed, Folder, Server, run_tool
from .readers import readers
from .sandboxes import Sandboxes
from .search import Search
from .syscalls import counted
from .tunnels import Tunnels

LINES = 1_000_000
LINE_BYTES = 13
MEGABYTE = 1024 * 1024
PAUSE_US = 8000


@dataclass
class Effort:
    """The amount of work; `QUICK` is for a short look, `FULL` for figures that are kept."""
    seconds: float       # a measurement of many requests
    spawn_seconds: float
    bulk_bytes: int
    first_bytes: int     # commands for the time to the first byte
    starts: int
    flood_seconds: float
    tree_files: int
    read_bytes: int      # of one command's output, for each of many readers
    sandboxes: int       # created by one launcher
    turns: int           # transfers of a large file, each through the gateway and around it
    pool: int            # sandboxes that wait, and are taken at once
    large_pool: int      # those of the bursts
    tunnels: int         # idle ones through a proxy
    tunnel_turns: int    # transfers through each proxy

    @property
    def files_bytes(self) -> int:
        """The largest space for the measurements of files: a large file three times and twice more by the launcher, a page or more for
        each file in the trees, and a quarter of a large file twice through the gateway."""
        return 6 * self.bulk_bytes + 8192 * self.tree_files


FULL = Effort(1.0, 1.0, 1024 * MEGABYTE, 300, 25, 3.0, 100_000, 4 * MEGABYTE, 1000, 5, 50, 100, 4000, 4)
QUICK = Effort(0.3, 0.3, 256 * MEGABYTE, 60, 8, 1.0, 20_000, 2 * MEGABYTE, 50, 1, 10, 20, 400, 1)


class Bench:
    """The servers of the whole run, and the requests to them."""

    def __init__(self, folder: Folder, effort: Effort):
        self.folder = folder
        self.effort = effort
        self.servers: dict[str, Server] = {}
        self.files = Files(folder, effort.bulk_bytes)
        self.search = Search(folder, effort.tree_files)
        self.sandboxes = Sandboxes(folder, effort.sandboxes)
        self.bursts = Bursts(folder, effort.pool)
        self.large_bursts = Bursts(folder, effort.large_pool)
        self.gateway = Gateway(folder, effort.bulk_bytes // 4, effort.seconds, effort.turns)
        self.tunnels = Tunnels(folder, effort.bulk_bytes // 2, effort.tunnel_turns, effort.tunnels, effort.starts * 10)
        self.launcher = Launcher(folder, effort.bulk_bytes, effort.tree_files // 5, 2 * effort.starts)

    def server(self, kind: str) -> Server:
        server = self.servers.get(kind)
        if server is not None and server.process.poll() is not None:
            self.servers.pop(kind).stop()
            raise Failed(f"{kind} ended with status {server.process.returncode}")
        if server is None:
            server = self.servers[kind] = Server(self.folder, kind.partition(" ")[0], *kind.split()[1:])
        return server

    def close(self):
        for server in self.servers.values():
            server.stop()
        self.gateway.close()
        self.tunnels.close()
        self.launcher.close()
        self.sandboxes.close()
        self.bursts.close()
        self.large_bursts.close()

    def tool(self, *arguments: object) -> dict:
        return run_tool(self.folder, *arguments)

    def requests(self, kind: str, clients: int, command: dict | None) -> dict:
        options = dict(clients=clients, seconds=self.effort.seconds)
        if command is None:
            return self.server(kind).load("requests", path="/healthz", **options)
        return self.server(kind).load("requests", body=compact(command), expect='"exit_code":0', **options)

    def shell(self, path: str, stateful: bool, kind: str = "skiff", **options: object) -> dict:
        """Runs `true` by the shell at `path`, in a session of its own."""
        session = f"/v1/sessions/bench-{Path(path).name}-{'stateful' if stateful else 'plain'}"
        server = self.server(kind)
        client = memory.Client(server)
        client.send("PUT", session, {"shell": {"path": path, "stateful": stateful}}, 200, 201)
        client.close()
        return server.load("requests", path=session + "/commands", body=compact({"command": "true"}),
                           expect='"state_saved":"saved"' if stateful else '"exit_code":0', seconds=self.effort.seconds, **options)

    def syscalls(self, kind: str, work: Callable, unit: str, scale: float = 1, **options: object) -> dict:
        server = self.server(kind)
        return counted(self.folder, server, lambda under: work(server, under=under, **options), unit, scale)

    def first_byte(self, kind: str, command: dict) -> dict:
        body = compact(command | {"mode": "stream"})
        return self.server(kind).load("first-byte", body=body, expect="hi", count=self.effort.first_bytes)

    def bulk(self, kind: str, form: str, pattern: str, argv: list[str], size: int) -> dict:
        server = self.server(kind)
        options = dict(form=form, pattern=pattern, bytes=size)
        if form.startswith("ws"):
            return server.load("bulk", command=" ".join(argv), **options)
        return server.load("bulk", body=compact({"argv": argv, "mode": "stream"}), **options)

    def flood(self, kind: str, background: bool) -> dict:
        """Uses a server of its own, so that its commands end with it."""
        body = {"argv": [self.folder.program("writer"), "flood"], "mode": "background" if background else "stream"}
        if not background:
            body["on_disconnect"] = "kill"
        with Server(self.folder, kind) as server:
            return server.load("flood", clients=64, seconds=self.effort.flood_seconds, background=int(background),
                               body=compact(body))

    def size(self) -> dict:
        path = self.folder.server_command("skiff")[0]
        with open(path, "rb") as file:
            head = file.read(4096)
        programs = int.from_bytes(head[32:40], "little")
        each, count = int.from_bytes(head[54:56], "little"), int.from_bytes(head[56:58], "little")
        kinds = [int.from_bytes(head[programs + i * each:programs + i * each + 4], "little") for i in range(count)]
        if 3 in kinds:  # PT_INTERP
            raise Failed("skiffd is dynamically linked: not the release build")
        return {"mb": os.stat(path).st_size / 1e6}


def compact(value: dict) -> str:
    return json.dumps(value, separators=(",", ":"))


def probes(bench: Bench) -> dict[str, dict[str, Callable[[], dict]]]:
    """Group -> name -> probe. A name that begins with `skiff.` needs skiffd."""
    folder, effort, at = bench.folder, bench.effort, functools.partial
    tiny, writer = str(folder.programs / "tiny"), str(folder.programs / "writer")
    shell = {"command": "true"}
    sh_true = ("--", "/bin/sh", "-c", "true")
    groups: dict[str, dict[str, Callable[[], dict]]] = {}

    seconds = ("--seconds", effort.spawn_seconds)
    call = at(bench.tool, "spawn_call", *seconds)
    groups["spawn"] = {
        "bare.call": at(bench.tool, "bare_spawn", "--method", "clone", *seconds, "--", tiny),
        "skiff.call": at(call, "--", tiny),
        "skiff.call.heap": at(call, "--heap-mb", 500, "--", tiny),
        "skiff.call.files": at(call, "--files", 10_000, "--", tiny),
        "skiff.call.no-clone3": at(call, "--without-clone3", 1, "--", tiny),
    }

    wait = groups["wait"] = {
        "floor.spawn": at(bench.tool, "bare_spawn", *seconds, *sh_true),
        "floor.spawn.2": at(bench.tool, "bare_spawn", "--threads", 2, *seconds, *sh_true),
    }
    for kind in ("bare", "skiff"):
        for clients in (1, 8, 32):
            wait[f"{kind}.wait.{clients}"] = at(bench.requests, kind, clients, shell)
            if kind == "bare" and clients > 1:
                wait[f"bare.sessions.{clients}"] = at(bench.requests, "bare --sessions", clients, shell)
            wait[f"{kind}.tiny.{clients}"] = at(bench.requests, kind, clients, {"argv": [tiny]})

    state = groups["state"] = {}
    for name, path in (("sh", "/bin/sh"), ("bash", "/bin/bash")):
        state[f"floor.spawn.{name}"] = at(bench.tool, "bare_spawn", *seconds, "--", path, "-c", "true")
        state[f"skiff.plain.{name}"] = at(bench.shell, path, False)
        state[f"skiff.state.{name}"] = at(bench.shell, path, True)

    # One command at a time, with a pause before each, like people and agents.
    paced = groups["paced"] = {}
    pause = {"pause_us": PAUSE_US}
    for name, path in (("sh", "/bin/sh"), ("bash", "/bin/bash")):
        paced[f"floor.paced.{name}"] = at(bench.tool, "bare_spawn", "--pause-us", PAUSE_US, *seconds, "--", path, "-c", "true")
        for how, stateful in (("plain", False), ("state", True)):
            paced[f"skiff.paced.{how}.{name}"] = at(bench.shell, path, stateful, **pause)

    stream = groups["stream"] = {}
    for kind in ("bare", "skiff"):
        stream[f"{kind}.first.tiny"] = at(bench.first_byte, kind, {"argv": [tiny, "hi"]})
        stream[f"{kind}.first.sh"] = at(bench.first_byte, kind, {"command": "echo hi"})

    size = effort.bulk_bytes
    by_writer = [writer, "bytes", str(size)]
    by_head = ["/usr/bin/head", "-c", str(size), "/dev/zero"]
    big = ("--pipe-bytes", MEGABYTE)
    bulk = groups["bulk"] = {
        "floor.pipe.writer": at(bench.tool, "bare_pipe", *big, "--", *by_writer),
        "floor.pipe.head": at(bench.tool, "bare_pipe", "--", *by_head),
        "bare.octet.writer": at(bench.bulk, "bare", "octet", "bytes", by_writer, size),
        "bare.octet.head": at(bench.bulk, "bare", "octet", "zero", by_head, size),
    }
    for form in ("octet", "ws-binary"):
        bulk[f"skiff.{form}.writer"] = at(bench.bulk, "skiff", form, "bytes", by_writer, size)
        bulk[f"skiff.{form}.head"] = at(bench.bulk, "skiff", form, "zero", by_head, size)
    for form in ("ndjson", "ws-json"):
        for pattern in ("bytes", "text"):
            bulk[f"skiff.{form}.{pattern}"] = at(bench.bulk, "skiff", form, pattern, [writer, pattern, str(size)], size)

    lines = groups["lines"] = {}
    for how in ("lines", "each"):
        argv = [writer, how, str(LINES)]
        lines[f"floor.cat.{how}"] = at(bench.tool, "bare_pipe", "--cat", 1, "--", *argv)
        lines[f"bare.octet.{how}"] = at(bench.bulk, "bare", "octet", "lines", argv, LINES * LINE_BYTES)
        for form in ("octet", "ndjson"):
            lines[f"skiff.{form}.{how}"] = at(bench.bulk, "skiff", form, "lines", argv, LINES * LINE_BYTES)

    def spoken(mode: str, door: str | None = None, **options: object) -> dict:
        return bench.server(dialects.SERVER).load(mode, door=door, **options)

    python, rest, grpc = "python-runtime HTTP", "sandboxd REST", "sandboxd gRPC"
    large = functools.partial(spoken, "download", bytes=size)
    execute = {"seconds": effort.seconds, "expect": '"exit_code":0', "body": compact(shell)}
    groups["dialects"] = {
        "skiff.native.wait": at(spoken, "requests", **execute),
        "skiff.python.execute": at(spoken, "requests", python, path="/execute", **execute),
        "skiff.sandboxd.execute": at(spoken, "calls", grpc, command="/bin/sh -c true", seconds=effort.seconds),
        "skiff.native.download": lambda: large(path=f"{ROUTE}/{bench.files.large.name}"),
        "skiff.python.download": lambda: large(door=python, path=f"/download/{bench.files.large.name}"),
        "skiff.sandboxd.download": lambda: large(door=rest, path=f"/v1/files/{bench.files.large.name}"),
        "skiff.e2b.download": lambda: large(door=dialects.E2B, path=f"/files?path={bench.files.large}"),
        "skiff.native.upload": lambda: bench.files.upload(bench.server(dialects.SERVER)),
        "skiff.e2b.upload": lambda: bench.files.upload(bench.server(dialects.SERVER), route="/files?path={0}", method="POST",
                                                       door=dialects.E2B),
        "skiff.native.stream": at(spoken, "bulk", form="octet", pattern="bytes", bytes=size,
                                  body=compact({"argv": by_writer, "mode": "stream"})),
        "skiff.sandboxd.stream": at(spoken, "bulk", grpc, form="grpc", pattern="bytes", bytes=size, command=" ".join(by_writer)),
    }

    def by_dialect(way: Callable, clients: int) -> dict:
        return way(bench.server(dialects.SERVER), clients=clients, seconds=effort.seconds)

    groups["dialects"] |= {f"skiff.{name}.{clients}": at(by_dialect, way, clients)
                          for name, way in dialects.WAYS.items() for clients in dialects.CLIENTS}

    groups["http"] = {f"{kind}.health.{clients}": at(bench.requests, kind, clients, None)
                      for kind in ("bare", "skiff") for clients in (1, 64)}

    files = bench.files

    def transfer(how: Callable, kind: str) -> dict:
        return how(bench.server(kind))

    def requests(how: Callable, kind: str, **options: object) -> dict:
        return how(bench.server(kind), seconds=effort.seconds, **options)

    def to_port(mode: str, path: str, **options: object) -> dict:
        """Measures requests through skiffd to the port of the bare server."""
        return bench.server("skiff").load(mode, path=f"/v1/ports/{bench.server('bare').port}{path}", **options)

    groups["ports"] = {
        "bare.port": at(bench.requests, "bare", 1, None),
        "skiff.port": at(to_port, "requests", "/healthz", clients=1, seconds=effort.seconds),
        "bare.port.download": at(transfer, files.download, "bare"),
        "skiff.port.download": at(to_port, "download", f"{ROUTE}/{files.large.name}", bytes=files.size),
    }
    gateway = bench.gateway
    groups["gateway"] = {
        "nginx.gateway": at(gateway.request, "nginx"),
        "skiff.gateway": at(gateway.request, "gateway"),
        "skiff.gateway.sockets": at(gateway.websockets),
    }
    for name, kind in (("nginx.gateway", "nginx"), ("skiff.gateway", "gateway")):
        groups["gateway"][f"{name}.download"] = at(gateway.download, kind)
        groups["gateway"][f"{name}.upload"] = at(gateway.upload, kind)
    tunnels = bench.tunnels
    groups["egress"] = {f"skiff.egress.{form}.{way}": at(tunnels.carry, form, way) for form in ("box", "pods") for way in ("down", "up")}
    groups["egress"] |= {f"skiff.egress.{form}.short": at(tunnels.short_ones, form) for form in ("box", "pods")}
    for form in ("secret", "judged"):
        groups["egress"] |= {f"skiff.egress.{form}.down": at(tunnels.carry, form, "down"), f"skiff.egress.{form}.requests": at(tunnels.short_ones, form)}
    groups["egress"] |= {"skiff.egress.idle": at(tunnels.idle_ones, "pods"), "nginx.egress.idle": at(tunnels.idle_ones, "nginx 16k")}
    groups["transfer"] = {"floor.dd.read": at(files.copy, False), "floor.dd.copy": at(files.copy, True)}
    groups["files"] = {"skiff.path": at(files.check_path, effort.spawn_seconds)}
    for kind in ("bare", "nginx", "skiff"):
        groups["transfer"][f"{kind}.download"] = at(transfer, files.download, kind)
        groups["transfer"][f"{kind}.upload"] = at(transfer, files.upload, kind)
    for kind in ("bare", "skiff"):
        groups["files"][f"{kind}.list"] = at(requests, files.list, kind)
        groups["files"][f"{kind}.list.8"] = at(requests, files.list, kind, clients=8)
        groups["files"][f"{kind}.put"] = at(requests, files.put_small, kind, clients=WRITERS)

    def search(what: str) -> dict:
        return bench.search.skiff(what, bench.server("skiff"))

    groups["search"] = {}
    for what in ("glob", "grep"):
        groups["search"][f"rg.{what}"] = at(bench.search.ripgrep, what)
        groups["search"][f"skiff.{what}"] = at(search, what)

    many = groups["readers"] = {}
    for count in (1, 1000):
        many[f"skiff.readers.{count}"] = at(readers, folder, "octet", count, "bytes", effort.read_bytes)
    many["skiff.sockets"] = at(readers, folder, "ws-json", 10_000, "text", 256)

    groups["flood"] = {
        "bare.flood": at(bench.flood, "bare", False),
        "skiff.flood": at(bench.flood, "skiff", False),
        "skiff.flood.background": at(bench.flood, "skiff", True),
    }

    groups["memory"] = {
        "bare.idle": at(memory.idle, folder, "bare"),
        "skiff.idle": at(memory.idle, folder, "skiff"),
        "skiff.sessions": at(memory.sessions, folder),
        "skiff.websockets": at(memory.websockets, folder),
        "bare.live": at(memory.live_commands, folder, "bare"),
        "skiff.live": at(memory.live_commands, folder, "skiff"),
    }

    def start(kind: str) -> dict:
        return bench.tool("start_time", "--rounds", effort.starts, "--", *folder.server_command(kind))

    groups["start"] = {
        "floor.true": at(bench.tool, "start_time", "--rounds", effort.starts, "--until", "exit", "--",
                         folder.programs / "static_true"),
        "bare.start": at(start, "bare"),
        "skiff.start": at(start, "skiff"),
    }
    boxes = Boxes(folder, effort.starts)
    groups["box"] = {
        "unshare.true": boxes.bare,
        "local.up": at(boxes.up, "local"),
        "box.up": at(boxes.up, "box"),
        "local.at-once": at(boxes.at_once, "local"),
        "box.at-once": at(boxes.at_once, "box"),
    }
    launcher = bench.launcher
    groups["launcher"] = {
        "skiff.cli.exec": launcher.exec,
        "curl.exec": launcher.curl_exec,
        "skiff.cli.ps": launcher.ps,
        "skiff.cli.version": launcher.version,
    }
    for name, way in (("file.in", launcher.file_in), ("file.out", launcher.file_out), ("tree.in", launcher.tree_in),
                      ("tree.out", launcher.tree_out)):
        groups["launcher"][f"curl.{name}"] = at(way, True)
        groups["launcher"][f"skiff.{name}"] = at(way, False)
    part = Files(folder, size // 8)  # counts need no long stretch

    def bulk_once(server: Server, under: tuple) -> dict:
        body = compact({"argv": [writer, "bytes", str(part.size)], "mode": "stream"})
        return server.load("bulk", under, form="octet", pattern="bytes", bytes=part.size, body=body)

    def tiny_commands(server: Server, under: tuple) -> dict:
        return server.load("requests", under, body=compact({"argv": [tiny]}), expect='"exit_code":0', seconds=short)

    short = effort.spawn_seconds / 2
    calls = groups["syscalls"] = {}
    for kind in ("bare", "skiff"):
        calls[f"{kind}.calls.command"] = at(bench.syscalls, kind, tiny_commands, "answers")
        calls[f"{kind}.calls.stream"] = at(bench.syscalls, kind, bulk_once, "bytes", MEGABYTE)
        calls[f"{kind}.calls.get"] = at(bench.syscalls, kind, files.get_small, "answers", seconds=short)
        calls[f"{kind}.calls.put"] = at(bench.syscalls, kind, files.put_small, "answers", seconds=short, clients=1)
        calls[f"{kind}.calls.list"] = at(bench.syscalls, kind, files.list, "answers", seconds=short)
        calls[f"{kind}.calls.download"] = at(bench.syscalls, kind, part.download, "bytes", MEGABYTE)
        calls[f"{kind}.calls.upload"] = at(bench.syscalls, kind, part.upload, "bytes", MEGABYTE)

    groups["size"] = {"skiff.size": bench.size}
    groups["build"] = {"build.clean": compiling.clean}
    groups["tti"] = {
        "bare.burst": bench.bursts.least,
        "skiff.tti.alone": bench.bursts.alone,
        "skiff.tti.serve": bench.bursts.served,
        "skiff.tti.count": bench.bursts.one_process,
        "skiff.tti.processes": bench.bursts.processes_at_once,
    }
    bursts, whole = bench.large_bursts, bench.effort.large_pool
    groups["bursts"] = {
        "bare.burst.half": at(bursts.least, whole // 2),
        "bare.burst.whole": at(bursts.least, whole),
        "skiff.bursts.staggered": bursts.staggered,
        "skiff.bursts.half": at(bursts.served, whole // 2, 2),
        "skiff.bursts.whole": at(bursts.served, whole, 2),
        "skiff.bursts.double": at(bursts.served, 2 * whole, 2),
        "skiff.bursts.processes": at(bursts.processes_at_once, whole // 2),
    }
    groups["cluster"] = {
        "skiff.up": bench.sandboxes.up,
        "kubectl.ready": bench.sandboxes.ready,
        "skiff.at-once": at(bench.sandboxes.at_once, False),
        "skiff.at-once.pool": at(bench.sandboxes.at_once, True),
        "bare.at-once": bench.sandboxes.written_at_once,
        "skiff.sandboxes": at(bench.sandboxes.many, "skiff"),
        "bare.sandboxes": at(bench.sandboxes.many, "bare"),
        "skiff.gc": bench.sandboxes.collected,
        "skiff.ps": bench.sandboxes.listed,
        "kubectl.get": bench.sandboxes.got,
    }
    return groups
