"""`skiff serve` while its API server has faults: sandboxes that run go on, and requests that need it are refused at once."""

import concurrent.futures
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
LINES = 20_000
BLOCK = bytes(range(256)) * 1024
# The first is refused at once; of the others the API server's silence has to be noticed first.
FAULTS = ["500", "gone", "killed", "silent"]


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


def test_uploads_and_streams_go_on_through_two_replicas_whatever_the_api_server_does(replicas, api, pair):
    for name in ("box", "other"):
        assert create(replicas, pair[0], name).status == 201
        for ask in pair:
            answers_again(replicas, ask, name, 200)
    for ask in pair:
        assert run(replicas, ask, "box").status == 200
    wait = b"seq 1 %d; until [ -e go ]; do sleep 0.05; done; seq 1 %d" % (LINES, LINES)
    uploads = [Upload(replicas, ask, f"/s/box/7070/v1/files/upload-{number}", len(FAULTS) + 1) for number, ask in enumerate(pair)]
    with concurrent.futures.ThreadPoolExecutor(len(pair)) as pool:
        streams = [pool.submit(run, replicas, ask, "box", wait) for ask in pair]
        try:
            for fault in FAULTS:
                api.be(fault)
                for ask in pair:
                    # No request has gone to the other one before.
                    for name in ("box", "other"):
                        answer = run(replicas, ask, name)
                        assert (answer.status, answer.body) == (200, b"there\n"), (fault, name, answer.body)
                    assert ask("GET", "/readyz").status == 200
                    if fault != "gone":
                        assert is_refused(create(replicas, ask, "another")), fault
                        assert is_refused(ask("DELETE", "/v1/sandboxes/box", None, replicas.key)), fault
                for upload in uploads:
                    upload.send()
                api.be("well")
                for ask in pair:
                    answers_again(replicas, ask)
        finally:
            api.be("well")
            assert run(replicas, pair[0], "box", b"touch go").status == 200
        lines = b"".join(f"{number}\n".encode() for number in range(1, LINES + 1))
        assert [stream.result().body for stream in streams] == [lines * 2] * len(pair)
    for number, (upload, ask) in enumerate(zip(uploads, pair)):
        upload.send()
        assert upload.finish() == 201
        digest = run(replicas, ask, "box", f"md5sum <upload-{number}; wc -c <upload-{number}".encode()).body.split()
        assert digest[-1] == str(len(BLOCK) * (len(FAULTS) + 1)).encode(), digest
    # The watches go on: another client removes one.
    replicas.skiff("rm", "other", "--driver", "pod", "-q")
    for ask in pair:
        until(lambda ask=ask: run(replicas, ask, "other").status == 404, 30, "that it is gone", 0.1)
        assert run(replicas, ask, "box").body == b"there\n"


def test_a_sandbox_is_made_with_a_name_though_each_answer_takes_seconds(replicas, api, pair):
    answers_again(replicas, pair[0])
    api.be("slow")
    try:
        answer = create(replicas, pair[0], "slow")
    finally:
        api.be("well")
    assert answer.status == 201, answer.body
    assert run(replicas, pair[1], "slow").body == b"there\n"
