"""The program `skiff`: where it is, and what it says."""

from __future__ import annotations

import functools
import importlib.metadata
import json
import os
import re
import shutil
import warnings

from ._errors import SkiffError

# With `-o json` it tells the code. Of its sentences for people a program must tell these two from the others.
CODES = ((re.compile(r"there is a sandbox \""), "sandbox_conflict"), (re.compile(r"there is no sandbox \""), "sandbox_not_found"))


def find_skiff(program: str) -> str:
    """Its absolute path. `skiff` is the one that pip has installed with this package, if it has; else it is on the PATH."""
    found = (_installed_skiff() if program == "skiff" else None) or shutil.which(program)
    if not found:
        raise SkiffError("not_configured", f"there is no program {program!r}: set SKIFF_URL with SKIFF_TOKEN (an agent) or SKIFF_API_KEY (a"
                         " server), or put skiff and skiffd on the PATH, or name skiff in SKIFF. The wheels for Linux on x86-64 and arm64"
                         " bring both programs; `make build` in a clone makes them in build/release")
    return os.path.abspath(found)


@functools.cache  # it reads the list of the package's files
def _installed_skiff() -> str | None:
    """The program that the wheel has brought, wherever pip has put it. A package that was built in a clone has none."""
    try:
        files = importlib.metadata.files("skiff-sandbox") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((path for file in files if file.name == "skiff" if (path := shutil.which(str(file.locate())))), None)


def refusal_of(command: str, status: int, err: bytes) -> SkiffError:
    """The error that a failed call means."""
    text = err.decode(errors="replace").strip()
    if told := _told(text.rpartition("\n")[2]):
        return SkiffError(told["code"], f"skiff {command}: {told['detail']}", field=told.get("field"))
    text = "; ".join(line.removeprefix("skiff: ") for line in text.splitlines()) or f"it ended with {status} and said nothing"
    code = next((code for pattern, code in CODES if pattern.search(text)), "program_failed")
    return SkiffError(code, f"skiff {command}: {text}")


def _told(line: str) -> dict[str, str] | None:
    """The error that skiff writes with `-o json`."""
    try:
        told = json.loads(line)
    except ValueError:
        return None
    return told if isinstance(told, dict) and {"code", "detail"} <= told.keys() else None


def message_of(err: bytes) -> str:
    """The message of skiff on stderr, for people."""
    text = err.decode(errors="replace").strip()
    told = _told(text.rpartition("\n")[2])
    return told["detail"] if told else text.removeprefix("skiff: ")


def without_isolation() -> None:
    warnings.warn("skiff has chosen the driver local, which does not isolate: commands run on this machine, as you. Give driver=\"local\""
                  " if you mean that", stacklevel=4)
