"""agent-sandbox's own router, unmodified, in the network of a test's cluster."""

import os
import pathlib
import socket
import subprocess
import urllib.request

import build
from waiting import until


class Router:
    """`url` is where it is reached from here. `environment` is what it is configured by."""

    def __init__(self, cluster, **environment):
        self.folder = build.router()
        self.log = cluster.folder / "router.log"
        # A socket belongs to the network that it was made in: the router listens on one of ours and dials from in there.
        with socket.create_server(("127.0.0.1", 0)) as listener, open(self.log, "ab") as log:
            self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            self.process = subprocess.Popen(
                ["nsenter", f"--target={cluster.pid}", "--net", "--", "/usr/bin/python3", "-B", "-m", "uvicorn", "sandbox_router:app",
                 f"--fd={listener.fileno()}", "--log-level=warning"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=[listener.fileno()],
                env={**os.environ, "PYTHONPATH": f"{self.folder / 'libraries'}:{self.folder}", "PYTHONUNBUFFERED": "1", **environment})
        until(self.answers, seconds=60)

    def answers(self):
        assert self.process.poll() is None, self.text()
        try:
            with urllib.request.urlopen(f"{self.url}/healthz", timeout=5) as reply:
                return reply.status == 200
        except OSError:
            return False

    def text(self):
        return pathlib.Path(self.log).read_text(errors="replace")[-3000:]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
