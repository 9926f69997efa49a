"""Classes named by their place, ``package.module:Name``: how one is written, named and imported.

What a place names is somebody's code, and importing it runs it. So only what people set may be imported by its place:
never what a record, a card or a lock says.
"""

import re
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from driftledger.core.errors import ConfigError, DriftledgerError
from driftledger.core.escaping import for_line
from driftledger.core.strict import Strict

LONGEST = 200
"""Characters of a provider's name or place."""
_WORDS = r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*"
_PLACE = re.compile(f"{_WORDS}:{_WORDS}")


class Provided(Strict):
    """What a provider's class is: it has a name in the registry, or is known by its place."""

    provider: ClassVar[str]
    """Its name in the registry; where a class sets none, it is ``package.module:Class``."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if "provider" not in cls.__dict__:  # what it inherits is the name of another class
            cls.provider = place_of(cls)

    @classmethod
    def is_named(cls, name: str) -> None:
        """It was found under this name in its module. A class knows its own; one made of functions learns it here."""


def is_place(provider: str) -> bool:
    """Whether a provider is meant as a place, and not as a name in the registry."""
    return ":" in provider


def place_of(kind: type) -> str:
    """The place of a class, by which :func:`import_place` finds it.

    >>> place_of(Provided)
    'driftledger.core.places:Provided'
    """
    return f"{kind.__module__}:{kind.__qualname__}"


def import_place(place: str, folder: Path | None = None) -> Any:
    """Import what stands at a place.

    Args:
        place: of installed code, or of a module in ``folder``, which comes last on Python's path: it can stand for
            nothing that is installed.

    Raises:
        ConfigError: it is no place, cannot be imported, or there is nothing of that name.
    """
    if len(place) > LONGEST or not _PLACE.fullmatch(place):
        raise ConfigError(f"{place!r:.80} is no place of a class; write package.module:Class, in letters, digits and _")
    module, _, name = place.partition(":")
    if folder is not None and str(folder) not in sys.path:
        sys.path.append(str(folder))
    try:
        found: Any = import_module(module)
    except ModuleNotFoundError as error:
        raise ConfigError(_not_found(module, error, folder)) from None
    except DriftledgerError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{module} cannot be imported ({_raised(error)}); mend it") from None
    for word in name.split("."):
        if not hasattr(found, word):
            where = getattr(sys.modules[module], "__file__", None) or "a package without code"
            raise ConfigError(f"{module} ({where}) has no {name}; name one of its classes")
        found = getattr(found, word)
    if isinstance(found, type) and issubclass(found, Provided):
        found.is_named(name)
    return found


def _not_found(module: str, error: ModuleNotFoundError, folder: Path | None) -> str:
    if error.name is not None and f"{module}.".startswith(f"{error.name}."):
        there = f" in {folder} or" if folder is not None else ""
        return f"there is no module {error.name!r}{there} among what is installed; put it there, or mend the name"
    return f"{module} imports {error.name}, which is not installed; install it"


def _raised(error: BaseException) -> str:
    """The exception on one line, with where it was raised."""
    [*_, last] = traceback.extract_tb(error.__traceback__) or [None]
    if isinstance(error, SyntaxError):
        where = f" in {error.filename}, line {error.lineno}"
        said = error.msg
    else:
        where = f" in {last.filename}, line {last.lineno}" if last else ""
        said = str(error)
    return for_line(f"{type(error).__name__}: {said:.200}{where}")
