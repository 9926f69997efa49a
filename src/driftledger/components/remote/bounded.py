"""Answers of a service, and images that an answer names, within bounds: how much they decode to, and where they lie.

A service may be anyone, and may name an address in this machine's own network: only its own origin and public addresses
are ever asked for an image.
"""

import asyncio
import socket
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

import httpx2

MOST_REDIRECTS = 3
ENCODING = {"accept-encoding": "gzip"}
_GZIP = zlib.MAX_WBITS | 16
_NAT64 = IPv6Network("64:ff9b::/96")
"""The last 32 bits of an address in it are an IPv4 address."""


class RefusedAddressError(Exception):
    """An address that is not asked; the text says why, without the address."""


def bounded(most: int) -> Callable[[httpx2.Response], Awaitable[None]]:
    """A hook that ends an answer with an error at ``most`` decoded bytes, before there are more: a small gzip may hold
    gigabytes. Its text is UTF-8, whatever it says: some of Python's encodings give no text, or take minutes."""

    async def hook(response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Decoded(response.stream, response.headers.pop("content-encoding", "identity"), most)
        response.encoding = "utf-8"

    return hook


class _Decoded(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, encoding: str, most: int) -> None:
        self._inner, self._encoding, self._most = inner, encoding.strip().lower(), most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._encoding not in ("identity", "gzip"):
            raise httpx2.DecodingError(f"its encoding {self._encoding!r:.80} was not asked for")
        decoder = zlib.decompressobj(_GZIP) if self._encoding == "gzip" else None
        left = self._most
        async for piece in self._inner:
            try:
                decoded = decoder.decompress(piece, left + 1) if decoder else piece
            except zlib.error as error:
                raise httpx2.DecodingError(str(error)) from None
            if decoder and decoder.unused_data:  # which would be kept without a bound
                raise httpx2.DecodingError("it goes on after the end of its gzip")
            left -= len(decoded)
            if left < 0:
                raise httpx2.DecodingError(f"it has more than {self._most:,} bytes")
            yield decoded

    async def aclose(self) -> None:
        await self._inner.aclose()


@asynccontextmanager
async def opened(
    url: str, own: str, inside: httpx2.AsyncClient, outside: httpx2.AsyncClient
) -> AsyncIterator[httpx2.Response]:
    """The answer to GET of an address that a service names, after up to :data:`MOST_REDIRECTS` redirects.

    Args:
        own: an address of the service, whose origin may lie anywhere.
        inside: asks that origin; sends no key.
        outside: asks every other; keeps no connection, since it is given addresses in the place of names.

    Raises:
        RefusedAddressError: it, or what it redirects to, is neither of the service's own origin nor public.
        httpx2.HTTPError: it cannot be fetched.
        httpx2.InvalidURL: it is no address.
    """
    at = httpx2.URL(url)
    for _ in range(MOST_REDIRECTS + 1):
        if at.scheme not in ("http", "https") or not at.host or (at.port or 443) > 0xFFFF:
            raise RefusedAddressError("no web address")
        at = at.copy_with(userinfo=b"", fragment=None)
        if httpx2.Origin(at) == httpx2.Origin(own):
            request = inside.stream("GET", at, follow_redirects=False)
        else:
            # To the address that was checked: a name may stand for another one when it is asked for again.
            checked = at.copy_with(host=await _public_address(at))
            name = {"host": at.netloc.decode()}
            request = outside.stream("GET", checked, headers=name, extensions={"sni_hostname": at.host})
        async with request as response:
            if not response.has_redirect_location:
                yield response
                return
            there = at.join(response.headers["location"])
        if at.scheme == "https" and there.scheme != "https":
            raise RefusedAddressError("an address that redirects from https to something else")
        at = there
    raise RefusedAddressError(f"an address that redirects more than {MOST_REDIRECTS} times")


async def _public_address(url: httpx2.URL) -> str:
    """One of the addresses of a web host, all of which are public."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(url.host, url.port or 443, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpx2.ConnectError(f"its host is not known: {error}") from None
    addresses = [str(each[4][0]) for each in found]
    if not all(is_public(address) for address in addresses):
        raise RefusedAddressError("an address inside of a network, which is not the service's own")
    return addresses[0]


def is_public(address: str) -> bool:
    """Whether an IP address is one of the internet, and none inside of a network, in whatever form.

    >>> [is_public(each) for each in ("8.8.8.8", "127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::a9fe:a9fe", "fe80::1%eth0")]
    [True, False, False, False, False]
    """
    ip = ip_address(address)
    if isinstance(ip, IPv6Address):
        if ip.ipv4_mapped or ip.sixtofour or ip.teredo:
            return False
        if ip in _NAT64:
            return is_public(str(IPv4Address(int(ip) & 0xFFFF_FFFF)))
    return ip.is_global and not ip.is_multicast
