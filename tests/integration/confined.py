"""Words before an agent's command line that give it less disk, descriptors, memory or watches than others have. A test
that needs what this machine doesn't allow is skipped and says so."""

import functools
import os
import subprocess

import pytest

from tools import tool

# As root, else in a user namespace of its own.
WAYS = (["unshare", "--mount"], ["unshare", "--user", "--map-root-user", "--mount"])


@functools.cache
def _works(*command):
    return subprocess.run(command, capture_output=True, timeout=20).returncode == 0


def _then(script):
    return ["sh", "-c", script + ' && exec "$@"', "sh"]


def private_mounts():
    """Only the agent and its commands see what is mounted behind these words, and it is gone with them."""
    for way in WAYS:
        if _works(*way, "mount", "-t", "tmpfs", "none", "/mnt"):
            return way
    pytest.skip("nothing can be mounted here")


def on_small_disk(folder, size):
    """The directory `folder`, below the agent's own, is a file system of `size` bytes."""
    return [*private_mounts(), *_then(f"mkdir -p {folder} && mount -t tmpfs -o size={size} none {folder}")]


def with_descriptors(most):
    return [tool("prlimit"), f"--nofile={most}:{most}", "--"]


def without_resource_rights():
    """It can't raise a hard limit (CAP_SYS_RESOURCE), as nobody can in a container."""
    return [tool("setpriv"), "--bounding-set=-sys_resource", "--"] if os.geteuid() == 0 else []


def without_right_to_signal_others():
    """It can't signal a process of another user (CAP_KILL), as one that isn't root can't."""
    return [tool("setpriv"), "--bounding-set=-kill", "--"]


def without_rights_over_files():
    """The agent can't read what its user may not read, like one that isn't root: it lacks CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH."""
    return [tool("setpriv"), "--bounding-set=-dac_override,-dac_read_search", "--"] if os.geteuid() == 0 else []


def with_memory(most):
    return [tool("prlimit"), f"--as={most}", "--"]


def own_user_namespace():
    """The kernel counts this user's resources (user_namespaces(7)) apart from all others'."""
    wrapper = ["unshare", "--user", "--map-root-user"]
    if not _works(*wrapper, "true"):
        pytest.skip("no user namespace can be made here")
    return wrapper


def with_inotify(**most):
    """Limits the `instances` or `watches` of inotify to these counts: limits of a user namespace (namespaces(7))."""
    script = " && ".join(f"echo {count} > /proc/sys/user/max_inotify_{what}" for what, count in most.items())
    wrapper = [*own_user_namespace(), *_then(script)]
    if not _works(*wrapper, "true"):
        pytest.skip("no user namespace with limits of its own can be made here")
    return wrapper
