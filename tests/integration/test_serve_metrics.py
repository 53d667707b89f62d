"""The metrics of `skiff serve`: each series moves when what it counts happens."""

import pytest

from metrics_text import metrics_of
from waiting import until

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
