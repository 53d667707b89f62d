"""Changes of a server's list of sandboxes."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

import httpx

from .. import _async_io as io
from .._listed import SandboxEvent, Snapshot
from .._settings import Server
from .transport import Address, AsyncTransport, Attempts, Request, lines_of


class AsyncSandboxWatch:
    """An iterator of changes. Leaving its `with` block closes its connection. A connection that breaks is replaced by another
    one, which goes on behind the last event."""

    def __init__(self, server: Server, owner: str | None, cursor: str | None) -> None:
        self._transport = AsyncTransport(Address(server.url, {"X-API-Key": server.api_key}))
        self._params = {} if owner is None else {"owner": owner}
        self._cursor = cursor or ""
        self._events = self._told()

    async def __aenter__(self) -> AsyncSandboxWatch:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._events.aclose()
        await self._transport.aclose()

    def __aiter__(self) -> AsyncSandboxWatch:
        return self

    async def __anext__(self) -> SandboxEvent:
        return await self._events.__anext__()

    async def _told(self) -> AsyncGenerator[SandboxEvent, None]:
        attempts = Attempts()
        while True:
            # A cursor in a header field alone is one that is not in the log of a proxy.
            headers = {"Accept": "text/event-stream", **({"Last-Event-ID": self._cursor} if self._cursor else {})}
            snapshot = Snapshot()
            try:
                async with self._transport.opened(Request("GET", "/v1/events", params=self._params, headers=headers)) as answer:
                    async for line in lines_of(answer.aiter_bytes()):
                        if not line.startswith(b"data: "):
                            continue
                        told = _record(line[6:])
                        attempts.reset()
                        self._cursor = str(told.get("cursor", self._cursor))
                        event = snapshot.take(told, self._cursor)
                        if event is not None:
                            yield event
                raise httpx.ReadError("the stream has ended")
            except httpx.TransportError as error:
                pause = attempts.pause(error)
            await io.sleep(pause)


def _record(text: bytes) -> dict[str, Any]:
    try:
        told: dict[str, Any] = json.loads(text)
    except ValueError as error:
        raise httpx.ReadError(f"a line was cut: {error}") from None
    if told["type"] == "error":
        # The next connection says it again if it is about the key; a server that stops has a successor.
        raise httpx.ReadError(str(told["detail"]))
    return told
