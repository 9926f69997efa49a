"""What is not on this machine is kept as it was noted, and nothing that has changed is."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from driftledger.commands.collect import plan
from driftledger.commands.resolve import resolve
from driftledger.components.checkpoints import source
from driftledger.components.models.transformers import Transformers
from driftledger.core.errors import ConfigError, DataError, MissingExtraError
from driftledger.core.missing import MissingSourceError
from driftledger.data.datasets.build import build
from driftledger.project.project import Project
from tests.conftest import draw, shapes_only
from tests.support.params import default_params

Params = dict[str, Any]

COMMIT = "0123456789abcdef0123456789abcdef01234567"
WEIGHTS = {"provider": "transformers", "path": "weights/llava", "device": "cpu"}


class Clone:
    """A project of files, of which any may be taken away."""

    def __init__(self, root: Path) -> None:
        self.root = root
        params = default_params()
        shapes_only(params)
        params["models"] |= {"llava": dict(WEIGHTS), "told": {"provider": "predictions", "path": "told.jsonl"}}
        params["run"] |= {"models": ["llava", "told"], "question_sets": ["mine"], "mm_sap": ["mine"]}
        params["run"] |= {"fidelity": ["my_images"]}
        params["genception"]["cross_check"] = ["llava"]
        params["fidelity"]["ratings"] = "ratings.csv"
        params["datasets"] = {"my_images": {"provider": "image_folder", "path": "my_images"}}
        columns = {"question": "question", "options": ["A", "B"], "answer": "answer", "image": "image"}
        params["question_sets"] = {
            "mine": {
                "provider": "table",
                "protocol": "mm_sap",
                "path": "mine.csv",
                "images": "seen",
                "columns": columns,
            }
        }
        self.params = params
        draw(root / "my_images" / "0.png", 0)
        draw(root / "seen" / "1.png", 1)
        self.write("mine.csv", "id,image,question,A,B,answer,subset\n1,1.png,What?,a circle,a square,A,BasicVisual\n")
        self.write("told.jsonl", json.dumps({"question_id": "0", "text": "a circle"}) + "\n")
        self.write("weights/llava/model.safetensors", "weights")
        self.write("ratings.csv", "rating\n")

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text, encoding="utf-8")

    def lose(self, *names: str) -> None:
        for name in names:
            path = self.root / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    @property
    def project(self) -> Project:
        """The project as it is now."""
        self.write("params.yaml", yaml.safe_dump(self.params))
        return Project(self.root)

    def resolved(self) -> Params:
        resolve(self.project)
        noted: Params = json.loads((self.root / "data" / "resolved.json").read_bytes())
        return noted


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clone:
    monkeypatch.chdir(tmp_path)  # folders are below the top folder
    return Clone(tmp_path)


SOURCES = {
    "datasets.my_images": "my_images",
    "question_sets.mine": "mine.csv",
    "models.llava": "weights/llava",
    "models.told": "told.jsonl",
    "beside.fidelity.ratings": "ratings.csv",
}


def test_all_that_is_not_here_is_kept_and_said_in_a_sentence(clone: Clone, capsys: pytest.CaptureFixture[str]) -> None:
    noted = clone.resolved()
    assert capsys.readouterr() == ("", "")
    clone.lose(*SOURCES.values())
    assert clone.resolved() == noted
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert all(f"{key} ({place!r})" in said for key, place in SOURCES.items())
    assert "'dvc pull' them, or put them there" in said


@pytest.mark.parametrize("place", [*SOURCES.values(), "seen"])
def test_each_is_kept_alone(clone: Clone, place: str) -> None:
    noted = clone.resolved()
    clone.lose(place)
    assert clone.resolved() == noted


CHANGES: list[tuple[str, Callable[[Clone], object]]] = [
    ("my_images", lambda clone: draw(clone.root / "my_images" / "0.png", 5)),
    ("mine.csv", lambda clone: clone.write("mine.csv", (clone.root / "mine.csv").read_text().replace("?", "!"))),
    ("weights/llava", lambda clone: clone.write("weights/llava/model.safetensors", "others")),
    (
        "told.jsonl",
        lambda clone: clone.write("told.jsonl", '{"question_id": "0", "text": "a square", "prompt": "?"}\n'),
    ),
    ("ratings.csv", lambda clone: clone.write("ratings.csv", "rating\n5\n")),
]


@pytest.mark.parametrize(("place", "change"), CHANGES)
def test_what_has_changed_is_not_kept(clone: Clone, place: str, change: Callable[[Clone], object]) -> None:
    noted = clone.resolved()
    change(clone)
    changed = clone.resolved()
    assert changed != noted
    clone.lose(place)
    assert clone.resolved() == changed  # the last that was here


def test_what_is_emptied_has_changed(clone: Clone) -> None:
    clone.resolved()
    for name in ("my_images/0.png", "weights/llava/model.safetensors"):
        clone.lose(name)
        with pytest.raises((ConfigError, DataError), match="holds no"):
            clone.resolved()
        clone.write(name, "")


@pytest.mark.parametrize("there", [True, False])
def test_without_a_note_it_is_an_error(clone: Clone, there: bool) -> None:
    if there:
        clone.write("data/resolved.json", "<<<<<<< ours\n{}\n")
    clone.lose("weights/llava")
    with pytest.raises(MissingSourceError, match="'weights/llava' is no folder here; mend path"):
        clone.resolved()


@pytest.mark.parametrize(
    ("section", "name", "changed"),
    [
        ("models", "llava", {"path": "weights/other"}),
        ("models", "llava", {"dtype": "bfloat16"}),
        ("models", "llava", {"device": "cuda"}),
        ("datasets", "my_images", {"path": "others"}),
        ("datasets", "my_images", {"per_category": 1}),
        ("fidelity", None, {"ratings": "others.csv"}),
    ],
)
def test_an_entry_that_is_written_otherwise_keeps_nothing(
    clone: Clone, section: str, name: str | None, changed: Params
) -> None:
    clone.resolved()
    clone.lose("weights/llava", "my_images", "ratings.csv")
    entry = clone.params[section] if name is None else clone.params[section][name]
    entry.update(changed)
    with pytest.raises(MissingSourceError):
        clone.resolved()


def test_another_version_of_an_adapter_keeps_nothing(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    clone.resolved()
    clone.lose("weights/llava")
    monkeypatch.setattr(Transformers, "version", "next")
    with pytest.raises(MissingSourceError):
        clone.resolved()


def test_a_library_that_is_not_installed(
    clone: Clone, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    noted = clone.resolved()
    monkeypatch.setattr(Transformers, "libraries", ("torch-of-another-machine",))
    assert clone.resolved() == noted
    said = capsys.readouterr().err
    sentence = "models.llava: the library 'torch-of-another-machine' is not installed; run: pip install"
    assert said.startswith(f"driftledger: {sentence}")
    with pytest.raises(MissingExtraError, match=r"models\.llava is needed: the library"):
        clone.project.model("llava")


def test_a_branch_of_the_hub_that_is_out_of_reach(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    clone.params["models"]["llava"] = WEIGHTS | {"path": "owner/llava", "revision": "main"}
    with monkeypatch.context() as reached:
        reached.setattr(source, "_commit_of", lambda *_: COMMIT)
        noted = clone.resolved()
    assert clone.resolved() == noted


def test_a_stage_that_needs_it_says_so(clone: Clone) -> None:
    clone.resolved()
    clone.lose("weights/llava", "my_images")
    with pytest.raises(MissingSourceError, match=r"models\.llava is needed: 'weights/llava' is no folder here"):
        clone.project.model("llava")
    with pytest.raises(MissingSourceError, match="the image folder 'my_images' is missing"):
        build("my_images", clone.project.settings.dataset("my_images"), clone.root / "data" / "datasets" / "my_images")


def test_calls_of_what_is_not_here_are_counted(clone: Clone) -> None:
    params = clone.params
    params["run"] |= {"question_sets": [], "mm_sap": [], "fidelity": [], "models": ["llava"]}
    clone.resolved()
    build("my_images", clone.project.settings.dataset("my_images"), clone.root / "data" / "datasets" / "my_images")
    counted = {name: each.to_dict() for name, each in plan(clone.project).items()}
    assert counted["models.llava"]["to_make"] == 2
    clone.lose("weights/llava", "my_images")
    assert {name: each.to_dict() for name, each in plan(clone.project).items()} == counted


def test_what_the_locks_have_otherwise_is_said(clone: Clone, capsys: pytest.CaptureFixture[str]) -> None:
    noted = clone.resolved()
    clone.lose("weights/llava")
    entry = {"cmd": "ask", "params": {"data/resolved.json": {"models.llava": noted["models"]["llava"]}}}
    for locked, said in ((noted["models"]["llava"], False), ("0" * 64, True)):
        entry["params"]["data/resolved.json"]["models.llava"] = locked  # type: ignore[index]
        clone.write("dvc.lock", yaml.safe_dump({"schema": "2.0", "stages": {"ask": entry}}))
        clone.resolved()
        assert ("the locks are of another models.llava" in capsys.readouterr().err) is said
