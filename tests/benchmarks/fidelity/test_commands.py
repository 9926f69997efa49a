"""The sheet in which people rate the descriptions of the selected models."""

from pathlib import Path

import pytest
import typer
import yaml
from driftledger.benchmarks.fidelity.commands import app, ratings_sheet
from typer.testing import CliRunner

from driftledger.benchmarks._chains.records import ChainRecord
from driftledger.benchmarks.fidelity.ratings import RUBRIC, read_ratings
from driftledger.core.errors import ConfigError, StoreError
from driftledger.core.files import write_jsonl
from driftledger.core.types import Outcome
from driftledger.project.project import Project
from tests.support.params import default_params


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Two models' redrawings of ten samples; the second model has refused to describe one."""
    params = default_params()
    params["run"] |= {"models": ["blind", "regions_coarse"], "fidelity": ["photos"]}
    params["fidelity"]["ratings"] = "ratings.csv"
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    for model in ("blind", "regions_coarse"):
        records = []
        for number in range(10):
            refused = (model, number) == ("regions_coarse", 3)
            said = {"outcome": Outcome.REFUSED} if refused else {"outcome": Outcome.OK, "description": f"={model}"}
            fixed = {"sample": f"s{number}", "t": 1, "parent_sha256": "p", "seed": 1}
            records.append(ChainRecord.model_validate(fixed | said))
        write_jsonl(tmp_path / "data/redraws/photos" / model / "painter/records.jsonl", records)
    return Project(tmp_path)


def lines(project: Project) -> list[str]:
    return (project.root / "ratings.csv").read_text(encoding="utf-8-sig").splitlines()


def test_the_same_samples_of_every_model_are_in_the_sheet(project: Project) -> None:
    said = ratings_sheet(project, "photos", 4, "ann")
    samples = {
        model: {line.split(",")[1] for line in lines(project) if f",{model}," in line}
        for model in ("blind", "regions_coarse")
    }
    assert len(samples["blind"]) == 4
    assert samples["regions_coarse"] == samples["blind"] - {"'s3"}
    assert said.startswith(f"ratings.csv: {sum(map(len, samples.values()))} descriptions to rate, 0 rated")
    assert "the images are data/datasets/photos/images/<sample>.png" in said
    assert all(meaning in said for meaning in RUBRIC.values())
    assert read_ratings(project.root / "ratings.csv") == []
    ratings_sheet(project, "photos", 100, "ann")
    assert len(lines(project)) == 1 + 10 + 9


def test_a_sheet_needs_its_name_and_the_descriptions(project: Project) -> None:
    with pytest.raises(StoreError):
        ratings_sheet(project, "digits", 4, None)
    params = (project.root / "params.yaml").read_text(encoding="utf-8").replace("ratings: ratings.csv", "ratings: null")
    (project.root / "params.yaml").write_text(params, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"fidelity\.ratings in params\.yaml names no file; set it"):
        ratings_sheet(Project(project.root), "photos", 4, None)


def test_the_command_is_a_group_of_the_command_line(project: Project) -> None:
    top = typer.Typer()
    top.add_typer(app, name="ratings")
    done = CliRunner().invoke(top, ["ratings", "sheet", "photos", "--samples", "2", "--rater", "ann"], obj=project)
    assert done.exit_code == 0, done.output
    assert "descriptions to rate, 0 rated" in done.output
    assert len(lines(project)) <= 1 + 2 * 2
