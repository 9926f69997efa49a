"""``model.sig`` of model-signing: who vouches for the files of a checkpoint's folder.

Whom to believe the reader's environment says, and no file of a checkout.
"""

import os
from pathlib import Path
from typing import Any

from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import ConfigError
from driftledger.core.escaping import for_line
from driftledger.core.extras import import_extra

SIGNATURE = "model.sig"
KEY, IDENTITY, ISSUER = (f"DRIFTLEDGER_MODEL_{name}" for name in ("KEY", "IDENTITY", "ISSUER"))
"""A file with a public key; or who signs by Sigstore, and who vouches for their identity."""


def signed_by(folder: Path) -> dict[str, str]:
    """Who signed every file of the folder: the SHA-256 of a public key, or an identity and its issuer.

    Raises:
        ConfigError: the environment names nobody, or the signature does not hold.
        MissingExtraError: the library is not installed.
    """
    import_extra("OpenSSL")  # which the library needs and does not ask for
    signing, errors = import_extra("model_signing"), import_extra("sigstore.errors")
    invalid = import_extra("cryptography.exceptions").InvalidSignature
    refused = (ValueError, LookupError, TypeError, AttributeError, OSError, errors.Error, invalid)
    file = folder / SIGNATURE
    try:
        who, check = _who(signing.verifying.Config())
    except refused as error:
        said = for_line(str(error)) or type(error).__name__
        raise ConfigError(f"{KEY}={os.environ.get(KEY, ''):.200} is no public key ({said:.200}); mend it") from None
    try:
        check.set_hashing_config(signing.hashing.Config().set_ignored_paths(paths=[file])).verify(folder, file)
    except refused as error:
        said = for_line(str(error)) or type(error).__name__
        raise ConfigError(
            f"{file} does not hold for the files beside it and {' of '.join(who.values())} ({said:.300}); get the "
            "checkpoint anew, or name the right signer"
        ) from None
    return who


def _who(config: Any) -> tuple[dict[str, str], Any]:
    """Whom the environment names, and what checks their signature."""
    key, identity, issuer = (os.environ.get(name) for name in (KEY, IDENTITY, ISSUER))
    if key:
        serialization = import_extra("cryptography.hazmat.primitives.serialization")
        public = serialization.load_pem_public_key(Path(key).read_bytes())
        der = public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        return {"key": sha256_bytes(der)}, config.use_elliptic_key_verifier(public_key=key)
    if identity and issuer:
        who = {"identity": identity, "issuer": issuer}
        return who, config.use_sigstore_verifier(identity=identity, oidc_issuer=issuer)
    raise ConfigError(
        f"the checkpoint carries a {SIGNATURE}; set {KEY} to a file with its signer's public key, or {IDENTITY} and "
        f"{ISSUER}, or remove it"
    )
