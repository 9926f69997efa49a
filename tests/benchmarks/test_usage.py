"""What calls took: totals by hand, in the score and by the checker, and forged ones."""

import pytest

from driftledger.benchmarks.records import RECORDS, CollectedRecord
from driftledger.benchmarks.usage import (
    CALLS,
    USAGE,
    CallUsage,
    ScoreUsage,
    read_usage,
    usage_behind,
)
from driftledger.core.files import read_json, write_json, write_jsonl
from driftledger_check.bundle import Folder
from driftledger_check.usage import check_calls, check_totals
from tests.support.cases import cases

TOTALS = ["service", "calls", "unknown", "seconds"]
TOTALS += ["input_tokens", "output_tokens", "cost"]
BY_HAND = cases(__file__, "usage")


def opened(path):
    """Open a folder as the checker does."""
    names = {file.name: {} for file in path.iterdir()}
    return Folder("scored", names, names, lambda name: (path / name).read_bytes())


def write(folder, case):
    """Write the records of a case, its calls and its totals."""
    records = []
    for unit, step, asked in case["records"]:
        results = []
        for role, key, outcome in asked:
            results.append({"role": role, "key": key, "outcome": outcome})
        records.append(CollectedRecord(unit=unit, step=step, results=results))
    write_jsonl(folder / RECORDS, records)
    write_jsonl(folder / CALLS, [CallUsage(**call) for call in case["calls"]])
    roles = {}
    for role, totals in case["roles"].items():
        roles[role] = dict(zip(TOTALS, totals, strict=True))
    content = {"samples": case["samples"], "roles": roles}
    write_json(folder / USAGE, {"schema": 2, **content})


def differing(folder):
    source = opened(folder)
    lines = [*check_calls(source), *check_totals(source, source)]
    assert lines
    return [line.where for line in lines if line.status == "differs"]


@pytest.mark.parametrize("case", BY_HAND, ids=lambda case: case["name"])
def test_totals_are_those_by_hand(case, tmp_path):
    write(tmp_path, case)
    usage = usage_behind(tmp_path)
    assert usage == read_usage(tmp_path)
    assert usage.to_dict() == read_json(tmp_path / USAGE, ScoreUsage).to_dict()
    per_sample = [usage.seconds_per_sample, usage.usd_per_1000, usage.tokens_per_sample]
    assert per_sample == case["per_sample"]
    assert differing(tmp_path) == []


@pytest.mark.parametrize(
    "forgery", cases(__file__, "usage_forgeries"), ids=lambda case: case["name"]
)
def test_forged_totals_and_calls_are_found(forgery, tmp_path):
    case = BY_HAND[0]
    calls = [call for call in case["calls"] if call["key"] != forgery.get("drop")]
    calls += [forgery["add"]] if "add" in forgery else []
    roles = {}
    for role, totals in case["roles"].items():
        roles[role] = dict(zip(TOTALS, totals, strict=True))
    for role, totals in forgery.get("totals", {}).items():
        roles[role] = {**roles.get(role, {}), **totals}
    write(tmp_path, {**case, "calls": calls})
    samples = forgery.get("samples", case["samples"])
    write_json(tmp_path / USAGE, {"schema": 2, "samples": samples, "roles": roles})
    assert differing(tmp_path) == [f"scored/{name}" for name in forgery["says"]]


def test_totals_without_calls_are_found_and_nothing_is_missed_where_none_is(tmp_path):
    write(tmp_path, BY_HAND[3])
    (tmp_path / CALLS).unlink()
    with pytest.raises(FileNotFoundError):
        differing(tmp_path)
    (tmp_path / USAGE).unlink()
    assert usage_behind(tmp_path) is None
    assert read_usage(tmp_path) is None
    source = opened(tmp_path)
    assert [*check_calls(source), *check_totals(source, source)] == []
