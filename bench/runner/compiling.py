"""The compile time without ccache: the current tree, with the release preset."""

import os
import subprocess
import tempfile
import time
from pathlib import Path

from .processes import Absent, Failed, die_with_the_runner

TOP = Path(__file__).resolve().parents[2]
ONE_FILE = "sessions/session.cpp"
LONGEST = 1800  # seconds


def seconds(*words: str) -> float:
    begun = time.monotonic()
    done = subprocess.run(words, cwd=TOP, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONGEST,
                          env={**os.environ, "CCACHE_DISABLE": "1"}, preexec_fn=die_with_the_runner)
    if done.returncode != 0:
        raise Failed(f"{' '.join(words)}: {(done.stdout + done.stderr).strip()[-300:]}")
    return time.monotonic() - begun


def clean() -> dict:
    if not (TOP / ONE_FILE).exists():
        raise Absent("the sources are not here")
    with tempfile.TemporaryDirectory(prefix="skiff-bench-") as folder:
        build = ("cmake", "--build", folder, "--target")
        figures = {"daemon_s": seconds("cmake", "--preset", "release", "-B", folder) + seconds(*build, "skiffd"),
                   "launcher_s": seconds(*build, "skiff")}
        (changed,) = Path(folder).rglob(f"{ONE_FILE}.o")
        changed.unlink()
        figures["again_s"] = seconds(*build, "skiffd")
    return figures
