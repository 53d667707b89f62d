"""Options of a sandbox that a node carries out: from where its image comes, which system calls it may use, by which runtime it runs."""

import json

import pytest

from registry import Registry
from skiff import BUSYBOX


def test_a_private_image_is_pulled_with_its_credential_alone(skiff, namespace):
    with Registry(skiff.cluster) as registry:
        namespace.create(registry.secret("known"))
        err = skiff("up", "box", "--image", registry.image, status=125)[1]
        assert registry.image in err and ("ErrImagePull" in err or "ImagePullBackOff" in err), err
        assert namespace.of_skiff() == []
        skiff("up", "box", "--image", registry.image, "--pull-secret", "known")
        assert skiff("exec", "box", "--", "echo", "here")[0] == "here\n"
        assert skiff.pod()["spec"]["imagePullSecrets"] == [{"name": "known"}]


def test_the_pull_policy_says_whether_an_image_must_be_there(skiff):
    assert "ErrImageNeverPull" in skiff("up", "box", "--image", "skiff.test/nobody-has-this:1", "--pull-policy", "Never", status=125)[1]
    # Both images are on the node, and nowhere else.
    assert "ErrImagePull" in skiff("up", "box", "--image", BUSYBOX, "--pull-policy", "Always", status=125)[1]
    skiff("up", "box", "--image", BUSYBOX, "--pull-policy", "Never")
    assert skiff("exec", "box", "--", "true") == ("", "")


@pytest.fixture
def profile(skiff):
    """A seccomp profile of the node by which nothing makes symbolic links: its name."""
    name = f"{skiff.namespace.name}.json"
    path = f"/var/lib/kubelet/seccomp/{name}"
    text = json.dumps({"defaultAction": "SCMP_ACT_ALLOW",
                       "syscalls": [{"names": ["symlink", "symlinkat"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1}]})
    skiff.cluster.inside("sh", "-c", f"mkdir -p /var/lib/kubelet/seccomp && printf %s '{text}' > {path}")
    yield name
    skiff.cluster.inside("rm", path)


def test_a_profile_of_the_node_says_which_system_calls_there_are(skiff, profile):
    skiff.ups(("box", "--seccomp", f"Localhost/{profile}"), ("usual",))
    assert skiff("exec", "usual", "--", "ln", "-s", "a", "b") == ("", "")
    assert "Operation not permitted" in skiff("exec", "box", "--", "ln", "-s", "a", "b", status=1)[1]
    assert skiff("exec", "box", "--", "touch", "c") == ("", "")


def test_a_sandbox_runs_by_the_runtime_of_its_class(skiff):
    """The node has one runtime, which a class names by its handler, as one of gVisor would."""
    name = f"class-{skiff.namespace.name}"
    assert name in skiff("up", "box", "--runtime-class", name, status=125)[1], "there is none yet"
    # The Pod shows what the class adds.
    skiff.cluster.api.create({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": name},
                              "handler": "runc", "overhead": {"podFixed": {"memory": "1Mi"}}})
    try:
        skiff("up", "box", "--runtime-class", name)
        assert skiff("exec", "box", "--", "echo", "here")[0] == "here\n"
        spec = skiff.pod()["spec"]
        assert (spec["runtimeClassName"], spec["overhead"]) == (name, {"memory": "1Mi"})
    finally:
        skiff.cluster.api.delete("runtimeclass", name)
