"""What the published files are made of: the programs that are built, their documents, and archives of them.

Equal inputs make equal bytes: entries are sorted, belong to root, and have the date SOURCE_DATE_EPOCH."""

import gzip
import io
import os
import pathlib
import re
import subprocess
import tarfile

TOP = pathlib.Path(__file__).resolve().parent.parent
VERSION = re.search(r"project\(skiff VERSION ([\d.]+)", (TOP / "CMakeLists.txt").read_text())[1]
EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])
BUILDS = {"amd64": TOP / "build/release", "arm64": TOP / "build/release-arm64"}
# Where the project is published; the owner says it (docs/releasing.md). RFC 2606: nobody can register a name below .invalid.
NOWHERE = "https://forge.invalid/skiff"
HOME = os.environ.get("SKIFF_HOME_URL", NOWHERE)
PAGES = f"{HOME}/blob/v{VERSION}"  # the documents of this version
SUMMARY = {"skiff": "creates sandboxes for AI agents, runs commands in them and removes them",
           "skiffd": "runs commands for AI agents in a sandbox, over HTTP and WebSocket"}


def program(arch, name):
    return (BUILDS[arch] / name).read_bytes()


def tar_of(files):
    """A tar of {path: (bytes, mode)}, with the directories above; a value of None is a directory."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        parents = {str(parent) for path in files for parent in pathlib.PurePath(path).parents if str(parent) != "."}
        for path in sorted(parents | set(files)):
            entry = tarfile.TarInfo(path)
            entry.mtime, entry.uname, entry.gname = EPOCH, "root", "root"
            data, entry.mode = files[path] if files.get(path) else (None, 0o755)
            if data is None:
                entry.type = tarfile.DIRTYPE
                archive.addfile(entry)
            else:
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def gzipped(data):
    return gzip.compress(data, 6, mtime=0)


def completions():
    def script(shell):
        return subprocess.run([BUILDS["amd64"] / "skiff", "completion", shell], capture_output=True, check=True).stdout

    return {"bash": script("bash"), "zsh": script("zsh"), "fish": script("fish")}


def documents(dist):
    return {"LICENSE": (TOP / "LICENSE").read_bytes(), "NOTICE": (TOP / "NOTICE").read_bytes(),
            "skiff.1": (dist / "man/man1/skiff.1").read_bytes(), "skiffd.8": (dist / "man/man8/skiffd.8").read_bytes()}
