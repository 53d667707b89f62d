"""orbiter's KubernetesSandbox on skiff: the same class, whose sandbox runs and whose tools are really called.

    from skiff_sandbox.integrations.orbiter import KubernetesSandbox   # in place of orbiter.sandbox.kubernetes

    async with KubernetesSandbox(namespace="dev", image="python:3.12") as sandbox:
        result = await sandbox.run_tool("word-count", {"path": "notes.txt"})

Needs Python 3.11, and the program `skiff` on the PATH (or `skiff=`, or SKIFF). It works by any driver: a Pod of the current
cluster, a claim of agent-sandbox, or with SKIFF_DRIVER=local a process on this machine, which isolates nothing.

A tool is an executable in `tools/` below the sandbox's directory, or in `/opt/skiff/tools` of the image. It finds its
arguments as JSON on stdin and in SKIFF_TOOL_ARGS, and answers with JSON on stdout: see `skiff tool --help`.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import json
import os
import secrets
import signal
import tempfile
from collections.abc import Sequence
from typing import Any, Self

START_SECONDS = 180  # that an image may take to be pulled and started
INTERRUPT_SECONDS = 5  # that skiff may take to end when its caller gives up


class SandboxError(Exception):
    """A failure, in skiff's own sentence, and what to do about it."""


class SandboxStatus(enum.StrEnum):
    """Where a sandbox is in its life."""

    INIT = "init"
    RUNNING = "running"
    IDLE = "idle"  # stopped: its files are kept where they are on a volume, or by the driver `local`
    ERROR = "error"
    CLOSED = "closed"


MOVES = {
    SandboxStatus.INIT: {SandboxStatus.RUNNING, SandboxStatus.ERROR, SandboxStatus.CLOSED},
    SandboxStatus.RUNNING: {SandboxStatus.IDLE, SandboxStatus.ERROR, SandboxStatus.CLOSED},
    SandboxStatus.IDLE: {SandboxStatus.RUNNING, SandboxStatus.ERROR, SandboxStatus.CLOSED},
    SandboxStatus.ERROR: {SandboxStatus.RUNNING, SandboxStatus.CLOSED},
    SandboxStatus.CLOSED: set(),
}


