"""The certificates and proxies that the environment names for asking services."""

import os
import re
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from driftledger.core.errors import ConfigError
from driftledger.core.text import shortened

if TYPE_CHECKING:
    import ssl

_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
"""What names files and folders; the last is read by requests, with which MLflow and DVC ask."""
_PROXIES = ("all_proxy", "http_proxy", "https_proxy")
_PROXY = re.compile(
    r"(?i:https?|(?P<socks>socks5h?))://([^/\s]*@)?([\w.-]+|\[[\da-f:.]+\])"
    r"(:(\d{1,4}|[1-5]\d{4}|6[0-5]\d{3}))?/?"
)


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
    """Read certificates once for all clients: with 150 of them that takes 30 ms of CPU."""
    import httpx2

    context = httpx2.create_ssl_context()
    if values[-1]:  # libraries set it where they are imported
        context.keylog_filename = values[-1]
    return context


def check_network() -> None:
    """Look at the certificates and proxies that the environment names, before any call.

    Raises:
        ConfigError: one cannot be used. No proxy is shown, since it may hold a password.
    """
    certificates()
    for name, address in os.environ.items():
        if not address or name.lower() not in _PROXIES:
            continue
        proxy = _PROXY.fullmatch(address if "://" in address else f"http://{address}")
        if proxy is None:
            raise _refused(name, "holds no address such as http://host:3128")
        if proxy["socks"] and find_spec("socksio") is None:
            problem = "names a SOCKS proxy, which takes `pip install socksio`"
            raise _refused(name, problem)


def _refused(variable: str, problem: str) -> ConfigError:
    return ConfigError(
        f"the environment variable {variable} {problem}; correct or unset it"
    )
