"""People and other judges beside the judge: sheets, agreement, and what is corrected by them."""

import csv
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from driftledger.benchmarks.mm_vet.commands import as_table, corrected_totals, grades_sheet, raters_agreement
from driftledger.benchmarks.mm_vet.raters import COLUMNS, agreement_of
from driftledger.benchmarks.mm_vet.stored import StoredAnswers
from driftledger.core.errors import ConfigError
from driftledger.core.terminal import show
from driftledger.metrics.correction import regression_mean
from driftledger.project.project import Project
from tests.benchmarks._questions.asking import VET, Grades, Says, exam
from tests.support.params import default_params

SHEET = Path("sheet.csv")


@dataclass(frozen=True)
class GradedExam:
    """A checkout in which one model was graded."""

    root: Path

    @property
    def project(self) -> Project:
        params = default_params()
        params["run"] |= {"models": ["seer"], "judge": "rubric"}
        params["models"] = {"seer": params["models"]["regions_medium"]}
        params["mm_vet"]["gradings"] = 2
        (self.root / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
        return Project(self.root, own_code=True)

    @property
    def stored(self) -> StoredAnswers:
        return StoredAnswers(self.project, "exam")

    def rows(self) -> list[dict[str, str]]:
        with (self.root / SHEET).open(encoding="utf-8-sig", newline="") as file:
            return list(csv.DictReader(file))

    def fill(self, *changes: dict[str, str]) -> None:
        rows = [row | change for row, change in zip(self.rows(), changes, strict=True)]
        with (self.root / SHEET).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)


def graded(
    root: Path, shift: int = 0, said: str = "It is red, and seven.", questions: Sequence[Mapping[str, object]] = VET
) -> GradedExam:
    exam(root, "mm_vet", questions, Says(text=said), Grades(shift=shift)).collect()
    return GradedExam(root)


def test_people_grade_in_a_sheet_and_agree_with_the_judge_or_not(tmp_path: Path, capsys: Any) -> None:
    here = graded(tmp_path)  # the judge gives 0.5 and 1.0
    told = grades_sheet(here.project, "exam", SHEET, 20, "ann")
    assert told.startswith("sheet.csv: 2 answers to grade, from 0 (totally wrong) to 1")
    assert [row["rater"] for row in here.rows()] == ["ann", "ann"]
    assert {row["truth"] for row in here.rows()} == {"red <AND> blue", "7 <OR> seven"}
    by_truth = {"red <AND> blue": "0", "7 <OR> seven": "1"}
    here.fill(*({"grade": by_truth[row["truth"]]} for row in here.rows()))
    found = raters_agreement(here.stored, [SHEET], [], {})
    assert (found.judge, found.raters) == ("umpire", {"umpire": 2, "ann": 2})
    [pair] = found.pairs
    assert (pair.one, pair.other, pair.answers) == ("umpire", "ann", 2)
    assert pair.kappa.value == pytest.approx(1 - 2 * 0.25 / 1.5)
    assert (pair.kappa.interval, pair.kappa.reason) == (None, "there are fewer than 6 images")
    assert pair.table[2][0] == pair.table[4][4] == 1
    assert sum(map(sum, pair.table)) == 2
    assert found.operating is not None
    assert found.operating[:2] == (1.0, 0.5)
    [total] = corrected_totals(here.stored, found)
    assert (total.model, total.total) == ("seer", 75)
    assert total.by_calibration is not None
    assert total.by_people is not None
    assert (total.by_calibration.estimate, total.by_people.estimate) == (75, 50)
    show(as_table(found, {}, [total]))
    printed = " ".join(capsys.readouterr().out.split())
    assert "umpire and ann 0.667 2" in printed
    assert "umpire and ann: no interval, since there are fewer than 6 images" in printed
    assert "by people's word umpire has sensitivity 1.000 and specificity 0.500" in printed
    assert "seer 75.00 75.00 [" in printed
    assert (
        "seer is not corrected model by model, since people graded 2 of its answers, and 20 are the fewest" in printed
    )
    assert 'read "model by model" where it is there' in printed


COLOURS = [{"answer": "red" if n % 2 else "blue", "capabilities": ["rec"]} for n in range(60)]


def people_say(here: GradedExam, of: int) -> None:
    """Of the blue ones, which the judge finds wrong, every other one is right."""
    grades_sheet(here.project, "exam", SHEET, of, "ann")
    rows = here.rows()
    right = (row["truth"] == "red" or int(row["question"].strip("'q")) % 4 == 0 for row in rows)
    here.fill(*({"grade": str(int(each))} for each in right))


def test_from_twenty_answers_on_a_total_is_corrected_model_by_model(tmp_path: Path, capsys: Any) -> None:
    here = graded(tmp_path, said="It is red.", questions=COLOURS)
    people_say(here, 20)
    found = raters_agreement(here.stored, [SHEET], [], {})
    assert found.known_of == {"seer": found.known}
    [total] = corrected_totals(here.stored, found)
    everywhere = [1.0] * 30 + [0.0] * 30
    by_own = regression_mean(*found.known, everywhere, confidence=0.95)
    assert by_own is not None
    assert total.by_own == pytest.approx([100 * each for each in by_own])
    blue_right = sum(worth > given for worth, given in zip(*found.known, strict=True))
    assert 100 * by_own.estimate == pytest.approx(50 + 50 * blue_right / found.known.given.count(0))
    assert (total.total, total.own) == (50, 20)
    show(as_table(found, {}, [total]))
    printed = " ".join(capsys.readouterr().out.split())
    assert "is not corrected" not in printed
    assert f"{total.by_own.estimate:.2f} [" in printed


