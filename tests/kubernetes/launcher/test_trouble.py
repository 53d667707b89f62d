"""Connections that break, an API server that restarts, and several clearing up at once."""

import contextlib
import http.client
import random
import subprocess

import pytest

LINES = 20_000


def restart_server(cluster):
    cluster.restart("kube-apiserver")


def cut_connections(cluster):
    cluster.restart("relay")


TROUBLE = pytest.mark.parametrize("trouble", [restart_server, cut_connections])


@TROUBLE
def test_a_stream_goes_on_with_nothing_lost_or_repeated(skiff, cluster, trouble):
    skiff.up()
    process = skiff.start("exec", "box", "--", "sh", "-c",
                          f"echo once >> ran; seq 1 {LINES}; until [ -e go ]; do sleep 0.05; done; seq 1 {LINES}; exit 7")
    expected = [f"{number}\n".encode() for number in range(1, LINES + 1)]
    assert [process.stdout.readline() for _ in range(LINES)] == expected
    trouble(cluster)
    skiff.inside("touch", "/workspace/go")
    assert [process.stdout.readline() for _ in range(LINES)] == expected
    out, err = process.communicate(timeout=100)
    assert (process.returncode, out) == (7, b""), err
    assert skiff("exec", "box", "--", "cat", "ran")[0] == "once\n"


@TROUBLE
def test_input_goes_on_where_it_stopped(skiff, cluster, trouble):
    skiff.up()
    data = random.Random(8).randbytes(1_000_000)
    process = skiff.start("exec", "-i", "box", "--", "sh", "-c", "head -c 500000; echo; cat", stdin=subprocess.PIPE)
    process.stdin.write(data[:500_000])
    process.stdin.flush()
    got = process.stdout.read(500_001)
    trouble(cluster)
    out, err = process.communicate(data[500_000:], timeout=100)
    assert (process.returncode, got + out) == (0, data[:500_000] + b"\n" + data[500_000:]), err


def test_up_outlives_a_restart_of_the_api_server(skiff, cluster, namespace):
    gate = {"schedulingGates": [{"name": "test.skiff.dev/gate"}]}
    process = skiff.start("up", "box", *skiff.overrides(gate))
    namespace.wait("pod/skiff-box", "create")
    cluster.restart("kube-apiserver")
    namespace.kubectl("patch", "pod", "skiff-box", "--type=json", "--patch", '[{"op": "remove", "path": "/spec/schedulingGates"}]')
    out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    assert skiff("exec", "box", "--", "echo", "hello")[0] == "hello\n"


def test_a_cluster_that_is_away_is_told(skiff, cluster):
    skiff.up()
    cluster.kill("kube-apiserver")
    try:
        err = skiff("ps", status=125)[1]
        assert "127.0.0.1" in err
    finally:
        cluster.start("kube-apiserver")
    assert skiff("exec", "box", "--", "echo", "back")[0] == "back\n"


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


def test_gc_from_several_places_at_once(skiff, namespace):
    names = ["a", "b", "c"]
    for name in names:
        skiff.up(name)
        skiff("extend", name, "--ttl", "100ms")
    for name in names:
        namespace.wait(f"pod/skiff-{name}", "phase=Succeeded")
    skiff.up("alive")
    collectors = [skiff.start("gc", "-o", "json") for _ in range(3)]
    outcomes = [process.communicate(timeout=100) for process in collectors]
    assert [process.returncode for process in collectors] == [0] * 3, outcomes
    assert skiff("ps", "-o", "name")[0] == "alive\n"
    assert all(found.partition("/")[2].startswith("skiff-alive") for found in namespace.of_skiff())
