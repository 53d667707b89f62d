"""Clients as their registries have them. Each has an environment of its own, with pinned versions, kept in the cache of .ci/setup."""

import hashlib
import os
import pathlib
import subprocess

from tools import CACHE, go

HERE = pathlib.Path(__file__).resolve().parent


def python_of(requirements):
    """The Python of an environment with what the file names."""
    text = (HERE / requirements).read_bytes()
    directory = CACHE / f"client-{pathlib.Path(requirements).stem}-{hashlib.sha256(text).hexdigest()[:12]}"
    if not (directory / "complete").exists():
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--clear", directory], check=True)
        subprocess.run([directory / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement",
                        HERE / requirements], check=True)
        (directory / "complete").touch()
    return directory / "bin" / "python"


def go_program():
    """Built of go.mod's versions; the build cache makes a second time short."""
    program = CACHE / "client-go-sdk" / "cases"
    subprocess.run([go(), "build", "-o", program, "."], cwd=HERE / "go", check=True,
                   env={**os.environ, "GOFLAGS": "-mod=readonly"})
    return program
