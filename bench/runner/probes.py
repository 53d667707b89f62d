"""What is measured: probes by name, in groups. Each gives one dictionary of figures a round."""

import functools
import json
import os
from dataclasses import dataclass
from typing import Callable

from . import memory
from .processes import Failed, Folder, Server, run_tool

LINES = 1_000_000
LINE_BYTES = 13
MEGABYTE = 1024 * 1024


@dataclass
class Effort:
    """How much of everything; `quick` is for looking, the rest for figures that are kept."""
    seconds: float       # a measurement of many requests
    spawn_seconds: float
    bulk_bytes: int
    first_bytes: int     # commands for the time to the first byte
    starts: int
    flood_seconds: float


FULL = Effort(1.5, 1.0, 1024 * MEGABYTE, 300, 25, 4.0)
QUICK = Effort(0.3, 0.3, 256 * MEGABYTE, 60, 8, 1.0)


class Bench:
    """The servers that stay for the whole run, and the requests that are made of them."""

    def __init__(self, folder: Folder, effort: Effort):
        self.folder = folder
        self.effort = effort
        self.servers: dict[str, Server] = {}

    def server(self, kind: str) -> Server:
        server = self.servers.get(kind)
        if server is not None and server.process.poll() is not None:
            self.servers.pop(kind).stop()
            raise Failed(f"{kind} ended with status {server.process.returncode}")
        if server is None:
            server = self.servers[kind] = Server(self.folder, kind)
        return server

    def close(self):
        for server in self.servers.values():
            server.stop()

    def tool(self, *arguments: object) -> dict:
        return run_tool(self.folder, *arguments)

    def requests(self, kind: str, clients: int, command: dict | None) -> dict:
        options = dict(clients=clients, seconds=self.effort.seconds)
        if command is None:
            return self.server(kind).load("requests", path="/healthz", **options)
        return self.server(kind).load("requests", body=compact(command), expect='"exit_code":0', **options)

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
        """On a server of its own: its commands end with it."""
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
            wait[f"{kind}.tiny.{clients}"] = at(bench.requests, kind, clients, {"argv": [tiny]})

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

    groups["http"] = {f"{kind}.health.{clients}": at(bench.requests, kind, clients, None)
                      for kind in ("bare", "skiff") for clients in (1, 64)}

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
    groups["size"] = {"skiff.size": bench.size}
    return groups
