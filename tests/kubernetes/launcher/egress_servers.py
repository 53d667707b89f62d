"""Two replicas of `skiff serve` for the namespace of a skiff whose sandboxes have egress by name."""

import os
import subprocess

from alternating import Alternating
from serving import Server

ALL = "0.0.0.0/0"
TEMPLATES = """warm: {pod: {pool: fenced}}
open: {pod: {pool: open}}
closed: {pod: {network: deny}}
"""


class Servers:
    """Two replicas for the namespace of `skiff`, and requests to them, each to another one than the request before."""

    def __init__(self, skiff):
        self.skiff, self.cluster, self.templates = skiff, skiff.cluster, skiff.work / "templates.yaml"
        self.templates.write_text(TEMPLATES)
        self.key = skiff("key", "create", "me", "--tenant", skiff.namespace.name)[0].strip()
        self.pair = [self.start(), self.start()]
        self.count = 0

    def start(self, *flags):
        return Server(self.skiff, "--templates", self.templates, *flags, driver="pod")

    def __call__(self, method, path, body=None, key=None, by=None):
        self.count += 1
        answer = (by or self.pair[self.count % 2]).request(method, path, body, key or self.key, timeout=130)
        return answer.status, answer.json() if answer.body else None

    def make(self, **body):
        status, made = self("POST", "/v1/sandboxes", body)
        assert status == 201, made
        return made["id"]

    def finish(self):
        statuses = [server.stop() for server in self.pair]
        self.skiff("key", "rm", "me")
        assert statuses == [0, 0], statuses

    def run_sdk(self, interpreter, program):
        """Runs a program for E2B that knows of one server, while each of its requests goes to another one than that before."""
        with Alternating([tuple(server.host.rsplit(":", 1)) for server in self.pair]) as proxy:
            done = subprocess.run([interpreter, program], cwd=program.parent, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=150, env={"PATH": os.environ["PATH"], "HOME": str(program.parent), "E2B_API_URL": proxy.url,
                                                    "E2B_SANDBOX_URL": proxy.url, "E2B_API_KEY": self.key})
        assert (done.returncode, done.stdout) == (0, "done\n"), (done.stdout[-2000:], done.stderr[-6000:])
