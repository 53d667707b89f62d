"""The one error of this package."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._events import Result


class SkiffError(Exception):
    """A call was refused, or could not be done.

    code: a stable word to branch on. An agent's and a server's are in docs/errors.md (`path_not_found`, `too_many_commands`).
        This package adds `connection_failed` (nobody answered, or the connection broke and the request can't be repeated),
        `timeout` (a wait has ended), `command_failed` (`run` with check=True), `command_running` (the exit is not known yet),
        `not_configured` and `program_failed` (the program `skiff`), `not_supported`, `closed` (this object was closed before),
        `invalid_answer`.
    status: the HTTP status; 0 if there was no answer.
    detail: a sentence for people.
    field: the invalid input, as a JSON pointer or a parameter, or None.
    retry_after: seconds after which a repetition makes sense, or None.
    result: what the command did, with the code `command_failed`; else None.
    """

    def __init__(self, code: str, detail: str, *, status: int = 0, field: str | None = None, retry_after: float | None = None,
                 result: Result | None = None) -> None:
        super().__init__(f"{detail} [{code}]")
        self.code, self.detail, self.status, self.field = code, detail, status, field
        self.retry_after, self.result = retry_after, result


def refusal(status: int, headers: Mapping[str, str], body: bytes) -> SkiffError:
    """The error that an answer with this status means."""
    told: dict[str, object] = {}
    if "json" in headers.get("content-type", ""):
        try:
            told = dict(json.loads(body))
        except (ValueError, TypeError):
            told = {}
    text = body[:200].decode(errors="replace")
    field = told.get("field")
    after = headers.get("retry-after", "")
    return SkiffError(str(told.get("code") or f"http_{status}"), str(told.get("detail") or told.get("title") or text or status),
                      status=status, field=str(field) if field else None, retry_after=float(after) if after.isdigit() else None)
