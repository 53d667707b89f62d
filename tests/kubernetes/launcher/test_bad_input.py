"""skiff reports input that only the cluster can judge in one clear line, with exit status 125, and creates nothing. Input
that skiff itself refuses is in tests/integration/cli/test_up_bad_input.py."""

import base64
import json
import pathlib
import subprocess
import tempfile

import pytest

from skiff import Skiff


@pytest.fixture(scope="module")
def skiff(namespaces, request):
    """One for all of them, since nothing is made."""
    with tempfile.TemporaryDirectory(prefix="skiff-") as folder:
        yield Skiff(pathlib.Path(folder), namespaces.make(request.node.name))


def refused(skiff, *arguments, **env):
    """The line. Where a flag can't be read, a second one says where flags are explained."""
    err = skiff(*arguments, "-q", status=125, env=env)[1].removesuffix("skiff: see `skiff up --help`\n")
    assert err.startswith("skiff: ") and err.endswith("\n") and err.count("\n") == 1, err
    assert skiff.namespace.of_skiff() == []
    return err


@pytest.fixture
def config(skiff):
    """`config(change)`: the path of a kubeconfig on which `change(user, cluster)` was called."""

    def write(change):
        document = json.loads(skiff.cluster.kubeconfig.read_text())
        change(document["users"][0]["user"], document["clusters"][0]["cluster"])
        path = skiff.home / "config"
        path.write_text(json.dumps(document))
        return str(path)

    return write


# --- the way to the cluster ---

def test_a_client_certificate_that_has_expired(skiff, config):
    pki, folder = skiff.cluster.folder / "pki", skiff.home

    def openssl(*words):
        subprocess.run(["openssl", *map(str, words)], capture_output=True, check=True)

    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", folder / "old.key", "-out", folder / "old.csr",
            "-subj", "/O=system:masters/CN=old")
    openssl("x509", "-req", "-in", folder / "old.csr", "-CA", pki / "ca.crt", "-CAkey", pki / "ca.key", "-CAcreateserial", "-CAserial",
            folder / "serial", "-days", "-1", "-out", folder / "old.crt")

    def expire(user, _):
        for key, file in (("client-certificate-data", "old.crt"), ("client-key-data", "old.key")):
            user[key] = base64.b64encode((folder / file).read_bytes()).decode()

    assert "expired" in refused(skiff, "up", "box", KUBECONFIG=config(expire))


def test_a_server_of_another_authority(skiff, config):
    pki = skiff.cluster.folder / "pki"

    def distrust(_, cluster):
        cluster["certificate-authority-data"] = base64.b64encode((pki / "admin.crt").read_bytes()).decode()

    assert "certificate" in refused(skiff, "up", "box", KUBECONFIG=config(distrust))


def test_a_token_that_nobody_knows(skiff):
    assert "Unauthorized" in refused(skiff, "up", "box", "--context", "stranger")


def test_a_user_without_rights(skiff):
    err = refused(skiff, "up", "box", "--context", "outsider")
    assert 'User "outsider" cannot' in err


def test_a_namespace_that_is_not_there(skiff):
    assert '"no-such-namespace"' in refused(skiff, "up", "box", "--namespace", "no-such-namespace")


# --- what is asked for ---

@pytest.mark.parametrize("overrides", [
    {"containers": 7}, {"containers": {}}, {"containers": [7]}, {"containers": [{"name": 7}]},
    {"containers": [{"name": "sandbox", "image": {}}]}, {"securityContext": []}, {"terminationGracePeriodSeconds": "soon"},
    {"volumes": [{"name": "one", "emptyDir": 3}]}, {"nodeSelector": {"a": {}}}, {"noSuchField": True}])
def test_overrides_of_wrong_types(skiff, overrides):
    refused(skiff, "up", "box", *skiff.overrides(overrides))


@pytest.mark.parametrize("flags,says", [
    (("--cpu", "2:1"), "less than or equal to cpu limit"), (("--image", "one:1 "), "image"), (("--annotation", "a b=c"), "metadata.annotations"),
    (("--node-selector", "a b=c"), "nodeSelector")])
def test_input_that_only_the_cluster_can_judge_is_refused(skiff, flags, says):
    assert says in refused(skiff, "up", "box", *flags)
