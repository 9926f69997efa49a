"""HTTP to services: certificates, proxies, bounds on answers."""

import os
import re
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache, partial
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from driftledger.core.errors import ConfigError
from driftledger.core.registry import import_extra
from driftledger.core.text import shortened

if TYPE_CHECKING:
    import ssl

    import httpx2

_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
"""Variables that name files and folders; MLflow and DVC read the last one, by requests."""
_PROXY = re.compile(
    r"(?i:https?|(?P<socks>socks5h?))://([^/\s]*@)?([\w.-]+|\[[\da-f:.]+\])"
    r"(:(\d{1,4}|[1-5]\d{4}|6[0-5]\d{3}))?/?"
)
_PLAIN = {"Accept-Encoding": "identity"}
"""Asks for no compression: a megabyte of gzip may hold a gigabyte."""
_LARGEST_ERROR = 2**20
"""Bytes of an answer with an error, which the client parses without bounds of its own."""
_PATIENCE = 10.0
"""Seconds that a service may take to list its models."""


def certificates() -> "ssl.SSLContext":
    """Return the certificates that the environment names, to check services by.

    Raises:
        ConfigError: a variable names what cannot be used.
    """
    values = [os.environ.get(name, "") for name in _CERTIFICATES]
    for name, value in zip(_CERTIFICATES, values, strict=True):
        if value and not any(map(os.path.exists, value.split(os.pathsep))):
            raise _refused(name, f"names {shortened(value)!r}, which does not exist")
    try:
        return _read_certificates(*values, os.environ.get("SSLKEYLOGFILE"))
    except OSError as error:
        name = "SSLKEYLOGFILE" if error.filename else "SSL_CERT_FILE"
        raise _refused(name, f"names what cannot be used ({error})") from None


@lru_cache(maxsize=1)
def _read_certificates(*values: str | None) -> "ssl.SSLContext":
    """Read certificates once for all clients: 150 take 30 ms of CPU."""
    import httpx2

    context = httpx2.create_ssl_context()
    if values[-1]:  # libraries set it where they are imported
        context.keylog_filename = values[-1]
    return context


def check_network() -> None:
    """Check the certificates and proxies that the environment names.

    Raises:
        ConfigError: one cannot be used. No proxy is shown, since it may hold a password.
    """
    certificates()
    for name in proxies_for("http:") + proxies_for("https:"):
        address = os.environ[name]
        proxy = _PROXY.fullmatch(address if "://" in address else f"http://{address}")
        if proxy is None:
            raise _refused(name, "holds no address such as http://host:3128")
        if proxy["socks"] and find_spec("socksio") is None:
            problem = "names a SOCKS proxy, which needs `pip install socksio`"
            raise _refused(name, problem)


def proxies_for(address: str) -> list[str]:
    """Return the environment variables that name a proxy for an address."""
    known = (f"{address.partition(':')[0]}_proxy", "all_proxy")
    return [name for name in os.environ if os.environ[name] and name.lower() in known]


def _refused(variable: str, problem: str) -> ConfigError:
    return ConfigError(
        f"the environment variable {variable} {problem}; correct or unset it"
    )


def list_models(address: str, key: str | None) -> tuple[int, bytes]:
    """Ask a service for its models; return HTTP status and at most 16 MB of body.

    The status is 0 if the service cannot be reached, and the body says why. Both are 200 and empty
    if it breaks off.
    """
    import httpx2

    headers = _PLAIN | ({"Authorization": f"Bearer {key}"} if key else {})
    try:
        with httpx2.stream(
            "GET", f"{address}/models", headers=headers, timeout=_PATIENCE
        ) as answer:
            return answer.status_code, b"".join(islice(answer.iter_bytes(2**16), 2**8))
    except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
        return 0, f"{type(error).__name__}: {error}".encode()
    except (httpx2.HTTPError, ValueError):
        return 200, b""


@asynccontextmanager
async def openai_client(
    address: str, key: str | None, *, timeout: float, largest: int
) -> AsyncIterator[Any]:
    """Open OpenAI's client; an answer of over ``largest`` bytes is an error."""
    check_network()
    openai = import_extra("openai")
    client = openai.AsyncOpenAI(
        # without a key, it would take OPENAI_API_KEY and send that
        api_key=key or "none",
        base_url=address,
        max_retries=0,
        timeout=timeout,
        http_client=openai.DefaultAsyncHttpxClient(
            follow_redirects=False,
            headers=_PLAIN,
            verify=certificates(),
            event_hooks={"response": [partial(_read_bounded, largest)]},
        ),
    )
    # It has read OPENAI_ORG_ID, OPENAI_PROJECT_ID and OPENAI_CUSTOM_HEADERS, and has no
    # argument against that.
    client.organization = client.project = None
    client._custom_headers = {}
    async with client:
        yield client


async def _read_bounded(largest: int, response: "httpx2.Response") -> None:
    """Read an answer; raise an error once it has more than ``largest`` bytes."""
    import httpx2

    if not response.is_success:
        largest = _LARGEST_ERROR
    elif response.request.url.path.endswith("/content"):
        return  # a batch's results, which are read line by line
    response.headers.pop("content-encoding", None)
    received = bytearray()
    stream = cast(httpx2.AsyncByteStream, response.stream)
    async for chunk in stream:
        received += chunk
        if len(received) > largest:
            raise httpx2.ReadError(f"the answer has more than {largest:,} bytes")
    await stream.aclose()
    data = bytes(received)
    if data[:2] == b"\x1f\x8b":  # some send gzip although none was asked for
        packed = zlib.decompressobj(zlib.MAX_WBITS | 16)
        data = packed.decompress(data, largest)
        if not packed.eof:
            raise httpx2.ReadError(
                f"the answer has more than {largest:,} bytes, or is cut"
            )
    response.stream = httpx2.ByteStream(data)
