"""Code shows this: its output, its values, its error."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ._errors import SkiffError


@dataclass(frozen=True)
class CodeResult:
    """A value that the code has shown, in each form that it offers."""
    text: str | None = None  # its repr
    html: str | None = None
    markdown: str | None = None
    svg: str | None = None
    png: bytes | None = None  # a figure of matplotlib, for example
    jpeg: bytes | None = None
    pdf: bytes | None = None
    latex: str | None = None
    javascript: str | None = None
    json: dict[str, Any] | None = None
    data: dict[str, Any] | None = None  # the first 1000 rows of a DataFrame, by column
    chart: dict[str, Any] | None = None  # the numbers of a figure with one plot
    extra: dict[str, Any] | None = None  # other media types
    is_main_result: bool = False  # the value of the last expression; else it was displayed


@dataclass(frozen=True)
class CodeError:
    """The exception that has ended the code."""
    name: str  # its class; ContextEnded: the process of the context has ended
    value: str
    traceback: str


@dataclass
class CodeRun:
    """All that one call has shown."""
    context: str = ""
    fresh: bool = False  # the context was started for this call: it had no variables
    stdout: str = ""
    stderr: str = ""
    results: list[CodeResult] = field(default_factory=list)
    error: CodeError | None = None
    execution_count: int = 0  # calls in this context since it was started
    cause: str = ""  # completed; or why the context has ended: timeout, ended, invalid

    @property
    def text(self) -> str | None:
        """The value of the last expression as text; None without one."""
        return next((one.text for one in self.results if one.is_main_result), None)


def result_of(told: Mapping[str, Any]) -> CodeResult:
    """A line of the type `result`. Fields that are not known are ignored.

    Raises SkiffError (`invalid_answer`) for bytes that are not base64."""
    known = {name: told[name] for name in CodeResult.__dataclass_fields__ if told.get(name) is not None}
    for name in ("png", "jpeg", "pdf"):
        if name in known:
            try:
                known[name] = base64.b64decode(known[name])
            except (ValueError, TypeError) as error:
                raise SkiffError("invalid_answer", f"{name}: {error}") from None
    return CodeResult(**known)


def error_of(told: Mapping[str, Any]) -> CodeError:
    return CodeError(told["name"], told["value"], told["traceback"])
