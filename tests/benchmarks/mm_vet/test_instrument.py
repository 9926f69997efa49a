"""What a score says of its judge."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from driftledger.benchmarks.base import SideBySide
from driftledger.benchmarks.mm_vet.calibration import CALIBRATION
from driftledger.benchmarks.mm_vet.instrument import Instrument, KnownGrades, instrument, known_grades, regressed_total
from driftledger.benchmarks.mm_vet.records import ALPHA, CORRECTED, SENSITIVITY, SPECIFICITY, Calibration
from driftledger.benchmarks.registry import benchmark
from driftledger.metrics.correction import Graded, corrected_mean
from tests.benchmarks._questions.asking import VET, Grades, Says, exam
from tests.support.question_ledgers import question_score
from tests.support.tables import texts


def known(worth: float, *given: float | None, forged: bool = False) -> Calibration:
    return Calibration(question="q", answer="a", known=worth, forged=forged, given=list(given))


LENIENT = [known(1.0, 1.0, 1.0), known(0.0, 0.5, 0.5), known(0.0, 0.0, 0.0)]
"""Wrong answers get a quarter on average."""


def told(grades: Sequence[Sequence[float | None]], calibration: Sequence[Calibration]) -> Instrument:
    counted = np.ones((len(grades), len(grades[0])), dtype=bool)
    return instrument(grades, counted, [str(number) for number in range(len(grades))], calibration, 0.95)


def test_the_score_of_a_sound_judge_is_corrected_by_nothing_and_known_badly(tmp_path: Path) -> None:
    scored = exam(tmp_path, "mm_vet", VET, Says(text="It is red, and seven."), Grades()).collect().score().score
    found = scored.metrics
    assert (found["total"], found[CORRECTED]) == (75, 75)
    assert (found[SENSITIVITY], found[SPECIFICITY], found[ALPHA]) == (1, 1, 1)
    low, high = scored.interval(CORRECTED) or (0.0, 0.0)
    assert low < 30 < 100 == high


def test_a_lenient_judge_is_corrected_downwards() -> None:
    values, absent = told([[1.0, 1.0], [0.25, 0.25]], LENIENT)
    assert absent == {}
    assert (values[SENSITIVITY], values[SPECIFICITY]) == (1, 0.75)
    assert values[CORRECTED] == pytest.approx(50)  # (0.625 − 0.25) / 0.75
    assert values[CORRECTED + "_low"] <= values[CORRECTED] <= values[CORRECTED + "_high"]


def test_forged_answers_are_not_among_what_a_judge_is_measured_by() -> None:
    forged = known(0.0, 1.0, 1.0, forged=True)
    assert known_grades([*LENIENT, forged]) == known_grades(LENIENT) == ([1, 0, 0], [1, 0.5, 0])
    assert sum(not item.forged for item in CALIBRATION) == 8


def test_what_was_not_graded_is_worth_nothing_whatever_the_judge() -> None:
    """Half of the answers were refused: the other half alone is corrected."""
    all_read = told([[1.0], [0.25]], LENIENT).values[CORRECTED]
    half_read = told([[1.0], [0.25], [None], [None]], LENIENT).values[CORRECTED]
    assert half_read == pytest.approx(all_read / 2)
    assert told([[None], [None]], LENIENT).values[CORRECTED] == 0


def test_gradings_and_questions_about_one_image_do_not_make_the_interval_narrower() -> None:
    known_worth = [known(float(right), float(right)) for right in [True, False] * 50]
    once = told([[1.0], [0.0]] * 30, known_worth).values
    often = told([[1.0] * 5, [0.0] * 5] * 30, known_worth).values
    assert [once[CORRECTED + end] for end in ("", "_low", "_high")] == [
        often[CORRECTED + end] for end in ("", "_low", "_high")
    ]
    grades, images = [[1.0], [1.0], [0.0], [0.0]] * 15, [str(number // 2) for number in range(60)]
    pairs = instrument(grades, np.ones((60, 1), dtype=bool), images, known_worth, 0.95).values
    assert pairs[CORRECTED + "_high"] - pairs[CORRECTED + "_low"] > once[CORRECTED + "_high"] - once[CORRECTED + "_low"]


def test_it_is_the_function_of_the_metric() -> None:
    found = corrected_mean(Graded(0.5, 59.0), *known_grades(LENIENT), confidence=0.95)
    values = told([[1.0], [0.0]] * 30, LENIENT).values
    assert found is not None
    assert [values[CORRECTED + end] for end in ("", "_low", "_high")] == [100 * each for each in found]


@pytest.mark.parametrize(
    ("grades", "calibration", "absent"),
    [
        ([[0.5], [1.0]], LENIENT, {ALPHA: "each answer is graded once"}),
        ([[0.5, 0.5]], LENIENT, {ALPHA: "every grade is the same"}),
        (
            [[0.5, 0.4]],
            [known(1.0, 1.0), known(0.0, None)],
            dict.fromkeys(
                (SENSITIVITY, SPECIFICITY, CORRECTED), "of the calibration answers no right one, or no wrong"
            ),
        ),
        (
            [[0.5, 0.4]],
            [known(1.0, 0.2), known(0.0, 0.2)],
            {CORRECTED: "the judge gives right calibration answers no more than wrong ones"},
        ),
    ],
)
def test_what_is_absent_says_why(
    grades: list[list[float | None]], calibration: list[Calibration], absent: dict[str, str]
) -> None:
    found = told(grades, calibration)
    assert found.absent.keys() == absent.keys()
    assert all(found.absent[key].startswith(why) for key, why in absent.items())
    assert not found.values.keys() & absent.keys()


def test_the_report_has_a_table_of_the_judge() -> None:
    metrics = {"total": 36.0, CORRECTED: 31.0, f"{CORRECTED}_low": 2.0, f"{CORRECTED}_high": 60.5}
    metrics |= {SENSITIVITY: 0.975, SPECIFICITY: 0.95, ALPHA: 0.5}
    calibration = [item.model_dump(mode="json", exclude={"schema_"}) for item in LENIENT]
    score = question_score("mm_vet", metrics=metrics, groups={"capability": {"rec": {"grade": 1.0}}})
    score = score.model_copy(update={"details": {"calibration": calibration}})
    first, table = benchmark("mm_vet").tables(SideBySide("exam", [score])) or ()
    assert "sensitivity" not in " ".join(first.head)
    assert table.name == "judge"
    assert texts(table)[1] == ["seer", "36.00", "31.00 (2.0–60.5)", "0.975", "0.950", "0.500"]
    assert "from 3 calibration answers alone" in table.notes[0]


def test_what_was_not_graded_is_worth_nothing_model_by_model_either() -> None:
    own = KnownGrades([1.0, 0.0] * 12, [0.9, 0.3] * 12)
    read = [[each, each] for each in own.given] + [[0.9, 0.3]] * 12
    unread: list[list[float | None]] = [[None, None]] * 36
    all_read, half_read = (
        regressed_total(grades, np.ones((len(grades), 2), dtype=bool), own, 0.95) for grades in (read, read + unread)
    )
    assert all_read is not None
    assert half_read is not None
    assert all_read.estimate == pytest.approx(50)
    assert half_read == pytest.approx([each / 2 for each in all_read])
