"""A real `skiff` that works on one namespace of the cluster."""

import json

from launcher import Skiff as AnySkiff

AGENT = "skiff.test/skiff:1"
BUSYBOX = "skiff.test/busybox:1"
SCRATCH = "skiff.test/scratch:1"


class Skiff(AnySkiff):
    def __init__(self, folder, namespace):
        super().__init__(folder)
        self.namespace = namespace
        self.cluster = namespace.cluster
        self.owner = namespace.name

    def ups(self, *several):
        """Several at once, each of them a tuple of a name and flags."""
        processes = [self.start("up", "-q", *one) for one in several]
        ended = [process.communicate(timeout=100) for process in processes]
        assert [process.returncode for process in processes] == [0] * len(several), ended

    def environment(self, **more):
        # A command for all namespaces leaves another test's sandboxes alone.
        ours = {"KUBECONFIG": str(self.cluster.kubeconfig), "SKIFF_NAMESPACE": self.namespace.name, "SKIFF_DRIVER": "pod",
                "SKIFF_IMAGE": BUSYBOX, "SKIFF_AGENT_IMAGE": AGENT, "SKIFF_OWNER": self.owner}
        return super().environment(**{**ours, **more})

    def pod(self, name="box"):
        return self.namespace.get("pod", f"skiff-{name}")

    def inside(self, *words, name="box"):
        """Runs a command in the sandbox's container behind skiff's back."""
        return self.namespace.kubectl("exec", f"skiff-{name}", "--container=sandbox", "--", *words)

    def overrides(self, spec):
        """The flags that merge `spec` into the Pod's."""
        file = self.home / "overrides.json"
        file.write_text(spec if isinstance(spec, str) else json.dumps(spec))
        return "--pod-overrides", file

    def finish(self):
        """Removes what the test has left; when it is gone is for the namespaces' end to see."""
        self("rm", "--all", "--everyone", "-q", "--wait=false")


class ClaimSkiff(Skiff):
    """One whose cluster has agent-sandbox, which it uses."""

    def environment(self, **more):
        return super().environment(**{"SKIFF_DRIVER": "claim", "SKIFF_IMAGE": "", **more})

    def run(self, line, name="box"):
        return self("exec", name, "--", "sh", "-c", line)[0]

    def objects(self, kind):
        return {one["metadata"]["name"]: one for one in self.namespace.items(kind)}

    def finish(self):
        super().finish()
        for pool in self("pool", "status", "-o", "name")[0].split():
            self("pool", "rm", pool)


def pool_json(skiff, *words):
    return json.loads(skiff("pool", *words, "-o", "json")[0])


def make_pool(skiff):
    """One of a single sandbox; its name."""
    made = pool_json(skiff, "create", "warm", "-q", "--size", "1", "--image", BUSYBOX, "--env", "LEVEL=pool")
    assert made == {"name": "warm", "available": 1, "active": 0, "total": 1, "target": 1}
    return "warm"
