"""The alert rules and the dashboard of the chart, and the metrics themselves, are tested by Prometheus's own promtool (Debian's package prometheus)."""

import pathlib
import re
import subprocess

import yaml

import promql

HERE = pathlib.Path(__file__).resolve().parent
RUNBOOK = HERE.parents[1] / "docs/runbook.md"
CHART = HERE.parents[1] / "deploy/helm/skiff-serve/files"
RULES = CHART / "alerts.yaml"
CASES = HERE / "alerts_test.yaml"


def promtool(*words, typed=b""):
    done = subprocess.run(["promtool", *map(str, words)], input=typed, capture_output=True, timeout=60, cwd=HERE)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()
    return done.stdout.decode()


def alerts():
    [group] = yaml.safe_load(RULES.read_text())["groups"]
    return [rule["alert"] for rule in group["rules"]]


def test_the_rules_are_valid():
    assert f"{len(alerts())} rules found" in promtool("check", "rules", "--lint-fatal", RULES)


def test_each_alert_fires_when_it_should_and_not_otherwise():
    assert "SUCCESS" in promtool("test", "rules", CASES)
    cases = [case for test in yaml.safe_load(CASES.read_text())["tests"] for case in test["alert_rule_test"]]
    assert {case["alertname"] for case in cases if case.get("exp_alerts")} == set(alerts())
    assert {case["alertname"] for case in cases if not case.get("exp_alerts")} == set(alerts())


def test_the_runbook_explains_each_alert():
    assert re.findall(r"^## (Skiff\w+)$", RUNBOOK.read_text(), re.M) == alerts()


def test_the_runbook_quotes_messages_that_the_server_writes():
    quoted = re.findall(r"(?:log contains|log says|log for) `([^`]+)`", RUNBOOK.read_text())
    sources = "".join(path.read_text() for path in (HERE.parents[1] / "container").rglob("*.cpp"))
    assert len(quoted) >= 6 and all(message in sources for message in quoted), quoted


def test_the_expressions_of_the_dashboard_are_valid(tmp_path):
    """Each is made a rule, because promtool checks rules."""
    expressions = promql.of_dashboard(CHART / "dashboard.json")
    rules = [{"record": f"panel{number}", "expr": re.sub(r"\$__rate_interval", "5m", expression).replace("$tenant", ".*")}
             for number, expression in enumerate(expressions.values())]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    assert f"{len(expressions)} rules found" in promtool("check", "rules", file)


def test_the_metrics_have_names_and_types_as_prometheus_wants_them(server, key, serving):
    assert server.request("POST", "/v1/sandboxes", {}, key).status == 201
    chief = serving.key("chief", "--scope", "admin")
    text = server.request("GET", "/metrics", key=chief).body
    promtool("check", "metrics", typed=text)
