"""The metrics of `skiff serve`: each series moves when what it counts happens."""

import pathlib
import re

import pytest

import promql
from metrics_text import metrics_of
from waiting import until

TREE = pathlib.Path(__file__).resolve().parents[2]
CHART = TREE / "deploy/helm/skiff-serve/files"
# A look of the server at its tenants' sandboxes comes every 15 seconds.
LOOK_SECONDS = 60


@pytest.fixture
def chief(serving, key):
    """The key of an operator, who is a tenant of its own."""
    return serving.key("chief", "--scope", "admin", "--tenant", "operators")


def create(server, key, **body):
    return server.request("POST", "/v1/sandboxes", body, key)


def test_creations_are_counted_by_tenant_and_result(serving, key, chief):
    serving.hold_agents()
    server = serving.start()
    small = serving.key("small", "--tenant", "small", "--max-sandboxes", "1")
    until(lambda: metrics_of(server, chief).has("skiff_serve_creations_total", tenant="small"), LOOK_SECONDS, "series that begin at 0")
    assert metrics_of(server, chief).of("skiff_serve_creations_total") == 0

    def counted(tenant):
        return {one.labels["result"]: one.value for one in metrics_of(server, chief).samples
                if one.name == "skiff_serve_creations_total" and one.labels["tenant"] == tenant}

    assert create(server, small, name="one", wait=False).status == 202
    assert create(server, small, name="two").status == 429
    assert counted("small") == {"created": 0, "existing": 0, "refused": 1, "failed": 0, "cancelled": 0}
    serving.let_agents_go()
    assert server.request("GET", "/v1/sandboxes/one?wait=ready", key=small).json()["state"] == "running"
    until(lambda: counted("small")["created"] == 1, what="the end of the creation")
    assert create(server, small, name="one", get_or_create=True).status == 200
    assert counted("small") == {"created": 1, "existing": 1, "refused": 1, "failed": 0, "cancelled": 0}
    seen = metrics_of(server, chief)
    assert seen.of("skiff_serve_bring_up_seconds_count") == 1 and seen.of("skiff_serve_bring_up_seconds_sum") > 0


def test_a_creation_that_fails_is_counted_as_that(serving, key, chief):
    serving.hold_agents()
    server = serving.start()
    serving.let_agents_fail()
    assert create(server, key).status == 502
    seen = metrics_of(server, chief)
    assert seen.of("skiff_serve_creations_total", tenant="default", result="failed") == seen.of("skiff_serve_creations_total") == 1
    assert seen.of("skiff_serve_bring_up_seconds_count") == 0


def test_sandboxes_are_counted_by_state_and_wakes_and_passed_requests_too(server, key, chief):
    sandbox = create(server, key, on_end="stop").json()["id"]

    def states():
        return {one.labels["state"]: one.value for one in metrics_of(server, chief).samples
                if one.name == "skiff_serve_sandboxes" and one.labels["tenant"] == "default"}

    until(lambda: states().get("running") == 1, LOOK_SECONDS, "a sandbox that runs", every=0.2)
    assert server.request("POST", f"/v1/sandboxes/{sandbox}/stop", {}, key).status == 200
    before = metrics_of(server, chief)
    assert before.of("skiff_serve_requests_total", route="gateway") == 0
    assert server.request("GET", f"/s/{sandbox}/7070/v1/version", key=key).status == 200
    after = metrics_of(server, chief)
    assert after.of("skiff_serve_wakes_total", tenant="default", result="woken") == 1
    assert after.of("skiff_serve_requests_total", route="gateway", status="2xx") == 1
    assert server.request("POST", f"/v1/sandboxes/{sandbox}/stop", {}, key).status == 200
    until(lambda: states() == {"creating": 0, "running": 0, "stopped": 1, "ended": 0, "failed": 0}, LOOK_SECONDS, "one that sleeps", every=0.2)


def test_the_reactor_is_measured_and_connections_and_requests_are_counted(server, key, chief):
    before = metrics_of(server, chief)
    until(lambda: metrics_of(server, chief).of("skiff_serve_reactor_delay_seconds_count") > before.of("skiff_serve_reactor_delay_seconds_count"))
    after = metrics_of(server, chief)
    assert after.of("skiff_serve_connections") >= 1
    assert after.of("skiff_serve_request_seconds_count") > before.of("skiff_serve_request_seconds_count")
    assert after.of("skiff_serve_requests_total", route="/metrics", status="2xx") >= 2
    assert after.of("skiff_serve_token_reviews_total") == after.of("skiff_serve_cluster_faults_total") == 0


def test_the_metrics_are_for_the_scope_admin(server, key):
    assert server.request("GET", "/metrics").status == 401
    assert server.request("GET", "/metrics", key=key).status == 403


def test_each_series_of_the_dashboard_and_the_alerts_exists(serving, key, chief, tmp_path):
    server = serving.start("--audit-log", tmp_path / "audit")
    expressions = {**promql.of_rules(CHART / "alerts.yaml"), **promql.of_dashboard(CHART / "dashboard.json")}
    assert len(expressions) > 25
    until(lambda: metrics_of(server, chief).has("skiff_serve_creations_total", tenant="default"), LOOK_SECONDS, "series of a tenant")
    assert server.request("GET", "/s/none/7070/v1/version", key=key).status == 404
    metrics = metrics_of(server, chief)
    rows = [line.split(" | ") for line in (TREE / "docs/serve-metrics.md").read_text().splitlines() if line.startswith("| `")]
    labels = {row[0].strip("| `"): set(re.findall(r"`(\w+)`", row[2])) for row in rows}
    families = {sample.name: name for name, family in metrics.families.items() for sample in family.samples}
    for where, expression in expressions.items():
        known = {"le", "instance"}
        for name, matchers in promql.selectors(expression):
            base = re.sub(r"_(bucket|sum|count)$", "", name)
            row = labels.get(name, labels.get(base))
            assert row is not None, f"{where}: there is no metric {name}"
            assert name in families or name == "skiff_serve_pool_members", f"{where}: the server does not export {name}"
            known |= row
            for label, value in matchers:
                assert label in row | {"le"}, f"{where}: {name} has no label {label}"
                seen = {one.labels[label] for one in metrics.samples if one.name == name}
                assert value in seen or name == "skiff_serve_pool_members" or label == "status", f"{where}: {name} has no {label}=\"{value}\""
        assert promql.grouping_labels(expression) <= known, where
