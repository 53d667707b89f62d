"""Files that are transferred, listed and written. All servers have the same directory."""

import os
import subprocess
from functools import cached_property
from pathlib import Path

from .processes import Failed, Folder, Server, run_tool

ROUTE = "/v1/sessions/default/files"
ENTRIES = 1000
SMALL = 4096
WRITERS = 8


class Files:
    """Files to read are created at the first use; written files are removed at once."""

    def __init__(self, folder: Folder, size: int):
        self.folder = folder
        self.size = size

    @cached_property
    def large(self) -> Path:
        path = self.folder.files / f"{self.size}-bytes"
        with open(path, "wb") as file:
            subprocess.run([self.folder.program("writer"), "bytes", str(self.size)], stdout=file, check=True)
        return path

    @cached_property
    def many(self) -> str:
        folder = self.folder.files / "many"
        folder.mkdir()
        for number in range(ENTRIES):
            (folder / f"entry-{number:04}").write_bytes(b"x" * number)
        return folder.name

    @cached_property
    def small(self) -> str:
        path = self.folder.files / "small"
        path.write_bytes(b"x" * SMALL)
        return path.name

    def download(self, server: Server, under: tuple = ()) -> dict:
        return server.load("download", under, path=f"{ROUTE}/{self.large.name}", bytes=self.size)

    def upload(self, server: Server, under: tuple = (), route: str = f"{ROUTE}/{{0.name}}", **options: object) -> dict:
        """`route` contains the path of the file."""
        path = self.folder.files / f"from-{server.kind}"
        try:
            return server.load("upload", under, path=route.format(path), bytes=self.size, file=path, **options)
        finally:
            path.unlink(missing_ok=True)

    def copy(self, to_file: bool) -> dict:
        """The bare copy through the page cache."""
        to = self.folder.files / "from-dd" if to_file else Path(os.devnull)
        try:
            command = ("dd", "status=none", "bs=64K", f"if={self.large}", f"of={to}")
            took = run_tool(self.folder, "bare_pipe", "--", *command)
            if to_file and to.stat().st_size != self.size:
                raise Failed("dd did not copy everything")
            return {"mb_per_s": self.size / took["seconds"] / 1e6}
        finally:
            if to_file:
                to.unlink(missing_ok=True)

    def list(self, server: Server, seconds: float, clients: int = 1, under: tuple = ()) -> dict:
        last = f'"entry-{ENTRIES - 1:04}"'
        return server.load("requests", under, path=f"{ROUTE}:list?path={self.many}", expect=last, seconds=seconds,
                           clients=clients)

    def get_small(self, server: Server, seconds: float, under: tuple = ()) -> dict:
        return server.load("requests", under, path=f"{ROUTE}/{self.small}", expect="x" * SMALL, seconds=seconds)

    def put_small(self, server: Server, seconds: float, clients: int, under: tuple = ()) -> dict:
        name = f"written-by-{server.kind}-"
        try:
            return server.load("requests", under, path=f"{ROUTE}/{name}", put_bytes=SMALL, seconds=seconds,
                               clients=clients, file=self.folder.files / name)
        finally:
            for number in range(clients):
                (self.folder.files / f"{name}{number}").unlink(missing_ok=True)

    def check_path(self, seconds: float) -> dict:
        folder = self.folder.files / "src" / "module" / "part"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "name.txt").touch()
        return run_tool(self.folder, "path_check", "--seconds", seconds, self.folder.files, "src/module/part/name.txt")
