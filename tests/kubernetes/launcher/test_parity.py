"""Features of other systems' launchers that their users will look for, each by its name there, where no other file has
it: test_life.py and test_use.py name those that they show."""

import datetime
import json
import subprocess
import urllib.request

from skiff import BUSYBOX
from waiting import until

# Longer than any patience of the launcher's own has ever been.
LONG_UNSCHEDULABLE = datetime.timedelta(seconds=6)

TOOL = """#!/bin/sh
arguments=$(cat)
[ "$arguments" = "$SKIFF_TOOL_ARGS" ] || exit 9
printf '{"got": %s}' "$arguments"
"""


def make_tool(skiff, text, name="count", sandbox="box"):
    file = skiff.work / name
    file.write_text(text)
    file.chmod(0o755)
    skiff("exec", sandbox, "--", "mkdir", "-p", "tools")
    skiff("cp", "-q", file, f"{sandbox}:tools/{name}")


# --- orbiter's KubernetesSandbox ---

def test_orbiter_namespace_and_image_from_variables(skiff):
    env = {"SKIFF_NAMESPACE": skiff.namespace.name, "SKIFF_IMAGE": "skiff.test/user:1"}
    skiff("up", "box", "-q", env=env)
    assert skiff.pod()["spec"]["containers"][0]["image"] == "skiff.test/user:1"


def test_orbiter_a_sandbox_id_a_workspace_a_timeout_and_what_its_object_keeps(skiff):
    """mcp_config and agents are fields that nothing reads there: here a file and a label."""
    name = skiff.json("up", "-q", "-l", "agents=planner.coder")["name"]
    skiff("files", "write", name, "mcp.json", typed=b'{"mcpServers": {}}')
    assert json.loads(skiff("exec", name, "cat", "mcp.json")[0]) == {"mcpServers": {}}
    assert skiff("ps", "-l", "agents=planner.coder", "-q")[0] == f"{name}\n"
    told = skiff.json("describe", name)
    assert told["workspace"] == "/workspace" and "default_timeout_ms" in told


def test_orbiter_states(skiff):
    """init, running, idle, error and closed are creating, running (and idle for so long), failed or ended, and gone."""
    up = skiff.start("up", "box", "-q", "--setup", "until [ -e go ]; do sleep 0.05; done")
    skiff.namespace.wait("pod/skiff-box", "create")
    state = lambda: [one["state"] for one in skiff.json("ps")["items"]]  # noqa: E731
    assert state() in (["creating"], ["running"])
    until(lambda: state() == ["running"], what="that it runs")
    skiff.inside("touch", "/workspace/go")
    assert up.communicate(timeout=100) and up.returncode == 0
    assert skiff.json("describe", "box")["activity"].keys() >= {"idle_ms", "in_use"}
    skiff.namespace.delete("pod/skiff-box")
    assert state() == ["failed"]
    skiff("rm", "box")
    assert state() == []


def test_orbiter_tools_run_by_name(shared):
    make_tool(shared, TOOL)
    answer = json.loads(shared("tool", "box", "count", '{"path": "a b"}')[0])
    assert answer["status"] == "ok" and answer["tool"] == "count" and answer["arguments"] == {"path": "a b"}
    assert answer["result"] == {"got": {"path": "a b"}}
    told = shared.json("describe", "box")
    assert (answer["sandbox_id"], answer["pod"], answer["cluster_ip"]) == (told["id"], "skiff-box", told["details"]["cluster_ip"])


def test_orbiter_a_tool_that_fails_says_how(shared):
    make_tool(shared, "#!/bin/sh\necho no >&2\nexit 3\n", "fails")
    answer = json.loads(shared("tool", "box", "fails", status=1)[0])
    assert (answer["status"], answer["exit_code"], answer["stderr"]) == ("error", 3, "no\n")
    assert "has no tool" in shared("tool", "box", "other", status=125)[1]
    assert "not the name of a tool" in shared("tool", "box", "../fails", status=125)[1]
    assert "JSON object" in shared("tool", "box", "fails", "[1]", status=125)[1]


