"""The files of a session."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import replace
from typing import Any, Protocol, TypeVar, Union, runtime_checkable
from urllib.parse import quote

import httpx

from .. import _async_io as io
from .. import _trees as trees
from .._decode import decode
from .._errors import SkiffError
from .._found import Found, GlobMatch, GrepMatch, Part, glob_match, grep_match
from .._settings import Duration
from .._types import (
    EditedFile,
    EditsRequest,
    FileEntry,
    FileList,
    MakeDirectoryRequest,
    MoveRequest,
    SetModeRequest,
)
from .transport import AsyncTransport, Attempts, Request
from .watch import AsyncWatch

T = TypeVar("T")
OCTETS = {"Content-Type": "application/octet-stream"}


@runtime_checkable
class Readable(Protocol):
    """An open binary file."""

    def read(self, size: int = ..., /) -> bytes: ...
    def seekable(self) -> bool: ...
    def seek(self, offset: int, /) -> int: ...
    def tell(self) -> int: ...


Content = Union[str, bytes, Readable, Iterable[bytes]]


class AsyncFiles:
    """Files below the session's roots. A path is relative to the session's directory, or absolute.

    All methods raise SkiffError: `path_not_found`, `path_escapes_root`, `permission_denied`, `is_a_directory` and others of
    docs/errors.md."""

    def __init__(self, transport: AsyncTransport, session: str) -> None:
        self._transport, self._session = transport, session

    async def write(self, path: str, content: Content, *, mode: str | None = None) -> FileEntry:
        """Writes a whole file in one step: readers see the old file or the new one. Missing directories are made.

        content: text (as UTF-8), bytes, an open binary file from its position on, or an iterable of bytes. The latter, and a file
        that can't seek, are sent once: if the connection breaks, `connection_failed` is raised and the file is as before, or
        complete. mode: octal, such as "0755".
        Route: PUT /v1/sessions/{sid}/files/{path}."""
        body, again = _body(content)
        params = {"mode": mode} if mode else {}
        return await self._entry(Request("PUT", self._file(path), params=params, content=body, headers=OCTETS, again=again))

    async def append(self, path: str, data: str | bytes, *, offset: int | None = None) -> EditedFile:
        """Appends to a file, which is made if it is missing. offset: size in bytes that the file must have, else
        `append_offset_mismatch`. Not repeated if the connection breaks. Route: PATCH /v1/sessions/{sid}/files/{path}."""
        content = data.encode() if isinstance(data, str) else data
        params = {"append": "true", **({} if offset is None else {"offset": offset})}
        answer = await self._transport.ask(Request("PATCH", self._file(path), params=params, content=lambda: content, headers=OCTETS,
                                                   again=False))
        return decode(EditedFile, answer.json())

    async def read(self, path: str) -> bytes:
        """The bytes of a file. Route: GET /v1/sessions/{sid}/files/{path}."""
        return b"".join([piece async for piece in self.read_pieces(path)])

    async def read_text(self, path: str) -> str:
        """A file as UTF-8. Raises UnicodeDecodeError if it is not. Route: GET /v1/sessions/{sid}/files/{path}."""
        return (await self.read(path)).decode()

    async def read_pieces(self, path: str, *, offset: int = 0) -> AsyncIterator[bytes]:
        """The bytes of a file from `offset` on, as they come. A connection that breaks is taken up at its byte.

        Raises SkiffError (`precondition_failed`) if the file changes meanwhile. Route: GET /v1/sessions/{sid}/files/{path}."""
        attempts, at, version, size = Attempts(), offset, "", None
        while size is None or at < size:
            headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={at}-"} if at else {}),
                       **({"If-Range": version} if version else {})}
            try:
                async with self._transport.opened(Request("GET", self._file(path), headers=headers)) as answer:
                    if version and answer.status_code != 206:
                        raise SkiffError("precondition_failed", f"{path} has changed while it was read")
                    version = answer.headers.get("etag", "")
                    size = at + int(answer.headers.get("content-length", 0))
                    async for piece in answer.aiter_bytes():
                        attempts.reset()
                        at += len(piece)
                        yield piece
                return
            except httpx.TransportError as error:
                pause = attempts.pause(error)
            except SkiffError as error:
                if error.code == "range_not_satisfiable" and at == offset:
                    return
                raise
            await io.sleep(pause)

    async def read_lines(self, path: str, first: int = 1, last: int | None = None, *, max_bytes: int = 1 << 20) -> Part:
        """Some lines of a file, counted from 1, up to and including `last`; None: to its end. At most `max_bytes` of them: then
        `truncated` is true. Route: GET /v1/sessions/{sid}/files/{path}."""
        request, attempts = Request("GET", self._file(path), params={"lines": f"{first}-{last or ''}"}), Attempts()
        while True:
            data = bytearray()
            try:
                async with self._transport.opened(request) as answer:
                    async for piece in answer.aiter_bytes():
                        data += piece
                        if len(data) > max_bytes:
                            break
                return Part(bytes(data[:max_bytes]), len(data) > max_bytes)
            except httpx.TransportError as error:
                pause = attempts.pause(error)
            await io.sleep(pause)

    async def edit(self, path: str, old: str, new: str, *, count: int = 1) -> EditedFile:
        """Replaces a text that must occur `count` times (0: at least once); `diff` of the answer shows the change. Not repeated if
        the connection breaks.

        Route: PATCH /v1/sessions/{sid}/files/{path}. Errors: `edit_not_found`, and then nothing is changed."""
        body: EditsRequest = {"edits": [{"old": old, "new": new, "count": count}]}
        answer = await self._transport.ask(Request("PATCH", self._file(path), json=body, again=False))
        return decode(EditedFile, answer.json())

    async def list(self, path: str = ".", *, recursive: bool = False, pattern: str | None = None) -> list[FileEntry]:
        """The entries of a directory, hidden ones too, with paths for `read`. pattern: a glob, or `re:` and a regular expression (RE2),
        for paths below the directory.

        Route: GET /v1/sessions/{sid}/files:list."""
        params: dict[str, Any] = {"path": path, "recursive": str(recursive).lower(), **({"pattern": pattern} if pattern else {})}
        found: list[FileEntry] = []
        while True:
            page = decode(FileList, (await self._transport.ask(Request("GET", self._path("list"), params=params))).json())
            found += page.items if path == "." else [replace(one, path=os.path.join(path, one.path)) for one in page.items]
            if page.next_cursor is None:
                return found
            params["cursor"] = page.next_cursor

    async def stat(self, path: str) -> FileEntry:
        """The entry at a path; a link at its end is not followed. Route: GET /v1/sessions/{sid}/files:stat."""
        told = (await self._transport.ask(Request("GET", self._path("stat"), params={"path": path}))).json()["items"][0]
        if error := told.get("error"):
            raise SkiffError(error["code"], error["detail"])
        return decode(FileEntry, told)

    async def exists(self, path: str) -> bool:
        """True if anything is at the path. Route: GET /v1/sessions/{sid}/files:stat."""
        try:
            await self.stat(path)
        except SkiffError as error:
            if error.code != "path_not_found":
                raise
            return False
        return True

    async def remove(self, path: str, *, recursive: bool = False) -> None:
        """Deletes a file, a link or a directory. recursive: with its contents. Route: DELETE /v1/sessions/{sid}/files/{path}."""
        request = Request("DELETE", self._file(path), params={"recursive": str(recursive).lower()})
        try:
            await self._transport.ask(request)
        except SkiffError as error:
            if error.code != "path_not_found" or request.fresh:
                raise  # else an earlier attempt, whose answer was lost, has deleted it

    async def move(self, source: str, target: str, *, overwrite: bool = False) -> FileEntry:
        """Moves a file, link or directory. Not repeated if the connection breaks. Route: POST /v1/sessions/{sid}/files:move."""
        body: MoveRequest = {"from": source, "to": target, "overwrite": overwrite}
        return await self._entry(Request("POST", self._path("move"), json=body, again=False))

    async def copy(self, source: str, target: str, *, overwrite: bool = False) -> FileEntry:
        """Copies a file, link or directory. Route: POST /v1/sessions/{sid}/files:copy."""
        body: MoveRequest = {"from": source, "to": target, "overwrite": overwrite}
        return await self._entry(Request("POST", self._path("copy"), json=body, again=overwrite))

    async def mkdir(self, path: str) -> FileEntry:
        """Makes a directory and its missing parents; it may exist. Route: POST /v1/sessions/{sid}/files:mkdir."""
        body: MakeDirectoryRequest = {"path": path, "parents": True}
        return await self._entry(Request("POST", self._path("mkdir"), json=body))

    async def chmod(self, path: str, mode: str) -> FileEntry:
        """Sets the mode, octal such as "0755". Route: POST /v1/sessions/{sid}/files:chmod."""
        body: SetModeRequest = {"path": path, "mode": mode}
        return await self._entry(Request("POST", self._path("chmod"), json=body))

    async def glob(self, pattern: str, *, path: str = ".", hidden: bool = False, ignored: bool = False,
                   limit: int | None = None) -> Found[GlobMatch]:
        """Paths that match a glob (`**/*.py`). hidden: names that begin with a dot, too; ignored: what .gitignore excludes, too.

        Route: GET /v1/sessions/{sid}/files:glob."""
        return await self._search("glob", glob_match, pattern=pattern, path=path, hidden=hidden, ignored=ignored, limit=limit)

    async def grep(self, pattern: str, *, path: str = ".", literal: bool = False, ignore_case: bool = False, glob: str | None = None,
                   context: int = 0, hidden: bool = False, ignored: bool = False, limit: int | None = None) -> Found[GrepMatch]:
        """Lines that match a regular expression (RE2), or contain a text with `literal`. glob: only files whose path matches.
        context: lines before and after each. hidden, ignored: see `glob`.

        Route: GET /v1/sessions/{sid}/files:grep."""
        return await self._search("grep", grep_match, pattern=pattern, path=path, literal=literal, ignore_case=ignore_case, glob=glob,
                                  context=context, hidden=hidden, ignored=ignored, limit=limit)

    def watch(self, path: str = ".", *, recursive: bool = False, timeout: Duration | None = None) -> AsyncWatch:
        """Changes in a directory, as they come. `with` begins to watch before its block, so that nothing is missed.

        recursive: also in the directories below it. timeout: seconds or "90s" after which the iteration ends; None: it goes on until
        the block is left.
        Route: GET /v1/sessions/{sid}/files:watch. A connection that breaks is taken up behind the last change."""
        return AsyncWatch(self._transport, self._path("watch"), {"path": path, "recursive": str(recursive).lower()}, timeout)

    async def upload(self, source: str | os.PathLike[str], target: str = ".") -> None:
        """Copies a local file or directory into the directory `target`, with modes and links. Files of the same name are replaced.

        Route: PUT /v1/sessions/{sid}/files:archive."""
        with await io.blocking(lambda: trees.packed(source)) as archive:
            body, again = _body(archive)
            await self._transport.ask(Request("PUT", self._path("archive"), params={"path": target}, content=body, headers=OCTETS,
                                              again=again))

    async def download(self, source: str, target: str | os.PathLike[str]) -> None:
        """Copies a directory's contents, or a file, into the local directory `target`, which is made if it is missing. Nothing is
        written outside of it.

        Route: GET /v1/sessions/{sid}/files:archive."""
        request, attempts = Request("GET", self._path("archive"), params={"path": source, "whole": "true"}), Attempts()
        while True:
            with trees.spool() as archive:
                try:
                    async with self._transport.opened(request) as answer:
                        async for piece in answer.aiter_bytes():
                            archive.write(piece)
                    await io.blocking(lambda: trees.unpack(archive, target))
                    return
                except httpx.TransportError as error:
                    pause = attempts.pause(error)
            await io.sleep(pause)

    async def _search(self, kind: str, match: Callable[[dict[str, Any]], T], **wanted: Any) -> Found[T]:
        params = {name: str(value).lower() if isinstance(value, bool) else value for name, value in wanted.items() if value is not None}
        attempts = Attempts()
        while True:
            try:
                records = [told async for told in self._transport.lines(Request("GET", self._path(kind), params=params))]
                if not records or records[-1].get("type") != "summary":
                    raise httpx.ReadError("the search has no end")
                summary = records[-1]
                return Found(map(match, records[:-1]), bool(summary["truncated"]), int(summary["unreadable"]))
            except httpx.TransportError as error:
                pause = attempts.pause(error)
            await io.sleep(pause)

    async def _entry(self, request: Request) -> FileEntry:
        return decode(FileEntry, (await self._transport.ask(request)).json())

    def _file(self, path: str) -> str:
        return f"{self._session}/files/{quote(os.fsencode(path), safe='')}"  # with %2F even `../x` arrives as it is

    def _path(self, what: str) -> str:
        return f"{self._session}/files:{what}"


def _body(content: Content) -> tuple[Callable[[], Any], bool]:
    """A function that makes the body, and whether it can make it again."""
    if isinstance(content, str):
        content = content.encode()
    if isinstance(content, (bytes, bytearray, memoryview)):
        data = bytes(content)
        return lambda: data, True
    if not isinstance(content, Readable):
        return lambda: io.each(content), False
    file = content
    if not file.seekable():
        return lambda: io.pieces(file), False
    start = file.tell()

    def again() -> Any:
        file.seek(start)
        return io.pieces(file)
    return again, True
