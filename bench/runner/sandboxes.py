"""The launcher beside the API server itself, on the cluster of tests/kubernetes: many sandboxes on simulated nodes, and one on the
real node from `up` to the agent's first answer."""

import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from .processes import Absent, Failed, Folder, die_with_the_runner, run_tool

TESTS = Path(__file__).resolve().parents[2] / "tests/kubernetes/launcher"
AT_ONCE = 64
SIMULATED_NODES = 5
LONGEST = 900  # seconds
IMAGE, AGENT = "skiff.test/busybox:1", "skiff.test/skiff:1"


class Sandboxes:
    def __init__(self, folder: Folder, count: int):
        self.folder = folder
        self.count = count
        self.cluster = None
        self.numbers = itertools.count(1)

    def close(self):
        if self.cluster is not None:
            self.cluster.stop()

    def _cluster(self):
        """Begun when it is first asked for."""
        if self.cluster is None:
            sys.path.append(str(TESTS))
            import cluster
            os.environ["SKIFFD"] = self.folder.server_command("skiff")[0]
            try:
                self.cluster = cluster.Cluster("kwok")
            except (cluster.CannotRun, RuntimeError) as error:
                raise Absent(f"no cluster here: {error}") from None
            self.cluster.create(*({
                "apiVersion": "v1", "kind": "Node",
                "metadata": {"name": f"simulated-{number}", "labels": {"simulated": "yes"},
                             "annotations": {"kwok.x-k8s.io/node": "fake"}},
                "spec": {"taints": [{"key": "simulated", "effect": "NoSchedule"}]},
            } for number in range(SIMULATED_NODES)))
        return self.cluster

    def _namespace(self):
        import cluster
        return cluster.Namespace(self._cluster(), f"bench-{next(self.numbers)}", {})

    def many(self, kind: str) -> dict:
        self._cluster()
        namespace = self._namespace()
        took = run_tool(self.folder, "sandboxes", kind, self.cluster.kubeconfig, namespace.name, self.count, AT_ONCE, timeout=LONGEST)
        namespace.remove()
        figures = {"create_rate": self.count / took["create_s"], "remove_rate": self.count / took["remove_s"],
                   "cpu_ms_each": 1000 * took["create_cpu_s"] / self.count, "rss_mb": took["rss_mb"]}
        if kind == "skiff":
            left = namespace.of_skiff()
            if left:
                raise Failed(f"{len(left)} objects are left, {left[0]} among them")
            figures |= {"watches": took["watches"], "list_ms": 1000 * took["list_s"]}
        return figures

    def _skiff(self, namespace, *words: str) -> str:
        program = self.folder.programs.parent / "skiff"
        if not program.exists():
            raise Absent("skiff is not built")
        environment = {**os.environ, "KUBECONFIG": str(self.cluster.kubeconfig), "SKIFF_NAMESPACE": namespace.name,
                       "SKIFF_DRIVER": "pod", "SKIFF_IMAGE": IMAGE, "SKIFF_AGENT_IMAGE": AGENT}
        done = subprocess.run([str(program), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONGEST,
                              env=environment, preexec_fn=die_with_the_runner)
        if done.returncode != 0:
            raise Failed(f"skiff {words[0]}: {done.stderr.strip()[-300:]}")
        return done.stdout

    def up(self) -> dict:
        """Until its agent has answered, which is when `up` ends; and what there is of it in the cluster then."""
        self._cluster()
        namespace = self._namespace()
        self._skiff(namespace, "run", IMAGE, "--", "true")  # images are unpacked, and the namespace has its key
        begun = time.monotonic()
        self._skiff(namespace, "up", "box", "-q")
        up = time.monotonic() - begun
        begun = time.monotonic()
        self._skiff(namespace, "exec", "box", "--", "true")
        exec_ = time.monotonic() - begun
        objects = namespace.get(self.cluster.kinds(), "--selector", "skiff.dev/sandbox")["items"]
        size = sum(len(json.dumps(one, separators=(",", ":"))) for one in objects)
        self._skiff(namespace, "rm", "box", "-q")
        namespace.remove()
        return {"up_ms": 1000 * up, "exec_ms": 1000 * exec_, "objects": len(objects), "kib": size / 1024}

    def ready(self) -> dict:
        """The same Pod by kubectl, until kubectl sees that it is Ready."""
        self._cluster()
        namespace = self._namespace()
        self._skiff(namespace, "run", IMAGE, "--", "true")
        printed = self._skiff(namespace, "manifest", "box", "-o", "json")
        pods = [one for one in objects_of(json.loads(printed)) if one["kind"] == "Pod"]
        begun = time.monotonic()
        namespace.create(*pods)
        namespace.kubectl("wait", "pod/skiff-box", "--for=condition=Ready", "--timeout=120s")
        ready = time.monotonic() - begun
        namespace.kubectl("delete", "pod/skiff-box")
        namespace.remove()
        return {"up_ms": 1000 * ready}


def objects_of(printed: dict) -> list[dict]:
    return printed["items"] if printed.get("kind") == "List" else [printed]
