"""What one score adds to a run, as tables."""

from pathlib import Path

from driftledger.benchmarks.score import Row
from driftledger.core.files import write_jsonl
from driftledger.core.types import Outcome
from driftledger.tracking.score_part import rows_csv


def test_a_value_has_as_many_columns_as_the_row_with_most_of_it(tmp_path: Path) -> None:
    values = [{"b": [1.0]}, {"a": [0.5], "b": [2.0, None, 3.0]}, {}]
    rows = [
        Row(unit=f"u{place}", group="all", cluster=f"u{place}", outcome=Outcome.OK, values={**each})
        for place, each in enumerate(values)
    ]
    write_jsonl(tmp_path / "rows.jsonl", rows)
    assert rows_csv(tmp_path / "rows.jsonl").decode().splitlines() == [
        "unit,group,outcome,a,b 1,b 2,b 3",
        "u0,all,ok,,1.000000,,",
        "u1,all,ok,0.500000,2.000000,,3.000000",
        "u2,all,ok,,,,",
    ]
