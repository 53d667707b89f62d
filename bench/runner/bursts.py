"""Time to interactive: from the creation of a sandbox to the output of its first command, alone and many at once, with a pool on
a real node. Beside it the least that any launcher must write: a record, and the change of a Pod that makes it somebody's."""

import concurrent.futures
import json
import os
import pathlib
import tempfile
import time
from collections.abc import Callable

from .processes import Absent, Failed
from .sandboxes import Sandboxes, api_path, requests_of

POOL = "burst"
FULL_AGAIN = 300  # seconds


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Bursts(Sandboxes):
    """`size` sandboxes wait in the pool, and as many are taken at once."""

    addons = ()

    def __init__(self, folder, size: int):
        super().__init__(folder, size)
        self.size = size
        self.replicas = self.home = None

    def close(self):
        if self.replicas is not None:
            self.replicas.finish()
            self._skiff(self.home, "pool", "rm", POOL)
            self.directory.cleanup()
        super().close()

    def _pool(self):
        """The namespace whose pool is full and of which nothing is taken."""
        if self.replicas is None:
            self.home = self._namespace()
            os.environ["SKIFF"] = self._program()
            try:
                import replicas as servers
            except ImportError as error:
                raise Absent(f"{error}: /usr/bin/python3 has what .ci/setup installs") from None
            self.directory = tempfile.TemporaryDirectory(prefix="skiff-")
            self.replicas = servers.Replicas(pathlib.Path(self.directory.name), self.home, self._namespace(), pair=False)
            self.replicas.templates.write_text(f"warm: {{pod: {{pool: {POOL}}}}}\n")
            # Without the dialect it would not fit the sandboxes of a server.
            self._skiff(self.home, "pool", "create", POOL, "--size", str(self.size), "--cpu", "5m:1", "--dialect", "e2b", "--wait", "10m", "-q")
        self._skiff(self.home, "rm", "--all", "--everyone", "-q")
        end = time.monotonic() + FULL_AGAIN
        while json.loads(self._skiff(self.home, "pool", "status", POOL, "-o", "json"))["available"] < self.size:
            if time.monotonic() > end:
                raise Failed("the pool does not fill")
            time.sleep(0.5)
        return self.home

    def _at_once(self, one: Callable[[int], None]) -> dict:
        """Runs one for each member of the pool, all at once."""
        def timed(number: int) -> float:
            begun = time.monotonic()
            one(number)
            return 1000 * (time.monotonic() - begun)

        requests = requests_of(self.cluster)
        with concurrent.futures.ThreadPoolExecutor(self.size) as threads:
            took = list(threads.map(timed, range(self.size)))
        # The Pods that fill the pool again are made later.
        return {"p50_ms": percentile(took, 0.5), "p95_ms": percentile(took, 0.95),
                "requests_each": (requests_of(self.cluster) - requests) / self.size}

    def alone(self) -> dict:
        home = self._pool()
        took = []
        for number in range(min(self.size, 5)):
            begun = time.monotonic()
            self._skiff(home, "up", f"alone-{number}", "--pool", POOL, "-q")
            self._skiff(home, "exec", f"alone-{number}", "--", "true")
            took.append(1000 * (time.monotonic() - begun))
        return {"p50_ms": percentile(took, 0.5)}

    def processes_at_once(self) -> dict:
        home = self._pool()

        def one(number: int):
            self._skiff(home, "up", f"box-{number}", "--pool", POOL, "-q")
            self._skiff(home, "exec", f"box-{number}", "--", "true")
        return self._at_once(one)

    def one_process(self) -> dict:
        home = self._pool()
        requests, begun = requests_of(self.cluster), time.monotonic()
        made = json.loads(self._skiff(home, "up", "box", "--count", str(self.size), "--pool", POOL, "-q", "-o", "json"))["items"]
        took = time.monotonic() - begun
        if len({one["details"]["pod"] for one in made}) != self.size:
            raise Failed("two sandboxes have one Pod")
        return {"last_ms": 1000 * took, "requests_each": (requests_of(self.cluster) - requests) / self.size}

    def served(self) -> dict:
        self._pool()
        import replicas as servers
        with servers.in_the_network_of_pods(self.replicas, name="bench") as ask:
            key = self.replicas.key

            def one(_: int):
                made = ask("POST", "/v1/sandboxes", b'{"template": "warm"}', key, {"Content-Type": "application/json"})
                if made.status != 201:
                    raise Failed(f"{made.status}: {made.body[:200]}")
                answer = ask("POST", f"/s/{made.json()['id']}/7070/v1/run", b"true", key, {"Content-Type": "text/plain"})
                if answer.status != 200:
                    raise Failed(f"{answer.status}: {answer.body[:200]}")
            one(0)
            self._pool()
            return self._at_once(one)

    def written(self) -> dict:
        """The writes alone: a record, and a label on a Pod."""
        home = self._pool()
        api, pods = self.cluster.api, [one["metadata"]["name"] for one in home.items("pods")]

        def one(number: int):
            api.request("POST", api_path("configmaps", home.name), {"metadata": {"name": f"bare-{number}"}, "data": {"a": "b"}})
            api.request("PATCH", f"{api_path('pods', home.name)}/{pods[number]}", {"metadata": {"annotations": {"bare": "1"}}},
                        content="application/merge-patch+json")
        try:
            return self._at_once(one)
        finally:
            home.kubectl("delete", "configmap", *(f"bare-{number}" for number in range(self.size)))
