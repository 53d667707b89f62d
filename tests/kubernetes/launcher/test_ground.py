"""The other tests rely on this: a real node runs the objects that the launcher will create, written out by hand here."""

import contextlib
import http.client
import json

import pytest

from api import Refused
from cluster import running

TOKEN = "ground-test-token"
IMAGES = ("skiff.test/busybox:1", "skiff.test/scratch:1")


@pytest.fixture(scope="session")
def cluster():
    """One whose parts may be killed."""
    with running() as cluster:
        yield cluster


def injected(image):
    """A pod of an image as it is, into which skiffd comes by an init container."""
    security = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "box", "labels": {"app": "box"}},
        "spec": {
            "automountServiceAccountToken": False, "restartPolicy": "Never", "terminationGracePeriodSeconds": 5,
            "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 1000,
                                "seccompProfile": {"type": "RuntimeDefault"}},
            "volumes": [{"name": "skiff", "emptyDir": {}}, {"name": "workspace", "emptyDir": {}}],
            "initContainers": [{
                "name": "skiff", "image": "skiff.test/skiff:1", "command": ["/skiffd", "install", "/skiff"], "securityContext": security,
                "volumeMounts": [{"name": "skiff", "mountPath": "/skiff"}]}],
            "containers": [{
                "name": "sandbox", "image": image, "command": ["/skiff/skiffd"], "securityContext": security,
                "env": [{"name": "SKIFF_TOKEN", "value": TOKEN}, {"name": "SKIFF_LISTEN", "value": "0.0.0.0:7070"},
                        {"name": "SKIFF_ROOT", "value": "/workspace"}, {"name": "SKIFF_ALLOWED_HOST", "value": "*"}],
                "ports": [{"name": "agent", "containerPort": 7070}],
                "startupProbe": {"httpGet": {"path": "/readyz", "port": "agent"}, "periodSeconds": 1, "failureThreshold": 60},
                "volumeMounts": [{"name": "skiff", "mountPath": "/skiff", "readOnly": True},
                                 {"name": "workspace", "mountPath": "/workspace"}]}],
        },
    }


def service(kind):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "box"},
            "spec": {"type": kind, "selector": {"app": "box"}, "ports": [{"port": 80, "targetPort": "agent"}]}}


def ask(port, method, path, body=None):
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request(method, path, json.dumps(body) if body else None,
                           {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


def run(port, **command):
    status, result = ask(port, "POST", "/v1/commands", command)
    assert status == 200, result
    return result


@pytest.mark.parametrize("image", IMAGES)
def test_any_image_gets_skiffd_in_a_restricted_namespace_and_answers(restricted, image):
    restricted.create(injected(image))
    restricted.wait("pod/box", "condition=Ready")
    with restricted.forward("box", 7070) as forward:
        assert ask(forward.port, "GET", "/v1/version")[0] == 200
        if image == "skiff.test/busybox:1":
            result = run(forward.port, command="id -u; grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/self/status | cut -f2")
            assert result["stdout"].split() == ["1000", "0000000000000000", "1", "2"], result
        else:
            assert run(forward.port, argv=["/testcmd", "exit", "7"])["exit_code"] == 7
            assert run(forward.port, command="true")["exit_code"] == 127  # there is no shell


def test_an_agent_is_reached_by_the_api_servers_proxy_its_pod_and_its_services(cluster, namespace):
    namespace.create(injected("skiff.test/busybox:1"), service("NodePort"))
    namespace.wait("pod/box", "condition=Ready")
    assert "ok" in cluster.kubectl("get", "--raw", f"/api/v1/namespaces/{namespace.name}/pods/box:7070/proxy/healthz")
    spec = namespace.get("service", "box")["spec"]
    pod = namespace.get("pod", "box")["status"]["podIP"]
    namespace.kubectl("wait", "endpointslice", "--selector=kubernetes.io/service-name=box", "--timeout=30s",
                      "--for=jsonpath={.endpoints[0].conditions.ready}=true")
    # kube-proxy learns of it at its own pace; curl tries again on its own.
    curl = ("curl", "--silent", "--fail", "--retry", "50", "--retry-delay", "1", "--retry-connrefused", "--max-time", "30")
    for address in (f"{pod}:7070", spec["clusterIP"], f"10.89.0.2:{spec['ports'][0]['nodePort']}"):
        assert "ok" in cluster.inside(*curl, f"http://{address}/healthz")


def test_a_namespace_that_is_restricted_refuses_what_is_less(restricted):
    pod = injected("skiff.test/busybox:1")
    del pod["spec"]["securityContext"]["seccompProfile"]
    with pytest.raises(Refused, match="violates PodSecurity"):
        restricted.create(pod)


@pytest.mark.parametrize("image,reason", [
    ("skiff.test/busybox:1", "CreateContainerConfigError"), ("skiff.test/nobody-has-this:1", "ErrImagePull")])
def test_the_kubelet_says_why_a_container_does_not_start(namespace, image, reason):
    pod = injected(image)
    del pod["spec"]["initContainers"], pod["spec"]["securityContext"]["runAsUser"], pod["spec"]["securityContext"]["runAsGroup"]
    namespace.create(pod)
    namespace.wait("pod/box", lambda found: any(
        one["state"].get("waiting", {}).get("reason") == reason for one in found["status"].get("containerStatuses", [])))


def test_the_users_have_no_rights_until_they_are_given_some(namespace):
    namespace.kubectl("get", "pods", user="user-1", status=1)
    namespace.kubectl("create", "role", "reader", "--verb=get,list", "--resource=pods")
    namespace.kubectl("create", "rolebinding", "reader", "--role=reader", "--user=user-1")
    namespace.kubectl("get", "pods", user="user-1")
    assert "cannot delete" in namespace.kubectl("delete", "pod", "box", user="user-1", status=1)
    assert "Unauthorized" in namespace.kubectl("get", "pods", user="stranger", status=1)


def test_a_pod_outlives_the_restart_of_the_api_server_and_of_the_way_to_it(cluster, namespace):
    namespace.create(injected("skiff.test/busybox:1"))
    namespace.wait("pod/box", "condition=Ready")
    before = namespace.get("pod", "box")["status"]["containerStatuses"]
    for part in ("kube-apiserver", "relay", "etcd"):
        cluster.restart(part)
        assert namespace.get("pod", "box")["status"]["containerStatuses"] == before
