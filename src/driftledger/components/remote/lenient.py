"""What a service says beside its answer, read leniently: the answer is paid for, and an odd figure is no reason to ask
for it again."""

from typing import Annotated, Any, TypeAlias

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

_MOST_TOKENS = 2**40


def _or_none(value: object, read: ValidatorFunctionWrapHandler) -> Any:
    try:
        return read(value)
    except ValidationError:
        return None


OR_NONE = WrapValidator(_or_none)
"""Marks a field of which None is kept where it holds anything but what it should."""

TokenCount: TypeAlias = Annotated[Annotated[int, Field(ge=0, le=_MOST_TOKENS)] | None, OR_NONE]
Label: TypeAlias = Annotated[str | None, OR_NONE]
