"""A skiffd that waits until a test lets it start."""

import os
import pathlib
import shlex
import shutil

from launcher import DRIVER

#: Modes of the program while it waits, goes and fails.
WAITS, GOES, FAILS = 0o755, 0o555, 0o575


class HeldAgent:
    """A copy of skiff, with such a skiffd beside it, in a new directory. A box sees nothing of this machine but the file of its
    agent. So the file says by its mode what to do, and brings the real agent along."""

    def __init__(self, folder):
        folder.mkdir()
        self.skiff, self.program = folder / "skiff", folder / "skiffd"
        shutil.copy(os.environ["SKIFF"], self.skiff)
        real, brought = os.path.abspath(os.environ["SKIFFD"]), b""
        run = shlex.join([*shlex.split(os.environ.get("SKIFFD_WRAPPER", "")), real])
        if DRIVER == "box":
            run, brought = "/tmp/skiffd", pathlib.Path(real).read_bytes()
        script = f"""#!/bin/sh
while mode=$(stat -c %a "$0"); [ "$mode" = {WAITS:o} ]; do sleep 0.02; done
[ "$mode" = {FAILS:o} ] && echo "skiffd can not" >&2 && exit 1
[ {len(brought)} = 0 ] || {{ tail -c {len(brought)} "$0" > {run} && chmod 755 {run}; }}
exec {run} "$@"
"""
        self.program.write_bytes(script.encode() + brought)
        self.hold()

    def hold(self):
        self.program.chmod(WAITS)

    def let_go(self):
        self.program.chmod(GOES)

    def let_fail(self):
        self.program.chmod(FAILS)
