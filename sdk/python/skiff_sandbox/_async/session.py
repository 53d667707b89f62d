"""A session of a sandbox: commands, files, terminals, waits."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from .. import _async_io as io
from .._code import CodeResult, CodeRun
from .._decode import decode
from .._errors import SkiffError
from .._events import Collector, Exit, Output, Result
from .._settings import Duration, milliseconds, new_id
from .._types import Command as CommandDetails
from .._types import CommandRequest, CommandState, ResourceLimits, TerminalSize, WaitRequest
from .._types import Session as SessionDetails
from . import code as code_calls
from .code import AsyncCodeContext
from .command import NDJSON, WAIT_SECONDS, AsyncCommand, AsyncTerminal, Place
from .files import AsyncFiles
from .transport import AsyncTransport, Deadline, Request

Line = str | Sequence[str]


class AsyncSession:
    """A named workspace of a sandbox: a root directory, an environment, and its commands."""

    def __init__(self, transport: AsyncTransport, session: str) -> None:
        self._transport, self.session_id = transport, session
        self.path = f"/v1/sessions/{quote(session, safe='')}"  # of its routes
        self.files = AsyncFiles(transport, self.path)

    @property
    def id(self) -> str:
        """The id in its sandbox."""
        return self.session_id

    async def run(self, command: Line, *, check: bool = False, cwd: str | None = None, env: Mapping[str, str | None] | None = None,
                  secret_env: Mapping[str, str] | None = None, user: str | None = None, stdin: str | bytes | None = None,
                  timeout: Duration | None = 3600.0, limits: ResourceLimits | None = None, merge_stderr: bool = False,
                  max_output: int = 32 << 20, on_output: Callable[[Output], object] | None = None) -> Result:
        """Runs a shell line, or a list of a program and its arguments without a shell, and waits until it has ended. It runs once,
        whatever happens to the connection; nothing of its output is lost.

        check: raise SkiffError (`command_failed`, with `.result`) unless it exits with 0. cwd: relative to the session's. env: None
        removes a variable. secret_env: variables that are never listed or logged. stdin: at most about 700 kB; `start` with
        `write` takes any size. timeout: seconds or "90s", after which its process tree is ended (cause `timeout`); None: never.
        merge_stderr: stderr goes where stdout goes, in order. max_output: bytes of each stream that are kept, the first and the last half;
        with more, `truncated` is true. on_output: called with each piece as it comes. A call that is interrupted or cancelled ends the command.

        Route: POST /v1/sessions/{sid}/commands. Errors: `too_many_commands`, `user_not_found`, `connection_failed` (the command may
        go on) and those of the agent's refusals."""
        id = new_id("run")
        body = self._request(id, command, cwd, env, secret_env, user, timeout, limits)
        body["mode"], body["output"] = "stream", {"overflow": "block", "merge_stderr": merge_stderr}
        if stdin is not None:
            body.update(_stdin(stdin))
        handle, collector, exit = self.command(id), Collector(id, max_output), None
        try:
            start = Request("POST", f"{self.path}/commands", json=body, headers=NDJSON)
            async for event in handle.started_events(start, Deadline(None, "")):
                collector.take(event)
                if isinstance(event, Exit):
                    exit = event
                elif on_output and isinstance(event, Output):
                    on_output(event)
        except SkiffError:
            raise
        except BaseException:
            await io.finished(lambda: self._abandon(handle))
            raise
        assert exit  # or started_events has raised
        result = collector.result(exit)
        if check and not result.ok:
            raise SkiffError("command_failed", _failure(command, result), result=result)
        return result

    async def start(self, command: Line, *, id: str | None = None, stdin: bool | str | bytes = False, cwd: str | None = None,
                    env: Mapping[str, str | None] | None = None, secret_env: Mapping[str, str] | None = None,
                    user: str | None = None, timeout: Duration | None = None, idle_timeout: Duration | None = None,
                    limits: ResourceLimits | None = None, terminal: TerminalSize | None = None,
                    wait_for_reader: bool = False) -> AsyncCommand:
        """Starts a command in the background. It outlives this object and the connection, until it ends, `timeout` is over, or
        somebody kills it.

        id: chosen by you; the same id with the same command starts it once, however often it is asked for, and returns the one
        that runs or has ended. stdin: True leaves its input open for `write`; text or bytes are all of its input. timeout,
        idle_timeout (time without output): seconds or "90s", after which its process tree is ended. terminal: runs it on a
        terminal of this size. wait_for_reader: the command waits when the agent keeps 8 MiB that nobody has read; else the oldest
        are dropped, and a Gap stands for them. Others: see `run`.

        Route: POST /v1/sessions/{sid}/commands. Errors: `command_conflict` (the id was used with another command),
        `command_forgotten`, `too_many_commands`."""
        id = id or new_id("job")
        body = self._request(id, command, cwd, env, secret_env, user, timeout, limits)
        body["mode"] = "background"
        if idle := milliseconds(idle_timeout):
            body["idle_timeout_ms"] = idle
        if terminal is not None:
            body["tty"] = terminal
        if wait_for_reader:
            body["output"] = {"overflow": "block"}
        if isinstance(stdin, bool):
            body["stdin_open"] = stdin
        else:
            body.update(_stdin(stdin))
        await self._transport.ask(Request("POST", f"{self.path}/commands", json=body))
        return self.command(id)

    def command(self, id: str) -> AsyncCommand:
        """The command with this id, which anybody has started. Nothing is sent; its methods raise `command_not_found`."""
        return AsyncCommand(Place(self._transport, self.path, id))

    async def commands(self, *, state: CommandState | None = None) -> list[CommandDetails]:
        """The commands that the agent keeps, of one state or of all. Route: GET /v1/sessions/{sid}/commands."""
        found: list[CommandDetails] = []
        params: dict[str, Any] = {"limit": 1000, **({"state": state} if state else {})}
        while True:
            page = (await self._transport.ask(Request("GET", f"{self.path}/commands", params=params))).json()
            found += [decode(CommandDetails, one) for one in page["items"]]
            if not page.get("next_cursor"):
                return found
            params["cursor"] = page["next_cursor"]

    async def run_code(self, code: str, *, language: str = "python", env: Mapping[str, str] | None = None,
                       timeout: Duration | None = 3600.0, on_stdout: Callable[[str], object] | None = None,
                       on_stderr: Callable[[str], object] | None = None,
                       on_result: Callable[[CodeResult], object] | None = None) -> CodeRun:
        """Runs code with the sandbox's own interpreter, in a context that keeps its variables from call to call. What it prints,
        the values that it shows and its error are in the answer; the code's own error is not raised.

        language: python, javascript (node) or bash; each has a context of its own. env: variables of the environment during this
        call. timeout: seconds or "90s", after which the context ends with its process tree (cause `timeout`); None: never.
        on_stdout, on_stderr, on_result: called with each piece as it comes. A call that is interrupted or cancelled interrupts
        the code.

        Route: POST /v1/sessions/{sid}/code. Errors: `language_unavailable` (the sandbox has no such interpreter),
        `too_many_contexts`, `connection_failed` (the code may have run; it is not repeated)."""
        body = code_calls.request_body(code, env, timeout)
        body["language"] = language
        return await code_calls.collected(self._transport, self.path, body, on_stdout, on_stderr, on_result)

    async def create_code_context(self, *, language: str = "python", cwd: str | None = None) -> AsyncCodeContext:
        """A further context, with variables of its own. Its process starts with its first call.

        cwd: where it starts, relative to the session's directory.
        Route: POST /v1/sessions/{sid}/code/contexts. Errors: `language_unavailable`, `too_many_contexts`."""
        return await code_calls.created(self._transport, self.path, language, cwd)

    async def terminal(self, *, cols: int = 80, rows: int = 24, command: Line | None = None, cwd: str | None = None,
                       env: Mapping[str, str | None] | None = None) -> AsyncTerminal:
        """Opens a terminal with the session's shell, or with `command`. Keys go in by `write`; `events` and `read_until` give what
        it prints. Leaving its `with` block kills it; without one it goes on, and `command(id)` finds it.

        Route: POST /v1/sessions/{sid}/commands with `tty`. Errors: see `start`."""
        line = command if command is not None else [(await self.details()).shell.path, "-i"]
        started = await self.start(line, id=new_id("terminal"), stdin=True, cwd=cwd, env=env, terminal={"cols": cols, "rows": rows})
        return AsyncTerminal(Place(self._transport, self.path, started.id))

    async def wait_for(self, *, port: int | None = None, path: str | None = None, output: tuple[str, str] | None = None,
                       timeout: Duration = 30.0) -> str | None:
        """Waits until a server listens on a port, a path exists, or a command has printed a pattern: exactly one of them.

        output: (id of the command, RE2 pattern); the match is returned, else None. timeout: seconds or "90s", after which
        SkiffError (`timeout`) is raised.
        Route: POST /v1/sessions/{sid}/wait. Errors: `timeout`, `command_ended` (the output can't come any more), `draining`."""
        wanted: WaitRequest
        if output is not None:
            wanted = {"for": {"output": {"command": output[0], "pattern": output[1]}}}
        elif path is not None:
            wanted = {"for": {"path": path}}
        elif port is not None:
            wanted = {"for": {"port": port}}
        else:
            raise SkiffError("missing_field", "wait_for: name a port, a path or an output")
        if [port, path, output].count(None) != 2:
            raise SkiffError("invalid_request", "wait_for: name one of port, path and output")
        what = f"port {port}" if port is not None else f"the path {path}" if path is not None else f"the output {output}"
        deadline = Deadline((milliseconds(timeout) or 0) / 1000, what)
        while True:
            wanted["timeout_ms"] = max(1, round(deadline.left(WAIT_SECONDS) * 1000))
            told = (await self._transport.ask(Request("POST", f"{self.path}/wait", json=wanted))).json()
            if told["met"]:
                return str(told["match"]) if "match" in told else None
            if told.get("reason") == "ended":
                raise SkiffError("command_ended", f"the command has ended without {what}")
            if told.get("reason") == "shutdown":
                raise SkiffError("draining", "the agent is about to stop")

    async def details(self) -> SessionDetails:
        """The session's settings. Route: GET /v1/sessions/{sid}."""
        return decode(SessionDetails, (await self._transport.ask(Request("GET", self.path))).json())

    async def end(self, *, purge: bool = False) -> None:
        """Ends all of its commands, and the session. purge: deletes its directory, too. Route: DELETE /v1/sessions/{sid}."""
        request = Request("DELETE", self.path, params={"purge": str(purge).lower()})
        try:
            await self._transport.ask(request)
        except SkiffError as error:
            if error.code != "session_not_found" or request.fresh:
                raise

    def _request(self, id: str, command: Line, cwd: str | None, env: Mapping[str, str | None] | None,
                 secret_env: Mapping[str, str] | None, user: str | None, timeout: Duration | None,
                 limits: ResourceLimits | None) -> CommandRequest:
        body: CommandRequest = {"id": id}
        if isinstance(command, str):
            body["command"] = command
        else:
            body["argv"] = list(command)
        if self._transport.instance:
            body["if_instance"] = self._transport.instance
        if cwd is not None:
            body["cwd"] = cwd
        if env:
            body["env"] = dict(env)
        if secret_env:
            body["secret_env"] = dict(secret_env)
        if user is not None:
            body["user"] = user
        if (limit := milliseconds(timeout)) is not None:
            body["timeout_ms"] = limit
        if limits:
            body["limits"] = limits
        return body

    async def _abandon(self, handle: AsyncCommand) -> None:
        """Ends a command that nobody waits for any more. The reason for that is what the caller sees."""
        try:
            await handle.remove()
        except SkiffError:
            pass


def _stdin(data: str | bytes) -> CommandRequest:
    if isinstance(data, str):
        return {"stdin": data}
    return {"stdin_base64": base64.b64encode(data).decode()}


def _failure(command: Line, result: Result) -> str:
    line = command if isinstance(command, str) else " ".join(command)
    exit = result.exit
    how = exit.error or (f"ended by {exit.signal}" if exit.signal else f"exited with {exit.exit_code}")
    why = f" ({exit.cause})" if exit.cause != "exited" else ""
    last = result.stderr.strip().splitlines()[-1:]
    return f"{line[:200]!r} {how}{why}" + (f": {last[0][:500]}" if last else "")
