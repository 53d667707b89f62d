"""How an address is reached: what verifies its server, and whether a proxy of the environment may be between."""

from __future__ import annotations

import functools
import ssl
from urllib.parse import urlsplit

import httpx


@functools.cache  # reading the authorities takes a tenth of a second
def _with_authorities() -> ssl.SSLContext:
    return httpx.create_ssl_context()


@functools.cache
def _without() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def context_for(url: str) -> ssl.SSLContext:
    """The authorities of the system, or of SSL_CERT_FILE; an address without TLS needs none."""
    return _with_authorities() if url.startswith("https:") else _without()


def is_loopback(url: str) -> bool:
    """True if the address is this machine's own, to which no proxy leads."""
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")
