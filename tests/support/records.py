"""Folders of records that are not as they were collected, and what calls tell."""

from collections.abc import Iterable
from pathlib import Path

from driftledger.benchmarks.base.records import (
    CARD,
    RECORDS,
    CallFacts,
    CollectedCard,
    CollectedRecord,
    stream_records,
)
from driftledger.components.base import ComponentCard
from driftledger.core.files import write_json, write_jsonl


def write_stage(folder, spec, keys, records, components, protocol):
    """Write what a benchmark collects: records, and the card with components by their names."""
    folder.mkdir(exist_ok=True)
    write_jsonl(folder / RECORDS, records)
    cards = {}
    for role, (name, component) in components.items():
        cards[role] = ComponentCard.of(name, component)
    card = CollectedCard(
        benchmark=spec.name,
        stage=spec.collects.name,
        keys={key: keys[key] for key in spec.collects.keys},
        data_digest="dd",
        components=cards,
        protocol=protocol,
    )
    write_json(folder / CARD, card)


def without(folder: Path, unit: str) -> None:
    """Remove the records of a unit."""
    records = [*stream_records(folder)]
    write_jsonl(folder / RECORDS, [record for record in records if record.unit != unit])


def facts(records: Iterable[CollectedRecord]) -> CallFacts:
    """Return what the calls behind records say."""
    noted = CallFacts()
    for record in records:
        noted.add(record)
    return noted
