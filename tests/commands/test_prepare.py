"""What a user asks before a run: what is still to do, and what it may cost."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from driftledger.benchmarks.base import DATASET, QUESTION_SET
from driftledger.benchmarks.mm_vet.judging import CALIBRATION
from driftledger.commands.collect import collect, plan
from driftledger.core.registry import OURS
from driftledger.data.question_sets.files import read_questions
from driftledger.data.records import read_samples
from driftledger.project.catalogue import catalogue
from driftledger.project.project import Project
from tests.conftest import draw
from tests.support.evaluation import build
from tests.support.params import default_params

SETS = ("scenes_mm_sap", "scenes_mm_vet")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Three drawn images, a model and a fake generator."""
    monkeypatch.setitem(OURS["generators"], "size", "tests.support.fakes:SizeGenerator")
    root = tmp_path / "project"
    for number in range(3):
        draw(root / "my_images" / f"{number}.png", number, (20 + 10 * number, 30))
    params = default_params()
    params["run"] |= {"datasets": ["my_images"], "genception": ["my_images"], "trac": [], "fidelity": []}
    params["run"] |= {"question_sets": [], "mm_sap": [], "mm_vet": [], "mme": []}
    params["run"] |= {"models": ["blind"], "generators": ["size"]}
    params["datasets"] = {"my_images": {"provider": "image_folder", "path": str(root / "my_images")}}
    params["generators"] = {"size": {"provider": "size"}}
    for name in ("gpt_4o", "gpt_4_1"):
        vouched = catalogue("models")[name].model_dump(exclude_none=True) | {"understood_by": ["layout", "rubric"]}
        params["models"][name] = vouched
    params["genception"] |= {"iterations": 2, "generate_prompt": "draw {description}"}
    (root / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    return Project(root)


def select(project: Project, **run: Any) -> Project:
    path = project.root / "params.yaml"
    params = yaml.safe_load(path.read_text(encoding="utf-8"))
    params["run"] |= run
    path.write_text(yaml.safe_dump(params), encoding="utf-8")
    return Project(project.root)


def test_a_plan_needs_the_dataset_and_neither_key_nor_network(project: Project) -> None:
    project = select(project, models=["regions_coarse", "gpt_4o"], generators=["size", "dall_e_3"])
    planned = {name: calls.to_dict() for name, calls in plan(project).items()}  # which builds the dataset
    assert list(planned) == ["models.regions_coarse", "models.gpt_4o", "generators.size", "generators.dall_e_3"]
    assert planned["models.gpt_4o"]["to_make"] == 3 * (1 + 1 + 1)  # t = 1 is one call for both generators
    assert planned["generators.dall_e_3"]["most_cost"] == pytest.approx(12 * 0.04)
    assert planned["models.gpt_4o"]["most_cost"] > 0
    assert planned["models.regions_coarse"]["most_cost"] is None
    json.dumps(planned)


def test_a_plan_counts_answers_and_their_gradings(project: Project) -> None:
    path = project.root / "params.yaml"
    params = yaml.safe_load(path.read_text(encoding="utf-8"))
    params["question_sets"] = {
        name: {"provider": "scenes", "protocol": name.removeprefix("scenes_"), "count": 13} for name in SETS
    }
    path.write_text(yaml.safe_dump(params), encoding="utf-8")
    selected = {"question_sets": list(SETS), "mm_sap": ["scenes_mm_sap"], "mm_vet": ["scenes_mm_vet"]}
    project = select(project, models=["gpt_4o", "blind"], judge="gpt_4_1", **selected)
    build(project)
    sap, vet = (len(read_questions(project.root / QUESTION_SET.at({"question_set": name}))) for name in SETS)
    before = {name: calls.to_dict() for name, calls in plan(project).items()}
    chains = 3 * 2
    most = chains + 5 * sap + vet  # equal orders of the same options are one call
    assert 0.9 * most < before["models.gpt_4o"]["to_make"] <= most
    twice_at_most = 2 * 2 * (vet + len(CALIBRATION)) * 5
    first_of_both_models = len(CALIBRATION)  # the same call for either model
    assert before["judge gpt_4_1"]["to_make"] == twice_at_most - first_of_both_models
    assert before["judge gpt_4_1"]["most_cost"] > 0
    collect(select(project, genception=[], mm_vet=[]), ["blind"])
    project = select(project, genception=["my_images"], mm_vet=["scenes_mm_vet"])
    after = {name: calls.to_dict() for name, calls in plan(project).items()}
    stored = after["models.blind"]["stored"]
    assert before["models.blind"]["to_make"] - after["models.blind"]["to_make"] == stored
    assert 0.9 * 5 * sap < stored <= 5 * sap


def test_a_plan_counts_what_examples_depend_on_at_most(project: Project) -> None:
    path = project.root / "params.yaml"
    params = yaml.safe_load(path.read_text(encoding="utf-8"))
    shown = {"choose": "random", "shots": [1, 2], "by": "gpt_4_1"}
    params["descriptions"] = {"shown": {"prompt": "What is it?", "demonstrations": shown}}
    params["datasets"] |= {"digits": {"provider": "digits"}}
    path.write_text(yaml.safe_dump(params), encoding="utf-8")
    names = {"datasets": ["digits"], "genception": [], "trac": ["digits"], "descriptions": ["shown"]}
    project = select(project, models=["gpt_4o", "gpt_4_1"], **names)
    build(project)
    samples = read_samples(project.root / DATASET.at({"dataset": "digits"}))
    planned = {name: calls.to_dict() for name, calls in plan(project).items()}
    # The examples that gpt_4_1 describes for both models are its own descriptions without examples.
    assert [planned[f"models.{name}"]["to_make"] for name in ("gpt_4o", "gpt_4_1")] == [len(samples) * (1 + 2)] * 2
