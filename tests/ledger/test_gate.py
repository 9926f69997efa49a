"""What a gate says of a comparison, by hand."""

import sys
from types import SimpleNamespace

import pytest

from driftledger import cli
from driftledger.core.errors import LedgerError
from driftledger.ledger.compare import MetricComparison
from driftledger.ledger.gate import Gate, Verdict, verdict_of
from tests.ledger.conftest import MODEL
from tests.support.cases import cases, each_case


def comparison(*metrics):
    pair = SimpleNamespace(benchmark="genception", name="photos", metrics=metrics)
    return SimpleNamespace(pairs=[pair], only_a=[], confidence=0.95)


@each_case(cases(__file__, "gate"))
def test_a_metric_by_hand(case):
    values = {"a": 0.5, "b": 0.5, "common": 100, **case["metric"]}
    metric = MetricComparison("gc_at_5", **values)
    gate = Gate(case["fail_if"], case.get("margin"))
    [judgement] = gate.judge(comparison(metric))
    assert judgement.verdict is Verdict[case["verdict"]]
    assert case["says"] in judgement.says


def test_one_failure_fails_and_one_unknown_leaves_it_open():
    known = MetricComparison("gc_at_5", 0.5, 0.6, difference=0.1, p_holm=0.01)
    unknown = MetricComparison("similarity_at_5", 0.5, 0.6, "not ranked: few")
    worse = MetricComparison("gc_at_5", 0.5, 0.4, difference=-0.1, p_holm=0.01)
    gate = Gate("worse")
    assert verdict_of(gate.judge(comparison(known))) == 0
    assert verdict_of(gate.judge(comparison(known, unknown))) == 3
    assert verdict_of(gate.judge(comparison(worse, unknown))) == 1
    assert verdict_of([]) == 0
    assert verdict_of(gate.judge(comparison())) == 3  # no headline is in both
    lost = comparison(known)
    lost.only_a.append("mme on photos")
    assert verdict_of(gate.judge(lost)) == 3


@pytest.mark.parametrize(
    ("gate", "sentence"),
    [
        (Gate("not-as-good"), "needs --margin"),
        (Gate("not-as-good", -1.0), "a number above 0"),
        (Gate("not-as-good", 0.1), "cannot hold for 2 metrics; name one by --metric"),
        (Gate("worse", metric="gc_at_6"), "metric 'gc_at_6' is unknown"),
    ],
)
def test_a_mistake_is_a_sentence(gate, sentence):
    metrics = [
        MetricComparison(name, 0.5, 0.5) for name in ("gc_at_5", "similarity_at_5")
    ]
    with pytest.raises(LedgerError, match=sentence):
        gate.judge(comparison(*metrics))


def test_too_few_samples_are_exit_code_3(original, monkeypatch, capsys):
    monkeypatch.chdir(original.root)
    run = f"{MODEL}/painter/layout"
    arguments = ["compare", f"HEAD:{run}", run, "--fail-if", "worse"]
    monkeypatch.setattr(sys, "argv", ["driftledger", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 3
    assert (
        "unknown: genception on my_images, GC@2: 4 samples" in capsys.readouterr().out
    )
