"""Time, tokens and money that calls took: a line per call beside records, totals beside a score.

Only calls of services and checkpoints are noted. No score, fingerprint or rank depends on them.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import Field, FiniteFloat, NonNegativeInt

from driftledger.benchmarks.records import Records, results_of
from driftledger.components.base import Component
from driftledger.components.service import RemoteComponent
from driftledger.core.canonical import Json
from driftledger.core.files import Record, read_json, read_jsonl
from driftledger.core.grouping import grouped
from driftledger.core.strict import Name, Strict
from driftledger.core.types import Outcome, Usage

CALLS = "usage.jsonl"
"""Beside ``records.jsonl``: a :class:`CallUsage` per line."""
USAGE = "usage.json"
"""Beside ``score.json``: the :class:`ScoreUsage`."""
_SECONDS = 6
_MONEY = 9
"""Decimals that are written."""

NonNegative: TypeAlias = Annotated[FiniteFloat, Field(ge=0)]


class CallUsage(Record):
    """A line of ``usage.jsonl``: what a call took; None where that is not known."""

    key: str
    """The key of the call, as in its record."""
    role: Name
    service: bool
    """True for a service, whose calls may cost money."""
    seconds: NonNegative | None = None
    input_tokens: NonNegativeInt | None = None
    output_tokens: NonNegativeInt | None = None
    cost: NonNegative | None = None
    """In the currency of the component's ``prices``, with attempts that failed."""

    def to_dict(self) -> Json:
        """Return it JSON-ready, without what is not known."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    @property
    def usage(self) -> Usage:
        """What the store keeps of it."""
        return Usage(
            self.input_tokens,
            self.output_tokens,
            seconds=self.seconds or 0.0,
            cost=self.cost,
        )


class RoleUsage(Strict):
    """Totals of a role's calls, each counted once, however many samples share it."""

    service: bool
    """True for a service; its calls cost what ``cost`` says, and those of a checkpoint nothing."""
    calls: int
    """Those with an answer: failed calls are in no total."""
    unknown: int
    """Those whose duration is not known, since an earlier version noted none."""
    seconds: float | None
    """None unless the duration of every call is known."""
    input_tokens: int | None
    output_tokens: int | None
    """Of the calls whose tokens were counted; None if there are none."""
    cost: float | None
    """None unless the price of every call is known."""


class ScoreUsage(Record):
    """``usage.json`` of a score's folder: what the calls behind the score took."""

    samples: int
    """Samples or questions that were asked about."""
    roles: dict[str, RoleUsage]
    """Role → its totals, for roles that a service or a checkpoint played."""

    @property
    def seconds_per_sample(self) -> float | None:
        """Seconds that the calls about a sample took one after another; None if not known."""
        seconds = [role.seconds for role in self.roles.values()]
        return self._per_sample(seconds)

    @property
    def usd_per_1000(self) -> float | None:
        """Money per 1,000 samples; None without a service, or if one call of it has no price."""
        costs = [role.cost for role in self.roles.values() if role.service]
        each = self._per_sample(costs)
        return None if each is None else 1000 * each

    @property
    def tokens_per_sample(self) -> float | None:
        """Input and output tokens per sample, of the roles whose tokens are counted."""
        tokens: list[float | None] = []
        for role in self.roles.values():
            if role.unknown:
                return None
            if role.input_tokens is not None or role.output_tokens is not None:
                tokens.append((role.input_tokens or 0) + (role.output_tokens or 0))
        return self._per_sample(tokens)

    def _per_sample(self, totals: Sequence[float | None]) -> float | None:
        """Divide a sum by the samples; None if a total is missing, or all are."""
        known = [total for total in totals if total is not None]
        if not known or len(known) < len(totals) or not self.samples:
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


def usage_of_calls(
    components: Mapping[str, tuple[str, Component]],
    records: Records,
    stored: Mapping[str, Usage],
) -> list[CallUsage]:
    """List the calls of services and checkpoints behind records, in order, each once.

    Args:
        components: role → catalogue name and component.
        stored: key of a call → its usage, where that is known; if it is of none, the list is empty.
    """
    calls: dict[str, CallUsage] = {}
    for result in results_of(records):
        named = components.get(result.role)
        if result.key in calls or result.outcome is Outcome.FAILED or named is None:
            continue
        _, component = named
        if not component.metered:
            continue
        usage = stored.get(result.key, Usage())
        calls[result.key] = CallUsage(
            key=result.key,
            role=result.role,
            service=isinstance(component, RemoteComponent),
            seconds=round(usage.seconds, _SECONDS) or None,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cost=None if usage.cost is None else round(usage.cost, _MONEY),
        )
    return [*calls.values()] if stored.keys() & calls.keys() else []


def total_usage(calls: Iterable[CallUsage], samples: int) -> ScoreUsage:
    """Add up calls, role by role."""
    by_role = grouped(calls, lambda call: call.role)
    roles = {role: _total(own) for role, own in by_role.items()}
    return ScoreUsage(samples=samples, roles=roles)


def _total(calls: Sequence[CallUsage]) -> RoleUsage:
    read = [call.input_tokens for call in calls if call.input_tokens is not None]
    written = [call.output_tokens for call in calls if call.output_tokens is not None]
    seconds = [call.seconds for call in calls if call.seconds is not None]
    costs = [call.cost for call in calls if call.cost is not None]
    return RoleUsage(
        service=calls[0].service,
        calls=len(calls),
        unknown=len(calls) - len(seconds),
        seconds=round(math.fsum(seconds), _SECONDS)
        if len(seconds) == len(calls)
        else None,
        input_tokens=sum(read) if read else None,
        output_tokens=sum(written) if written else None,
        cost=round(math.fsum(costs), _MONEY) if len(costs) == len(calls) else None,
    )
