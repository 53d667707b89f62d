"""The sandboxes of a server, and the changes of their list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

SandboxState = Literal["creating", "running", "stopped", "ended", "failed"]
SandboxEventType = Literal["snapshot", "added", "changed", "removed", "gap", "unavailable", "available"]
KNOWN = ("snapshot", "added", "changed", "removed", "gap", "unavailable", "available")


@dataclass(frozen=True)
class ListedSandbox:
    """A sandbox as lists show it."""
    id: str
    state: SandboxState
    uid: str | None = None  # never used again, also not for a later sandbox of the same name
    reason: str = ""  # why it ended or failed
    template: str = ""
    owner: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    created_at: str = ""  # RFC 3339
    expires_at: str | None = None  # the end of its lease
    on_end: Literal["remove", "stop"] = "remove"
    was_broken: bool = False


@dataclass(frozen=True)
class SandboxEvent:
    """A change. `sandboxes`: all of them for `snapshot`, one for `added`, `changed` and `removed` (as it was last), else none.

    `gap`: events were missed, and a `snapshot` follows. `unavailable`: the server cannot read the list now, and `detail` says why."""
    type: SandboxEventType
    sandboxes: tuple[ListedSandbox, ...] = ()
    cursor: str = ""  # `Sandbox.watch(cursor=...)` goes on behind this event
    detail: str = ""


def listed(told: Mapping[str, Any]) -> ListedSandbox:
    fields = {name: told[name] for name in ListedSandbox.__dataclass_fields__ if told.get(name) is not None}
    return ListedSandbox(**fields)


class Snapshot:
    """Joins the pieces of a snapshot."""

    def __init__(self) -> None:
        self._coming: list[ListedSandbox] = []

    def take(self, told: Mapping[str, Any], cursor: str) -> SandboxEvent | None:
        """The event that a record tells of; None if it is not whole yet, or not known to this version."""
        kind = told["type"]
        if kind not in KNOWN:
            return None
        if kind == "snapshot":
            self._coming += map(listed, told["items"])
            if told["more"]:
                return None
            found, self._coming = tuple(self._coming), []
        else:
            found = (listed(told["sandbox"]),) if "sandbox" in told else ()
        return SandboxEvent(kind, found, cursor, str(told.get("detail", "")))
