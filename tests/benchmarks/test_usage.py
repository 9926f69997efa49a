"""What calls took: totals by hand, in the score and by the checker, and forged ones."""

import json

from driftledger.benchmarks.records import RECORDS
from driftledger.benchmarks.usage import CALLS, USAGE, read_usage, usage_behind
from driftledger_check.bundle import Folder
from driftledger_check.usage import check_calls, check_totals
from tests.support.cases import cases, each_case


def checked(path):
    """List what the checker says of a folder with records and totals."""
    names = {file.name: {} for file in path.iterdir()}
    source = Folder("scored", names, names, lambda name: (path / name).read_bytes())
    return [*check_calls(source), *check_totals(source, source)]


@each_case(cases(__file__, "usage"))
def test_totals_are_those_by_hand(case, tmp_path):
    for name, rows in ((RECORDS, "records"), (CALLS, "calls")):
        lines = [json.dumps(row) for row in case[rows]]
        (tmp_path / name).write_text("\n".join(lines))
    (tmp_path / USAGE).write_text(json.dumps(case["usage"]))
    lines = checked(tmp_path)
    assert len(lines) > 7
    differing = [line.where for line in lines if line.status == "differs"]
    assert differing == case["differs"]
    if not differing:
        usage = usage_behind(tmp_path)
        assert usage == read_usage(tmp_path)
        keys = ("seconds_per_sample", "usd_per_1000", "tokens_per_sample")
        assert [usage.costs.get(key) for key in keys] == case["per_sample"]


def test_records_of_earlier_versions_have_no_totals(tmp_path):
    (tmp_path / RECORDS).write_text("")
    assert usage_behind(tmp_path) is None
    assert read_usage(tmp_path) is None
    assert checked(tmp_path) == []
