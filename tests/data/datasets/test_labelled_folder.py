"""A folder of images with a support and a test set, by folders or by a manifest."""

import re
import shutil
from pathlib import Path

import pytest
from pydantic import ValidationError

from driftledger.core.errors import DataError
from driftledger.data.datasets.build import build
from driftledger.data.datasets.image_folder import ImageFolder
from driftledger.data.records import read_samples
from tests.conftest import draw

PETS = ("train/cat/a.png", "train/cat/b.png", "train/dog/a.png", "test/cat/c.png", "test/dog/old/d.png")


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    for number, name in enumerate(PETS):
        draw(tmp_path / "pets" / name, number)
    return tmp_path / "pets"


def many(folder: Path, each: int = 8) -> Path:
    for number in range(each):
        for label in ("cat", "dog"):
            draw(folder / "train" / label / f"{number}.png", 2 * number + (label == "cat"))
            draw(folder / "test" / label / f"{number}.png", 50 + 2 * number + (label == "cat"))
    return folder


def listed(folder: Path, *lines: str) -> Path:
    (folder / "labels.csv").write_text("\n".join(["file,label,split,category,id", *lines, ""]), encoding="utf-8")
    return folder


def ids(dataset: ImageFolder) -> set[str]:
    return {item.id for item in dataset.items()}


def test_folders_say_set_and_class(pets: Path, tmp_path: Path) -> None:
    card = build("pets", ImageFolder(path=pets, labelled=True, general_category="pet"), tmp_path / "built")
    assert card.labels == {"cat": {"support": 2, "test": 1}, "dog": {"support": 1, "test": 1}}
    assert card.categories == {}
    assert card.general_category == "pet"
    assert [
        (sample.id, sample.label, sample.split, sample.category) for sample in read_samples(tmp_path / "built")
    ] == [
        ("test_cat_c", "cat", "test", None),
        ("test_dog_old_d", "dog", "test", None),
        ("train_cat_a", "cat", "support", None),
        ("train_cat_b", "cat", "support", None),
        ("train_dog_a", "dog", "support", None),
    ]


def test_the_support_set_may_be_called_by_its_name(pets: Path, tmp_path: Path) -> None:
    (pets / "train").rename(pets / "support")
    assert build("pets", ImageFolder(path=pets, labelled=True), tmp_path / "built").labels["cat"]["support"] == 2


def test_unless_it_is_said_to_be_labelled_folders_are_categories(pets: Path, tmp_path: Path) -> None:
    card = build("pets", ImageFolder(path=pets), tmp_path / "built")
    assert (card.categories, card.labels) == ({"test": 2, "train": 3}, {})


@pytest.mark.parametrize("name", ["x.png", "train/x.png", "val/cat/x.png", "Train/cat/x.png", "cat/x.png"])
def test_an_image_in_no_class_folder_of_a_set(pets: Path, name: str) -> None:
    draw(pets / name, 9)
    with pytest.raises(DataError, match=rf"^{re.escape(name)} is in no folder of a class; move it into train/<label>/"):
        ImageFolder(path=pets, labelled=True).source_digest()


@pytest.mark.parametrize("top", ["train", "test"])
@pytest.mark.parametrize("inside", [None, "notes.txt", ".hidden.png", "deeper/.a.png"])
def test_a_class_folder_without_images(pets: Path, top: str, inside: str | None) -> None:
    (pets / top / "hamster" / "deeper").mkdir(parents=True)
    if inside:
        (pets / top / "hamster" / inside).write_bytes(b"x")
    with pytest.raises(DataError) as caught:
        list(ImageFolder(path=pets, labelled=True).items())
    assert str(caught.value) == f"the class {top}/hamster has no images; put some there, or remove the folder"


def test_hidden_folders_and_other_files_are_no_classes(pets: Path) -> None:
    (pets / "train" / ".cache").mkdir()
    (pets / "train" / "readme.txt").write_text("x")
    (pets / "notes").mkdir()
    assert len(ids(ImageFolder(path=pets, labelled=True))) == 5


def test_a_class_without_support_and_a_set_that_is_missing(pets: Path, tmp_path: Path) -> None:
    shutil.rmtree(pets / "train" / "dog")
    with pytest.raises(DataError, match=r"^dataset 'pets': class without support: 'dog';"):
        build("pets", ImageFolder(path=pets, labelled=True), tmp_path / "built")
    shutil.rmtree(pets / "train")
    with pytest.raises(DataError, match=r"^dataset 'pets' has a test set and no support set;"):
        build("pets", ImageFolder(path=pets, labelled=True), tmp_path / "built")


def test_an_image_that_is_in_both_folders_is_reported(pets: Path, tmp_path: Path) -> None:
    shutil.copy(pets / "train" / "cat" / "a.png", pets / "test" / "cat" / "again.png")
    card = build("pets", ImageFolder(path=pets, labelled=True), tmp_path / "built")
    assert card.leaks == {"test_cat_again": "train_cat_a"}


def test_another_set_or_class_is_another_dataset(pets: Path, tmp_path: Path) -> None:
    dataset, seen = ImageFolder(path=pets, labelled=True), set()
    for before, after in [(None, None), ("train/cat/b.png", "test/cat/b.png"), ("test/cat/b.png", "test/dog/b.png")]:
        if before and after:
            (pets / before).rename(pets / after)
        seen |= {dataset.source_digest(), build("pets", dataset, tmp_path / "built").digest}
    assert len(seen) == 6


