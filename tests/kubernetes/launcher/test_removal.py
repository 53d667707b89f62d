"""`rm` and `gc` remove what they should and no more, also while others work on the same sandboxes."""

import contextlib
import http.server
import json
import threading

import pytest

from accounts import await_rights, kubeconfig

HOLD = "test.skiff.dev/hold"
GATE = {"schedulingGates": [{"name": "test.skiff.dev/gate"}]}
# The controller of namespaces comes again after half of the time that their pods are given.
BRIEF = {"terminationGracePeriodSeconds": 1}
LONG_AGO = "2020-01-01T00:00:00.000Z"


def hold(namespace, what):
    """Deleted, it stays until it is released."""
    namespace.patch(what, {"metadata": {"finalizers": [HOLD]}})


def release(namespace, *objects):
    for what in objects:
        namespace.patch(what, {"metadata": {"finalizers": None}})


def await_deletion(namespace, what):
    namespace.wait(what, lambda found: "deletionTimestamp" in found["metadata"])


def damaged_record(number, **data):
    labels = {"app.kubernetes.io/managed-by": "skiff", "app.kubernetes.io/component": "record", "skiff.dev/name": f"a{number}",
              "skiff.dev/sandbox": f"s-a{number}"}
    metadata = {"name": f"skiff-a{number}", "labels": labels, "finalizers": [HOLD]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def test_gc_is_held_up_by_none_that_hangs(skiff, namespace):
    many = 20
    held = [damaged_record(number, expires_at=LONG_AGO) for number in range(many)]
    namespace.create(*held, damaged_record(many))  # the last one may be that of a newer skiff, and live
    try:
        process = skiff.start("gc", "--everyone", "-o", "json")
        for one in held:
            await_deletion(namespace, f"configmap/{one['metadata']['name']}")
    finally:
        release(namespace, *(f"configmap/skiff-a{number}" for number in range(many + 1)))
    out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    done = json.loads(out)
    assert len(done["deleted"]) == many and [one["name"] for one in done["kept"]] == [f"a{many}"]
    assert skiff("rm", f"a{many}")[0] == f"a{many}\n"


def test_an_invisible_pod_is_not_taken_for_a_deleted_one(skiff, namespace, tmp_path):
    skiff.up("box", "--namespace-per-sandbox", *skiff.overrides(BRIEF))
    role = json.loads(skiff("rbac", "gc", "-o", "json", "--service-account", "clerk")[0])
    items = [one for one in role["items"] if one["kind"] in ("ServiceAccount", "Role", "RoleBinding")]
    namespace.apply(*items)
    await_rights(namespace, items, f"system:serviceaccount:{namespace.name}:clerk")
    env = {"KUBECONFIG": kubeconfig(namespace, "clerk", tmp_path)}
    found = json.loads(skiff("ps", "-o", "json", env=env)[0])["items"][0]
    assert found["state"] == "running" and "pods" in found["reason"]
    assert json.loads(skiff("gc", "-o", "json", env=env)[0])["deleted"] == []


def test_a_remover_that_is_late_leaves_what_a_successor_has(skiff, namespace):
    skiff.up("box")
    hold(namespace, "pod/skiff-box")
    try:
        process = skiff.start("rm", "box")
        await_deletion(namespace, "pod/skiff-box")
        namespace.wait("service/skiff-box-svc", "delete")  # by the cascade
        labels = {"app.kubernetes.io/managed-by": "skiff", "skiff.dev/sandbox": "s-successor"}
        namespace.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "skiff-box-svc", "labels": labels},
                          "spec": {"ports": [{"port": 7070}]}})
    finally:
        release(namespace, "pod/skiff-box")
    out, err = process.communicate(timeout=100)
    assert (process.returncode, out) == (0, b"box\n"), err
    namespace.delete("service/skiff-box-svc")


