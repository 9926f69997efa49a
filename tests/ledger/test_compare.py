"""Comparisons of hand-made runs: differences worked out by hand, and a case for each rule that
forbids a ranking."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from driftledger.benchmarks.registry import benchmarks
from driftledger.commands.compare import Compared
from driftledger.core.errors import LedgerError
from driftledger.core.files import write_jsonl
from driftledger.ledger.compare import compare
from driftledger.ledger.lineage import CodeVersion, Folder, Lineage, Run
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.objects.files import Workspace, listing_md5
from driftledger.metrics.paired import minimum_detectable_difference
from driftledger.scoring.score import ROWS, Score
from tests.support.cases import cases, each_case
from tests.support.ledgers import (
    COMBINATION,
    component,
    costing,
    fidelity_score,
    genception_score,
    marked,
    question_score,
    row,
    trac_row,
    trac_score,
    values_of,
    varied,
)
from tests.support.terminal import printed

OTHER = component("oracle")
"""Another model than the ledgers' own."""
CHAINED = ("similarity", "gc", "distinctive", "text_similarity")
"""Metrics of GenCeption that rows hold."""


def run(*lineages, **changes):
    plain: dict[str, Any] = {
        "name": str(COMBINATION),
        "combination": COMBINATION,
        "fingerprint": "f" * 64,
        "lineages": list(lineages),
        "code": CodeVersion(commit="c" * 40, dirty=False),
    }
    return Run(**plain | changes)


def chains(root, name, values, score=None, **changes):
    """GenCeption: sample → its similarities; samples whose name ends alike share a category."""
    rows = [
        row(
            sample,
            {key: list(some) for key in CHAINED},
            sample[-1],
        )
        for sample, some in values.items()
    ]
    return lineage(root, name, score or genception_score(**changes), rows)


def retrieved(root, name, hits, score=None, **changes):
    """TRAC: sample → whether its class was found; None where there was no description."""
    found = {True: "seven", False: "=one", None: None}
    rows = [trac_row(sample, "seven", found[hit]) for sample, hit in hits.items()]
    return lineage(root, name, score or trac_score(**changes), rows)


def redrawn(root, name, values, score=None, **changes):
    """Fidelity: sample → metric → value."""
    rows = [
        row(
            sample,
            values_of("fidelity", {key: [value] for key, value in metrics.items()}),
        )
        for sample, metrics in values.items()
    ]
    return lineage(root, name, score or fidelity_score(**changes), rows)


def answered(
    root, name, values, benchmark="mm_sap", score=None, groups=None, **changes
):
    """Questions, or MME's pairs: id → value per order or grading; ids that begin alike, up to a
    dash, are about one image.

    Args:
        groups: id → within which it is averaged; one for all where it is None.
    """
    metric = "total" if benchmark == "mm_vet" else "score"
    rows = [
        row(
            unit,
            values_of(benchmark, {metric: list(some)}),
            (groups or {}).get(unit, "all"),
            unit.partition("-")[0],
        )
        for unit, some in values.items()
    ]
    return lineage(
        root,
        name,
        score or question_score(benchmark, **{"numbers": {metric: 50.0}} | changes),
        rows,
    )


def lineage(root, name, score, rows):
    """What stands behind a score of the run ``name``, as far as comparing looks at it."""
    out = f"{name}/{score.benchmark}"
    write_jsonl(root / out / score.on / ROWS, rows)
    md5 = listing_md5(Workspace(root).listing(out))
    data = Folder(path=f"{name}/data", out=f"{name}/data", md5="6" * 32 + ".dir")
    folder = Folder(path=f"{out}/{score.on}", out=out, md5=md5)
    return Lineage(score=score, folder=folder, data=data, collected={}, stages={})


