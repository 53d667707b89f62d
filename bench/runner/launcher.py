"""What the launcher itself costs: whole runs of `skiff exec`, `ps` and `cp` with a sandbox on this machine, beside curl and tar that
do the same with the same agent."""

import json
import os
import shlex
import shutil
import subprocess
import urllib.request
from functools import cached_property
from pathlib import Path

from .files import Files
from .processes import Absent, Failed, Folder, die_with_the_runner, run_tool

NAME = "bench"
FILE, TREE = "large", "tree"
IN_FOLDER = 100
SMALL = 1024
LONGEST = 60.0
MEGABYTE = 1024 * 1024


class Launcher:
    """Its sandbox is made at the first use."""

    def __init__(self, folder: Folder, size: int, small_files: int, runs: int):
        self.folder, self.size, self.small_files, self.runs = folder, size, small_files, runs
        self.home = folder.files / "launcher"
        self.out = folder.files / "launcher-out"
        self.files = Files(folder, size)

    def close(self):
        if "sandbox" in self.__dict__:
            self._skiff("rm", "--all", "--everyone", "-q", "-f")

    @property
    def program(self) -> str:
        path = self.folder.skiffd.parent / "skiff"
        if not path.exists():
            raise Absent("skiff is not built")
        return str(path)

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "XDG_STATE_HOME": str(self.home), "SKIFF_DRIVER": "local"}

    def _skiff(self, *words: str) -> str:
        done = subprocess.run([self.program, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONGEST,
                              env=self.environment, preexec_fn=die_with_the_runner)
        if done.returncode != 0:
            raise Failed(f"skiff {words[0]}: {done.stderr.strip()[-300:]}")
        return done.stdout.strip()

    @cached_property
    def sandbox(self) -> dict:
        """Returns what `skiff describe` says of it."""
        self._skiff("up", NAME, "-q")
        return json.loads(self._skiff("describe", NAME, "-o", "json"))

    @property
    def root(self) -> Path:
        return Path(self.sandbox["workspace"])

    @cached_property
    def _curl(self) -> str:
        """Returns the beginning of a shell line: curl with the agent's token, from a file that others can't read."""
        config = self.folder.scratch / "curl"
        config.touch(mode=0o600)
        config.write_text(f'header = "Authorization: Bearer {self._skiff("token", NAME)}"\n')
        return f"{self.folder.installed('curl')} -sSf -K {config}"

    @cached_property
    def tree(self) -> Path:
        top = self.folder.files / "launcher-tree" / TREE
        for number in range(self.small_files):
            place = top / f"part{number // IN_FOLDER}"
            if number % IN_FOLDER == 0:
                place.mkdir(parents=True)
            (place / f"file{number}").write_bytes(f"{number} ".encode().ljust(SMALL, b"x"))
        return top

    def _run(self, *words: object, runs: int = 1) -> dict:
        return run_tool(self.folder, "whole_run", "--rounds", runs, "--", *words, environment=self.environment)

    def exec(self) -> dict:
        """Also counts the requests of one run."""
        before = self._requests()
        self._skiff("exec", NAME, "--", "true")
        requests = self._requests() - before
        return {**self._run(self.program, "exec", NAME, "--", "true", runs=self.runs), "requests": requests}

    def curl_exec(self) -> dict:
        body = json.dumps({"argv": ["true"]})
        url = f"{self.sandbox['address']}/v1/sessions/default/commands"
        return self._shell(f"exec {self._curl} -o /dev/null -H 'Content-Type: application/json' -d {shlex.quote(body)} {url}", self.runs)

    def ps(self) -> dict:
        assert self.sandbox
        return self._run(self.program, "ps", runs=self.runs)

    def version(self) -> dict:
        return self._run(self.program, "--version", runs=self.runs)

    def _shell(self, line: str, runs: int = 1) -> dict:
        return self._run("/bin/sh", "-c", line, runs=runs)

    def _requests(self) -> int:
        """Returns how many requests the agent has answered; this one is answered later."""
        request = urllib.request.Request(f"{self.sandbox['address']}/metrics",
                                         headers={"Authorization": f"Bearer {self._skiff('token', NAME)}"})
        with urllib.request.urlopen(request, timeout=LONGEST) as answer:
            lines = answer.read().decode().splitlines()
        return sum(int(float(line.rsplit(" ", 1)[1])) for line in lines
                   if line.startswith("skiff_requests_total{") and 'route="/metrics"' not in line)

    def _agent_io(self) -> dict[str, int]:
        """Returns bytes that the agent has read from files and written to files, without sockets (proc_pid_io(5))."""
        lines = Path(f"/proc/{self.sandbox['details']['pid']}/io").read_text().splitlines()
        return {name: int(value) for name, value in (line.split(": ") for line in lines)}

    def _counted(self, run, size: int) -> dict:
        """Adds the requests, and what the agent reads and writes for each byte of content."""
        requests, before = self._requests(), self._agent_io()
        took = run()
        after = self._agent_io()
        return {**took, "requests": self._requests() - requests,
                "agent_read": (after["rchar"] - before["rchar"]) / size,
                "agent_written": (after["wchar"] - before["wchar"]) / size,
                "written": took["written_bytes"] / size,
                "write_calls_each": took["write_calls"] / (size / MEGABYTE)}

    def file_in(self, by_curl: bool) -> dict:
        to = self.root / FILE
        try:
            if by_curl:
                took = self._shell(f"exec {self._curl} -o /dev/null -T {self.files.large} {self.sandbox['address']}/v1/files/{FILE}")
            else:
                took = self._counted(lambda: self._run(self.program, "cp", self.files.large, f"{NAME}:{FILE}"), self.size)
            return self._same(took, self.files.large, to)
        finally:
            to.unlink(missing_ok=True)

    def file_out(self, by_curl: bool) -> dict:
        there = self.root / "source"
        if not there.exists():
            there.hardlink_to(self.files.large)
        try:
            if by_curl:
                took = self._shell(f"exec {self._curl} -o {self.out} {self.sandbox['address']}/v1/files/{there.name}")
            else:
                took = self._counted(lambda: self._run(self.program, "cp", f"{NAME}:{there.name}", self.out), self.size)
            return self._same(took, self.files.large, self.out)
        finally:
            self.out.unlink(missing_ok=True)

    def tree_in(self, by_curl: bool) -> dict:
        to = self.root / TREE
        try:
            if by_curl:
                archive = f"{self.sandbox['address']}/v1/files:archive"
                took = self._shell(f"tar -C {self.tree.parent} -cf - {TREE} | {self._curl} -o /dev/null -T - {archive}")
            else:
                took = self._run(self.program, "cp", self.tree, f"{NAME}:{TREE}")
            return self._same(took, self.tree, to)
        finally:
            shutil.rmtree(to, ignore_errors=True)

    def tree_out(self, by_curl: bool) -> dict:
        there = self.root / "source-tree"
        if not there.exists():
            shutil.copytree(self.tree, there, copy_function=os.link)
        try:
            if by_curl:
                archive = f"{self.sandbox['address']}/v1/files:archive?path={there.name}"
                took = self._shell(f"mkdir {self.out} && {self._curl} '{archive}' | tar -C {self.out} -xf -")
            else:
                took = self._run(self.program, "cp", f"{NAME}:{there.name}", self.out)
            return self._same(took, self.tree, self.out)
        finally:
            shutil.rmtree(self.out, ignore_errors=True)

    @staticmethod
    def _same(took: dict, one: Path, other: Path) -> dict:
        if subprocess.run(["diff", "-rq", one, other], stdout=subprocess.DEVNULL).returncode != 0:
            raise Failed(f"{other.name} is not what was copied")
        return took
