"""Which predictions are about what is asked, and how that is told in one sentence."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from driftledger.components.models.predictions.rows import PredictionRow, id_of
from driftledger.core.errors import ConfigError, first_few

_WORD = re.compile(r"\w+")
_DEEPEST, _MOST_COLUMNS = 2, 200


def by_id(rows: Iterable[PredictionRow], rule: str, where: str) -> dict[str, PredictionRow]:
    """Rows by their ids; equal ones are one.

    Raises:
        ConfigError: there is none, a row has no id, or two rows of one id say different things.
    """
    found: dict[str, PredictionRow] = {}
    nameless, contradicted = [], {}
    sample: PredictionRow | None = None
    for row in rows:
        sample = sample or row
        name = id_of(row, rule)
        if name is None:
            nameless.append(row.place)
        elif name not in found or found[name].trouble:  # what failed first may have been asked again
            found[name] = row if name not in found or not row.trouble else found[name]
        elif not row.trouble and _said(row) != _said(found[name]):
            contradicted[name] = f"{name!r:.100} in {found[name].place} and {row.place}"
    if sample is None:
        raise ConfigError(f"{where} holds no prediction; set path to a file that does")
    if nameless:
        named = first_few([repr(each)[:50] for each in column_names(sample.cells)], 20)
        raise ConfigError(
            f"{where}: {len(nameless)} predictions have no id by {rule!r:.100} ({first_few(nameless)}); set id to what "
            f"holds it: {named}"
        )
    if contradicted:
        raise ConfigError(
            f"{where}: {len(contradicted)} ids have several predictions that differ "
            f"({first_few([*contradicted.values()])}); keep one of each, or set id to what tells them apart"
        )
    return found


def _said(row: PredictionRow) -> tuple[str, str, tuple[str, ...]]:
    return row.text, row.question, row.options


def unmatched(found: Mapping[str, PredictionRow], asked: Collection[str], where: str) -> str | None:
    """A sentence on what has no prediction and on predictions about nothing; None where all of both match.

    Raises:
        ConfigError: nothing matches at all.
    """
    sought = dict.fromkeys(asked)
    missing = [name for name in sought if name not in found]
    spare = [name for name in found if name not in sought]
    if len(missing) == len(sought):
        raise ConfigError(
            f"{where}: none of its {len(found)} predictions is about any of the {len(missing)} that are asked for: "
            f"their ids are such as {_few(spare)} and those asked for {_few(missing)}; {_hint(found, set(sought))}"
        )
    parts = []
    if missing:
        parts.append(f"{len(missing)} of {len(sought)} that are asked for have no prediction ({_few(missing)})")
    if spare:
        parts.append(f"{len(spare)} of its {len(found)} predictions are about none of them ({_few(spare)})")
    return f"{where}: {', and '.join(parts)}" if parts else None


def _few(names: Sequence[str]) -> str:
    return first_few([repr(name)[:100] for name in names], 3)


def _hint(found: Mapping[str, PredictionRow], asked: set[str]) -> str:
    """Which other column holds the ids that are asked for."""
    rows, width = [*found.values()][:1000], max(map(len, asked))
    for name in column_names(rows[0].cells):
        for rule in (name, f"{{{name}:0{width}}}"):
            if asked & {id_of(row, rule) for row in rows}:
                return f"set id to {rule!r:.100}, which gives those"
    return "set id to the column that holds those, or to a rule such as 'v1_{index}'"


def column_names(cells: Mapping[str, Any], depth: int = 1) -> list[str]:
    """The names of cells, and of those inside of others as ``doc.question_id``."""
    return [*_names(cells, depth)][:_MOST_COLUMNS]


def _names(cells: Mapping[str, Any], depth: int) -> Iterator[str]:
    for name, value in cells.items():
        if isinstance(value, Mapping) and depth < _DEEPEST:
            yield from (f"{name}.{inner}" for inner in _names(value, depth + 1))
        else:
            yield name


def is_part_of(question: str, asked: str) -> bool:
    """Whether the words of a question are among those of what is asked, in their order and without a gap.

    >>> is_part_of("What is  this?", "What is this? Answer in one word.")
    True
    """
    words = " ".join(_words(question))
    return not words or f" {words} " in f" {' '.join(_words(asked))} "


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
