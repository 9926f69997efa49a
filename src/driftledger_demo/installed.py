"""Files that installed distributions carry; nothing of these distributions is imported."""

from importlib import metadata
from pathlib import Path

from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import DataError


def installed_path(distribution: str, file: str) -> Path:
    """Return the path of a file, which is relative to where packages are installed."""
    return Path(str(metadata.distribution(distribution).locate_file(file)))


def read_installed(distribution: str, version: str, file: str, sha256: str) -> bytes:
    """Return the bytes of a file of a distribution.

    Args:
        version: the one that carries these bytes, for the message.

    Raises:
        DataError: the file is missing, or is not the known one.
    """
    try:
        data = installed_path(distribution, file).read_bytes()
    except (OSError, metadata.PackageNotFoundError):
        data = b""
    if sha256_bytes(data) != sha256:
        raise DataError(
            f"{file} is not the file that {distribution} {version} carries; "
            f"run: pip install --force-reinstall '{distribution}=={version}'"
        )
    return data
