"""Write a folder of records, or make its records again.

Collecting, ``plan`` and ``verify`` drive the same protocols, so that none of them knows how a
benchmark goes.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple, TypeVar, cast

from driftledger.benchmarks.base.benchmark import Collecting
from driftledger.benchmarks.base.records import (
    CARD,
    RECORDS,
    CollectedRecord,
    RecordedResult,
    results_of,
    stream_records,
)
from driftledger.benchmarks.base.usage import CALLS, CallUsage
from driftledger.collect.call import Call, Planned, walk
from driftledger.core.canonical import open_regular
from driftledger.core.files import (
    link_file,
    new_folder,
    write_json,
    write_jsonl,
)
from driftledger.core.types import Result

R = TypeVar("R")


def write_collected(
    target: Path,
    collecting: Collecting,
    records: Sequence[CollectedRecord],
    calls: Sequence[CallUsage] = (),
) -> None:
    """Write records, images and a card as ``target``, whole or not at all.

    Args:
        calls: the usage of the calls, if it is noted.
    """
    with new_folder(target) as folder:
        for result in results_of(records):
            if result.medium is not None and result.file is not None:
                link_file(result.medium.path, folder / result.file)
        write_jsonl(folder / RECORDS, records)
        write_json(folder / CARD, collecting.card())
        if calls:
            write_jsonl(folder / CALLS, calls)


class Recorded(NamedTuple):
    """A call and its recorded result."""

    call: Call
    place: str
    """The record, for people."""
    gave: RecordedResult


class Replay:
    """Drives protocols with the results in a folder of records.

    The records stay on disk; in memory is where each result is.
    """

    def __init__(self, folder: Path, *, keeps_calls: bool = True) -> None:
        """Look through the records; errors as in :func:`stream_records`."""
        self.folder = folder
        self.calls: dict[str, Recorded] = {}
        """Digest of the key → each call that was asked for, if they are kept."""
        self._keeps_calls = keeps_calls
        self._starts: dict[str, int] = {}
        self._record_at = lru_cache(maxsize=1)(partial(_record_at, folder))
        start = 0
        records = stream_records(folder)
        with open_regular(folder / RECORDS) as lines:
            for record, line in zip(records, lines, strict=True):
                for result in record.results:
                    self._starts[result.key] = start
                start += len(line)

    def __call__(self, planned: Iterable[Planned[R]]) -> Iterator[R]:
        """Yield what the protocols return, one after the other.

        Raises:
            LookupError: no record holds the result of a call.
        """
        for protocol in planned:
            walked = walk(protocol.steps, self._answer)
            call = walked.pending
            if call is not None:
                raise LookupError(
                    f"no record holds what was asked about {call.context.sample}, "
                    f"t={call.context.t}"
                )
            yield cast(R, walked.returned)

    def _answer(self, call: Call) -> Result | None:
        if call.key not in self._starts:
            return None
        record = self._record_at(self._starts[call.key])
        [*_, result] = [result for result in record.results if result.key == call.key]
        if self._keeps_calls:
            self.calls[call.key] = Recorded(call, record.place, result)
        return result


def _record_at(folder: Path, start: int) -> CollectedRecord:
    return next(stream_records(folder, start=start))