def test_nineteen_answers_are_too_few(tmp_path: Path) -> None:
    here = graded(tmp_path, said="It is red.", questions=COLOURS)
    people_say(here, 19)
    [total] = corrected_totals(here.stored, raters_agreement(here.stored, [SHEET], [], {}))
    assert (total.by_own, total.own) == (None, 19)
    assert total.by_people is not None


def test_answers_that_people_find_all_right_correct_a_model_by_itself_alone(tmp_path: Path) -> None:
    here = graded(tmp_path, said="It is red.", questions=[{"answer": "red", "capabilities": ["rec"]}] * 24)
    grades_sheet(here.project, "exam", SHEET, 24, "ann")
    here.fill(*({"grade": "1"} for _ in range(24)))
    [total] = corrected_totals(here.stored, raters_agreement(here.stored, [SHEET], [], {}))
    assert total.by_people is None
    assert total.by_own is not None
    assert total.by_own.estimate == total.by_own.high == 100
    assert total.by_own.low == pytest.approx(84.86, abs=0.1)


def test_judges_of_other_checkouts(tmp_path: Path) -> None:
    here, there = graded(tmp_path / "here"), graded(tmp_path / "there", shift=-2)
    found = raters_agreement(here.stored, [], [there.root], {})
    assert list(found.raters) == ["umpire", f"umpire of {there.root}"]
    assert found.pairs[0].kappa.value is not None
    assert found.pairs[0].kappa.value < 1
    assert (found.operating, corrected_totals(here.stored, found)) == (None, [])
    assert found.alpha is not None


def test_a_sheet_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    here = graded(tmp_path)
    grades_sheet(here.project, "exam", SHEET, 1, "")
    assert len(here.rows()) == 1
    with pytest.raises(ConfigError, match="is there, and may hold grades"):
        grades_sheet(here.project, "exam", SHEET, 1, "")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"grade": "half"}, "the grade is 'half'; it must be from 0 to 1"),
        ({"grade": "1.5"}, "the grade is '1.5'"),
        ({"grade": "nan"}, "the grade is 'nan'"),
        ({"grade": "1", "rater": ""}, "'rater' is empty"),
        ({"grade": "1", "answer": "Something else."}, "this is not what 'seer' answers to"),
    ],
)
def test_a_sheet_of_which_something_is_wrong(tmp_path: Path, change: dict[str, str], message: str) -> None:
    here = graded(tmp_path)
    grades_sheet(here.project, "exam", SHEET, 1, "ann")
    here.fill(change)
    with pytest.raises(ConfigError, match=message):
        raters_agreement(here.stored, [SHEET], [], {})


def test_one_person_grades_an_answer_once(tmp_path: Path) -> None:
    here = graded(tmp_path)
    grades_sheet(here.project, "exam", SHEET, 1, "ann")
    here.fill({"grade": "1"})
    shutil.copy(tmp_path / SHEET, tmp_path / "other.csv")
    with pytest.raises(ConfigError, match="two of the sheets hold grades by 'ann'"):
        raters_agreement(here.stored, [SHEET, Path("other.csv")], [], {})


def test_rows_that_wait_and_other_question_sets_are_passed_over(tmp_path: Path) -> None:
    here = graded(tmp_path)
    grades_sheet(here.project, "exam", SHEET, 2, "ann")
    here.fill({"grade": "1", "question_set": "another"}, {})
    assert raters_agreement(here.stored, [SHEET], [], {}).raters == {"umpire": 2}


def test_what_answers_are_worth_is_the_mean_of_what_people_give() -> None:
    judge = {("m", "a"): 1.0, ("m", "b"): 0.4, ("m", "c"): 0.2}
    people = {"ann": {("m", "a"): 1.0, ("m", "b"): 0.0}, "bob": {("m", "a"): 1.0, ("m", "b"): 0.2}}
    images = {"a": "1", "b": "2", "c": "3"}
    found = agreement_of("judge", judge, people, people, images)
    assert found.known == ([1.0, 0.1], [1.0, 0.4])
    assert found.known_of == {"m": found.known}
    assert found.operating is not None
    assert found.operating.sensitivity == 1
    assert found.operating.specificity == pytest.approx(1 - (0.4 - 0.1 * 0.6 / 0.9))
    assert [(pair.one, pair.other) for pair in found.pairs] == [("judge", "ann"), ("judge", "bob"), ("ann", "bob")]


def test_agreement_that_is_known_well_has_an_interval_and_says_why_it_has_none() -> None:
    judge = {("m", str(number)): float(number % 2) for number in range(12)}
    other = judge | {("m", "0"): 1.0, ("m", "1"): 0.5}
    images = {str(number): str(number) for number in range(12)}
    found = agreement_of("judge", judge, {"other": other, "twin": judge, "absent": {}}, [], images)
    by_name = {(pair.one, pair.other): pair for pair in found.pairs}
    kappa = by_name["judge", "other"].kappa
    assert kappa.value is not None
    assert kappa.interval is not None
    assert kappa.interval.low < kappa.value < kappa.interval.high < 1
    assert by_name["judge", "twin"].kappa == (1.0, None, "they agree in everything")
    assert by_name["judge", "absent"].kappa == (None, None, "no answer is graded by both")
    assert found.alpha is not None
    assert found.alpha.interval is not None
