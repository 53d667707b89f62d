"""Servers and tools as child processes, none of which outlives the runner."""

import ctypes
import json
import os
import secrets
import signal
import subprocess
import tempfile
from pathlib import Path

LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1


class Failed(Exception):
    """A measurement that gave no figure; the text says why."""


def die_with_the_runner():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Folder:
    """Where the built programs are, and a scratch folder that goes when the runner goes."""

    def __init__(self, build: Path, skiffd: Path | None):
        self.programs = build / "bench"
        self.skiffd = skiffd or build / "skiffd"
        self._scratch = tempfile.TemporaryDirectory(prefix="skiff-bench-")
        self.scratch = Path(self._scratch.name)
        self.token = secrets.token_hex(16)
        self.token_file = self.scratch / "token"
        self.token_file.touch(mode=0o600)
        self.token_file.write_text(self.token + "\n")

    def program(self, name: str) -> str:
        path = self.programs / name
        if not path.exists():
            raise Failed(f"{name} is not built")
        return str(path)

    def server_command(self, kind: str) -> list[str]:
        if kind == "bare":
            return [self.program("bare_server")]
        if not self.skiffd.exists():
            raise Failed("skiffd is not built")
        return [str(self.skiffd), "--listen", "127.0.0.1:0", "--token-file", str(self.token_file)]

    def close(self):
        self._scratch.cleanup()


def run_tool(folder: Folder, *arguments: object, timeout: float = 150) -> dict:
    """Runs a program that prints one JSON object."""
    name, *rest = [str(argument) for argument in arguments]
    with subprocess.Popen([folder.program(name), *rest], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          cwd=folder.scratch, start_new_session=True, preexec_fn=die_with_the_runner) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                raise Failed(f"{name} took longer than {timeout} s") from None
            raise
    if process.returncode != 0:
        said = err.strip().removeprefix(f"{name}: ")[-400:]
        raise Failed(f"{name}: {said or f'status {process.returncode}'}")
    return json.loads(out)


class Server:
    """bare_server or skiffd on a free port of 127.0.0.1."""

    def __init__(self, folder: Folder, kind: str):
        self.folder = folder
        self.kind = kind
        self.token = folder.token if kind == "skiff" else ""
        command = folder.server_command(kind)
        self.log = open(folder.scratch / f"{kind}.log", "wb")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log,
                                        cwd=folder.scratch, start_new_session=True, preexec_fn=die_with_the_runner)
        self.port = self._read_port()

    def _read_port(self) -> int:
        for raw in self.process.stdout:  # ends when the server ends
            line = raw.decode(errors="replace").strip()
            if "listening on http://127.0.0.1:" in line:
                return int(line.rsplit(":", 1)[1].rstrip("/"))
        self.stop()
        said = Path(self.log.name).read_text(errors="replace").strip()
        raise Failed(f"{self.kind} did not start: {said[-400:]}")

    def load(self, mode: str, **options: object) -> dict:
        arguments = ["--port", self.port, *(["--token", self.token] if self.token else [])]
        for name, value in options.items():
            arguments += ["--" + name.replace("_", "-"), value]
        return run_tool(self.folder, "load", mode, *arguments)

    def rss_bytes(self) -> int:
        """Resident memory; smaps_rollup counts exactly, status is readable for everybody."""
        base = Path(f"/proc/{self.process.pid}")
        try:
            text = (base / "smaps_rollup").read_text()
        except OSError:
            text = (base / "status").read_text()
        for line in text.splitlines():
            if line.startswith(("Rss:", "VmRSS:")):
                return int(line.split()[1]) * 1024
        raise Failed("no RSS in /proc: is the server still there?")

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)  # what bare_server's commands left over, too
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process.stdout.close()
        self.log.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
