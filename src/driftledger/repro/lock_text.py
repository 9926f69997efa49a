"""The text of a ``dvc.lock``, stage by stage, as DVC writes it.

For each stage that has run, DVC parses all of the lock, puts the stage into it, and writes all of it. What a stage
looks like there does not depend on the others: here each is written once, and the whole is put together from the parts.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from dvc.utils.serialize import _yaml, dumps_yaml, parse_yaml_for_update

HEAD = "schema: '2.0'\nstages:\n"
"""How a lock begins that holds stages and nothing else."""

_STAGE = re.compile(r"^(?=  [^ \n])", re.MULTILINE)
_STAGES = "stages:\n"
_UNFIT = re.compile(r"^\S|(?:^|\s)#|[&*]id\d", re.MULTILINE)
"""Something beside stages, a comment, or a value that stands elsewhere: all that reaches across stages."""


class Entry(NamedTuple):
    """A stage in a lock."""

    text: str
    moves: bool
    """Whether DVC may write it otherwise once it has read it."""


class LockText:
    """A lock's text, in which stages are replaced."""

    def __init__(self, texts: Mapping[str, str], moving: Collection[str] = ()) -> None:
        """Take the text of each stage; ``moving``: those that DVC may write otherwise once it has read them."""
        self._texts = dict(texts)
        self._moving = set(moving)
        self._is_new = True

    def __str__(self) -> str:
        return HEAD + "".join(self._texts.values())

    def put(self, name: str, entry: Entry) -> bool:
        """Put a stage in; whether it was otherwise before.

        All others are parsed and written again, as DVC does each time, until that changes nothing more.
        """
        if not self._is_new:
            for other in self._moving - {name}:
                again = _again(other, self._texts[other])
                if again == self._texts[other]:
                    self._moving.discard(other)
                self._texts[other] = again
        self._is_new = False
        self._moving.discard(name)
        if entry.moves:
            self._moving.add(name)
        changed = self._texts.get(name) != entry.text
        self._texts[name] = entry.text
        return changed

    @property
    def is_settled(self) -> bool:
        """Whether DVC would write it as it is, once it had read it."""
        return not self._moving


def settled(text: str) -> LockText | None:
    """A lock whose text is known to be settled, which need not be parsed; None where it holds more than stages."""
    names = [stage.partition(":\n")[0].strip() for stage in _STAGE.split(text.removeprefix(HEAD))[1:]]
    texts = _split(text, names)
    return None if texts is None else LockText(texts)


def parsed(text: str, path: str) -> LockText | None:
    """A lock as DVC would write it again; None where its text cannot be put together from those of its stages.

    Raises:
        dvc.utils.serialize.YAMLFileCorruptedError: it is not YAML.
    """
    if not text:
        return LockText({})
    data = _yaml.parse_yaml(text, path)  # of which what DVC has parsed is remembered
    if not (isinstance(data, dict) and isinstance(data.get("stages"), dict)):
        return None
    stages: dict[str, Any] = data["stages"]
    texts = _split(text, list(stages))
    if texts is not None and not _moves(stages) and texts == {name: _written(name, stages[name]) for name in stages}:
        return LockText(texts)
    return _parsed_for_update(text, path)


def _parsed_for_update(text: str, path: str) -> LockText | None:
    """The same by the parser that DVC writes with: it keeps more than the values, and takes ten times as long."""
    data = parse_yaml_for_update(text, path)
    texts = _split(dumps_yaml(data), list(data["stages"]))
    if texts is None:
        return None
    before = _split(text, list(texts)) or {}
    return LockText(texts, [name for name in texts if before.get(name) != texts[name]])


def written(name: str, entry: Mapping[str, Any]) -> Entry | None:
    """The text of a stage; None where it does not stand for itself."""
    text = _written(name, entry)
    return Entry(text, _moves(entry)) if _is_entry(text, name) else None


def read(name: str, text: str) -> Any:
    """What :func:`written` wrote."""
    return parse_yaml_for_update(_STAGES + text, name)["stages"][name]


def _written(name: str, entry: Any) -> str:
    text: str = dumps_yaml({"stages": {name: entry}})
    return text.removeprefix(_STAGES)


def _again(name: str, text: str) -> str:
    return _written(name, read(name, text))


def _moves(value: Any) -> bool:
    """Whether a value may be written otherwise once it has been read, as numbers with exponents are."""
    if isinstance(value, dict):
        return any(_moves(key) or _moves(one) for key, one in value.items())
    if isinstance(value, list):
        return any(map(_moves, value))
    if isinstance(value, str):
        return not (value.isascii() and value.replace("\n", "").isprintable())
    if isinstance(value, float):
        return not repr(value).replace(".", "").removeprefix("-").isdecimal()
    return value is not None and not isinstance(value, int)


def _split(text: str, names: Collection[str]) -> dict[str, str] | None:
    first, *texts = _STAGE.split(text.removeprefix(HEAD))
    if not text.startswith(HEAD) or first or len(texts) != len(names):
        return None
    entries = dict(zip(names, texts, strict=True))
    return entries if all(_is_entry(entry, name) for name, entry in entries.items()) else None


def _is_entry(text: str, name: str) -> bool:
    return text.startswith(f"  {name}:\n") and text.endswith("\n") and _UNFIT.search(text) is None
