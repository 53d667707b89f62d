"""System calls of a server and of what it starts, counted by the kernel's tracepoint: without ptrace, which would slow
the server down and so change what it does at once."""

from typing import Callable

from .processes import Failed, Folder, Server

EVENT = "raw_syscalls:sys_enter"


def counted(folder: Folder, server: Server, work: Callable[[tuple], dict], unit: str, scale: float = 1) -> dict:
    """`work` is done under perf; `unit` is the figure that says how much of it there was, in `scale`s."""
    out = folder.scratch / "syscalls"
    perf = (folder.installed("perf"), "stat", "-x,", "-o", out, "-e", EVENT, "-p", server.process.pid, "--")
    done = work(perf)
    count = next((line.split(",")[0] for line in out.read_text().splitlines() if EVENT in line), "")
    if not count.isdigit():
        raise Failed(f"perf can't count system calls here: {count or 'it said nothing'}")
    return {"each": int(count) / (done[unit] / scale)}