def test_a_pool_and_its_members_are_not_listed_as_sandboxes(skiff):
    skiff("pool", "create", "python", "--size", "1", "-q")
    try:
        out, err = skiff("rm", "pool-python", "pool-python-0")
        assert out == "" and err.count("there is none") == 2
        assert "no sandbox" in skiff("stop", "pool-python", status=125)[1]
        assert json.loads(skiff("pool", "status", "python", "-o", "json")[0])["available"] == 1
        skiff.up("taker", "--pool", "python")
        taken = json.loads(skiff("describe", "taker", "-o", "json")[0])["details"]["pod"]
        assert skiff("rm", taken.removeprefix("skiff-"))[0] == ""
        assert skiff("exec", "taker", "--", "echo", "hello")[0] == "hello\n"
        assert skiff("rm", "taker")[0] == "taker\n"
    finally:
        skiff("pool", "rm", "python")


def set_end(namespace, name, when):
    namespace.patch(f"configmap/skiff-{name}", {"data": {"expires_at": when}})


def test_gc_removes_what_never_came_up_and_has_outlived_its_lease(skiff, namespace):
    process = skiff.start("up", "box", "--ttl", "1h", *skiff.overrides(GATE))
    namespace.wait("pod/skiff-box", "create")
    process.kill()
    process.communicate()
    assert skiff.json("gc")["deleted"] == []
    assert skiff.json("ps")["items"][0]["expires_at"]
    set_end(namespace, "box", LONG_AGO)
    [gone] = skiff.json("gc")["deleted"]
    assert gone["name"] == "box" and LONG_AGO in gone["reason"]
    assert namespace.of_skiff() == []


def test_gc_keeps_what_answers_after_the_end_that_its_record_knows(skiff, namespace):
    skiff.up("box", "--ttl", "1h")
    set_end(namespace, "box", LONG_AGO)
    assert skiff.json("gc")["deleted"] == []
    assert skiff("exec", "box", "--", "echo", "hello")[0] == "hello\n"


def test_gc_from_several_places_at_once(skiff, namespace):
    names = ["a", "b", "c"]
    skiff.ups(*((name,) for name in [*names, "alive"]))
    for name in names:
        skiff("extend", name, "--ttl", "100ms")
    for name in names:
        namespace.wait(f"pod/skiff-{name}", "phase=Succeeded")
    collectors = [skiff.start("gc", "-o", "json") for _ in range(3)]
    outcomes = [process.communicate(timeout=100) for process in collectors]
    assert [process.returncode for process in collectors] == [0] * 3, outcomes
    assert skiff("ps", "-o", "name")[0] == "alive\n"
    assert all(found.partition("/")[2].startswith("skiff-alive") for found in namespace.of_skiff())


def test_gc_in_every_namespace_is_for_clusters(skiff):
    for flags in (["-A"], ["--in-namespace", "x"]):
        assert "cluster" in skiff("gc", *flags, env={"SKIFF_DRIVER": "local"}, status=125)[1]


def test_rm_removes_many_at_a_time(skiff, namespace):
    pods = [f"pod/skiff-{name}" for name in ("a", "b")]
    skiff.ups(("a",), ("b",))
    for pod in pods:
        hold(namespace, pod)
    try:
        process = skiff.start("rm", "--all")
        for pod in pods:
            await_deletion(namespace, pod)
    finally:
        release(namespace, *pods)
    out, err = process.communicate(timeout=100)
    assert (process.returncode, out) == (0, b"a\nb\n"), err


def test_stop_and_start_take_many_at_a_time(skiff, namespace):
    pods = [f"pod/skiff-{name}" for name in ("a", "b")]
    # No node takes one of them before both are made.
    gate = skiff.overrides({"schedulingGates": [{"name": HOLD}]})

    def open_gates():
        for pod in pods:
            namespace.wait(pod, "create")
        for pod in pods:
            namespace.patch(pod, {"spec": {"schedulingGates": None}})

    ups = [skiff.start("up", name, "-q", *gate) for name in ("a", "b")]
    open_gates()
    ended = [process.communicate(timeout=100) for process in ups]
    assert [process.returncode for process in ups] == [0, 0], ended
    for pod in pods:
        hold(namespace, pod)
    try:
        process = skiff.start("stop", "a", "b")
        for pod in pods:
            await_deletion(namespace, pod)
    finally:
        release(namespace, *pods)
    out, err = process.communicate(timeout=100)
    assert (process.returncode, out) == (0, b"a\nb\n"), err
    process = skiff.start("start", "-q", "a", "b")
    open_gates()
    _, err = process.communicate(timeout=100)
    assert process.returncode == 0, err


