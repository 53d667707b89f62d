"""A sandbox backend for DeepAgents: what the agent runs and writes is in a skiffd, by its own HTTP API.

    sandbox = SkiffSandbox("http://127.0.0.1:7070", token, thread_id="conversation-1")
    agent = create_deep_agent(model=model, backend=sandbox)

Needs deepagents 0.7, whose httpx it uses, and nothing in the sandbox but a shell: no Python, as DeepAgents' own need there.
`skiff token NAME -o json` prints the url and the token of a sandbox. Each `thread_id` is a session with a directory of its
own, the same one whenever it is named again; `skiff session rm NAME thread-ID` ends what runs there and forgets it.
Paths are those that commands see. What DeepAgents sets aside by itself (large results, old messages) goes below `/`, outside of
most sandboxes: `CompositeBackend(default=sandbox, routes={}, artifacts_root=f"{sandbox.root}/.deepagents")` keeps it inside.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import os
import re
import signal
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
from deepagents.backends.protocol import (
    DeleteResult, EditResult, ExecuteResponse, FileData, FileDownloadResponse, FileInfo, FileUploadResponse, GlobResult, GrepMatch,
    GrepResult, LsResult, ReadResult, SandboxBackendProtocol, WriteResult)

MOST_READ_BYTES = 500 * 1024  # what one read() shows a model, as of DeepAgents' own sandboxes
PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6)  # seconds before each further attempt at a connection that broke
FILE_ERRORS = {"path_not_found": "file_not_found", "is_a_directory": "is_directory", "permission_denied": "permission_denied",
               "path_escapes_root": "permission_denied", "name_too_long": "invalid_path", "invalid_field": "invalid_path"}


class SkiffError(Exception):
    """What skiffd refused, or why it can't be reached. `code` is its stable word, as `path_not_found`; empty without one."""

    def __init__(self, text: str, code: str = "", status: int = 0) -> None:
        super().__init__(text)
        self.code, self.status = code, status


