"""People grade answers in a sheet, and the judge is compared with them."""

import csv
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from driftledger.benchmarks.mm_vet.people import COLUMNS, Pair, agreement, write_sheet
from driftledger.core.errors import ConfigError
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

    def sheet(self, count: int) -> int:
        return write_sheet(self.project, "exam", self.root / SHEET, count, "ann")

    def agreement(self, *more: Path) -> list[Pair]:
        return agreement(self.project, "exam", [SHEET, *more])

    def rows(self) -> list[dict[str, str]]:
        with (self.root / SHEET).open(encoding="utf-8-sig", newline="") as file:
            return list(csv.DictReader(file))

    def fill(self, *changes: dict[str, str]) -> None:
        rows = [row | change for row, change in zip(self.rows(), changes, strict=True)]
        with (self.root / SHEET).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)


@pytest.fixture
def here(tmp_path: Path) -> GradedExam:
    exam(tmp_path, "mm_vet", VET, Says(text="It is red, and seven."), Grades()).collect()
    return GradedExam(tmp_path)


def test_kappa_of_the_judge_and_a_person(here: GradedExam) -> None:
    """The judge gives 0.5 and 1, the person 0 and 1: 1 − 2 · 0.25 / 1.5."""
    assert here.sheet(20) == 2
    assert {row["truth"] for row in here.rows()} == {"red <AND> blue", "7 <OR> seven"}
    here.fill(*({"grade": "0" if row["truth"].startswith("red") else "1"} for row in here.rows()))
    [pair] = here.agreement()
    assert (pair.one, pair.other, pair.answers) == ("umpire", "ann", 2)
    assert pair.kappa == pytest.approx(2 / 3)


def test_rows_that_wait_and_other_question_sets_are_left_out(here: GradedExam) -> None:
    here.sheet(2)
    here.fill({"grade": "1", "question_set": "another"}, {})
    assert here.agreement() == []


def test_a_sheet_is_not_overwritten(here: GradedExam) -> None:
    assert here.sheet(1) == 1
    with pytest.raises(ConfigError, match="is there, and may hold grades"):
        here.sheet(1)


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
def test_a_wrong_sheet(here: GradedExam, change: dict[str, str], message: str) -> None:
    here.sheet(1)
    here.fill(change)
    with pytest.raises(ConfigError, match=message):
        here.agreement()


def test_one_person_grades_an_answer_once(here: GradedExam) -> None:
    here.sheet(1)
    here.fill({"grade": "1"})
    shutil.copy(here.root / SHEET, here.root / "other.csv")
    with pytest.raises(ConfigError, match="two of the sheets hold grades by 'ann'"):
        here.agreement(Path("other.csv"))
