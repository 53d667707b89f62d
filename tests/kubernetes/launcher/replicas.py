"""Several `skiff serve` beside each other, with keys in a Secret and sandboxes in Pods."""

import contextlib
import http.client
import signal
import socket
import subprocess

import images
from serving import Answer, Server
from skiff import Skiff
from volumes import disks
from waiting import until

DOMAIN = "sandboxes.localhost"
IMAGE = "skiff.test/bash:1"
TEMPLATES = f"kept: {{image: \"{IMAGE}\", pod: {{volumes: [\"64Mi:/workspace\"], cpu: \"50m:1\"}}}}\n"
DISKS = 5


class Replicas:
    """Two replicas, unless others are started, the namespace of a tenant, which holds the keys, and that of another one."""

    def __init__(self, folder, home, elsewhere, pair=True):
        self.home, self.elsewhere, self.cluster = home, elsewhere, home.cluster
        self.skiff = Skiff(folder, home)
        self.templates = folder / "templates.yaml"
        self.templates.write_text(TEMPLATES)
        self.disks = contextlib.ExitStack()
        self.disks.enter_context(disks(home, DISKS))
        # E2B's SDKs run /bin/bash, whatever an image has.
        layer = images.shell().file("bin/bash", b"#!/bin/sh\nexec sh \"$@\"\n", 0o755)
        self.cluster.load(IMAGE, layer.done(), {"Cmd": ["sh"], "Env": ["PATH=/usr/local/bin:/usr/bin:/bin"]})
        self.key, self.others_key = self.make_key("me"), self.make_key("other", "--scope", "admin", tenant=elsewhere)
        self.servers = []
        self.pair = [self.start(), self.start()] if pair else []

    def make_key(self, name, *flags, tenant=None):
        tenant = tenant or self.home
        return self.skiff("key", "create", name, "--tenant", tenant.name, *flags)[0].strip()

    def start(self, *flags):
        server = Server(self.skiff, "--domain", DOMAIN, "--templates", self.templates, *flags, driver="pod")
        self.servers.append(server)
        return server

    def pods(self):
        return sorted(one["metadata"]["uid"] for one in self.home.items("pods"))

    def events(self, pod, reason):
        """The uids of the Pods of that name to which this has happened."""
        return {one["involvedObject"]["uid"] for one in self.home.items("events")
                if one["involvedObject"]["name"] == pod and one["reason"] == reason}

    def finish(self):
        """All of it is gone, and both replicas have ended as they were asked to."""
        statuses = [server.stop() for server in self.servers if server.process.poll() is None]
        for server in self.servers:
            server.log.close()
        for namespace in (self.home, self.elsewhere):
            self.skiff("rm", "--all", "--everyone", "-q", "--wait=false", env={"SKIFF_NAMESPACE": namespace.name})
        self.disks.close()
        assert all(status == 0 for status in statuses), statuses


@contextlib.contextmanager
def in_the_network_of_pods(replicas, *flags, name="inside", kubeconfig=None, patience=60):
    """A replica that reaches Pods by their addresses, as one in a Pod does: a function that asks it. `ask.told()` is its log,
    `ask.path` its socket, and `ask.kill()` ends it at once."""
    path = str(replicas.skiff.work / f"{name}.sock")
    told = replicas.skiff.work / f"{name}.log"
    log = open(told, "w+b")
    process = subprocess.Popen(
        replicas.cluster.in_its_network(replicas.skiff.program, "serve", "--driver", "pod", "--reach", "in-cluster",
                                     "--listen", f"unix:{path}", "--templates", replicas.templates, *flags),
        env=replicas.skiff.environment(KUBECONFIG=str(kubeconfig or replicas.cluster.folder / "admin.conf")), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=log)

    def ask(method, target, body=None, key=None, headers=None):
        connection = http.client.HTTPConnection("localhost")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(patience)
        try:
            connection.sock.connect(path)
            connection.request(method, target, body, {**({"X-API-Key": key} if key else {}), **(headers or {})})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def listens():
        """Whether it listens: its socket has the name before it does."""
        with socket.socket(socket.AF_UNIX) as sock:
            return sock.connect_ex(path) == 0

    try:
        until(lambda: process.poll() is not None or listens(), 30, "its socket")
        assert process.poll() is None, told.read_text()
        ask.told, ask.path, ask.kill = told.read_text, path, process.kill
        yield ask
        if process.poll() is None:
            process.terminate()
            assert process.wait(60) in (0, -signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
        log.close()
