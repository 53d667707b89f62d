"""kubebox's client on skiff: the same calls, whose streams have stderr too, and lose nothing.

    from skiff_kubebox import CommandMode, Kubebox, SandboxClient   # in place of kubebox

Needs Python 3.11, httpx, and for Kubebox the program `skiff` on the PATH (or SKIFF), by any of its drivers; `local` makes a
process on this machine, which isolates nothing. SandboxClient alone works with any skiffd: `private_key` is its token.
"""

from __future__ import annotations

import asyncio
import base64
import codecs
import contextlib
import enum
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx

PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6)  # seconds before each further attempt at a connection that broke


class SandboxError(Exception):
    """What went wrong, in the agent's or skiff's own sentence. `status` is the HTTP status, 0 without one."""

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status


class CommandMode(enum.StrEnum):
    """What run_command() gives: what comes while it comes, all of it at the end, or nothing."""
    STREAM = "stream"
    WAIT = "wait"
    BACKGROUND = "background"


@dataclass(frozen=True)
class CommandOutput:
    """A piece of what a command has written: not a line, but whole characters."""
    output: str
    type: str  # stdout or stderr
    process_id: str


@dataclass(frozen=True)
class CommandExit:
    """The last of a stream. `output` is empty, so that a loop may print it without asking what it has."""
    exit_code: int  # a signal's number, negative, where one ended it
    process_id: str
    output: str = ""


@dataclass(frozen=True)
class CommandResult:
    """Of a command that was waited for. `finished`: by itself, not at its timeout."""
    stdout: str
    stderr: str
    exit_code: int
    finished: bool


class Process:
    """A command that was started. Iterated over, it gives its output from the beginning, as much of it as the agent keeps, and
    a CommandExit at the end. A connection that breaks is taken up where it was."""

    def __init__(self, http: httpx.AsyncClient, path: str, process_id: str) -> None:
        self.process_id, self._http, self._path = process_id, http, path

    async def __aiter__(self) -> AsyncIterator[CommandOutput | CommandExit]:
        decoders = {name: codecs.getincrementaldecoder("utf-8")("replace") for name in ("stdout", "stderr")}
        pauses, at = iter(PAUSES), 0
        while True:
            try:
                async with self._http.stream("GET", f"{self._path}/output?follow=true&lossless=true&from={at}") as answer:
                    async for line in (await _checked(answer)).aiter_lines():
                        event = json.loads(line)
                        at, pauses = event.get("next", at), iter(PAUSES)
                        if event["type"] == "exit":
                            yield CommandExit(_exit_code(event), self.process_id)
                            return
                        if event["type"] == "output":
                            data = base64.b64decode(event["data_base64"]) if "data_base64" in event else event["data"].encode()
                            yield CommandOutput(decoders[event["stream"]].decode(data), event["stream"], self.process_id)
                raise httpx.ReadError("the stream ended before its command")
            except (httpx.TransportError, json.JSONDecodeError) as error:  # the second: a line that was cut
                await _pause(pauses, error)


