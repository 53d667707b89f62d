"""Finds in the PromQL expressions of this repository the metrics and the matchers of their labels. It does not parse PromQL."""

import json
import re

import yaml

SELECTOR = re.compile(r"\b(skiff_serve_\w+)(?:\{([^}]*)\})?")
MATCHER = re.compile(r"(\w+)\s*(=~|!=|!~|=)\s*\"([^\"]*)\"")
GROUPING = re.compile(r"\b(?:by|ignoring|on)\s*\(([^)]*)\)")


def of_rules(path):
    groups = yaml.safe_load(path.read_text())["groups"]
    return {rule["alert"]: rule["expr"] for group in groups for rule in group["rules"]}


def of_dashboard(path):
    return {f"{panel['title']} {target['refId']}": target["expr"] for panel in json.loads(path.read_text())["panels"] for target in panel["targets"]}


def selectors(expression):
    """[(metric, [(label, value)])]: a list of words is one matcher for each word; variables of Grafana are left out."""
    found = []
    for name, inside in SELECTOR.findall(expression):
        matchers = [(label, word) for label, sign, value in MATCHER.findall(inside) for word in (value.split("|") if "~" in sign else [value])]
        found.append((name, [(label, word) for label, word in matchers if "$" not in word]))
    return found


def grouping_labels(expression):
    return {label.strip() for group in GROUPING.findall(expression) for label in group.split(",")}
