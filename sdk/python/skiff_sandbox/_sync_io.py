"""Everything that waits, for the synchronous faces: `_async_io` has the same names for the asynchronous ones."""

from __future__ import annotations

import contextlib
import selectors
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from time import sleep as sleep
from typing import Protocol, TypeVar

T = TypeVar("T")
PIECE = 1 << 18
STOP_SECONDS = 5.0


class Readable(Protocol):
    def read(self, size: int = ..., /) -> bytes: ...


def finished(work: Callable[[], T]) -> T:
    """Nothing cancels a call."""
    return work()


def blocking(work: Callable[[], T]) -> T:
    """Runs work that blocks, such as work on local files."""
    return work()


def pieces(file: Readable) -> Iterator[bytes]:
    """The rest of an open file."""
    while piece := file.read(PIECE):
        yield piece


def each(parts: Iterable[bytes]) -> Iterator[bytes]:
    """The parts of a body that is sent once."""
    yield from parts


def run_program(command: Sequence[str], seconds: float) -> tuple[int, bytes, bytes]:
    """(status, stdout, stderr). A program that takes longer, or is interrupted, gets SIGINT, upon which skiff takes back what it has
    begun. Raises TimeoutError."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               start_new_session=True)
    try:
        out, err = process.communicate(timeout=seconds)
        return process.returncode, out, err
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=STOP_SECONDS)
            if process.poll() is None:
                process.kill()
                process.communicate()


class Background:
    """A program that runs until `stop`."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    @classmethod
    def started(cls, command: Sequence[str], seconds: float) -> tuple[Background, str]:
        """The program and its first line; an empty one if it has ended without any. Raises TimeoutError."""
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True)
        assert process.stdout
        background = cls(process)
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(process.stdout, selectors.EVENT_READ)
                if not selector.select(seconds):
                    raise TimeoutError
            return background, process.stdout.readline().decode()
        except BaseException:
            background.stop()
            raise

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()
