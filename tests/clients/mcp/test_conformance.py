"""The protocol's conformance suite. Its scenarios that need tools and resources of its own test server (test_simple_text,
test://static-text, ...) or features that are not offered (prompts, logging, completion, sampling) are not run."""

import json
import pathlib
import subprocess

import pytest

from installed import all_versions, node, node_modules

HERE = pathlib.Path(__file__).resolve().parent

SCENARIOS = {
    "2025-03-26": ["server-session-lifecycle"],
    "2025-06-18": ["server-initialize", "server-session-lifecycle", "ping", "tools-list", "resources-list"],
    "2025-11-25": ["server-initialize", "server-session-lifecycle", "ping", "tools-list", "resources-list",
                   "server-sse-multiple-streams", "dns-rebinding-protection"],
    "2026-07-28": ["server-stateless", "tools-list", "resources-list", "server-sse-multiple-streams",
                   "sep-2164-resource-not-found", "dns-rebinding-protection", "caching", "http-header-validation"],
}

# The scenarios of 0.1.16, the last of its line: there a scenario is the same for each revision.
OLDER = {"2025-11-25": ["server-initialize", "ping", "tools-list", "resources-list", "server-sse-multiple-streams",
                        "dns-rebinding-protection"]}
SUITES = {HERE: SCENARIOS, **({HERE / "older": OLDER} if all_versions() else {})}
CASES = [(suite, revision, one) for suite, revisions in SUITES.items() for revision, all_ in revisions.items() for one in all_]

# Checks of these scenarios that need what is not offered: tools of the suite's own server, and prompts.
NOT_FOR_A_SANDBOX = {
    "sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400",
    "sep-2575-http-server-no-independent-requests-on-stream", "sep-2575-server-no-log-without-loglevel",
    "sep-2549-prompts-list-caching-hints",
}


@pytest.fixture
def open_agent(start_agent):
    """The suite brings no credential."""
    return start_agent("--allow-unauthenticated", credential=False)


@pytest.mark.parametrize("suite, revision, scenario", CASES, ids=["-".join((one[0].name, *one[1:])) for one in CASES])
def test_scenario(open_agent, tmp_path, suite, revision, scenario):
    program = node_modules(suite) / "@modelcontextprotocol/conformance/dist/index.js"
    done = subprocess.run([node(), program, "server", "--url", open_agent.url + "/mcp", "--scenario", scenario,
                           "--spec-version", revision, "-o", tmp_path / "results"],
                          capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    checks = [one for file in (tmp_path / "results").rglob("checks.json") for one in json.loads(file.read_text())]
    failed = [one for one in checks if one["status"] == "FAILURE" and one["id"] not in NOT_FOR_A_SANDBOX]
    assert not failed and any(one["status"] == "SUCCESS" for one in checks), (
        json.dumps(failed, indent=1)[:4000], done.stdout[-2000:], done.stderr[-2000:])
