"""RFC 3161 timestamps: an authority's word on when a signed statement was there, checked offline.

What is stamped is the SHA-256 of the canonical envelope, so that the authority sees nothing of the statement. A token
is kept as the authority's whole response, which ``openssl ts -verify`` reads too.
"""

import urllib.error
import urllib.request
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from driftledger.core.errors import ConfigError, LedgerError
from driftledger.core.escaping import for_line
from driftledger.core.extras import import_extra
from driftledger.core.shortening import shortened
from driftledger_check.dsse import Envelope, Refused, Stamp
from driftledger_check.strict_json import canonical

_SECONDS = 30
_MOST_BYTES = 100_000
"""Of a response, which has about 6,000 with its certificates."""
_AHEAD = timedelta(minutes=10)
"""That an authority's clock may be ahead of the reader's."""


class Stamped(NamedTuple):
    """When the envelope was there, by an authority that the reader trusts."""

    at: datetime
    authority: str
    """The name in the certificate that signed the timestamp."""

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%dT%H:%M:%SZ} by {for_line(self.authority)}"


def stamp(envelope: Envelope, authority: str) -> Stamp:
    """Ask an authority to stamp an envelope.

    Args:
        authority: its address, http or https.

    Raises:
        LedgerError: it cannot be reached, or its answer is no timestamp of this envelope.
        MissingExtraError: the extra ``timestamps`` is not installed.
    """
    client = import_extra("rfc3161_client")
    if not authority.startswith(("http://", "https://")):
        raise ConfigError(f"--timestamp takes the http or https address of an authority, and not {for_line(authority)}")
    data = canonical(envelope.to_dict())
    builder = client.TimestampRequestBuilder().data(data).hash_algorithm(client.base.HashAlgorithm.SHA256)
    request = builder.nonce(nonce=True).cert_request(cert_request=True).build()
    token = _post(authority, request.as_bytes())
    try:
        told = client.decode_timestamp_response(token).tst_info
        same = told.message_imprint.message.hex() == envelope.sha256 and told.nonce == request.nonce
    except ValueError as error:
        raise LedgerError(f"{_who(authority)} gives no timestamp ({shortened(str(error))})") from None
    if not same:
        raise LedgerError(f"{_who(authority)} stamped something else than it was asked to")
    return Stamp(authority, token)


def check_stamp(envelope: Envelope, given: Stamp, authorities: Sequence[Any]) -> Stamped | Refused | str:
    """When the envelope was there; or what is wrong with the timestamp; or why nobody here vouches for it.

    Args:
        authorities: the certificates, of ``cryptography``, that the reader trusts.

    Raises:
        MissingExtraError: the extra ``timestamps`` is not installed.
    """
    client = import_extra("rfc3161_client")
    try:
        response = client.decode_timestamp_response(given.token)
        told = response.tst_info
        [signer] = response.signed_data.signer_infos
        name = _name_of(signer, response.signed_data.certificates)
    except Exception:  # of hostile bytes: the two libraries that parse them raise more than they document
        return Refused("cannot be read")
    if told.message_imprint.message.hex() != envelope.sha256:
        return Refused("is of another envelope")
    at = told.gen_time.astimezone(UTC)
    if at > datetime.now(UTC) + _AHEAD:
        return Refused(f"is of the future: {at:%Y-%m-%dT%H:%M:%SZ}")
    if not authorities:
        return "no authority is trusted here; name certificates with --authorities"
    try:
        client.VerifierBuilder(roots=list(authorities)).build().verify_message(response, canonical(envelope.to_dict()))
    except Exception as error:  # the same
        return f"it is by none of the authorities in --authorities ({shortened(str(error))})"
    return Stamped(at, name)


def read_authorities(path: Path) -> list[Any]:
    """The certificates in a PEM file.

    Raises:
        ConfigError: it is missing, or holds none.
    """
    from cryptography.x509 import load_pem_x509_certificates

    try:
        return load_pem_x509_certificates(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"--authorities: {for_line(str(path))} cannot be read ({error.strerror})") from None
    except ValueError:
        raise ConfigError(f"--authorities: {for_line(str(path))} holds no certificates in PEM") from None


def _name_of(signer: Any, certificates: Sequence[bytes]) -> str:
    from cryptography.x509 import load_der_x509_certificate

    with warnings.catch_warnings():  # about certificates that somebody made up
        warnings.simplefilter("ignore")
        known = map(load_der_x509_certificate, certificates)
        sid = (signer.issuer, signer.serial_number)
        named = [each.subject for each in known if (each.issuer, each.serial_number) == sid]
    if len(named) > 1:
        raise ValueError("two certificates could be the signer's")
    return str((named or [signer.issuer])[0].rfc4514_string())


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def _post(authority: str, query: bytes) -> bytes:
    request = urllib.request.Request(authority, query, {"Content-Type": "application/timestamp-query"})
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=_SECONDS) as response:
            token: bytes = response.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise LedgerError(
            f"{_who(authority)} does not answer ({for_line(str(reason)):.200}); nothing is written: run again, name "
            "another, or leave --timestamp out"
        ) from None
    if len(token) > _MOST_BYTES:
        raise LedgerError(f"{_who(authority)} answers more than {_MOST_BYTES:,} bytes, which no timestamp has")
    return token


def _who(authority: str) -> str:
    return f"the timestamp authority {for_line(authority):.200}"
