"""A command that was started: its events, its input, its end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import httpx

from .. import _async_io as io
from .._decode import decode
from .._errors import SkiffError
from .._events import Event, Exit, Output, event_of, exit_of
from .._settings import Duration, seconds
from .._types import Command as CommandDetails
from .._types import SignalRequest, SignalTarget, TerminalSize
from .transport import SILENCE_SECONDS, AsyncTransport, Attempts, Deadline, Request

NDJSON = {"Accept": "application/x-ndjson"}
WAIT_SECONDS = 20.0  # of one request that waits
KILL_SECONDS = 30.0  # beyond the time of grace
# The agent verifies an escalation alone, not a plain KILL; before it a stopped tree goes on.
AT_ONCE: SignalRequest = {"signal": "CONT", "target": "tree", "escalate_after_ms": 0}


@dataclass
class Place:
    """Where in its session a command is."""
    transport: AsyncTransport
    session: str  # path of the session
    id: str

    def path(self, more: str = "") -> str:
        return f"{self.session}/commands/{self.id}{more}"


class AsyncCommand:
    """A command of a sandbox. It outlives this object and the connection: `box.command(id)` finds it again."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._exit: Exit | None = None
        self._stdin_offset: int | None = None

    @property
    def id(self) -> str:
        """The id, unique in its session."""
        return self._place.id

    @property
    def exit(self) -> Exit:
        """How it has ended. Raises SkiffError (`command_running`) until `events`, `wait` or `kill` has seen its end."""
        if self._exit is None:
            raise SkiffError("command_running", f"the end of {self.id} was not seen yet: call wait() or kill()")
        return self._exit

    async def events(self, offset: int = 0, *, timeout: Duration | None = None) -> AsyncIterator[Event]:
        """Output from `offset` on, piece by piece as it comes, and the Exit as the last event. A piece may have many lines, or a part
        of one. A Gap stands for output that the agent no longer
        keeps. While somebody reads, the command waits for its reader, so nothing is lost. A connection that breaks is taken up at
        its byte.

        timeout: seconds or "90s" until the end of the command, after which SkiffError (`timeout`) is raised; None: as long as it runs.
        Route: GET /v1/sessions/{sid}/commands/{cid}/output. Errors: `command_not_found`, `command_forgotten`,
        `connection_failed`."""
        deadline = Deadline(timeout, f"the end of {self.id}")
        async for event in self._events(None, offset, deadline):
            yield event

    async def started_events(self, start: Request, deadline: Deadline) -> AsyncIterator[Event]:
        """Events of a command that this request starts, with the mode `stream`."""
        async for event in self._events(start, 0, deadline):
            yield event

    async def write(self, data: str | bytes, *, timeout: Duration = 60.0) -> None:
        """Writes to its standard input, and waits until the command has read all of it. Bytes arrive once even if the connection
        breaks.

        timeout: seconds until the command has read, after which SkiffError (`timeout`) is raised.
        Route: POST /v1/sessions/{sid}/commands/{cid}/stdin. Errors: `stdin_closed`, `command_ended`."""
        await self._input(data.encode() if isinstance(data, str) else data, False, timeout)

    async def close_stdin(self, *, timeout: Duration = 60.0) -> None:
        """Ends its standard input. It may be closed already. Route: see `write`."""
        try:
            await self._input(b"", True, timeout)
        except SkiffError as error:
            if error.code not in ("stdin_closed", "command_ended"):
                raise

    async def signal(self, name: str, *, target: SignalTarget | None = None) -> None:
        """Sends one signal, such as INT. It is not repeated if the connection breaks.

        Route: POST /v1/sessions/{sid}/commands/{cid}/signal. Errors: `command_ended`, `connection_failed`."""
        body: SignalRequest = {"signal": name} if target is None else {"signal": name, "target": target}
        await self._place.transport.ask(Request("POST", self._place.path("/signal"), json=body, again=False))

    async def kill(self, *, grace: Duration = 2.0) -> Exit:
        """Ends its whole process tree: SIGTERM, and SIGKILL after `grace` seconds (0: at once). Waits until it has ended and no
        process is left; `kill_level` of the returned Exit is `incomplete` if some may be. Events tell the end of the command itself, which
        may come before that of its tree. It may have ended already.

        Route: POST /v1/sessions/{sid}/commands/{cid}/signal. Errors: `command_not_found`, `timeout`."""
        patience = seconds(grace)
        if patience > 0:
            await self._signalled({"signal": "TERM", "escalate_after_ms": round(patience * 1000)})
        else:
            await self._signalled(AT_ONCE)
        exit = await self.wait(timeout=patience + KILL_SECONDS)
        if exit.kill_level is None:
            # It ended before the agent had to kill it: what of its tree is left is ended now.
            deadline = Deadline(KILL_SECONDS, f"the processes of {self.id}")
            while await self._signalled(AT_ONCE):
                await io.sleep(deadline.left(0.05))
            exit = self._exit = replace(exit, kill_level="tree")
        return exit

    async def _signalled(self, body: SignalRequest) -> bool:
        """False if no process is left that could get it."""
        try:
            await self._place.transport.ask(Request("POST", self._place.path("/signal"), json=body))
        except SkiffError as error:
            if error.code != "command_ended":
                raise
            return False
        return True

    async def wait(self, *, timeout: Duration | None = 3600.0) -> Exit:
        """Waits until it has ended. timeout: seconds or "90s", after which SkiffError (`timeout`) is raised; None: as long as it runs.

        Route: GET /v1/sessions/{sid}/commands/{cid}. Errors: `command_not_found`, `command_forgotten`."""
        deadline = Deadline(timeout, f"the end of {self.id}")
        while self._exit is None:
            params = {"wait_ms": round(deadline.left(WAIT_SECONDS) * 1000)}
            told = (await self._place.transport.ask(Request("GET", self._place.path(), params=params))).json()
            if told["state"] == "ended":
                self._exit = exit_of(told)
        return self._exit

    async def details(self) -> CommandDetails:
        """The state that the agent knows of it. Route: GET /v1/sessions/{sid}/commands/{cid}."""
        return decode(CommandDetails, (await self._place.transport.ask(Request("GET", self._place.path()))).json())

    async def remove(self) -> None:
        """Ends its process tree, and forgets the command with its output. Route: DELETE /v1/sessions/{sid}/commands/{cid}."""
        try:
            await self._place.transport.ask(Request("DELETE", self._place.path()))
        except SkiffError as error:
            if error.code != "command_forgotten":
                raise

    async def resize(self, *, cols: int, rows: int) -> None:
        """Sets the size of its terminal. Route: POST /v1/sessions/{sid}/commands/{cid}/resize. Errors: `not_a_terminal`."""
        body: TerminalSize = {"cols": cols, "rows": rows}
        await self._place.transport.ask(Request("POST", self._place.path("/resize"), json=body))

    async def _events(self, start: Request | None, offset: int, deadline: Deadline) -> AsyncIterator[Event]:
        attempts, at = Attempts(), offset
        while True:
            request = start or Request("GET", self._place.path("/output"), headers=NDJSON,
                                       params={"follow": "true", "lossless": "true", "from": at})
            request.seconds = deadline.left(SILENCE_SECONDS)
            try:
                async for told in self._place.transport.lines(request):
                    start = None  # from now on its log is read
                    attempts.reset()
                    deadline.left(0)
                    event = event_of(told)
                    if isinstance(event, Exit):
                        if self._exit is not None and event.kill_level is None:
                            event = replace(event, kill_level=self._exit.kill_level)  # which `kill` knows
                        self._exit = event
                        yield event
                        return
                    if event is not None:
                        at = event.next
                        yield event
                raise httpx.ReadError("the stream ended before the command")
            except httpx.TransportError as error:
                deadline.left(0)
                request.fresh = False
                pause = attempts.pause(error)
            await io.sleep(pause)

    async def _input(self, data: bytes, last: bool, timeout: Duration) -> None:
        if self._stdin_offset is None:
            self._stdin_offset = (await self.details()).stdin.offset
        offset, self._stdin_offset = self._stdin_offset, None  # not known if the request fails
        params = {"offset": offset, **({"eof": "true"} if last else {})}
        request = Request("POST", self._place.path("/stdin"), params=params, content=lambda: data,
                          headers={"Content-Type": "application/octet-stream"},
                          deadline=Deadline(timeout, f"{self.id} has read its input"))
        await self._place.transport.ask(request)
        self._stdin_offset = offset + len(data)


class AsyncTerminal(AsyncCommand):
    """A shell, or another program, on a terminal of its own. Leaving its `with` block kills it."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._at, self._unread = 0, b""

    async def read_until(self, text: str, *, timeout: Duration = 30.0) -> str:
        """The text that it prints from the last call on, up to and including `text`. Text behind it is for the next call. A terminal
        prints also what is written to it.

        timeout: seconds or "90s", after which SkiffError (`timeout`) is raised; `command_ended` if the program ends first."""
        deadline, wanted, seen = Deadline(timeout, f"the text {text!r}"), text.encode(), self._unread
        while wanted not in seen:
            found = False
            async for event in self._events(None, self._at, deadline):
                if isinstance(event, Output):
                    seen += event.data
                    found = wanted in seen
                if not isinstance(event, Exit):
                    self._at, self._unread = event.next, seen
                if found:
                    break
            if not found:
                raise SkiffError("command_ended", f"the terminal has ended before it printed {text!r}")
        end = seen.index(wanted) + len(wanted)
        self._unread = seen[end:]
        return seen[:end].decode(errors="replace")

    async def __aenter__(self) -> AsyncTerminal:
        return self

    async def __aexit__(self, *_: object) -> None:
        await io.finished(lambda: self.kill(grace=0))