class KubernetesSandbox:
    """One sandbox. Its methods are called by one task at a time, but run_tool() by any number at once."""

    def __init__(self, *, sandbox_id: str | None = None, workspace: Sequence[str] | None = None,
                 mcp_config: dict[str, Any] | None = None, agents: dict[str, Any] | None = None, timeout: float = 60.0,
                 namespace: str | None = None, image: str | None = None, driver: str | None = None,
                 skiff: str | None = None) -> None:
        """Nothing is made yet. `sandbox_id`: a name of lower-case letters, digits and `-`; else a new one. `workspace`: its
        directories, the first of which is where tools run. `timeout`: seconds that a tool may take. `driver`: as of skiff.
        `mcp_config`, `agents`: kept for the caller, and told by describe()."""
        self.sandbox_id = sandbox_id or secrets.token_hex(6)
        self.workspace = list(workspace or [])
        self.mcp_config, self.agents, self.timeout = dict(mcp_config or {}), dict(agents or {}), timeout
        self.namespace = namespace or _variable("NAMESPACE", "default")
        self.image = image or _variable("IMAGE", "python:3.11-slim")
        self.pod_name: str | None = None
        self.service_name: str | None = None
        self.cluster_ip: str | None = None
        self._status, self._is_made = SandboxStatus.INIT, False
        self._program = skiff or os.environ.get("SKIFF", "skiff")
        self._driver = driver or os.environ.get("SKIFF_DRIVER", "auto")
        # The driver `local` has a directory of its own for each sandbox.
        self._directories = [] if self._driver == "local" else self.workspace

    @property
    def status(self) -> SandboxStatus:
        """Where it is in its life, as far as this object was told."""
        return self._status

    async def start(self) -> None:
        """Makes the Pod and its Service, or those of a stopped one again, and waits until commands run in it.

        Raises SandboxError when it can't be started, or was cleaned up. What was begun is gone then."""
        self._check(SandboxStatus.RUNNING)
        is_new = not self._is_made
        try:
            await (self._make() if is_new else self._start_again())
            self._is_made = True
            told = await self._told("describe", self.sandbox_id)  # which knows its Service's address too
        except SandboxError as error:
            self._status = SandboxStatus.ERROR
            raise SandboxError(f"Failed to start Kubernetes sandbox: {error}") from error
        except asyncio.CancelledError:
            if is_new and self._is_made:
                await self._skiff("rm", self.sandbox_id, "-q")
                self._is_made = False
            raise
        details = told.get("details", {})
        # Without a cluster there are neither a Pod nor an address of a Service: the sandbox's own stand for them.
        self.pod_name = details.get("pod") or f"orbiter-{self.sandbox_id}"
        self.service_name = details.get("service")
        self.cluster_ip = details.get("cluster_ip") or str(told["address"]).rpartition("/")[2].rpartition(":")[0]
        self._status = SandboxStatus.RUNNING

    async def stop(self) -> None:
        """Ends all that runs, the Pod and the Service with it. start() makes them again."""
        self._check(SandboxStatus.IDLE)
        await self._skiff("stop", self.sandbox_id, "-q")
        self._status = SandboxStatus.IDLE
        self._forget()

    async def cleanup(self) -> None:
        """Removes all that it has made, for good. Safe to call at any time, and again."""
        if self._is_made:  # else the name may be another's
            await self._skiff("rm", self.sandbox_id, "-q")
        self._status, self._is_made = SandboxStatus.CLOSED, False
        self._forget()

    async def run_tool(self, tool_name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Calls a tool: `{tool, arguments, sandbox_id, pod, cluster_ip, status}`, and its answer as `result`. A tool that fails
        has the status `error`, with its `exit_code` and `stderr`.

        Raises SandboxError unless the sandbox is running, and for a tool that it doesn't have."""
        if self._status is not SandboxStatus.RUNNING:
            raise SandboxError(f"Sandbox must be running to call tools (status={self._status}): await start() first")
        told = await self._skiff("tool", self.sandbox_id, tool_name, json.dumps(arguments), "-o", "json",
                                 "--timeout", f"{round(self.timeout * 1000)}ms", fine=(0, 1))
        return {**json.loads(told), "sandbox_id": self.sandbox_id, "pod": self.pod_name, "cluster_ip": self.cluster_ip}

    def describe(self) -> dict[str, Any]:
        """The sandbox and where it is, as far as this object was told; `skiff describe` asks the cluster."""
        return {"sandbox_id": self.sandbox_id, "status": str(self._status), "workspace": self.workspace,
                "mcp_config": self.mcp_config, "agents": self.agents, "timeout": self.timeout, "namespace": self.namespace,
                "image": self.image, "pod_name": self.pod_name, "service_name": self.service_name,
                "cluster_ip": self.cluster_ip}

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self._tidy()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._tidy()

    async def _tidy(self) -> None:
        """cleanup() to its end, also when the task is cancelled meanwhile."""
        work = asyncio.ensure_future(self.cleanup())
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            await work
            raise

    def _check(self, wanted: SandboxStatus) -> None:
        if wanted not in MOVES[self._status]:
            raise SandboxError(f"Cannot transition from {self._status} to {wanted}"
                               + (": make another sandbox" if self._status is SandboxStatus.CLOSED else ""))

    def _forget(self) -> None:
        self.pod_name = self.service_name = self.cluster_ip = None

    async def _make(self) -> dict[str, Any]:
        with contextlib.ExitStack() as stack:
            more = []
            if len(self._directories) > 1:  # the first is where the sandbox works
                file = stack.enter_context(tempfile.NamedTemporaryFile("w", suffix=".json"))
                json.dump(_with_directories(self._directories[1:]), file)
                file.flush()
                more = ["--pod-overrides", file.name]
            return await self._told("up", self.sandbox_id, "-q", "--wait", f"{START_SECONDS}s", *more)

    async def _start_again(self) -> dict[str, Any]:
        return await self._told("start", self.sandbox_id, "-q", "--wait", f"{START_SECONDS}s")

    async def _told(self, *arguments: str) -> dict[str, Any]:
        made = json.loads(await self._skiff(*arguments, "-o", "json"))
        if not isinstance(made, dict):
            raise SandboxError(f"{self._program} {arguments[0]} answered {made!r}: is it of the same version as this package?")
        return made

    async def _skiff(self, *arguments: str, fine: tuple[int, ...] = (0,)) -> str:
        """The output of one call of skiff. The driver `local` has no namespaces and takes no image."""
        words = [self._program, *arguments, "--driver", self._driver, "--name-prefix", "orbiter-"]
        settings = {"SKIFF_NAMESPACE": self.namespace, "SKIFF_IMAGE": "" if self._driver == "local" else self.image,
                    **({"SKIFF_WORKDIR": self._directories[0]} if self._directories else {})}
        starting = asyncio.ensure_future(asyncio.create_subprocess_exec(
            *words, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            env={**os.environ, **settings}, start_new_session=True))
        try:
            process = await asyncio.shield(starting)
            out, err = await process.communicate()
        except FileNotFoundError:
            raise SandboxError(f"there is no program {self._program!r}: build it with `make build`, and put it on the PATH"
                               " or name it in SKIFF") from None
        except asyncio.CancelledError:
            process = await starting
            process.send_signal(signal.SIGINT)  # upon which skiff takes back what it has begun
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.communicate(), INTERRUPT_SECONDS)
            if process.returncode is None:
                process.kill()
            if await process.wait() in (0, -signal.SIGKILL) and arguments[0] == "up":
                await self._skiff("rm", self.sandbox_id, "-q")
            raise
        if process.returncode not in fine:
            said = _message(err)
            raise SandboxError(said or f"{' '.join(words)} ended with {process.returncode} and said nothing")
        return out.decode()


def _variable(name: str, otherwise: str) -> str:
    return os.environ.get(f"ORBITER_K8S_{name}") or os.environ.get(f"SKIFF_{name}") or otherwise


def _with_directories(paths: Sequence[str]) -> dict[str, Any]:
    """Changes to a Pod that give it more directories, empty ones."""
    names = [f"workspace-{number}" for number in range(2, len(paths) + 2)]
    mounts = [{"name": name, "mountPath": path} for name, path in zip(names, paths, strict=True)]
    return {"volumes": [{"name": name, "emptyDir": {}} for name in names],
            "containers": [{"name": "sandbox", "volumeMounts": mounts}]}


def _message(err: bytes) -> str:
    """The message of skiff on stderr; with `-o json` the detail of its last line."""
    text = err.decode(errors="replace").strip()
    try:
        return str(json.loads(text.rpartition("\n")[2])["detail"])
    except (ValueError, KeyError, TypeError):
        return text.removeprefix("skiff: ")
