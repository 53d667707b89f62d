"""The environment and the arguments say who is asked for sandboxes: an agent, a server, or the program `skiff`."""

from __future__ import annotations

import os
import re
import secrets
from dataclasses import dataclass
from typing import Union

from ._errors import SkiffError

UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
Duration = Union[str, float]  # "90s", "1h", "7d", or seconds


@dataclass(frozen=True)
class Agent:
    """A skiffd: SKIFF_URL and SKIFF_TOKEN."""
    url: str
    token: str


@dataclass(frozen=True)
class Server:
    """A `skiff serve`: SKIFF_URL and SKIFF_API_KEY."""
    url: str
    api_key: str


@dataclass(frozen=True)
class Launcher:
    """The program `skiff`, which chooses the driver unless one is named."""
    program: str
    driver: str | None


Host = Union[Agent, Server, Launcher]


def host_of(url: str | None, token: str | None, api_key: str | None, driver: str | None) -> Host:
    """Arguments go before the environment. Raises SkiffError (`not_configured`) if they contradict each other.

    SKIFF_DRIVER beside SKIFF_URL is two answers to one question, and refused, as by `skiff`; the driver `direct` or `serve` says
    the same as the URL."""
    env = os.environ
    if driver and (url or token or api_key):
        raise SkiffError("not_configured", "give either driver, or url with token or api_key")
    if driver:
        return Launcher(env.get("SKIFF", "skiff"), driver)
    if not (url or token or api_key):
        driver = env.get("SKIFF_DRIVER")
        driver = None if driver in ("", "auto") else driver
        if driver not in (None, "direct", "serve"):
            if env.get("SKIFF_URL"):
                raise SkiffError("not_configured", f"SKIFF_DRIVER={driver} and SKIFF_URL are both set: unset one of them")
            return Launcher(env.get("SKIFF", "skiff"), driver)
    address = (url or env.get("SKIFF_URL", "")).rstrip("/")
    if not (token or api_key):
        token, api_key = env.get("SKIFF_TOKEN"), env.get("SKIFF_API_KEY")
    if not address:
        if token or api_key:
            raise SkiffError("not_configured", "a token or an API key is set, and no address: set SKIFF_URL, or give url")
        return Launcher(env.get("SKIFF", "skiff"), None)
    if not address.startswith(("http://", "https://")):
        raise SkiffError("not_configured", f"{address!r} is not an address: it begins with http:// or https://")
    if token and api_key:
        raise SkiffError("not_configured", "there are a token (of an agent) and an API key (of a server): give one of them")
    if api_key:
        return Server(address, api_key)
    if token:
        return Agent(address, token)
    raise SkiffError("not_configured", "SKIFF_URL is set: set SKIFF_TOKEN for an agent, or SKIFF_API_KEY for a server")


def milliseconds(value: Duration | None) -> int | None:
    """Raises SkiffError (`invalid_field`) if it is not a duration."""
    if value is None:
        return None
    if isinstance(value, str):
        parts = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", value)
        if not parts:
            raise SkiffError("invalid_field", f"{value!r} is not a duration: write 90s, 1h, 7d, or seconds as a number")
        return round(float(parts[1]) * UNITS[parts[2]])
    return round(value * 1000)


def seconds(value: Duration) -> float:
    """Raises SkiffError (`invalid_field`) if it is not a duration."""
    return (milliseconds(value) or 0) / 1000 if isinstance(value, str) else value


def new_id(prefix: str) -> str:
    """An id that nobody else has."""
    return f"{prefix}-{secrets.token_hex(10)}"
