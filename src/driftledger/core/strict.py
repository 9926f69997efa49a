"""Strict types that pydantic checks: settings, names, paths.

Settings reject a misspelt key.

Every field that may be joined to a folder has one of the types below, so that nothing a file says
leads out of it. Prose, which is only shown, is :data:`Words`.
"""

import re
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    StringConstraints,
    ValidationError,
    model_validator,
)

from driftledger.core.errors import first_few, unknown_name
from driftledger.core.text import for_line

ID_RULE = "use up to 100 of A-Z a-z 0-9 _ - . and no leading dot"
_ID = r"^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}$"
_UNFIT = re.compile(r"[\x00-\x1f\x7f-\x9f\\\u2028\u2029\ud800-\udfff]|\A[A-Za-z]:")
"""Control characters, backslashes, line separators, halves of characters; and a drive."""


class _Unknown(str):
    """The sentence about an unknown key, in place of the key's value."""


class Strict(BaseModel):
    """A frozen model that answers an unknown key with the nearest known one."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        """Replace the value of an unknown key by a sentence, which pydantic then reports."""
        if isinstance(data, dict):
            for key in data.keys() - cls.model_fields.keys():
                data = data | {
                    key: _Unknown(unknown_name("setting", str(key), cls.model_fields))
                }
        return data


def mistakes(error: ValidationError) -> list[str]:
    """List everything that is wrong as ``a.b: what``."""
    sentences = []
    for mistake in error.errors(include_url=False):
        place = mistake["loc"]
        message = mistake["msg"].removeprefix("Value error, ")
        value = mistake["input"]
        if isinstance(value, _Unknown):
            place = place[:-1]
            message = value
        elif isinstance(value, str | int | float):
            message += f" (got {value!r:.80})"
        where = for_line(".".join(map(str, place)))
        sentences.append(f"{where}: {message}" if where else message)
    return sentences


def explain(error: ValidationError, where: str) -> str:
    """Name the first mistake as ``where: a.b: what``, and count the others."""
    return f"{where}: {first_few(mistakes(error), 1)}"


def is_none(value: object) -> bool:
    """Return True if a field has no value, so that it is left out of the file."""
    return value is None


def is_id(text: str) -> bool:
    """Return True if a text may be an id, which is a file name on every disk."""
    return re.fullmatch(_ID, text) is not None


def is_relative_path(text: str) -> bool:
    """Return True if a text is a path below a folder, with ``/`` between names.

    >>> is_relative_path("images/a b.png")
    True
    >>> [is_relative_path(path) for path in ("../a.png", "/etc/passwd", "a//b", r"C:\\a", "")]
    [False, False, False, False, False]
    """
    parts = text.split("/")
    if _UNFIT.search(text) or not {"", ".", ".."}.isdisjoint(parts):
        return False
    return (
        max(len(part.encode()) for part in parts) <= 255 and len(text.encode()) <= 4096
    )


def _checked_path(text: str) -> str:
    if not is_relative_path(text):
        raise ValueError("it is not a path below a folder")
    return text


Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
"""A catalogue entry, a benchmark or a stage: a folder, an MLflow metric and, joined by ``-``, a
stage of DVC."""
Id = Annotated[str, StringConstraints(pattern=_ID)]
"""A sample or a question."""
RelativePath = Annotated[str, AfterValidator(_checked_path)]
Version = Annotated[
    str,
    StringConstraints(pattern=r"^([0-9]{1,6}(\.[0-9]{1,6}){1,3}[a-z0-9.+]{0,20})?$"),
]
"""The version of driftledger, as ``driftledger.__version__``; empty if unknown."""
Md5 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}(\.dir)?$")]
"""DVC's name for a file in its cache, or a folder."""
Words = Annotated[str, StringConstraints(max_length=1_000_000)]
"""Text that is shown to people, and never joined to a path."""
