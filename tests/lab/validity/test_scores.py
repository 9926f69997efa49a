from pathlib import Path

import pytest

from driftledger.benchmarks.mme.records import YesNoRecord
from driftledger.benchmarks.records import RECORDS
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import Row
from driftledger.core.files import read_jsonl, write_jsonl
from driftledger.core.types import Outcome
from lab.validity.scores import units_of
from lab.validity.units import Unit, Units
from tests.benchmarks._questions.asking import Says, exam
from tests.support.description_ledgers import trac_row
from tests.support.ledgers import genception_row


def units(name: str, key: str, rows: list[Row]) -> Units:
    """What is behind a metric of a benchmark."""
    metric = benchmark(name).metric(key)
    assert metric is not None
    return units_of(metric, key, rows)


def test_a_chain_counts_from_the_round_on_that_it_reached() -> None:
    gc = {"whole": [0.9, 0.8, 0.7], "short": [0.6, 0.5, None]}
    rows = [genception_row(name, [], values, "c") for name, values in gc.items()]
    both = {"whole": Unit(0.8, "c", "whole"), "short": Unit(0.5, "c", "short")}
    assert units("genception", "gc_at_2", rows) == both
    assert units("genception", "gc_at_3", rows) == {"whole": Unit(0.7, "c", "whole")}


def test_redrawings_are_means_over_all_samples_whatever_their_category() -> None:
    values: dict[str, dict[str, list[float | None]]] = {"a": {"ssim": [30.0]}, "b": {}}
    rows = [
        Row(unit=name, group="all", cluster=name, outcome=Outcome.OK, values=each, extra={"category": name})
        for name, each in values.items()
    ]
    assert units("fidelity", "ssim", rows) == {"a": Unit(30.0, "all", "a")}
    assert units("fidelity", "frechet_eye", rows) == {}


def test_a_description_counts_where_its_class_could_have_been_found() -> None:
    unknown_words = trac_row("unknown words", "zero", "")
    rows = [
        trac_row("right", "zero", "zero"),
        trac_row("wrong", "zero", "one").model_copy(update={"outcome": Outcome.TRUNCATED}),
        unknown_words.model_copy(update={"extra": unknown_words.extra | {"top1": None}}),
        trac_row("no description", "zero", None),
        trac_row("no support", "two", None).model_copy(update={"outcome": Outcome.OK}),
    ]
    found = {name: unit.value for name, unit in units("trac", "top1", rows).items()}
    assert found == {"right": 100.0, "wrong": 0.0, "unknown words": 0.0}


@pytest.mark.parametrize(("name", "key"), [("mm_sap", "score"), ("mm_vet", "total")])
def test_a_question_is_worth_the_mean_of_its_readable_answers_and_drawn_with_its_image(name: str, key: str) -> None:
    values = {"q1": [1.0, 0.0, None], "q2": [None, None], "q3": [0.25, 1.0, 1.0, 1.0]}
    rows = [
        Row(unit=question, group="all", cluster="street", outcome=Outcome.OK, values={key: each})
        for question, each in values.items()
    ]
    assert units(name, key, rows) == {"q1": Unit(50.0, "all", "street"), "q3": Unit(81.25, "all", "street")}


def pairs(
    root: Path, *about: tuple[int, str, tuple[str, str]], unread: tuple[str, ...] = (), counts: str = "wrong"
) -> Units:
    """MME's images of a model that says yes: picture, category and both right answers of each."""
    asked = [
        {"picture": picture, "answer": answer, "category": category}
        for picture, category, answers in about
        for answer in answers
    ]
    taken = exam(root, "mme", asked, Says(text="Yes."), unread=counts).collect()
    file = taken.folder("grade") / RECORDS
    said = {"answer": None, "outcome": Outcome.UNPARSED, "how": "several"}
    records = read_jsonl(file, YesNoRecord)
    write_jsonl(file, [each.model_copy(update=said) if each.question in unread else each for each in records])
    return units("mme", "score", taken.score().rows)


@pytest.mark.parametrize(("answers", "worth"), [(("yes", "yes"), 200.0), (("yes", "no"), 50.0), (("no", "no"), 0.0)])
def test_an_image_is_worth_its_part_of_accuracy_and_accuracy_plus(
    answers: tuple[str, str], worth: float, tmp_path: Path
) -> None:
    found = pairs(tmp_path, (1, "count", answers))
    assert [(unit.value, unit.stratum) for unit in found.values()] == [(worth, "count")]


@pytest.mark.parametrize(("counts", "worth"), [("wrong", [50.0, 200.0, 200.0]), ("left_out", [200.0, 200.0])])
def test_an_image_of_which_one_answer_cannot_be_read_is_worth_what_the_settings_say(
    counts: str, worth: list[float], tmp_path: Path
) -> None:
    found = pairs(
        tmp_path, *((picture, "count", ("yes", "yes")) for picture in range(3)), unread=("q1",), counts=counts
    )
    assert [unit.value for unit in found.values()] == worth


def test_one_image_in_two_categories_is_two(tmp_path: Path) -> None:
    found = pairs(tmp_path, *((picture, name, ("yes", "yes")) for picture, name in ((1, "a"), (1, "b"), (2, "a"))))
    assert sorted(unit.stratum for unit in found.values()) == ["a", "a", "b"]
    assert len({unit.cluster for unit in found.values()}) == 3
