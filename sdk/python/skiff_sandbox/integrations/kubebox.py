"""kubebox's client on skiff: the same calls, whose streams have stderr too, and lose nothing.

    from skiff_sandbox.integrations.kubebox import CommandMode, Kubebox, SandboxClient   # in place of kubebox

Needs Python 3.11, and for Kubebox the program `skiff` on the PATH (or SKIFF), by any of its drivers; `local` makes a
process on this machine, which isolates nothing. SandboxClient alone works with any skiffd: `private_key` is its token.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import enum
import json
import os
import re
import signal
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .._async.command import AsyncCommand
from .._async.session import AsyncSession
from .._async.transport import Address, AsyncTransport, Request
from .._errors import SkiffError
from .._events import Exit, Output
from .._skiff import find_skiff, message_of
from .._types import SessionRequest


class SandboxError(Exception):
    """A failure, in the agent's or skiff's own sentence. `status` is the HTTP status, 0 without one."""

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status


class CommandMode(enum.StrEnum):
    """The form of run_command()'s answer: pieces as they come, all of them at the end, or none."""
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
    """The result of a command that was waited for. `finished`: by itself, not at its timeout."""
    stdout: str
    stderr: str
    exit_code: int
    finished: bool


class Process:
    """A command that was started. Iterated over, it gives its output from the beginning, as much of it as the agent keeps, and
    a CommandExit at the end. A connection that breaks is taken up at its byte."""

    def __init__(self, command: AsyncCommand) -> None:
        self.process_id, self._command = command.id, command

    async def __aiter__(self) -> AsyncIterator[CommandOutput | CommandExit]:
        decoders = {name: codecs.getincrementaldecoder("utf-8")("replace") for name in ("stdout", "stderr")}
        with _in_words():
            async for event in self._command.events():
                if isinstance(event, Output):
                    yield CommandOutput(decoders[event.stream].decode(event.data), event.stream, self.process_id)
                elif isinstance(event, Exit):
                    yield CommandExit(_exit_code(event), self.process_id)


class SandboxClient:
    """A skiffd, by its own HTTP API. For any number of sessions and commands at once, in one event loop."""

    def __init__(self, private_key: str = "", url: str = "http://localhost:7070") -> None:
        """`private_key`: the agent's token, else SKIFF_TOKEN; not looked at for what a Kubebox of this process has made."""
        self.url = url.rstrip("/")
        self._token = private_key or os.environ.get("SKIFF_TOKEN", "")
        self._transport = AsyncTransport(self._address())

    async def connect(self) -> None:
        """Asks the agent who it is. Raises SandboxError when it can't be reached, or doesn't know the token."""
        if self.url in _SIGNERS:
            self._token = await _SIGNERS[self.url]()
            self._transport = AsyncTransport(self._address())
        with _in_words():
            await self._transport.ask(Request("GET", "/v1/version"))

    async def disconnect(self) -> None:
        """Closes connections. Sessions and background commands stay."""
        await self._transport.aclose()

    async def initialize_session(self, session_id: str, path: str = "") -> None:
        """A session with this directory, made if it is missing; one of that name with another directory is ended first."""
        wanted: SessionRequest = {"root": path} if path else {}
        session = self._session(session_id)
        request = Request("PUT", session.path, json=wanted)
        with _in_words():
            try:
                await self._transport.ask(request)
            except SkiffError as error:
                if error.status != 409:
                    raise
                await session.end()
                await self._transport.ask(request)

    async def run_command(self, session_id: str, command: str, mode: CommandMode = CommandMode.STREAM, path: str | None = None,
                          timeout: float | None = None) -> Process | CommandResult:
        """Runs a shell line in the session's directory, or in `path`: a Process, or the CommandResult of a WAIT. After
        `timeout` seconds its whole tree is ended."""
        session = self._session(session_id)
        with _in_words():
            if mode is CommandMode.WAIT:
                told = await session.run(command, cwd=path, timeout=timeout)
                return CommandResult(told.stdout, told.stderr, _exit_code(told.exit), told.exit.cause != "timeout")
            # Nothing of a stream is lost before the first look at it.
            return Process(await session.start(command, cwd=path, timeout=timeout, wait_for_reader=mode is CommandMode.STREAM))

    async def check_status(self, session_id: str, process_id: str) -> bool:
        """Whether it still runs."""
        with _in_words():
            return (await self._session(session_id).command(process_id).details()).state != "ended"

    async def kill_command(self, session_id: str, process_id: str) -> int:
        """Ends its whole tree; its exit code."""
        with _in_words():
            return _exit_code(await self._session(session_id).command(process_id).kill())

    async def get_file(self, session_id: str, file_path: str) -> str:
        """The text of a file. Raises SandboxError if there is none."""
        with _in_words():
            return (await self._session(session_id).files.read(file_path)).decode(errors="replace")

    async def write_file(self, session_id: str, file_path: str, content: str | bytes, make_dirs: bool = True) -> None:
        """Writes a file whole, in one step. Missing directories are made, whatever `make_dirs` says."""
        with _in_words():
            await self._session(session_id).files.write(file_path, content)

    async def delete_file(self, session_id: str, file_path: str) -> None:
        """A file, or an empty directory."""
        with _in_words():
            await self._session(session_id).files.remove(file_path)

    async def file_exists(self, session_id: str, file_path: str) -> bool:
        """Whether anything is there; False also if it is outside of the session's directory."""
        try:
            await self._session(session_id).files.stat(file_path)
        except SkiffError as error:
            if error.status:
                raise SandboxError(error.detail, error.status) from error
            return False
        return True

    async def get_all_file_paths(self, session_id: str, regexes: Sequence[str] = ()) -> list[str]:
        """The paths of all files, relative to the session's directory; with `regexes` those in which one of them is found."""
        with _in_words():
            found = await self._session(session_id).files.glob("**/*", hidden=True, ignored=True)
        paths = [one.path for one in found if one.type == "file"]
        return [path for path in paths if not regexes or any(re.search(each, path) for each in regexes)]

    def _address(self) -> Address:
        return Address(self.url, {"X-Skiff-Token": self._token})

    def _session(self, session_id: str) -> AsyncSession:
        return AsyncSession(self._transport, session_id)


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
        """The output of one call of skiff."""
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
            raise SandboxError(message_of(err) or f"skiff {arguments[0]} ended with {process.returncode}")
        return out.decode().strip()


class Kubebox:
    """Makes sandboxes by `skiff up`. Call it in a running event loop."""

    def __init__(self, kubebox_str: str = "", driver: str | None = None, skiff: str | None = None) -> None:
        """`kubebox_str`: a kubeconfig; else what skiff finds. `driver`: as of skiff. `skiff`: where the program is."""
        try:
            program = find_skiff(skiff or os.environ.get("SKIFF", "skiff"))
        except SkiffError as error:
            raise SandboxError(error.detail) from None
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


@contextlib.contextmanager
def _in_words() -> Iterator[None]:
    """An error of the SDK as a SandboxError that says what to do about it."""
    try:
        yield
    except SkiffError as error:
        hint = ""
        if error.status == 401:
            hint = "; connect() again, or give another private_key: `skiff token NAME` prints one"
        elif error.code == "connection_failed":
            hint = ": `skiff describe NAME` tells its address"
        raise SandboxError(error.detail + hint, error.status) from error


def _exit_code(exit: Exit) -> int:
    return exit.exit_code if exit.exit_code is not None else -signal.Signals[exit.signal or "SIGKILL"]
