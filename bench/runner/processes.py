"""Servers and tools as child processes, none of which outlives the runner."""

import ctypes
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1
BUSY = 0.12  # share of other work above which figures are not kept


class Failed(Exception):
    """A failed measurement; the text says why."""


class Absent(Failed):
    """A missing program: the measurement is not repeated."""


def die_with_the_runner():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Folder:
    """The directory of the built programs, and two directories that the runner removes at its end: `files` is for measurements of
    files, shared by all servers and the root of skiffd; in memory if there is room, so that no disk is measured."""

    def __init__(self, build: Path, skiffd: Path | None, files_bytes: int):
        self.programs = build / "bench"
        self.skiffd = skiffd or build / "skiffd"
        self._scratch = tempfile.TemporaryDirectory(prefix="skiff-bench-")
        self.scratch = Path(self._scratch.name)
        memory = Path("/dev/shm")
        roomy = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > files_bytes
        self._files = tempfile.TemporaryDirectory(prefix="skiff-bench-", dir=memory if roomy else None)
        self.files = Path(self._files.name)
        self.token = secrets.token_hex(16)
        self.token_file = self.scratch / "token"
        self.token_file.touch(mode=0o600)
        self.token_file.write_text(self.token + "\n")

    def program(self, name: str) -> str:
        path = self.programs / name
        if not path.exists():
            raise Absent(f"{name} is not built")
        return str(path)

    def installed(self, name: str) -> str:
        """Returns the path of a Debian package's program; some are only in root's PATH."""
        path = shutil.which(name, path=os.environ.get("PATH", os.defpath) + ":/usr/sbin")
        if path is None:
            raise Absent(f"{name} is not installed: .ci/setup --bench")
        return path

    def server_command(self, kind: str) -> list[str]:
        if kind == "bare":
            return [self.program("bare_server")]
        if not self.skiffd.exists():
            raise Absent("skiffd is not built")
        return [str(self.skiffd), "--listen", "127.0.0.1:0", "--root", str(self.files),
                "--token-file", str(self.token_file)]

    def close(self):
        self._files.cleanup()
        self._scratch.cleanup()


def run_tool(folder: Folder, *arguments: object, under: tuple = (), timeout: float = 150, environment: dict | None = None) -> dict:
    """Runs a program that prints one JSON object; with `under`, as the command of that program."""
    name, *rest = [str(argument) for argument in arguments]
    command = [*map(str, under), folder.program(name), *rest]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          cwd=folder.scratch, start_new_session=True, env=environment, preexec_fn=die_with_the_runner) as process:
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


def busy_share(seconds: float) -> float:
    """The processor time of all processes in `seconds`, as a share of the machine."""
    def read() -> tuple[int, int]:
        values = [int(value) for value in Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
        return sum(values), values[3] + values[4]
    before = read()
    time.sleep(seconds)
    after = read()
    whole = after[0] - before[0]
    return 1 - (after[1] - before[1]) / whole if whole else 0.0


def wait_for_quiet(limit: float) -> float:
    """Waits, at most `limit` seconds, until the machine is idle."""
    end = time.monotonic() + limit
    share = busy_share(0.3)
    while share > BUSY and time.monotonic() < end:
        share = busy_share(0.5)
    return share


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


class Reached:
    """A server on a port of 127.0.0.1, with or without a process of this runner."""

    def __init__(self, folder: Folder, kind: str, port: int):
        self.folder = folder
        self.kind = kind
        self.port = port
        self.token = ""
        self.prefix = ""  # of the paths in `load`
        self.doors: dict[str, int] = {}  # port of each dialect's door: "python-runtime HTTP", "sandboxd gRPC"

    def load(self, mode: str, under: tuple = (), door: str | None = None, **options: object) -> dict:
        """Runs the load generator on the server's own port, or on a dialect's, which needs no token."""
        arguments = ["--port", self.port if door is None else self.doors[door]]
        if self.token and door is None:
            arguments += ["--token", self.token]
        if self.prefix:
            options["path"] = self.prefix + options["path"]
        for name, value in options.items():
            arguments += ["--" + name.replace("_", "-"), value]
        return run_tool(self.folder, "load", mode, *arguments, under=under)


class Server(Reached):
    """bare_server, skiffd, skiff serve or nginx on a free port of 127.0.0.1."""

    def __init__(self, folder: Folder, kind: str, *more: str):
        super().__init__(folder, kind, free_port() if kind == "nginx" else 0)
        self.token = folder.token if kind == "skiff" else ""
        command = self._nginx() if kind == "nginx" else [*self.command(), *more]
        self.log = open(folder.scratch / f"{kind}.log", "wb")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log,
                                        cwd=folder.files, start_new_session=True, preexec_fn=die_with_the_runner)
        if kind == "nginx":
            self._wait_for_port()
        else:
            self.port = self._read_port()
            for _ in range(sum(argument.count(":0") for argument in more)):
                self._read_door()

    def command(self) -> list[str]:
        return self.folder.server_command(self.kind)

    def locations(self) -> str:
        """Returns nginx's locations: files at the same paths as those of the other servers."""
        return f"location /v1/sessions/default/files/ {{ alias {self.folder.files}/; dav_methods PUT; }}"

    def _nginx(self) -> list[str]:
        """Returns the command of nginx: one worker in the foreground. nginx cannot choose a free port itself."""
        scratch = self.folder.scratch / f"nginx-{self.port}"
        scratch.mkdir()
        bodies = self.folder.files / "nginx"  # directory of unfinished uploads, on the same file system as their destination
        others = "".join(f"{kind}_temp_path {scratch}/{kind}; " for kind in ("proxy", "fastcgi", "uwsgi", "scgi"))
        (scratch / "nginx.conf").write_text(
            f"daemon off; master_process off; error_log stderr; pid {scratch}/nginx.pid;\n"
            "events { worker_connections 64; }\n"
            "http { access_log off; default_type application/octet-stream; sendfile on; tcp_nopush on;\n"
            f"client_max_body_size 0; client_body_buffer_size 256k; client_body_temp_path {bodies}; {others}\n"
            f"server {{ listen 127.0.0.1:{self.port};\n{self.locations()} }} }}\n")
        return [self.folder.installed("nginx"), "-c", str(scratch / "nginx.conf")]

    def _wait_for_port(self):
        for _ in range(200):
            if self.process.poll() is not None:
                break
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except ConnectionRefusedError:
                time.sleep(0.02)
        self._did_not_start()

    def _read_port(self) -> int:
        for raw in self.process.stdout:  # ends when the server ends
            line = raw.decode(errors="replace").strip()
            if " on http://127.0.0.1:" in line:
                return int(line.rsplit(":", 1)[1].rstrip("/"))
        self._did_not_start()

    def _read_door(self):
        line = self.process.stdout.readline().decode(errors="replace")
        told = re.search(r"speaks (\S+) \((\S+)\) on 127\.0\.0\.1:(\d+)", line)
        if told is None:
            self._did_not_start()
        self.doors[f"{told[1]} {told[2]}"] = int(told[3])

    def _did_not_start(self):
        self.stop()
        said = Path(self.log.name).read_text(errors="replace").strip()
        raise Failed(f"{self.kind} did not start: {said[-400:]}")

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
            os.killpg(self.process.pid, signal.SIGKILL)  # also the processes that bare_server's commands left
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process.stdout.close()
        self.log.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
