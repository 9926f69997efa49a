"""Checks of the time, tokens and money that calls took: totals of a score, calls of its records."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from driftledger_check.bundle import Folder, Json, field
from driftledger_check.report import Line

CALLS = "usage.jsonl"
TOTALS = "usage.json"
_RECORDS = "records.jsonl"


def check_calls(folder: Folder) -> Iterator[Line]:
    """Check that every answered call of a role is noted once, and no other call."""
    if CALLS not in folder.names:
        return
    calls = folder.rows(CALLS)
    roles = set(field(calls, "role"))
    answered = set()
    for record in folder.rows(_RECORDS):
        for result in record["results"]:
            if result["outcome"] != "failed" and result["role"] in roles:
                answered.add((result["role"], result["key"]))
    noted = {(call["role"], call["key"]) for call in calls}
    keys = sorted(key for _, key in noted)
    fits = noted <= answered and keys == sorted({key for _, key in answered})
    where = f"{folder.path}/{CALLS}"
    if fits and len(calls) == len(noted):
        yield Line(where, "reproduced")
    else:
        what = f"its calls are not those that {_RECORDS} has answers of, each once"
        yield Line(where, "differs", what)


def check_totals(score: Folder, records: Folder) -> Iterator[Line]:
    """Check that the totals beside a score are those of the calls behind its records."""
    if TOTALS not in score.names:
        return
    calls = records.rows(CALLS)
    units = {record["unit"] for record in records.rows(_RECORDS) if record["step"]}
    by_role: dict[str, list[Json]] = {}
    for call in calls:
        by_role.setdefault(call["role"], []).append(call)
    expected: dict[tuple[str, ...], Any] = {("samples",): len(units)}
    for role, own in by_role.items():
        for key, value in _total(own).items():
            expected["roles", role, key] = value
    content = score.json(TOTALS)
    stored: dict[tuple[str, ...], Any] = {("samples",): content["samples"]}
    for role, total in content["roles"].items():
        for key, value in total.items():
            stored["roles", role, key] = value
    for place in sorted(expected.keys() | stored.keys()):
        where = f"{score.path}/{TOTALS}: {'.'.join(place)}"
        one = stored.get(place)
        other = expected.get(place)
        if one == other and type(one) is type(other):
            yield Line(where, "reproduced")
        else:
            source = f"{records.path}/{CALLS}"
            what = f"it is {one!s:.80}, and {source} gives {other!s:.80}"
            yield Line(where, "differs", what)


def _total(calls: Sequence[Json]) -> dict[str, Any]:
    """Add up what is known of a role's calls."""
    used = [call.get("usage", {}) for call in calls]
    known = {}
    for key in ("input_tokens", "output_tokens", "cost"):
        known[key] = [usage[key] for usage in used if usage.get(key) is not None]
    # a call of a batch has tokens or a cost, and no duration
    seconds = [usage.get("seconds", 0.0) for usage in used if usage]
    read = known["input_tokens"]
    written = known["output_tokens"]
    costs = known["cost"]
    return {
        "service": calls[0].get("service", False),
        "calls": len(calls),
        "unknown": len(calls) - len(seconds),
        "seconds": math.fsum(seconds) if seconds and all(seconds) else None,
        "input_tokens": sum(read) if read else None,
        "output_tokens": sum(written) if written else None,
        "cost": math.fsum(costs) if len(costs) == len(calls) else None,
    }
