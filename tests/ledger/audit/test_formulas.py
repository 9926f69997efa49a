"""Every number of a score file is explained, by a function that is there."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from driftledger.core.errors import LedgerError
from driftledger.ledger.audit.formulas import DATA, DRAWN, ENCODER, RATINGS, SAID, formula_of
from driftledger.ledger.audit.numbers import find_number, numbers_in
from driftledger.ledger.lineage import AnyScore, Behind
from driftledger.ledger.lock import LockedFile
from tests.conftest import REPOSITORY
from tests.support.description_ledgers import fidelity_score, trac_score
from tests.support.ledgers import score_file
from tests.support.question_ledgers import question_score

FILE = LockedFile(path="reports/scores/x.json", md5="0" * 32, size=1)
SHIPPED = sorted((REPOSITORY / "reports" / "scores").rglob("*.json"))


def behind(score: Any) -> Behind[AnyScore]:
    rest = {"score_file": FILE, "data": FILE, "collected": {}, "stages": {}}
    return Behind[AnyScore].model_validate({"score": score, **rest})


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: str(path.relative_to(REPOSITORY / "reports" / "scores")))
def test_every_shipped_number_has_a_formula_that_exists(path: Path) -> None:
    score = behind(json.loads(path.read_bytes()))
    formulas = [formula_of(score.score.benchmark, number.key, {}) for number in numbers_in(score)]
    assert len(formulas) > 10
    assert None not in formulas
    for module, _, name in {formula.function.rpartition(".") for formula in formulas if formula}:
        assert callable(getattr(import_module(module), name))


@pytest.mark.parametrize("score", [score_file(), trac_score(), fidelity_score(), question_score()])
def test_every_number_of_a_hand_written_score_is_found_by_its_name(score: Any) -> None:
    made = behind(score.model_dump(mode="json", by_alias=True))
    numbers = list(numbers_in(made))
    assert {number.key for number in numbers} >= {*score.metrics, "coverage"}
    for number in numbers:
        assert find_number([made], number.name).value == number.value


@pytest.mark.parametrize(
    ("benchmark", "name", "needs"),
    [
        ("genception", "gc_at_5", {ENCODER, DRAWN, SAID, DATA}),
        ("fidelity", "clip_s", {ENCODER, SAID, DATA}),
        ("fidelity", "ssim_low", {DRAWN, SAID, DATA}),
        ("fidelity", "human", {RATINGS, SAID}),
        ("trac", "chance", {SAID, DATA}),
        ("trac", "class/=one/top1", {ENCODER, SAID, DATA}),
    ],
)
def test_a_number_hangs_only_on_what_it_needs(benchmark: str, name: str, needs: set[str]) -> None:
    formula = formula_of(benchmark, name, {})
    assert formula is not None
    assert formula.needs == needs


def test_an_interval_names_its_bootstrap() -> None:
    formula = formula_of("trac", "top1_low", {"bootstrap": {"resamples": 200, "confidence": 0.95}})
    assert formula is not None
    assert (
        "lower end of the percentile bootstrap interval over samples (confidence 0.95, resamples 200)" in formula.says
    )
    assert formula.function == "driftledger.metrics.bootstrap.bootstrap_interval"


def test_a_number_of_the_past_has_no_formula() -> None:
    assert formula_of("genception", "an_old_metric", {}) is None
    assert formula_of("an_old_benchmark", "score", {}) is None


def test_the_first_trac_score_of_a_dataset_has_a_short_name() -> None:
    first, second = (behind(trac_score(asked).model_dump(mode="json", by_alias=True)) for asked in ("short", "shown"))
    assert find_number([first, second], "trac/digits/top1").name == "trac/digits/short/reader/top1"
    with pytest.raises(
        LedgerError, match=r"2 score files have a 'top1'; name one: trac/digits/short/reader/top1; trac"
    ):
        find_number([first, second], "top1")
