"""People describe images, and what was drawn from what they wrote."""

import csv
import io
from pathlib import Path

import pytest
import yaml

from driftledger.benchmarks._chains.records import ChainRecord
from driftledger.benchmarks.genception.human import human_sheet
from driftledger.commands.collect import collect
from driftledger.core.errors import ConfigError, CoverageError
from driftledger.core.files import read_jsonl
from driftledger.core.registry import OURS
from driftledger.project.project import Project
from tests.conftest import draw
from tests.support.evaluation import build
from tests.support.params import default_params


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Three drawn images, a person as the model, and a fake generator."""
    monkeypatch.setitem(OURS["generators"], "size", "tests.support.fakes:SizeGenerator")
    root = tmp_path / "project"
    for number in range(3):
        draw(root / "my_images" / f"{number}.png", number, (20 + 10 * number, 30))
    params = default_params()
    params["run"] |= {"datasets": ["my_images"], "genception": ["my_images"], "trac": [], "fidelity": []}
    params["run"] |= {"mm_sap": [], "mm_vet": [], "mme": [], "question_sets": []}
    params["run"] |= {"models": ["anna"], "generators": ["size"]}
    params["datasets"] = {"my_images": {"provider": "image_folder", "path": str(root / "my_images")}}
    params["models"] = {
        "anna": {"provider": "human", "path": str(root / "human")},
        "typed": {"provider": "human", "path": str(root / "typed.csv")},
    }
    params["generators"] = {"size": {"provider": "size"}}
    params["genception"] |= {"iterations": 2, "generate_prompt": "draw {description}"}
    (root / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    return Project(root)


def fresh(project: Project) -> Project:
    return Project(project.root)


def collected(project: Project) -> None:
    build(project)
    collect(project, ["anna"])


def rows(project: Project) -> list[dict[str, str]]:
    text = (project.root / "human" / "sheet.csv").read_text(encoding="utf-8-sig")
    found = csv.DictReader(io.StringIO(text, newline=""))
    return [{name: cell.removeprefix("'") for name, cell in row.items()} for row in found]  # as a spreadsheet shows it


def fill_in(project: Project, texts: dict[tuple[str, str], str]) -> None:
    filled = [row | {"text": texts.get((row["sample"], row["t"]), row["text"])} for row in rows(project)]
    out = io.StringIO()
    writer = csv.DictWriter(out, list(filled[0]))
    writer.writeheader()
    writer.writerows(filled)
    (project.root / "human" / "sheet.csv").write_text(out.getvalue(), encoding="utf-8")


def test_people_describe_what_was_drawn_from_what_they_wrote(project: Project) -> None:
    with pytest.raises(ConfigError, match="is missing; write it with: driftledger people descriptions"):
        collected(project)
    assert "3 images to describe, 0 described" in human_sheet(project, "my_images", "anna")
    fill_in(project, {(str(number), "1"): f"{20 + 10 * number}x30" for number in range(3)})

    with pytest.raises(CoverageError, match=r"nothing is written for sample '0', t=2"):
        collected(fresh(project))
    said = human_sheet(fresh(project), "my_images", "anna")
    assert said.endswith("sheet.csv: 3 images to describe, 3 described")
    assert sorted((row["sample"], row["t"]) for row in rows(project) if not row["text"]) == [
        (str(number), "2") for number in range(3)
    ]
    fill_in(project, {(str(number), "2"): f"{21 + 10 * number}x30" for number in range(3)})
    collected(fresh(project))
    records = read_jsonl(project.root / "data/records/anna/genception/my_images/size/records.jsonl", ChainRecord)
    assert [record.description for record in records] == ["20x30", "21x30", "30x30", "31x30", "40x30", "41x30"]
    assert human_sheet(fresh(project), "my_images", "anna").endswith("0 images to describe, 6 described")


def test_of_several_chains_people_describe_each_image_once(project: Project) -> None:
    """The original is the same in all of them, and what is drawn from its description is not."""
    params = yaml.safe_load((project.root / "params.yaml").read_text())
    params["genception"]["repeats"] = 2
    (project.root / "params.yaml").write_text(yaml.safe_dump(params))
    project = fresh(project)
    assert "3 images to describe, 0 described" in human_sheet(project, "my_images", "anna")
    fill_in(project, {(str(number), "1"): f"{20 + 10 * number}x30" for number in range(3)})
    with pytest.raises(CoverageError, match=r"6 of 6 chains were ended by a failed call"):
        collected(fresh(project))
    assert human_sheet(fresh(project), "my_images", "anna").endswith("sheet.csv: 6 images to describe, 3 described")
    fill_in(project, {(str(number), "2"): f"{21 + 10 * number}x30" for number in range(3)})
    collected(fresh(project))
    records = read_jsonl(project.root / "data/records/anna/genception/my_images/size/records.jsonl", ChainRecord)
    assert [record.repeat for record in records] == [0] * 6 + [1] * 6
    assert len({record.image_sha256 for record in records}) == 12


def test_descriptions_that_wait_to_be_drawn_are_counted(project: Project) -> None:
    human_sheet(project, "my_images", "anna")
    fill_in(project, {("0", "1"): "20x30"})
    said = human_sheet(fresh(project), "my_images", "anna")
    assert said.endswith("2 images to describe, 1 described; 1 described ones wait to be drawn: run 'dvc repro'")


@pytest.mark.parametrize(
    ("model", "said"),
    [("blind", "models.blind in params.yaml is not of provider human"), ("typed", "let it be a folder for a sheet")],
)
def test_a_sheet_is_for_people_and_in_a_folder(project: Project, model: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        human_sheet(project, "my_images", model)


def test_five_of_each_category_go_to_five_people(project: Project, tmp_path: Path) -> None:
    """As in the paper's Table 5: of each category five random images, each described by another person."""
    people = ["Ada", "Ben", "Cleo", "Dan", "Eve"]
    for number in range(14):
        draw(tmp_path / "many" / ("cats", "dogs")[number % 2] / f"{number}.png", number, (20 + number, 30))
    params = yaml.safe_load((project.root / "params.yaml").read_text(encoding="utf-8"))
    params["datasets"]["my_images"] |= {"path": str(tmp_path / "many"), "per_category": 5}
    params["models"]["anna"]["annotators"] = people
    (project.root / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    assert "10 images to describe, 0 described" in human_sheet(fresh(project), "my_images", "anna")
    asked = {row["sample"]: row["annotator"] for row in rows(project)}
    for category in ("cats", "dogs"):
        assert sorted(name for sample, name in asked.items() if sample.startswith(category)) == people
    told = (project.root / "human" / "instructions.txt").read_text(encoding="utf-8")
    assert 'Fill in the rows with your name in the column "annotator".' in told
    before = (project.root / "human" / "sheet.csv").read_bytes()
    human_sheet(fresh(project), "my_images", "anna")
    assert (project.root / "human" / "sheet.csv").read_bytes() == before


def test_a_group_that_a_dataset_does_not_have_is_named(project: Project) -> None:
    params = yaml.safe_load((project.root / "params.yaml").read_text(encoding="utf-8"))
    params["genception"]["iterations_by_group"] = {"textual": 1}
    (project.root / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"iterations_by_group: group of my_images 'textual' is unknown"):
        human_sheet(fresh(project), "my_images", "anna")
