"""The program `skiff`: where it is, and what it says."""

from __future__ import annotations

import os
import re
import shutil
import sysconfig
import warnings

from ._errors import SkiffError

# skiff has sentences for people alone; these two a program must tell from the others.
CODES = ((re.compile(r"there is a sandbox \""), "sandbox_conflict"), (re.compile(r"there is no sandbox \""), "sandbox_not_found"))


def find_skiff(program: str) -> str:
    """Its path: SKIFF, the PATH, or the directory into which pip installs the programs of packages."""
    found = shutil.which(program) or shutil.which(program, path=sysconfig.get_path("scripts"))
    if not found:
        raise SkiffError("not_configured", f"there is no program {program!r}: set SKIFF_URL with SKIFF_TOKEN (an agent) or SKIFF_API_KEY (a"
                         " server), or put skiff and skiffd on the PATH")
    return os.path.abspath(found)


def refusal_of(command: str, status: int, err: bytes) -> SkiffError:
    """The error that a failed call means."""
    text = err.decode(errors="replace").strip()
    text = "; ".join(line.removeprefix("skiff: ") for line in text.splitlines()) or f"it ended with {status} and said nothing"
    code = next((code for pattern, code in CODES if pattern.search(text)), "program_failed")
    return SkiffError(code, f"skiff {command}: {text}")


def without_isolation() -> None:
    warnings.warn("skiff has chosen the driver local, which does not isolate: commands run on this machine, as you. Give driver=\"local\""
                  " if you mean that", stacklevel=4)
