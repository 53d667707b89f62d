"""A sandbox client for the OpenAI Agents SDK: its sandbox agents work in sandboxes of skiff.

    config = RunConfig(sandbox=SandboxRunConfig(client=SkiffSandboxClient(), options=SkiffSandboxClientOptions(template="python")))
    result = await Runner.run(agent, "What is here?", run_config=config)

Needs openai-agents 0.20 or newer, whose sandbox agents are a beta. The host is an agent (SKIFF_URL, SKIFF_TOKEN), a server (SKIFF_URL,
SKIFF_API_KEY) or the program skiff. The manifest's root is the sandbox's own directory, unless the manifest names another one below it."""

from __future__ import annotations

import io
import tarfile
import uuid
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Literal
from urllib.parse import urlsplit

from agents.sandbox.errors import (
    ExecTimeoutError,
    ExecTransportError,
    ExposedPortUnavailableError,
    WorkspaceArchiveReadError,
    WorkspaceArchiveWriteError,
    WorkspaceReadNotFoundError,
    WorkspaceWriteTypeError,
)
from agents.sandbox.manifest import Manifest
from agents.sandbox.session import SandboxSession, SandboxSessionState
from agents.sandbox.session.base_sandbox_session import BaseSandboxSession
from agents.sandbox.session.pty_types import PtyExecUpdate
from agents.sandbox.session.sandbox_client import BaseSandboxClient, BaseSandboxClientOptions
from agents.sandbox.snapshot import SnapshotBase, SnapshotSpec, resolve_snapshot
from agents.sandbox.types import ExecResult, ExposedPortEndpoint, User

from .. import AsyncSandbox, SkiffError
from .._async.files import OCTETS
from .._async.transport import Request
from ._openai_processes import Processes, exit_code

DEFAULT_ROOT = str(Manifest().root)
GONE = ("sandbox_not_found", "session_not_found", "sandbox_failed", "path_not_found")


class SkiffSandboxClientOptions(BaseSandboxClientOptions):
    """Properties of a new sandbox: see `Sandbox.create`. pause_on_exit: its end stops it, and keeps its files; else it removes it.
    exposed_ports: those of which `resolve_exposed_port` may give the address."""
    type: Literal["skiff"] = "skiff"
    template: str | None = None
    image: str | None = None
    ttl: str | None = None
    network: str | None = None
    env: dict[str, str] = {}
    driver: str | None = None
    pause_on_exit: bool = False
    exposed_ports: tuple[int, ...] = ()

    async def create(self) -> AsyncSandbox:
        return await AsyncSandbox.create(template=self.template, image=self.image, ttl=self.ttl, network=self.network, env=self.env,
                                         driver=self.driver)


class SkiffSandboxSessionState(SandboxSessionState):
    """By it `resume` finds the sandbox, or makes another one."""
    type: Literal["skiff"] = "skiff"
    sandbox_id: str
    options: SkiffSandboxClientOptions
    root_is_chosen: bool  # by the manifest


