"""What the demonstration finds in installed distributions: files, and libraries of the extra demo.

No distribution is imported for its files.
"""

from importlib import metadata
from pathlib import Path

from driftledger.components.base import library_versions
from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import DataError, MissingExtraError
from driftledger.core.registry import not_installed

EXTRA = "demo"
"""The extra of driftledger that installs the demonstration's libraries."""


def lacking(*distributions: str) -> list[str]:
    """Return a sentence if one of these distributions is not installed, and what installs it."""
    try:
        library_versions(*distributions, extra=EXTRA)
    except MissingExtraError as error:
        return [str(error)]
    return []


def installed_path(distribution: str, file: str) -> Path:
    """Return the path of a file, which is relative to where packages are installed.

    Raises:
        MissingExtraError: the distribution is not installed.
    """
    try:
        found = metadata.distribution(distribution)
    except metadata.PackageNotFoundError:
        raise not_installed(distribution, EXTRA) from None
    return Path(str(found.locate_file(file)))


def read_installed(distribution: str, version: str, file: str, sha256: str) -> bytes:
    """Return the bytes of a file of a distribution.

    Args:
        version: the one that carries these bytes, for the message.

    Raises:
        DataError: the file is missing, or is not the known one.
        MissingExtraError: the distribution is not installed.
    """
    path = installed_path(distribution, file)
    try:
        data = path.read_bytes()
    except OSError:
        data = b""
    if sha256_bytes(data) != sha256:
        raise DataError(
            f"{file} is not the file that {distribution} {version} carries; "
            f"run: pip install --force-reinstall '{distribution}=={version}'"
        )
    return data
