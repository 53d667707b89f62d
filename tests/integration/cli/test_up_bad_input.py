"""`skiff up` tells what is wrong with what is asked of a cluster in one clear line, with exit status 125, before it asks the
cluster for anything."""

import base64
import json
import socket
import subprocess

import pytest

from launcher import Skiff


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    """A client's certificate, its key, and a key that is another one's."""
    folder = tmp_path_factory.mktemp("pki")
    for name in ("client", "other"):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=client",
                        "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.crt"], capture_output=True, check=True)
    return folder


class ClusterSkiff(Skiff):
    """One whose cluster is `listener`, which nobody may knock at."""

    def __init__(self, folder, listener):
        super().__init__(folder)
        self.listener = listener
        self.config = self.home / "config"
        server = f"https://127.0.0.1:{listener.getsockname()[1]}"
        self.config.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": server}}], "users": [{"name": "test", "user": {"token": "some"}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}]}))

    def environment(self, **more):
        ours = {"KUBECONFIG": str(self.config), "SKIFF_NAMESPACE": "test", "SKIFF_DRIVER": "pod", "SKIFF_IMAGE": "skiff.test/busybox:1",
                "SKIFF_AGENT_IMAGE": "skiff.test/skiff:1"}
        return super().environment(**{**ours, **more})

    def refused(self, *arguments, **env):
        """The line. Where a flag can't be read, a second one says where flags are explained."""
        err = self(*arguments, "-q", status=125, env=env)[1].removesuffix("skiff: see `skiff up --help`\n")
        assert err.startswith("skiff: ") and err.endswith("\n") and err.count("\n") == 1, err
        with pytest.raises(BlockingIOError):
            self.listener.accept()
        return err


@pytest.fixture
def skiff(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        yield ClusterSkiff(tmp_path, listener)


# --- the way to the cluster ---

def test_a_missing_kubeconfig_is_named(skiff):
    assert "/no/such/file" in skiff.refused("up", "box", KUBECONFIG="/no/such/file")


@pytest.mark.parametrize("text", ["clusters: [", "just words", "clusters: 7\n", "\x00\x01"])
def test_a_file_that_is_not_a_kubeconfig_is_named(skiff, text):
    skiff.config.write_text(text)
    assert str(skiff.config) in skiff.refused("up", "box")


def test_an_unknown_context_is_named(skiff):
    assert "no-such-context" in skiff.refused("up", "box", "--context", "no-such-context")


def test_a_key_that_does_not_match_its_certificate_is_refused(skiff, pki):
    document = json.loads(skiff.config.read_text())
    user = document["users"][0]["user"]
    user["client-certificate-data"] = base64.b64encode((pki / "client.crt").read_bytes()).decode()
    user["client-key-data"] = base64.b64encode((pki / "other.key").read_bytes()).decode()
    skiff.config.write_text(json.dumps(document))
    assert "key" in skiff.refused("up", "box")


def test_a_server_that_is_not_there(skiff):
    with socket.socket() as held:  # bound, so that nobody else gets the port, and not listening
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        skiff.config.write_text(skiff.config.read_text().replace(str(skiff.listener.getsockname()[1]), str(port)))
        assert f"127.0.0.1:{port}" in skiff.refused("up", "box")


# --- what is asked for ---

@pytest.mark.parametrize("name", ["Box", "a_b", "-a", "a-", "a.b", "../box", "a" * 64, "ü", "a b", ""])
def test_up_refuses_names_that_kubernetes_refuses(skiff, name):
    skiff.refused("up", name)


@pytest.mark.parametrize("overrides", ["{", "7", "[]", '"words"'])
def test_overrides_that_are_not_an_object_are_refused(skiff, overrides):
    file = skiff.work / "overrides.json"
    file.write_text(overrides)
    skiff.refused("up", "box", "--pod-overrides", file)


def test_a_missing_file_of_overrides_is_named(skiff):
    assert "/no/such/file" in skiff.refused("up", "box", "--pod-overrides", "/no/such/file")


@pytest.mark.parametrize("flags", [
    ("--cpu", "much"), ("--memory", "1:2:3"), ("--memory", "-1Gi"), ("--disk", "x"), ("--volume", "big"), ("--volume", "1Gi:relative"),
    ("--run-as", "root"), ("--run-as", "-1"), ("--service", "magic"), ("--network", "some"), ("--network", "cidr=10.0.0.0/40"), ("--port", "0"),
    ("--port", "70000"), ("--toleration", "a=b:Never"), ("--label", "team"), ("--label", "a b=c"), ("--quota", "pods"), ("--pull-policy", "Sometimes"),
    ("--node-selector", "kind"), ("--ttl", "-1s"), ("--env", "=x")])
def test_up_names_a_flag_whose_value_is_invalid(skiff, flags):
    assert flags[0] in skiff.refused("up", "box", *flags)