class SandboxClient:
    """A skiffd, by its own HTTP API. For any number of sessions and commands at once, in one event loop."""

    def __init__(self, private_key: str = "", url: str = "http://localhost:7070") -> None:
        """`private_key`: the agent's token, else SKIFF_TOKEN; not looked at for what a Kubebox of this process has made."""
        self.url = url.rstrip("/")
        self._http = httpx.AsyncClient(base_url=self.url, timeout=httpx.Timeout(60, connect=10),
                                       headers={"X-Skiff-Token": private_key or os.environ.get("SKIFF_TOKEN", "")})

    async def connect(self) -> None:
        """Asks the agent who it is. Raises SandboxError when it can't be reached, or doesn't know the token."""
        if self.url in _SIGNERS:
            self._http.headers["X-Skiff-Token"] = await _SIGNERS[self.url]()
        await self._ask("GET", "/v1/version")

    async def disconnect(self) -> None:
        """Closes connections. Sessions and background commands stay."""
        await self._http.aclose()

    async def initialize_session(self, session_id: str, path: str = "") -> None:
        """A session with this directory, made where it is missing; one of that name with another directory is ended first."""
        wanted = {"root": path} if path else {}
        try:
            await self._ask("PUT", _session(session_id), json=wanted)
        except SandboxError as error:
            if error.status != 409:
                raise
            await self._ask("DELETE", _session(session_id))
            await self._ask("PUT", _session(session_id), json=wanted)

    async def run_command(self, session_id: str, command: str, mode: CommandMode = CommandMode.STREAM, path: str | None = None,
                          timeout: float | None = None) -> Process | CommandResult:
        """Runs a shell line in the session's directory, or in `path`: a Process, or the CommandResult of a WAIT. After
        `timeout` seconds its whole tree is ended."""
        process_id = f"kb-{os.urandom(8).hex()}"
        wanted: dict[str, Any] = {"id": process_id, "command": command, "mode": "background", **({"cwd": path} if path else {}),
                                  **({"timeout_ms": round(timeout * 1000)} if timeout is not None else {}),
                                  # Nothing of a stream is lost before the first look at it.
                                  **({"output": {"overflow": "block"}} if mode is CommandMode.STREAM else {})}
        at = f"{_session(session_id)}/commands"
        if mode is not CommandMode.WAIT:
            await self._ask("POST", at, json=wanted)
            return Process(self._http, f"{at}/{process_id}", process_id)
        try:
            told = (await self._ask("POST", at, json={**wanted, "mode": "wait"})).json()
        except asyncio.CancelledError:
            with contextlib.suppress(SandboxError):
                await asyncio.shield(self._ask("DELETE", f"{at}/{process_id}"))
            raise
        return CommandResult(told["stdout"], told["stderr"], _exit_code(told), told["cause"] != "timeout")

    async def check_status(self, session_id: str, process_id: str) -> bool:
        """Whether it still runs."""
        return bool((await self._ask("GET", f"{_session(session_id)}/commands/{process_id}")).json()["state"] != "ended")

    async def kill_command(self, session_id: str, process_id: str) -> int:
        """Ends its whole tree; its exit code."""
        at = f"{_session(session_id)}/commands/{process_id}"
        with contextlib.suppress(SandboxError):  # it has ended meanwhile
            await self._ask("POST", f"{at}/signal", json={"signal": "TERM", "escalate_after_ms": 2000})
        while (told := (await self._ask("GET", f"{at}?wait_ms=30000")).json())["state"] != "ended":
            pass
        return _exit_code(told)

    async def get_file(self, session_id: str, file_path: str) -> str:
        """The text of a file. Raises SandboxError where there is none."""
        return (await self._ask("GET", _file(session_id, file_path))).content.decode(errors="replace")

    async def write_file(self, session_id: str, file_path: str, content: str | bytes, make_dirs: bool = True) -> None:
        """Writes a file whole, in one step. Missing directories are made, whatever `make_dirs` says."""
        await self._ask("PUT", _file(session_id, file_path), content=content.encode() if isinstance(content, str) else content)

    async def delete_file(self, session_id: str, file_path: str) -> None:
        """A file, or an empty directory."""
        await self._ask("DELETE", _file(session_id, file_path))

    async def file_exists(self, session_id: str, file_path: str) -> bool:
        """Whether anything is there."""
        told = await self._ask("GET", f"{_session(session_id)}/files:stat?path={quote(file_path, safe='')}")
        return "error" not in told.json()["items"][0]

    async def get_all_file_paths(self, session_id: str, regexes: Sequence[str] = ()) -> list[str]:
        """Of all files, relative to the session's directory; with `regexes` those in which one of them is found."""
        told = await self._ask("GET", f"{_session(session_id)}/files:glob?pattern=**/*&hidden=true&ignored=true")
        paths = [one["path"] for one in map(json.loads, told.text.splitlines()) if one["type"] == "file"]
        return [path for path in paths if not regexes or any(re.search(each, path) for each in regexes)]

    async def _ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        """All of these may be sent twice without harm: a command has an id, by which it runs once."""
        pauses = iter(PAUSES)
        while True:
            try:
                return await _checked(await self._http.request(method, path, **options))
            except httpx.TransportError as error:
                await _pause(pauses, error)


