"""Namespaces of the cluster, one for each test. What else is in them goes with the cluster: to delete one takes the
controllers longer than most tests."""

import contextlib
import re
import subprocess

from waiting import until

LOOK_SECONDS = 0.05
LOOK_EVERYWHERE_SECONDS = 0.5
LEAVE_SECONDS = 60


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
    def __init__(self, cluster, name):
        self.cluster, self.name = cluster, name

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

    def apply(self, *objects):
        """Applies objects as `kubectl apply --server-side` does; those that belong to no namespace too."""
        for one in objects:
            self.cluster.api.apply(one, self.name)

    def patch(self, what, change):
        """Merges `change` into the object."""
        self.cluster.api.patch(*what.split("/"), change, self.name)

    def delete(self, what):
        """Deletes it and waits until it is gone."""
        self.cluster.api.delete(*what.split("/"), self.name)
        self.wait(what, "delete")

    def wait(self, what, condition, seconds=60):
        until(lambda: holds(condition, self.cluster.api.find(*what.split("/"), self.name)), seconds, f"{what}: {condition}", LOOK_SECONDS)

    def of_skiff(self):
        return self.cluster.of_skiff(self.name)

    def forward(self, pod, port):
        return Forward(self, pod, port)


class Namespaces:
    def __init__(self, cluster):
        self.cluster = cluster
        self.tests = {}  # by the names of their namespaces

    def make(self, test, **labels):
        # The server finds a name that no other test has.
        one = self.cluster.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "test-", "labels": labels}})
        namespace = Namespace(self.cluster, one["metadata"]["name"])
        self.tests[namespace.name] = test
        namespace.wait("serviceaccount/default", "create")  # without it no pod is taken
        return namespace

    def left(self):
        """The objects of skiff in them, each with the test that has left it."""
        found = [(one, one.rpartition(" in ")[2]) for one in self.cluster.of_skiff()]
        return [f"{one} by {self.tests[name]}" for one, name in found if name in self.tests]


@contextlib.contextmanager
def fresh(cluster):
    """Namespaces for several tests. The objects of one test are removed while the next one runs; at the
    end skiff has left nothing in any of them."""
    made = Namespaces(cluster)
    yield made
    with contextlib.suppress(AssertionError):
        until(lambda: not made.left(), LEAVE_SECONDS, every=LOOK_EVERYWHERE_SECONDS)
    left = made.left()
    assert not left, left


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
