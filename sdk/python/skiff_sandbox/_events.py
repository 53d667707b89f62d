"""Events of a command: its output, what of it was dropped, and its end; and what all of it comes to."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Union

from ._errors import SkiffError
from ._types import CommandCause, StateSaved


@dataclass(frozen=True)
class Output:
    """Bytes that the command wrote."""
    stream: Literal["stdout", "stderr"]
    data: bytes
    offset: int  # of the first byte; both streams are counted together, from 0
    next: int  # offset after the last byte: `events(offset=...)` goes on there
    time: str  # when the agent read it, RFC 3339
    late: bool = False  # written after the exit, by a background process
    type: Literal["output"] = "output"

    @property
    def text(self) -> str:
        """The bytes as UTF-8. Characters are whole; bytes that are not UTF-8 become U+FFFD."""
        return self.data.decode(errors="replace")


@dataclass(frozen=True)
class Gap:
    """Output that the agent no longer keeps: nobody has read it in time."""
    offset: int  # first missing byte
    next: int  # offset after the last missing one
    type: Literal["gap"] = "gap"
    text: Literal[""] = ""


@dataclass(frozen=True)
class Exit:
    """How the command has ended."""
    exit_code: int | None  # None: a signal ended it; 126 or 127: it did not start
    signal: str | None  # such as SIGTERM, or None
    cause: CommandCause
    output_complete: bool = True  # False: a process in the background still has the pipe
    kill_level: str | None = None  # after a kill: `tree` or `cgroup` if no process is left, `incomplete` if some may be
    background: tuple[int, ...] = ()  # processes that still run
    error: str | None = None  # why it could not start, with the cause spawn_failed
    state_saved: StateSaved | None = None  # in a stateful session
    duration_ms: int = 0
    usage: Mapping[str, int] = field(default_factory=dict)
    type: Literal["exit"] = "exit"
    text: Literal[""] = ""


Event = Union[Output, Gap, Exit]


@dataclass(frozen=True)
class Result:
    """A command that has ended. `ok` is true if it exited with 0."""
    id: str
    stdout_bytes: bytes
    stderr_bytes: bytes
    exit: Exit
    truncated: bool = False  # bytes are missing in the middle of a stream: there were more than `max_output`

    @property
    def stdout(self) -> str:
        """As UTF-8; bytes that are not become U+FFFD."""
        return self.stdout_bytes.decode(errors="replace")

    @property
    def stderr(self) -> str:
        """As UTF-8; bytes that are not become U+FFFD."""
        return self.stderr_bytes.decode(errors="replace")

    @property
    def exit_code(self) -> int | None:
        """None if a signal ended the command; 126 or 127 if it did not start."""
        return self.exit.exit_code

    @property
    def ok(self) -> bool:
        return self.exit.exit_code == 0


class Collector:
    """Gathers the events of one command into a Result that has at most `most` bytes of each stream: the first and the last half."""

    def __init__(self, command: str, most: int) -> None:
        self._command, self._half, self._truncated = command, most // 2, False
        self._heads = {"stdout": bytearray(), "stderr": bytearray()}
        self._tails = {"stdout": bytearray(), "stderr": bytearray()}

    def take(self, event: Event) -> None:
        if isinstance(event, Gap):
            self._truncated = True
        elif isinstance(event, Output):
            head, tail = self._heads[event.stream], self._tails[event.stream]
            room = self._half - len(head)
            head += event.data[:room]
            tail += event.data[room:]
            if len(tail) > 2 * self._half + (1 << 20):  # seldom, since it moves what is left
                self._cut(tail)

    def result(self, exit: Exit) -> Result:
        for tail in self._tails.values():
            if len(tail) > self._half:
                self._cut(tail)
        parts = {stream: bytes(head + self._tails[stream]) for stream, head in self._heads.items()}
        return Result(self._command, parts["stdout"], parts["stderr"], exit, self._truncated)

    def _cut(self, tail: bytearray) -> None:
        self._truncated = True
        del tail[:len(tail) - self._half]


def bytes_of(holder: Mapping[str, Any], name: str) -> bytes:
    """A member that is text, or base64 if it is not UTF-8."""
    encoded = holder.get(f"{name}_base64")
    return base64.b64decode(encoded) if encoded is not None else str(holder.get(name, "")).encode()


def exit_of(told: Mapping[str, Any]) -> Exit:
    """The exit in an exit event, or in a command that has ended."""
    error = told.get("error")
    return Exit(exit_code=told.get("exit_code"), signal=told.get("signal"), cause=told["cause"],
                output_complete=bool(told.get("output_complete", True)), kill_level=told.get("kill_level"),
                background=tuple(told.get("background") or ()), error=error["message"] if error else None,
                state_saved=told.get("state_saved"), duration_ms=int(told.get("duration_ms", 0)), usage=dict(told.get("usage", {})))


def event_of(told: Mapping[str, Any]) -> Event | None:
    """The event in a line of a stream; None if it is about the connection alone, or not known to this version.

    Raises SkiffError for the event `error`."""
    kind = told.get("type")
    if kind == "output":
        return Output(told["stream"], bytes_of(told, "data"), told["offset"], told["next"], told["time"], bool(told.get("late")))
    if kind == "gap":
        return Gap(told["from"], told["to"])
    if kind == "exit":
        return exit_of(told)
    if kind == "error":
        raise SkiffError(str(told.get("code", "internal")), str(told.get("detail", "")), field=told.get("field"))
    return None


