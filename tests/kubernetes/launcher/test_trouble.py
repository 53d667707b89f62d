"""Connections that break, and an API server that restarts."""

import concurrent.futures
import contextlib
import http.client
import json
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


@contextlib.contextmanager
def without_etcd(cluster):
    """An API server that has lost its storage."""
    cluster.kill("etcd")
    try:
        yield
    finally:
        cluster.start("etcd")


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


def test_what_runs_goes_on_while_the_cluster_is_away(namespaces, tmp_path, cluster):
    """Several times: what the watches missed in one outage they know in the next one."""
    replicas = Replicas(tmp_path, namespaces.make("away"), namespaces.make("away, another tenant"))
    headers = {"Content-Type": "application/json"}
    try:
        with in_the_network_of_pods(replicas) as ask:
            def create(name):
                return ask("POST", "/v1/sandboxes", json.dumps({"name": name}).encode(), replicas.key, headers)

            def run(name, line=b"echo there"):
                return ask("POST", f"/s/{name}/7070/v1/run", line, replicas.key, {"Content-Type": "text/plain"})

            def listed():
                answer = ask("GET", "/v1/sandboxes", None, replicas.key)
                assert answer.status == 200, answer.body
                return {one["id"]: one["state"] for one in answer.json()["items"]}

            def is_refused(answer):
                assert (answer.status, answer.headers["Retry-After"]) == (503, "10"), (answer.status, answer.body)

            for name in ("known", "never-asked", "removed"):
                assert create(name).status == 201
            assert run("known").body == b"there\n"
            there = dict.fromkeys(("known", "never-asked", "removed"), "running")
            for away in (killed, silent, without_etcd):
                with concurrent.futures.ThreadPoolExecutor(1) as pool, away(cluster):
                    stream = pool.submit(run, "known", f"seq 1 {LINES}; until [ -e {away.__name__} ]; do sleep 0.05; done; seq 1 {LINES}".encode())
                    for name in there:
                        answer = run(name)
                        assert (answer.status, answer.body) == (200, b"there\n"), (name, answer.body)
                    assert listed() == there
                    for name in there:
                        assert ask("GET", f"/v1/sandboxes/{name}", None, replicas.key).json()["state"] == "running"
                    assert ask("GET", "/readyz").status == 200
                    is_refused(create("another"))
                    is_refused(ask("DELETE", "/v1/sandboxes/known", None, replicas.key))
                    is_refused(ask("GET", "/v1/sandboxes/another", None, replicas.key))
                    is_refused(ask("GET", "/v1/me", None, "e2b_" + "0" * 40))
                    assert run("known", f"touch {away.__name__}".encode()).status == 200
                    streamed = stream.result()
                assert streamed.body == b"".join(f"{number}\n".encode() for number in range(1, LINES + 1)) * 2
                until(lambda: create("later").status == 201, 60, "that sandboxes are made again", 0.5)
                assert run("later").body == b"there\n"
                # Another client removes one, and the server learns it from its watch.
                replicas.skiff("rm", "removed", "--driver", "pod", "-q")
                until(lambda: run("removed").status != 200, 30, "that it is gone", 0.1)
                there = dict.fromkeys(("known", "never-asked", "later"), "running")
                if away is not without_etcd:
                    assert ask("DELETE", "/v1/sandboxes/later", None, replicas.key).status == 204
                    assert create("removed").status == 201
                    there = dict.fromkeys(("known", "never-asked", "removed"), "running")
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
