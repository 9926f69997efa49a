import numpy as np
import pytest

from driftledger.benchmarks.crossed import crossed, metric_to_cross
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import Inputs, Row, Score
from driftledger.components.card import ComponentCard
from driftledger.core.errors import LedgerError
from driftledger.core.types import Outcome

GROUPS = {"a": "x", "b": "x", "c": "y", "d": "y"}


def card(name, version=""):
    return ComponentCard(
        name=name,
        provider="blind" if name == "blind" else "regions",
        version="1",
        fingerprint=(version or name).ljust(64, "0"),
        settings={},
        identity={},
    )


def chains(model, generator, encoder, values, version="", digest="d" * 64, **protocol):
    """A score of GenCeption, each sample worth its two values of GC."""
    score = Score(
        benchmark="genception",
        keys={"dataset": "photos", "model": model, "generator": generator, "encoder": encoder},
        components={"model": card(model, version), "generator": card(generator), "encoder": card(encoder)},
        metrics={"gc_at_1": 0.5, "gc_at_2": 0.5},
        groups={"category": {"x": {"gc_at_2": 0.5}, "y": {"gc_at_2": 0.5}}},
        scored=4,
        counted=4,
        total=4,
        coverage=1.0,
        inputs=Inputs(data_digest=digest, records={}, protocol=protocol, settings={"confidence": 0.95, "seed": 1}),
    )
    rows = [
        Row(unit=unit, group=GROUPS.get(unit, unit[0]), cluster=unit, outcome=Outcome.OK, values={"gc": [0.0, value]})
        for unit, value in values.items()
    ]
    return score, rows


def drawn(seed):
    return dict(zip("abcd", np.random.default_rng(seed).random(4).tolist(), strict=True))


EIGHT = [
    chains(model, generator, encoder, drawn(f * 4 + g * 2 + e))
    for f, model in enumerate(("fine", "coarse"))
    for g, generator in enumerate(("one", "two"))
    for e, encoder in enumerate(("eye", "lens"))
]


def test_every_value_stands_where_its_score_and_its_sample_are():
    found = crossed(EIGHT, "gc_at_2")
    assert found.levels == {"model": ("fine", "coarse"), "generator": ("one", "two"), "encoder": ("eye", "lens")}
    assert found.values.shape == (2, 2, 2, 4, 1)
    assert found.values[1, 0, 1, :, 0].tolist() == list(drawn(5).values())
    assert found.categories == ("x", "x", "y", "y")
    assert found.extent == "2 models × 2 generators × 2 encoders × 4 samples in 2 categories"
    assert len(found.decomposed(0.95).components) == 23


def test_the_order_of_scores_is_that_of_levels_and_moves_no_value():
    found, turned = crossed(EIGHT, "gc_at_2"), crossed(EIGHT[::-1], "gc_at_2")
    assert turned.levels["model"] == ("coarse", "fine")
    assert found.decomposed(0.95).components == turned.decomposed(0.95).components


def test_what_some_score_has_no_value_for_is_left_out_of_all():
    short = chains("coarse", "two", "lens", {"a": 0.1, "b": 0.2, "c": 0.3})
    found = crossed([*EIGHT[:-1], short], "gc_at_2")
    assert (found.left_out, found.values.shape[-2]) == (1, 3)


def test_a_factor_that_a_metric_does_not_depend_on_is_none():
    scored = [
        (score, [row.model_copy(update={"values": {"cross_check": [0.5]}}) for row in rows]) for score, rows in EIGHT
    ]
    assert list(crossed(scored, "cross_check").levels) == ["model"]


def test_two_versions_of_one_name_are_two_levels():
    scored = [chains("fine", "one", "eye", drawn(1)), chains("fine", "one", "eye", drawn(2), version="0ther")]
    assert crossed(scored, "gc_at_2").levels == {"model": ("fine@fine0000", "fine@0ther000")}


@pytest.mark.parametrize(
    ("scored", "told"),
    [
        (EIGHT[:1], "nothing varies over one score"),
        (EIGHT[:-1], "do not cross: there is none of coarse · two · lens"),
        ([EIGHT[0], chains("coarse", "one", "eye", drawn(1), digest="e" * 64)], "several versions of the data"),
        ([EIGHT[0], chains("coarse", "one", "eye", drawn(1), describe_prompt="else")], "differ in describe_prompt"),
        ([EIGHT[0], chains("coarse", "one", "eye", {"a": 0.5})], "1 samples in common, and need two"),
    ],
)
def test_what_cannot_be_set_against_each_other_is_refused(scored, told):
    with pytest.raises(LedgerError, match=told):
        crossed(scored, "gc_at_2")


def graded(model, values):
    """A score of MM-Vet: unit → image and grades."""
    score = Score(
        benchmark="mm_vet",
        keys={"question_set": "scenes", "model": model},
        components={"model": card(model)},
        metrics={"total": 50.0},
        scored=3,
        counted=3,
        total=3,
        coverage=1.0,
        inputs=Inputs(data_digest="d" * 64, records={}, protocol={}, settings={"confidence": 0.95, "seed": 1}),
    )
    rows = [
        Row(unit=unit, group="all", cluster=image, outcome=Outcome.OK, values={"total": grades})
        for unit, (image, grades) in values.items()
    ]
    return score, rows


def test_questions_about_one_image_are_one_sample_and_gradings_its_repeats():
    fine = {"1": ("p", [0.5, 1.0]), "2": ("p", [1.0, 1.0]), "3": ("q", [0.0, 0.5])}
    found = crossed([graded("fine", fine), graded("coarse", fine)], "total")
    assert found.values[0].tolist() == [[75.0, 100.0], [0.0, 50.0]]
    assert found.extent == "2 models × 2 images × 2 repeats"


def test_where_repeats_differ_in_number_their_mean_counts():
    fine, coarse = {"1": ("p", [0.5, 1.0]), "3": ("q", [0.0, 0.5])}, {"1": ("p", [0.5]), "3": ("q", [1.0])}
    found = crossed([graded("fine", fine), graded("coarse", coarse)], "total")
    assert found.values.tolist() == [[[75.0], [25.0]], [[50.0], [100.0]]]


def test_an_answer_without_a_grade_is_left_out():
    fine = {"1": ("p", [0.5, None]), "2": ("q", [1.0, 1.0]), "3": ("r", [0.0, 0.5])}
    assert crossed([graded("fine", fine), graded("coarse", fine)], "total").values.shape[-2] == 2


def test_the_metric_is_the_first_at_a_glance_or_the_one_that_is_named():
    spec, scores = benchmark("genception"), [score for score, _ in EIGHT]
    assert metric_to_cross(spec, scores) == "gc_at_2"
    assert metric_to_cross(spec, scores, "gc_at_1") == "gc_at_1"
    with pytest.raises(LedgerError, match="no metric 'gc_at_9' whose values rows hold; it has gc_at_1; gc_at_2"):
        metric_to_cross(spec, scores, "gc_at_9")