Values = Mapping[str, Sequence[float | None]]
EIGHT = [f"s{number}a" for number in range(8)]
LOW: Values = {sample: [0.5, 0.25 + number / 64] for number, sample in enumerate(EIGHT)}
HIGH: Values = {
    sample: [0.5, 0.75 - number / 64] for number, sample in enumerate(EIGHT)
}
"""The differences at t = 2 go from 0.5 down to 0.5 - 14/64, and are 0 at t = 1."""
SEEN = {"ssim": 31.5, "image_similarity": 71.0, "clip_s": 30.0}
BY_IMAGE: Values = {f"{number}-{n}": [1.0] for number in range(8) for n in (1, 2)}
SAME = "no difference that these samples show"


def compared(root, a, b, **more):
    sides = [each if isinstance(each, Run) else run(each) for each in (a, b)]
    return compare(sides[0], sides[1], Contents(root, trust=False), **more)


def metrics(comparison, number=0):
    return {each.name: each for each in comparison.pairs[number].metrics}


def test_the_higher_one_is_named_with_its_paired_interval(tmp_path):
    found = compared(
        tmp_path,
        chains(tmp_path, "a", LOW),
        chains(tmp_path, "b", HIGH, numbers={"gc_at_2": 0.9}),
    )
    gc = metrics(found)["gc_at_2"]
    assert (gc.a, gc.b) == (
        0.7,
        0.9,
    )  # as the score files have it, whatever the rows say
    assert (gc.common, gc.only_a, gc.only_b) == (8, 0, 0)
    assert gc.difference == pytest.approx(0.5 - 7 / 64)
    assert gc.low is not None
    assert gc.high is not None
    assert gc.standard_error is not None
    assert 0.28 < gc.low < gc.difference < gc.high < 0.5
    assert (
        2 < (gc.high - gc.difference) / gc.standard_error < 3
    )  # t with seven degrees of freedom
    assert (gc.df, gc.p_value, gc.verdict) == (
        7,
        2**-7,
        "B is higher",
    )  # eight of one sign
    assert gc.detectable == pytest.approx(
        minimum_detectable_difference(gc.standard_error, 7.0)
    )
    assert found.comparable
    turned = metrics(
        compared(tmp_path, chains(tmp_path, "b", HIGH), chains(tmp_path, "a", LOW))
    )["gc_at_2"]
    assert (turned.verdict, turned.difference) == ("A is higher", -gc.difference)


def test_costs_that_both_know_stand_side_by_side(tmp_path):
    plain = genception_score()
    cheap = chains(tmp_path, "a", LOW, costing(plain, cost=0.004, seconds=8.0))
    dear = chains(tmp_path, "b", HIGH, costing(plain))
    found = compared(tmp_path, cheap, dear)
    # 0.012 / 8 · 1,000 = 1.5, and a third of it; 8 / 8 and 4 / 8 seconds
    assert found.to_dict()["pairs"][0]["cost"] == {
        "usd_per_1000": {"a": 0.5, "b": 1.5, "ratio": 3.0},
        "seconds_per_sample": {"a": 1.0, "b": 0.5, "ratio": 0.5},
        "tokens_per_sample": {"a": 200.0, "b": 200.0, "ratio": 1.0},
    }
    multiples = "3 times the price, 0.5 times the seconds"
    assert f"; B at {multiples}" in printed(Compared(found).as_text(), width=200)
    markdown = Compared(found).as_markdown().replace("\\", "")
    assert f"; B at {multiples}" in markdown
    free = chains(tmp_path, "c", LOW, costing(plain, cost=0.0, seconds=None))
    [pair] = compared(tmp_path, free, dear).pairs
    assert pair.multiples == ""
    uncounted = chains(tmp_path, "e", LOW, costing(plain, cost=None, seconds=8.0))
    [pair] = compared(tmp_path, uncounted, dear).pairs
    assert pair.multiples == "0.5 times the seconds"
    [pair] = compared(tmp_path, chains(tmp_path, "d", LOW), dear).pairs
    assert pair.cost == {}


