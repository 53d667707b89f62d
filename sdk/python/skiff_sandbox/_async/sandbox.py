"""A sandbox: made or found, used, removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from .. import _async_io as io
from .._decode import decode
from .._errors import SkiffError
from .._settings import Duration, Server, host_of, seconds
from .._types import AgentVersion, Port, Ports, SessionRequest
from .hosting import AsyncHosting, Wish, connect, create
from .listing import AsyncSandboxWatch
from .session import AsyncSession
from .transport import CONNECT_SECONDS, AsyncTransport, Request


class AsyncSandbox(AsyncSession):
    """A sandbox, and its default session. `create` and `connect` make objects.

    The host: arguments, else the environment. `url` with `token` (SKIFF_URL, SKIFF_TOKEN) is an agent, `url` with `api_key`
    (SKIFF_URL, SKIFF_API_KEY) a server, `skiff serve`. Without them the program `skiff` makes sandboxes, with `driver`
    (SKIFF_DRIVER) or the driver that it chooses. All methods raise SkiffError."""

    def __init__(self, hosting: AsyncHosting, transport: AsyncTransport) -> None:
        super().__init__(transport, hosting.session)
        self._hosting = hosting

    @classmethod
    async def create(cls, *, name: str | None = None, template: str | None = None, image: str | None = None,
                     ttl: Duration | None = None, idle_ttl: Duration | None = None, env: Mapping[str, str] | None = None,
                     labels: Mapping[str, str] | None = None, network: str | None = None, egress: Sequence[str] | None = None,
                     get_or_create: bool = False, flags: Sequence[str] = (), timeout: Duration = 120.0,
                     url: str | None = None, token: str | None = None, api_key: str | None = None,
                     driver: str | None = None) -> AsyncSandbox:
        """Makes a sandbox and waits until it answers. Leaving its `with` block removes it, unless it existed before.

        name: else a new one. template: of a server. image: for the program skiff with a cluster. ttl: it ends after this time
        ("90s", "1h", seconds), idle_ttl: after this time without use; None: what the server says, or never. env: variables of all
        commands. labels: for lists. network: "deny", or what `skiff up --network` takes. egress: names that it may reach, and nothing
        else, such as ["@pypi", "*.example.com"]. get_or_create: use an existing sandbox of this name. flags:
        further words for `skiff up`, such as ["--mount", "."]. timeout: seconds or "90s" until it answers, after which it is removed
        and SkiffError (`timeout`) raised.

        With an agent, which is one sandbox already, it makes a session with a directory of its own; idle_ttl is the session's, and
        template, image, ttl, network, egress and flags are `not_supported`.

        Route: POST /v1/sandboxes of a server, `skiff up`, or PUT /v1/sessions/{sid}. Errors: `not_configured`, `sandbox_conflict`,
        `too_many_sandboxes`, `sandbox_failed`, `program_failed`."""
        wish = Wish(name, template, image, ttl, idle_ttl, env or {}, labels or {}, network,
                    None if egress is None else tuple(egress), get_or_create, tuple(flags), seconds(timeout))
        hosting = await create(host_of(url, token, api_key, driver), wish)
        try:
            return await cls._opened(hosting)
        except BaseException:
            if hosting.is_new:
                await io.finished(hosting.remove)
            await io.finished(hosting.aclose)
            raise

    @classmethod
    async def connect(cls, id: str | None = None, *, start: bool = True, timeout: Duration = 120.0, url: str | None = None,
                      token: str | None = None, api_key: str | None = None, driver: str | None = None) -> AsyncSandbox:
        """Finds a sandbox by its id or name. Leaving its `with` block closes the connections alone.

        id: with an agent the id of a session, or None for its default session. start: start it if it is stopped. timeout: seconds
        until it answers.
        Errors: `sandbox_not_found`, `session_not_found`, `sandbox_not_running`, `unauthenticated`."""
        hosting = await connect(host_of(url, token, api_key, driver), id, start, seconds(timeout))
        try:
            return await cls._opened(hosting)
        except BaseException:
            await io.finished(hosting.aclose)
            raise

    @staticmethod
    def watch(*, owner: str | None = None, cursor: str | None = None, url: str | None = None,
              api_key: str | None = None) -> AsyncSandboxWatch:
        """The sandboxes of a server, and then each change of their list, as an iterator and with `with`.

        owner: only sandboxes of this owner. cursor: that of an event; it goes on behind that event, or tells of a `gap` and begins
        anew. Route: GET /v1/events. Errors: `not_supported` (an agent, or the program skiff), `unauthenticated` (the key has ended),
        `connection_failed`."""
        host = host_of(url, None, api_key, None)
        if not isinstance(host, Server):
            raise SkiffError("not_supported", "watch: a server has a list of sandboxes: set SKIFF_URL and SKIFF_API_KEY")
        return AsyncSandboxWatch(host, owner, cursor)

    @classmethod
    async def _opened(cls, hosting: AsyncHosting) -> AsyncSandbox:
        """The agent has answered, and knows the session."""
        transport = AsyncTransport(await hosting.address(), hosting.address)
        try:
            sandbox = cls(hosting, transport)
            await sandbox.details()
            return sandbox
        except BaseException:
            await io.finished(transport.aclose)
            raise

    @property
    def id(self) -> str:
        """The id by which `connect` finds it: a server's or skiff's name of the sandbox, or the agent's of the session."""
        return self._hosting.id

    async def session(self, id: str, *, root: str | None = None, env: Mapping[str, str] | None = None,
                      labels: Mapping[str, str] | None = None, options: SessionRequest | None = None) -> AsyncSession:
        """Another session of this sandbox, made if it is missing.

        root: its directory below the sandbox's root, by default the sandbox's own, which it then shares. options: further fields, such as `shell` or
        `isolation`. Route: PUT /v1/sessions/{sid}. Errors: `session_conflict` (it exists with other settings)."""
        session, body = AsyncSession(self._transport, id), SessionRequest(**(options or {}))
        if root is not None:
            body["root"] = root
        if env:
            body["env"] = dict(env)
        if labels:
            body["labels"] = dict(labels)
        await self._transport.ask(Request("PUT", session.path, json=body))
        return session

    async def version(self) -> AgentVersion:
        """The agent's version and instance. Route: GET /v1/version."""
        return decode(AgentVersion, (await self._transport.ask(Request("GET", "/v1/version"))).json())

    async def ports(self) -> list[Port]:
        """The TCP ports on which servers listen in the sandbox. Route: GET /v1/ports."""
        return decode(Ports, (await self._transport.ask(Request("GET", "/v1/ports"))).json()).items

    async def request(self, port: int, method: str, path: str = "/", *, timeout: Duration = 60.0, **options: Any) -> httpx.Response:
        """One HTTP request to a server in the sandbox, also on its loopback. options: `params`, `headers`, `content`, `json` and others
        of httpx. The answer is the server's, whatever its status. It is not repeated if the connection breaks.

        timeout: seconds without a byte. Route: /v1/ports/{port}/{path}. Errors: `port_not_listening`, `insufficient_scope`."""
        self._transport.check_open()
        address = self._transport.address
        headers = {**(options.pop("headers", None) or {}), **address.headers}
        url = f"{address.url}/v1/ports/{port}/{path.lstrip('/')}"
        try:
            answer = await self._transport.client.request(method, url, headers=headers,
                                                          timeout=httpx.Timeout(seconds(timeout), connect=CONNECT_SECONDS),
                                                          **options)
        except httpx.TransportError as error:
            raise SkiffError("connection_failed", f"{method} to port {port}: {type(error).__name__}: {error}") from error
        if "x-skiff-instance" in answer.headers and "problem+json" in answer.headers.get("content-type", ""):
            told = answer.json()
            if str(told.get("type", "")).startswith("urn:skiff:problem:"):
                raise SkiffError(str(told["code"]), str(told["detail"]), status=answer.status_code)
        return answer

    async def preview(self, port: int, *, ttl: Duration | None = None) -> str:
        """A link for a browser to a server in the sandbox.

        A server makes one that works from anywhere, for `ttl`; it needs `--domain`. The program skiff forwards a port of this machine
        until `close`. An agent alone makes none (`not_supported`): use `request`.
        Route: POST /v1/sandboxes/{id}/previews of a server, or `skiff forward`."""
        return await self._hosting.preview(port, ttl)

    async def extend(self, ttl: Duration) -> None:
        """Sets how long it may live from now on: "90s", "1h", seconds. Route: POST /v1/sandboxes/{id}/extend, `skiff extend`, or POST
        /v1/lease of an agent, which needs the scope admin."""
        await self._hosting.extend(ttl)

    async def stop(self) -> None:
        """Ends what runs and keeps files, as far as they are on a volume; `connect` starts it again.

        Route: POST /v1/sandboxes/{id}/stop, or `skiff stop`. Errors: `not_supported` (an agent alone, or no volume)."""
        await self._hosting.stop()

    async def remove(self) -> None:
        """Removes it with everything in it, and closes the connections. It may be gone already.

        Route: DELETE /v1/sandboxes/{id}, `skiff rm`, or DELETE /v1/sessions/{sid}."""
        await self._transport.aclose()
        await self._hosting.remove()
        await self._hosting.aclose()

    async def close(self) -> None:
        """Closes the connections. The sandbox and its commands go on."""
        await self._transport.aclose()
        await self._hosting.aclose()

    async def __aenter__(self) -> AsyncSandbox:
        return self

    async def __aexit__(self, *_: object) -> None:
        await io.finished(self.remove if self._hosting.is_new else self.close)
