"""System calls of a server and its children, counted by the kernel's tracepoint: without ptrace, which would slow the server
down and so change what runs at the same time."""

from typing import Callable

from .processes import Absent, Failed, Folder, Server

EVENT = "raw_syscalls:sys_enter"


def counted(folder: Folder, server: Server, work: Callable[[tuple], dict], unit: str, scale: float = 1) -> dict:
    """Runs `work` under perf; `unit` is the figure for the amount of work, in units of `scale`."""
    out = folder.scratch / "syscalls"
    perf = (folder.installed("perf"), "stat", "-x,", "-o", out, "-e", EVENT, "-p", server.process.pid, "--")
    out.unlink(missing_ok=True)
    failure, done = None, {}
    try:
        done = work(perf)
    except Failed as error:
        failure = error
    lines = out.read_text().splitlines() if out.exists() else []
    count = next((line.split(",")[0] for line in lines if EVENT in line), "")
    if not count.isdigit():
        raise Absent("perf can't count system calls here: it takes root and tracefs at /sys/kernel/tracing")
    if failure:
        raise failure
    return {"each": int(count) / (done[unit] / scale)}
