"""A sandbox backend for DeepAgents 0.7: what the agent runs and writes is in a sandbox of skiff.

    sandbox = SkiffSandbox("http://127.0.0.1:7070", token, thread_id="conversation-1")
    agent = create_deep_agent(model=model, backend=sandbox)

`skiff token NAME -o json` prints the url and the token of a sandbox. Each `thread_id` is a session with a directory of its own,
the same one whenever it is named again. `SkiffSandbox.within(session)` takes a session of any host instead. The sandbox needs a
shell, and no Python. Paths are those that commands see. DeepAgents itself keeps large results below `/`, outside of most sandboxes:
`CompositeBackend(default=sandbox, routes={}, artifacts_root=f"{sandbox.root}/.deepagents")` keeps them inside."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import re
import signal
from collections.abc import Callable
from typing import TypeVar

from deepagents.backends.protocol import (
    DeleteResult,
    EditResult,
    ExecuteResponse,
    FileData,
    FileDownloadResponse,
    FileInfo,
    FileUploadResponse,
    GlobResult,
    GrepMatch,
    GrepResult,
    LsResult,
    ReadResult,
    SandboxBackendProtocol,
    WriteResult,
)

from .. import Result, Session, SkiffError
from .._async.session import AsyncSession
from .._async.transport import Address as AsyncAddress
from .._async.transport import AsyncTransport
from .._settings import Agent, host_of
from .._sync.transport import Address, Request, Transport

T = TypeVar("T")
MOST_READ_BYTES = 500 * 1024  # what one read() shows a model, as DeepAgents' own sandboxes do
MOST_OUTPUT_BYTES = 1 << 20
FILE_ERRORS = {"path_not_found": "file_not_found", "is_a_directory": "is_directory", "permission_denied": "permission_denied",
               "path_escapes_root": "permission_denied", "name_too_long": "invalid_path", "invalid_field": "invalid_path"}


class SkiffSandbox(SandboxBackendProtocol):
    """One session of a sandbox. Methods may be called from any number of threads and event loops."""

    def __init__(self, url: str | None = None, token: str | None = None, *, thread_id: str | None = None,
                 timeout: int = 1800) -> None:
        """`url`, `token`: the agent's, else SKIFF_URL and SKIFF_TOKEN. `thread_id`: any text; without it the session that all share.
        `timeout`: seconds that a command may take unless execute() says otherwise; 0: no limit. Nothing is sent yet."""
        host = host_of(url, token, None, None)
        if not isinstance(host, Agent):
            raise SkiffError("not_configured", "an agent is needed: give url and token, or set SKIFF_URL and SKIFF_TOKEN (`skiff token"
                             " NAME -o json` prints both); or use SkiffSandbox.within")
        name = "default"
        if thread_id is not None:
            is_name = re.fullmatch(r"[A-Za-z0-9._-]{1,57}", thread_id)
            name = f"thread-{thread_id if is_name else hashlib.sha256(thread_id.encode()).hexdigest()[:32]}"
        self._transport = Transport(Address(host.url, {"X-Skiff-Token": host.token}))
        self.session, self._timeout, self._root = Session(self._transport, name), timeout, ""

    @classmethod
    def within(cls, session: Session, *, timeout: int = 1800) -> SkiffSandbox:
        """A backend in a session of an open sandbox, on any host."""
        made = cls.__new__(cls)
        made._transport, made.session, made._timeout, made._root = session._transport, session, timeout, ""
        return made

    @property
    def id(self) -> str:
        """The session's address."""
        return f"{self._transport.address.url}/v1/sessions/{self.session.session_id}"

    @property
    def root(self) -> str:
        """The session's directory: where commands begin, and relative paths. Makes the session if it is missing."""
        if not self._root:
            name = self.session.session_id
            if name.startswith("thread-"):
                self._told(lambda: self._transport.ask(Request("PUT", f"/v1/sessions/{name}", json={"root": name})))
            self._root = self._told(self.session.details).root
        return self._root

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Runs a shell line: stdout and stderr in order. It runs once, whatever happens to the connection. After `timeout` seconds
        (0: never) its process tree is ended, and the exit code is 124."""
        seconds = self._seconds(timeout)
        try:
            assert self.root
            return _executed(self._told(lambda: self.session.run(command, timeout=seconds, merge_stderr=True,
                                                                 max_output=MOST_OUTPUT_BYTES)), seconds)
        except SkiffError as error:
            return _refused(error)

    async def aexecute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """The same; a task that is cancelled ends its command."""
        seconds, address = self._seconds(timeout), self._transport.address
        transport = AsyncTransport(AsyncAddress(address.url, address.headers))
        try:
            await asyncio.to_thread(lambda: self.root)
            session = AsyncSession(transport, self.session.session_id)
            return _executed(await session.run(command, timeout=seconds, merge_stderr=True, max_output=MOST_OUTPUT_BYTES), seconds)
        except SkiffError as error:
            return _refused(self._explained(error))
        finally:
            await transport.aclose()

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Each is seen whole or not at all; missing directories are made."""
        def one(path: str, content: bytes) -> FileUploadResponse:
            try:
                self._done(lambda: self.session.files.write(path, content))
                return FileUploadResponse(path=path)
            except SkiffError as error:
                return FileUploadResponse(path=path, error=FILE_ERRORS.get(error.code, str(error)))
        return [one(path, content) for path, content in files]

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """The bytes of each, or why not."""
        def one(path: str) -> FileDownloadResponse:
            try:
                return FileDownloadResponse(path=path, content=self._done(lambda: self.session.files.read(path)))
            except SkiffError as error:
                return FileDownloadResponse(path=path, error=FILE_ERRORS.get(error.code, str(error)))
        return [one(path) for path in paths]

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Lines of a text, or all of what is not UTF-8 as base64. At most 500 KiB: `next_offset` says where it goes on."""
        offset, limit = max(int(offset), 0), max(int(limit), 0)
        if limit == 0:
            return ReadResult(file_data=FileData(content="", encoding="utf-8"), no_lines_requested=True)
        try:
            raw, is_cut = self._some(file_path, offset + 1, offset + limit + 1)
            lines = re.findall(rb"[^\n]*\n|[^\n]+", raw)
            if is_cut and len(lines) > 1 and not lines[-1].endswith(b"\n"):
                lines.pop()  # the rest of it is another read
            shown = lines[:limit]
            text = b"".join(shown).decode("utf-8", "ignore" if is_cut and len(shown) == 1 else "strict")
        except SkiffError as error:
            return ReadResult(error=f"File '{file_path}': {error}")
        except UnicodeDecodeError:
            raw, is_cut = self._some(file_path, 1, None)
            if is_cut:
                return ReadResult(error=f"File '{file_path}': it is not a text, and too large to be shown")
            return ReadResult(file_data=FileData(content=base64.b64encode(raw).decode(), encoding="base64"))
        if not shown:
            return (ReadResult(error=f"File '{file_path}': it has no line {offset + 1}") if offset
                    else ReadResult(file_data=FileData(content="", encoding="utf-8")))
        end = offset + len(shown)
        return ReadResult(file_data=FileData(content=text, encoding="utf-8"), start_line=offset + 1,
                          end_line=end, next_offset=end if is_cut or len(lines) > limit else None)

    def write(self, file_path: str, content: str) -> WriteResult:
        """The whole file, made or replaced in one step."""
        try:
            self._done(lambda: self.session.files.write(file_path, content))
        except SkiffError as error:  # in full: it says which paths can be used
            return WriteResult(error=f"Failed to write file '{file_path}': {error}")
        return WriteResult(path=file_path)

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        """If `old_string` does not occur once (with `replace_all`: at least once), nothing is changed."""
        try:
            count = 1
            if replace_all:
                count = max(1, self._done(lambda: self.session.files.read(file_path)).count(old_string.encode()))
            self._done(lambda: self.session.files.edit(file_path, old_string, new_string, count=count))
        except SkiffError as error:
            hint = ": give more of what is around it, or replace_all" if error.code == "edit_not_found" else ""
            return EditResult(error=f"Error editing file '{file_path}': {error}{hint}")
        return EditResult(path=file_path, occurrences=count)

    def delete(self, file_path: str) -> DeleteResult:
        """A file, a link, or a directory with all that is in it."""
        try:
            self._done(lambda: self.session.files.remove(file_path, recursive=True))
        except SkiffError as error:
            return DeleteResult(error=f"Error deleting '{file_path}': {error}")
        return DeleteResult(path=file_path)

    def ls(self, path: str) -> LsResult:
        """The entries of a directory, hidden names too."""
        try:
            directory = self._directory(path)
            found = self._done(lambda: self.session.files.list(directory))
        except SkiffError as error:
            return LsResult(error=f"Path '{path}': {error}")
        return LsResult(entries=[FileInfo(path=f"{directory.rstrip('/')}/{one.name}", is_dir=one.type == "directory", size=one.size,
                                          modified_at=one.modified_at) for one in found])

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Files by DeepAgents' rules: without a slash by name at any depth, a slash at the beginning for the directory itself."""
        plain, dotted = "/" not in pattern, "/." in f"/{pattern}"
        try:
            whole, directory = self._anchored(pattern, path), self._directory(path)
            found = self._done(lambda: self.session.files.glob(whole, path=directory, hidden=plain or dotted, ignored=True))
        except SkiffError as error:
            return GlobResult(error=f"Pattern '{pattern}': {error}")
        matches = [FileInfo(path=one.path) for one in found if one.type == "file" and (
            not plain or dotted or not one.path.rpartition("/")[2].startswith("."))]
        return GlobResult(matches=matches, truncated=found.truncated)

    def grep(self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None) -> GrepResult:
        """Lines that contain a text, not an expression; hidden and ignored files too, `.git` not."""
        most = 10_000 if max_count is None else max_count
        try:
            only, directory = self._anchored(glob, path) if glob else None, self._directory(path)
            found = self._done(lambda: self.session.files.grep(pattern, path=directory, literal=True, hidden=True, ignored=True,
                                                               limit=most + 1, glob=only))
        except SkiffError as error:
            return GrepResult(error=f"Path '{path or '.'}': {error}")
        matches = [GrepMatch(path=one.path, line=one.line_number, text=one.text) for one in found]
        return GrepResult(matches=matches[:most], truncated=len(matches) > most or found.truncated)

    def _anchored(self, pattern: str, path: str | None) -> str:
        """DeepAgents' patterns begin at the directory and, without a slash, are names at any depth; skiffd's are whole paths."""
        within = re.sub(r"([][*?{}\\])", r"\\\1", self._directory(path).rstrip("/"))
        return f"{within}/{pattern.lstrip('/') if '/' in pattern else f'**/{pattern}'}"

    def _directory(self, path: str | None) -> str:
        """A directory to look in. For `/`, and what else contains the session's directory, it is that one: no other can be seen."""
        found = os.path.join(self.root, path or "")
        return self.root if f"{self.root}/".startswith(f"{found.rstrip('/')}/") else found

    def _some(self, path: str, first: int, last: int | None) -> tuple[bytes, bool]:
        """Lines of a file, as far as a model may see them at once, and whether there are more."""
        return self._done(lambda: self.session.files.read_lines(path, first, last, max_bytes=MOST_READ_BYTES))

    def _seconds(self, timeout: int | None) -> float | None:
        seconds = self._timeout if timeout is None else timeout
        return seconds if seconds > 0 else None

    def _done(self, work: Callable[[], T]) -> T:
        """The work in a session that exists."""
        assert self.root
        return self._told(work)

    def _told(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except SkiffError as error:
            raise self._explained(error) from None

    def _explained(self, error: SkiffError) -> SkiffError:
        """The error with what a model, or a person, can do about it."""
        hint = ""
        if error.code == "path_escapes_root":
            hint = f"; use paths below {self._root}"
        elif error.code == "session_not_found":
            self._root = ""  # the next call makes the session again
            hint = "; the sandbox was started anew: try once more"
        elif error.status == 401:
            hint = "; `skiff token NAME` prints a token that is valid"
        elif error.code == "connection_failed":
            hint = "; `skiff describe NAME` tells its address"
        return SkiffError(error.code, error.detail + hint, status=error.status, field=error.field, retry_after=error.retry_after)


def _executed(result: Result, seconds: float | None) -> ExecuteResponse:
    output, exit_code = result.exit.error or result.stdout, result.exit_code
    if result.exit.cause == "timeout":
        output, exit_code = f"{output}\n[ended after {seconds:g} s: give it a longer timeout]", 124
    elif result.exit.signal:
        exit_code = 128 + signal.Signals[result.exit.signal]
    return ExecuteResponse(output=output, exit_code=exit_code, truncated=result.truncated)


def _refused(error: SkiffError) -> ExecuteResponse:
    """A refusal that a model can do something about, such as too many commands, is its answer; another is for people."""
    if error.status in (0, 401, 403) or error.status >= 500:
        raise error
    return ExecuteResponse(output=f"Error: {error}", exit_code=126)
