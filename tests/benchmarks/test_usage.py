"""What calls took: totals by hand, and the costs of a sample."""

import json

from driftledger.benchmarks.base.records import RECORDS
from driftledger.benchmarks.base.usage import CALLS, USAGE, ScoreUsage, usage_behind
from driftledger.core.files import read_json
from tests.support.cases import cases, each_case


def write_usage(case, folder):
    """Write the records of a case, what their calls took, and the totals."""
    for name, rows in ((RECORDS, "records"), (CALLS, "calls")):
        lines = [json.dumps(row) for row in case[rows]]
        (folder / name).write_text("\n".join(lines))
    (folder / USAGE).write_text(json.dumps(case["usage"]))


@each_case(cases(__file__, "usage"))
def test_totals_are_those_by_hand(case, tmp_path):
    write_usage(case, tmp_path)
    usage = usage_behind(tmp_path)
    assert usage == read_json(tmp_path / USAGE, ScoreUsage)
    keys = ("seconds_per_sample", "usd_per_1000", "tokens_per_sample")
    assert [usage.costs.get(key) for key in keys] == case["per_sample"]
    assert usage.uncounted == case["uncounted"]


def test_totals_of_earlier_versions_tell_no_price_and_no_tokens(tmp_path):
    """They hold bounds, and sums of some calls."""
    role = {"service": True, "calls": 8, "unknown": 0, "seconds": 4.0, "cost": 0.07}
    roles = {"model": role | {"input_tokens": 200, "output_tokens": 4}}
    (tmp_path / USAGE).write_text(
        json.dumps({"schema": 2, "samples": 8, "roles": roles})
    )
    assert read_json(tmp_path / USAGE, ScoreUsage).costs == {"seconds_per_sample": 0.5}


def test_records_of_earlier_versions_have_no_totals(tmp_path):
    (tmp_path / RECORDS).write_text("")
    assert usage_behind(tmp_path) is None
