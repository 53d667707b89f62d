"""A namespace of the cluster for one test, shown to hold nothing of skiff's at its end."""

import contextlib
import itertools
import re
import subprocess

from waiting import until

LOOK_SECONDS = 0.05
numbers = itertools.count(1)


def holds(condition, thing):
    """Whether it is true of an object, or of there being none: "create", "delete", "condition=NAME", "phase=NAME", or a
    function that is asked about an object that is there."""
    if condition == "delete" or thing is None:
        return condition == "delete" and thing is None
    if callable(condition):
        return condition(thing)
    what, _, name = condition.partition("=")
    status = thing.get("status", {})
    if what == "condition":
        return any(one["type"] == name and one["status"] == "True" for one in status.get("conditions", []))
    assert what in ("create", "phase"), condition
    return what == "create" or status.get("phase") == name


class Namespace:
    def __init__(self, cluster, name, labels):
        self.cluster, self.name = cluster, name
        cluster.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
        self.wait("serviceaccount/default", "create")  # without it no pod is taken

    def kubectl(self, *words, **options):
        return self.cluster.kubectl(f"--namespace={self.name}", *words, **options)

    def get(self, what, name=None):
        """One object, or a list of all of that kind."""
        return self.cluster.api.get(what, name, self.name)

    def items(self, kind):
        return self.get(kind)["items"]

    def names(self, kind):
        return [one["metadata"]["name"] for one in self.items(kind)]

    def create(self, *objects):
        for one in objects:
            self.cluster.api.create({**one, "metadata": {**one["metadata"], "namespace": self.name}})

    def delete(self, what):
        """And waits until it is gone."""
        self.cluster.api.delete(*what.split("/"), self.name)
        self.wait(what, "delete")

    def wait(self, what, condition, seconds=60):
        until(lambda: holds(condition, self.cluster.api.find(*what.split("/"), self.name)), seconds, f"{what}: {condition}", LOOK_SECONDS)

    def of_skiff(self):
        return self.cluster.of_skiff(self.name)

    def remove(self):
        self.cluster.api.delete("namespace", self.name)

    def forward(self, pod, port):
        return Forward(self, pod, port)


@contextlib.contextmanager
def namespaces(cluster):
    """A function that makes fresh ones. At the end nothing of skiff's is left in any of them."""
    made = []

    def make(**labels):
        made.append(Namespace(cluster, f"test-{next(numbers)}", labels))
        return made[-1]

    try:
        yield make
        left = [found for namespace in made for found in namespace.of_skiff()]
        assert not left, left
    finally:
        for namespace in made:
            namespace.remove()


class Forward:
    """`kubectl port-forward` to a pod; `port` is the one here."""

    def __init__(self, namespace, pod, port):
        self.process = subprocess.Popen(
            namespace.cluster.command(f"--namespace={namespace.name}", "port-forward", f"pod/{pod}", f":{port}", "--address=127.0.0.1"),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        found = re.search(r"127\.0\.0\.1:(\d+) ->", line)
        assert found, (line, self.process.poll())
        self.port = int(found.group(1))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
