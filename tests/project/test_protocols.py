"""Published protocols can be gone over: each preset is planned, without a network, over small files
as published."""

import json
from pathlib import Path

import pytest
import yaml

from driftledger.benchmarks.base.stage import DATASET, QUESTION_SET
from driftledger.benchmarks.registry import question_rules
from driftledger.commands.plan import plan
from driftledger.components.checkpoints import CheckpointComponent
from driftledger.core.errors import ConfigError, DataError
from driftledger.core.registry import OURS, provider_class
from driftledger.data.build import build as build_dataset
from driftledger.data.build import build_questions
from driftledger.data.hub import HubTable
from driftledger.project.catalogue import catalogue
from driftledger.project.presets import apply_preset, presets
from driftledger.project.project import Project
from driftledger.project.resolve import resolve
from driftledger_demo.encoders.layout import LayoutEncoder
from driftledger_demo.generators.painter import Painter
from driftledger_demo.models.rubric import Rubric
from tests.conftest import REPOSITORY
from tests.data.question_sets.sources import SAP, png
from tests.sentence import run
from tests.support.cases import cases
from tests.support.params import default_params
from tests.support.small import write_params

datasets = pytest.importorskip("datasets")

DRAWN = ("default", "embedded", "neural")
"""They select no paper's data, but much that is drawn."""
PRESETS = [
    pytest.param(name, marks=[pytest.mark.slow] * (name in DRAWN))
    for name in sorted(presets(REPOSITORY))
]
GROUPS = catalogue("datasets")["mme"].model_dump()["groups"]
PER_CATEGORY = 6
"""Images of each of MME's fourteen categories in the small copy."""
MME = [
    {
        "question_id": f"{name}/{n}",
        "category": name,
        "label": name,
        "question": f"Is it {said}?",
        "answer": said,
    }
    | {"image": {"bytes": png(PER_CATEGORY * place + n), "path": f"{n}.png"}}
    for place, name in enumerate(name for names in GROUPS.values() for name in names)
    for n in range(PER_CATEGORY)
    for said in ("Yes", "No")
]
VET = [
    {
        "question_id": f"v1_{n}",
        "question": f"What is x{n}?",
        "answer": "-1 <AND> -5",
        "capability": "ocr,math",
    }
    | {"image": {"bytes": png(n // 2), "path": f"{n}.png"}}
    for n in range(3)
]
LABELLED = [row for row in MME if row["category"] in ("count", "color")]
STAND_INS = {
    "models": {"provider": "blind"},
    "generators": {"provider": "painter"},
    "encoders": {"provider": "letters"},
}
"""For checkpoints, whose fingerprints are made of their files."""
SAP_COUNTS = {"basic": 2, "know": 1, "beyond": 1}


def entry_of(section, name):
    return catalogue(section)[name].model_dump()


def stored(folder, rows):
    """The settings that read the rows from a folder as the hub's copy, in any split."""
    folder.mkdir()
    for split in ("train", "validation", "test"):
        table = datasets.Dataset.from_list(rows).cast_column(
            "image", datasets.Image(decode=False)
        )
        table.to_parquet(folder / f"{split}.parquet")
    return {"path": str(folder), "revision": None}


def published_sap(folder):
    """A JSON file and a folder of images for each subset, by the names of the catalogue's entry."""
    entry = entry_of("question_sets", "mm_sap")
    refusal = entry["refusal"]
    options = [refusal if "Sorry" in option else option for option in SAP["options"]]
    paths = {"path": {}, "images": {}}
    for place, (subset, number) in enumerate(SAP_COUNTS.items()):
        for name in paths:
            paths[name][subset] = str(folder / entry[name][subset])
        answer = refusal if subset == "beyond" else "blue"
        row = {"image": "1.png", "question": SAP["question"]}
        row |= {"options": options, "answer": answer}
        images = Path(paths["images"][subset])
        images.mkdir(parents=True)
        (images / "1.png").write_bytes(png(place))
        Path(paths["path"][subset]).write_text(json.dumps([row] * number))
    return paths


SCENES = 13
"""One of each theme: what is planned says nothing of how many there are."""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project in which small copies and stand-ins have the names of what would be downloaded."""
    with pytest.MonkeyPatch.context() as patch:
        cache = tmp_path_factory.mktemp("cache")
        patch.setattr(datasets.config, "HF_DATASETS_CACHE", cache)
        patch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
        patch.setitem(OURS["encoders"], "letters", "tests.support.fakes:LetterEncoder")
        for stands_in in (Painter, LayoutEncoder, Rubric):
            patch.setattr(stands_in, "understands", None)
        root = tmp_path_factory.mktemp("project")
        mme, vet = stored(root / "mme_hub", MME), stored(root / "vet_hub", VET)
        labelled = stored(root / "labelled_hub", LABELLED)
        params = default_params()
        copies = {
            "mm_sap": published_sap(root) | {"expect": SAP_COUNTS},
            "mm_vet": vet | {"expect": {"questions": 3, "images": 2}},
            "mme_questions": mme | {"expect": {"questions": len(MME)}},
        }
        for name, changes in copies.items():
            params["question_sets"][name] = entry_of("question_sets", name) | changes
        for name in catalogue("datasets"):
            entry = entry_of("datasets", name)
            if issubclass(provider_class("datasets", entry["provider"]), HubTable):
                rows = mme if name.startswith("mme") else labelled
                params["datasets"][name] = entry | rows
        for entry in params["question_sets"].values():
            if entry["provider"].startswith("scene"):
                entry["count"] = SCENES
        for section, stand_in in STAND_INS.items():
            for name in catalogue(section):
                kind = provider_class(section, entry_of(section, name)["provider"])
                if issubclass(kind, CheckpointComponent):
                    params[section][name] = stand_in
        five = entry_of("models", "human_five") | {"path": str(root / "five")}
        params["models"]["human_five"] = five
        write_params(root, json.loads(json.dumps(params)))
        yield root


def params_of(root):
    return yaml.safe_load((root / "params.yaml").read_text())


def build(root):
    """Build the selected data that is not built yet; nothing is resolved, as people have no sheet
    yet."""
    settings = Project(root).settings
    for name in settings.run.datasets:
        folder = root / DATASET.at({"dataset": name})
        if not folder.exists():
            build_dataset(name, settings.build("datasets", name), folder)
    for name in settings.run.question_sets:
        folder = root / QUESTION_SET.at({"question_set": name})
        if not folder.exists():
            provider = settings.build("question_sets", name)
            build_questions(name, provider, question_rules(provider), folder)


CALLS = {case["preset"]: case["calls"] for case in cases(__file__, "planned")}
"""Calls of some components for six images of each of MME's categories; null is any number."""


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_can_be_planned(project, name, monkeypatch):
    monkeypatch.chdir(project)
    apply_preset(project, name)
    build(project)
    if name == "human_table5":
        people = ("people", "descriptions", "mme_five", "human_five")
        assert run(monkeypatch, *people) == 0
    resolve(Project(project))
    planned = plan(Project(project)).calls
    found = {component: calls.to_make for component, calls in planned.items()}
    assert sum(found.values()) > 0
    if name == "today_api":
        assert all(0.01 < calls.most_cost < 100 for calls in planned.values())
    for component, calls in CALLS.get(name, {}).items():
        assert found[component] > 0
        assert calls in (None, found[component])


def test_another_number_of_questions_than_the_paper_has_fails_in_one_sentence(
    project, tmp_path
):
    sentences = {
        "mm_sap": "400 basic (has 2), 350 know (has 1), 368 beyond (has 1)",
        "mm_vet": "218 questions (has 3), 200 images (has 2)",
        "mme_questions": f"2374 questions (has {len(MME)})",
    }
    params = params_of(project)
    for name in sentences:
        expect = entry_of("question_sets", name)["expect"]
        params["question_sets"][name]["expect"] = expect
    settings = write_params(tmp_path, params).settings
    for name, counts in sentences.items():
        provider = settings.build("question_sets", name)
        with pytest.raises(DataError) as caught:
            build_questions(name, provider, question_rules(provider), tmp_path / name)
        sentence = f"question set '{name}' should have {counts}, as its expect says;"
        assert str(caught.value).startswith(sentence)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["trac", "fidelity"])
def test_a_beginning_is_given_to_no_model_that_cannot_take_it(
    project, tmp_path, name, monkeypatch
):
    apply_preset(project, "trac")
    build(project)
    params = params_of(project)
    params["run"] |= {"models": ["gpt_4o"], "trac": [], "fidelity": []}
    params["run"][name] = ["cub_200"]
    params["descriptions"]["begun"] = {"prompt": "What is it?", "prefix": "It has"}
    params["fidelity"]["description"] = "begun"
    begun = write_params(tmp_path, params)
    (tmp_path / "data").symlink_to(project / "data")
    monkeypatch.chdir(tmp_path)
    refusal = r"^models\.gpt_4o cannot be given the beginning of its reply, 'It has'; "
    with pytest.raises(ConfigError, match=refusal):
        plan(begun)
