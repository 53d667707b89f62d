"""The agents of Pods as processes, which the machine sees as it sees its own."""

import pathlib

import proc


def is_in(pod, pid):
    try:
        return f"/pod{pod}/" in pathlib.Path(f"/proc/{pid}/cgroup").read_text()
    except OSError:  # it has ended meanwhile
        return False


def agents_of(pod):
    """The processes called skiffd in the Pod of that uid."""
    found = [pid for pid in proc.pids() if proc.name(pid) == "skiffd" and is_in(pod, pid)]
    assert found, pod
    return found
