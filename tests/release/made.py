"""The files that .ci/release makes, made of the programs that are built, for tests to use them as users do."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

TREE = pathlib.Path(__file__).resolve().parents[2]
SECONDS = 1764200000  # the date of every file
LONGEST = 500  # seconds, on a machine that others use, too
# Emulates Linux on arm64: programs for that architecture run under it.
QEMU = shutil.which("qemu-aarch64-static")
VERSION = re.search(r"project\(skiff VERSION ([\d.]+)", (TREE / "CMakeLists.txt").read_text())[1]


def architectures():
    """amd64, which the tests are about, and arm64 where it is built (`.ci/release arm64`)."""
    return ["amd64", *(["arm64"] if (TREE / "build/release-arm64/skiffd").exists() else [])]


def run(*command, **options):
    return subprocess.run([str(word) for word in command], **{"capture_output": True, "text": True, "timeout": LONGEST, **options})


def make(directory, *arches, script="packages.py"):
    """Writes them to the directory, or those that another script of .ci writes alone, and the manual pages beside it."""
    skiff, skiffd = os.environ["SKIFF"], os.environ["SKIFFD"]
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "XDG_CACHE_HOME") if name in os.environ}
    environment = {**kept, "SOURCE_DATE_EPOCH": str(SECONDS), "LC_ALL": "C.UTF-8"}
    run(sys.executable, "-B", TREE / ".ci/man_pages.py", directory / "man", skiff, skiffd, "2026-11-27", check=True)
    run(sys.executable, "-B", TREE / ".ci" / script, directory, *arches, check=True, env=environment)
    shutil.move(directory / "man", directory.parent / f"{directory.name}-man")
    return directory


def one(directory, pattern):
    (file,) = directory.glob(pattern)
    return file
