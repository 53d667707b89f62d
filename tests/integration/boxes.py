"""A real `skiff` with the driver box, as root or as an ordinary user, shown to leave nothing behind."""

import functools
import json
import os
import subprocess
import tempfile

import pytest

import proc
from launcher import Skiff
from tools import tool

#: An id that no user of the machine has.
ORDINARY = 51_234
USERS = {"root": 0, "user": ORDINARY} if os.geteuid() == 0 else {"user": os.geteuid()}


def as_user(uid):
    """Words before a command line that run it as this user."""
    if uid == os.geteuid():
        return []
    return [tool("setpriv"), f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--"]


class BoxSkiff(Skiff):
    driver = "box"

    def __init__(self, folder, uid):
        super().__init__(folder)
        self.uid = uid
        self.sandboxes = self.state / "skiff/box"
        self.state.mkdir()
        self.command = [*as_user(uid), *self.command]
        self.users = set()
        for path in (folder, self.home, self.state, self.work):
            self.own(path)

    def own(self, path):
        """Gives a file to the user. A box can change files of its user and group alone."""
        os.chown(path, self.uid, self.uid if self.uid != os.geteuid() else -1)

    def up(self, name="box", *arguments, **options):
        made = self.json("up", name, "-q", *arguments, **options)
        self.users.add(self.record(name)["user"])
        return made

    def sh(self, script, name="box", **options):
        """The output of a shell line in the box."""
        return self("exec", name, "--", "sh", "-c", script, **options)[0]

    def folder(self, of, name="box"):
        return self.sandboxes / name / "root" / of

    def processes(self):
        """{pid: command line} of the processes of all boxes that this launcher knew: each has its own user if root made it."""
        ids = {path.name: json.loads((path / "record.json").read_text()).get("id") for path in self.sandboxes.glob("*/")
               if (path / "record.json").exists()} if self.sandboxes.exists() else {}
        found = {}
        for pid in proc.pids():
            line = proc.command_line(pid)
            if not line:
                continue  # it has ended, and init has not taken note of it yet
            owner = uid_of(pid)
            if owner in self.users - {os.geteuid(), ORDINARY} or (line.startswith("/.skiff/skiffd") and
                                                                  any(one and one in line for one in ids.values())):
                found[pid] = line
        return found | proc.belonging(f"HOME={self.home}", str(self.sandboxes))


def uid_of(pid):
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None


@functools.cache
def reason_against(uid):
    """Why this machine can have no boxes of this user; empty if it can."""
    program = os.environ["SKIFF"]
    with tempfile.TemporaryDirectory(prefix="skiff-") as folder:
        os.chown(folder, uid, -1)
        done = subprocess.run([*as_user(uid), program, "doctor", "--driver", "box", "-o", "json"], capture_output=True,
                              env={"HOME": folder, "PATH": os.environ["PATH"]}, timeout=60, text=True)
    try:
        checks = json.loads(done.stdout)["items"]
    except (ValueError, KeyError):
        return done.stderr or "skiff doctor says nothing"
    return next((one["detail"] for one in checks if one["what"] == "namespaces" and not one["passed"]), "")


def need_boxes(uid):
    if reason := reason_against(uid):
        pytest.skip(f"not run: no box can be made here: {reason}")


@pytest.fixture(params=USERS)
def skiff(request, tmp_path):
    """One for each user of the tests."""
    uid = USERS[request.param]
    need_boxes(uid)
    one = BoxSkiff(tmp_path, uid)
    yield one
    one.finish()
