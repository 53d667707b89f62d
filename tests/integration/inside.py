"""A `skiff serve` in the world of egressing.py, and its clients there."""

import json
import subprocess
import urllib.parse

from serving import Server


class Inside:
    """A server in the world of `outside`, and requests from there."""

    def __init__(self, skiff, outside, *flags):
        self.words, self.server = outside.laptop.words, Server(skiff, *flags, driver="box")
        self.key = skiff("key", "create", f"k{len(flags)}")[0].strip()

    def __call__(self, method, path, body=None, key=None):
        said = [] if body is None else ["-H", "Content-Type: application/json", "-d", json.dumps(body)]
        done = subprocess.run([*self.words, "curl", "-sS", "-m", "60", "-X", method, "-H", f"X-API-Key: {key or self.key}", "-w", "\n%{http_code}",
                               *said, urllib.parse.urljoin(self.server.url, path)], stdout=subprocess.PIPE, text=True, check=True)
        text, _, status = done.stdout.rpartition("\n")
        return int(status), json.loads(text) if text else None

    def rules(self, name="box"):
        status, said = self("GET", f"/v1/sandboxes/{name}/network")
        return said["egress"] if status == 200 else said["code"]


class FollowedLog:
    """An open stream of a sandbox's network log."""

    def __init__(self, serving, key=None, name="box"):
        self.process = subprocess.Popen([*serving.words, "curl", "-sSN", "-m", "120", "-H", f"X-API-Key: {key or serving.key}",
                                         urllib.parse.urljoin(serving.server.url, f"/v1/sandboxes/{name}/network/log")], stdout=subprocess.PIPE, text=True)

    def events(self):
        """Each event and its data, until the server ends the stream."""
        event = ""
        for line in self.process.stdout:
            name, _, value = line.rstrip("\n").partition(": ")
            if name == "event":
                event = value
            elif name == "data":
                yield event, json.loads(value)
        assert self.process.wait(60) == 0
