"""The launcher's sandboxes on this machine: `skiff up` with the driver box, and beside it with `local`, which isolates nothing."""

import statistics
import subprocess
import time

from .gateway import skiff
from .processes import Absent, Failed, Folder, die_with_the_runner

AT_ONCE = 50
LONGEST = 60.0


class Boxes:
    def __init__(self, folder: Folder, count: int):
        self.folder, self.count = folder, count
        self.home = folder.files / "boxes"

    def up(self, driver: str) -> dict:
        """Times whole runs of `skiff up`, which end as soon as the agent answers."""
        took = []
        for number in range(self.count):
            started = time.perf_counter()
            self._finish(self._start(driver, "up", f"one{number}", "-q"))
            took.append((time.perf_counter() - started) * 1e3)
            self._finish(self._start(driver, "rm", f"one{number}", "-q", "-f"))
        took.sort()
        return {"p50_ms": statistics.median(took), "p90_ms": took[len(took) * 9 // 10]}

    def bare(self) -> dict:
        """Times what no box can do without: the namespaces, a /proc, and a program that runs in them."""
        command = [self.folder.installed("unshare"), "-Urmpifnu", "--mount-proc", "--fork", "true"]
        took = []
        for _ in range(self.count):
            started = time.perf_counter()
            if subprocess.run(command, capture_output=True).returncode != 0:
                raise Absent("unshare makes no namespaces here")
            took.append((time.perf_counter() - started) * 1e3)
        took.sort()
        return {"p50_ms": statistics.median(took), "p90_ms": took[len(took) * 9 // 10]}

    def at_once(self, driver: str) -> dict:
        """Times as many processes of `skiff up` at the same time, until the last has ended."""
        started = time.perf_counter()
        running = [self._start(driver, "up", f"many{number}", "-q") for number in range(AT_ONCE)]
        try:
            for process in running:
                self._finish(process)
            took = (time.perf_counter() - started) * 1e3
        finally:
            self._finish(self._start(driver, "rm", "--all", "--everyone", "-q", "-f"))
        return {"all_ms": took}

    def _start(self, driver: str, *words: str) -> subprocess.Popen:
        command = [*skiff(self.folder, self.home), words[0], "--driver", driver, *words[1:]]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                                cwd=self.folder.scratch, preexec_fn=die_with_the_runner)

    @staticmethod
    def _finish(process: subprocess.Popen):
        try:
            _, err = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Failed(f"{process.args[3]} took longer than {LONGEST} s") from None
        if process.returncode != 0:
            raise (Absent if "can't be made" in err else Failed)(err.strip().partition("\n")[0])
