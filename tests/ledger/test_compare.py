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
from tests.support.cases import each_case, lines
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
            {key: list(some) for key in ("similarity", "gc", "text_similarity")},
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


def test_p_values_are_corrected_over_all_metrics_that_are_ranked(tmp_path):
    """Two metrics of the same eight differences: the smaller p of 2⁻⁷ is doubled, and the other is
    at least that."""
    found = metrics(
        compared(tmp_path, chains(tmp_path, "a", LOW), chains(tmp_path, "b", HIGH))
    )
    ranked = [each for each in found.values() if each.p_value is not None]
    assert [(each.p_value, each.p_holm) for each in ranked] == [(2**-7, 2**-6)] * 2


def test_the_text_says_when_the_correction_takes_a_difference_back(tmp_path):
    """At 99 % a p-value of 2⁻⁷ shows a difference, and the corrected 2⁻⁶ does not."""
    a, b = chains(tmp_path, "a", LOW), chains(tmp_path, "b", HIGH)
    assert "Holm" not in printed(Compared(compared(tmp_path, a, b)).as_text())
    a.score.inputs.settings["confidence"] = 0.99
    text = printed(Compared(compared(tmp_path, a, b)).as_text())
    assert "[99% interval]" in text
    assert (
        text.count("not shown after Holm's correction over all metrics (p = 0.016)")
        == 2
    )


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
    assert found.about == found.noted == found.only_a == found.only_b == []
    assert "| equal |" in Compared(found).as_markdown()


def each(units, *values):
    return {unit: list(values) for unit in units}


BROKEN = {**LOW, "s0a": [0.5, None], "s1a": [None, None], "extra_a": [0.0, 0.0]}
BY_CATEGORY = [f"s{number}{category}" for category in "abb" for number in range(6)]
GROUPED = {name: [0.5, 0.75 if name.endswith("a") else 0.5] for name in BY_CATEGORY}
PAIRS = {f"{category}{number}": [50.0] for category in "cx" for number in range(6)}
COMMON: list[tuple[str, Values, Values, str, tuple[float, int, int, int]]] = [
    # a chain that broke off has no value
    ("genception", BROKEN, HIGH, "gc_at_2", (0.5 - 54 / 6 / 64, 6, 1, 2)),
    (
        "genception",
        {**GROUPED, **each(BY_CATEGORY, 0.5, 0.5)},
        GROUPED,
        "gc_at_2",
        (0.125, 12, 0, 0),
    ),
    (
        "mm_sap",
        each(BY_IMAGE, 1.0, 0.0),
        {**BY_IMAGE, "0-1": [None]},
        "score",
        (50.0, 15, 1, 0),
    ),
    (
        "mm_vet",
        each(BY_IMAGE, 0.25, 0.75),
        each(BY_IMAGE, 0.5, 0.625),
        "total",
        (6.25, 16, 0, 0),
    ),
    (
        "mme",
        PAIRS,
        {**PAIRS, **{f"c{n}": [200.0] for n in range(6)}, "x5": []},
        "score",
        (75.0, 11, 1, 0),
    ),
]


@pytest.mark.parametrize(("benchmark", "a", "b", "metric", "expected"), COMMON)
def test_common_units_are_compared_and_the_others_counted(
    tmp_path, benchmark, a, b, metric, expected
):
    def made(name, values):
        if benchmark == "genception":
            return chains(tmp_path, name, values)
        groups = {unit: unit[0] for unit in values} if benchmark == "mme" else None
        return answered(tmp_path, name, dict(values), benchmark, groups=groups)

    found = metrics(compared(tmp_path, made("a", a), made("b", b)))[metric]
    assert found.difference == pytest.approx(expected[0])
    assert (found.common, found.only_a, found.only_b) == expected[1:]
    assert (found.b_common or 0) - (found.a_common or 0) == pytest.approx(
        found.difference
    )


def test_too_few_samples_show_nothing(tmp_path):
    """Five that agree are no evidence at 95 %, though a t-test, which takes them for normal, would
    say so."""
    five = [
        chains(tmp_path, name, {s: side[s] for s in EIGHT[:5]})
        for name, side in (("a", LOW), ("b", HIGH))
    ]
    gc = metrics(compared(tmp_path, *five))["gc_at_2"]
    assert (
        gc.verdict
        == "not ranked: 5 samples can vary, and fewer than 6 show nothing with 95%"
    )
    a, b = (
        {f"{image}-{n}": [value] for image in range(3) for n in range(9)}
        for value in (0.0, 1.0)
    )
    score = metrics(
        compared(tmp_path, answered(tmp_path, "a", a), answered(tmp_path, "b", b))
    )["score"]
    assert score.verdict.startswith("not ranked: 3 samples can vary")


