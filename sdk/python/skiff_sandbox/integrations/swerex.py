"""A deployment for SWE-ReX and SWE-agent: its server runs in a sandbox of skiff.

    deployment = SkiffDeployment(image="python:3.12")
    await deployment.start()
    await deployment.runtime.create_session(CreateBashSessionRequest())

Needs swe-rex 1. The sandbox has the program `swerex-remote`, or Python with pip, by which it is installed. Hosts are an agent
(SKIFF_URL, SKIFF_TOKEN) and the program skiff. A server's API key would be in the header field that SWE-ReX uses itself: use the
program skiff with SKIFF_DRIVER=serve."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Mapping
from typing import Any

from swerex import PACKAGE_NAME, REMOTE_EXECUTABLE_NAME, __version__
from swerex.deployment.abstract import AbstractDeployment
from swerex.deployment.hooks.abstract import CombinedDeploymentHook, DeploymentHook
from swerex.exceptions import DeploymentNotStartedError
from swerex.runtime.abstract import IsAliveResponse
from swerex.runtime.remote import RemoteRuntime
from swerex.utils.log import get_logger

from .. import AsyncCommand, AsyncSandbox, SkiffError

START = f"""
program={REMOTE_EXECUTABLE_NAME}
if ! command -v $program >/dev/null; then
  python3 -m venv .swe-rex && .swe-rex/bin/pip install --quiet {PACKAGE_NAME}=={__version__} || exit
  program=.swe-rex/bin/$program
fi
port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
echo "port $port"
exec $program --host 127.0.0.1 --port $port --auth-token "$SWE_REX_TOKEN"
"""


class SkiffRuntime(RemoteRuntime):
    """The remote runtime, through the agent of the sandbox."""

    def __init__(self, *, headers: Mapping[str, str], logger: logging.Logger, **config: Any) -> None:
        super().__init__(logger=logger, **config)
        self._more = dict(headers)

    @property
    def _headers(self) -> dict[str, str]:
        return {**super()._headers, **self._more}


class SkiffDeployment(AbstractDeployment):
    """One sandbox with one runtime."""

    def __init__(self, *, startup_timeout: float = 180.0, timeout: float = 60.0, logger: logging.Logger | None = None,
                 **options: Any) -> None:
        """`startup_timeout`: seconds until the runtime answers. `timeout`: seconds that a request to it may take. `options`: for
        `Sandbox.create`, such as `image`."""
        self.logger = logger or get_logger("rex-deploy")
        self._startup_seconds, self._seconds, self._options = startup_timeout, timeout, options
        self._hooks = CombinedDeploymentHook()
        self._box: AsyncSandbox | None = None
        self._server: AsyncCommand | None = None
        self._runtime: SkiffRuntime | None = None

    def add_hook(self, hook: DeploymentHook) -> None:
        self._hooks.add_hook(hook)

    async def is_alive(self, *, timeout: float | None = None) -> IsAliveResponse:
        """Raises DeploymentNotStartedError before `start`."""
        return await self.runtime.is_alive(timeout=timeout)

    async def start(self) -> None:
        """Makes the sandbox, and waits until the runtime answers. What was begun is removed if that fails."""
        self._hooks.on_custom_step("Creating a sandbox of skiff")
        self._box = await AsyncSandbox.create(**self._options)
        try:
            self._hooks.on_custom_step("Starting the runtime")
            await self._start_runtime(self._box)
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Ends the runtime and removes the sandbox."""
        box, runtime, self._box, self._runtime = self._box, self._runtime, None, None
        if runtime:
            await runtime.close()
        if box:
            await box.remove()

    @property
    def runtime(self) -> SkiffRuntime:
        """Raises DeploymentNotStartedError before `start`."""
        if self._runtime is None:
            raise DeploymentNotStartedError()  # type: ignore[no-untyped-call]
        return self._runtime

    @property
    def sandbox(self) -> AsyncSandbox:
        """The sandbox itself. Raises DeploymentNotStartedError before `start`."""
        if self._box is None:
            raise DeploymentNotStartedError()  # type: ignore[no-untyped-call]
        return self._box

    async def _start_runtime(self, box: AsyncSandbox) -> None:
        token = secrets.token_hex(16)
        self._server = await box.start(START, secret_env={"SWE_REX_TOKEN": token})
        try:
            said = await box.wait_for(output=(self._server.id, r"port \d+\n"), timeout=self._startup_seconds)
            port = int(str(said).split()[1])
            await box.wait_for(port=port, timeout=self._startup_seconds)
        except SkiffError as error:
            told = [event.text async for event in box.command(self._server.id).events()] if error.code == "command_ended" else []
            raise SkiffError(error.code, f"the runtime did not start: {''.join(told)[-2000:] or error.detail}") from error
        address = box._transport.address
        if "X-API-Key" in address.headers:
            raise SkiffError("not_supported", "a server's API key and SWE-ReX's token are in the same header field: use the program skiff"
                             " with SKIFF_DRIVER=serve")
        self._runtime = SkiffRuntime(host=f"{address.url}/v1/ports/{port}", port=None, auth_token=token, timeout=self._seconds,
                                     headers=address.headers, logger=self.logger)
        async with asyncio.timeout(self._startup_seconds):
            while not await self._runtime.is_alive(timeout=self._seconds):
                await asyncio.sleep(0.1)