def test_a_run_does_not_differ_from_itself(tmp_path):
    one = run(
        chains(tmp_path, "a", LOW),
        retrieved(tmp_path, "a", dict.fromkeys(EIGHT, True)),
        redrawn(
            tmp_path,
            "a",
            {sample: {"ssim": 31.5, "image_similarity": 71.0} for sample in EIGHT},
        ),
        answered(tmp_path, "a", {f"{number}-1": [1.0, 0.0] for number in range(8)}),
    )
    found = compared(tmp_path, one, one)
    every = [each for pair in found.pairs for each in pair.metrics]
    assert len(found.pairs) == 4
    assert {(each.difference, each.low, each.high, each.verdict) for each in every} == {
        (0, 0, 0, SAME)
    }
    assert found.comparable
    assert found.about == found.notes == found.only_a == found.only_b == []
    assert "| equal |" in Compared(found).as_markdown()


UNFAIR = cases(__file__, "unfair")
"""What of a score is changed, the fact that then differs, and the metrics that it moves alone."""
TOLD = genception_score(
    numbers={"gc_at_2": 0.7, "similarity_at_2": 0.6, "text_similarity_at_2": 0.8}
)
BASE: dict[str, Score] = {
    "genception": varied(TOLD, text_encoder=component("reader")),
    "trac": trac_score("short"),
    "fidelity": fidelity_score(numbers=SEEN),
    "mm_sap": question_score("mm_sap", numbers={"score": 50.0}),
    "mm_vet": question_score("mm_vet", numbers={"total": 50.0}),
    "mme": question_score("mme", numbers={"score": 50.0}),
}


def changed(name, change):
    """Return the score of a benchmark with other inputs; ``lens`` is another component."""
    score = BASE[name]
    inputs = {
        key: component(value) if value == "lens" else value
        for key, value in change.items()
    }
    if "served" in inputs:
        return score.model_copy(update=inputs)
    if "settings" in inputs:
        inputs["settings"] = score.inputs.settings | inputs["settings"]
    return varied(score, **inputs)


def built(root, side, score, values=None):
    """Return a lineage of a score, with the same rows whatever the score says."""
    if score.benchmark == "genception":
        return chains(root, side, values or LOW, score)
    if score.benchmark == "trac":
        return retrieved(root, side, dict.fromkeys(EIGHT, True), score)
    if score.benchmark == "fidelity":
        return redrawn(root, side, dict.fromkeys(EIGHT, SEEN), score)
    values = dict(values or BY_IMAGE)
    groups = None
    if score.benchmark == "mme" and values != BY_IMAGE:
        groups = {unit: unit[0] for unit in values}
    return answered(root, side, values, score.benchmark, score, groups)


def side_of(root, side, case):
    """Build a side of a case: its values, and changes of the score, its settings and roles."""
    score = genception_score(**case.get(f"{side}_score", {}))
    if "benchmark" in case:
        score = BASE[case["benchmark"]]
    cards = case.get(f"{side}_roles", {}).items()
    changes = {role: component(name) for role, name in cards}
    settings = score.inputs.settings | case.get("settings", {})
    values = {"LOW": LOW, "HIGH": HIGH}.get(str(case[side]), case[side])
    return built(root, side, varied(score, settings=settings, **changes), values)


@each_case(cases(__file__, "compared"))
def test_a_comparison_by_hand(tmp_path, case):
    """``expected``: metric → fields, a verdict by its beginning. ``differs``: fact → weight."""
    a = side_of(tmp_path, "a", case)
    b = side_of(tmp_path, "b", case)
    if "a_rows" in case:
        (tmp_path / a.rows_path).write_text(case["a_rows"])
    comparison = compared(tmp_path, a, b)
    for name, fields in case.get("expected", {}).items():
        metric = metrics(comparison)[name]
        for field, value in fields.items():
            actual = getattr(metric, field)
            if field == "verdict":
                assert actual.startswith(value)
            else:
                assert actual == pytest.approx(value)
        if metric.difference is not None:
            assert metric.b_common - metric.a_common == pytest.approx(metric.difference)
    assert comparison.comparable is case.get("fair", True)
    weights = {each.what: each.weight for each in comparison.pairs[0].differing}
    assert weights == case.get("differs", weights)
    assert comparison.reasons == case.get("reasons", comparison.reasons)
    assert all(text in comparison.about[0] for text in case.get("about", ()))
    printed_text = printed(Compared(comparison).as_text(), width=200)
    missing = [text for text in case.get("prints", ()) if text not in printed_text]
    assert not missing, printed_text
    assert not [text for text in case.get("lacks", ()) if text in printed_text]


