"""Little memory (RLIMIT_AS): what needs more than there is fails by itself, and the agent serves on."""

import contextlib
import json
import os

import pytest

import proc
from confined import with_memory
from wire import Stream, check_contiguous, request_bytes

MIB = 1024 * 1024
pytestmark = pytest.mark.skipif(bool(os.environ.get("SKIFFD_SANITIZER")), reason="a sanitizer reserves terabytes")


@pytest.fixture
def start(start_agent):
    return lambda *arguments, most=400 * MIB: start_agent(*arguments, wrapper=with_memory(most))


def well(agent):
    assert agent.request("GET", "/healthz").status == 200
    assert agent.run("echo well")["stdout"] == "well\n"
    status = 200 if (agent.root / "f").exists() else 201
    assert agent.request("PUT", "/v1/files/f", body=b"here").status == status
    assert agent.request("GET", "/v1/files/f").body == b"here"
    return True


def test_a_request_that_is_too_large_for_the_memory_is_refused(start):
    agent = start("--max-json-bytes", "64MiB")
    most = int(proc.status(agent.pid, "VmSize").split()[0]) * 1024 + 80 * MIB
    agent = start("--max-json-bytes", "64MiB", most=most)
    writes = [{"op": "write", "path": f"{number}", "content": "x" * 6 * MIB} for number in range(10)]
    body = json.dumps({"operations": writes}).encode()
    headers = {"Content-Type": "application/json", "Content-Length": len(body)}
    for _ in range(3):
        with agent.connect() as sock:
            # The answer may come, and the connection end, before all of the body was taken.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                sock.sendall(request_bytes("POST", "/v1/files:batch", agent.headers(headers), body))
            Stream(sock, "POST").answer().problem(503, "resource_exhausted")
        assert os.listdir(agent.root) in ([], ["f"]) and well(agent)


def test_an_edit_that_is_too_large_for_the_memory_leaves_the_file_as_it_was(start):
    agent = start()
    (agent.root / "large").write_bytes(b"x" * 300 * MIB)
    refused = agent.request("PATCH", "/v1/files/large", json={"edits": [{"old": "y", "new": "z"}]}, timeout=60)
    refused.problem(413)
    assert (agent.root / "large").stat().st_size == 300 * MIB and well(agent)


def test_a_result_that_is_too_large_for_the_memory_is_an_error_and_can_be_read_in_parts(start):
    agent = start("--output-memory", "128MiB", "--keep-bytes", "128MiB")
    large = {"command": "head -c 120000000 /dev/zero | tr '\\0' x", "output": {"max_output_bytes": 256 * MIB}}
    # Started first: the head of an answer that waits for long would be on its way before the memory is asked for.
    agent.request("POST", "/v1/commands", json={**large, "id": "c", "mode": "background"})
    assert agent.ended("c", seconds=90)["exit_code"] == 0
    refused = agent.request("POST", "/v1/commands", json={**large, "id": "c"}, timeout=60)
    refused.problem(503, "resource_exhausted")
    assert well(agent)
    part = agent.request("GET", "/v1/commands/c/output?from=100000000&limit_bytes=1000",
                         headers={"Accept": "application/octet-stream"})
    assert part.body == b"x" * 1000


def test_output_that_there_is_no_memory_for_is_a_gap_and_its_command_goes_on(start):
    agent = start("--output-memory", "1GiB", "--keep-bytes", "1GiB")
    cid = agent.start("head -c 700000000 /dev/zero; echo over >&2; exit 3")["id"]
    assert agent.ended(cid, seconds=90)["exit_code"] == 3
    assert agent.request("GET", "/healthz").status == 200
    with agent.stream("GET", f"/v1/commands/{cid}/output?follow=true") as stream:
        kinds = {}
        at = 0
        for event in stream.events():
            at = check_contiguous([event], at) if event["type"] in ("output", "gap") else at
            kinds[event["type"]] = kinds.get(event["type"], 0) + 1
    assert at == 700_000_005 and kinds["gap"] >= 1, (at, kinds)
    assert agent.request("DELETE", f"/v1/commands/{cid}").status == 204
    assert well(agent)
