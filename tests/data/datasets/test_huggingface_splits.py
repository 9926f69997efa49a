"""A dataset of the library's with a support and a test set."""

import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from pydantic import ValidationError

from driftledger.core.errors import DataError
from driftledger.core.files import read_jsonl
from driftledger.data.datasets.build import build
from driftledger.data.datasets.huggingface import HuggingFace
from driftledger.data.records import SampleEntry
from tests.conftest import draw

datasets = pytest.importorskip("datasets")
pytestmark = pytest.mark.usefixtures("cache")

LABELLED = {"support_split": "train", "label_column": "label"}


def png(red: int, green: int = 0) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 6), (red, green, 0)).save(buffer, "PNG")
    return buffer.getvalue()


def parquet(folder: Path, split: str, labels: list[Any], green: int = 0, **columns: list[Any]) -> None:
    """One split of a table: an image per label, all different."""
    folder.mkdir(exist_ok=True)
    images = [{"bytes": png(red, green), "path": None} for red in range(len(labels))]
    rows = datasets.Dataset.from_dict({"image": images, "label": labels, **columns})
    rows.cast_column("image", datasets.Image(decode=False)).to_parquet(folder / f"{split}.parquet")


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    """Twelve rows to retrieve from and six to ask about, of two classes."""
    parquet(tmp_path / "pets", "train", ["cat", "dog"] * 6, 100)
    parquet(tmp_path / "pets", "test", ["cat", "dog"] * 3, 200)
    return tmp_path / "pets"


def provider(path: Path, **settings: object) -> HuggingFace:
    return HuggingFace.model_validate({"path": str(path)} | LABELLED | settings)


def entries(dataset: HuggingFace, tmp_path: Path) -> dict[str, SampleEntry]:
    build("pets", dataset, tmp_path / "built")
    return {entry.id: entry for entry in read_jsonl(tmp_path / "built" / "samples.jsonl", SampleEntry)}


def test_both_splits_are_loaded_and_ids_carry_which(pets: Path, tmp_path: Path) -> None:
    card = build("pets", provider(pets), tmp_path / "built")
    assert card.labels == {"cat": {"support": 6, "test": 3}, "dog": {"support": 6, "test": 3}}
    found = {entry.id: entry for entry in read_jsonl(tmp_path / "built" / "samples.jsonl", SampleEntry)}
    assert sorted(found) == [*(f"support-{row:02}" for row in range(12)), *(f"test-{row}" for row in range(6))]
    one, other = found["support-03"], found["test-3"]
    assert (one.label, one.split, one.source) == ("dog", "support", {"row": "3", "split": "train"})
    assert (other.label, other.split, other.source) == ("dog", "test", {"row": "3", "split": "test"})
    assert one.sha256 != other.sha256


def test_without_a_support_split_everything_is_as_it_was(pets: Path, tmp_path: Path) -> None:
    found = entries(HuggingFace(path=str(pets), label_column="label"), tmp_path)
    assert sorted(found) == list("012345")
    assert (found["3"].split, found["3"].source) == (None, {"row": "3"})


def test_the_librarys_own_folders_with_class_labels_by_name(tmp_path: Path) -> None:
    for number, name in enumerate(("train/cat/a.png", "train/dog/b.png", "test/cat/a.png", "test/dog/c.png")):
        draw(tmp_path / "pets" / name, number)
    found = entries(provider(tmp_path / "pets"), tmp_path)
    assert {name: (entry.label, entry.source["file"]) for name, entry in found.items()} == {
        "support-0": ("cat", "train/cat/a.png"),
        "support-1": ("dog", "train/dog/b.png"),
        "test-0": ("cat", "test/cat/a.png"),
        "test-1": ("dog", "test/dog/c.png"),
    }


def test_ids_of_a_column_may_be_the_same_in_both_sets(tmp_path: Path) -> None:
    for split, green in (("train", 1), ("test", 2)):
        parquet(tmp_path / "pets", split, ["cat", "dog"], green, name=["a", "b"])
    found = entries(provider(tmp_path / "pets", id_column="name"), tmp_path)
    assert sorted(found) == ["support-a", "support-b", "test-a", "test-b"]


def test_two_splits_together_may_be_the_support_set(pets: Path, tmp_path: Path) -> None:
    parquet(pets, "validation", ["cat", "dog"], 50)
    card = build("pets", provider(pets, support_split="train+validation"), tmp_path / "built")
    assert card.labels["cat"] == {"support": 7, "test": 3}


