"""Other systems' clients as they are, and the programs that stand in for some of them, with real Pods that skiffd answers
from. Against skiffd alone they are in tests/clients."""

import asyncio
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

import build
import images
from installed import python_of
from mcp_stdio import Stdio
from router import Router
from skiff import BUSYBOX
from waiting import until

TREE = pathlib.Path(__file__).resolve().parents[3]
CLIENTS = TREE / "tests/clients"
SDK_PACKAGE = TREE / "sdk/python"
SCRIPTS = pathlib.Path(__file__).resolve().parent / "clients"
SDK = CLIENTS / "sandboxd/newest.txt"
KUBEBOX = CLIENTS / "kubebox/kubebox_0_0_15.txt"
EXTENSIONS = "extensions.agents.x-k8s.io/v1beta1"
TOKEN = "for-the-router-alone"

sys.path.append(str(SDK_PACKAGE / "skiff_sandbox/integrations"))
from orbiter import KubernetesSandbox, SandboxError, SandboxStatus  # noqa: E402


def outcome(command, directory, **environment):
    """Runs the cases of a script: {name: None, or how it failed}."""
    modules = ":".join(map(str, (CLIENTS / "python_runtime", TREE / "tests/integration", SDK_PACKAGE)))
    done = subprocess.run(list(map(str, command)), cwd=SCRIPTS, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200,
                          env={**os.environ, "HOME": str(directory), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": modules, **environment})
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"case"')]
    assert done.returncode == 0 and told, done.stderr[-4000:]
    return {one["case"]: one["failure"] for one in told}


def check(outcome, least):
    failures = "\n".join(f"{name}:\n{failure}" for name, failure in outcome.items() if failure)
    assert not failures, failures
    assert len(outcome) >= least, sorted(outcome)


# --- the SDK of agent-sandbox ---

@pytest.fixture
def pool(claim_skiff):
    """A pool of a template that `skiff manifest` prints, applied as any other: skiff has no part in what follows."""
    namespace = claim_skiff.namespace
    documents = claim_skiff("manifest", "--template", "py", "--image", BUSYBOX, "--dialect", "python-runtime", "--dialect", "sandboxd")[0]
    namespace.kubectl("apply", "-f", "-", input=documents)
    namespace.create({"apiVersion": EXTENSIONS, "kind": "SandboxWarmPool", "metadata": {"name": "py-pool"},
                      "spec": {"replicas": 1, "sandboxTemplateRef": {"name": "py"}}})
    namespace.wait("sandboxwarmpools.extensions.agents.x-k8s.io/py-pool", lambda one: one.get("status", {}).get("readyReplicas") == 1)
    yield "py-pool"
    namespace.delete("sandboxwarmpools.extensions.agents.x-k8s.io/py-pool")
    namespace.kubectl("delete", "-f", "-", input=documents)


@pytest.fixture
def kubectl(cluster, tmp_path):
    """A directory with the program that the SDK calls for a tunnel."""
    directory = tmp_path / "bin"
    directory.mkdir()
    program = directory / "kubectl"
    program.write_text(f'#!/bin/sh\nexec {build.kube()} kubectl --cache-dir={tmp_path}/cache "$@"\n')
    program.chmod(0o755)
    return directory


@pytest.fixture
def sdk_requirements():
    return SDK


@pytest.fixture
def sdk(cluster, claim_skiff, pool, sdk_requirements, tmp_path):
    def run(connection, *prefix, **environment):
        return outcome([*prefix, python_of(sdk_requirements), SCRIPTS / "sdk.py"], tmp_path, SDK_CONNECTION=connection,
                       SDK_NAMESPACE=claim_skiff.namespace.name, SDK_POOL=pool, **environment)

    yield run
    objects = claim_skiff.objects
    assert objects("sandboxclaims.extensions.agents.x-k8s.io") == {}
    # The remaining sandbox waits in the pool for the next client.
    until(lambda: [one["metadata"]["ownerReferences"][0]["kind"] for one in objects("sandboxes.agents.x-k8s.io").values()] == ["SandboxWarmPool"], 60)
    until(lambda: len(objects("pods")) == 1, 60)


@pytest.mark.parametrize("connection", ["python-runtime", "sandboxd"])
def test_the_sdk_of_agent_sandbox_from_inside_of_the_cluster(sdk, cluster, connection):
    check(sdk(connection, *cluster.in_its_network(), KUBECONFIG=str(cluster.folder / "admin.conf")), 13)


def test_the_sdk_of_agent_sandbox_through_its_router(sdk, cluster):
    with Router(cluster, ROUTER_AUTH_TOKEN=TOKEN) as router:
        check(sdk("python-runtime by a router", KUBECONFIG=str(cluster.kubeconfig), ROUTER_URL=router.url, ROUTER_TOKEN=TOKEN), 13)


def test_the_sdk_of_agent_sandbox_through_a_tunnel_of_kubectl(sdk, cluster, kubectl):
    check(sdk("sandboxd by kubectl", KUBECONFIG=str(cluster.kubeconfig), PATH=f"{kubectl}:{os.environ['PATH']}"), 13)


# --- kubebox ---

@pytest.fixture
def kubebox_requirements():
    return KUBEBOX


@pytest.fixture(scope="module")
def kubebox_image(cluster):
    """An image with the environment and the user of the Dockerfile's target, whose base is replaced by a busybox."""
    stage = re.search(r"^FROM work AS kubebox$(.*?)^FROM ", (TREE / "Dockerfile").read_text(), re.M | re.S).group(1)
    layer = images.shell()
    for name in ("usr", "usr/local", "usr/local/bin"):
        layer.folder(name)
    assert re.search("^RUN setcap cap_net_bind_service=ep /usr/local/bin/skiffd$", stage, re.M), stage
    skiffd = pathlib.Path(os.environ["SKIFFD"]).read_bytes()
    layer.file("usr/local/bin/skiffd", skiffd, 0o755, {"security.capability": images.NET_BIND_SERVICE}).folder("workspace", 0o777)
    environment = re.search(r"^ENV (.*)$", stage, re.M).group(1).split()
    (user,) = re.findall(r"^USER (?!root)(.*)$", stage, re.M)
    cluster.load("skiff.test/kubebox:1", layer.done(), {
        "Entrypoint": ["/usr/local/bin/skiffd"], "User": user, "WorkingDir": "/workspace",
        "Env": ["PATH=/usr/local/bin:/usr/bin:/bin", *environment]})
    return "skiff.test/kubebox:1"


# The manager writes /tmp/kubeconfig, whatever is there: a /tmp that is changed for it alone.
OWN_TMP = ("unshare", "--mount", "--propagation", "private", "sh", "-c",
           'mount -t tmpfs none "$0" && mkdir "$0/up" "$0/work" && '
           'mount -t overlay overlay -o "lowerdir=/tmp,upperdir=$0/up,workdir=$0/work" /tmp && exec "$@"')


def test_kubebox_with_its_own_manager(cluster, namespace, kubebox_image, kubebox_requirements, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    python = python_of(kubebox_requirements)
    environment = {**os.environ, "HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1", "KUBEBOX_NAMESPACE": namespace.name,
                   "KUBEBOX_CONFIG": (cluster.folder / "admin.conf").read_text()}
    manager = subprocess.Popen(
        [*cluster.in_its_network(), *map(str, (*OWN_TMP, own, python, SCRIPTS / "kubebox_manager.py", kubebox_image))], cwd=tmp_path,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        namespace.wait("service/luke-pod-service", "create")
        # The test sets the address that the load balancer of a cloud would set.
        status = {"status": {"loadBalancer": {"ingress": [{"ip": "203.0.113.10"}]}}}
        namespace.kubectl("patch", "service", "luke-pod-service", "--subresource=status", "--type=merge", f"--patch={json.dumps(status)}")
        url = manager.stdout.readline().strip()
        assert url == "http://203.0.113.10", manager.stderr.read()
        until(lambda: cluster.inside("sh", "-c", f"curl -s --max-time 5 {url}/ || true"), 60, url, 0.1)
        security = namespace.get("pod", "luke-pod")["spec"]
        assert "runAsUser" not in security["securityContext"] and "securityContext" not in security["containers"][0]
        # Without the directories of ours, where another module is called kubebox.
        check(outcome([*cluster.in_its_network(), python, CLIENTS / "kubebox/cases.py", url], tmp_path, PYTHONPATH=""), 10)
        manager.communicate("", timeout=60)
        assert manager.returncode == 0
    finally:
        manager.kill()
        manager.communicate()
    for kind in ("pod/luke-pod", "service/luke-pod-service"):
        namespace.wait(kind, "delete")


# --- what is written with `skiff` ---

def test_a_client_of_sessions_with_a_pod(skiff, tmp_path):
    check(outcome([python_of(SDK), SCRIPTS / "sessions.py"], tmp_path, **skiff.environment(
        SKIFF=skiff.program, SKIFF_IMAGE="", SESSIONS_NAMESPACE=skiff.namespace.name, SESSIONS_IMAGE=BUSYBOX)), 4)
    assert skiff.namespace.of_skiff() == []


TOOL = r"""mkdir -p tools && cat > tools/count <<'END' && chmod +x tools/count
#!/bin/sh
arguments=$(cat)
[ "$arguments" = "$SKIFF_TOOL_ARGS" ] || exit 9
printf '{"got": %s, "by": %s, "more": "%s"}' "$arguments" "$(id -u)" "$(ls -d /more)"
END"""


def test_a_class_with_tools_with_a_pod(skiff, monkeypatch):
    for name, value in skiff.environment(SKIFF=skiff.program, SKIFF_NAMESPACE="", SKIFF_IMAGE="").items():
        monkeypatch.setenv(name, value)
    namespace = skiff.namespace

    async def life():
        async with KubernetesSandbox(sandbox_id="box", namespace=namespace.name, image=BUSYBOX, workspace=["/data", "/more"]) as sandbox:
            skiff("exec", "--name-prefix", "orbiter-", "box", "--", "sh", "-c", TOOL)
            answer = await sandbox.run_tool("count", {"path": "a b \u00fc"})
            assert answer == {"tool": "count", "arguments": {"path": "a b \u00fc"}, "status": "ok", "sandbox_id": "box", "pod": "orbiter-box",
                              "result": {"got": {"path": "a b \u00fc"}, "by": 1000, "more": "/more"},
                              "cluster_ip": namespace.get("service", "orbiter-box-svc")["spec"]["clusterIP"]}
            assert sandbox.describe()["service_name"] == "orbiter-box-svc"
            await sandbox.stop()
            assert sandbox.status is SandboxStatus.IDLE and namespace.items("pods") == []
            await sandbox.start()
            with pytest.raises(SandboxError, match='has no tool "count"'):  # its directories are not volumes
                await sandbox.run_tool("count", {})
        return sandbox

    assert asyncio.run(life()).status is SandboxStatus.CLOSED
    assert namespace.of_skiff() == []


def test_a_desktop_client_has_a_pod_as_long_as_it_is_connected(skiff):
    client = Stdio(skiff, driver="pod")
    assert skiff.namespace.names("pods") == []
    assert client.begin()["serverInfo"]["name"] == "skiffd"
    (pod,) = skiff.namespace.names("pods")
    assert pod.startswith("skiff-mcp-")
    assert client.tool("run_command", command="pwd; id -u; hostname")["stdout"] == f"/workspace\n1000\n{pod}\n"
    client.tool("write_file", path="a", text="x")
    assert client.tool("read_file", path="a")["text"] == "x"
    assert client.end()[0] == []
    assert skiff.namespace.names("pods") == [] and skiff.namespace.of_skiff() == []
