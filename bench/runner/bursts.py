"""Time to interactive: from the creation of a sandbox to the output of its first command, alone and many at once, with a pool on
a real node. Beside it the least that any launcher must do: it writes a record, and the change of a Pod that makes it somebody's,
and sends the agent /v1/init and the first command."""

import base64
import concurrent.futures
import contextlib
import http.client
import itertools
import json
import os
import pathlib
import tempfile
import time
from collections.abc import Callable, Iterator

from .audit import Audit, costs
from .processes import Absent, Failed, wait_for_quiet
from .sandboxes import Sandboxes, api_path

POOL = "burst"
REPLICAS = 2
STAGGERED = 30
BETWEEN = 0.2  # seconds
QUIET = 20  # seconds, at most
PATIENCE = 180  # seconds: longer than the server's, which says then what it waited for


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Bursts(Sandboxes):
    """`size` sandboxes wait in the pool; as many are taken at once, unless it is said."""

    addons = ("audit",)
    nodes = 0

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
            self._skiff(self.home, "pool", "create", POOL, "--size", str(self.size), "--cpu", "5m:1", "--memory", "16Mi:256Mi",
                        "--dialect", "e2b", "--wait", "10m", "-q")
        self._skiff(self.home, "rm", "--all", "--everyone", "-q")
        self._fill()
        return self.home

    def _fill(self):
        # It ends when all of them are ready.
        self._skiff(self.home, "pool", "scale", POOL, str(self.size), "--wait", "10m", "-q")
        # What was removed before still costs the node.
        ending = [f"pod/{pod['metadata']['name']}" for pod in self.home.items("pods") if "deletionTimestamp" in pod["metadata"]]
        if ending:
            self.home.kubectl("wait", "--for=delete", "--timeout=100s", *ending)
        # So does what has just become ready.
        wait_for_quiet(QUIET)

    def _at_once(self, one: Callable[[int], None], count: int | None = None, every: float = 0) -> dict:
        """Runs one for each member of the pool or so many, all at once, or one after the other begins every so many seconds."""
        count = count or self.size
        begun = time.monotonic()

        def timed(number: int) -> float:
            due = begun + every * number
            time.sleep(max(0.0, due - time.monotonic()))
            at = time.monotonic()
            one(number)
            return 1000 * (time.monotonic() - at)

        audit = Audit(self.cluster)
        with concurrent.futures.ThreadPoolExecutor(count) as threads:
            took = list(threads.map(timed, range(count)))
        # The Pods that fill the pool again are made later.
        return {"p50_ms": percentile(took, 0.5), "p95_ms": percentile(took, 0.95), **costs(audit.requests(), count)}

    def alone(self) -> dict:
        home = self._pool()
        took, count = [], min(self.size, 5)
        audit = Audit(self.cluster)
        for number in range(count):
            begun = time.monotonic()
            self._skiff(home, "up", f"alone-{number}", "--pool", POOL, "-q")
            self._skiff(home, "exec", f"alone-{number}", "--", "true")
            took.append(1000 * (time.monotonic() - begun))
        return {"p50_ms": percentile(took, 0.5), **costs(audit.requests(), count)}

    def processes_at_once(self, count: int | None = None) -> dict:
        home = self._pool()

        def one(number: int):
            self._skiff(home, "up", f"box-{number}", "--pool", POOL, "-q")
            self._skiff(home, "exec", f"box-{number}", "--", "true")
        return self._at_once(one, count)

    def one_process(self) -> dict:
        home = self._pool()
        audit, begun = Audit(self.cluster), time.monotonic()
        made = json.loads(self._skiff(home, "up", "box", "--count", str(self.size), "--pool", POOL, "-q", "-o", "json"))["items"]
        took = time.monotonic() - begun
        if len({one["details"]["pod"] for one in made}) != self.size:
            raise Failed("two sandboxes have one Pod")
        return {"last_ms": 1000 * took, **costs(audit.requests(), self.size)}

    @contextlib.contextmanager
    def _servers(self, count: int) -> Iterator[Callable[[int], None]]:
        """So many replicas: a function that makes a sandbox by the one whose turn it is, and runs its first command."""
        import replicas as servers
        with contextlib.ExitStack() as stack:
            all_of_them = [stack.enter_context(servers.in_the_network_of_pods(self.replicas, name=f"bench-{number}", patience=PATIENCE))
                           for number in range(count)]
            turns, key = itertools.cycle(all_of_them), self.replicas.key

            def one(_: int):
                ask = next(turns)
                made = ask("POST", "/v1/sandboxes", b'{"template": "warm"}', key, {"Content-Type": "application/json"})
                if made.status != 201:
                    raise Failed(f"{made.status}: {made.body[:200]}")
                answer = ask("POST", f"/s/{made.json()['id']}/7070/v1/run", b"true", key, {"Content-Type": "text/plain"})
                if answer.status != 200:
                    raise Failed(f"{answer.status}: {answer.body[:200]}")
            yield one

    def served(self, count: int | None = None, replicas: int = 1, every: float = 0) -> dict:
        self._pool()
        with self._servers(replicas) as one:
            # Replicas know each other by the Pods that they have taken.
            for number in range(replicas):
                one(number)
            self._fill()
            return self._at_once(one, count, every)

    def staggered(self) -> dict:
        return self.served(min(self.size, STAGGERED), REPLICAS, BETWEEN)

    def least(self, count: int | None = None) -> dict:
        """A record, a change of a Pod, /v1/init and the first command, by a program that knows all Pods. They are used up."""
        home = self._pool()
        import relay
        import signing
        api, pods = self.cluster.api, home.items("pods")
        (key,) = (one["data"]["private.pem"] for one in home.items("secrets") if one["metadata"]["name"] == "skiff-signing-key")
        signer = signing.Signer(pathlib.Path(self.directory.name), base64.b64decode(key))
        tokens = [signer.token(aud=pod["metadata"]["labels"]["skiff.dev/sandbox"], scope="exec admin") for pod in pods]
        here, there = "/proc/thread-self/ns/net", f"/proc/{self.cluster.pid}/ns/net"

        def one(number: int):
            api.request("POST", api_path("configmaps", home.name), {"metadata": {"name": f"bare-{number}"}, "data": {"a": "b"}})
            pod = pods[number]
            api.request("PATCH", f"{api_path('pods', home.name)}/{pod['metadata']['name']}", {"metadata": {"annotations": {"bare": "1"}}},
                        content="application/merge-patch+json")
            agent = http.client.HTTPConnection(pod["status"]["podIP"], 7070, timeout=PATIENCE)
            with open(here) as own:  # a thread's network is its own, and a socket stays in the one where it was made
                relay.enter(there)
                agent.connect()
                relay.enter(f"/proc/self/fd/{own.fileno()}")
            with contextlib.closing(agent):
                for path, kind, body in (("/v1/init", "application/json", b"{}"), ("/v1/run", "text/plain", b"true")):
                    agent.request("POST", path, body, {"Authorization": f"Bearer {tokens[number]}", "Content-Type": kind})
                    answer = agent.getresponse()
                    text = answer.read()
                    if answer.status != 200:
                        raise Failed(f"{path}: {answer.status}: {text[:200]}")
        try:
            return self._at_once(one, count)
        finally:
            home.kubectl("delete", "configmap", "--ignore-not-found", *(f"bare-{number}" for number in range(count or self.size)))
            home.kubectl("delete", "pods", "--all")
