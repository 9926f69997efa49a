"""Settings that refuse what they do not know, and say so in one sentence."""

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from driftledger.core.errors import unknown_name
from driftledger.core.escaping import for_line


class Strict(BaseModel):
    """A frozen model without room for a misspelt key: an unknown one is answered with the nearest."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            for key in data:
                if key not in cls.model_fields:
                    raise ValueError(unknown_name("setting", str(key), cls.model_fields))
        return data


def explain(error: ValidationError, where: str) -> str:
    """The first thing wrong, as ``where: a.b: what``, and how many more there are."""
    first, *more = error.errors(include_url=False)
    place = for_line(".".join(str(part) for part in first["loc"]))
    said = first["msg"].removeprefix("Value error, ")
    got = f" (got {first['input']!r:.80})" if isinstance(first["input"], str | int | float) else ""
    rest = f"; and {len(more)} more" if more else ""
    return f"{where}: {place}: {said}{got}{rest}" if place else f"{where}: {said}{rest}"
