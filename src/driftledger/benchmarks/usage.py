"""Time, tokens and money that calls took: a line per call beside records, totals beside a score.

Only calls of services and checkpoints are noted. No score, fingerprint or rank depends on them.
"""

import math
from collections.abc import Sequence
from pathlib import Path

from driftledger.benchmarks.records import read_records
from driftledger.core.canonical import Json
from driftledger.core.files import Record, read_json, read_jsonl
from driftledger.core.grouping import grouped
from driftledger.core.strict import Name, Strict
from driftledger.core.types import Usage

CALLS = "usage.jsonl"
"""Beside ``records.jsonl``: a :class:`CallUsage` per line."""
USAGE = "usage.json"
"""Beside ``score.json``: the :class:`ScoreUsage`."""


class CallUsage(Record):
    """A line of ``usage.jsonl``: what a call took."""

    key: str
    """The key of the call, as in its record."""
    role: Name
    service: bool = False
    """True for a service, whose calls may cost money."""
    usage: Usage = Usage()
    """Without seconds where nothing is known of it."""

    def to_dict(self) -> Json:
        """Return it JSON-ready, without what has its default."""
        known = self.model_dump(mode="json", exclude_defaults=True)
        return {"schema": self.schema_, **known}


class RoleUsage(Strict):
    """Totals of a role's calls, each counted once, however many samples share it.

    A total of which nothing is known is None.
    """

    service: bool
    """True for a service; its calls cost what ``cost`` says, and those of a checkpoint nothing."""
    calls: int
    """Those with an answer: failed calls are in no total."""
    unknown: int
    """Those of which nothing is known, since an earlier version noted nothing."""
    seconds: float | None
    """Of the calls whose duration is known."""
    input_tokens: int | None
    output_tokens: int | None
    """Of the calls whose tokens were counted."""
    cost: float | None
    """None unless the price of every call is known."""

    @property
    def tokens(self) -> int:
        """Input and output tokens that were counted."""
        return (self.input_tokens or 0) + (self.output_tokens or 0)


class ScoreUsage(Record):
    """``usage.json`` of a score's folder: what the calls behind the score took."""

    samples: int
    """Samples or questions that were asked about."""
    roles: dict[str, RoleUsage]
    """Role → its totals, for roles that a service or a checkpoint played."""

    @property
    def seconds_per_sample(self) -> float | None:
        """Seconds that the calls about a sample took together."""
        return self._per_sample([role.seconds for role in self.roles.values()])

    @property
    def usd_per_1000(self) -> float | None:
        """Money per 1,000 samples; None without a service, or if one call of it has no price."""
        costs = [role.cost for role in self.roles.values() if role.service]
        money = self._per_sample(costs)
        return None if money is None else 1000 * money

    @property
    def tokens_per_sample(self) -> float | None:
        """Input and output tokens per sample, of the roles whose tokens are counted."""
        tokens = [role.tokens for role in self.roles.values() if role.tokens]
        return self._per_sample(tokens)

    def _per_sample(self, totals: Sequence[float | None]) -> float | None:
        """Divide a sum by the samples; None if nothing or not everything is known."""
        unknown = any(role.unknown for role in self.roles.values())
        known = [total for total in totals if total is not None]
        if unknown or not known or len(known) < len(totals):
            return None
        return math.fsum(known) / self.samples


def read_usage(folder: Path) -> ScoreUsage | None:
    """Read the totals in a score's folder; None if there are none.

    Raises:
        StoreError: the file cannot be read.
    """
    file = folder / USAGE
    return read_json(file, ScoreUsage) if file.is_file() else None


def read_calls(folder: Path) -> list[CallUsage]:
    """Read what the calls in a folder of records took; errors as in :func:`read_usage`."""
    file = folder / CALLS
    return read_jsonl(file, CallUsage) if file.is_file() else []


def usage_behind(folder: Path) -> ScoreUsage | None:
    """Add up what the calls in a folder of records took; None where none is noted.

    Raises:
        StoreError: its files cannot be read.
    """
    calls = read_calls(folder)
    if not calls:
        return None
    units = {record.unit for record in read_records(folder) if record.step}
    roles = grouped(calls, lambda call: call.role)
    totals = {role: _total(own) for role, own in roles.items()}
    return ScoreUsage(samples=len(units), roles=totals)


def _total(calls: Sequence[CallUsage]) -> RoleUsage:
    used = [call.usage for call in calls]
    seconds = [usage.seconds for usage in used if usage.seconds]
    costs = [usage.cost for usage in used if usage.cost is not None]
    read = [usage.input_tokens for usage in used if usage.input_tokens is not None]
    written = [usage.output_tokens for usage in used if usage.output_tokens is not None]
    return RoleUsage(
        service=calls[0].service,
        calls=len(calls),
        unknown=len(calls) - len(seconds),
        seconds=math.fsum(seconds) if seconds else None,
        input_tokens=sum(read) if read else None,
        output_tokens=sum(written) if written else None,
        cost=math.fsum(costs) if len(costs) == len(calls) else None,
    )
