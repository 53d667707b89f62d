"""schemathesis, which makes requests up from an OpenAPI document, good ones and bad ones, against a server that runs."""

import json
import os
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).parent
EXAMPLES = 10


def operations(document):
    return [operation for methods in document["paths"].values() for operation in methods.values()]


def strict(document):
    """The document with exactly what the server takes and answers. For generators of clients the document itself says less:
    rules of JSON Schema stand apart, it does not mention null in place of an absent member, starting a command has one type of
    answer, no bound is above an int64, and routes that answer with lines have no default answer."""
    document = json.loads(json.dumps(document))

    def widen(schema):
        for inner in [*schema.get("properties", {}).values(), *schema.get("allOf", []), schema.get("items"),
                      schema.get("additionalProperties")]:
            if isinstance(inner, dict):
                widen(inner)
        if schema.get("format") == "int64":
            schema.setdefault("maximum", 2**64 - 1)
        is_nullable = schema.pop("nullable", False)
        schema.update(schema.pop("x-json-schema", {}))
        schema.pop("default", None)
        if schema.get("additionalProperties") is False:  # a request
            for name, member in schema["properties"].items():
                if name not in schema.get("required", []) and "anyOf" not in member:
                    schema["properties"][name] = {"anyOf": [member, {"type": "null"}]}
        if is_nullable:
            bare = dict(schema)
            schema.clear()
            schema["anyOf"] = [bare, {"type": "null"}]

    for schema in document["components"]["schemas"].values():
        widen(schema)
    for operation in operations(document):
        for parameter in operation.get("parameters", []):
            widen(parameter["schema"])
        operation["responses"].setdefault("default", {"$ref": "#/components/responses/Problem"})
    start = document["paths"].get("/v1/sessions/{sid}/commands")
    for status, name in (("200", "CommandResult"), ("202", "Command")) if start else ():
        start["post"]["responses"][status]["content"]["application/json"]["schema"] = {"$ref": f"#/components/schemas/{name}"}
    document["openapi"] = "3.1.0"
    return document


def tool(name):
    path = shutil.which(name)
    assert path, f"{name} is not in PATH: run .ci/setup --tests, and the tests through .ci/test"
    return path


def make_up_requests(document, url, credential, configuration, left_out, hooks, folder):
    """Runs it with every check on, as `configuration` (schemathesis.toml) has them; `credential` is a header's line, `hooks`
    a module of this directory."""
    # From a file: of a server's own document schemathesis leaves the route that it came from untested.
    (folder / "openapi.json").write_text(json.dumps(strict(document)))
    (folder / "schemathesis.toml").write_text(configuration)
    return subprocess.run(
        [tool("schemathesis"), "run", "openapi.json", "--url", url, "--header", credential,
         "--phases", "examples,coverage,fuzzing", "--max-examples", str(EXAMPLES),
         "--generation-deterministic", "--generation-with-security-parameters", "false", "--continue-on-failure",
         "--no-shrink", "--request-timeout", "30", "--no-color", "--warnings", "off",
         *[argument for name in left_out for argument in ("--exclude-operation-id", name)]],
        cwd=folder, capture_output=True, text=True, timeout=450,
        env={**os.environ, "SCHEMATHESIS_HOOKS": hooks, "PYTHONPATH": str(HERE),
             "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(folder)})
