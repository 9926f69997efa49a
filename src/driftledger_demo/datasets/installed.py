"""Data files that come inside other people's wheels, found without importing them, and known by their hash."""

from importlib import metadata
from pathlib import Path

from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import DataError


def read_installed(distribution: str, version: str, file: str, sha256: str) -> bytes:
    """The bytes of a file of a distribution.

    Args:
        version: the one that carries these bytes, for people.
        file: relative to where packages are installed.

    Raises:
        DataError: it is not there, or is another than the one that is known.
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


def installed_path(distribution: str, file: str) -> Path:
    """Where a file of a distribution is."""
    return Path(str(metadata.distribution(distribution).locate_file(file)))
