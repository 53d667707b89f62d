"""Changes below a directory."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import httpx

from .. import _async_io as io
from .._errors import SkiffError
from .._found import Change, change
from .._settings import Duration, seconds
from .transport import SILENCE_SECONDS, AsyncTransport, Attempts, Request, lines_of

EVENTS = {"Accept": "text/event-stream"}


class AsyncWatch:
    """An iterator of changes. `with` begins to watch before its block; without it, the first step of the iteration does."""

    def __init__(self, transport: AsyncTransport, path: str, params: Mapping[str, Any], timeout: Duration | None) -> None:
        self._transport, self._path, self._params = transport, path, dict(params)
        self._timeout = None if timeout is None else seconds(timeout)
        self._changes = self._told()
        self._begun = False

    async def __aenter__(self) -> AsyncWatch:
        await self._begin()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._changes.aclose()

    def __aiter__(self) -> AsyncWatch:
        return self

    async def __anext__(self) -> Change:
        await self._begin()
        found = await self._changes.__anext__()
        assert found is not None
        return found

    async def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            await self._changes.__anext__()

    async def _told(self) -> AsyncGenerator[Change | None, None]:
        """None when the directory is watched, then each change."""
        attempts, watching, until = Attempts(), False, None
        while True:
            left = (self._timeout or SILENCE_SECONDS) if until is None else until - time.monotonic()
            if left <= 0:
                return
            request = Request("GET", self._path, params=self._params, headers=EVENTS, seconds=min(left, SILENCE_SECONDS))
            try:
                async with self._transport.opened(request) as answer:
                    async for line in lines_of(answer.aiter_bytes()):
                        if until is not None and time.monotonic() >= until:
                            return
                        if not line.startswith(b"data: "):
                            continue
                        told = self._event(line[6:])
                        attempts.reset()
                        self._params["cursor"] = told["cursor"]
                        if told["type"] != "watching":
                            yield change(told)
                        elif not watching:
                            watching = True
                            yield None
                            until = None if self._timeout is None else time.monotonic() + self._timeout
                raise httpx.ReadError("the watch has ended")
            except httpx.TransportError as error:
                if until is not None and time.monotonic() >= until:
                    return
                pause = attempts.pause(error)
            await io.sleep(pause)

    def _event(self, text: bytes) -> dict[str, Any]:
        try:
            told: dict[str, Any] = json.loads(text)
        except ValueError as error:
            raise httpx.ReadError(f"a line was cut: {error}") from None
        if told["type"] == "error":
            raise SkiffError(str(told["code"]), str(told["detail"]))
        return told
