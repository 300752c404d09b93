"""The bytes under the Connect codec: one request. Knows nothing of messages, codes or runners.

`HttpxTransport` is the network; a laboratory may put anything else with the same method in its place.
"""

import asyncio
import functools
import ipaddress
import os
import ssl
import zlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol
from urllib.parse import urlsplit

import httpx

RESPONSE_BYTES_MAX: Final = 64 * 1024 * 1024
"""Largest answer read, before and after decompression; a task's payload is a few hundred KiB at most."""
_GZIP_WBITS: Final = 31


class TransportError(Exception):
    """The call got no HTTP answer."""


class DeadlinePassed(Exception):
    """Our own limit for the call passed."""


class RawAnswer(NamedTuple):
    """An HTTP answer: header names in lower case, body decompressed."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLimits:
    """Which connections are kept between calls; the defaults are those of Gitea's runner since v0.4."""

    idle_connections: int = 10
    """Most that are kept without a call."""
    idle_timeout_s: float = 90.0


class Transport(Protocol):
    """Requests to one server."""

    async def send(self, verb: str, path: str, headers: Mapping[str, str], body: bytes, deadline_s: float) -> RawAnswer:
        """Send ``body`` and return the whole answer.

        Args:
            verb: the HTTP method, in capitals.
            path: below the server's base URL, beginning with a slash.
            headers: all that the caller wants to say; the transport adds those of HTTP itself.
            body: may be empty.
            deadline_s: seconds from now for the whole exchange.

        Raises:
            TransportError: no answer, or one that is not HTTP.
            DeadlinePassed: the answer was not complete in time.
        """

    async def close(self) -> None:
        """Close all connections; later calls fail."""


class HttpxTransport:
    """HTTP/1.1 keep-alive over httpx, with proxies from the environment as Go's client reads them."""

    def __init__(self, base_url: str, *, insecure: bool = False, pool: PoolLimits = PoolLimits()) -> None:
        self._base_url = base_url.rstrip("/")
        parts = urlsplit(self._base_url)
        self._client = httpx.AsyncClient(
            http1=True,
            http2=False,
            # http:// needs no certificates, and loading them takes longer than the rest of the start.
            verify=_ssl_context(insecure=insecure) if parts.scheme == "https" else False,
            trust_env=not _is_loopback(parts.hostname or ""),
            follow_redirects=False,
            limits=httpx.Limits(
                max_connections=None,
                max_keepalive_connections=pool.idle_connections,
                keepalive_expiry=pool.idle_timeout_s,
            ),
        )

    async def send(self, verb: str, path: str, headers: Mapping[str, str], body: bytes, deadline_s: float) -> RawAnswer:
        """Send ``body`` and return the whole answer; see `Transport.send`."""
        request = httpx.Request(
            verb,
            self._base_url + path,
            headers=dict(headers),
            content=body,
            # The one limit on the whole exchange is below; httpx would only limit its parts.
            extensions={"timeout": httpx.Timeout(None).as_dict()},
        )
        try:
            async with asyncio.timeout(deadline_s):
                return await self._exchange(request)
        except TimeoutError as error:
            raise DeadlinePassed(f"no answer within {deadline_s:g} s") from error
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ssl.SSLError) as error:
            raise TransportError(f"{type(error).__name__}: {error}") from error

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def _exchange(self, request: httpx.Request) -> RawAnswer:
        response = await self._client.send(request, stream=True)
        try:
            headers = {name.lower(): value for name, value in response.headers.items()}
            body = await _read(response.aiter_raw(), headers.get("content-encoding", ""))
            return RawAnswer(status=response.status_code, headers=headers, body=body)
        finally:
            await response.aclose()


async def _read(chunks: AsyncIterator[bytes], encoding: str) -> bytes:
    if encoding not in ("", "identity", "gzip"):
        raise TransportError(f"content-encoding {encoding!r} was not asked for")
    data = bytearray()
    async for chunk in chunks:
        data += chunk
        if len(data) > RESPONSE_BYTES_MAX:
            raise TransportError(f"answer larger than {RESPONSE_BYTES_MAX} bytes")
    return _gunzip(bytes(data)) if encoding == "gzip" and data else bytes(data)


def _gunzip(data: bytes) -> bytes:
    decoder = zlib.decompressobj(wbits=_GZIP_WBITS)
    try:
        plain = decoder.decompress(data, RESPONSE_BYTES_MAX)
    except zlib.error as error:
        raise TransportError(f"answer is not the gzip it says it is: {error}") from error
    if decoder.unconsumed_tail:
        raise TransportError(f"answer larger than {RESPONSE_BYTES_MAX} bytes when decompressed")
    if not decoder.eof:
        raise TransportError("gzip answer ends too early")
    return plain


@functools.cache
def _ssl_context(*, insecure: bool) -> ssl.SSLContext:
    """Build the one context that all connections share; it costs tens of milliseconds.

    SSL_CERT_FILE and SSL_CERT_DIR name the only authorities; without them the system's store counts, which holds a
    company's own, beside the list that comes with httpx, since slim images have no store.
    """
    context = httpx.create_ssl_context(verify=not insecure)
    if not insecure and not (os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR")):
        context.load_default_certs()
    return context


def _is_loopback(host: str) -> bool:
    """Tell whether Go's client would never use a proxy for ``host``."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
