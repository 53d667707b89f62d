"""Two replicas of `skiff serve` whose API server has faults, and their clients. Test files import the fixtures."""

import contextlib
import http.client
import json
import pathlib
import socket
import tempfile

import pytest

import replicas as servers
from faulty_api import FaultyApi
from skiff import BUSYBOX
from waiting import until

TEMPLATES = "warm: {pod: {pool: warm}}\n"
BLOCK = bytes(range(256)) * 1024


@pytest.fixture(scope="module")
def replicas(namespaces):
    with tempfile.TemporaryDirectory(prefix="skiff-") as directory:
        one = servers.Replicas(pathlib.Path(directory), namespaces.make("outages"), namespaces.make("outages, another tenant"), pair=False)
        one.templates.write_text(servers.TEMPLATES + TEMPLATES)
        one.skiff("pool", "create", "warm", "--size", "2", "--image", BUSYBOX, "--dialect", "e2b", "--cpu", "10m:1", "-q")
        try:
            yield one
        finally:
            one.finish()
            one.skiff("pool", "rm", "warm")


@pytest.fixture(scope="module")
def api(replicas):
    with FaultyApi(replicas.cluster, replicas.skiff.work) as api:
        yield api


@pytest.fixture(scope="module")
def pair(replicas, api):
    """The pods of both are reached at their addresses; their API server is the faulty one."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(servers.in_the_network_of_pods(replicas, name=name, kubeconfig=api.kubeconfig)) for name in ("one", "other")]
        api.be("well")


def create(replicas, ask, name, **more):
    body = json.dumps({"template": "warm", "name": name, **more}).encode()
    return ask("POST", "/v1/sandboxes", body, replicas.key, {"Content-Type": "application/json"})


def run(replicas, ask, name, line=b"echo there"):
    return ask("POST", f"/s/{name}/7070/v1/run", line, replicas.key, {"Content-Type": "text/plain"})


def is_refused(answer):
    return (answer.status, answer.headers["Retry-After"]) == (503, "10")


def answers_again(replicas, ask, name="absent", status=404):
    """Waits until the server asks its API server again, and has seen the sandbox."""
    until(lambda: ask("GET", f"/v1/sandboxes/{name}", None, replicas.key).status == status, 30, "that it is asked again", 0.1)


class Upload:
    """A file that comes in blocks, each when it is told to."""

    def __init__(self, replicas, ask, path, blocks):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(ask.path)
        head = f"PUT {path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {replicas.key}\r\nContent-Length: {blocks * len(BLOCK)}\r\n\r\n"
        self.sock.sendall(head.encode())

    def send(self):
        self.sock.sendall(BLOCK)

    def finish(self):
        answer = http.client.HTTPResponse(self.sock)
        answer.begin()
        self.sock.close()
        return answer.status
