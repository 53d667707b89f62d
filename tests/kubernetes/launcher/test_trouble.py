"""Connections that break, and an API server that restarts."""

import contextlib
import http.client
import os
import pathlib
import random
import signal
import subprocess

import pytest

import proc
from cluster import running
from replicas import Replicas, in_the_network_of_pods
from waiting import until

GATE = {"schedulingGates": [{"name": "test.skiff.dev/gate"}]}
LINES = 20_000


@pytest.fixture(scope="session")
def cluster():
    """One whose parts may be killed."""
    with running() as cluster:
        yield cluster


def restart_server(cluster):
    cluster.restart("kube-apiserver")


def cut_connections(cluster):
    cluster.restart("relay")


@pytest.mark.parametrize("trouble", [restart_server, cut_connections])
def test_streams_go_on_with_nothing_lost_or_repeated(skiff, cluster, trouble):
    skiff.up()
    reader = skiff.start("exec", "box", "--", "sh", "-c",
                         f"echo once >> ran; seq 1 {LINES}; until [ -e go ]; do sleep 0.05; done; seq 1 {LINES}; exit 7")
    expected = [f"{number}\n".encode() for number in range(1, LINES + 1)]
    assert [reader.stdout.readline() for _ in range(LINES)] == expected
    data = random.Random(8).randbytes(1_000_000)
    writer = skiff.start("exec", "-i", "box", "--", "sh", "-c", "head -c 500000; echo; cat", stdin=subprocess.PIPE)
    writer.stdin.write(data[:500_000])
    writer.stdin.flush()
    got = writer.stdout.read(500_001)
    trouble(cluster)
    skiff.inside("touch", "/workspace/go")
    assert [reader.stdout.readline() for _ in range(LINES)] == expected
    out, err = reader.communicate(timeout=100)
    assert (reader.returncode, out) == (7, b""), err
    assert skiff("exec", "box", "--", "cat", "ran")[0] == "once\n"
    out, err = writer.communicate(data[500_000:], timeout=100)
    assert (writer.returncode, got + out) == (0, data[:500_000] + b"\n" + data[500_000:]), err


def test_ps_reports_an_unreachable_cluster_and_up_waits_for_it(skiff, cluster, namespace):
    process = skiff.start("up", "box", *skiff.overrides(GATE))
    namespace.wait("pod/skiff-box", "create")
    cluster.kill("kube-apiserver")
    try:
        assert "127.0.0.1" in skiff("ps", status=125)[1]
    finally:
        cluster.start("kube-apiserver")
    namespace.kubectl("patch", "pod", "skiff-box", "--type=json", "--patch", '[{"op": "remove", "path": "/spec/schedulingGates"}]')
    out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    assert skiff("exec", "box", "--", "echo", "hello")[0] == "hello\n"


@contextlib.contextmanager
def killed(cluster):
    cluster.kill("kube-apiserver")
    try:
        yield
    finally:
        cluster.start("kube-apiserver")


@contextlib.contextmanager
def silent(cluster):
    """An API server that accepts connections, and says nothing."""
    def arguments(pid):
        with contextlib.suppress(OSError):
            return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return [b""]
    (pid,) = [pid for pid in proc.pids() if arguments(pid)[0] == b"kube-apiserver" and str(cluster.folder).encode() in b" ".join(arguments(pid))]
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("number", [None, signal.SIGTERM], ids=["its time", "a signal"])
def test_up_ends_when_it_said_though_the_cluster_says_nothing(skiff, cluster, namespace, number):
    process = skiff.start("up", "box", "--wait", "10m" if number else "5s", *skiff.overrides(GATE))
    namespace.wait("pod/skiff-box", "create")
    with silent(cluster):
        if number:
            process.send_signal(number)
        # A minute is the patience with a single answer.
        _, err = process.communicate(timeout=50)
    assert process.returncode == (128 + number if number else 125), err
    assert b"could not be cleaned up" in err, err
    skiff("rm", "box", "--force")


def test_requests_reach_running_sandboxes_while_the_cluster_is_away(namespaces, tmp_path, cluster):
    replicas = Replicas(tmp_path, namespaces.make("away"), namespaces.make("away, another tenant"))
    text = {"Content-Type": "text/plain"}
    try:
        with in_the_network_of_pods(replicas) as ask:
            ids = [ask("POST", "/v1/sandboxes", b"{}", replicas.key, {"Content-Type": "application/json"}).json()["id"] for _ in range(3)]

            def run(number):
                return ask("POST", f"/s/{ids[number]}/7070/v1/run", b"echo there", replicas.key, text)

            assert run(0).body == b"there\n"
            for away, unknown in ((killed, 1), (silent, 2)):
                with away(cluster):
                    for _ in range(3):
                        answer = run(0)
                        assert (answer.status, answer.body) == (200, b"there\n"), answer.body
                    for answer in (run(unknown), ask("GET", "/v1/sandboxes", None, replicas.key), ask("GET", "/v1/me", None, "e2b_" + "0" * 40)):
                        assert (answer.status, answer.headers["Retry-After"]) == (503, "10"), (answer.status, answer.body)
                    assert ask("GET", "/readyz").status == 200
                assert until(lambda: run(unknown).body == b"there\n", 60)
    finally:
        replicas.finish()


def test_a_forward_takes_connections_again_after_a_cut(skiff, cluster):
    skiff.up()
    data = random.Random(9).randbytes(30_000_000)
    (skiff.work / "page").write_bytes(data)
    skiff("cp", skiff.work / "page", "box:page")
    skiff("exec", "--mode", "background", "box", "--", "httpd", "-f", "-p", "8080", "-h", "/workspace")
    skiff("exec", "box", "--", "sh", "-c", "until nc 127.0.0.1 8080 </dev/null; do sleep 0.05; done")
    process = skiff.start("forward", "box", ":8080")
    try:
        port = int(process.stdout.readline().decode().split(" -> ")[0].rsplit(":", 1)[1])
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
            connection.request("GET", "/page")
            answer = connection.getresponse()
            assert answer.read(1000) == data[:1000]
            cluster.kill("relay")
            # More was on its way than buffers hold: the rest can't be had, and that is told.
            with pytest.raises((http.client.IncompleteRead, OSError)):
                answer.read()
        cluster.start("relay")
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
            connection.request("GET", "/page")
            assert connection.getresponse().read() == data
    finally:
        process.kill()
        process.communicate()