def test_orbiter_several_workspace_folders(skiff):
    """A session with more roots than one, whose files are the agent's to serve."""
    skiff.up("box", "--pod-overrides", skiff.overrides({
        "volumes": [{"name": "more", "emptyDir": {}}],
        "containers": [{"name": "sandbox", "volumeMounts": [{"name": "more", "mountPath": "/more"}]}]})[1])
    token = skiff("token", "box")[0].strip()
    assert skiff("session", "create", "box", "two", "--extra-root", "/more")[0] == "two\n"
    with skiff.namespace.forward("skiff-box", 7070) as way:
        def ask(path, method, data):
            request = urllib.request.Request(f"http://127.0.0.1:{way.port}{path}", data=data.encode(), method=method,
                                             headers={"X-Skiff-Token": token, "Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=30) as reply:
                return reply.read()

        ask("/v1/sessions/two/files/%2Fmore%2Fnote", "PUT", "hello")
    assert skiff.inside("cat", "/more/note") == "hello"


# --- agent-sandbox's SDK ---

def test_agent_sandbox_server_port(skiff):
    up = skiff.up("box", "--agent-port", "8888", "--port", "7070")
    assert up["address"].endswith(":8888")
    skiff("exec", "-d", "box", "--", "httpd", "-f", "-p", "7070", "-h", "/workspace")
    skiff("exec", "box", "--", "sh", "-c", "echo mine > page; until wget -q -O - 127.0.0.1:7070/page; do sleep 0.05; done")
    for way in ("port-forward", "proxy"):
        assert skiff("exec", "--reach", way, "box", "echo", way)[0] == f"{way}\n"


def test_agent_sandbox_resolve_timeout_and_a_node_that_comes_late(skiff):
    label = f"skiff.test/{skiff.namespace.name}"
    up = skiff.start("up", "box", "-q", "--wait", "200s", "--node-selector", f"{label}=yes")

    def has_waited_long():
        conditions = (skiff.namespace.cluster.api.find("pod", "skiff-box", skiff.namespace.name) or {}).get("status", {}).get("conditions", [])
        return any(one.get("reason") == "Unschedulable" and datetime.datetime.now(datetime.timezone.utc) -
                   datetime.datetime.fromisoformat(one["lastTransitionTime"]) > LONG_UNSCHEDULABLE for one in conditions)

    until(has_waited_long, seconds=100, what="that no node has taken it for long")
    assert "is still being created; `skiff start box` waits for it" in skiff("exec", "box", "true", status=125)[1]
    also = skiff.start("start", "box", "-q", "--wait", "200s")
    [node] = [one["metadata"]["name"] for one in skiff.cluster.api.get("nodes")["items"]]
    skiff.cluster.api.patch("node", node, {"metadata": {"labels": {label: "yes"}}})
    try:
        ended = [process.communicate(timeout=100) for process in (up, also)]
    finally:
        skiff.cluster.api.patch("node", node, {"metadata": {"labels": {label: None}}})
    assert (up.returncode, also.returncode) == (0, 0), ended
    skiff("exec", "box", "true")


# --- langchain-kubernetes, raw mode ---

def test_langchain_init_containers_a_setup_script_and_no_network_by_default(skiff):
    config = skiff.home / ".config/skiff/config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("network: deny\n")
    seed = {"name": "seed", "image": BUSYBOX, "command": ["sh", "-c", "echo seeded > /workspace/seed"],
            "volumeMounts": [{"name": "workspace", "mountPath": "/workspace"}]}
    skiff.up("box", *skiff.overrides({"initContainers": [seed]}), "--setup", "cp seed ready")
    assert skiff("exec", "box", "cat", "ready")[0] == "seeded\n"
    assert skiff.pod()["metadata"]["labels"]["skiff.dev/network"] == "deny"
    policy = skiff.namespace.get("networkpolicy", "skiff-network-deny")["spec"]
    assert "Egress" in policy["policyTypes"] and not policy.get("egress")


def test_langchain_labels_and_list_with_status_and_cursor(skiff):
    skiff.ups(("a", "--label", "thread=a/b c", "--label", "tier=1"), ("b", "--username", "ann"), ("c", "--label", "which=c"))
    labels = skiff.pod("a")["metadata"]["labels"]
    assert labels["label.skiff.dev/tier"] == "1" and labels["label.skiff.dev/thread"].startswith("h-")
    assert skiff.pod("b")["metadata"]["labels"]["skiff.dev/username"] == "ann"  # kubebox: username label
    skiff("stop", "b")
    assert [one["name"] for one in skiff.json("ps", "--status", "stopped")["items"]] == ["b"]
    assert [one["name"] for one in skiff.json("ps", "--label", "which=c")["items"]] == ["c"]
    assert skiff.json("ps", "--label", "thread=a/b c")["items"][0]["labels"] == {"thread": "a/b c", "tier": "1"}
    page = skiff.json("ps", "--limit", "2")
    assert ([one["name"] for one in page["items"]], page["next"]) == (["a", "b"], "b")
    rest = skiff.json("ps", "--limit", "2", "--cursor", page["next"])
    assert [one["name"] for one in rest["items"]] == ["c"] and "next" not in rest


def test_langchain_execution_timeouts(shared):
    shared("exec", "box", "--timeout", "200ms", "--", "sleep", "1000", status=124)


# --- kubebox ---

def test_kubebox_load_balancer_with_external_address(skiff):
    up = skiff.start("up", "box", "-q", "-o", "json", "--service", "loadbalancer", "--wait-address", "--port", "8000")
    skiff.namespace.wait("pod/skiff-box", "condition=Ready")
    assert skiff.json("describe", "box")["details"].get("external_address") is None and up.poll() is None
    service = skiff.namespace.get("service", "skiff-box-svc")
    assert service["spec"]["type"] == "LoadBalancer" and {one["port"] for one in service["spec"]["ports"]} == {7070, 8000}
    # There is no cloud here: the test plays it.
    skiff.namespace.kubectl("patch", "service", "skiff-box-svc", "--subresource=status", "--type=merge", "-p",
                            json.dumps({"status": {"loadBalancer": {"ingress": [{"ip": "203.0.113.7"}]}}}))
    told, err = up.communicate(timeout=100)
    assert up.returncode == 0, err
    described = skiff.json("describe", "box")
    assert json.loads(told)["details"]["external_address"] == described["details"]["external_address"] == "203.0.113.7"
    # skiff sends clear text over it only if a flag says so.
    assert described["reached"]["by"] == "port-forward"


def test_kubebox_allow_list_that_can_be_updated_later(skiff):
    skiff.up("box", "--allow", "203.0.113.7/32")
    policy = skiff.namespace.get("networkpolicy", "skiff-box-net")["spec"]
    assert policy["ingress"] == [{"from": [{"ipBlock": {"cidr": "203.0.113.7/32"}}]}] and policy["policyTypes"] == ["Ingress"]
    skiff("network", "box", "--allow", "198.51.100.0/24", "--network", "dns")
    policy = skiff.namespace.get("networkpolicy", "skiff-box-net")["spec"]
    assert policy["ingress"][0]["from"] == [{"ipBlock": {"cidr": "198.51.100.0/24"}}]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert skiff.json("network", "box")["allow"] == ["198.51.100.0/24"]
    skiff("network", "box", "--allow", "0.0.0.0/0", "--network", "open")
    assert "skiff-box-net" not in skiff.namespace.names("networkpolicies")
    assert "skiff.dev/network" not in skiff.pod()["metadata"]["labels"]


def test_kubebox_allow_list_of_a_service_for_outside(skiff):
    exposed = lambda: (service := skiff.namespace.get("service", "skiff-box-svc")["spec"]) and (
        service["externalTrafficPolicy"], service.get("loadBalancerSourceRanges"))
    skiff.up("box", "--service", "loadbalancer", "--allow", "203.0.113.7/32", "--reach", "port-forward")
    assert exposed() == ("Local", ["203.0.113.7/32"])
    skiff("network", "box", "--allow", "198.51.100.0/24")
    assert exposed() == ("Local", ["198.51.100.0/24"])
    skiff("network", "box", "--allow", "0.0.0.0/0")
    assert exposed() == ("Cluster", None)
    skiff("stop", "box")
    skiff("network", "box", "--allow", "198.51.100.0/24")  # its service is not there, and comes back as it is told now
    skiff("start", "box", "-q", "--reach", "port-forward")
    assert exposed() == ("Local", ["198.51.100.0/24"])


def test_kubebox_a_private_key_of_ones_own(skiff):
    """The Secret may be there before skiff is; who has the key needs no cluster's leave, but a way to the agent."""
    key = skiff.home / "key.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True, timeout=60)
    public = subprocess.run(["openssl", "pkey", "-in", key, "-pubout"], check=True, capture_output=True, text=True, timeout=60).stdout
    skiff.namespace.kubectl("create", "secret", "generic", "skiff-signing-key", f"--from-file=private.pem={key}")
    up = skiff.up()
    variables = {one["name"]: one.get("value") for one in skiff.pod()["spec"]["containers"][0]["env"]}
    assert variables["SKIFF_PUBLIC_KEY"].strip() == public.strip()
    assert skiff("exec", "box", "echo", "mine")[0] == "mine\n"
    with skiff.namespace.forward("skiff-box", 7070) as way:
        direct = {"SKIFF_DRIVER": "direct", "SKIFF_NAMESPACE": "", "KUBECONFIG": ""}
        said = skiff("exec", "--url", f"http://127.0.0.1:{way.port}", "--key-file", key, "--sandbox-id", up["id"], "box",
                     "echo", "direct", env=direct)[0]
    assert said == "direct\n"


def test_kubebox_kubeconfig_as_a_string(skiff):
    text = skiff.cluster.kubeconfig.read_text()
    assert skiff("ps", env={"KUBECONFIG": "", "SKIFF_KUBECONFIG_DATA": text})[0].startswith("NAME")


def test_kubebox_never_waits_for_ever(skiff):
    _, err = skiff("up", "box", "-q", "--image", "skiff.test/nobody-has-this:1", "--wait", "2s", status=125)
    assert "skiff-box" in err and skiff.json("ps")["items"] == []


# --- what kubectl says of our manifests ---

def test_kubectl_takes_what_manifest_prints(skiff):
    documents = skiff("manifest", "box", "--network", "cidr=10.0.0.0/8", "--port", "8000")[0]
    skiff.namespace.kubectl("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-", input=documents)
    assert skiff.json("ps")["items"] == []
    skiff.namespace.kubectl("apply", "-f", "-", input=documents)
    skiff.namespace.wait("pod/skiff-box", "condition=Ready", seconds=120)
    assert skiff("exec", "box", "--", "echo", "hi")[0] == "hi\n"
    skiff("rm", "box")
    assert skiff.namespace.of_skiff() == []
    # kubebox: deployed and destroyed by a tool that knows objects alone.
    skiff.namespace.kubectl("apply", "-f", "-", input=documents)
    skiff.namespace.kubectl("delete", "-f", "-", input=documents)
    assert skiff.namespace.of_skiff() == []
