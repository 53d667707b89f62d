"""Processes as /proc shows them: used to prove that no process is left behind."""

import os
import pathlib


def _stat(pid):
    """(state, parent) of a process, or None when it is gone."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    state, parent = text.rpartition(")")[2].split()[:2]
    return state, int(parent)


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def alive(pid):
    """True while the process exists and is not a zombie."""
    stat = _stat(pid)
    return stat is not None and stat[0] not in "ZX"


def children(parent):
    """{pid: "name (state)"} of the direct children, zombies too."""
    found = {}
    for pid in pids():
        stat = _stat(pid)
        if stat is not None and stat[1] == parent:
            found[pid] = f"{name(pid)} ({stat[0]})"
    return found


def name(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "?"


def belonging(mark, folder, but=()):
    """{pid: command line} of every live process whose environment holds `mark` or that works below `folder`, however
    far it ran from its parent."""
    found = {}
    for pid in pids():
        if pid not in but and alive(pid) and (_has_mark(pid, mark) or _works_below(pid, folder)):
            found[pid] = command_line(pid)
    return found


def with_mounts_of(folder):
    """The live processes that have a mount of a directory below `folder`, as those of a box have."""
    top = os.path.abspath(folder)
    while not os.path.ismount(top):
        top = os.path.dirname(top)
    # A mount's line names its directory as a path in its file system.
    source = f" /{os.path.relpath(folder, top)}/"
    found = []
    for pid in pids():
        try:
            if source in pathlib.Path(f"/proc/{pid}/mountinfo").read_text() and alive(pid):
                found.append(pid)
        except OSError:
            pass  # it has ended
    return found


def in_pid_namespaces_of(firsts):
    """The live processes that are in the pid namespace of one of these processes."""
    def namespace(pid):
        try:
            return os.readlink(f"/proc/{pid}/ns/pid")
        except OSError:
            return None  # it has ended

    wanted = {namespace(pid) for pid in firsts} - {None}
    return [pid for pid in pids() if namespace(pid) in wanted and alive(pid)]


def thread_names(pid):
    names = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            names.append((task / "comm").read_text().strip())
        except OSError:
            pass  # it has ended
    return names


def _has_mark(pid, mark):
    try:
        return mark.encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def _works_below(pid, folder):
    try:
        return os.readlink(f"/proc/{pid}/cwd").startswith(str(folder) + "/")
    except OSError:
        return False


def command_line(pid):
    try:
        line = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return "?"
    return line.replace(b"\0", b" ").decode(errors="replace").strip()


def descriptors(pid):
    """{descriptor: what it is} of a process; empty when it is gone."""
    found = {}
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return {}
    for fd in names:
        try:
            found[int(fd)] = os.readlink(f"/proc/{pid}/fd/{fd}")
        except OSError:
            continue
    return found


def status(pid, key):
    """One line of /proc/PID/status, such as `VmRSS` or `SigIgn`."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return line.split(":", 1)[1].strip()
    raise KeyError(key)


def rss_bytes(pid):
    return int(status(pid, "VmRSS").split()[0]) * 1024


def threads(pid):
    return int(status(pid, "Threads"))


def written_bytes(pid):
    """How many bytes a process has handed to write(2); None when it is gone."""
    try:
        for line in pathlib.Path(f"/proc/{pid}/io").read_text().splitlines():
            if line.startswith("wchar:"):
                return int(line.split()[1])
    except OSError:
        pass
    return None


def allowance(size):
    """How much memory may grow where `size` bytes are the bound: sanitizers keep shadows and freed blocks."""
    return size * 8 if os.environ.get("SKIFFD_SANITIZER") else size
