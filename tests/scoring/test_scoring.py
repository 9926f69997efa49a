"""Names of numbers, and the numbers that values give, by hand."""

import json

import pytest

from driftledger.core.errors import StoreError
from driftledger.core.files import read_json
from driftledger.scoring import means
from driftledger.scoring.metric import Input, Metric, MetricTable
from driftledger.scoring.number import NumberName, Value
from driftledger.scoring.score import Score
from tests.support.by_hand import assert_holds, named_of
from tests.support.cases import cases, each_case
from tests.support.ledgers import genception_score


@each_case(cases(__file__, "names"))
def test_a_name_is_spelled_and_read(case):
    if "error" in case:
        with pytest.raises(ValueError, match=case["error"]):
            NumberName.read(case["name"])
        return
    columns = {key: value for key, value in case.items() if key != "name"}
    assert NumberName.read(case["name"]) == NumberName(**columns)
    assert str(NumberName(**columns)) == case["name"]


@each_case(cases(__file__, "numbers"))
def test_numbers_by_hand(case):
    metric = Metric(
        "x",
        "x",
        "",
        "exact.exact_mean",
        needs=frozenset({Input.DATA}),
        estimate=getattr(means, case["estimate"]),
        is_ratio=case.get("is_ratio", False),
        scale=case.get("scale", 1.0),
        range=tuple(case.get("range", (-10, 10))),
    )
    values = []
    for category, sample, repeat, value in case["values"]:
        values.append(Value("x", None, category, sample, sample, repeat, value))
    numbers = means.numbers(values, MetricTable(metric), case.get("kinds", {}), 0.95)
    assert_holds(named_of(numbers), case["numbers"])
    if "why" in case:
        assert [number.why for number in numbers] == [case["why"]]


@pytest.mark.parametrize("name", ["recall_at_1", "score_low", "a b"])
def test_a_metric_has_a_name_that_reads_as_itself(name):
    metric = Metric(name, "", "", "", needs=frozenset())
    with pytest.raises(ValueError, match=name):
        MetricTable(metric)


def test_a_score_of_an_earlier_schema_says_what_to_do(tmp_path):
    content = genception_score().to_dict() | {"schema": 2}
    (tmp_path / "score.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(StoreError, match="as schema 2; run 'driftledger run', which"):
        read_json(tmp_path / "score.json", Score)
