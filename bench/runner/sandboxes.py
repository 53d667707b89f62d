"""The launcher beside the API server itself, on the cluster of tests/kubernetes: many sandboxes on simulated nodes, and one on the
real node from `up` to the agent's first answer."""

import asyncio
import contextlib
import http.server
import json
import os
import subprocess
import sys
import threading
import time
import urllib.parse
from pathlib import Path

from .processes import Absent, Failed, Folder, die_with_the_runner, run_tool

TESTS = Path(__file__).resolve().parents[2] / "tests/kubernetes/launcher"
AT_ONCE = 64
SIMULATED_NODES = 5
LONGEST = 900  # seconds
ROOM = {"cpu": "1k", "memory": "1Ti", "pods": "10k", "ephemeral-storage": "10Ti"}  # of a simulated node
IMAGE, AGENT = "skiff.test/busybox:1", "skiff.test/skiff:1"


class Sandboxes:
    addons: tuple[str, ...] = ("kwok",)
    nodes = SIMULATED_NODES

    def __init__(self, folder: Folder, count: int):
        self.folder = folder
        self.count = count
        self.processes = count // 5
        self.crowd = 10 * count
        self.crowded = None  # the namespace that they are in
        self.cluster = None
        self.namespaces = None

    def close(self):
        if self.cluster is not None:
            self.cluster.stop()

    def _cluster(self):
        """Started at the first use."""
        if self.cluster is None:
            sys.path += [str(TESTS), str(TESTS.parent / "cluster"), str(TESTS.parents[1] / "integration")]
            import cluster
            os.environ["SKIFFD"] = self.folder.server_command("skiff")[0]
            # A control group that has ended stays while the page cache has pages of it, and thousands of them make a node slow.
            with contextlib.suppress(OSError):
                Path("/proc/sys/vm/drop_caches").write_text("3\n")
            try:
                self.cluster = cluster.OwnCluster(*self.addons)
            except (cluster.CannotRun, RuntimeError) as error:
                raise Absent(f"no cluster here: {error}") from None
            for number in range(self.nodes):
                self.cluster.api.create({
                    "apiVersion": "v1", "kind": "Node",
                    "metadata": {"name": f"simulated-{number}", "labels": {"simulated": "yes"},
                                 "annotations": {"kwok.x-k8s.io/node": "fake"}},
                    "spec": {"taints": [{"key": "simulated", "effect": "NoSchedule"}]},
                    "status": {"allocatable": ROOM, "capacity": ROOM},
                })
        return self.cluster

    def _namespace(self):
        """Creates a namespace; it is removed with the cluster."""
        cluster = self._cluster()
        from namespace import Namespaces
        self.namespaces = self.namespaces or Namespaces(cluster)
        return self.namespaces.make("bench")

    def _run(self, kind: str, namespace, count: int, at_once: int = AT_ONCE) -> dict:
        return run_tool(self.folder, "sandboxes", kind, self.cluster.kubeconfig, namespace.name, count, at_once, timeout=LONGEST)

    def many(self, kind: str) -> dict:
        namespace = self._namespace()
        took = self._run(kind, namespace, self.count)
        figures = {"create_rate": self.count / took["create_s"], "remove_rate": self.count / took["remove_s"],
                   "cpu_ms_each": 1000 * took["create_cpu_s"] / self.count, "rss_mb": took["rss_mb"]}
        if kind == "skiff":
            left = namespace.of_skiff()
            if left:
                raise Failed(f"{len(left)} objects are left, {left[0]} among them")
            figures |= {"watches": took["watches"], "list_ms": 1000 * took["list_s"]}
        return figures

    def _environment(self, namespace) -> dict:
        return {**os.environ, "KUBECONFIG": str(self.cluster.kubeconfig), "SKIFF_NAMESPACE": namespace.name,
                "SKIFF_DRIVER": "pod", "SKIFF_IMAGE": IMAGE, "SKIFF_AGENT_IMAGE": AGENT}

    def _program(self) -> str:
        program = self.folder.programs.parent / "skiff"
        if not program.exists():
            raise Absent("skiff is not built")
        return str(program)

    def _skiff(self, namespace, *words: str) -> str:
        done = subprocess.run([self._program(), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONGEST,
                              env=self._environment(namespace), preexec_fn=die_with_the_runner)
        if done.returncode != 0:
            raise Failed(f"skiff {words[0]}: {done.stderr.strip()[-300:]}")
        return done.stdout

    def up(self) -> dict:
        """Measures the time until the agent has answered, which is the end of `up`, and counts the sandbox's objects in the cluster."""
        namespace = self._namespace()
        self._skiff(namespace, "run", IMAGE, "--", "true")  # unpacks the images and creates the namespace's key
        begun = time.monotonic()
        self._skiff(namespace, "up", "box", "-q")
        up = time.monotonic() - begun
        begun = time.monotonic()
        self._skiff(namespace, "exec", "box", "--", "true")
        exec_ = time.monotonic() - begun
        objects = [one for _, one in self.cluster.api.labelled("skiff.dev/sandbox", namespace.name)]
        size = sum(len(json.dumps(one, separators=(",", ":"))) for one in objects)
        self._skiff(namespace, "rm", "box", "-q")
        return {"up_ms": 1000 * up, "exec_ms": 1000 * exec_, "objects": len(objects), "kib": size / 1024}

    def ready(self) -> dict:
        """Measures the same Pod, created by kubectl, until kubectl sees that it is Ready."""
        namespace = self._namespace()
        self._skiff(namespace, "run", IMAGE, "--", "true")
        printed = self._skiff(namespace, "manifest", "box", "-o", "json")
        pods = [one for one in objects_of(json.loads(printed)) if one["kind"] == "Pod"]
        begun = time.monotonic()
        namespace.create(*pods)
        namespace.kubectl("wait", "pod/skiff-box", "--for=condition=Ready", "--timeout=120s")
        ready = time.monotonic() - begun
        namespace.kubectl("delete", "pod/skiff-box")
        return {"up_ms": 1000 * ready}

    def _timed(self, namespace, command: list[str]) -> dict:
        """Measures seconds and memory of a process that prints a line for each sandbox of a crowd."""
        with open(self.folder.scratch / "listed", "w+", encoding="utf-8") as out:
            begun = time.monotonic()
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, env=self._environment(namespace),
                                       preexec_fn=die_with_the_runner)
            _, status, used = os.wait4(process.pid, 0)
            took = time.monotonic() - begun
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            lines = sum(1 for _ in out)
        if process.returncode != 0 or lines < self.crowd:
            raise Failed(f"{command[0]}: status {process.returncode}, {lines} lines")
        return {"seconds": took, "rss_mb": used.ru_maxrss * 1024 / 1e6}

    def _crowd(self):
        """Returns a namespace with very many sandboxes, which stay until the end."""
        if self.crowded is None:
            crowded = self._namespace()
            self._run("crowd", crowded, self.crowd)
            self.crowded = crowded
        return self.crowded

    def listed(self) -> dict:
        return self._timed(self._crowd(), [self._program(), "ps", "--everyone", "--no-headers"])

    def got(self) -> dict:
        """Measures kubectl's list of the same objects."""
        crowd = self._crowd()
        return self._timed(crowd, self.cluster.command("--namespace", crowd.name, "get", "pods,configmaps", "-o", "name"))

    def collected(self) -> dict:
        """Measures how many ended sandboxes `skiff gc` removes in a second while others hang, like those of a lost node."""
        namespace = self._namespace()
        self._run("make", namespace, self.count)
        api, pods = self.cluster.api, api_path("pods", namespace.name)
        names = [f"skiff-box-{number}" for number in range(self.count)]
        merge = {"content": "application/merge-patch+json"}
        stuck = names[:self.count // 20]
        for name in stuck:
            api.request("PATCH", f"{pods}/{name}", {"metadata": {"finalizers": ["skiff.test/stuck"]}}, **merge)
        end = {"status": {"phase": "Succeeded"}}
        list(api.pool.map(lambda name: api.request("PATCH", f"{pods}/{name}/status", end, **merge), names))
        begun = time.monotonic()
        process = subprocess.Popen([self._program(), "gc", "--everyone", "-q"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True, env=self._environment(namespace), preexec_fn=die_with_the_runner)
        try:
            while (there := count_of(api, pods)) > len(stuck):
                if time.monotonic() - begun > LONGEST:
                    raise Failed(f"{there} Pods are still there")
                time.sleep(0.1)
            took = time.monotonic() - begun
            memory = peak_memory(process.pid)
            for name in stuck:
                api.request("PATCH", f"{pods}/{name}", {"metadata": {"finalizers": None}}, **merge)
            said = process.communicate(timeout=LONGEST)[1]
        finally:
            process.kill()
            process.wait()
        if process.returncode != 0:
            raise Failed(f"skiff gc: {said.strip()[-300:]}")
        return {"rate": (self.count - len(stuck)) / took, "rss_mb": memory}

    def written_at_once(self) -> dict:
        """Measures as many creations as `at_once`, as writes of one process."""
        return {"seconds": self._run("make", self._namespace(), self.processes, self.processes)["create_s"]}

    def at_once(self, pool: bool) -> dict:
        """Measures as many processes of `skiff up` as a build farm starts at once, on simulated nodes. No agent can run there:
        a server that accepts all requests stands for all of them."""
        namespace = self._namespace()
        cluster = self.cluster
        words = ["--image", IMAGE, "--toleration", "simulated:NoSchedule", "--node-selector", "simulated=yes"]
        with Agreeing() as agent, Relay(urllib.parse.urlsplit(cluster.api.server).port) as relay:
            def skiff(*more: str) -> subprocess.Popen:
                return subprocess.Popen(
                    [str(self.folder.programs.parent / "skiff"), *more, "-q", "--server", f"https://127.0.0.1:{relay.port}", "--url", agent.url],
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=die_with_the_runner,
                    env={**os.environ, "KUBECONFIG": str(cluster.kubeconfig), "SKIFF_NAMESPACE": namespace.name, "SKIFF_DRIVER": "pod", "SKIFF_AGENT_IMAGE": AGENT})

            def end(process: subprocess.Popen):
                said = process.communicate(timeout=LONGEST)[1]
                if process.returncode != 0:
                    raise Failed(f"skiff {process.args[1]}: {said.strip()[-300:]}")

            if pool:
                end(skiff("pool", "create", "many", "--size", str(self.processes), "--wait", "10m", *words))
                words = ["--pool", "many"]
            else:
                end(skiff("up", "first", *words))  # creates the namespace's key
            before, requests, begun = relay.bytes, requests_of(cluster), time.monotonic()
            for process in [skiff("up", f"box-{number}", *words, "--wait", "10m") for number in range(self.processes)]:
                end(process)
            took = time.monotonic() - begun
            figures = {"seconds": took, "requests_each": (requests_of(cluster) - requests) / self.processes,
                       "kib_each": (relay.bytes - before) / 1024 / self.processes}
            if pool:
                end(skiff("pool", "rm", "many"))
            end(skiff("rm", "--all"))
        return figures


def api_path(plural: str, namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/{plural}"


def count_of(api, path: str) -> int:
    """Counts the objects without reading them."""
    page = api.request("GET", f"{path}?limit=1", accept="application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
    return len(page["items"]) + page["metadata"].get("remainingItemCount", 0)


def peak_memory(pid: int) -> float:
    """Returns the peak memory of a running process in megabytes (proc_pid_status(5), VmHWM)."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024 / 1e6


def requests_of(cluster) -> float:
    """Returns how many requests of all clients its API server has answered so far."""
    lines = cluster.kubectl("get", "--raw", "/metrics").splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("apiserver_request_total{"))


class Agreeing:
    """Answers every request like a ready agent that accepts all input."""

    def __enter__(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def agree(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                body = b'{"status":"ready","applied":true}\n'
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = agree

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 1024

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Relay:
    """Passes connections on to a port of this machine and counts the bytes, TLS and all, in both directions."""

    def __init__(self, to: int):
        self.to, self.bytes, self.loop = to, 0, asyncio.new_event_loop()

    def __enter__(self):
        async def listen():
            return await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024)

        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.server = asyncio.run_coroutine_threadsafe(listen(), self.loop).result(10)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def _serve(self, reader, writer):
        try:
            to_reader, to_writer = await asyncio.open_connection("127.0.0.1", self.to)
            await asyncio.gather(self._pass(reader, to_writer), self._pass(to_reader, writer))
        except OSError:
            writer.close()

    async def _pass(self, reader, writer):
        with contextlib.suppress(OSError):
            while piece := await reader.read(1 << 16):
                self.bytes += len(piece)
                writer.write(piece)
                await writer.drain()
        writer.close()

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.loop.stop)


def objects_of(printed: dict) -> list[dict]:
    return printed["items"] if printed.get("kind") == "List" else [printed]
