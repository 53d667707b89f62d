"""The cluster that most of these files share, with agent-sandbox and addresses of IPv4 and IPv6: `shared_cluster.py start FILE` before the first of them, and
`shared_cluster.py stop FILE` after the last one. FILE then tells the tests where it is (SKIFF_TEST_CLUSTER).

It ends with `stop`, or with the process that ran `start`, which is ctest."""

import json
import os
import pathlib
import select
import signal
import subprocess
import sys

import cgroups
from cluster import SHARED_FAMILIES, CannotRun, Cluster, launch

END_SECONDS = 60


def start(file):
    file.unlink(missing_ok=True)
    # The cluster ends with its standard input, and that with ctest. Neither holds what ctest reads: it would wait for them.
    tail = subprocess.Popen(["tail", f"--pid={os.getppid()}", "--follow", "/dev/null"], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        with open(file.with_suffix(".log"), "w+b") as told:
            starter, where = launch(told, "agent-sandbox", of_families=SHARED_FAMILIES, stdin=tail.stdout, start_new_session=True)
    except CannotRun as reason:
        file.write_text(json.dumps({"cannot_run": str(reason)}))
        return
    file.write_text(json.dumps({**where, "starter": starter.pid}))


def stop(file):
    """Fails when something of skiff's is left in any namespace, or when the starter could not remove everything."""
    where = json.loads(file.read_text())
    if "cannot_run" in where:
        return
    left = Cluster(where).of_skiff()
    starter = os.pidfd_open(where["starter"])
    signal.pidfd_send_signal(starter, signal.SIGTERM)
    ended, _, _ = select.select([starter], [], [], END_SECONDS)
    if not ended:
        left.append(f"the starter, process {where['starter']}")
    folder = pathlib.Path(where["folder"])
    left += [str(path) for path in [folder, *cgroups.of(folder.name)] if path.exists()]
    sys.stdout.write(file.with_suffix(".log").read_text(errors="replace"))
    file.unlink()
    if left:
        sys.exit(f"left behind: {left}")


if __name__ == "__main__":
    {"start": start, "stop": stop}[sys.argv[1]](pathlib.Path(sys.argv[2]))
