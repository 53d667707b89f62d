"""The metrics of a real `skiff serve`, read by Prometheus's own parser."""

from prometheus_client.parser import text_string_to_metric_families


class Metrics:
    """One answer of /metrics. `of(name, **labels)` sums the samples of that name that have these labels."""

    def __init__(self, text):
        self.families = {family.name: family for family in text_string_to_metric_families(text)}
        self.samples = [sample for family in self.families.values() for sample in family.samples]

    def of(self, name, **labels):
        return sum(one.value for one in self.samples if one.name == name and labels.items() <= one.labels.items())

    def has(self, name, **labels):
        return any(one.name == name and labels.items() <= one.labels.items() for one in self.samples)


def metrics_of(server, key):
    answer = server.request("GET", "/metrics", key=key)
    assert answer.status == 200, answer.body
    return Metrics(answer.body.decode())
