"""Metrics are set against people where a model said what people have judged, of the same image."""

from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import Row, Score
from driftledger.core.files import write_jsonl
from driftledger.core.types import Outcome
from driftledger.data.judgements import read_judgements
from driftledger.reports.correlation.people import WithPeople, with_people
from driftledger.reports.correlation.tables import markdown
from tests.support.description_ledgers import fidelity_score
from tests.support.ledgers import write_scored

RATINGS = {"a": 1.0, "b": 2.0, "c": 4.0, "d": 3.0, "e": 3.5}
SSIM = {"a": 10.0, "b": 30.0, "c": 50.0, "d": 20.0, "e": 60.0}


def judged(root: Path, name: str = "mine", captions: str = "A thing called {}") -> None:
    folder = root / "data" / "judgements"
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{image}.jpg,{captions.format(image)},{rating}" for image, rating in RATINGS.items()]
    (folder / f"{name}.csv").write_text("\n".join(["image,caption,rating", *lines, ""]), encoding="utf-8")


def said(root: Path, records: bool = True) -> Score:
    """Fidelity of five images, whose descriptions are the judged captions, with other blanks."""
    score = fidelity_score()
    rows = [
        Row(unit=image, group="all", cluster=image, outcome=Outcome.OK, values={"ssim": [SSIM[image]]})
        for image in RATINGS
    ]
    write_scored(root, score, rows)
    if records:
        common: dict[str, Any] = {"t": 1, "parent_sha256": "a" * 64, "seed": 1, "outcome": "ok"}
        texts = [{"sample": image, "description": f"A  thing called {image}\n", **common} for image in RATINGS]
        stage = benchmark("fidelity").collects[0]
        assert stage.record is not None
        (root / stage.at(score.keys)).mkdir(parents=True)
        write_jsonl(
            root / stage.at(score.keys) / "records.jsonl", [stage.record.model_validate(each) for each in texts]
        )
    return score


def found(root: Path, score: Score) -> list[WithPeople]:
    files = read_judgements(root / "data" / "judgements")
    return with_people(root, [(benchmark("fidelity"), score)], files, 0.95)


def test_a_metric_is_correlated_with_ratings_of_the_same_captions(tmp_path: Path) -> None:
    judged(tmp_path)
    (only,) = found(tmp_path, said(tmp_path))
    people, values = list(RATINGS.values()), list(SSIM.values())
    assert (only.judgements, only.title, only.images, only.found.n) == ("mine", "SSIM", 5, 5)
    assert only.found.spearman == pytest.approx(stats.spearmanr(people, values).statistic, abs=1e-6)
    assert only.found.kendall == pytest.approx(stats.kendalltau(people, values).statistic, abs=1e-6)
    assert only.spearman is not None
    assert only.spearman.low < only.found.spearman < only.spearman.high


def test_other_captions_of_the_same_images_are_not_theirs(tmp_path: Path) -> None:
    judged(tmp_path, captions="Another text about {}")
    score = said(tmp_path)
    assert found(tmp_path, score) == []
    files = read_judgements(tmp_path / "data" / "judgements")
    text = markdown([], [], [], [], [], 0.95, files, [])
    assert "Of the 5 captions judged in mine fewer than 3 were said by a model here" in text


def test_records_that_are_not_here_are_left_out(tmp_path: Path) -> None:
    judged(tmp_path)
    assert found(tmp_path, said(tmp_path, records=False)) == []


def test_the_table_has_a_row_for_each_metric(tmp_path: Path) -> None:
    judged(tmp_path)
    people = found(tmp_path, said(tmp_path))
    text = markdown([], [], [], [], [], 0.95, read_judgements(tmp_path / "data" / "judgements"), people)
    assert "**mine: our metrics and people, caption by caption**" in text
    (line,) = [line for line in text.splitlines() if line.startswith("| SSIM, fidelity")]
    assert "| 5 | 5 | 0.80 (" in line


def test_without_judgements_nothing_is_read(tmp_path: Path) -> None:
    assert found(tmp_path, fidelity_score()) == []
