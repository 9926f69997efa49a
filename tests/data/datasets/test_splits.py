"""Which datasets may be asked about, whatever provider they come from."""

from collections.abc import Iterator
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import ClassVar

import pytest
from PIL import Image
from pydantic import ValidationError

from driftledger.core.errors import DataError
from driftledger.core.files import read_jsonl
from driftledger.core.types import Split
from driftledger.data.datasets.base import DatasetProvider, SourceItem
from driftledger.data.datasets.build import build
from driftledger.data.records import SampleEntry, read_samples


def coloured(red: int) -> bytes:
    buffer = BytesIO()
    Image.new("RGB", (4, 4), (red, 0, 0)).save(buffer, "BMP")
    return buffer.getvalue()


def item(sample: str, label: str | None, split: Split | None, red: int) -> SourceItem:
    return SourceItem(sample, f"{sample}.bmp", partial(coloured, red), label=label, split=split)


PETS = (
    item("s1", "cat", "support", 1),
    item("s2", "cat", "support", 2),
    item("s3", "dog", "support", 3),
    item("t1", "cat", "test", 4),
    item("t2", "dog", "test", 5),
)


class Pets(DatasetProvider):
    """Items as the test gives them."""

    provider: ClassVar[str] = "pets"

    def items(self) -> Iterator[SourceItem]:
        yield from GIVEN[-1]

    def source_digest(self) -> str:
        return "0"

    def source(self) -> dict[str, str]:
        return {"kind": "pets"}


GIVEN = [PETS]
"""Beside the provider, whose fields are its settings."""


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    yield
    GIVEN[:] = [PETS]


def refused(tmp_path: Path, *items: SourceItem, **settings: object) -> str:
    GIVEN.append(items)
    with pytest.raises(DataError) as caught:
        build("pets", Pets.model_validate(settings), tmp_path / "pets")
    assert list(tmp_path.iterdir()) == []
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_labels_are_counted_in_both_sets_and_samples_know_theirs(tmp_path: Path) -> None:
    pets = Pets(general_category="pet", label_names={"cat": ["tabby", "kitten"]})
    card = build("pets", pets, tmp_path / "pets")
    assert card.labels == {"cat": {"support": 2, "test": 1}, "dog": {"support": 1, "test": 1}}
    assert (card.general_category, card.label_names) == ("pet", {"cat": ["tabby", "kitten"]})
    assert card.leaks == {}
    assert [(sample.id, sample.label, sample.split) for sample in read_samples(tmp_path / "pets")] == [
        ("s1", "cat", "support"),
        ("s2", "cat", "support"),
        ("s3", "dog", "support"),
        ("t1", "cat", "test"),
        ("t2", "dog", "test"),
    ]


def test_a_dataset_without_splits_counts_no_labels(tmp_path: Path) -> None:
    GIVEN.append((item("a", "cat", None, 1), item("b", None, None, 1)))
    card = build("pets", Pets(label_names={"cat": ["tabby"]}), tmp_path / "pets")
    assert (card.labels, card.leaks) == ({}, {})


def test_support_of_a_class_that_is_not_asked_about_is_fine(tmp_path: Path) -> None:
    GIVEN.append((*PETS, item("s4", "hamster", "support", 6)))
    assert build("pets", Pets(), tmp_path / "pets").labels["hamster"] == {"support": 1, "test": 0}


def test_an_image_in_both_sets_is_reported(tmp_path: Path) -> None:
    GIVEN.append((*PETS, item("a", "dog", "test", 3), item("t3", "cat", "test", 4), item("s4", "cat", "support", 3)))
    card = build("pets", Pets(), tmp_path / "pets")
    assert card.leaks == {"a": "s3"}
    notes = {entry.id: entry.notes for entry in read_jsonl(tmp_path / "pets" / "samples.jsonl", SampleEntry)}
    assert {sample: said for sample, said in notes.items() if said} == {
        "a": ["same image as s3 of the support set"],
        "s3": ["same image as a"],
        "s4": ["same image as a"],
        "t3": ["same image as t1"],
    }


def test_both_an_earlier_test_image_and_its_support_are_noted(tmp_path: Path) -> None:
    GIVEN.append((*PETS, item("t3", "cat", "test", 1), item("t4", "cat", "test", 1), item("a", "dog", "test", 1)))
    card = build("pets", Pets(), tmp_path / "pets")
    assert card.leaks == {"a": "s1", "t3": "s1", "t4": "s1"}
    notes = {entry.id: entry.notes for entry in read_jsonl(tmp_path / "pets" / "samples.jsonl", SampleEntry)}
    assert notes["t4"] == ["same image as s1 of the support set", "same image as a"]


@pytest.mark.parametrize("missing", [None, "", "  "])
def test_a_sample_of_a_set_without_a_label(tmp_path: Path, missing: str | None) -> None:
    assert refused(tmp_path, *PETS, item("x", missing, "test", 9)) == (
        "dataset 'pets': x is in the test set and has no label; give it one, or remove it"
    )


def test_a_sample_in_neither_set(tmp_path: Path) -> None:
    assert refused(tmp_path, *PETS, item("x", "cat", None, 9)) == (
        "dataset 'pets': x is neither in the support nor in the test set, where others are; "
        "give every sample a split, or none"
    )


@pytest.mark.parametrize(("there", "lacking"), [("support", "test"), ("test", "support")])
def test_one_set_alone(tmp_path: Path, there: Split, lacking: Split) -> None:
    assert refused(tmp_path, *(one for one in PETS if one.split == there)) == (
        f"dataset 'pets' has a {there} set and no {lacking} set; add samples to the {lacking} set"
    )


def test_a_class_without_support(tmp_path: Path) -> None:
    assert refused(tmp_path, *PETS, item("x", "hamster", "test", 9)) == (
        "dataset 'pets': class without support: 'hamster'; add images to the support set, or remove the class from "
        "the test set"
    )


def test_of_many_classes_without_support_some_are_named(tmp_path: Path) -> None:
    strange = [item(f"x{number}", f"{number}\n" * 1000, "test", 9) for number in range(30)]
    said = refused(tmp_path, *PETS, *strange)
    assert "; and 25 more; add images" in said
    assert len(said) < 1000


def test_names_of_a_label_that_there_is_not(tmp_path: Path) -> None:
    assert refused(tmp_path, *PETS, label_names={"cats": ["tabby"]}) == (
        "dataset 'pets': label_names: label 'cats' is unknown; did you mean 'cat'? valid: cat, dog"
    )


@pytest.mark.parametrize(
    "settings", [{"general_category": ""}, {"general_category": " "}, {"label_names": {"cat": []}}]
)
def test_settings_that_say_nothing_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Pets.model_validate(settings)


def test_the_digest_hangs_on_the_split(tmp_path: Path) -> None:
    before = build("pets", Pets(), tmp_path / "pets").digest
    GIVEN.append((*PETS[1:], item("s1", "cat", "test", 1)))
    assert build("pets", Pets(), tmp_path / "pets").digest != before
    GIVEN.append(tuple(reversed(PETS)))
    assert build("pets", Pets(), tmp_path / "pets").digest == before
