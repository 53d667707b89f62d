"""A sandbox environment for Inspect: `sandbox="skiff"` in a task, or `--sandbox skiff`.

    Task(dataset=..., solver=..., sandbox=SandboxEnvironmentSpec("skiff", SkiffConfig(template="python")))

Each sample gets a sandbox of its own, by SKIFF_URL with SKIFF_API_KEY (a server) or the program skiff; with SKIFF_TOKEN (an agent)
it gets a session with a directory of its own. Installed with this package, Inspect finds it by itself."""

from __future__ import annotations

import errno
import signal
from typing import Any, Literal, NoReturn, Union, overload

from inspect_ai.util import (
    ExecResult,
    OutputLimitExceededError,
    SandboxConnection,
    SandboxEnvironment,
    SandboxEnvironmentConfigType,
    SandboxEnvironmentLimits,
    SandboxUnavailableError,
    SandboxUserUnsupportedError,
    sandboxenv,
)
from pydantic import BaseModel

from .. import AsyncSandbox, AsyncSession, SkiffError
from .._settings import new_id
from .._types import SessionRequest

STDIN_BYTES = 500_000  # longer input goes through a file
# Errors of files, as Python has them.
FILE_ERRORS: dict[str, tuple[type[OSError], int]] = {
    "path_not_found": (FileNotFoundError, errno.ENOENT), "is_a_directory": (IsADirectoryError, errno.EISDIR),
    "permission_denied": (PermissionError, errno.EACCES), "path_escapes_root": (PermissionError, errno.EACCES),
    "name_too_long": (OSError, errno.ENAMETOOLONG), "not_a_directory": (NotADirectoryError, errno.ENOTDIR)}


class SkiffConfig(BaseModel, frozen=True):
    """Properties of the sandboxes of a task: see `Sandbox.create`."""
    template: str | None = None
    image: str | None = None
    ttl: str | None = None
    network: str | None = None
    env: dict[str, str] = {}
    driver: str | None = None

    def __hash__(self) -> int:
        return hash(self.model_dump_json())


@sandboxenv(name="skiff")
class SkiffSandboxEnvironment(SandboxEnvironment):
    """One sandbox of one sample."""

    def __init__(self, box: AsyncSandbox, session: AsyncSession) -> None:
        super().__init__()
        self._box, self._session = box, session

    @classmethod
    async def sample_init(cls, task_name: str, config: SandboxEnvironmentConfigType | None,
                          metadata: dict[str, str]) -> dict[str, SandboxEnvironment]:
        if isinstance(config, str):
            raise ValueError(f"skiff takes no configuration file ({config}): give SandboxEnvironmentSpec(\"skiff\", SkiffConfig(...))")
        wanted = config if isinstance(config, SkiffConfig) else SkiffConfig()
        box = await AsyncSandbox.create(**wanted.model_dump())
        try:
            # Inspect's tools name files anywhere, as commands do: the file routes reach what the sandbox's user reaches.
            root = (await box.details()).root
            everywhere: SessionRequest = {"extra_roots": [{"path": "/", "access": "rw"}]}
            return {"default": cls(box, await box.session(new_id("inspect"), root=root, env=wanted.env, options=everywhere))}
        except BaseException:
            await box.remove()
            raise

    @classmethod
    async def sample_cleanup(cls, task_name: str, config: SandboxEnvironmentConfigType | None,
                             environments: dict[str, SandboxEnvironment], interrupted: bool) -> None:
        for environment in environments.values():
            mine = environment.as_type(SkiffSandboxEnvironment)
            await mine._session.end()
            await mine._box.remove()

    @classmethod
    def config_deserialize(cls, config: dict[str, Any]) -> BaseModel:
        return SkiffConfig(**config)

    async def exec(self, cmd: list[str], input: str | bytes | None = None, cwd: str | None = None,
                   env: dict[str, str] | None = None, user: str | None = None, timeout: int | None = None,
                   timeout_retry: bool = True, concurrency: bool = True) -> ExecResult[str]:
        data = input.encode() if isinstance(input, str) else input
        file = ""
        if data is not None and len(data) > STDIN_BYTES:
            file = f"{(await self._session.details()).root}/.{new_id('input')}"
            await self._session.files.write(file, data)
            cmd = ["/bin/sh", "-c", 'exec "$@" <"$0"', file, *cmd]
            data = None
        most = SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE
        try:
            result = await self._session.run(cmd, cwd=cwd, env=env, user=user, stdin=data, timeout=timeout, max_output=2 * most)
        except SkiffError as error:
            if error.code in ("user_not_found", "cannot_switch_user"):
                raise SandboxUserUnsupportedError(error.detail) from error
            if error.code in ("connection_failed", "draining", "sandbox_not_running", "session_not_found"):
                raise SandboxUnavailableError(error.detail) from error
            raise
        finally:
            if file:
                await self._session.files.remove(file)
        if result.exit.cause == "timeout":
            raise TimeoutError(f"the command did not end within {timeout} s")
        if result.exit.cause == "spawn_failed" and result.exit_code == 126:
            raise PermissionError(errno.EACCES, result.exit.error)
        for text in (result.stdout_bytes, result.stderr_bytes):
            if len(text) > most:
                raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR,
                                               text[:most].decode(errors="replace"))
        exit = result.exit
        code = exit.exit_code if exit.exit_code is not None else 128 + signal.Signals[exit.signal or "SIGKILL"]
        return ExecResult(code == 0, code, result.stdout, result.stderr + (result.exit.error or ""))

    async def write_file(self, file: str, contents: str | bytes) -> None:
        try:
            await self._session.files.write(file, contents)
        except SkiffError as error:
            _raise(error, file)

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    async def read_file(self, file: str, text: bool = True) -> Union[str, bytes]:
        most, data = SandboxEnvironmentLimits.MAX_READ_FILE_SIZE, bytearray()
        try:
            async for piece in self._session.files.read_pieces(file):
                data += piece
                if len(data) > most:
                    raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None)
        except SkiffError as error:
            _raise(error, file)
        return data.decode() if text else bytes(data)

    async def connection(self, *, user: str | None = None) -> SandboxConnection:
        if user is not None:
            raise NotImplementedError("skiff shell has the sandbox's own user")
        return SandboxConnection(type="skiff", command=f"skiff shell {self._box.id}")


def _raise(error: SkiffError, file: str) -> NoReturn:
    if error.code not in FILE_ERRORS:
        raise error
    kind, number = FILE_ERRORS[error.code]
    raise kind(number, error.detail, file) from error
