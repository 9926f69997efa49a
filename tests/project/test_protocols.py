"""Published protocols can be gone over: each preset is planned, without a network, over small files
as published."""

import json

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
from driftledger.project.settings import load_settings
from driftledger_demo.encoders.layout import LayoutEncoder
from driftledger_demo.generators.painter import Painter
from driftledger_demo.models.rubric import Rubric
from tests.conftest import REPOSITORY
from tests.data.question_sets.sources import SAP, png
from tests.sentence import run
from tests.support.cases import cases
from tests.support.params import default_params

datasets = pytest.importorskip("datasets")

DRAWN = ("default", "embedded", "neural")
"""They select no paper's data, but much that is drawn."""
PRESETS = [
    pytest.param(name, marks=[pytest.mark.slow] * (name in DRAWN))
    for name in sorted(presets(REPOSITORY))
]
GROUPS: dict[str, list[str]] = catalogue("datasets")["mme"].model_dump()["groups"]
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
    entry = catalogue("question_sets")["mm_sap"].model_dump()
    options = [
        entry["refusal"] if "Sorry" in option else option for option in SAP["options"]
    ]
    row = {
        "image": "1.png",
        "question": SAP["question"],
        "options": options,
        "answer": "blue",
    }
    for place, (subset, number) in enumerate(SAP_COUNTS.items()):
        images, answer = (
            folder / entry["images"][subset],
            entry["refusal"] if subset == "beyond" else "blue",
        )
        images.mkdir(parents=True)
        (images / "1.png").write_bytes(png(place))
        (folder / entry["path"][subset]).write_text(
            json.dumps([row | {"answer": answer}] * number), encoding="utf-8"
        )
    return {
        name: {subset: str(folder / path) for subset, path in entry[name].items()}
        for name in ("path", "images")
    }


SCENES = 13
"""One of each theme: what is planned says nothing of how many there are."""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project in which small copies and stand-ins have the names of what would be downloaded."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            datasets.config, "HF_DATASETS_CACHE", tmp_path_factory.mktemp("cache")
        )
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
            params["question_sets"][name] = (
                catalogue("question_sets")[name].model_dump() | changes
            )
        for name, entry in catalogue("datasets").items():
            if issubclass(
                provider_class("datasets", entry.model_dump()["provider"]), HubTable
            ):
                params["datasets"][name] = entry.model_dump() | (
                    mme if name.startswith("mme") else labelled
                )
        for entry in params["question_sets"].values():
            if entry["provider"].startswith("scene"):
                entry["count"] = SCENES
        for section, stand_in in STAND_INS.items():
            for name, entry in catalogue(section).items():
                kind = provider_class(section, entry.model_dump()["provider"])
                if issubclass(kind, CheckpointComponent):
                    params[section][name] = stand_in
        params["models"]["human_five"] = catalogue("models")[
            "human_five"
        ].model_dump() | {"path": str(root / "five")}
        unshared = json.loads(json.dumps(params))
        text = yaml.safe_dump(unshared, sort_keys=False, default_flow_style=None)
        (root / "params.yaml").write_text(text, encoding="utf-8")
        yield root


def build(root):
    """Build the selected data that is not built yet; nothing is resolved, as people have no sheet
    yet."""
    made = Project(root)
    for name in made.settings.run.datasets:
        folder = root / DATASET.at({"dataset": name})
        if not folder.exists():
            build_dataset(name, made.settings.build("datasets", name), folder)
    for name in made.settings.run.question_sets:
        folder = root / QUESTION_SET.at({"question_set": name})
        if not folder.exists():
            provider = made.settings.build("question_sets", name)
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
        assert {
            calls.most_cost is not None and 0.01 < calls.most_cost < 100
            for calls in planned.values()
        } == {True}
    for component, calls in CALLS.get(name, {}).items():
        assert (
            found[component] == (calls if calls is not None else found[component]) > 0
        )


def test_another_number_of_questions_than_the_paper_has_fails_in_one_sentence(
    project, tmp_path
):
    params = yaml.safe_load((project / "params.yaml").read_text(encoding="utf-8"))
    sentences = {
        "mm_sap": "400 basic (has 2), 350 know (has 1), 368 beyond (has 1)",
        "mm_vet": "218 questions (has 3), 200 images (has 2)",
        "mme_questions": f"2374 questions (has {len(MME)})",
    }
    for name in sentences:
        params["question_sets"][name]["expect"] = catalogue("question_sets")[
            name
        ].model_dump()["expect"]
    (tmp_path / "params.yaml").write_text(
        yaml.safe_dump(params, sort_keys=False), encoding="utf-8"
    )
    for name, counts in sentences.items():
        provider = Project(tmp_path).settings.build("question_sets", name)
        with pytest.raises(DataError) as caught:
            build_questions(name, provider, question_rules(provider), tmp_path / name)
        assert str(caught.value).startswith(
            f"question set '{name}' should have {counts}, as its expect says;"
        )
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["trac", "fidelity"])
def test_a_beginning_is_given_to_no_model_that_cannot_take_it(
    project, tmp_path, name, monkeypatch
):
    apply_preset(project, "trac")
    build(project)
    params = yaml.safe_load((project / "params.yaml").read_text(encoding="utf-8"))
    params["run"] |= {
        "models": ["gpt_4o"],
        "trac": [],
        "fidelity": [],
        name: ["cub_200"],
    }
    params["descriptions"]["begun"] = {"prompt": "What is it?", "prefix": "It has"}
    params["fidelity"]["description"] = "begun"
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    (tmp_path / "data").symlink_to(project / "data")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        ConfigError,
        match=r"^models\.gpt_4o cannot be given the beginning of its reply, 'It has'; ",
    ):
        plan(Project(tmp_path))


def test_the_trac_papers_models_follow_three_beams(project):
    apply_preset(project, "trac")
    settings = load_settings(project / "params.yaml")
    for name in settings.run.models:
        spec = settings.build("models", name).spec["settings"]
        assert (spec["beams"], spec["extra"]) == (3, {"length_penalty": 1.0})
        assert settings.build("models", name).continues
    assert settings.description("features_it_has").prefix == "It has"
