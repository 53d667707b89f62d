"""Loaded by schemathesis (SCHEMATHESIS_HOOKS): keeps the agent alive, and makes half of the good requests meet something
that is there."""

import itertools
import json

import schemathesis
from schemathesis import GenerationMode

LONG_MS, SHORT_MS = 3_600_000, 300
KEPT = [f"kept-{number}" for number in range(40)]  # commands that test_openapi.py has started
_turn = itertools.count()


def _end_soon(case):
    """Limits the time of commands: schemathesis may run a command line that it has seen here, which takes long."""
    if case.path == "/v1/run":
        case.query["timeout_ms"] = SHORT_MS
    if case.path.endswith("/commands") and isinstance(case.body, dict):
        case.body["timeout_ms"] = SHORT_MS
    if case.path.endswith("/code") and isinstance(case.body, dict):
        case.body["timeout_ms"] = SHORT_MS
        # They exclude each other, which no schema of one field says.
        if case.body.get("context") is not None:
            case.body.pop("language", None)
    if case.path == "/v1/init" and isinstance(case.body, dict) and isinstance(case.body.get("setup"), dict):
        case.body["setup"]["timeout_ms"] = SHORT_MS


@schemathesis.hook
def before_call(_context, case, _kwargs):
    if case.path in ("/v1/init", "/v1/lease") and isinstance(case.body, dict):
        # A lease that is over would end the agent.
        for name in "ttl_ms", "idle_ttl_ms":
            time = case.body.get(name)
            if isinstance(time, (int, float)) and not isinstance(time, bool) and 0 < time < LONG_MS:
                case.body[name] = LONG_MS
    if case.meta is None or case.meta.generation.mode is not GenerationMode.POSITIVE:
        return
    _end_soon(case)
    turn = next(_turn)
    if turn % 2 == 0:
        if "sid" in case.path_parameters:
            case.path_parameters["sid"] = "default"
        if "cid" in case.path_parameters:
            case.path_parameters["cid"] = KEPT[turn // 2 % len(KEPT)]
            if case.path.endswith("/output"):
                case.query["follow"] = "false"  # half of them live on: their streams would not end


@schemathesis.deserializer("application/x-ndjson")
def events(_context, response):
    """The last event of a stream, which its schema describes."""
    lines = response.text.splitlines()
    return json.loads(lines[-1]) if lines else {"type": "keepalive"}