def test_a_namespace_goes_only_with_the_sandbox_that_it_was_made_for(skiff, cluster, make_namespace):
    made = skiff.up("box", "--namespace-per-sandbox", *skiff.overrides(BRIEF))
    own = made["details"]["namespace"]
    record = skiff.namespace.get("configmap", "skiff-box")
    elsewhere = make_namespace()
    elsewhere.create({"apiVersion": "v1", "kind": "ConfigMap", "data": record["data"],
                      "metadata": {"name": "skiff-box", "labels": record["metadata"]["labels"]}})
    assert skiff("rm", "box", "-n", elsewhere.name)[0] == "box\n"
    assert elsewhere.of_skiff() == []
    assert skiff("exec", "box", "--", "echo", "alive")[0] == "alive\n"
    victim = make_namespace()
    skiff.namespace.patch("configmap/skiff-box", {"data": {"namespace": victim.name}})
    assert skiff("rm", "box")[0] == "box\n"
    assert "deletionTimestamp" not in cluster.api.get("namespace", victim.name)["metadata"]
    cluster.kubectl("delete", "namespace", own)


def test_a_pod_whose_node_is_gone_is_removed_by_force(skiff, namespace):
    skiff.up("box", *skiff.overrides({"terminationGracePeriodSeconds": 600}))
    skiff("exec", "box", "--mode", "background", "--", "sh", "-c", "trap '' TERM; sleep 1000")
    assert skiff("rm", "box", "--wait=false")[0] == "box\n"
    assert skiff("rm", "box", "--force")[0] == "box\n"
    namespace.wait("pod/skiff-box", "delete")
    assert namespace.of_skiff() == []


def test_another_prefix_is_found_by_its_labels(skiff, namespace):
    skiff("up", "box", "-q", "--name-prefix", "other-")
    assert [one["name"] for one in skiff.json("ps")["items"]] == ["box"]
    assert skiff("rm", "--all")[0] == "box\n"
    assert namespace.of_skiff() == []


# --- changes that come together ---

@contextlib.contextmanager
def agent(before_the_lease):
    """An agent that renews leases, but first does something else."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self):
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.path == "/v1/lease":
                before_the_lease()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        do_GET = do_POST = answer

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


def test_extend_does_not_undo_a_change_of_the_network(skiff, namespace):
    skiff.up("box", "--ttl", "1h")
    with agent(lambda: skiff("network", "box", "--network", "deny")) as url:
        skiff("extend", "box", "--ttl", "2h", "--url", url)
    spec = json.loads(namespace.get("configmap", "skiff-box")["data"]["spec"])
    assert (spec["pod"]["network"], spec["lease"]["ttl_ms"]) == ("deny", 7_200_000)


@pytest.mark.parametrize("flags", [["--namespace-per-sandbox"], ["--pool", "cold"]])
def test_ids_that_a_namespace_assigns_are_left_to_it(skiff, namespace, flags):
    namespace.patch(f"namespace/{namespace.name}", {"metadata": {"annotations": {"openshift.io/sa.scc.uid-range": "1000/1"}}})
    if "--pool" in flags:
        skiff("pool", "create", "cold", "--size", "0", "-q")
    manifest = json.loads(skiff("manifest", "box", "-o", "json", *flags)[0])
    [pod] = [one for one in manifest["items"] if one["kind"] == "Pod"]
    assert "runAsUser" not in pod["spec"]["securityContext"]
    if "--pool" in flags:
        skiff("pool", "rm", "cold")
