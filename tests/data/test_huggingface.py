"""Datasets and question sets of the hub, or of a local folder in one of its formats."""

import json
import os
import shutil
import sys

import pandas
import pytest

from driftledger.core.errors import DataError, MissingExtraError
from driftledger.data.build import build
from driftledger.data.hub import HuggingFace
from driftledger.data.question_sets.table import HuggingFaceQuestions
from driftledger.data.records import read_questions, read_samples
from tests.conftest import draw
from tests.data.files import lay_out, named
from tests.data.question_sets.sources import (
    BEYOND,
    MME,
    SAP,
    VET,
    build_set,
    png,
)
from tests.data.test_datasets import assert_stored
from tests.sentence import refused, tree
from tests.support.cases import cases, each_case

datasets, huggingface_hub = (
    pytest.importorskip("datasets"),
    pytest.importorskip("huggingface_hub"),
)

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """The library's own folders, which it fixes when it is imported, without a network."""
    folder = tmp_path / "cache"
    places = {
        "HF_DATASETS_CACHE": folder,
        "HF_MODULES_CACHE": folder / "modules",
        "DOWNLOADED_DATASETS_PATH": folder / "downloads",
        "EXTRACTED_DATASETS_PATH": folder / "extracted",
    }
    for name, place in places.items():
        monkeypatch.setattr(datasets.config, name, place)
    for module in (datasets.config, huggingface_hub.constants):
        monkeypatch.setattr(module, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(
        huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub")
    )
    return folder


def as_image(cell):
    """Return the image of a cell: that of a number's red, those of a list, or the cell itself."""
    if isinstance(cell, int):
        return {"bytes": png(cell), "path": None}
    if isinstance(cell, list):
        return [as_image(each) for each in cell]
    if cell and cell["bytes"] == "RED":
        return cell | {"bytes": png(1)}
    if cell and cell["bytes"]:
        return cell | {"bytes": cell["bytes"].encode()}
    return cell


def parquet(folder, rows, split="test", features=None):
    """A folder with a table of images, of the reds 1, 2, … where the rows name none."""
    folder.mkdir(exist_ok=True)
    cells = []
    for number, row in enumerate(rows, 1):
        image = as_image(row.get("image", number))
        cells.append(row | {"image": image})
    table = datasets.Dataset.from_list(cells, features=features)
    table = table.cast_column("image", datasets.Image(decode=False))
    table.to_parquet(folder / f"{split}.parquet")
    return folder


def hub(case, folder):
    """Lay out what a case has, and return the dataset."""
    lay_out(case.get("files", {}), folder)
    if "pandas" in case:
        (folder / "in").mkdir()
        cells = [{"image": as_image(cell)} for cell in case["pandas"]]
        pandas.DataFrame(cells).to_parquet(folder / "in" / "test.parquet")
    for split, rows in case.get("splits", {}).items():
        private = str(folder / "private.png")
        text = json.dumps(rows).replace("PRIVATE", private)
        parquet(folder / "in", json.loads(text), split)
    settings = {"path": str(folder / "in")} | case.get("settings", {})
    return HuggingFace.model_validate(settings)


@each_case(cases(__file__, "hub"))
def test_a_dataset_is_read(case, tmp_path):
    card = build("mine", hub(case, tmp_path), tmp_path / "data")
    assert_stored(case, card, tmp_path / "data")
    if "shows" in case:
        reds = []
        for sample in read_samples(tmp_path / "data"):
            image = sample.medium.open()
            reds.append(image.getpixel((0, 0))[0])
        assert reds == case["shows"]


def test_a_larger_number_of_a_label_only_adds(tmp_path):
    for split, reds in (("test", range(10)), ("train", range(50, 70))):
        rows = [{"kind": f"{red % 2}", "image": red} for red in reds]
        parquet(tmp_path / "in", rows, split)
    case = {"settings": {"support_split": "train", "label_column": "kind"}}
    before = set()
    for number in (3, 4):
        case["settings"]["per_category"] = {"support": number, "test": 2}
        build("mine", hub(case, tmp_path), tmp_path / "data")
        ids = {each.id for each in read_samples(tmp_path / "data")}
        assert before < ids
        before = ids


@each_case(cases(__file__, "refused_hub"))
def test_what_is_refused(case, tmp_path):
    draw(tmp_path / "private.png", 0)
    dataset = hub(case, tmp_path)
    with refused(case):
        build("mine", dataset, tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_a_link_out_of_the_folder_has_no_digest(tmp_path):
    files = {"private/a.png": 0, "in/test/b.png": {"link": "../../private/a.png"}}
    lay_out(files, tmp_path)
    says = r"test/b\.png in .* is a link out of that folder; remove it"
    with pytest.raises(DataError, match=says):
        HuggingFace(path=str(tmp_path / "in")).source_digest()


def test_a_commit_that_was_loaded_once_works_without_a_network(cache, tmp_path):
    builder = datasets.load_dataset_builder(str(parquet(tmp_path / "pets", [{}] * 3)))
    builder.download_and_prepare()
    stored = cache / "owner___pets" / "default" / "0.0.0" / COMMIT
    shutil.copytree(builder.cache_dir, stored)
    info = json.loads((stored / "dataset_info.json").read_text(encoding="utf-8"))
    (stored / "dataset_info.json").write_text(
        json.dumps(info | {"config_name": "default"}), encoding="utf-8"
    )
    pets = HuggingFace(path="owner/pets", revision=COMMIT)
    source = build("mine", pets, tmp_path / "data").source
    names = {"kind": "huggingface", "dataset": "owner/pets"}
    assert source == names | {"revision": COMMIT}
    other = HuggingFace(path="owner/pets", revision=COMMIT[::-1])
    with pytest.raises(
        DataError,
        match=f"owner/pets at {COMMIT[::-1]} is not stored here; load it once with a network",
    ):
        build("mine", other, tmp_path / "data")
    assert other.source_digest() != pets.source_digest()


def test_content_counts_and_not_the_place(tmp_path):
    files = {"test/cat/a.png": 0, "test/cat/b.png": 1, "test/dog/c.png": 2}
    lay_out(files, tmp_path / "here" / "pets")
    lay_out(files | {".cache/x": "x"}, tmp_path / "there" / "pets")
    one = HuggingFace(path=str(tmp_path / "here" / "pets"))
    other = HuggingFace(path=str(tmp_path / "there" / "pets"))
    build("mine", one, tmp_path / "one")
    build("mine", other, tmp_path / "other")
    assert tree(tmp_path / "one") == tree(tmp_path / "other")
    assert one.source_digest() == other.source_digest()


def test_content_counts_at_the_same_time(tmp_path):
    folder = parquet(tmp_path / "table", [{}, {}, {}])
    times = (folder / "test.parquet").stat()
    dataset = HuggingFace(path=str(folder))
    digest = dataset.source_digest()
    card = build("mine", dataset, tmp_path / "data")
    parquet(folder, [{"image": red} for red in (4, 2, 3)])
    os.utime(folder / "test.parquet", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert dataset.source_digest() != digest
    assert build("mine", dataset, tmp_path / "data").digest != card.digest


def asked(folder, protocol, **settings):
    """Return the questions of a table, as they are stored."""
    settings = {"protocol": protocol, "path": str(folder)} | settings
    questions = HuggingFaceQuestions.model_validate(settings)
    built = folder.parent / "built"
    build_set("mine", questions, built)
    return read_questions(built)


def test_questions_with_lists_and_class_labels(tmp_path):
    text = datasets.Value("string")
    fields = dict.fromkeys(("question", "answer", "refusal", "subtask"), text)
    fields["image"] = {"bytes": datasets.Value("binary"), "path": text}
    fields["options"] = datasets.List(text)
    fields["subset"] = datasets.ClassLabel(names=["know", "basic", "beyond"])
    rows = [row | {"image": 1} for row in (SAP, BEYOND, SAP | {"subset": "know"})]
    parquet(tmp_path / "q", rows, features=datasets.Features(fields))
    expected = [
        {"subset": "basic", "answer": 1, "refusal": 2},
        {"subset": "beyond", "answer": None, "refusal": 2},
        {"subset": "know", "answer": 1, "refusal": 2},
    ]
    assert named(asked(tmp_path / "q", "mm_sap"), expected) == expected
    parquet(tmp_path / "q", rows[:2])
    expected = [
        {"subset": "basic", "source": {"row": "0"}},
        {"subset": "beyond", "source": {"row": "1"}},
    ]
    assert named(asked(tmp_path / "q", "mm_sap"), expected) == expected


def test_images_in_a_table_are_told_apart_by_their_bytes_or_as_a_column_says(tmp_path):
    ids = ["count/0", "count/0", "count/1", "count/1"]
    rows = []
    for row, id_ in zip(MME * 2, ids, strict=True):
        rows.append(row | {"image": 1, "question_id": id_})
    parquet(tmp_path / "q", rows)
    with pytest.raises(DataError, match="4 questions, where MME asks 2"):
        asked(tmp_path / "q", "mme")
    entries = asked(tmp_path / "q", "mme", columns={"image_id": "question_id"})
    assert [entry.image_id for entry in entries] == ids


@each_case(cases(__file__, "several_images"))
def test_a_question_has_several_images(case, tmp_path):
    file = tmp_path / "q" / "test.parquet"
    file.parent.mkdir()
    rows = []
    for row in case["rows"]:
        images = {column: as_image(row[column]) for column in case["images"]}
        rows.append(VET | row | images)
    table = pandas.DataFrame(rows).drop(columns="image")
    table.to_parquet(file)
    settings = case.get("settings", {})
    entries = asked(file.parent, "mm_vet", **settings)
    assert [entry.question for entry in entries] == [*table["question"]]
    media = entries[1].media(tmp_path / "built")
    assert [medium.open().getpixel((0, 0))[0] for medium in media] == [1, 2]
    table.loc[2, "question"] = "Is <image 2> old?"
    table.to_parquet(file)
    with pytest.raises(
        DataError, match="has 1 image, but the places in its text are for others"
    ):
        asked(file.parent, "mm_vet", **settings)


def test_without_the_library_what_pip_installs_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(
        MissingExtraError,
        match=r"'datasets' is not installed; run: pip install datasets$",
    ):
        build("mine", HuggingFace(path=str(tmp_path)), tmp_path / "data")
