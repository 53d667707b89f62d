"""Many readers of one command."""

import json
import resource

from .processes import Absent, Folder, Server

SPARE = 200  # descriptors besides the readers' own, and those of the agent's own (protocol/net/connection_slots.cpp)
COMMANDS_AND_FILES = 4096  # what an agent's connections leave


def readers(folder: Folder, form: str, count: int, pattern: str, size: int) -> dict:
    """COUNT readers are attached to a command that waits; then it prints SIZE bytes, which must reach each of them. What
    they cost the command is what its own clock says."""
    # The agent gives connections half of what it may open, or all but `COMMANDS_AND_FILES` if that is more.
    connections = count + SPARE
    needed = SPARE + min(2 * connections, connections + COMMANDS_AND_FILES)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if limit < needed:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (needed, needed))
        except (OSError, ValueError):
            raise Absent(f"the hard limit of open files is {limit}: {count} readers need more") from None
    timed = "timed" if form == "octet" else ""
    script = f"read line; exec {folder.program('writer')} {pattern} {size} {timed}"
    body = {"argv": ["/bin/sh", "-c", script], "mode": "background", "stdin_open": True,
            "output": {"keep_bytes": max(2 * size, 1 << 20)}}
    with Server(folder, "skiff", "--max-connections", str(connections)) as server:
        return server.load("readers", form=form, clients=count, pattern=pattern, bytes=size, pid=server.process.pid,
                           body=json.dumps(body, separators=(",", ":")))
