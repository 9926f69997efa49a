"""Folders of records that are not as they were collected, and what calls tell."""

from collections.abc import Iterable
from pathlib import Path

from driftledger.benchmarks.base.records import (
    RECORDS,
    CallFacts,
    CollectedRecord,
    stream_records,
)
from driftledger.core.files import write_jsonl


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
