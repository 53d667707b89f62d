"""The traces that `skiff serve` sends to a collector: real processes, and a collector on this machine."""

import json
import socket

import pytest

import collector as collectors
from waiting import until

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
ABOVE = f"00-{TRACE}-{PARENT}-01"


@pytest.fixture
def collector():
    with collectors.collector() as one:
        yield one


@pytest.fixture
def server(serving, key, collector, monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    monkeypatch.setenv("OTEL_SERVICE_NAME", "sandboxes")
    # The process's own environment belongs to no request.
    monkeypatch.setenv("TRACEPARENT", "00-11111111111111111111111111111111-2222222222222222-01")
    return serving.start()


def create(server, key, **body):
    answer = server.request("POST", "/v1/sandboxes", {"name": "demo", **body}, key, headers={"traceparent": ABOVE})
    assert answer.status == (201 if body.get("wait", True) else 202), answer.body
    return answer.json()


def run(server, key, command, **headers):
    answer = server.request("POST", "/s/demo/7070/v1/run", command.encode(), key, headers=headers)
    assert answer.status == 200, answer.body
    return answer.body.decode()


def spans_by_name(collector):
    return {span["name"]: span for span in collector.spans()}


def test_a_creation_is_a_part_of_its_clients_trace(server, key, collector):
    create(server, key)
    until(lambda: "POST /v1/sandboxes" in spans_by_name(collector))
    request = collector.span("POST /v1/sandboxes")
    made = collector.span("create sandbox")
    assert request["kind"] == 2 and request["resource"]["service.name"] == "sandboxes"
    assert request["traceId"] == made["traceId"] == TRACE
    assert request["parentSpanId"] == PARENT and made["parentSpanId"] == request["spanId"]
    told = collectors.values(request)
    assert told["http.response.status_code"] == "201" and told["http.route"] == "/v1/sandboxes"
    assert collectors.values(made)["skiff.sandbox.name"] == "demo"
    assert "starting" in [event["name"] for event in made["events"]]


def test_a_creation_that_outlives_its_request_is_a_span(server, key, collector):
    create(server, key, wait=False)
    assert server.request("GET", "/v1/sandboxes/demo?wait=ready", key=key).json()["state"] == "running"
    until(lambda: {"create sandbox", "POST /v1/sandboxes"} <= spans_by_name(collector).keys())
    assert collector.span("create sandbox")["parentSpanId"] == collector.span("POST /v1/sandboxes")["spanId"]


def test_the_agent_goes_on_with_the_trace_of_the_request(server, key, collector):
    create(server, key)
    version, trace, parent, flags = run(server, key, "echo $TRACEPARENT", traceparent=ABOVE).strip().split("-")
    assert (version, trace, flags) == ("00", TRACE, "01")
    until(lambda: "POST gateway:7070" in spans_by_name(collector))
    passed, request = collector.span("request to sandbox"), collector.span("POST gateway:7070")
    assert parent == passed["spanId"] and passed["kind"] == 3
    assert passed["parentSpanId"] == request["spanId"] and request["parentSpanId"] == PARENT
    assert collectors.values(passed)["http.response.status_code"] == "200"


def test_a_request_without_a_trace_begins_one(server, key, collector):
    create(server, key)
    _, trace, parent, _ = run(server, key, "echo $TRACEPARENT", traceparent="nonsense").strip().split("-")
    until(lambda: "POST gateway:7070" in spans_by_name(collector))
    request = collector.span("POST gateway:7070")
    assert trace == request["traceId"] != TRACE and "parentSpanId" not in request
    assert collector.span("request to sandbox")["spanId"] == parent


def test_waking_is_a_span(server, key, collector):
    create(server, key, on_end="stop")
    assert server.request("POST", "/v1/sandboxes/demo/stop", key=key).status == 200
    run(server, key, "true", traceparent=ABOVE)
    until(lambda: "POST gateway:7070" in spans_by_name(collector))
    woken = collector.span("wake sandbox")
    assert woken["traceId"] == TRACE and "status" not in woken
    assert woken["parentSpanId"] == collector.span("POST gateway:7070")["spanId"]


def test_an_unsampled_trace_is_passed_on_and_not_sent(server, key, collector):
    create(server, key)
    unsampled = ABOVE[:-1] + "0"
    assert run(server, key, "echo $TRACEPARENT", traceparent=unsampled).strip().endswith("-00")
    assert server.stop() == 0
    assert "POST gateway:7070" not in spans_by_name(collector)


def test_a_server_that_ends_sends_what_it_has(server, key, collector):
    """Spans of a client that invents methods and paths are not failures: the server refuses, and works."""
    server.request("GET", "/v1/sandboxes/nobody", key=key)
    server.request("X" * 5000, "/v1/me", key=key)
    assert server.stop() == 0
    refused = collector.span("GET /v1/sandboxes/{id}")
    assert collectors.values(refused)["http.response.status_code"] == "404" and "status" not in refused
    assert collectors.values(collector.span("HTTP"))["http.request.method"] == "_OTHER"
    assert "skiff serve" not in spans_by_name(collector)


def test_without_a_collector_a_clients_trace_goes_through_as_it_is(serving, key):
    server = serving.start()
    create(server, key)
    assert run(server, key, "echo $TRACEPARENT", traceparent=ABOVE).strip() == ABOVE
    assert run(server, key, "echo [$TRACEPARENT]").strip() == "[]"


def test_a_dead_collector_delays_no_request_and_is_reported_once(serving, key, monkeypatch):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        server = serving.start()

        def lines():
            return [json.loads(line) for line in server.told().splitlines() if "spans are not sent" in line]

        assert server.request("GET", "/v1/me", key=key).status == 200
        until(lambda: lines())
        assert server.request("GET", "/v1/me", key=key).status == 200
        server.process.terminate()
        assert server.process.wait(60) == 0
        assert len(lines()) == 1 and "spans were lost" in server.told()
