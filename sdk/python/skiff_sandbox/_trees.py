"""Local files and directories as tar archives."""

from __future__ import annotations

import os
import tarfile
import tempfile
from typing import IO

IN_MEMORY = 8 << 20  # bytes of an archive; a larger one is a temporary file


def spool() -> IO[bytes]:
    return tempfile.SpooledTemporaryFile(IN_MEMORY)


def packed(source: str | os.PathLike[str]) -> IO[bytes]:
    """An archive of a directory's contents, or of one file."""
    file = spool()
    with tarfile.open(fileobj=file, mode="w|") as archive:
        if os.path.isdir(source):
            for name in sorted(os.listdir(source)):
                archive.add(os.path.join(source, name), arcname=name)
        else:
            archive.add(source, arcname=os.path.basename(source))
    file.seek(0)
    return file


def unpack(file: IO[bytes], target: str | os.PathLike[str]) -> None:
    """Refuses entries that lead outside of the directory."""
    file.seek(0)
    os.makedirs(target, exist_ok=True)
    with tarfile.open(fileobj=file, mode="r:") as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extractall(target, filter="data")
        else:  # before 3.10.12 and 3.11.4
            archive.extractall(target, members=[_within(one, os.path.realpath(target)) for one in archive])


def _within(entry: tarfile.TarInfo, target: str) -> tarfile.TarInfo:
    """The entry without set-id bits. Raises tarfile.ExtractError if it, or its link, leads out of the directory."""
    aims = [entry.name]
    if entry.issym():
        aims.append(os.path.join(os.path.dirname(entry.name), entry.linkname))
    elif entry.islnk():
        aims.append(entry.linkname)
    for aim in aims:
        if os.path.commonpath([os.path.realpath(os.path.join(target, aim)), target]) != target:
            raise tarfile.ExtractError(f"{entry.name!r} leads out of the directory")
    if not (entry.isreg() or entry.isdir() or entry.issym() or entry.islnk()):
        raise tarfile.ExtractError(f"{entry.name!r} is a device or a FIFO")
    entry.mode &= 0o755
    return entry
