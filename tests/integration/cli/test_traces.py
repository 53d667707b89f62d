"""The traces that skiff sends to a collector: real skiff, real skiffd, a collector on this machine."""

import socket

import pytest

import collector as collectors
from launcher import DRIVER

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"


@pytest.fixture
def collector():
    with collectors.collector() as one:
        yield one


def test_a_run_is_one_tree_from_the_command_line_to_the_command(skiff, collector):
    out, _ = skiff("run", "--", "sh", "-c", "echo $TRACEPARENT", env={
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_EXPORTER_OTLP_HEADERS": "api-key=a%20b",
        "OTEL_RESOURCE_ATTRIBUTES": "team=blue", "TRACEPARENT": f"00-{TRACE}-{PARENT}-01"})
    [(path, headers, _)] = collector.requests
    assert path == "/v1/traces" and headers["api-key"] == "a b"
    spans = collector.spans()
    assert {span["traceId"] for span in spans} == {TRACE}
    assert len({span["spanId"] for span in spans}) == len(spans)
    assert all(span["resource"] == {"service.name": "skiff", "team": "blue"} for span in spans)
    root = collector.span("skiff run")
    assert root["parentSpanId"] == PARENT and collectors.values(root)["process.exit.code"] == "0"
    # All other spans lie within the root, in the tree and in time.
    for span in spans:
        assert span["name"] == "skiff run" or span["parentSpanId"] == root["spanId"], span
        assert int(root["startTimeUnixNano"]) <= int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"])
    made = collector.span("create sandbox")
    assert [event["name"] for event in made["events"]][-1] == "ready"
    assert collectors.values(made)["skiff.driver"] == DRIVER
    assert collector.span("remove sandbox")
    # The command's parent is the request that started it.
    version, trace, parent, flags = out.strip().split("-")
    assert (version, trace, flags) == ("00", TRACE, "01")
    [request] = [span for span in spans if span["spanId"] == parent]
    assert request["kind"] == 3 and collectors.values(request)["http.response.status_code"] == "101"


def test_without_an_endpoint_nothing_is_traced(skiff):
    out, err = skiff("run", "-q", "--", "sh", "-c", "echo [$TRACEPARENT]",
                     env={"TRACEPARENT": f"00-{TRACE}-{PARENT}-01", "OTEL_TRACES_SAMPLER": "nonsense"})
    assert out == "[]\n" and "tracing" not in err


def test_an_unsampled_trace_is_not_sent_and_the_command_knows_it(skiff, collector):
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_TRACES_SAMPLER": "always_off"}
    out, _ = skiff("run", "--", "sh", "-c", "echo $TRACEPARENT", env=env)
    assert out.strip().endswith("-00")
    assert collector.requests == []


def test_spans_contain_failures_and_exit_statuses(skiff, collector):
    env = {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": collector.url + "/mine"}
    skiff("run", "--", "sh", "-c", "exit 7", status=7, env=env)
    root = collector.span("skiff run")
    assert collectors.values(root)["process.exit.code"] == "7" and "status" not in root  # skiff did its work
    skiff("exec", "nobody", "--", "true", status=125, env=env)
    root = collector.span("skiff exec")
    assert root["status"]["code"] == 2 and "nobody" in root["status"]["message"]
    assert collectors.values(root)["error.type"] == "sandbox_not_found"
    assert {path for path, _, _ in collector.requests} == {"/mine"}


def test_copies_and_requests_are_spans(skiff, collector):
    skiff.up()
    (skiff.work / "file").write_text("text")
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
    skiff("cp", "file", "box:file", env=env)
    skiff("files", "ls", "box", env=env)
    copy, listing = collector.span("skiff cp"), collector.span("skiff files ls")
    assert "PUT /v1/files" in [span["name"] for span in collector.children(copy)]
    assert [span["name"] for span in collector.children(listing)] == ["GET /v1/files"]
    assert copy["traceId"] != listing["traceId"]


@pytest.mark.parametrize("kind", ["nobody listens", "nobody answers", "no such name"])
def test_a_dead_collector_changes_nothing_but_a_line_on_stderr(skiff, kind):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        if kind == "nobody answers":
            silent.listen()
        if kind == "no such name":
            url = "http://collector.invalid:4318"
        env = {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_TIMEOUT": "200"}
        out, err = skiff("run", "--", "sh", "-c", "echo done; exit 3", status=3, env=env)
        assert out == "done\n"
        [line] = [line for line in err.splitlines() if "tracing" in line]
        assert "spans were not sent to" in line
        assert skiff("run", "-q", "--", "sh", "-c", "exit 3", status=3, env=env) == ("", "")
