"""What differs between two mappings, key by key: two versions of a component, two revisions of ``params.yaml``."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from driftledger.core.canonical import canonical_json
from driftledger.core.escaping import for_line

MOST_SHOWN = 120
"""Characters of a value, beyond which a text for people is cut."""

_BEFORE = 30
"""Characters before the first difference that are shown of two long texts."""


class Change(BaseModel):
    """One value that is not what it was; None where there is, or was, none."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    """The way to the value, with dots: ``settings.detail``."""
    old: Any = None
    new: Any = None

    def __str__(self) -> str:
        old, new = shown_apart(self.old, self.new)
        return f"{for_line(self.key)}: {old} → {new}"


def changes(old: Any, new: Any, key: str = "", *, into_lists: bool = False) -> Iterator[Change]:
    """Every value that differs, in the order of the keys; mappings are entered, all else is compared whole.

    Args:
        into_lists: enter lists of the same length too.

    >>> [str(change) for change in changes({"T": 5, "seeds": {"run": 1}}, {"T": 3, "seeds": {"run": 1}, "new": "x"})]
    ['T: 5 → 3', 'new: nothing → "x"']
    """
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for each in sorted(old.keys() | new.keys(), key=str):
            below = f"{key}.{each}" if key else str(each)
            yield from changes(old.get(each), new.get(each), below, into_lists=into_lists)
    elif into_lists and isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (one, two) in enumerate(zip(old, new, strict=True)):
            yield from changes(one, two, f"{key}[{index}]", into_lists=True)
    elif old != new:
        yield Change(key=key, old=old, new=new)


def shown_apart(one: Any, two: Any) -> tuple[str, str]:
    """Two values that differ, each on one line, inert, and cut where it is long; of long ones the part where they do.

    >>> shown_apart("red " * 100 + "disc", "red " * 100 + "ring")
    ('"…d red red red red red red red disc"', '"…d red red red red red red red ring"')
    """
    texts = ["nothing" if value is None else for_line(canonical_json(value)) for value in (one, two)]
    same = next((i for i, (x, y) in enumerate(zip(*texts, strict=False)) if x != y), min(map(len, texts)))
    if max(map(len, texts)) > MOST_SHOWN and same > _BEFORE:
        texts = [f'"…{text[same - _BEFORE :]}' for text in texts]
    return _cut(texts[0]), _cut(texts[1])


def _cut(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}… ({len(text)} characters)"
