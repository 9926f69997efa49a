"""What a gate says of a comparison, by hand."""

from types import SimpleNamespace

import pytest

from driftledger.benchmarks.registry import benchmark
from driftledger.core.errors import LedgerError
from driftledger.ledger.comparison import RUNS, MetricComparison
from driftledger.ledger.gate import Gate, Verdict, conclusion
from driftledger.scoring.number import Place
from tests.support.cases import cases, each_case


def comparison(*metrics):
    pair = SimpleNamespace(name="photos", place="genception/photos", metrics=metrics)
    return SimpleNamespace(pairs=[pair], only_a=[], confidence=0.95, words=RUNS)


def gc(a, b, unranked="", *, t=5, **values):
    """The comparison of GC at t."""
    metric = benchmark("genception").metrics["gc"]
    return MetricComparison(Place("gc", t), metric, a, b, unranked=unranked, **values)


@each_case(cases(__file__, "gate"))
def test_a_metric_by_hand(case):
    metric = gc(**{"a": 0.5, "b": 0.5, "common": 100, **case["metric"]})
    gate = Gate(case["fail_if"], case.get("margin"))
    [judgement] = gate.judge(comparison(metric))
    assert judgement.verdict is Verdict[case["verdict"]]
    assert case["says"] in judgement.says


def test_one_failure_fails_and_one_unknown_leaves_it_open():
    known = gc(0.5, 0.6, difference=0.1, p_holm=0.01)
    unknown = gc(0.5, 0.6, "few", t=4)
    worse = gc(0.5, 0.4, difference=-0.1, p_holm=0.01)
    gate = Gate("worse")
    assert conclusion(gate.judge(comparison(known)), "headlines").verdict == 0
    assert conclusion(gate.judge(comparison(known, unknown)), "headlines").verdict == 3
    assert conclusion(gate.judge(comparison(worse, unknown)), "headlines").verdict == 1
    assert conclusion([], "headlines").verdict == 0
    # no headline is in both
    assert conclusion(gate.judge(comparison()), "headlines").verdict == 3
    lost = comparison(known)
    lost.only_a.append("mme on photos")
    assert conclusion(gate.judge(lost), "headlines").verdict == 3


def test_one_margin_is_not_of_two_metrics():
    metrics = [gc(0.5, 0.5, t=t) for t in (5, 4)]
    sentence = (
        "cannot hold for 2 metrics; name one by --metric: genception/photos/gc_at_5, "
    )
    with pytest.raises(LedgerError, match=sentence):
        Gate("not-as-good", 0.1).judge(comparison(*metrics))
    full_name = "genception/photos/gc_at_4"
    assert len(Gate("not-as-good", 0.1, full_name).judge(comparison(*metrics))) == 1