UNFAIR = lines("ledger/unfair.jsonl")
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


def built(root, side, score):
    """Return a lineage of a score, with the same rows whatever the score says."""
    if score.benchmark == "genception":
        return chains(root, side, LOW, score)
    if score.benchmark == "trac":
        return retrieved(root, side, dict.fromkeys(EIGHT, True), score)
    if score.benchmark == "fidelity":
        return redrawn(root, side, dict.fromkeys(EIGHT, SEEN), score)
    return answered(root, side, dict(BY_IMAGE), score.benchmark, score)


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


@pytest.mark.parametrize(
    ("some", "counted", "total", "fair"),
    [
        (95, 95, 100, True),
        (94, 94, 100, False),
        (19, 19, 20, True),
        (9, 9, 10, False),
        (9, 10, 10, True),
    ],
)
def test_coverages_may_be_five_points_apart(tmp_path, some, counted, total, fair):
    counts = {
        "scored": some,
        "counted": counted,
        "total": total,
    }
    whole = {"scored": total, "total": total}
    found = compared(
        tmp_path,
        chains(tmp_path, "a", LOW, **counts),
        chains(tmp_path, "b", HIGH, **whole),
    )
    assert found.comparable is fair
    [coverage] = [each for each in found.pairs[0].differing if each.what == "coverage"]
    assert coverage.weight == ("noted" if fair else "unfair")


@pytest.mark.parametrize(("least", "fair"), [(0.97, True), (0.98, False)])
def test_who_is_below_min_coverage_is_not_ranked(tmp_path, least, fair):
    score = genception_score(scored=97, counted=97, total=100)
    settings = score.inputs.settings | {"min_coverage": least}
    some = score.model_copy(
        update={"inputs": score.inputs.model_copy(update={"settings": settings})}
    )
    whole = {"scored": 100, "total": 100}
    found = compared(
        tmp_path,
        chains(tmp_path, "a", LOW, score=some),
        chains(tmp_path, "b", HIGH, **whole),
    )
    reason = (
        f"coverage of {score.model}: 97/100 could be scored, and genception.min_coverage asks for "
        "98%"
    )
    assert found.comparable is fair
    assert found.reasons == ([] if fair else [f"genception on {score.on}: {reason}"])


@pytest.mark.parametrize("role", ["model", "generator"])
def test_one_of_model_and_generator_is_compared_and_both_at_once_are_unfair(
    tmp_path, role
):
    one = {"score": varied(genception_score(), **{role: OTHER})}
    both = {
        "score": varied(genception_score(), model=OTHER, generator=component("pen"))
    }
    found = compared(
        tmp_path, chains(tmp_path, "a", LOW), chains(tmp_path, "b", HIGH, **one)
    )
    assert [(each.what, each.weight) for each in found.pairs[0].differing] == [
        (role, "compared")
    ]
    assert OTHER.fingerprint[:12] in found.about[0]
    assert (
        f"oracle is better than {'seer' if role == 'model' else 'brush'} by 0.3"
        in printed(Compared(found).as_text())
    )
    unfair = compared(
        tmp_path, chains(tmp_path, "a", LOW), chains(tmp_path, "b", HIGH, **both)
    )
    assert metrics(unfair)["gc_at_2"].verdict.startswith(
        "not ranked: model and generator"
    )


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
    assert found.noted == ["B's model seer: sees \x1b[1m nothing"]
    assert "\x1b" not in printed(Compared(found).as_text())
    assert "B's model seer: sees \\x1b[1m nothing" in printed(Compared(found).as_text())


def test_rows_that_are_gone_or_damaged_leave_the_values(tmp_path):
    a, b = chains(tmp_path, "a", LOW), chains(tmp_path, "b", HIGH)
    (tmp_path / a.rows_path).write_text("{}\n")
    gc = metrics(compared(tmp_path, a, b))["gc_at_2"]
    assert (gc.a, gc.difference) == (0.7, None)
    assert gc.verdict.startswith(
        "not ranked: no rows available: no list of the files in a/genception"
    )
