"""The text of a ``dvc.lock``, stage by stage, as DVC writes it.

For each stage that has run, DVC parses all of the lock, puts the stage into it, and writes all of it. What a stage
looks like there does not depend on the others: here each is written once, and the whole is put together from the parts.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from dvc.utils.serialize import dumps_yaml, parse_yaml_for_update

HEAD = "schema: '2.0'\nstages:\n"
"""How a lock begins that holds stages and nothing else."""

_STAGE = re.compile(r"^(?=  [^ \n])", re.MULTILINE)
_STAGES = "stages:\n"
_UNFIT = re.compile(r"^\S|(?:^|\s)#|[&*]id\d", re.MULTILINE)
"""Something beside stages, a comment, or a value that stands elsewhere: all that reaches across stages."""


class LockText:
    """A lock's text, in which stages are replaced."""

    def __init__(self, entries: Mapping[str, str], moving: Sequence[str] = ()) -> None:
        """Take the text of each stage; ``moving``: those that may look otherwise once they are parsed and written."""
        self._entries = dict(entries)
        self._moving = set(moving)
        self._is_new = True

    def __str__(self) -> str:
        return HEAD + "".join(self._entries.values())

    def put(self, name: str, text: str) -> bool:
        """Put a stage in; whether it was otherwise before.

        All others are parsed and written again, as DVC does each time, until that changes nothing more.
        """
        if not self._is_new:
            for other in self._moving - {name}:
                again = _again(other, self._entries[other])
                if again == self._entries[other]:
                    self._moving.discard(other)
                self._entries[other] = again
        self._is_new = False
        self._moving.add(name)
        changed = self._entries.get(name) != text
        self._entries[name] = text
        return changed


def parsed(text: str, path: str) -> LockText | None:
    """A lock as DVC would write it again; None where its text cannot be put together from those of its stages.

    Raises:
        dvc.utils.serialize.YAMLFileCorruptedError: it is not YAML.
    """
    if not text:
        return LockText({})
    data = parse_yaml_for_update(text, path)
    if not (isinstance(data, dict) and isinstance(data.get("stages"), dict)):
        return None
    entries = _split(dumps_yaml(data), list(data["stages"]))
    if entries is None:
        return None
    before = _split(text, list(entries)) or {}
    return LockText(entries, [name for name, entry in entries.items() if before.get(name) != entry])


def written(name: str, entry: Mapping[str, Any]) -> str | None:
    """The text of a stage; None where it does not stand for itself."""
    text: str = dumps_yaml({"stages": {name: entry}}).removeprefix(_STAGES)
    return text if _is_entry(text, name) else None


def read(name: str, text: str) -> Any:
    """What :func:`written` wrote."""
    return parse_yaml_for_update(_STAGES + text, name)["stages"][name]


def _again(name: str, text: str) -> str:
    again: str = dumps_yaml({"stages": {name: read(name, text)}})
    return again.removeprefix(_STAGES)


def _split(text: str, names: Sequence[str]) -> dict[str, str] | None:
    first, *texts = _STAGE.split(text.removeprefix(HEAD))
    if not text.startswith(HEAD) or first or len(texts) != len(names):
        return None
    entries = dict(zip(names, texts, strict=True))
    return entries if all(_is_entry(entry, name) for name, entry in entries.items()) else None


def _is_entry(text: str, name: str) -> bool:
    return text.startswith(f"  {name}:\n") and text.endswith("\n") and _UNFIT.search(text) is None