class SkiffSandboxSession(BaseSandboxSession):
    """One sandbox."""

    state: SkiffSandboxSessionState

    def __init__(self, state: SkiffSandboxSessionState, box: AsyncSandbox) -> None:
        self.state, self.box = state, box
        self._processes = Processes()

    async def _exec_internal(self, *command: str | Path, timeout: float | None = None) -> ExecResult:
        words, user = _without_sudo(command)
        try:
            result = await self.box.run(words, cwd=self._root(), env=await self._environment(), user=user, timeout=timeout)
        except SkiffError as error:
            raise ExecTransportError(command=command, cause=error, context={"code": error.code}) from error
        if result.exit.cause == "timeout":
            raise ExecTimeoutError(command=command, timeout_s=timeout)
        return ExecResult(stdout=result.stdout_bytes, stderr=result.stderr_bytes + (result.exit.error or "").encode(),
                          exit_code=exit_code(result.exit))

    def supports_pty(self) -> bool:
        return True

    async def pty_exec_start(self, *command: str | Path, timeout: float | None = None, shell: bool | list[str] = True,
                             user: str | User | None = None, tty: bool = False, yield_time_s: float | None = None,
                             max_output_tokens: int | None = None) -> PtyExecUpdate:
        words, name = _without_sudo(self._prepare_exec_command(*command, shell=shell, user=user))
        try:
            started = await self.box.start(words, stdin=tty, cwd=self._root(), env=await self._environment(), user=name, timeout=timeout,
                                           terminal={"cols": 80, "rows": 24} if tty else None, wait_for_reader=True)
            return await self._processes.added(started, tty, yield_time_s, max_output_tokens)
        except SkiffError as error:
            raise ExecTransportError(command=command, cause=error, context={"code": error.code}) from error

    async def pty_write_stdin(self, *, session_id: int, chars: str, yield_time_s: float | None = None,
                              max_output_tokens: int | None = None) -> PtyExecUpdate:
        process = self._resolve_pty_session_entry(pty_processes=self._processes, session_id=session_id)
        if chars and not process.tty:
            raise RuntimeError("stdin is not available for this process")
        try:
            return await self._processes.written(session_id, chars, yield_time_s, max_output_tokens)
        except SkiffError as error:
            raise ExecTransportError(command=("write_stdin",), cause=error, context={"code": error.code}) from error

    async def pty_terminate_all(self) -> None:
        await self._processes.end()

    async def read(self, path: Path, *, user: str | User | None = None) -> io.IOBase:
        if user is not None:
            await self._check_read_with_exec(path, user=user)
        try:
            return io.BytesIO(await self.box.files.read(str(self.normalize_path(path))))
        except SkiffError as error:
            if error.code == "path_not_found":
                raise WorkspaceReadNotFoundError(path=path, cause=error) from error
            raise WorkspaceArchiveReadError(path=path, cause=error, context={"code": error.code}) from error

    async def write(self, path: Path, data: io.IOBase, *, user: str | User | None = None) -> None:
        if user is not None:
            await self._check_write_with_exec(path, user=user)
        content = data.read()
        if not isinstance(content, (str, bytes, bytearray)):
            raise WorkspaceWriteTypeError(path=path, actual_type=type(content).__name__)
        target = str(self.normalize_path(path, for_write=True))
        try:
            await self.box.files.write(target, content if isinstance(content, str) else bytes(content))
        except SkiffError as error:
            raise WorkspaceArchiveWriteError(path=path, cause=error, context={"code": error.code}) from error

    async def running(self) -> bool:
        try:
            await self.box.details()
        except SkiffError:
            return False
        return True

    async def persist_workspace(self) -> io.IOBase:
        """A tar archive of the root, without what the manifest calls ephemeral."""
        archive, request = io.BytesIO(), Request("GET", self.box.path + "/files:archive", params={"path": self._root(), "whole": "true"})
        try:
            async with self.box._transport.opened(request) as answer:
                async for piece in answer.aiter_bytes():
                    archive.write(piece)
        except (SkiffError, OSError) as error:
            raise WorkspaceArchiveReadError(path=Path(self._root()), cause=error) from error
        return _without(archive, [PurePosixPath(path) for path in self._persist_workspace_skip_relpaths()])

    async def hydrate_workspace(self, data: io.IOBase) -> None:
        """Unpacks such an archive. The agent refuses what leads out of the root."""
        content = data.read()
        if not isinstance(content, (bytes, bytearray)):
            raise WorkspaceWriteTypeError(path=Path(self._root()), actual_type=type(content).__name__)
        archive = bytes(content)
        request = Request("PUT", self.box.path + "/files:archive", params={"path": self._root()}, content=lambda: archive, headers=OCTETS)
        try:
            await self.box._transport.ask(request)
        except SkiffError as error:
            raise WorkspaceArchiveWriteError(path=Path(self._root()), cause=error, context={"code": error.code}) from error

    async def _resolve_exposed_port(self, port: int) -> ExposedPortEndpoint:
        try:
            link = urlsplit(await self.box.preview(port))
        except SkiffError as error:
            raise ExposedPortUnavailableError(port=port, exposed_ports=self.state.exposed_ports, reason="backend_unavailable",
                                              context={"detail": error.detail}, cause=error) from error
        tls = link.scheme == "https"
        return ExposedPortEndpoint(host=link.hostname or "", port=link.port or (443 if tls else 80), tls=tls, query=link.query)

    async def _shutdown_backend(self) -> None:
        if self.state.options.pause_on_exit:
            await self.box.stop()
            await self.box.close()
        else:
            await self.box.remove()

    async def _environment(self) -> dict[str, str]:
        return dict(await self.state.manifest.environment.resolve())

    def _root(self) -> str:
        return str(self.state.manifest.root)


