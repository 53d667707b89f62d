"""The programs of an older commit, built once by its own sources: the last release, or FIRST while there is none."""

import os
import pathlib
import shutil
import subprocess
import tempfile

TREE = pathlib.Path(__file__).resolve().parents[2]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "skiff"
# The last commit before the rooms of today were laid out.
FIRST = "20c9f6fe1d0a307299c87bb889ffa364a1a50d55"
PROGRAMS = ("skiff", "skiffd")


def git(*words):
    done = subprocess.run(["git", "-C", TREE, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    return done.stdout.strip() if done.returncode == 0 else None


def commit():
    """Its full name; None where this repository does not have it, for example a shallow clone."""
    tags = (git("tag", "--list", "v[0-9]*", "--sort=-version:refname", "--no-contains", "HEAD", "--merged", "HEAD") or "").split()
    return git("rev-parse", "--verify", "--quiet", f"{(tags or [FIRST])[0]}^{{commit}}")


def programs(name):
    """The directory of both programs. Building them takes some minutes."""
    directory = CACHE / f"programs-{name[:12]}"
    if all((directory / program).exists() for program in PROGRAMS):
        return directory
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="programs-", dir=CACHE) as folder:
        tree = pathlib.Path(folder) / "tree"
        tree.mkdir()
        archive = subprocess.Popen(["git", "-C", TREE, "archive", name], stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", tree], stdin=archive.stdout, check=True, timeout=120)
        assert archive.wait() == 0
        environment = {**os.environ, "CCACHE_BASEDIR": str(tree), "CCACHE_NOHASHDIR": "1"}
        for command in (["cmake", "--preset", "release"], ["nice", "cmake", "--build", "build/release", "--target", *PROGRAMS]):
            done = subprocess.run(command, cwd=tree, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  env=environment)
            assert done.returncode == 0, done.stdout[-3000:]
        made = pathlib.Path(folder) / "made"
        made.mkdir()
        for program in PROGRAMS:
            shutil.copy2(tree / "build/release" / program, made / program)
        shutil.rmtree(directory, ignore_errors=True)
        made.rename(directory)
    return directory