def test_a_manifest_says_set_class_category_and_id(pets: Path, tmp_path: Path) -> None:
    listed(pets, "train/cat/a.png,Tom,train,big,tom", "test/cat/c.png,Tom,test,,", "train/dog/a.png,Rex,support,,")
    card = build("pets", ImageFolder(path=pets, manifest="labels.csv"), tmp_path / "built")
    assert card.labels == {"Rex": {"support": 1, "test": 0}, "Tom": {"support": 1, "test": 1}}
    assert card.categories == {"big": 1}
    assert [(sample.id, sample.label, sample.split) for sample in read_samples(tmp_path / "built")] == [
        ("test_cat_c", "Tom", "test"),
        ("tom", "Tom", "support"),
        ("train_dog_a", "Rex", "support"),
    ]


@pytest.mark.parametrize("name", ["../x", "a b", "", "x" * 101])
def test_an_unsafe_id_in_a_manifest_is_named_by_its_line(pets: Path, tmp_path: Path, name: str) -> None:
    listed(pets, f"train/cat/a.png,Tom,train,,{name}", "test/cat/c.png,Tom,test,,")
    dataset = ImageFolder(path=pets, manifest="labels.csv")
    if not name:
        assert ids(dataset) == {"train_cat_a", "test_cat_c"}
        return
    with pytest.raises(DataError, match=r"^pets: line 2 of labels\.csv \(train/cat/a\.png\) has the id "):
        build("pets", dataset, tmp_path / "built")


def test_a_broken_image_of_a_manifest_is_named_by_its_line(pets: Path, tmp_path: Path) -> None:
    (pets / "test" / "cat" / "c.png").write_text("no image")
    listed(pets, "train/cat/a.png,Tom,train,,", "test/cat/c.png,Tom,test,,")
    with pytest.raises(DataError, match=r"^pets: line 3 of labels\.csv \(test/cat/c\.png\) is not an image"):
        build("pets", ImageFolder(path=pets, manifest="labels.csv"), tmp_path / "built")


def test_the_digest_of_a_manifests_images_hangs_on_them_and_on_each_of_its_bytes(pets: Path) -> None:
    lines = ("train/cat/a.png,Tom,train,,", "test/cat/c.png,Tom,test,,")
    dataset = ImageFolder(path=listed(pets, *lines), manifest="labels.csv")
    before = dataset.source_digest()
    draw(pets / "train" / "dog" / "unlisted.png", 7)
    assert dataset.source_digest() == before
    digests = {before}
    for changed in ((*lines, "train/cat/b.png,Tom,train,,"), (lines[0], "test/cat/c.png,Rex,test,,"), (*lines, "")):
        listed(pets, *changed)
        digests.add(dataset.source_digest())
    draw(pets / "train" / "cat" / "a.png", 8)
    digests.add(dataset.source_digest())
    assert len(digests) == 5


def test_a_few_of_each_class(tmp_path: Path) -> None:
    folder = many(tmp_path / "pets")
    dataset = ImageFolder(path=folder, labelled=True, support_per_label=3, test_per_label=2)
    card = build("pets", dataset, tmp_path / "built")
    assert card.labels == {"cat": {"support": 3, "test": 2}, "dog": {"support": 3, "test": 2}}
    assert card.settings | {"support_per_label": 3, "test_per_label": 2, "sample_seed": 0} == card.settings
    assert {sample.id for sample in read_samples(tmp_path / "built")} == ids(dataset)
    others = ImageFolder(path=folder, labelled=True, support_per_label=3, test_per_label=2, sample_seed=1)
    assert ids(others) != ids(dataset)
    whole = ImageFolder(path=folder, labelled=True, support_per_label=3)
    assert {one for one in ids(whole) if one.startswith("train")} < ids(dataset)
    assert len(ids(whole)) == 6 + 16


def test_a_choice_is_the_same_from_folders_and_from_a_manifest_in_any_order(tmp_path: Path) -> None:
    folder = many(tmp_path / "pets")
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.png"))
    listed(folder, *(f"{file},{file.split('/')[1]},{file.split('/')[0]},," for file in reversed(files)))
    few = {"support_per_label": 2, "test_per_label": 1}
    by_folders = ImageFolder.model_validate({"path": folder, "labelled": True} | few)
    by_manifest = ImageFolder.model_validate({"path": folder, "manifest": "labels.csv"} | few)
    assert ids(by_folders) == ids(by_manifest)


def test_what_is_left_out_may_change(tmp_path: Path) -> None:
    folder = many(tmp_path / "pets")
    dataset = ImageFolder(path=folder, labelled=True, support_per_label=2, test_per_label=1)
    kept, before = ids(dataset), dataset.source_digest()
    left_out = next(
        name for number in range(8) if (name := f"train/cat/{number}.png").replace("/", "_")[:-4] not in kept
    )
    (folder / left_out).write_bytes(b"")
    assert dataset.source_digest() == before
    draw(folder / "train" / "hamster" / "x.png", 99)
    assert ids(dataset) == {*kept, "train_hamster_x"}


@pytest.mark.parametrize(
    "settings",
    [
        {"labelled": True, "manifest": "labels.csv"},
        {"support_per_label": 1},
        {"test_per_label": 1},
        {"labelled": True, "support_per_label": 0},
        {"labelled": True, "sample_seed": -1},
        {"manifest": ""},
    ],
)
def test_settings_that_do_not_go_together(tmp_path: Path, settings: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ImageFolder.model_validate({"path": tmp_path} | settings)
