"""`skiff` chooses a driver where a cluster is configured, and asks that cluster only what it must: real skiff, no cluster."""

import contextlib
import json
import os
import re
import socket
import subprocess

import pytest

import boxes
from launcher import Skiff
from serving import Server
from speaking import Said, speaking


class Choosing(Skiff):
    """A skiff that nothing names a driver to."""

    driver = None

    def __init__(self, folder):
        super().__init__(folder)
        self.sandboxes = self.state / "skiff/box"


class DevServer(Server):
    first_words = "# skiff serves on http://"


@pytest.fixture
def skiff(tmp_path):
    client = Choosing(tmp_path)
    yield client
    (client.home / ".kube/config").unlink(missing_ok=True)
    client.finish()


def write_kubeconfig(skiff, port):
    config = {"clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
              "contexts": [{"name": "x", "context": {"cluster": "c"}}], "current-context": "x"}
    (skiff.home / ".kube").mkdir()
    (skiff.home / ".kube/config").write_text(json.dumps(config))


@pytest.fixture
def server(skiff):
    """A port that a kubeconfig names, and where nobody answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        write_kubeconfig(skiff, listening.getsockname()[1])
        yield listening


def dead_pod(namespace, name, owner):
    labels = {"app.kubernetes.io/managed-by": "skiff", "app.kubernetes.io/component": "sandbox", "skiff.dev/name": name,
              "skiff.dev/owner": owner, "skiff.dev/sandbox": f"s-{name}"}
    return {"apiVersion": "v1", "kind": "Pod", "status": {"phase": "Failed", "reason": "Evicted"},
            "metadata": {"name": f"skiff-{name}", "namespace": namespace, "uid": f"u-{name}", "labels": labels}}


def status(code, reason, message):
    """How an API server refuses."""
    body = json.dumps({"kind": "Status", "reason": reason, "code": code, "message": message}).encode()
    return Said(code, {"Content-Type": "application/json"}, body)


@contextlib.contextmanager
def cluster_of(skiff, pods):
    """An API server that has these Pods and nothing else, and lets nobody delete."""
    def say(asked):
        if asked.method == "DELETE":
            return status(403, "Forbidden", "you may not")
        place = asked.path.partition("?")[0].split("/")[4:]  # behind /api/v1/namespaces
        there = [pod for pod in pods if place[1:2] == ["pods"] and pod["metadata"]["namespace"] == place[0]]
        if len(place) == 2:
            return {"metadata": {"resourceVersion": "1"}, "items": there}
        return next((pod for pod in there if pod["metadata"]["name"] == place[-1]), status(404, "NotFound", "not found"))

    with speaking(say) as server:
        write_kubeconfig(skiff, server.server_address[1])
        yield


def test_log_requests_prints_each_request_to_the_api_server(skiff):
    with cluster_of(skiff, []):
        driver, *lines = skiff("get", "pods", "--log-requests", "-q")[1].splitlines()
        assert re.fullmatch(r"skiff: driver pod( \(chosen by skiff\))?", driver)
        assert sorted(line.partition("?")[0].rpartition("/")[2] for line in lines) == ["configmaps", "pods"]
        assert all(re.fullmatch(r"skiff: GET http://127\.0\.0\.1:[0-9]+/api/v1/namespaces/default/\S+ 200 in [0-9]+ ms", line) for line in lines), lines
        assert skiff("get", "pods")[1] == ""


def was_asked(server):
    try:
        server.accept()[0].close()
    except BlockingIOError:
        return False
    return True


NO_IMAGE = ["skiff: no agent image is set: build and push one (docker build -t REGISTRY/skiffd . && docker push REGISTRY/skiffd)",
            "       and name it with --agent-image or SKIFF_AGENT_IMAGE; without a cluster use --driver box"]


@pytest.mark.parametrize("driver", ["pod", "claim", "auto"])
@pytest.mark.parametrize("words", [["up", "box"], ["up", "box", "--dry-run"], ["run", "--", "true"], ["manifest", "box"],
                                   ["pool", "create", "warm"]], ids=" ".join)
def test_without_an_agent_image_nothing_is_asked_of_a_cluster(skiff, server, driver, words):
    out, err = skiff(*words, "--driver", driver, status=125) if "--" not in words else \
        skiff(words[0], "--driver", driver, *words[1:], status=125)
    assert (out, err.splitlines()) == ("", NO_IMAGE)
    assert not was_asked(server)


def test_a_template_without_an_agent_image_asks_nothing_of_a_cluster(skiff, server):
    assert skiff("manifest", "--template", "py", "--driver", "claim", status=125)[1].splitlines() == NO_IMAGE
    assert not was_asked(server)


@pytest.mark.parametrize("how", [["--agent-image", "registry.test/skiffd"], ["--no-inject"], "environment", "file"], ids=str)
def test_an_agent_image_that_is_named_is_enough(skiff, server, how):
    server.close()  # so that it is refused at once
    env = {"SKIFF_AGENT_IMAGE": "registry.test/skiffd"} if how == "environment" else {}
    if how == "file":
        (skiff.home / ".config/skiff").mkdir(parents=True)
        (skiff.home / ".config/skiff/config.yaml").write_text("agent-image: registry.test/skiffd\n")
    err = skiff("up", "box", "--driver", "pod", *(how if isinstance(how, list) else []), env=env, status=125)[1]
    assert "refused" in err and "agent image" not in err


def test_auto_does_not_fall_back_to_this_machine(skiff, server):
    server.close()
    for words in (["up", "box", "--no-inject"], ["run", "--no-inject", "--", "true"], ["ps"], ["rm", "box"]):
        err = skiff(*words, status=125)[1]
        assert "can't be reached" in err and "refused" in err and "--driver box" in err and "local" not in err
    assert "--driver box" not in skiff("ps", "--driver", "pod", status=125)[1], "who has named a driver means it"
    assert skiff.names() == []


def test_auto_is_a_box_where_nothing_points_to_a_cluster(skiff):
    assert "driver box (chosen by skiff)" in skiff("ps", "--log-requests")[1]
    boxes.need_boxes(os.geteuid())
    assert skiff("run", "-q", "--", "sh", "-c", f"ls {skiff.home} 2>&1 || echo $HOME")[0].splitlines()[-1] == "/home/user"
    made = skiff.up("box")
    assert made["driver"] == "box" and skiff.names() == ["box"]
    assert skiff("exec", "box", "--", "id", "-u")[0] == "1000\n"
    server = DevServer(skiff, "--dev", driver="auto")
    assert server.stop() == 0


@pytest.mark.parametrize("words", [("up", "box"), ("run", "--", "true")], ids=" ".join)
def test_local_is_used_when_it_is_named_and_says_what_it_is(skiff, words):
    said = skiff(words[0], "--driver", "local", *words[1:])[1]
    assert "the local driver does not isolate: commands run on this machine, as you" in said
    skiff("rm", "--all", "--driver", "local")


def test_a_server_with_local_says_what_it_is(skiff):
    server = Server(skiff, driver="local")
    assert "the local driver does not isolate" in server.told()
    assert server.stop() == 0


@pytest.mark.parametrize("how", ["KUBECONFIG", "SKIFF_KUBECONFIG_DATA", "--kubeconfig", "--server", "--context"])
def test_auto_is_never_this_machine_where_anything_points_to_a_cluster(skiff, server, how):
    config = skiff.home / ".kube/config"
    text = config.read_text()
    moved = config.rename(skiff.home / "elsewhere")
    flags = {"--kubeconfig": [how, moved], "--server": [how, f"http://127.0.0.1:{server.getsockname()[1]}"], "--context": [how, "x"]}.get(how, [])
    env = {"KUBECONFIG": {how: str(moved)}, "SKIFF_KUBECONFIG_DATA": {how: text}}.get(how, {})
    server.close()
    err = skiff("ps", *flags, env=env, status=125)[1]
    assert ("needs a kubeconfig" if how == "--context" else "can't be reached") in err, err
    assert skiff("run", *flags, "--", "touch", "ran", env=env, status=125)[0] == ""
    assert skiff.names() == []


@pytest.mark.parametrize("env", [{"KUBECONFIG": "/no/such/file"}, {"SKIFF_KUBECONFIG_DATA": "{}"}, {"SKIFF_KUBECONFIG_DATA": "words"},
                                 {"SKIFF_NAMESPACE": "prod"}, {"SKIFF_CONTEXT": "x"}, "current-context: x\n", "clusters: [\n"], ids=str)
def test_auto_is_not_this_machine_either_where_what_points_to_one_is_of_no_use(skiff, env):
    if isinstance(env, str):
        (skiff.home / ".kube").mkdir()
        (skiff.home / ".kube/config").write_text(env)
    assert skiff("run", "--", "echo", "ran", env=env if isinstance(env, dict) else {}, status=125)[0] == ""
    assert skiff.names() == []


def test_auto_asks_no_cluster_what_it_is(skiff):
    """One request for what the command wants: none whether there is a cluster."""
    with speaking(lambda _: status(404, "NotFound", "not found")) as there:
        write_kubeconfig(skiff, there.server_address[1])
        assert "no sandbox" in skiff("describe", "box", status=125)[1]
    assert there.asked and not [one for one in there.asked if one.path.startswith("/version")], there.asked


AGENT = ["--agent-image", "registry.test/skiffd"]


def documents(text):
    return json.loads(text)["items"]


@pytest.mark.parametrize("words", [["manifest", "box"], ["manifest", "box", "--driver", "pod"], ["up", "box", "--dry-run=client"],
                                   ["run", "--name", "box", "--dry-run=client", "alpine", "true"]], ids=" ".join)
def test_a_manifest_needs_no_cluster(skiff, words):
    words = [words[0], *AGENT, "-o", "json", *words[1:]]
    out, err = skiff(*words)
    assert {"ConfigMap", "Pod"} <= {each["kind"] for each in documents(out)}, out
    assert "no cluster was asked" in err and "--key-file" in err
    assert skiff.names() == []


def test_a_manifest_with_a_key_of_ones_own_lets_its_owner_in(skiff, tmp_path):
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", tmp_path / "key.pem"], check=True, capture_output=True)
    public = subprocess.run(["openssl", "pkey", "-in", tmp_path / "key.pem", "-pubout"], check=True, capture_output=True, text=True).stdout
    out, err = skiff("manifest", "-o", "json", *AGENT, "--key-file", tmp_path / "key.pem", "-n", "there", "--driver", "pod", "--dry-run=client", "box")
    pod = next(each for each in documents(out) if each["kind"] == "Pod")
    variables = {each["name"]: each.get("value") for each in pod["spec"]["containers"][0]["env"]}
    assert variables["SKIFF_PUBLIC_KEY"] == public and pod["metadata"]["namespace"] == "there"
    assert "accepts no client" not in err


def test_a_dry_run_of_the_client_asks_nothing_of_a_cluster(skiff, server):
    for words in (["up", "box", "--dry-run=client"], ["manifest", "box", "--dry-run=client"]):
        assert "ConfigMap" in skiff(words[0], *AGENT, *words[1:])[0]
    assert not was_asked(server)
    assert "--pool" in skiff("up", "box", *AGENT, "--pool", "warm", "--dry-run=client", status=125)[1]
    assert "`--driver pod`" in skiff("up", "box", *AGENT, "--driver", "claim", "--dry-run=client", status=125)[1]


def test_gc_tells_what_it_could_not_remove_in_each_namespace(skiff):
    with cluster_of(skiff, [dead_pod("one", "box", "ann"), dead_pod("two", "crate", "ann")]):
        told = skiff.json("gc", "--driver", "pod", "--owner", "ann", "--in-namespace", "one", "--in-namespace", "two", status=125)
    assert [each["name"] for each in told["failed"]] == ["one/box", "two/crate"]
    assert all("you may not" in each["reason"] for each in told["failed"])
    assert told["deleted"] == told["kept"] == []


def test_a_dry_run_of_a_pool_makes_none(skiff):
    with cluster_of(skiff, []):  # which would refuse to make one
        planned = json.loads(skiff("pool", "create", "warm", "--size", "3", "--dry-run", "-o", "json", *AGENT)[0])
        assert planned == {"name": "warm", "available": 0, "active": 0, "total": 0, "target": 3, "missing": 3}
        assert "--size" in skiff("pool", "create", "warm", "--size", "1001", "--dry-run", *AGENT, status=125)[1]
        assert "there is no pool" in skiff("pool", "scale", "warm", "3", "--dry-run", status=125)[1]
        assert skiff("pool", "rm", "warm", "--dry-run=server") == ("", "")


def test_a_cluster_that_accepts_and_says_nothing_is_waited_for_as_long_as_was_said(skiff, server):
    wait = ["--wait", "1s"]
    several = [["up", "box", *AGENT, *wait], ["up", "box", "--pool", "warm", *wait], ["up", "box", "--driver", "claim", *AGENT, *wait],
               ["run", *AGENT, *wait, "image", "--", "true"], ["start", "box", *wait], ["start", "box", "--driver", "claim", *wait],
               ["pool", "create", "warm", *AGENT, *wait], ["pool", "scale", "warm", "2", *wait]]
    processes = [skiff.start(*words) for words in several]
    # Without --wait skiff waits a minute for an answer.
    ended = [process.communicate(timeout=45) for process in processes]
    assert [process.returncode for process in processes] == [125] * len(several), ended
    for words, (_, err) in zip(several, ended, strict=True):
        assert b"--wait" in err and b"cluster" in err, (words, err)
    assert was_asked(server)