def test_two_text_encoders_on_the_same_data_are_told_apart(tmp_path):
    hits = dict.fromkeys(EIGHT, True)
    sides = []
    for side in "ab":
        readers = ("reader", "tfidf")
        lineages = [
            retrieved(tmp_path, side + reader, hits, trac_score("shown", reader))
            for reader in readers
        ]
        sides.append(run(*lineages))
    found = compared(tmp_path, *sides)
    assert [pair.name for pair in found.pairs] == [
        "trac on digits · shown · reader",
        "trac on digits · shown · tfidf",
    ]
    assert "trac on digits · shown · tfidf: no difference in top-1" in printed(
        Compared(found).as_text()
    )
    alone = compared(tmp_path, sides[0], run(sides[1].lineages[0]))
    assert (alone.only_a, alone.only_b) == (["trac on digits · shown · tfidf"], [])


@each_case(UNFAIR)
def test_what_moves_the_numbers_by_itself_forbids_a_ranking(tmp_path, case):
    name = case["benchmark"]
    fact = case["fact"].replace("_", " ")
    a = built(tmp_path, "a", BASE[name])
    b = built(tmp_path, "b", changed(name, case["change"]))
    found = compared(tmp_path, a, b)
    assert not found.comparable
    [unfair] = [each for each in found.pairs[0].differing if each.weight == "unfair"]
    assert unfair.what == fact
    assert unfair.a != unfair.b
    [reason] = found.reasons
    assert reason.startswith(f"{found.pairs[0].name}: {fact} differs (")
    barred = {
        key
        for key, each in metrics(found).items()
        if each.verdict.startswith(f"not ranked: {fact} differs")
    }
    assert barred == set(case.get("only", metrics(found)))
    assert all(metrics(found)[key].difference is None for key in barred)
    assert "use --anyway" in printed(Compared(found).as_text())
    anyway = compared(tmp_path, a, b, anyway=True)
    assert (anyway.comparable, anyway.reasons) == (False, found.reasons)
    assert {each.verdict for each in metrics(anyway).values()} == {SAME}


def test_every_rule_is_tried():
    tried = {case["benchmark"] for case in UNFAIR}
    ours = [spec for spec in benchmarks() if spec.name in tried]
    rules = {(spec.name, rule.fact) for spec in ours for rule in spec.unfair}
    of_all = {(spec.name, fact) for spec in ours for fact in (spec.data.name, "unread")}
    assert len(ours) >= 6
    assert {(case["benchmark"], case["fact"]) for case in UNFAIR} == rules | of_all


def test_runs_without_common_data_are_refused(tmp_path):
    with pytest.raises(
        LedgerError,
        match=r"no data in common: the first has genception on shapes, the second mm_sap",
    ):
        compared(
            tmp_path,
            chains(tmp_path, "a", LOW),
            answered(tmp_path, "b", dict(BY_IMAGE)),
        )


def test_another_version_of_the_same_name_is_told_by_its_settings(tmp_path):
    other = component("seer", settings={"batch_size": 16, "detail": "coarse\x1b[31m"})
    other = other.model_copy(update={"fingerprint": "0" * 64})
    score = marked(
        varied(genception_score(), model=other), model="sees \x1b[1m nothing"
    )
    found = compared(
        tmp_path, chains(tmp_path, "a", LOW), chains(tmp_path, "b", HIGH, score=score)
    )
    assert found.pairs[0].changed == [
        'model seer, settings.detail: nothing → "coarse\\u001b[31m"'
    ]
    assert found.notes == ["B's model seer: sees \x1b[1m nothing"]
    assert "\x1b" not in printed(Compared(found).as_text())
    assert "B's model seer: sees \\x1b[1m nothing" in printed(Compared(found).as_text())
