"""Everything that waits, for the asynchronous faces: `_sync_io` has the same names for the synchronous ones."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")
PIECE = 1 << 18
STOP_SECONDS = 5.0


class Readable(Protocol):
    def read(self, size: int = ..., /) -> bytes: ...



sleep = asyncio.sleep


async def finished(work: Callable[[], Awaitable[T]]) -> T:
    """The work is done to its end, also when the task is cancelled meanwhile."""
    task = asyncio.ensure_future(work())
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


async def blocking(work: Callable[[], T]) -> T:
    """Runs work that blocks, such as work on local files, beside the event loop."""
    return await asyncio.to_thread(work)


async def pieces(file: Readable) -> AsyncIterator[bytes]:
    """The rest of an open file."""
    while piece := await asyncio.to_thread(file.read, PIECE):
        yield piece


async def each(parts: Iterable[bytes]) -> AsyncIterator[bytes]:
    """The parts of a body that is sent once."""
    for part in parts:
        yield part


async def run_program(command: Sequence[str], seconds: float) -> tuple[int, bytes, bytes]:
    """(status, stdout, stderr). A program that is cancelled, or takes longer, gets SIGINT, upon which skiff takes back what it has
    begun. Raises TimeoutError."""
    process = await asyncio.create_subprocess_exec(*command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                                   stderr=subprocess.PIPE, start_new_session=True)
    work = asyncio.ensure_future(process.communicate())
    try:
        out, err = await asyncio.wait_for(asyncio.shield(work), seconds)
        return process.returncode or 0, out, err
    except asyncio.TimeoutError:
        raise TimeoutError from None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGINT)
            await asyncio.wait([work], timeout=STOP_SECONDS)
            if process.returncode is None:
                process.kill()
                await asyncio.wait([work])


class Background:
    """A program that runs until `stop`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def started(cls, command: Sequence[str], seconds: float) -> tuple[Background, str]:
        """The program and its first line; an empty one if it has ended without any. Raises TimeoutError."""
        process = await asyncio.create_subprocess_exec(*command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                                       start_new_session=True)
        assert process.stdout
        background = cls(process)
        try:
            return background, (await asyncio.wait_for(process.stdout.readline(), seconds)).decode()
        except BaseException as error:
            await finished(background.stop)
            if isinstance(error, asyncio.TimeoutError):
                raise TimeoutError from None
            raise

    async def stop(self) -> None:
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()
            try:
                await asyncio.wait_for(self._process.wait(), STOP_SECONDS)
            except asyncio.TimeoutError:
                self._process.kill()
                await self._process.wait()
