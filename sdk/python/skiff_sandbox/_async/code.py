"""Code that runs in contexts of a session."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any
from urllib.parse import quote

import httpx

from .._code import CodeResult, CodeRun, error_of, result_of
from .._errors import SkiffError
from .._settings import Duration, milliseconds
from .._types import CodeContextRequest, CodeRequest
from .command import NDJSON
from .transport import AsyncTransport, Request, broken


class AsyncCodeContext:
    """Variables of one language that calls share. It outlives this object, as long as its session."""

    def __init__(self, transport: AsyncTransport, session: str, id: str) -> None:
        self._transport, self._session, self.id = transport, session, id
        self._path = f"{session}/code/contexts/{quote(id, safe='')}"

    async def run_code(self, code: str, *, env: Mapping[str, str] | None = None, timeout: Duration | None = 3600.0,
                       on_stdout: Callable[[str], object] | None = None, on_stderr: Callable[[str], object] | None = None,
                       on_result: Callable[[CodeResult], object] | None = None) -> CodeRun:
        """As `run_code` of the session, in this context."""
        body = request_body(code, env, timeout)
        body["context"] = self.id
        return await collected(self._transport, self._session, body, on_stdout, on_stderr, on_result)

    async def restart(self) -> None:
        """Ends its process tree; the next call starts a new one. Route: POST /v1/sessions/{sid}/code/contexts/{xid}/restart."""
        await self._transport.ask(Request("POST", self._path + "/restart"))

    async def remove(self) -> None:
        """Ends its process tree, and forgets it. Route: DELETE /v1/sessions/{sid}/code/contexts/{xid}."""
        request = Request("DELETE", self._path)
        try:
            await self._transport.ask(request)
        except SkiffError as error:
            if error.code != "context_not_found" or request.fresh:
                raise


def request_body(code: str, env: Mapping[str, str] | None, timeout: Duration | None) -> CodeRequest:
    body: CodeRequest = {"code": code, "mode": "stream"}
    if env:
        body["env"] = dict(env)
    if (limit := milliseconds(timeout)) is not None:
        body["timeout_ms"] = limit
    return body


async def collected(transport: AsyncTransport, session: str, body: CodeRequest, on_stdout: Callable[[str], object] | None,
                    on_stderr: Callable[[str], object] | None, on_result: Callable[[CodeResult], object] | None) -> CodeRun:
    """Runs code, and keeps what it shows. It is not sent again if the connection breaks, because it may have run."""
    run = CodeRun()
    outs: list[str] = []
    errs: list[str] = []
    async for told in _lines(transport, Request("POST", f"{session}/code", json=body, headers=NDJSON, again=False)):
        kind = told["type"]
        if kind == "started":
            run.context, run.fresh = told["context"], told["fresh"]
        elif kind == "stdout":
            outs.append(told["text"])
            if on_stdout:
                on_stdout(told["text"])
        elif kind == "stderr":
            errs.append(told["text"])
            if on_stderr:
                on_stderr(told["text"])
        elif kind == "result":
            run.results.append(result_of(told))
            if on_result:
                on_result(run.results[-1])
        elif kind == "error":
            run.error = error_of(told)
        elif kind == "end":
            run.execution_count, run.cause = told["execution_count"], told["cause"]
    run.stdout, run.stderr = "".join(outs), "".join(errs)
    if not run.cause:
        raise SkiffError("connection_failed", "the answer has no end: the code may have run")
    return run


async def created(transport: AsyncTransport, session: str, language: str, cwd: str | None) -> AsyncCodeContext:
    body: CodeContextRequest = {"language": language}
    if cwd is not None:
        body["cwd"] = cwd
    told = (await transport.ask(Request("POST", f"{session}/code/contexts", json=body, again=False))).json()
    return AsyncCodeContext(transport, session, told["id"])


async def _lines(transport: AsyncTransport, request: Request) -> AsyncIterator[dict[str, Any]]:
    try:
        async for told in transport.lines(request):
            yield told
    except httpx.TransportError as error:
        raise broken(error, "the code may have run, and is not repeated") from error
