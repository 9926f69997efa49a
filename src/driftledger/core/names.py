"""Names, ids and relative paths, as records, cards, manifests and locks hold them.

Every field that may be joined to a folder is of one of these types, so that nothing a file says leads out of it. What
is prose, and only ever shown, is a :data:`Words`.
"""

import os
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, StringConstraints

ID_RULE = "use up to 100 of A-Z a-z 0-9 _ - . and no leading dot"
_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}")
_UNFIT = re.compile(r"[\x00-\x1f\x7f-\x9f\\\u2028\u2029\ud800-\udfff]|\A[A-Za-z]:")
"""Control characters, other systems' separators, line separators, halves of characters; and a drive."""
_LONGEST_PART, _LONGEST_PATH = 255, 4096


def is_id(text: str) -> bool:
    """Whether a sample or question may be called so: it is a file name on every disk."""
    return _ID.fullmatch(text) is not None


def is_relative_path(text: str) -> bool:
    """Whether it names something below a folder, parted by ``/``, and nothing else.

    >>> [is_relative_path(path) for path in ("images/a b.png", "../a.png", "/etc/passwd", "a//b", r"C:\\a", "")]
    [True, False, False, False, False, False]
    """
    parts = text.split("/")
    if _UNFIT.search(text) or not all(parts) or {".", ".."} & {*parts}:
        return False
    return max(len(part.encode()) for part in parts) <= _LONGEST_PART and len(text.encode()) <= _LONGEST_PATH


@lru_cache(2**14)  # the rows of all tables name the same samples and questions
def _checked_id(text: str) -> str:
    if not is_id(text):
        raise ValueError(f"it is no id ({ID_RULE})")
    return text


def _checked_path(text: str) -> str:
    if not is_relative_path(text):
        raise ValueError("it is no path below a folder")
    return text


Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
"""Of a catalogue entry, a benchmark or a stage. It becomes a folder, an MLflow metric and, joined to others by ``-``, a
DVC stage."""
Id = Annotated[str, AfterValidator(_checked_id)]
"""Of a sample or a question."""
RelativePath = Annotated[str, AfterValidator(_checked_path)]
Md5 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}(\.dir)?$")]
"""By which DVC names a file in its cache, or a folder."""
Words = Annotated[str, StringConstraints(max_length=1_000_000)]
"""Shown to people, and never joined to a path."""


def twin(names: Iterable[str]) -> str | None:
    """The first name that occurs twice, capitals aside: some disks keep one file for both."""
    seen = set[str]()
    for name in names:
        if name.casefold() in seen:
            return name
        seen.add(name.casefold())
    return None


def leads_out(path: Path, folder: Path) -> bool:
    """Whether links lead from ``path``, somewhere below ``folder``, to a place outside of it."""
    return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
