"""Time, tokens and money: a line per call, totals per score.

Only calls of services and checkpoints are noted. No score, fingerprint or rank depends on them.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from driftledger.benchmarks.base.records import stream_records
from driftledger.core.files import (
    Record,
    SparseRecord,
    parse_json,
    read_bytes,
    read_jsonl,
)
from driftledger.core.grouping import grouped
from driftledger.core.strict import Name, Strict
from driftledger.core.types import Usage
from driftledger.metrics.exact import round_significant
from driftledger.metrics.intervals import DIGITS
from driftledger.scoring.metric import COSTS
from driftledger.scoring.score import SCORE, Score

CALLS = "usage.jsonl"
"""Beside ``records.jsonl``: a :class:`CallUsage` per line."""
USAGE = "usage.json"
"""Beside ``score.json``: the :class:`ScoreUsage`."""


class CallUsage(SparseRecord):
    """A line of ``usage.jsonl``: the usage of a call."""

    key: str
    """The key of the call, as in its record."""
    role: Name
    service: bool = False
    """True for a service, whose calls may cost money."""
    usage: Usage = Usage()
    """Without seconds where it was made in a batch, or nothing is known of it."""


class RoleUsage(Strict):
    """Totals of a role's calls, each counted once, however many samples share it.

    A total is None if nothing is known about it.
    """

    service: bool
    """True for a service; its calls cost what ``cost`` says, and those of a checkpoint nothing."""
    calls: int
    """Calls with an answer: failed calls are in no total."""
    unknown: int
    """Calls without a note of their usage."""
    seconds: float | None
    """None with calls of batches, whose durations are not known."""
    input_tokens: int | None
    output_tokens: int | None
    counted: int = 0
    """How many calls the token totals cover."""
    cost: float | None
    priced: int = 0
    """How many calls the total cost covers."""
    most_cost: float | None = None
    """The most that all calls may have cost, with their failed attempts; None without prices."""


class ScoreUsage(Record):
    """``usage.json`` of a score's folder: what the calls behind the score took."""

    samples: int
    """Samples or questions that were asked about."""
    roles: dict[str, RoleUsage]
    """Role → its totals, for roles that a service or a checkpoint played."""

    @property
    def uncounted(self) -> str:
        """A phrase on how many service calls were counted; empty if all were."""
        phrases = []
        for name, role in self.roles.items():
            counted = role.counted if role.most_cost is None else role.priced
            if role.service and counted < role.calls:
                phrases.append(f"{counted} of {role.calls} calls of the {name}")
        return " and ".join(phrases)

    @property
    def costs(self) -> dict[str, float]:
        """The costs per sample over all roles, as far as every call was counted.

        Services alone cost money, and tokens are of the roles that count them.
        """
        if any(role.unknown for role in self.roles.values()):
            return {}
        totals: dict[str, list[Any]] = {key: [] for key in COSTS}
        for name, role in self.roles.items():
            totals["seconds_per_sample"].append(role.seconds)
            # generators and checkpoints may count none at all
            if role.counted or (role.service and name != "generator"):
                tokens = (role.input_tokens or 0) + (role.output_tokens or 0)
                is_known = role.counted == role.calls
                totals["tokens_per_sample"].append(tokens if is_known else None)
            if role.service:
                cost = role.cost if role.priced == role.calls else None
                totals["usd_per_1000"].append(cost)
        costs = {}
        for key, values in totals.items():
            if values and None not in values:
                samples = self.samples / 1000 if key == "usd_per_1000" else self.samples
                costs[key] = round_significant(math.fsum(values) / samples, DIGITS)
        return costs


def read_score(folder: Path) -> Score:
    """Read the score in a folder with its costs.

    Raises:
        StoreError: the score is missing, or a file cannot be read.
    """
    usage = folder / USAGE
    totals = read_bytes(usage) if usage.is_file() else None
    return parse_score(read_bytes(folder / SCORE), totals, str(folder))


def parse_score(content: bytes, usage: bytes | None, folder: str) -> Score:
    """Return the score in a folder with its costs, by the bytes of its files.

    Args:
        usage: of the file beside the score, if there is one.

    Raises:
        StoreError: a file cannot be read.
    """
    score = parse_json(content, Score, f"{folder}/{SCORE}")
    if usage is None:
        return score
    totals = parse_json(usage, ScoreUsage, f"{folder}/{USAGE}")
    known = {"costs": totals.costs, "uncounted": totals.uncounted}
    return score.model_copy(update=known)


def read_calls(folder: Path) -> list[CallUsage]:
    """Read the usage of the calls in a folder of records; empty if none is noted.

    Raises:
        StoreError: the file cannot be read.
    """
    file = folder / CALLS
    return read_jsonl(file, CallUsage) if file.is_file() else []


def usage_behind(folder: Path) -> ScoreUsage | None:
    """Add up the usage of the calls in a folder of records; None if none is noted.

    Calibration calls of a judge are the same for every model and are left out.

    Raises:
        StoreError: its files cannot be read.
    """
    calls = read_calls(folder)
    if not calls:
        return None
    units = set[str]()
    checks = set[str]()
    for record in stream_records(folder):
        if record.step:
            units.add(record.unit)
        if record.checks_judge:
            checks.update(result.key for result in record.results)
    calls = [call for call in calls if call.key not in checks]
    roles = grouped(calls, lambda call: call.role)
    totals = {role: _total(own) for role, own in roles.items()}
    return ScoreUsage(samples=len(units), roles=totals)


def _total(calls: Sequence[CallUsage]) -> RoleUsage:
    used = [call.usage for call in calls]
    tokens = [
        (usage.input_tokens, usage.output_tokens)
        for usage in used
        if usage.input_tokens is not None and usage.output_tokens is not None
    ]
    costs = [usage.cost for usage in used if usage.cost is not None]
    most = [usage.most_cost for usage in used if usage.most_cost is not None]
    seconds = [usage.seconds for usage in used if usage != Usage()]
    sent = None
    answered = None
    if tokens:
        sent, answered = (sum(column) for column in zip(*tokens, strict=True))
    return RoleUsage(
        service=calls[0].service,
        calls=len(calls),
        unknown=len(calls) - len(seconds),
        seconds=math.fsum(seconds) if seconds and all(seconds) else None,
        input_tokens=sent,
        output_tokens=answered,
        counted=len(tokens),
        cost=math.fsum(costs) if costs else None,
        priced=len(costs),
        most_cost=math.fsum(most) if most else None,
    )
