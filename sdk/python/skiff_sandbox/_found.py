"""Results of searches and watches."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from ._events import bytes_of

T = TypeVar("T")


@dataclass(frozen=True)
class GlobMatch:
    """A path that matches."""
    path: str
    type: Literal["file", "directory", "symlink", "other"]


@dataclass(frozen=True)
class GrepMatch:
    """A line that matches."""
    path: str
    line_number: int  # from 1
    column: int  # of the match's first byte, from 1
    text: str  # the line without its end; the part around the match if it is too long
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    cut: bool = False  # the line is too long


@dataclass(frozen=True)
class Change:
    """A change below a directory that is watched. `overflow`: changes were lost, list the directory again."""
    type: Literal["created", "modified", "deleted", "renamed", "overflow"]
    path: str
    is_directory: bool
    renamed_from: str | None = None  # the path before


class Part(NamedTuple):
    """A part of a file. `truncated`: there is more of what was asked for."""
    data: bytes
    truncated: bool


class Found(list[T], Generic[T]):
    """The matches of a search. `truncated`: there may be more."""

    def __init__(self, items: Iterable[T], truncated: bool, unreadable: int) -> None:
        super().__init__(items)
        self.truncated = truncated
        self.unreadable = unreadable  # files and directories that could not be read


def path_of(told: Mapping[str, Any]) -> str:
    """A path as Python has it: bytes that are not UTF-8 are escaped, as by os.fsdecode."""
    return os.fsdecode(bytes_of(told, "path"))


def glob_match(told: Mapping[str, Any]) -> GlobMatch:
    return GlobMatch(path_of(told), told["type"])


def grep_match(told: Mapping[str, Any]) -> GrepMatch:
    return GrepMatch(path_of(told), told["line_number"], told["column"], bytes_of(told, "text").decode(errors="replace"),
                     tuple(told.get("before", ())), tuple(told.get("after", ())), bool(told.get("cut")))


def change(told: Mapping[str, Any]) -> Change:
    return Change(told["type"], told.get("path", ""), bool(told.get("is_directory")), told.get("from"))
