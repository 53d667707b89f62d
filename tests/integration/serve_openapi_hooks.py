"""Loaded by schemathesis (SCHEMATHESIS_HOOKS): keeps the sandboxes alive, and makes half of the good requests meet one that
is there."""

import itertools
import os

import schemathesis
from schemathesis import GenerationMode

LONG_MS = 3_600_000
KEPT = os.environ["SERVE_KEPT"].split(",")  # sandboxes that test_serve_openapi.py has made
_turn = itertools.count()


@schemathesis.hook
def before_call(_context, case, _kwargs):
    if isinstance(case.body, dict):
        # With a lease that is over before its agent answers none can be started again.
        for name in "ttl_ms", "idle_ttl_ms":
            time = case.body.get(name)
            if isinstance(time, (int, float)) and not isinstance(time, bool) and 0 < time < LONG_MS:
                case.body[name] = LONG_MS
    if case.method == "DELETE":
        # It has seen their ids, too.
        if case.path_parameters.get("id") in KEPT:
            case.path_parameters["id"] = "another"
        return
    if case.meta is None or case.meta.generation.mode is not GenerationMode.POSITIVE:
        return
    turn = next(_turn)
    if turn % 2 == 0 and "id" in case.path_parameters:
        case.path_parameters["id"] = KEPT[turn // 2 % len(KEPT)]
