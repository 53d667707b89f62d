"""`--reach gateway` through the router that kubernetes-sigs/agent-sandbox publishes, as it publishes it."""

import json
import os
import pathlib
import random
import signal
import subprocess
import tempfile

import pytest

from agents import agents_of
from container_uses import answers_each_line
from router import Router
from skiff import BUSYBOX, ClaimSkiff
from terminal import Terminal

GROUP = "gateway.networking.k8s.io"
TOKEN = "for-the-router-alone"


@pytest.fixture(scope="module")
def router(cluster):
    """A router with a token, which it needs by default."""
    with Router(cluster, ROUTER_AUTH_TOKEN=TOKEN) as running:
        yield running


class GatewaySkiff(ClaimSkiff):
    url = ""

    def environment(self, **more):
        ours = {"SKIFF_REACH": "gateway", "SKIFF_GATEWAY_URL": self.url, "SKIFF_GATEWAY_TOKEN": TOKEN}
        return super().environment(**{**ours, **more})


@pytest.fixture(scope="module")
def skiff(namespaces, request, router):
    """A skiff whose sandbox `box` is from a pool, so that it has no Service and no name."""
    with tempfile.TemporaryDirectory(prefix="skiff-") as folder:
        client = GatewaySkiff(pathlib.Path(folder), namespaces.make(request.node.name))
        client.url = router.url
        client("pool", "create", "warm", "-q", "--size", "1", "--image", BUSYBOX)
        client.up("box", "--pool", "warm")
        yield client
        client.finish()


def test_commands_files_and_terminals_go_through_the_router(skiff, router):
    assert skiff.json("describe", "box")["reached"] == {"by": "gateway", "at": router.url}
    assert skiff("exec", "box", "--", "sh", "-c", "echo out; echo err >&2; exit 7", status=7) == ("out\n", "err\n")

    answers_each_line(skiff)

    data = random.Random(8).randbytes(8_000_000)
    process = skiff.start("exec", "-i", "box", "--", "cat", stdin=subprocess.PIPE)
    out, err = process.communicate(data, timeout=100)
    assert (process.returncode, err) == (0, b"") and out == data

    (skiff.work / "file").write_bytes(data)
    skiff("cp", "file", "box:there")
    skiff("cp", "box:there", "back")
    assert (skiff.work / "back").read_bytes() == data
    assert "there" in skiff("files", "ls", "box")[0]

    with Terminal(skiff.start, "shell", "box") as terminal:
        terminal.ready()
        terminal.type(b"stty size; exit 7\n")
        terminal.seen(b"50 132")
        terminal.until(lambda: terminal.process.poll() is not None, "its end")
        assert terminal.process.returncode == 7

    process = skiff.start("exec", "box", "--", "sh", "-c", "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.05; done")
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[0] == b"caught\n" and process.returncode == 5


def test_a_bare_sandbox_is_reached_too(skiff):
    assert skiff.up("bare", "--image", BUSYBOX)["state"] == "running"
    assert skiff("exec", "bare", "--", "echo", "here")[0] == "here\n"
    skiff("rm", "bare")


def test_skiff_passes_on_the_routers_error(skiff):
    _, err = skiff("exec", "box", "--", "true", status=125, env={"SKIFF_GATEWAY_TOKEN": "another"})
    assert "401" in err and "Invalid token." in err and "SKIFF_GATEWAY_TOKEN" in err, err
    # Another way is taken where that is allowed.
    assert skiff("exec", "box", "--", "echo", "here", env={"SKIFF_GATEWAY_TOKEN": "another", "SKIFF_REACH": "auto"})[0] == "here\n"


def test_a_router_whose_agent_does_not_answer_is_not_taken_for_the_agent(skiff, cluster):
    agents = agents_of(skiff.json("describe", "box")["id"])
    with Router(cluster, ROUTER_AUTH_TOKEN=TOKEN, PROXY_TIMEOUT_SECONDS="2") as impatient:
        for pid in agents:
            os.kill(pid, signal.SIGSTOP)
        try:
            _, err = skiff("exec", "box", "--", "true", status=125, env={"SKIFF_GATEWAY_URL": impatient.url})
            assert "504" in err and "Timed out waiting for the backend sandbox" in err, err
        finally:
            for pid in agents:
                os.kill(pid, signal.SIGCONT)


def test_a_gateway_is_found_by_its_name(skiff, router):
    """The cluster has no controller for Gateways: this test writes what one would. The definition holds the fields that are used."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    skiff.cluster.api.create({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"gateways.{GROUP}", "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/gateway-api/pull/2466"}},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": {"kind": "Gateway", "plural": "gateways", "singular": "gateway"},
                 "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {
                     "openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}}}]}})
    try:
        skiff.cluster.kubectl("wait", "--for=condition=Established", "--timeout=30s", "customresourcedefinition", f"gateways.{GROUP}")
        port = int(router.url.rpartition(":")[2])
        skiff.namespace.create({"apiVersion": f"{GROUP}/v1", "kind": "Gateway", "metadata": {"name": "front"},
                                "spec": {"gatewayClassName": "none", "listeners": [{"name": "http", "protocol": "HTTP", "port": port}]}})
        by_name = {"SKIFF_GATEWAY_URL": ""}
        _, err = skiff("exec", "--gateway", "front", "box", "--", "true", status=125, env=by_name)
        assert "no address yet" in err, err
        # `up` waits for the address as for all else.
        later = skiff.start("up", "later", "--pool", "warm", "--gateway", "front", "-q", env=by_name)
        skiff.namespace.wait("sandboxclaim/skiff-later", "condition=Ready")
        assert later.poll() is None
        status = {"status": {"addresses": [{"type": "IPAddress", "value": "127.0.0.1"}]}}
        skiff.namespace.kubectl("patch", "gateway", "front", "--subresource=status", "--type=merge", f"--patch={json.dumps(status)}")
        _, err = later.communicate(timeout=100)
        assert later.returncode == 0, err
        for name in ("front", f"{skiff.namespace.name}/front"):
            assert skiff("exec", "--gateway", name, "box", "--", "echo", "here", env=by_name)[0] == "here\n"
        _, err = skiff("exec", "--gateway", "none", "box", "--", "true", status=125, env=by_name)
        assert '"none" not found' in err, err
    finally:
        skiff.cluster.api.delete("customresourcedefinition", f"gateways.{GROUP}")
