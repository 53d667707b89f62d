"""The OpenAPI document is right: a validator accepts it, and schemathesis, which makes requests up from it, good ones and
bad ones, finds nothing in the answers that the document does not say. Both tools come from PyPI (.ci/setup --tests)."""

import json
import os
import subprocess

import pytest

from openapi_requests import make_up_requests, operations, tool

# The server may refuse a request that its schema permits: a user that does not exist, a limit that this container can't
# enforce, a command that was deleted. For these operations a 400 too: a root outside of the agent's, a pattern that is not
# RE2, a PEM that is not a key, an id that differs from the path's, a script with a NUL.
REFUSED = ["2xx", "401", "403", "404", "409", "410", "422", "429"]
NOT_FOR_A_SCHEMA = ["createSession", "putSession", "waitFor", "initialise", "runScript"]
# A schema does not know either which paths and patterns are valid, or which files exist.
OF_FILES = ["400", "412", "413", "415", "416"]


def configuration(found):
    """schemathesis.toml: every check is on."""
    text = f"[checks.positive_data_acceptance]\nexpected-statuses = {json.dumps(REFUSED)}\n"
    for operation in found:
        name, more = operation["operationId"], []
        if name in NOT_FOR_A_SCHEMA:
            more = ["400"]
        if "files" in operation["tags"]:
            more = OF_FILES
        if more:
            text += f'[[operations]]\ninclude-operation-id = "{name}"\n'
            text += f"checks.positive_data_acceptance.expected-statuses = {json.dumps([*REFUSED, *more])}\n"
    return text


@pytest.fixture
def document(agent):
    return agent.request("GET", "/openapi.json").json()


def test_a_validator_accepts_the_document(document, tmp_path):
    path = tmp_path / "openapi.json"
    path.write_text(json.dumps(document))
    done = subprocess.run([tool("openapi-spec-validator"), path], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_schema_that_generators_of_clients_would_have_to_name_stands_inside_another(document):
    def inline(schema, place):
        for name, member in schema.get("properties", {}).items():
            yield from named(member, f"{place}.{name}")
        for word in "items", "additionalProperties":
            if isinstance(schema.get(word), dict):
                yield from named(schema[word], f"{place}.{word}")

    def named(schema, place):
        if "properties" in schema or "enum" in schema:
            yield place
        yield from inline(schema, place)

    found = [place for name, schema in document["components"]["schemas"].items() for place in inline(schema, name)]
    for operation in operations(document):
        for parameter in operation.get("parameters", []):
            found += named(parameter["schema"], f"{operation['operationId']}?{parameter['name']}")
        bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
        for media in (media for body in bodies for media in body.get("content", {}).values()):
            found += named(media["schema"], operation["operationId"])
    assert not found


def test_no_schema_has_what_generators_of_clients_stumble_over(document):
    allowed = {"type", "format", "description", "enum", "minimum", "maximum", "minLength", "maxLength", "pattern",
               "maxItems", "maxProperties", "properties", "items", "required", "writeOnly", "nullable", "$ref",
               "additionalProperties", "allOf", "x-json-schema", "x-extensible-enum"}

    def all_of(schema):
        yield schema
        for inner in [*schema.get("properties", {}).values(), *schema.get("allOf", []), schema.get("items"),
                      schema.get("additionalProperties")]:
            if isinstance(inner, dict):
                yield from all_of(inner)

    for component in document["components"]["schemas"].values():
        for schema in all_of(component):
            assert schema.keys() <= allowed, schema
            assert isinstance(schema.get("type", ""), str), schema
            assert not set(schema.get("pattern", "")) & set("/\\"), schema
            assert schema.get("maximum", 0) < 2**63, schema
            assert ("format" in schema) or schema.get("type") != "integer", schema


def test_every_operation_says_what_goes_in_what_comes_out_and_what_goes_wrong(document):
    names = [operation["operationId"] for operation in operations(document)]
    assert len(names) == len(set(names)) > 30
    assert not any(path.startswith(("/v1/commands", "/v1/files")) for path in document["paths"]), "each route once"
    assert all(document["components"]["schemas"].values()), "a schema that could not be parsed is empty"
    for operation in operations(document):
        responses = operation["responses"]
        assert {"400", "421", "431", "503"} <= responses.keys(), operation["operationId"]
        lines = any("application/x-ndjson" in response.get("content", {}) for response in responses.values())
        assert ("default" in responses) != lines, operation["operationId"]
        assert ({"401", "403"} <= responses.keys()) == bool(operation["security"]), operation["operationId"]
        if any(parameter["in"] == "path" for parameter in operation.get("parameters", [])):
            assert "404" in responses
        if "application/json" in operation.get("requestBody", {}).get("content", {}):
            assert "413" in responses
        good = [status for status in responses if status[0] in "12"]
        assert good, operation["operationId"]
        for status in good:
            for media in responses[status].get("content", {}).values():
                assert media["schema"], operation["operationId"]
    start = document["paths"]["/v1/sessions/{sid}/commands"]["post"]["responses"]
    assert {"401", "403", "404", "406", "409", "413", "415", "429"} <= start.keys()


@pytest.mark.skipif(bool(os.environ.get("SKIFFD_SANITIZER") or os.environ.get("SKIFFD_WRAPPER")),
                    reason="thousands of requests: once, with the program as it is, tells what there is to tell")
def test_schemathesis_finds_nothing_that_the_document_does_not_say(start_agent, tmp_path):
    # The requests are made up: nothing that they start or wait for may take long.
    agent = start_agent("--max-wait", "1s", "--max-sessions", "50", "--keep-bytes", "128KiB")
    for number in range(40):
        agent.start("exec sleep 600" if number % 2 else "echo done", id=f"kept-{number}", stdin_open=number % 4 > 0,
                    **({"tty": {}} if number % 3 == 0 else {}))
    document = agent.request("GET", "/openapi.json").json()
    found = operations(document)
    # WebSockets, streams that have no end, a protocol within the protocol, whatever listens on ports of this machine, and what
    # differs from another operation in its path alone.
    left_out = [operation["operationId"] for operation in found if "101" in operation["responses"] or
                operation["operationId"].startswith(("watchFiles", "mcp")) or operation["tags"] == ["ports"] or
                operation["operationId"].endswith("InDefaultSession")]
    done = make_up_requests(document, agent.url, f"Authorization: Bearer {agent.token}", configuration(found), left_out,
                            "openapi_hooks", tmp_path)
    assert agent.running(), agent.log()[-4000:]
    assert done.returncode == 0, done.stdout[:20000] + done.stderr[-4000:]
    assert f"Tested: {len(found) - len(left_out)}\n" in done.stdout, done.stdout[-4000:]