class SkiffSandbox(SandboxBackendProtocol):
    """One session of a skiffd. Methods may be called from any number of threads and event loops."""

    def __init__(self, url: str | None = None, token: str | None = None, *, thread_id: str | None = None,
                 timeout: int = 1800) -> None:
        """`url`, `token`: of the agent; else SKIFF_URL and SKIFF_TOKEN. `thread_id`: any text; without it the session that all
        share. `timeout`: seconds that a command may take unless execute() says otherwise; 0: for ever. Nothing is sent yet."""
        self._url = (url or os.environ.get("SKIFF_URL", "http://127.0.0.1:7070")).rstrip("/")
        secret = token or os.environ.get("SKIFF_TOKEN", "")
        if not secret:
            raise SkiffError("skiffd wants a token: give token=, or set SKIFF_TOKEN (`skiff token NAME` prints one)")
        self._session, self._timeout = "default", timeout
        if thread_id is not None:
            is_name = re.fullmatch(r"[A-Za-z0-9._-]{1,57}", thread_id)
            self._session = f"thread-{thread_id if is_name else hashlib.sha256(thread_id.encode()).hexdigest()[:32]}"
        # A silent answer says something each 15 s, so a minute without a byte is a broken connection.
        self._options: dict[str, Any] = {"headers": {"X-Skiff-Token": secret}, "timeout": httpx.Timeout(60, connect=10),
                                         "verify": httpx.create_ssl_context()}
        self._client, self._root = httpx.Client(**self._options), ""

    @property
    def id(self) -> str:  # the session's address
        return f"{self._url}/v1/sessions/{self._session}"

    @property
    def root(self) -> str:
        """The session's directory: where commands begin, and relative paths. Makes the session where it is not there yet."""
        if not self._root:
            made = () if self._session == "default" else (("json", {"root": self._session}),)
            self._root = str(self._ask("PUT" if made else "GET", self.id, **dict(made)).json()["root"])
        return self._root

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Runs a shell line: stdout and stderr as they came. It is started once even if the connection breaks, which is taken
        up again. After `timeout` seconds (0: never) its whole tree is ended, and the exit code is 124."""
        address, body = f"{self._made()}/commands", self._command(command, timeout)
        try:
            return _executed(self._ask("POST", address, json=body).json(), body)
        except SkiffError as error:
            return _refused(error)
        except BaseException:
            with contextlib.suppress(SkiffError):  # it has never begun
                self._ask("DELETE", f"{address}/{body['id']}")
            raise

    async def aexecute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """The same; a task that is cancelled ends its command."""
        address, body = f"{await asyncio.to_thread(self._made)}/commands", self._command(command, timeout)
        pauses = iter(PAUSES)
        try:
            async with httpx.AsyncClient(**self._options) as client:
                while True:
                    try:
                        return _executed(self._checked(await client.post(address, json=body)).json(), body)
                    except httpx.TransportError as error:
                        await asyncio.sleep(self._pause(pauses, error))
        except SkiffError as error:
            return _refused(error)
        except BaseException:
            with contextlib.suppress(SkiffError):
                await asyncio.shield(asyncio.to_thread(self._ask, "DELETE", f"{address}/{body['id']}"))
            raise

    def _command(self, command: str, timeout: int | None) -> dict[str, Any]:
        seconds = self._timeout if timeout is None else timeout
        return {"id": f"da-{os.urandom(8).hex()}", "command": command, "output": {"merge_stderr": True},
                **({"timeout_ms": seconds * 1000} if seconds > 0 else {})}

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Each is seen whole or not at all; missing directories are made."""
        def one(path: str, content: bytes) -> FileUploadResponse:
            try:
                self._ask("PUT", self._file(path), content=content)
                return FileUploadResponse(path=path)
            except SkiffError as error:
                return FileUploadResponse(path=path, error=FILE_ERRORS.get(error.code, str(error)))
        return [one(path, content) for path, content in files]

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """The bytes of each, or why not."""
        def one(path: str) -> FileDownloadResponse:
            try:
                return FileDownloadResponse(path=path, content=self._ask("GET", self._file(path)).content)
            except SkiffError as error:
                return FileDownloadResponse(path=path, error=FILE_ERRORS.get(error.code, str(error)))
        return [one(path) for path in paths]

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Lines of a text, or all of what isn't UTF-8 as base64. At most 500 KiB: `next_offset` says where it goes on."""
        offset, limit = max(int(offset), 0), max(int(limit), 0)
        if limit == 0:
            return ReadResult(file_data=FileData(content="", encoding="utf-8"), no_lines_requested=True)
        try:
            raw, is_cut = self._some(file_path, {"lines": f"{offset + 1}-{offset + limit + 1}"})
            lines = re.findall(rb"[^\n]*\n|[^\n]+", raw)
            if is_cut and len(lines) > 1 and not lines[-1].endswith(b"\n"):
                lines.pop()  # the rest of it is another read
            shown = lines[:limit]
            text = b"".join(shown).decode("utf-8", "ignore" if is_cut and len(shown) == 1 else "strict")
        except SkiffError as error:
            return ReadResult(error=f"File '{file_path}': {error}")
        except UnicodeDecodeError:
            raw, is_cut = self._some(file_path, {})
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
            self._ask("PUT", self._file(file_path), content=content.encode())
        except SkiffError as error:  # in full: it says which paths can be used
            return WriteResult(error=f"Failed to write file '{file_path}': {error}")
        return WriteResult(path=file_path)

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        """Where `old_string` is not there once (with `replace_all`: at least once) nothing is changed."""
        try:
            count = max(1, self._ask("GET", self._file(file_path)).content.count(old_string.encode())) if replace_all else 1
            self._ask("PATCH", self._file(file_path), json={"edits": [{"old": old_string, "new": new_string, "count": count}]})
        except SkiffError as error:
            hint = ": give more of what is around it, or replace_all" if error.code == "edit_not_found" else ""
            return EditResult(error=f"Error editing file '{file_path}': {error}{hint}")
        return EditResult(path=file_path, occurrences=count)

    def delete(self, file_path: str) -> DeleteResult:
        """A file, a link, or a directory with all that is in it."""
        try:
            self._ask("DELETE", self._file(file_path), params={"recursive": "true"})
        except SkiffError as error:
            return DeleteResult(error=f"Error deleting '{file_path}': {error}")
        return DeleteResult(path=file_path)

    def ls(self, path: str) -> LsResult:
        """What a directory holds, hidden names too."""
        try:
            entries: list[FileInfo] = []
            directory, cursor = self._directory(path), ""
            while cursor is not None:
                wanted = {"path": directory, **({"cursor": cursor} if cursor else {})}
                page = self._ask("GET", f"{self._made()}/files:list", params=wanted).json()
                entries += [FileInfo(path=f"{directory.rstrip('/')}/{one['name']}", is_dir=one["type"] == "directory",
                                     size=one["size"], modified_at=one["modified_at"]) for one in page["items"]]
                cursor = page.get("next_cursor")
            return LsResult(entries=entries)
        except SkiffError as error:
            return LsResult(error=f"Path '{path}': {error}")

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Files by DeepAgents' rules: without a slash by name at any depth, a slash at the beginning for the directory itself."""
        plain, dotted = "/" not in pattern, "/." in f"/{pattern}"
        try:
            *found, summary = self._search("glob", path, pattern=self._anchored(pattern, path), hidden=plain or dotted)
        except SkiffError as error:
            return GlobResult(error=f"Pattern '{pattern}': {error}")
        matches = [FileInfo(path=one["path"]) for one in found if one["type"] == "file" and (
            not plain or dotted or not one["path"].rpartition("/")[2].startswith("."))]
        return GlobResult(matches=matches, truncated=bool(summary["truncated"]))

    def grep(self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None) -> GrepResult:
        """Lines that hold a text, not an expression; hidden and ignored files too, `.git` not."""
        most = 10_000 if max_count is None else max_count
        only = {"glob": self._anchored(glob, path)} if glob else {}
        try:
            *found, summary = self._search("grep", path, pattern=pattern, literal=True, hidden=True, limit=most + 1, **only)
        except SkiffError as error:
            return GrepResult(error=f"Path '{path or '.'}': {error}")
        matches = [GrepMatch(path=one["path"], line=one["line_number"], text=one["text"] if "text" in one else
                             base64.b64decode(one["text_base64"]).decode(errors="replace")) for one in found]
        return GrepResult(matches=matches[:most], truncated=len(matches) > most or bool(summary["truncated"]))

    def _search(self, kind: str, path: str | None, **wanted: Any) -> Iterator[dict[str, Any]]:
        """The records of a search, the summary last."""
        wanted = {"path": self._directory(path), "ignored": True, **wanted}
        return map(json.loads, self._ask("GET", f"{self._made()}/files:{kind}", params=wanted).iter_lines())

    def _anchored(self, pattern: str, path: str | None) -> str:
        """DeepAgents' patterns begin at the directory and, without a slash, are names at any depth; skiffd's are whole paths."""
        within = re.sub(r"([][*?{}\\])", r"\\\1", self._directory(path).rstrip("/"))
        return f"{within}/{pattern.lstrip('/') if '/' in pattern else f'**/{pattern}'}"

    def _directory(self, path: str | None) -> str:
        """A directory to look in: of `/`, and of what else holds the session's directory, that one alone can be seen."""
        found = os.path.join(self.root, path or "")
        return self.root if f"{self.root}/".startswith(f"{found.rstrip('/')}/") else found

    def _made(self) -> str:  # the address of a session that is there
        return self.id if self.root else ""

    def _file(self, path: str) -> str:
        return f"{self._made()}/files/{quote(path, safe='')}"  # with %2F even `../x` arrives as it is

    def _some(self, path: str, params: dict[str, str]) -> tuple[bytes, bool]:
        """The first MOST_READ_BYTES of a file, and whether there are more."""
        raw = bytearray()
        try:
            with self._client.stream("GET", self._file(path), params=params) as answer:
                if answer.status_code >= 400:
                    answer.read()
                for piece in self._checked(answer).iter_bytes():
                    raw += piece
                    if len(raw) > MOST_READ_BYTES:
                        return bytes(raw[:MOST_READ_BYTES]), True
        except httpx.TransportError as error:
            self._pause(iter(()), error)
        return bytes(raw), False

    def _ask(self, method: str, address: str, **options: Any) -> httpx.Response:
        """One request. All may be sent twice without harm but an edit: a command has an id, by which it runs once."""
        pauses = iter(() if method == "PATCH" else PAUSES)
        while True:
            try:
                return self._checked(self._client.request(method, address, **options))
            except httpx.TransportError as error:
                time.sleep(self._pause(pauses, error))

    def _pause(self, pauses: Iterator[float], error: Exception) -> float:
        for pause in pauses:
            return pause
        raise SkiffError(f"no skiffd at {self._url} ({error!r}): `skiff describe NAME` tells its address") from error

    def _checked(self, answer: httpx.Response) -> httpx.Response:
        if answer.status_code < 400:
            return answer
        problem = answer.json() if "problem+json" in answer.headers.get("content-type", "") else {"title": answer.text[:200]}
        code, text = str(problem.get("code", "")), str(problem.get("detail") or problem.get("title"))
        if code == "path_escapes_root":
            text += f"; use paths below {self._root}"
        elif code == "session_not_found":
            self._root = ""  # the next call makes the session again
            text += "; the sandbox was started anew: try once more"
        elif answer.status_code == 401:
            text += "; `skiff token NAME` prints a token that is valid"
        raise SkiffError(text, code, answer.status_code)


def _executed(result: dict[str, Any], body: dict[str, Any]) -> ExecuteResponse:
    told = result["error"]["message"] if result["cause"] == "spawn_failed" else result["stdout"]
    output, exit_code = str(told), result["exit_code"]
    if result["cause"] == "timeout":
        output, exit_code = f"{output}\n[ended after {body['timeout_ms'] // 1000} s: give it a longer timeout]", 124
    elif result["signal"]:
        exit_code = 128 + signal.Signals[result["signal"]]
    return ExecuteResponse(output=output, exit_code=exit_code, truncated=bool(result["truncated"]))


def _refused(error: SkiffError) -> ExecuteResponse:
    """What a model can do something about, as too many commands at once, is told to it; the rest is for people."""
    if error.status in (0, 401, 403) or error.status >= 500:
        raise error
    return ExecuteResponse(output=f"Error: {error}", exit_code=126)
