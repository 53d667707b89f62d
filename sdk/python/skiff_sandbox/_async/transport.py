"""Requests to one sandbox or server, repeated where a repetition does nothing twice."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx

from .. import _async_io as io
from .._errors import SkiffError, refusal
from .._reach import context_for, is_loopback
from .._settings import Duration, seconds

# Seconds before each further attempt at a connection that broke.
PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
# A stream that has nothing to tell says so each 15 s: a minute of silence is a broken connection.
SILENCE_SECONDS = 60.0
CONNECT_SECONDS = 10.0
# Each command that is followed has a connection.
LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=5.0)
# Refusals that come before anything was done, and pass by themselves.
PASSING = {"sandbox_starting", "too_many_connections"}
PATIENCE_SECONDS = 60.0
# Exceptions that come before the request was sent.
UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class Deadline:
    """The end of a wait; None: none."""

    def __init__(self, patience: Duration | None, what: str) -> None:
        self._seconds, self._what = 0.0 if patience is None else seconds(patience), what
        self._at = None if patience is None else time.monotonic() + self._seconds

    def left(self, most: float) -> float:
        """Seconds until it, at most `most`. Raises SkiffError (`timeout`) after it."""
        if self._at is None:
            return most
        left = self._at - time.monotonic()
        if left <= 0:
            raise SkiffError("timeout", f"{self._what}: not within {self._seconds:g} s")
        return min(left, most)


@dataclass
class Request:
    """`content` makes the body, anew for each attempt. `again`: a repetition does nothing twice."""
    method: str
    path: str
    params: Mapping[str, Any] = field(default_factory=dict)
    json: Any = None
    content: Callable[[], Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    again: bool = True
    seconds: float = SILENCE_SECONDS  # most seconds without a byte of the answer
    deadline: Deadline | None = None  # of all attempts together
    fresh: bool = True  # no attempt was made whose outcome is not known


@dataclass(frozen=True)
class Address:
    """Where requests go, and what shows that they may."""
    url: str
    headers: Mapping[str, str]


class AsyncRenewer(Protocol):
    """Gives the address anew when the agent does not accept its token any more."""

    async def __call__(self) -> Address: ...


class Attempts:
    """Counts attempts that failed since the last success."""

    def __init__(self) -> None:
        self._failed = 0

    def reset(self) -> None:
        self._failed = 0

    def pause(self, error: Exception) -> float:
        """Seconds before the next attempt. Raises SkiffError (`connection_failed`) after the last one."""
        if self._failed == len(PAUSES):
            raise broken(error, "several attempts have failed") from error
        self._failed += 1
        return PAUSES[self._failed - 1]


class Patience:
    """How often and how long one request is sent again after refusals."""

    def __init__(self) -> None:
        self._until, self._renewed = time.monotonic() + PATIENCE_SECONDS, False

    def may_renew(self) -> bool:
        """True at the first call."""
        self._renewed, before = True, self._renewed
        return not before

    def lasts(self) -> bool:
        return time.monotonic() < self._until


class AsyncTransport:
    """Connections to one address, for any number of requests at a time."""

    def __init__(self, address: Address, renew: AsyncRenewer | None = None) -> None:
        self._address, self._renew, self.instance = address, renew, ""
        self.client = httpx.AsyncClient(timeout=httpx.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS), limits=LIMITS,
                                        verify=context_for(address.url), trust_env=not is_loopback(address.url))

    @property
    def address(self) -> Address:
        return self._address

    def check_open(self) -> None:
        """Raises SkiffError (`closed`)."""
        if self.client.is_closed:
            raise SkiffError("closed", "this object was closed, as at the end of its `with` block: connect to the sandbox again")

    async def aclose(self) -> None:
        await self.client.aclose()

    async def ask(self, request: Request) -> httpx.Response:
        """The whole answer. Raises SkiffError."""
        attempts, patience = Attempts(), Patience()
        while True:
            try:
                async with self._sent(request) as answer:
                    await answer.aread()
                    return answer
            except httpx.TransportError as error:
                if not isinstance(error, UNSENT) and not request.again:
                    raise broken(error, f"{request.method} may have been done, and is not repeated") from error
                pause = self._pause(request, attempts, error)
            except SkiffError as error:
                if error.code == "bad_gateway" and request.again:
                    pause = self._pause(request, attempts, error)
                else:
                    pause = await self._mended(request, error, patience)
            await io.sleep(pause)

    async def lines(self, request: Request) -> AsyncIterator[dict[str, Any]]:
        """The records of one answer in NDJSON, as they come. Raises httpx.TransportError if the connection breaks."""
        async with self.opened(request) as answer:
            async for line in lines_of(answer.aiter_bytes()):
                if line:
                    yield record(line)

    @contextlib.asynccontextmanager
    async def opened(self, request: Request) -> AsyncIterator[httpx.Response]:
        """An answer that is not read yet. Raises httpx.TransportError if the connection breaks, SkiffError for an error."""
        patience = Patience()
        async with contextlib.AsyncExitStack() as stack:
            while True:
                try:
                    answer = await stack.enter_async_context(self._sent(request))
                    break
                except SkiffError as error:
                    if error.code == "bad_gateway":
                        raise httpx.ReadError(error.detail) from error
                    pause = await self._mended(request, error, patience)
                await io.sleep(pause)
            yield answer

    def _pause(self, request: Request, attempts: Attempts, error: Exception) -> float:
        if request.deadline:
            request.deadline.left(0)
        request.fresh = False
        return attempts.pause(error)

    async def _mended(self, request: Request, error: SkiffError, patience: Patience) -> float:
        """Seconds after which the request can be sent again, which has done nothing. Raises the error if it would not help."""
        if error.code == "instance_changed" and request.fresh:
            request.fresh = False
            request.json["if_instance"] = self.instance  # this answer's: the agent that has refused
            return 0.0
        if error.status == 401 and self._renew and patience.may_renew():
            self._address = await self._renew()
            return 0.0
        if error.code in PASSING and patience.lasts():
            return error.retry_after or 1.0
        raise error

    @contextlib.asynccontextmanager
    async def _sent(self, request: Request) -> AsyncIterator[httpx.Response]:
        """One attempt. Raises SkiffError for an answer that is an error."""
        self.check_open()
        seconds = request.deadline.left(request.seconds) if request.deadline else request.seconds
        options: dict[str, Any] = {"params": dict(request.params), "headers": {**request.headers, **self._address.headers},
                                   "timeout": httpx.Timeout(seconds, connect=CONNECT_SECONDS)}
        if request.json is not None:
            options["json"] = request.json
        elif request.content is not None:
            options["content"] = request.content()
        async with self.client.stream(request.method, self._address.url + request.path, **options) as answer:
            self.instance = answer.headers.get("x-skiff-instance", self.instance)
            if answer.status_code >= 400:
                raise refusal(answer.status_code, answer.headers, await answer.aread())
            yield answer


def broken(error: Exception, why: str) -> SkiffError:
    return SkiffError("connection_failed", f"the connection broke ({type(error).__name__}: {error}): {why}")


def record(line: bytes) -> dict[str, Any]:
    """A line of JSON. A line that was cut is a broken connection."""
    try:
        told = json.loads(line)
    except ValueError as error:
        raise httpx.ReadError(f"a line was cut: {error}") from None
    if not isinstance(told, dict):
        raise SkiffError("invalid_answer", "a line of the answer is not an object")
    return told


async def lines_of(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Lines end with LF alone: httpx would also cut a text at U+2028."""
    rest = b""
    async for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield line
    if rest:
        yield rest
