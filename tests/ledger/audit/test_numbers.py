"""Every number of a score is explained, by a function that is there."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from driftledger.benchmarks.base import Input
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import SCORE, Score
from driftledger.core.errors import LedgerError
from driftledger.core.files import read_json
from driftledger.ledger.audit.numbers import find_number, numbers_in
from driftledger.ledger.lineage import Lineage
from driftledger.ledger.lock import LockedFile
from tests.conftest import REPOSITORY
from tests.support.description_ledgers import fidelity_score, trac_score
from tests.support.ledgers import genception_score
from tests.support.question_ledgers import question_score

FILE = LockedFile(path="reports/scores/x/score.json", md5="0" * 32, size=1)
SHIPPED = sorted((REPOSITORY / "reports" / "scores").rglob(SCORE))


def lineage(score: Score) -> Lineage:
    return Lineage(score=score, score_file=FILE, rows_file=FILE, data=FILE, collected={}, stages={})


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: str(path.relative_to(REPOSITORY / "reports" / "scores")))
def test_every_shipped_number_of_a_table_has_a_formula_and_a_function_that_exists(path: Path) -> None:
    made = lineage(read_json(path, Score))
    of_tables = [number for number in numbers_in(made) if number.key in made.score.metrics or number.key == "coverage"]
    assert len(of_tables) > 4
    for number in of_tables:
        assert number.formula
        assert number.metric is not None
        module, _, name = number.metric.function.rpartition(".")
        assert callable(getattr(import_module(module), name))


@pytest.mark.parametrize("score", [genception_score(), trac_score(), fidelity_score(), question_score()])
def test_every_number_of_a_hand_written_score_is_found_by_its_name(score: Score) -> None:
    made = lineage(score)
    numbers = list(numbers_in(made))
    assert {number.key for number in numbers} >= {*score.metrics, "coverage"}
    for number in numbers:
        assert find_number([made], number.name).value == number.value


CHAIN = {Input.ENCODER, Input.DRAWN, Input.DESCRIPTIONS, Input.DATA}


@pytest.mark.parametrize(
    ("name", "key", "needs"),
    [
        ("genception", "gc_at_5", CHAIN),
        ("fidelity", "clip_s", {Input.ENCODER, Input.DESCRIPTIONS, Input.DATA}),
        ("fidelity", "ssim_low", {Input.DRAWN, Input.DESCRIPTIONS, Input.DATA}),
        ("fidelity", "human", {Input.RATINGS, Input.DESCRIPTIONS}),
        ("trac", "chance", {Input.DESCRIPTIONS, Input.DATA}),
        ("trac", "top1", {Input.TEXT_ENCODER, Input.DESCRIPTIONS, Input.DATA}),
        ("genception", "text_similarity_mean", CHAIN - {Input.ENCODER} | {Input.TEXT_ENCODER}),
        ("genception", "cross_check", {Input.TEXT_ENCODER, Input.WITNESSES, Input.DESCRIPTIONS, Input.DATA}),
        ("mm_sap", "answer_rate", {Input.ANSWERS, Input.DATA}),
    ],
)
def test_a_number_depends_only_on_what_it_needs(name: str, key: str, needs: set[Input]) -> None:
    metric = benchmark(name).metric(key)
    assert metric is not None
    assert metric.needs == needs


def test_an_interval_names_its_confidence() -> None:
    settings: dict[str, Any] = {"confidence": 0.95, "seed": 7, "iterations": 2}
    score = genception_score()
    made = lineage(score.model_copy(update={"inputs": score.inputs.model_copy(update={"settings": settings})}))
    formula = find_number([made], "gc_at_2_low").formula
    assert formula is not None
    assert formula.startswith("lower end of the 95% interval of: Σ")


@pytest.mark.parametrize(
    "name",
    [
        *("gc_at_2_low", "uncertainty/gc_at_2_low.genception.shapes", "genception/shapes/gc_at_2_low"),
        *("interval/gc_at_2_low", "genception/shapes/interval/gc_at_2_low"),
    ],
)
def test_an_end_of_an_interval_is_known_by_the_name_that_mlflow_shows(name: str) -> None:
    found = find_number([lineage(genception_score())], name)
    assert (found.name, found.value) == ("genception/shapes/gc_at_2_low", 0.65)


def test_a_deviation_is_known_by_the_name_that_mlflow_shows() -> None:
    for name in ("uncertainty/score_std.mm_sap.exam", "mm_sap/exam/deviation/score_std"):
        assert find_number([lineage(question_score())], name).key == "score_std"


@pytest.mark.parametrize("score", [genception_score(), trac_score(), fidelity_score(), question_score()])
def test_every_number_is_known_by_the_name_that_mlflow_shows(score: Score) -> None:
    made = lineage(score)
    for number in numbers_in(made):
        assert find_number([made], number.tracked(made.place)).value == number.value


def test_a_number_that_no_table_has_has_no_formula() -> None:
    score = genception_score()
    made = lineage(score.model_copy(update={"metrics": score.metrics | {"an_old_metric": 1.0}}))
    assert find_number([made], "an_old_metric").formula is None


def test_the_first_trac_score_of_a_dataset_has_a_short_name() -> None:
    first, second = (lineage(trac_score(asked)) for asked in ("short", "shown"))
    assert find_number([first, second], "trac/digits/top1").name == "trac/digits/short/reader/top1"
    with pytest.raises(
        LedgerError, match=r"2 score files have a 'top1'; name one: trac/digits/short/reader/top1; trac"
    ):
        find_number([first, second], "top1")
