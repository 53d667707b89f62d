"""Attacks on a box from within (box_probes), in each form that it has: nothing may be reached."""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys

import pytest

from boxes import skiff  # noqa: F401

PROBES = pathlib.Path(__file__).parent / "box_probes"
LEAST_PROBES = 59


@contextlib.contextmanager
def things_outside(folder, uid):
    """Files, processes, ports and sockets of the host, which a box must not reach."""
    secret = folder / "secret"
    secret.write_text("secret")
    secret.chmod(0o644)
    port, name = socket.create_server(("0.0.0.0", 0)), f"box-{os.getpid()}-{uid}"
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind("\0" + name)
    abstract.listen()
    hosts = ["127.0.0.1", "localhost", *{one[4][0] for one in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}] \
        if is_known(socket.gethostname()) else ["127.0.0.1"]
    with port, abstract:
        yield {"files": [str(secret), str(folder), "/tmp/skiff", os.getcwd()], "login": "root", "variables": ["ITEST_SECRET"],
               "pids": [os.getpid(), os.getppid()], "ports": [[host, port.getsockname()[1]] for host in hosts],
               "abstract": [name], "sockets": []}


@contextlib.contextmanager
def daemon_in(project):
    """A socket and a FIFO on which somebody outside waits. A read-only mount keeps nobody from them."""
    with socket.socket(socket.AF_UNIX) as listener:
        with contextlib.chdir(project):  # the path may be too long for a socket
            listener.bind("daemon.sock")
        listener.listen()
        (project / "daemon.sock").chmod(0o777)
        os.mkfifo(project / "fifo", 0o666)
        reader = os.open(project / "fifo", os.O_RDONLY | os.O_NONBLOCK)
        try:
            yield
        finally:
            os.close(reader)


def is_known(host):
    with contextlib.suppress(OSError):
        return bool(socket.getaddrinfo(host, None))
    return False


FORMS = {"plain": (), "mounted": ("--mount", "project"), "read-only": ("--mount", "project:ro")}


@pytest.mark.parametrize("form", FORMS)
def test_nothing_is_reached(skiff, tmp_path, form):
    project = skiff.work / "project"
    project.mkdir()
    with things_outside(tmp_path, skiff.uid) as outside, daemon_in(project):
        for path in (project, *project.iterdir()):
            skiff.own(path)
        skiff.up("box", *FORMS[form], env={"ITEST_SECRET": "x"})
        outside["sockets"] = [str(skiff.sandboxes / "box/agent.sock"), "/workspace/daemon.sock"]
        outside["fifos"] = ["/workspace/fifo"]
        skiff("cp", "-q", PROBES, "box:/tmp/probes")
        said = json.loads(skiff("exec", "box", "--", "python3", "/tmp/probes", json.dumps(outside))[0])
    assert said["reached"] == {} and said["probes"] >= LEAST_PROBES, said
    assert skiff.json("ps", "box")["state"] == "running", "the agent was ended from within"
    for path in skiff.work.rglob("*"):
        assert not path.lstat().st_mode & 0o6000, path


def test_the_probes_refuse_to_run_outside():
    done = subprocess.run([sys.executable, PROBES, "{}"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 1 and "in a box alone" in done.stderr and done.stdout == ""
