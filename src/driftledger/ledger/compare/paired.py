"""One metric of two scores: the difference over what both have, its interval, and what that allows to say.

What each unit is worth stands in rows, which are in Git and belong to a version of a score: they are read by the MD5
that the run's lock entry gives them, wherever such bytes are still to be had.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, FiniteFloat

from driftledger.benchmarks.base import Metric
from driftledger.benchmarks.score import Row
from driftledger.core.errors import LedgerError
from driftledger.core.files import parse_jsonl
from driftledger.ledger.lock import LockedFile
from driftledger.ledger.objects.contents import Contents
from driftledger.metrics.exact import exact_mean, round_significant
from driftledger.metrics.intervals import DIGITS, fewest
from driftledger.metrics.paired import (
    Paired,
    minimum_detectable_difference,
    paired_clustered_interval,
    paired_interval,
)

NOT_RANKED = "not ranked: "

_PERCENT = 100.0


class MetricComparison(BaseModel):
    """One metric of two scores. The difference is B's less A's, over what both have; higher is better."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    metric: str
    a: FiniteFloat | None
    """As in A's score file; None where it has no such metric."""
    b: FiniteFloat | None
    difference: FiniteFloat | None = None
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None
    standard_error: FiniteFloat | None = None
    """Of the difference; None, as the three below it, where too few samples are common."""
    df: FiniteFloat | None = None
    p_value: FiniteFloat | None = None
    """Two-sided, of there being no difference."""
    detectable: FiniteFloat | None = None
    """The smallest difference that as many samples, as noisy as these, show with a power of 80 %; above 0."""
    a_common: FiniteFloat | None = None
    """A's value over the common samples alone."""
    b_common: FiniteFloat | None = None
    common: int | None = None
    """How many samples, questions or pairs have a value in both; None where nobody could count."""
    only_a: int | None = None
    only_b: int | None = None
    verdict: str


def read_rows(contents: Contents, file: LockedFile) -> list[Row]:
    """The rows that belong to this very version of a score, fetched from the remote where they are not at hand.

    Raises:
        LedgerError: they are not to be had any more.
        StoreError: the file is not what its name says.
    """
    path = contents.path(file.md5, file.path)
    if path is None:
        contents.fetch([file])
        path = contents.path(file.md5, file.path)
    if path is None:
        reason = f" ({contents.unfetched})" if contents.unfetched else ""
        raise LedgerError(f"{file.path} of that version (md5 {file.md5}) is nowhere here and in no remote{reason}")
    return parse_jsonl(path.read_bytes(), Row, file.path)


def measured(
    metric: Metric, key: str, a: Sequence[Row], b: Sequence[Row], barred: Sequence[str], confidence: float
) -> dict[str, Any]:
    """What :class:`MetricComparison` says beyond the values of the score files.

    Args:
        barred: what forbids a ranking.
        confidence: of the interval.
    """
    ours, theirs = ({row.unit: row for row in rows if _values(metric, key, row)} for rows in (a, b))
    by_group = metric.pairing == "mean"
    groups, others = (
        {unit: row.group if by_group else row.cluster for unit, row in rows.items()} for rows in (ours, theirs)
    )
    common = sorted(unit for unit in ours.keys() & theirs.keys() if groups[unit] == others[unit])
    counts = {"common": len(common), "only_a": len(ours) - len(common), "only_b": len(theirs) - len(common)}
    if barred or not common:
        return counts | {"verdict": NOT_RANKED + (barred[0] if barred else "no sample has a value in both")}
    # A ratio has a value per order or grading, a mean has one.
    one, two = (np.array([exact_mean(_values(metric, key, rows[unit])) for unit in common]) for rows in (ours, theirs))
    drawn = [groups[unit] for unit in common]
    test, scale = (paired_interval, 1.0) if by_group else (paired_clustered_interval, _PERCENT)
    paired = test(one, two, drawn, confidence=confidence)
    return counts | {
        "difference": scale * paired.difference,
        "a_common": scale * paired.a,
        "b_common": scale * paired.b,
        "verdict": _verdict(paired, confidence),
        **_uncertainty(paired, scale, confidence),
    }


def _uncertainty(paired: Paired, scale: float, confidence: float) -> dict[str, float]:
    if paired.interval is None:
        return {}
    detectable = minimum_detectable_difference(paired.standard_error, paired.df, confidence=confidence)
    return {
        "detectable": scale * detectable,
        "low": round_significant(scale * paired.interval.low, DIGITS),
        "high": round_significant(scale * paired.interval.high, DIGITS),
        "standard_error": scale * paired.standard_error,
        "df": paired.df,
        "p_value": paired.p_value,
    }


def _values(metric: Metric, key: str, row: Row) -> list[float]:
    return [value for value in metric.values_in(row, key) if value is not None]


def _verdict(paired: Paired, confidence: float) -> str:
    least = fewest(confidence)
    if paired.free < least:
        return f"{NOT_RANKED}{paired.free} samples can vary, and fewer than {least} show nothing with {confidence:.0%}"
    if paired.interval is None:
        return NOT_RANKED + paired.reason
    low, high = paired.interval
    return "B is higher" if low > 0 else "A is higher" if high < 0 else "no difference that these samples show"
