"""The OpenAPI document of `skiff serve` is right, as tests/integration/test_openapi.py shows it of the agent's."""

import json
import subprocess

import pytest

from openapi_requests import make_up_requests, operations, tool

# A schema doesn't know which templates, sandboxes and ids there are, what names of labels may hold, and how many sandboxes
# a key may have; of a body of E2B's it knows nothing.
REFUSED = ["2xx", "400", "401", "403", "404", "409", "413", "415", "429", "501"]
# The stream of one that is let in does not end: test_serve_events.py reads it.
ENDLESS = ["getV1Events"]
# The document says which features the server does not offer.
CONFIGURATION = f"""[checks.positive_data_acceptance]
expected-statuses = {json.dumps(REFUSED)}
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", "501"]
"""


@pytest.fixture
def key(serving):
    return serving.key("me", "--scope", "admin", "--max-sandboxes", "6")


@pytest.fixture
def server(serving, key):
    return serving.start("--domain", "sandboxes.localhost")


@pytest.fixture
def document(server):
    return server.request("GET", "/openapi.json").json()


def test_a_validator_accepts_the_document(document, tmp_path):
    path = tmp_path / "openapi.json"
    path.write_text(json.dumps(document))
    done = subprocess.run([tool("openapi-spec-validator"), path], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_document_says_which_routes_a_host_may_lack(document):
    for method, path in (("post", "/v1/sandboxes"), ("post", "/v1/sandboxes/{id}/stop"), ("delete", "/v1/sandboxes/{id}")):
        assert "501" in document["paths"][path][method]["responses"], path


def test_schemathesis_finds_nothing_that_the_document_does_not_say(server, key, document, tmp_path, monkeypatch):
    kept = [server.request("POST", "/v1/sandboxes", {"on_end": "stop"}, key).json()["id"] for _ in range(4)]
    monkeypatch.setenv("SERVE_KEPT", ",".join(kept))
    done = make_up_requests(document, server.url, f"X-API-Key: {key}", CONFIGURATION, ENDLESS, "serve_openapi_hooks", tmp_path)
    assert server.process.poll() is None, server.told()[-4000:]
    assert done.returncode == 0, done.stdout[:20000] + done.stderr[-4000:]
    assert f"Tested: {len(operations(document)) - len(ENDLESS)}\n" in done.stdout, done.stdout[-4000:]
    assert {server.request("GET", f"/v1/sandboxes/{one}", key=key).status for one in kept} == {200}
