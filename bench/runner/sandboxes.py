"""The launcher beside the API server itself, on the cluster of tests/kubernetes: many sandboxes on simulated nodes, and one on the
real node from `up` to the agent's first answer."""

import asyncio
import contextlib
import http.server
import itertools
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
IMAGE, AGENT = "skiff.test/busybox:1", "skiff.test/skiff:1"


class Sandboxes:
    def __init__(self, folder: Folder, count: int):
        self.folder = folder
        self.count = count
        self.processes = count // 5
        self.cluster = None
        self.numbers = itertools.count(1)

    def close(self):
        if self.cluster is not None:
            self.cluster.stop()

    def _cluster(self):
        """Begun when it is first asked for."""
        if self.cluster is None:
            sys.path += [str(TESTS), str(TESTS.parent / "cluster"), str(TESTS.parents[1] / "integration")]
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


    def at_once(self, pool: bool) -> dict:
        """As many processes of `skiff up` as a build farm starts in one moment, on simulated nodes. No agent can run there:
        a server that says yes to everything stands for all of them."""
        cluster = self._cluster()
        namespace = self._namespace()
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
                end(skiff("up", "first", *words))  # the namespace has its key
            before, requests, begun = relay.bytes, requests_of(cluster), time.monotonic()
            for process in [skiff("up", f"box-{number}", *words, "--wait", "10m") for number in range(self.processes)]:
                end(process)
            took = time.monotonic() - begun
            figures = {"seconds": took, "requests_each": (requests_of(cluster) - requests) / self.processes,
                       "kib_each": (relay.bytes - before) / 1024 / self.processes}
            if pool:
                end(skiff("pool", "rm", "many"))
            end(skiff("rm", "--all"))
        namespace.remove()
        return figures


def requests_of(cluster) -> float:
    """That its API server has answered so far, everybody's."""
    lines = cluster.kubectl("get", "--raw", "/metrics").splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("apiserver_request_total{"))


class Agreeing:
    """Answers every request as an agent that is ready, and has what it is given."""

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
