"""MM-Vet's results: one JSON object, question id → answer (github.com/yuweihao/MM-Vet, ``results/``)."""

from collections.abc import Iterator
from typing import Any

from driftledger.components.models.predictions.rows import PredictionRow, decoded, parse_json, text_row
from driftledger.core.errors import ConfigError


class _Pairs(list[tuple[str, Any]]):
    """A JSON object with all of its keys, also those that are there twice."""


def read(data: bytes, where: str, answer: str | None) -> Iterator[PredictionRow]:
    """A row per key, whose only cell is ``id``.

    Raises:
        ConfigError: it is no JSON object.
    """
    found = parse_json(decoded(data, where), where, object_pairs_hook=_Pairs)
    if not isinstance(found, _Pairs):
        raise ConfigError(f"{where} holds no JSON object of id → answer, as MM-Vet's results are; name its format")
    if answer is not None:
        raise ConfigError(f"{where} has no columns, as MM-Vet's results have none; remove answer")
    for number, (key, value) in enumerate(found, 1):
        given = dict(value) if isinstance(value, _Pairs) else value
        yield text_row(f"entry {number}", {"id": key}, given)