class SkiffSandboxClient(BaseSandboxClient[SkiffSandboxClientOptions | None]):
    """Makes and finds sandboxes for the runner."""

    backend_id = "skiff"
    supports_default_options = True

    async def create(self, *, snapshot: SnapshotSpec | SnapshotBase | None = None, manifest: Manifest | None = None,
                     options: SkiffSandboxClientOptions | None = None) -> SandboxSession:
        wanted, id = options or SkiffSandboxClientOptions(), uuid.uuid4()
        manifest = manifest or Manifest()
        self._validate_manifest_for_create(manifest)
        box = await wanted.create()
        state = SkiffSandboxSessionState(session_id=id, manifest=manifest, snapshot=resolve_snapshot(snapshot, str(id)), sandbox_id=box.id,
                                         options=wanted, root_is_chosen=str(manifest.root) != DEFAULT_ROOT,
                                         exposed_ports=wanted.exposed_ports)
        return await self._opened(state, box, found=False)

    async def resume(self, state: SandboxSessionState) -> SandboxSession:
        if not isinstance(state, SkiffSandboxSessionState):
            raise TypeError(f"SkiffSandboxClient can not resume a {type(state).__name__}")
        try:
            box, found = await AsyncSandbox.connect(state.sandbox_id, driver=state.options.driver), True
        except SkiffError as error:
            if error.code not in GONE:
                raise
            box, found = await state.options.create(), False
            state.sandbox_id, state.workspace_root_ready = box.id, False
        return await self._opened(state, box, found)

    async def delete(self, session: SandboxSession) -> SandboxSession:
        """Its end has removed the sandbox, or is meant to keep it."""
        return session

    def deserialize_session_state(self, payload: dict[str, object]) -> SandboxSessionState:
        return self._deserialize_session_state_payload(payload, SkiffSandboxSessionState)

    async def _opened(self, state: SkiffSandboxSessionState, box: AsyncSandbox, found: bool) -> SandboxSession:
        try:
            if not state.root_is_chosen:
                state.manifest = state.manifest.model_copy(update={"root": (await box.details()).root}, deep=True)
            inner = SkiffSandboxSession(state, box)
            inner._set_start_state_preserved(found)
            return self._wrap_session(inner)
        except BaseException:
            await (box.close() if found else box.remove())
            raise


def _without_sudo(command: Sequence[str | Path]) -> tuple[list[str], str | None]:
    """The command and its user: the SDK writes `sudo -u USER --` before one for another user, and the agent needs no sudo."""
    words = [str(word) for word in command]
    if len(words) > 4 and words[:2] == ["sudo", "-u"] and words[3] == "--":
        return words[4:], words[2]
    return words, None


def _without(archive: io.BytesIO, skipped: list[PurePosixPath]) -> io.BytesIO:
    """The archive without these paths and what is below them."""
    archive.seek(0)
    if not skipped:
        return archive
    kept = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="r:") as source, tarfile.open(fileobj=kept, mode="w") as target:
        for member in source:
            path = PurePosixPath(member.name)
            if not any(path == one or one in path.parents for one in skipped):
                target.addfile(member, source.extractfile(member) if member.isreg() else None)
    kept.seek(0)
    return kept
