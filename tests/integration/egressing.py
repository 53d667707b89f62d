"""A launcher whose boxes have egress by name in a world of their own, and attempts from within a box."""

import json
import pathlib

import pytest

import egress_world
import proc

PROBE = pathlib.Path(__file__).parent / "box_probes/by_name.py"
UNAWARE = PROBE.with_name("unaware.py")
#: Words before a command line, for a program that obeys no variable.
BARE = ["env", *(word for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy") for one in (name, name.upper()) for word in ("-u", one)),
        "-u", "NODE_USE_ENV_PROXY"]


@pytest.fixture
def outside(skiff, tmp_path):
    usual = skiff.command
    with egress_world.world(tmp_path) as one:
        one.probe = PROBE
        skiff.command = [*one.laptop.words, *usual]
        yield one
        skiff.command = usual
        skiff("rm", "--all", "--everyone", "-q", "-f")


def proxies(skiff):
    """The egress proxies of all boxes of this launcher."""
    return [pid for pid in proc.pids() if f"egress serve {skiff.sandboxes}/" in proc.command_line(pid)]


def through(skiff, *attempts, name="box"):
    """The result of each attempt: see box_probes/by_name.py."""
    skiff("cp", "-q", PROBE, f"{name}:/tmp/by_name.py")
    return json.loads(skiff("exec", name, "--", "python3", "/tmp/by_name.py", json.dumps(attempts))[0])


def log_of(skiff, *flags):
    return json.loads(skiff("egress", "log", "box", "-o", "json", *flags)[0])


def unaware(skiff, *attempts, name="box"):
    """The result of each attempt of a program that knows no proxy: see box_probes/unaware.py."""
    skiff("cp", "-q", UNAWARE, f"{name}:/tmp/unaware.py")
    return json.loads(skiff("exec", name, "--", *BARE, "python3", "/tmp/unaware.py", json.dumps(attempts))[0])
