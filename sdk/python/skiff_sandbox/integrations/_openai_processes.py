"""The commands of an OpenAI agent that may still run when the model gets their output: it asks for more of it, or writes to them."""

from __future__ import annotations

import codecs
import signal
import time

from agents.sandbox.session.pty_types import (
    PTY_PROCESSES_MAX,
    PtyExecUpdate,
    allocate_pty_process_id,
    clamp_pty_yield_time_ms,
    process_id_to_prune_from_meta,
    resolve_pty_write_yield_time_ms,
    truncate_text_by_tokens,
)

from .. import AsyncCommand, Exit, Output, SkiffError


def exit_code(exit: Exit) -> int:
    """As a shell tells it."""
    return exit.exit_code if exit.exit_code is not None else 128 + signal.Signals[exit.signal or "SIGKILL"]


class Process:
    """One command. tty: it is on a terminal, and reads what is written."""

    def __init__(self, command: AsyncCommand, tty: bool) -> None:
        self.command, self.tty, self.used, self.offset = command, tty, time.monotonic(), 0
        self.exit: Exit | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    async def output(self, milliseconds: int) -> str:
        """The output since the last call, up to its end or until the time is over."""
        self.used, text = time.monotonic(), ""
        try:
            async for event in self.command.events(self.offset, timeout=milliseconds / 1000):
                if isinstance(event, Exit):
                    self.exit = event
                    return text + self._decoder.decode(b"", True) + (event.error or "")
                self.offset = event.next
                text += self._decoder.decode(event.data) if isinstance(event, Output) else ""
        except SkiffError as error:
            if error.code != "timeout":
                raise
        return text


class Processes(dict[int, Process]):
    """By the numbers that the model gets. Methods raise SkiffError."""

    async def added(self, command: AsyncCommand, tty: bool, yield_seconds: float | None, most_tokens: int | None) -> PtyExecUpdate:
        """The output of a new one, up to its end or until the time is over. With too many of them, the one that nobody has used for the
        longest time is ended."""
        if len(self) >= PTY_PROCESSES_MAX:
            least = process_id_to_prune_from_meta([(id, one.used, False) for id, one in self.items()])
            if least is not None:
                await self.pop(least).command.kill(grace=0)
        id = allocate_pty_process_id(set(self))
        self[id] = Process(command, tty)
        return await self._update(id, clamp_pty_yield_time_ms(_milliseconds(yield_seconds, 10.0)), most_tokens)

    async def written(self, id: int, text: str, yield_seconds: float | None, most_tokens: int | None) -> PtyExecUpdate:
        """The output after this input; empty text only waits."""
        if text:
            await self[id].command.write(text)
        pause = resolve_pty_write_yield_time_ms(yield_time_ms=_milliseconds(yield_seconds, 0.25), input_empty=not text)
        return await self._update(id, pause, most_tokens)

    async def end(self) -> None:
        """Ends all of them."""
        while self:
            await self.popitem()[1].command.kill(grace=0)

    async def _update(self, id: int, milliseconds: int, most_tokens: int | None) -> PtyExecUpdate:
        process = self[id]
        text, tokens = truncate_text_by_tokens(await process.output(milliseconds), most_tokens)
        if process.exit:
            self.pop(id, None)
        return PtyExecUpdate(process_id=None if process.exit else id, output=text.encode(), original_token_count=tokens,
                             exit_code=exit_code(process.exit) if process.exit else None)


def _milliseconds(seconds: float | None, otherwise: float) -> int:
    return round((otherwise if seconds is None else seconds) * 1000)
