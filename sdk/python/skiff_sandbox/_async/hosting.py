"""The host of a sandbox, and what can be asked of it: an agent alone, a server, or the program `skiff`."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import quote

from .. import _async_io as io
from .._errors import SkiffError
from .._settings import Agent, Duration, Host, Launcher, Server, milliseconds, new_id
from .._skiff import find_skiff, refusal_of, without_isolation
from .._types import SessionRequest
from .transport import Address, AsyncTransport, Request

READY_SECONDS = 20.0  # of one request that waits
PROGRAM_SECONDS = 60.0  # of one call of skiff
TOKEN_TTL = "12h"
SCOPES = ("read", "exec", "ports")


@dataclass(frozen=True)
class Wish:
    """The properties of a new sandbox."""
    name: str | None = None
    template: str | None = None
    image: str | None = None
    ttl: Duration | None = None
    idle_ttl: Duration | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    network: str | None = None
    egress: tuple[str, ...] | None = None
    get_or_create: bool = False
    flags: tuple[str, ...] = ()
    timeout: float = 120.0


class AsyncHosting(Protocol):
    """One sandbox at its host."""

    id: str
    session: str
    is_new: bool

    async def address(self) -> Address: ...
    async def remove(self) -> None: ...
    async def stop(self) -> None: ...
    async def extend(self, ttl: Duration) -> None: ...
    async def preview(self, port: int, ttl: Duration | None) -> str: ...
    async def aclose(self) -> None: ...


class AsyncAgentHosting:
    """An agent is one sandbox already: what is created in it is a session with a directory of its own."""

    def __init__(self, agent: Agent, session: str, is_new: bool) -> None:
        self.id, self.session, self.is_new, self._agent = session, session, is_new, agent

    @classmethod
    async def created(cls, agent: Agent, wish: Wish) -> AsyncAgentHosting:
        for name in ("template", "image", "ttl", "network", "egress", "flags"):
            if getattr(wish, name) not in (None, ()):
                raise _unsupported(f"{name}: SKIFF_URL and SKIFF_TOKEN name an agent, which is one sandbox already; a server (SKIFF_API_KEY)"
                                   " or the program skiff makes new ones")
        session = wish.name or new_id("box")
        body: SessionRequest = {"root": session, "env": dict(wish.env), "labels": dict(wish.labels)}
        if (idle := milliseconds(wish.idle_ttl)) is not None:
            body["idle_timeout_ms"] = idle
        made = cls(agent, session, True)
        transport = AsyncTransport(await made.address())
        try:
            request = Request("PUT", f"/v1/sessions/{quote(session, safe='')}", json=body)
            made.is_new = (await transport.ask(request)).status_code == 201 or not request.fresh
        finally:
            await transport.aclose()
        if not made.is_new and not wish.get_or_create:
            raise SkiffError("session_conflict", f"there is a session {session!r} already: connect to it, or give get_or_create",
                             status=409)
        return made

    async def address(self) -> Address:
        return Address(self._agent.url, {"X-Skiff-Token": self._agent.token})

    async def remove(self) -> None:
        if self.session == "default":
            raise _unsupported("remove: an agent ends with its container; its default session stays")
        transport = AsyncTransport(await self.address())
        request = Request("DELETE", f"/v1/sessions/{quote(self.session, safe='')}", params={"purge": "true"})
        try:
            await transport.ask(request)
        except SkiffError as error:
            if error.code != "session_not_found":
                raise
        finally:
            await transport.aclose()

    async def stop(self) -> None:
        raise _unsupported("stop: an agent ends with its container")

    async def extend(self, ttl: Duration) -> None:
        transport = AsyncTransport(await self.address())
        try:
            await transport.ask(Request("POST", "/v1/lease", json={"ttl_ms": milliseconds(ttl)}))
        finally:
            await transport.aclose()

    async def preview(self, port: int, ttl: Duration | None) -> str:
        raise _unsupported("preview: an agent alone makes no links for browsers; use request(), or a server with --domain")

    async def aclose(self) -> None:
        pass


class AsyncServerHosting:
    """A sandbox of a `skiff serve`."""

    def __init__(self, server: Server, id: str, is_new: bool) -> None:
        self.id, self.session, self.is_new, self._server = id, "default", is_new, server
        self._transport = AsyncTransport(Address(server.url, {"X-API-Key": server.api_key}))

    @classmethod
    async def created(cls, server: Server, wish: Wish) -> AsyncServerHosting:
        if wish.flags:
            raise _unsupported("flags: they are for the program skiff")
        if wish.image is not None:
            raise _unsupported("image: the server's templates decide the image: give template")
        body: dict[str, Any] = {"name": wish.name, "template": wish.template, "env": dict(wish.env), "labels": dict(wish.labels),
                                "ttl_ms": milliseconds(wish.ttl), "idle_ttl_ms": milliseconds(wish.idle_ttl), "network": wish.network}
        if wish.egress is not None:
            body["egress"] = list(wish.egress)
        body = {name: value for name, value in body.items() if value not in (None, {})}
        body.update({"wait": False, **({"get_or_create": True} if wish.get_or_create else {})})
        one = cls(server, "", True)
        try:
            answer = await one._transport.ask(Request("POST", "/v1/sandboxes", json=body, headers={"Idempotency-Key": new_id("sdk")}))
            one.id = str(answer.json()["id"])
            one.is_new = answer.status_code in (201, 202) or not wish.get_or_create
            try:
                await one._ready(wish.timeout)
            except BaseException:
                if one.is_new:
                    await io.finished(one.remove)
                raise
        except BaseException:
            await one.aclose()
            raise
        return one

    @classmethod
    async def connected(cls, server: Server, id: str, start: bool, timeout: float) -> AsyncServerHosting:
        one = cls(server, id, False)
        try:
            state = (await one._transport.ask(Request("GET", one._path()))).json()
            one.id = str(state["id"])
            if state["state"] in ("stopped", "ended") and start:
                await one._transport.ask(Request("POST", one._path("/start"), json={}))
            await one._ready(timeout)
        except BaseException:
            await one.aclose()
            raise
        return one

    async def _ready(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while True:
            left = until - time.monotonic()
            if left <= 0:
                raise SkiffError("timeout", f"the sandbox {self.id} is not up within {seconds:g} s")
            params = {"wait": "ready", "timeout_ms": max(1, round(min(left, READY_SECONDS) * 1000))}
            told = (await self._transport.ask(Request("GET", self._path(), params=params))).json()
            if told["state"] == "running":
                return
            if told["state"] != "creating":
                raise SkiffError("sandbox_not_running", f"the sandbox {self.id} is {told['state']}: {told.get('reason') or 'no reason is known'}",
                                 status=409)

    def _path(self, more: str = "") -> str:
        return f"/v1/sandboxes/{quote(self.id, safe='')}{more}"

    async def address(self) -> Address:
        return Address(f"{self._server.url}/s/{quote(self.id, safe='')}/7070", {"X-API-Key": self._server.api_key})

    async def remove(self) -> None:
        try:
            await self._transport.ask(Request("DELETE", self._path()))
        except SkiffError as error:
            if error.code != "sandbox_not_found":
                raise

    async def stop(self) -> None:
        await self._transport.ask(Request("POST", self._path("/stop"), json={}))

    async def extend(self, ttl: Duration) -> None:
        await self._transport.ask(Request("POST", self._path("/extend"), json={"ttl_ms": milliseconds(ttl)}))

    async def preview(self, port: int, ttl: Duration | None) -> str:
        body = {"port": port, **({} if ttl is None else {"ttl_ms": milliseconds(ttl)})}
        return str((await self._transport.ask(Request("POST", self._path("/previews"), json=body))).json()["url"])

    async def aclose(self) -> None:
        await self._transport.aclose()


class AsyncLauncherHosting:
    """A sandbox that the program `skiff` makes, with the driver that it chooses or is told."""

    def __init__(self, launcher: Launcher, name: str, is_new: bool) -> None:
        self.id, self.session, self.is_new, self._launcher = name, "default", is_new, launcher
        self._forwards: dict[str, tuple[io.Background, str]] = {}

    @classmethod
    async def created(cls, launcher: Launcher, wish: Wish) -> AsyncLauncherHosting:
        name = wish.name or new_id("box")
        if wish.template is not None:
            raise _unsupported("template: only a server (SKIFF_URL and SKIFF_API_KEY) has templates; give image")
        words = ["up", name, "-q", "-o", "json", "--wait", f"{round(wish.timeout * 1000)}ms"]
        for flag, value in (("--ttl", wish.ttl), ("--idle-ttl", wish.idle_ttl)):
            if value is not None:
                words += [flag, f"{milliseconds(value)}ms"]
        words += ["--image", wish.image] if wish.image is not None else []
        words += ["--network", wish.network] if wish.network is not None else []
        if wish.egress == ():
            raise _unsupported('egress: with no rule a server makes a sandbox; with the program skiff give network="deny"')
        words += [word for rule in wish.egress or () for word in ("--egress", rule)]
        words += ["--get-or-create"] if wish.get_or_create else []
        words += [word for each in wish.env.items() for word in ("--env", "=".join(each))]
        words += [word for each in wish.labels.items() for word in ("--label", "=".join(each))]
        words += wish.flags
        one = cls(launcher, name, True)
        told = json.loads(await one._skiff(*words, seconds=wish.timeout + PROGRAM_SECONDS))
        one.is_new = bool(told["new"])
        if told["driver"] == "local" and launcher.driver != "local":
            without_isolation()
        return one

    @classmethod
    async def connected(cls, launcher: Launcher, name: str, start: bool) -> AsyncLauncherHosting:
        one = cls(launcher, name, False)
        told = json.loads(await one._skiff("describe", name, "-o", "json"))
        if told["state"] == "stopped" and start:
            await one._skiff("start", name, "-q")
        return one

    async def address(self) -> Address:
        scopes = [word for scope in SCOPES for word in ("--scope", scope)]
        told = json.loads(await self._skiff("token", self.id, "--ttl", TOKEN_TTL, *scopes, "-o", "json"))
        reached = json.loads(await self._skiff("describe", self.id, "-o", "json")).get("reached", {})
        url = str(told["url"])
        if reached.get("by") not in ("local", "in-cluster", "direct"):
            url = await self._forward("7070")
        return Address(url.rstrip("/"), {"X-Skiff-Token": str(told["token"])})

    async def remove(self) -> None:
        await self._end_forwards()
        await self._skiff("rm", self.id, "-q")

    async def stop(self) -> None:
        await self._end_forwards()
        await self._skiff("stop", self.id, "-q")

    async def extend(self, ttl: Duration) -> None:
        await self._skiff("extend", self.id, "--ttl", f"{milliseconds(ttl)}ms", "-q")

    async def preview(self, port: int, ttl: Duration | None) -> str:
        if ttl is not None:
            raise _unsupported("ttl: a preview of the program skiff lasts until close()")
        return await self._forward(str(port))

    async def aclose(self) -> None:
        await self._end_forwards()

    async def _forward(self, port: str) -> str:
        """The address on this machine that leads to a port of the sandbox."""
        if port not in self._forwards:
            words = self._words("forward", self.id, f":{port}")
            try:
                background, line = await io.Background.started(words, PROGRAM_SECONDS)
            except TimeoutError:
                raise SkiffError("timeout", f"skiff forward: not within {PROGRAM_SECONDS:g} s") from None
            if not line:
                await background.stop()
                raise SkiffError("program_failed", f"skiff forward {self.id} :{port} has ended: its reason is on stderr")
            self._forwards[port] = background, f"http://{line.partition(' ')[0]}"
        return self._forwards[port][1]

    async def _end_forwards(self) -> None:
        while self._forwards:
            await self._forwards.popitem()[1][0].stop()

    def _words(self, *arguments: str) -> list[str]:
        return [find_skiff(self._launcher.program), *arguments, *(["--driver", self._launcher.driver] if self._launcher.driver else [])]

    async def _skiff(self, *arguments: str, seconds: float = PROGRAM_SECONDS) -> str:
        """The output of one call. Raises SkiffError."""
        try:
            status, out, err = await io.run_program(self._words(*arguments), seconds)
        except TimeoutError:
            raise SkiffError("timeout", f"skiff {arguments[0]}: not within {seconds:g} s") from None
        if status:
            raise refusal_of(arguments[0], status, err)
        return out.decode()


async def create(host: Host, wish: Wish) -> AsyncHosting:
    if isinstance(host, Agent):
        return await AsyncAgentHosting.created(host, wish)
    if isinstance(host, Server):
        return await AsyncServerHosting.created(host, wish)
    return await AsyncLauncherHosting.created(host, wish)


async def connect(host: Host, id: str | None, start: bool, timeout: float) -> AsyncHosting:
    if isinstance(host, Agent):
        return AsyncAgentHosting(host, id or "default", False)
    if id is None:
        raise SkiffError("missing_field", "connect: give the id of the sandbox; only an agent (SKIFF_TOKEN) needs none")
    if isinstance(host, Server):
        return await AsyncServerHosting.connected(host, id, start, timeout)
    return await AsyncLauncherHosting.connected(host, id, start)


def _unsupported(detail: str) -> SkiffError:
    return SkiffError("not_supported", detail)