class KubeboxPod:
    """A sandbox that is being made, and then is there. Objects are made by Kubebox."""

    def __init__(self, words: Sequence[str], name: str, settings: dict[str, str], flags: Sequence[str]) -> None:
        self.name, self._words = name, words
        self._options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "start_new_session": True,
                                         "env": {**os.environ, **settings}}
        self._made = asyncio.ensure_future(self.skiff("up", name, "--get-or-create", "-q", *flags))
        self._forward: asyncio.subprocess.Process | None = None
        self._address = ""

    async def wait_until_ready(self) -> None:
        """Until commands run in it. Raises SandboxError with the reason when it can't start: it never waits for ever."""
        await asyncio.shield(self._made)

    async def get_external_ip(self) -> str:
        """HOST:PORT for a SandboxClient of this process, which needs no token then. From outside of a cluster it is a forward."""
        await self.wait_until_ready()
        if not self._address:
            reached = json.loads(await self.skiff("describe", self.name, "-o", "json"))["reached"]
            self._address = str(reached["at"]).rpartition("/")[2]
            if reached["by"] not in ("local", "in-cluster"):
                self._forward = await asyncio.create_subprocess_exec(*self._words, "forward", self.name, ":7070", **self._options)
                assert self._forward.stdout
                self._address = (await self._forward.stdout.readline()).decode().partition(" ")[0]
            _SIGNERS[f"http://{self._address}"] = lambda: self.skiff("token", self.name, "--ttl", "24h")
        return self._address

    async def destroy(self) -> None:
        """Removes it with everything in it, its Service too."""
        if self._forward and self._forward.returncode is None:
            self._forward.terminate()
            await self._forward.wait()
        self._made.cancel()
        await asyncio.wait([self._made])
        await self.skiff("rm", self.name, "-q")

    async def skiff(self, *arguments: str) -> str:
        """What one call of skiff prints."""
        process = await asyncio.create_subprocess_exec(*self._words, *arguments, stderr=subprocess.PIPE, **self._options)
        try:
            out, err = await process.communicate()
        except asyncio.CancelledError:
            process.send_signal(signal.SIGINT)  # upon which skiff takes back what it has begun; else destroy() does
            await asyncio.wait([asyncio.ensure_future(process.communicate())], timeout=5)
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            raise
        if process.returncode:
            raise SandboxError(err.decode(errors="replace").strip() or f"skiff {arguments[0]} ended with {process.returncode}")
        return out.decode().strip()


class Kubebox:
    """Makes sandboxes by `skiff up`. Call it in a running event loop."""

    def __init__(self, kubebox_str: str = "", driver: str | None = None, skiff: str | None = None) -> None:
        """`kubebox_str`: a kubeconfig; else what skiff finds. `driver`: as of skiff. `skiff`: where the program is."""
        program = skiff or os.environ.get("SKIFF", "skiff")
        if not shutil.which(program):
            raise SandboxError(f"there is no program {program!r}: `make build` builds it; put it on the PATH, or name it in SKIFF")
        self._words = [program, *(["--driver", driver] if driver else [])]
        self._kubeconfig, self._pods = kubebox_str, dict[str, KubeboxPod]()

    def create_pod(self, pod_name: str, namespace: str = "", image: str = "", username: str = "",
                   ports: Sequence[int] = ()) -> KubeboxPod:
        """Begins to make a sandbox, or to find the one of that name. `ports`: of servers in it, for its Service."""
        settings = {"SKIFF_NAMESPACE": namespace, "SKIFF_IMAGE": image, "SKIFF_KUBECONFIG_DATA": self._kubeconfig}
        flags = [*(["-l", f"username={username}"] if username else []), *(f"--port={port}" for port in ports)]
        self._pods[pod_name] = KubeboxPod(self._words, pod_name, {name: value for name, value in settings.items() if value}, flags)
        return self._pods[pod_name]

    def create_service(self, pod_name: str, namespace: str = "", username: str = "") -> KubeboxPod:
        """skiff makes it with the Pod, which stands for it."""
        return self._pods[pod_name]


_SIGNERS: dict[str, Callable[[], Awaitable[str]]] = {}  # by address: who signs a token for a sandbox that was made here


async def _pause(pauses: Iterator[float], error: Exception) -> None:
    for pause in pauses:
        return await asyncio.sleep(pause)
    raise SandboxError(f"the agent can't be reached ({error!r}): `skiff describe NAME` tells its address") from error


async def _checked(answer: httpx.Response) -> httpx.Response:
    if answer.status_code < 400:
        return answer
    await answer.aread()
    problem = answer.json() if "problem+json" in answer.headers.get("content-type", "") else {"title": answer.text[:200]}
    hint = "; connect() again, or give another private_key: `skiff token NAME` prints one" if answer.status_code == 401 else ""
    raise SandboxError(f"{problem.get('detail') or problem.get('title')}{hint}", answer.status_code)


def _session(session_id: str) -> str:
    return f"/v1/sessions/{quote(session_id, safe='')}"


def _file(session_id: str, path: str) -> str:
    return f"{_session(session_id)}/files/{quote(path, safe='')}"  # with %2F even `../x` arrives as it is


def _exit_code(told: dict[str, Any]) -> int:
    return int(told["exit_code"]) if told["exit_code"] is not None else -signal.Signals[told["signal"]]
