"""`skiff serve --dev`: one command to try the server on this machine."""

import json
import subprocess

import pytest

from serving import Server


def variables(server):
    """The variables of a shell that has run the lines which the server prints after its first one."""
    script = b"".join(server.process.stdout.readline() for _ in range(2))
    told = subprocess.run(["env", "-i", "/bin/sh", "-c", script.decode() + "env"], capture_output=True, text=True, check=True)
    return dict(line.split("=", 1) for line in told.stdout.splitlines())


class DevServer(Server):
    first_words = "# skiff serves on http://"


def keys(serving):
    return json.loads(serving.skiff("key", "ls", "-o", "json")[0])["items"]


@pytest.fixture
def server(serving):
    one = DevServer(serving.skiff, "--dev")
    yield one
    one.stop()


def test_its_output_is_a_script_that_a_client_needs(server, serving):
    told = variables(server)
    for url in ("E2B_API_URL", "E2B_SANDBOX_URL", "SKIFF_URL"):
        assert told[url] == server.url
    assert told["E2B_API_KEY"] == told["SKIFF_API_KEY"]
    answer = server.request("POST", "/v2/sandboxes", {"timeout": 600}, told["E2B_API_KEY"])
    assert answer.status == 201, answer.body
    name = answer.json()["sandboxID"]
    assert answer.json()["domain"] == f"skiff.localhost:{server.host.rpartition(':')[2]}"
    printed = serving.skiff("exec", name, "--", "echo", "hello", env={"SKIFF_DRIVER": "", **{name: told[name] for name in ("SKIFF_URL", "SKIFF_API_KEY")}})[0]
    assert printed == "hello\n"
    assert server.request("DELETE", f"/v1/sandboxes/{name}", key=told["E2B_API_KEY"]).status == 204


def test_it_has_the_template_of_the_code_interpreter(server):
    key = variables(server)["E2B_API_KEY"]
    answer = server.request("POST", "/v2/sandboxes", {"templateID": "code-interpreter-v1", "timeout": 600}, key)
    assert answer.status == 201, answer.body
    assert server.request("DELETE", f"/v1/sandboxes/{answer.json()['sandboxID']}", key=key).status == 204


def test_its_key_ends_with_it(serving):
    servers = [DevServer(serving.skiff, "--dev") for _ in range(2)]
    assert variables(servers[0])["SKIFF_API_KEY"] != variables(servers[1])["SKIFF_API_KEY"]
    assert len(keys(serving)) == 2
    assert servers[0].stop() == 0
    (left,) = keys(serving)
    assert left["expires_ms"]
    assert servers[1].stop() == 0
    assert keys(serving) == []


@pytest.mark.parametrize("listen", ["0.0.0.0:0", "unix:/tmp/skiff-dev.sock", "[::]:0"])
def test_it_listens_on_loopback_only(serving, listen):
    err = serving.skiff("serve", "--dev", "--listen", listen, status=125)[1]
    assert "--dev listens on a TCP port of loopback" in err
    assert keys(serving) == []
