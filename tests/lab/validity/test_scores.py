from collections.abc import Sequence

import pytest

from driftledger.benchmarks._questions.records import QuestionOutcome
from driftledger.benchmarks.description_records import Redrawn, Retrieved
from driftledger.benchmarks.genception.records import SampleScore
from driftledger.core.types import Outcome
from driftledger.data.question_sets.files import QuestionEntry
from lab.validity.scores import of_chains, of_pairs, of_redrawings, of_repeats, of_retrieved
from lab.validity.units import Unit


def answered(question: str, *values: float | None) -> QuestionOutcome:
    return QuestionOutcome(question=question, group={}, values=list(values), outcomes=[])


def asked(*about: Sequence[str]) -> dict[str, QuestionEntry]:
    """Questions by id, each with its image and its category."""
    return {
        question: QuestionEntry(
            id=question, image="i.png", image_id=image, image_sha256=image, question="?", category=category or None
        )
        for question, image, category in about
    }


def test_a_chain_counts_from_the_round_on_that_it_reached() -> None:
    gc = {"whole": [0.9, 0.8, 0.7], "short": [0.6, 0.5, None]}
    rows = [
        SampleScore(sample=name, category="c", similarity=[], gc=values, outcome=Outcome.OK)
        for name, values in gc.items()
    ]
    assert of_chains(rows, 2) == {"whole": Unit(0.8, "c", "whole"), "short": Unit(0.5, "c", "short")}
    assert of_chains(rows, 3) == {"whole": Unit(0.7, "c", "whole")}


def test_redrawings_are_means_over_all_samples_whatever_their_category() -> None:
    metrics: dict[str, dict[str, float]] = {"a": {"ssim": 30.0}, "b": {}}
    rows = [Redrawn(sample=name, category=name, outcome=Outcome.OK, metrics=each) for name, each in metrics.items()]
    assert of_redrawings(rows, "ssim") == {"a": Unit(30.0, "all", "a")}
    assert of_redrawings(rows, "frechet_eye") == {}


def test_a_description_counts_where_its_class_could_have_been_found() -> None:
    rows = [
        Retrieved(sample="right", label="zero", outcome=Outcome.OK, top1="zero"),
        Retrieved(sample="wrong", label="zero", outcome=Outcome.TRUNCATED, top1="one"),
        Retrieved(sample="unknown words", label="zero", outcome=Outcome.OK),
        Retrieved(sample="no description", label="zero", outcome=Outcome.REFUSED),
        Retrieved(sample="no support", label="two", outcome=Outcome.OK, top1="zero"),
    ]
    found = {name: unit.value for name, unit in of_retrieved(rows, {"zero": {}, "one": {}}).items()}
    assert found == {"right": 100.0, "wrong": 0.0, "unknown words": 0.0}


def test_a_question_is_worth_the_mean_of_its_readable_answers_and_drawn_with_its_image() -> None:
    rows = [answered("q1", 1.0, 0.0, None), answered("q2", None, None), answered("q3", 0.25, 1.0, 1.0, 1.0)]
    entries = asked(("q1", "street", ""), ("q2", "street", ""), ("q3", "street", ""))
    assert of_repeats(rows, entries) == {"q1": Unit(50.0, "all", "street"), "q3": Unit(81.25, "all", "street")}


@pytest.mark.parametrize(
    ("values", "worth"),
    [((1.0, 1.0), 200.0), ((1.0, 0.0), 50.0), ((0.0, 0.0), 0.0), ((1.0, None), None)],
)
def test_an_image_is_worth_its_part_of_accuracy_and_accuracy_plus(
    values: tuple[float | None, float | None], worth: float | None
) -> None:
    entries = asked(("p1", "street", "count"), ("p2", "street", "count"))
    found = of_pairs([answered(*each) for each in zip(("p1", "p2"), values, strict=True)], entries)
    assert [(unit.value, unit.stratum) for unit in found.values()] == ([] if worth is None else [(worth, "count")])


def test_one_image_in_two_categories_is_two() -> None:
    entries = asked(("p1", "i", "a"), ("p2", "i", "a"), ("p3", "i", "b"), ("p4", "i", "b"), ("p5", "b/i", "a"))
    found = of_pairs([answered(question, 1.0) for question in entries], entries)
    assert sorted(unit.stratum for unit in found.values()) == ["a", "a", "b"]
    assert len({unit.cluster for unit in found.values()}) == 3
