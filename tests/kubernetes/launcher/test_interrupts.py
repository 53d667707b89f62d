"""Ctrl-C in every phase of `up` leaves nothing, and a skiff that is killed leaves what others can clear."""

import signal
import socket

import pytest

from held_requests import HeldRequests
from waiting import until

HOLD = ["sh", "-c", "trap exit TERM; while :; do sleep 0.1; done"]


def runs(pod, kind, container):
    return any(one["name"] == container and "running" in one["state"] for one in pod["status"].get(kind, []))


# {phase: (Pod overrides that make it last, what shows that it has begun)}
PHASES = {
    "the record is made": ({}, ("configmap/skiff-box", "create")),
    "the pod is made": ({}, ("pod/skiff-box", "create")),
    "scheduling": ({"schedulingGates": [{"name": "test.skiff.dev/gate"}]}, ("pod/skiff-box", "create")),
    "pulling": ({"volumes": [{"name": "missing", "secret": {"secretName": "no-such-secret"}}]}, ("pod/skiff-box", "condition=PodScheduled")),
    "an init container": ({"initContainers": [{"name": "hold", "image": "skiff.test/busybox:1", "command": HOLD}]},
                          ("pod/skiff-box", lambda pod: runs(pod, "initContainerStatuses", "hold"))),
    "starting": ({"containers": [{"name": "sandbox", "command": HOLD}]},
                 ("pod/skiff-box", lambda pod: runs(pod, "containerStatuses", "sandbox"))),
}


def interrupt(skiff, process, number=signal.SIGINT):
    process.send_signal(number)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 128 + number, err.decode()[-2000:]
    # It waits for a few seconds, and says what it leaves to the cluster, which may be busy.
    if b"what it had made is being removed" in err:
        until(lambda: not skiff.namespace.of_skiff(), seconds=120, what="the end of what it had made")
    assert skiff.namespace.of_skiff() == []


@pytest.mark.parametrize("phase", PHASES)
def test_an_interrupt_leaves_nothing_when(skiff, namespace, phase):
    overrides, (what, condition) = PHASES[phase]
    process = skiff.start("up", "box", *skiff.overrides(overrides))
    namespace.wait(what, condition)
    interrupt(skiff, process)


@pytest.mark.parametrize("late", [False, True], ids=["lost", "late"])
@pytest.mark.parametrize("words", [("up", "box"), ("pool", "create", "warm", "--size", "1")], ids=["up", "pool"])
def test_an_interrupt_between_a_request_and_its_answer_leaves_nothing(skiff, namespace, words, late):
    with HeldRequests(skiff.cluster, skiff.home, f"POST /api/v1/namespaces/{namespace.name}/configmaps", late) as held:
        process = skiff.start(*words, env={"KUBECONFIG": str(held.kubeconfig)})
        assert held.seen.wait(60)
        interrupt(skiff, process)


def test_an_interrupt_in_the_setup_leaves_nothing(skiff, namespace):
    process = skiff.start("up", "box", "--setup", "touch began; exec sleep 1000")
    namespace.wait("pod/skiff-box", "condition=Ready")
    skiff.inside("sh", "-c", "until [ -e /workspace/began ]; do sleep 0.05; done")
    interrupt(skiff, process)


def test_an_end_by_sigterm_leaves_nothing(skiff, namespace):
    process = skiff.start("up", "box")
    namespace.wait("pod/skiff-box", "condition=PodScheduled")
    interrupt(skiff, process, signal.SIGTERM)


def test_an_interrupt_before_the_cluster_answers_ends_it(skiff):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        config = skiff.home / "config"
        config.write_text(skiff.cluster.kubeconfig.read_text().replace(skiff.cluster.api.server, f"https://127.0.0.1:{silent.getsockname()[1]}"))
        process = skiff.start("up", "box", env={"KUBECONFIG": str(config)})
        with silent.accept()[0]:
            interrupt(skiff, process)


def test_an_interrupt_of_a_start_leaves_it_stopped(skiff, namespace):
    skiff.up("box", "--setup", "touch began")
    skiff("stop", "box")
    process = skiff.start("start", "box")
    namespace.wait("pod/skiff-box", "create")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert skiff.json("ps")["items"][0]["state"] == "stopped"
    assert [found.partition("/")[0] for found in namespace.of_skiff()] == ["ConfigMap"]


def test_an_interrupt_of_one_run_ends_its_command_and_leaves_nothing(skiff):
    process = skiff.start("run", "skiff.test/busybox:1", "--", "sh", "-c", "echo ready; sleep 1000")
    assert process.stdout.readline() == b"ready\n"
    interrupt(skiff, process)


@pytest.mark.parametrize("phase", ["the record is made", "the pod is made", "scheduling"])
def test_ps_and_rm_see_what_a_killed_skiff_leaves(skiff, namespace, phase):
    overrides, (what, condition) = PHASES[phase]
    process = skiff.start("up", "box", *skiff.overrides(overrides))
    namespace.wait(what, condition)
    process.kill()
    process.communicate()
    assert skiff("ps", "-o", "name")[0] == "box\n"
    assert "already" in skiff("up", "box", status=125)[1]
    skiff("rm", "box")
    assert namespace.of_skiff() == []
