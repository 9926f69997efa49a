"""Errors for users; anything else is a bug and keeps its traceback."""

import errno
import os
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

_OF_DISK = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS),
    *(errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EEXIST, errno.ENAMETOOLONG),
)


class DriftledgerError(Exception):
    """A mistake the user can correct. Its text is one sentence: what was wrong, where, what to do;
    or one for each."""

    def __str__(self) -> str:
        return "; ".join(map(str, self.args))


class ConfigError(DriftledgerError):
    """``params.yaml``, the command line or the environment: a setting is missing, unknown or out of
    bounds."""


class MissingExtraError(ConfigError):
    """A provider needs an optional library."""


class MissingSourceError(ConfigError):
    """A folder, file or repository that a setting names is not on this machine, and may be on
    another."""


class UntrustedCodeError(ConfigError):
    """A provider is code of the checkout, which is not run where the checkout is only read."""


class DataError(DriftledgerError):
    """A dataset cannot be read as it is."""


class CoverageError(DriftledgerError):
    """Too many calls failed, or nothing is left to score."""


class StoreError(DriftledgerError):
    """The call store or an output folder cannot be used."""


class EarlierFormatError(StoreError):
    """An earlier version wrote a file in a format that this one does not read."""


class ServiceError(DriftledgerError):
    """A remote service refuses for a reason that all calls share: the key, the model's name, the
    quota."""


class BudgetError(ServiceError):
    """``max_calls`` or ``max_cost`` is reached; what was paid for is stored."""


class OutOfMemoryError(DriftledgerError):
    """The device has no room for a batch, or for a component's weights; a smaller batch may fit."""


class ComponentError(DriftledgerError):
    """A component gave features that cannot be used, raised, or has lost its process or device."""


class LedgerError(DriftledgerError):
    """``dvc.lock``, evidence or MLflow do not hold what was asked for."""


def unknown_name(what: str, name: str, valid: Iterable[str]) -> str:
    """Say that a name is unknown, and list valid ones; of many, the nearest."""
    names = sorted(valid)
    nearest = get_close_matches(name, names, n=1)
    hint = f"did you mean {nearest[0]!r}? " if nearest else ""
    more = ""
    if len(names) > 30:
        more = f" and {len(names) - 8} more, which 'driftledger models' lists"
        names = get_close_matches(name, names, n=8, cutoff=0)
    listed = ", ".join(names) or "(none)"
    return f"{what} {name!r} is unknown; {hint}valid: {listed}{more}"


def first_few(things: Sequence[str], most: int = 5) -> str:
    """Join the first few, and say how many more there are: ``a; b; and 3 more``."""
    named = list(things[:most])
    if len(things) > most:
        named.append(f"and {len(things) - most} more")
    return "; ".join(named)


def is_of_disk(error: BaseException) -> bool:
    """Return True if the disk cannot be used, or a file or folder is in the way."""
    return isinstance(error, OSError) and error.errno in _OF_DISK


def explain_disk(error: OSError) -> str:
    """Explain an error of the disk in one sentence: where, what, and what to do."""
    place = str(error.filename2 or error.filename or "a file")
    home = os.environ.get("HOME", "")
    advice = "correct that"
    if home and place.startswith(f"{home}/") and not Path(home).is_dir():
        advice = f"HOME is {home}, which is not a folder: set it to one"
    return f"{place}: {error.strerror}; {advice} and run again"
