"""`skiff up --dialect`: what other systems' clients speak, in front of the local driver. In a cluster it is in
tests/kubernetes/launcher/test_dialects.py."""

import http.client
import json

import pytest


def ask(address, method, path, body=None):
    client = http.client.HTTPConnection(address, timeout=30)
    try:
        client.request(method, path, body and json.dumps(body), {"Content-Type": "application/json"} if body else {})
        reply = client.getresponse()
        return reply.status, json.loads(reply.read())
    finally:
        client.close()


def test_it_is_spoken_on_a_free_port_that_is_told(skiff):
    details = skiff.up("box", "--dialect", "python-runtime", "--dialect", "sandboxd")["details"]
    assert ask(details["python-runtime"], "GET", "/")[1]["status"] == "ok"
    assert ask(details["sandboxd-rest"], "GET", "/v1/health")[1]["status"] == "ok"
    assert details["sandboxd-grpc"].startswith("127.0.0.1:")
    status, told = ask(details["python-runtime"], "POST", "/execute", {"command": "pwd; echo $HOME >&2"})
    assert (status, told["stdout"], told["exit_code"]) == (200, f"{skiff.root()}\n", 0)
    # The agent's own port is as it always is.
    assert skiff("exec", "box", "--", "echo", "here")[0] == "here\n"
    assert {name: skiff.json("describe", "box")["details"][name] for name in ("python-runtime", "sandboxd-grpc")}.items() <= details.items()


def test_two_on_one_machine_are_beside_each_other(skiff):
    addresses = {skiff.up(name, "--dialect", "python-runtime")["details"]["python-runtime"] for name in ("one", "two")}
    assert len(addresses) == 2
    for address in addresses:
        assert ask(address, "GET", "/")[0] == 200


def test_it_is_remembered_when_the_sandbox_starts_again(skiff):
    skiff.up("box", "--dialect", "python-runtime")
    skiff("stop", "box")
    assert "python-runtime" not in skiff.json("describe", "box")["details"]
    started = skiff.json("start", "box", "-q")
    assert ask(started["details"]["python-runtime"], "GET", "/")[1]["status"] == "ok"
    assert skiff.record()["dialects"] == ["python-runtime"]


def test_a_record_from_before_there_were_dialects_is_read(skiff):
    skiff.up("box")
    record = skiff.record()
    file = skiff.sandboxes / "box/record.json"
    file.write_text(json.dumps({name: value for name, value in record.items() if not name.startswith("dialect")}))
    assert skiff("exec", "box", "--", "echo", "here")[0] == "here\n"


@pytest.mark.parametrize("words, told", [
    (["--dialect", "nope"], "expected one of"),
    (["--dialect", "python-runtime=0.0.0.0:8888"], "expected one of"),
    (["--dialect", "sandboxd", "--dialect", "sandboxd"], "is given twice"),
    (["--dialect", "python-runtime", "--port", "8888"], "--dialect has it already"),
    (["--dialect", "kubebox", "--service", "loadbalancer"], "restrict access with --allow CIDR"),
])
def test_what_cannot_be_is_refused_before_anything_is_made(skiff, words, told):
    assert told in skiff("up", "box", *words, status=125)[1]
    assert skiff.names() == [] and not skiff.processes()


def test_a_manifest_has_its_ports(skiff):
    printed = skiff("manifest", "box", "--driver", "pod", "--dry-run=client", "--image", "i", "--agent-image", "a",
                    "--dialect", "sandboxd", "--network", "deny", "-o", "json")[0]
    objects = {one["kind"]: one["spec"] for one in json.loads(printed)["items"] if "spec" in one}
    assert [one["port"] for one in objects["Service"]["ports"]] == [7070, 8080, 9090]
    assert [one["port"] for one in objects["NetworkPolicy"]["ingress"][0]["ports"]] == [7070, 8080, 9090]
    (container,) = objects["Pod"]["containers"]
    assert {"name": "SKIFF_DIALECT", "value": "sandboxd=[::]:8080,[::]:9090"} in container["env"]