def test_the_same_image_in_both_splits_is_reported(pets: Path, tmp_path: Path) -> None:
    parquet(pets, "test", ["cat", "dog", "dog"], 100)
    card = build("pets", provider(pets), tmp_path / "built")
    assert card.leaks == {"test-0": "support-00", "test-1": "support-01", "test-2": "support-02"}


def test_a_class_without_support_and_a_row_without_a_label(pets: Path, tmp_path: Path) -> None:
    parquet(pets, "test", ["cat", "hamster"], 200)
    with pytest.raises(DataError, match="class without support: 'hamster'"):
        build("pets", provider(pets), tmp_path / "built")
    parquet(pets, "test", ["cat", None], 200)
    for settings in ({}, {"test_per_label": 1}):
        with pytest.raises(DataError, match="test-1 is in the test set and has no label"):
            build("pets", provider(pets, **settings), tmp_path / "built")


@pytest.mark.parametrize(("settings", "split"), [({"support_split": "trian"}, "trian"), ({"split": "tset"}, "tset")])
def test_an_unknown_split_is_named(pets: Path, tmp_path: Path, settings: dict[str, str], split: str) -> None:
    with pytest.raises(DataError, match=rf"^{pets}, split '{split}', cannot be loaded \(Unknown split"):
        build("pets", provider(pets, **settings), tmp_path / "built")


def test_a_few_of_each_class_which_are_written_down(pets: Path, tmp_path: Path) -> None:
    few = provider(pets, support_per_label=2, test_per_label=1)
    card = build("pets", few, tmp_path / "built")
    assert card.labels == {"cat": {"support": 2, "test": 1}, "dog": {"support": 2, "test": 1}}
    assert card.settings | {"support_per_label": 2, "test_per_label": 1, "sample_seed": 0} == card.settings
    found, whole = entries(few, tmp_path), entries(provider(pets), tmp_path)
    assert all(entry == whole[name] for name, entry in found.items())
    assert all(int(entry.source["row"]) == int(name.split("-")[1]) for name, entry in found.items())
    assert set(entries(provider(pets, support_per_label=2, test_per_label=1, sample_seed=3), tmp_path)) != set(found)
    assert set(entries(provider(pets, support_per_label=2, test_per_label=99), tmp_path)) >= set(found)


def test_a_classs_choice_does_not_hang_on_the_other_classes_rows(tmp_path: Path) -> None:
    chosen = []
    for number, others in enumerate((["dog", "cow", "dog", "cow"], ["cow", "cow", "dog", "dog"])):
        folder = tmp_path / f"pets{number}"
        labels = [label for other in others for label in ("cat", other)]
        parquet(folder, "train", labels, 100)
        parquet(folder, "test", labels, 200)
        found = entries(provider(folder, support_per_label=2, test_per_label=1), tmp_path)
        chosen.append({name for name, entry in found.items() if entry.label == "cat"})
    assert chosen[0] == chosen[1]
    assert len(chosen[0]) == 3


def test_images_that_are_not_chosen_are_not_read(pets: Path, tmp_path: Path) -> None:
    few = {"support_per_label": 1, "test_per_label": 1}
    chosen = set(entries(provider(pets, **few), tmp_path))
    for split, count in (("train", 12), ("test", 6)):
        role, digits = ("support", 2) if split == "train" else ("test", 1)
        images = [
            {"bytes": png(row) if f"{role}-{row:0{digits}}" in chosen else b"no image", "path": None}
            for row in range(count)
        ]
        rows = datasets.Dataset.from_dict({"image": images, "label": ["cat", "dog"] * (count // 2)})
        rows.cast_column("image", datasets.Image(decode=False)).to_parquet(pets / f"{split}.parquet")
    assert set(entries(provider(pets, **few), tmp_path)) == chosen


def test_the_limit_holds_for_each_split(pets: Path, tmp_path: Path) -> None:
    found = entries(provider(pets, limit=2), tmp_path)
    assert sorted(found) == ["support-00", "support-01", "test-0", "test-1"]


@pytest.mark.parametrize(
    "settings",
    [
        {"support_split": "train"},
        {"support_split": "test", "label_column": "label"},
        {"support_split": "", "label_column": "label"},
        {"label_column": "label", "support_per_label": 1},
        {"label_column": "label", "test_per_label": 1},
    ],
)
def test_settings_that_do_not_go_together(settings: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        HuggingFace.model_validate({"path": "pets"} | settings)
