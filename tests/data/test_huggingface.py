"""Datasets and question sets of the hub, or of a local folder in one of its formats."""

import json
import os
import shutil
import sys
from typing import Any

import pandas
import pytest

from driftledger.core.errors import ConfigError, DataError, MissingExtraError
from driftledger.data.build import build
from driftledger.data.hub import HuggingFace
from driftledger.data.question_sets.table import HuggingFaceQuestions
from driftledger.data.records import read_questions, read_samples
from tests.conftest import draw
from tests.data.question_sets.sources import BEYOND, MME, SAP, build_set, png
from tests.data.test_datasets import entries_of, tree
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
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", folder)
    monkeypatch.setattr(datasets.config, "HF_MODULES_CACHE", folder / "modules")
    monkeypatch.setattr(
        datasets.config, "DOWNLOADED_DATASETS_PATH", folder / "downloads"
    )
    monkeypatch.setattr(
        datasets.config, "EXTRACTED_DATASETS_PATH", folder / "downloads" / "extracted"
    )
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(
        huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub")
    )
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    return folder


def parquet(folder, rows, split="test", features=None):
    """A folder with a table of images; a number stands for the image of that red."""
    folder.mkdir(exist_ok=True)
    cells = [row.get("image", number) for number, row in enumerate(rows, 1)]
    images = [
        {"bytes": png(cell), "path": None} if isinstance(cell, int) else cell
        for cell in cells
    ]
    table = datasets.Dataset.from_list(
        [row | {"image": image} for row, image in zip(rows, images, strict=True)],
        features=features,
    )
    table.cast_column("image", datasets.Image(decode=False)).to_parquet(
        folder / f"{split}.parquet"
    )
    return folder


def pets(folder):
    """Two cats and a dog in the library's own folder format."""
    for number, name in enumerate(("cat/a.png", "cat/b.png", "dog/c.png")):
        draw(folder / "test" / name, number)
    return folder


def built(tmp_path, path, **settings):
    build(
        "mine",
        HuggingFace.model_validate({"path": str(path)} | settings),
        tmp_path / "data",
    )
    return read_samples(tmp_path / "data")


def test_an_image_folder_with_class_labels_by_name(tmp_path):
    samples = built(
        tmp_path, pets(tmp_path / "pets"), category_column="label", label_column="label"
    )
    assert [(each.id, each.category, each.label) for each in samples] == [
        ("0", "cat", "cat"),
        ("1", "cat", "cat"),
        ("2", "dog", "dog"),
    ]
    assert entries_of(tmp_path / "data")[0].source == {
        "row": "0",
        "file": "test/cat/a.png",
    }


def test_a_table_with_categories(tmp_path):
    rows = [{"kind": "x"}, {"kind": None}, {"kind": ""}]
    samples = built(tmp_path, parquet(tmp_path / "pets", rows), category_column="kind")
    assert [(each.id, each.category) for each in samples] == [
        ("0", "x"),
        ("1", None),
        ("2", None),
    ]


def test_a_part_of_a_split_and_the_first_of_a_value(tmp_path):
    folder = parquet(tmp_path / "mme", [{"pair": number // 2} for number in range(12)])
    some = built(tmp_path, folder, split="test[2:5]")
    assert [(each.id, each.medium.open().getpixel((0, 0))[0]) for each in some] == [
        ("0", 3),
        ("1", 4),
        ("2", 5),
    ]
    assert [each.id for each in built(tmp_path, folder, unique_column="pair")] == [
        "00",
        "02",
        "04",
        "06",
        "08",
        "10",
    ]


def test_a_support_and_a_test_split(tmp_path):
    folder = parquet(
        tmp_path / "pets", [{"kind": f"{number % 2}"} for number in range(10)]
    )
    parquet(
        folder,
        [{"kind": f"{number % 2}", "image": 50 + number} for number in range(20)],
        "train",
    )
    splits: dict[str, Any] = {"support_split": "train", "label_column": "kind"}
    few = built(tmp_path, folder, **splits, per_category={"support": 3, "test": 2})
    assert sorted((each.split, each.label) for each in few) == [
        *[("support", "0")] * 3,
        *[("support", "1")] * 3,
        *[("test", "0")] * 2,
        *[("test", "1")] * 2,
    ]
    assert few[0].id.startswith("support-")
    assert entries_of(tmp_path / "data")[0].source["split"] == "train"
    more = built(tmp_path, folder, **splits, per_category={"support": 4, "test": 2})
    assert {each.id for each in few} < {each.id for each in more}
    assert len(built(tmp_path, folder, **splits)) == 30
    assert len(built(tmp_path, folder, **splits, per_category=1)) == 4
    assert len(built(tmp_path, folder, **splits, per_category={"test": 1})) == 22
    with pytest.raises(ConfigError, match="support_split needs a label_column; set it"):
        built(tmp_path, folder, support_split="train")
    with pytest.raises(
        ConfigError, match="support_split is the test set itself; name another split"
    ):
        built(tmp_path, folder, **splits | {"support_split": "test"})


@each_case(cases(__file__, "hub"))
def test_what_is_refused(case, tmp_path):
    private = draw(tmp_path / "private.png", 0)
    for image in (row["image"] for row in case["rows"] if row.get("image")):
        image["bytes"] = image["bytes"] and image["bytes"].encode()
        image["path"] = image["path"].replace("PRIVATE", str(private))
    path = parquet(tmp_path / "pets", case["rows"]) if case["rows"] else tmp_path
    dataset = HuggingFace.model_validate({"path": str(path)} | case["settings"])
    with pytest.raises((ConfigError, DataError)) as caught:
        build("mine", dataset, tmp_path / "data")
    assert case["says"] in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "data").exists()


def test_data_files_and_links_out_of_the_folder_are_refused(tmp_path):
    draw(tmp_path / "private" / "a.png", 0)
    folder = pets(tmp_path / "pets")
    (folder / "test" / "b.png").symlink_to(tmp_path / "private" / "a.png")
    with pytest.raises(
        DataError, match=r"test/b\.png in .* is a link out of that folder; remove it"
    ):
        HuggingFace(path=str(folder)).source_digest()
    shutil.rmtree(folder / "test")
    files = (
        "configs:\n- config_name: default\n"
        "  data_files:\n  - split: test\n    path: ../private/*\n"
    )
    (folder / "README.md").write_text(f"---\n{files}---\n")
    with pytest.raises(DataError, match="outside the dataset"):
        built(tmp_path, folder)


def test_a_commit_that_was_loaded_once_works_without_a_network(cache, tmp_path):
    builder = datasets.load_dataset_builder(str(parquet(tmp_path / "pets", [{}] * 3)))
    builder.download_and_prepare()
    stored = cache / "owner___pets" / "default" / "0.0.0" / COMMIT
    shutil.copytree(builder.cache_dir, stored)
    info = json.loads((stored / "dataset_info.json").read_text(encoding="utf-8"))
    (stored / "dataset_info.json").write_text(
        json.dumps(info | {"config_name": "default"}), encoding="utf-8"
    )
    card = build(
        "mine", HuggingFace(path="owner/pets", revision=COMMIT), tmp_path / "data"
    )
    assert card.source == {
        "kind": "huggingface",
        "dataset": "owner/pets",
        "revision": COMMIT,
    }
    other = HuggingFace(path="owner/pets", revision=COMMIT[::-1])
    with pytest.raises(
        DataError,
        match=f"owner/pets at {COMMIT[::-1]} is not stored here; load it once with a network",
    ):
        build("mine", other, tmp_path / "data")
    assert (
        other.source_digest()
        != HuggingFace(path="owner/pets", revision=COMMIT).source_digest()
    )


def test_content_counts_and_not_the_place_or_the_time(tmp_path):
    one = pets(tmp_path / "here" / "pets")
    other = shutil.copytree(one, tmp_path / "there" / "pets")
    (other / ".cache").mkdir()
    (other / ".cache" / "x").write_bytes(b"x")
    for name, folder in (("one", one), ("other", other)):
        build("mine", HuggingFace(path=str(folder)), tmp_path / name)
    assert tree(tmp_path / "one") == tree(tmp_path / "other")
    assert (
        HuggingFace(path=str(one)).source_digest()
        == HuggingFace(path=str(other)).source_digest()
    )
    folder = parquet(tmp_path / "table", [{}, {}, {}])
    dataset, times = HuggingFace(path=str(folder)), (folder / "test.parquet").stat()
    before = dataset.source_digest(), build("mine", dataset, tmp_path / "data").digest
    parquet(folder, [{"image": red} for red in (4, 2, 3)])
    os.utime(folder / "test.parquet", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert dataset.source_digest() != before[0]
    assert build("mine", dataset, tmp_path / "data").digest != before[1]


def test_questions_with_lists_and_class_labels(tmp_path):
    features = datasets.Features(
        {
            "image": {
                "bytes": datasets.Value("binary"),
                "path": datasets.Value("string"),
            },
            **{
                name: datasets.Value("string")
                for name in ("question", "answer", "refusal", "subtask")
            },
            "options": datasets.List(datasets.Value("string")),
            "subset": datasets.ClassLabel(names=["know", "basic", "beyond"]),
        }
    )
    rows = [row | {"image": 1} for row in (SAP, BEYOND, SAP | {"subset": "know"})]
    folder = parquet(tmp_path / "q", rows, features=features)
    build_set(
        "mine",
        HuggingFaceQuestions(protocol="mm_sap", path=str(folder)),
        tmp_path / "built",
    )
    entries = read_questions(tmp_path / "built")
    assert [entry.subset for entry in entries] == ["basic", "beyond", "know"]
    assert [(entry.answer, entry.refusal) for entry in entries] == [
        (1, 2),
        (None, 2),
        (1, 2),
    ]
    parquet(folder, [row | {"image": 1} for row in (SAP, BEYOND)])
    build_set(
        "mine",
        HuggingFaceQuestions(protocol="mm_sap", path=str(folder)),
        tmp_path / "built",
    )
    entries = read_questions(tmp_path / "built")
    assert [(entry.subset, entry.source) for entry in entries] == [
        ("basic", {"row": "0"}),
        ("beyond", {"row": "1"}),
    ]


def test_images_in_a_table_are_told_apart_by_their_bytes_or_as_a_column_says(tmp_path):
    rows = [
        row | {"image": 1, "question_id": f"count/{n}"} for n in range(2) for row in MME
    ]
    folder = parquet(tmp_path / "q", rows)
    with pytest.raises(DataError, match="4 questions, where MME asks 2"):
        build_set(
            "mine",
            HuggingFaceQuestions(protocol="mme", path=str(folder)),
            tmp_path / "built",
        )
    columns = {"image_id": "question_id"}
    questions = HuggingFaceQuestions.model_validate(
        {"protocol": "mme", "path": str(folder), "columns": columns}
    )
    build_set("mine", questions, tmp_path / "built")
    ids = [entry.image_id for entry in read_questions(tmp_path / "built")]
    assert ids == ["count/0", "count/0", "count/1", "count/1"]


def test_a_question_has_images_in_a_list(tmp_path):
    files = [{"bytes": png(red), "path": None} for red in range(3)]
    row = {"question": "<image>?", "answer": "x", "capabilities": "ocr"}
    rows = pandas.DataFrame([row | {"question": "x"}, row])
    rows["images"] = [files[:2], files[2:]]
    rows.to_parquet(tmp_path / "test.parquet")
    set_ = HuggingFaceQuestions(protocol="mm_vet", path=str(tmp_path))
    build_set("mine", set_, tmp_path / "built")
    entries = read_questions(tmp_path / "built")
    assert [entry.question for entry in entries] == ["x", "<image 1>?"]
    media = entries[0].media(tmp_path / "built")
    assert [medium.open().getpixel((0, 0))[0] for medium in media] == [0, 1]


def test_without_the_library_what_pip_installs_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(
        MissingExtraError,
        match=r"'datasets' is not installed; run: pip install datasets$",
    ):
        built(tmp_path, pets(tmp_path / "pets"))


@pytest.mark.parametrize("keys", [("bytes", "path"), ("bytes",)])
def test_images_as_pandas_writes_them_are_read(keys, tmp_path):
    cells = [{"bytes": png(red), "path": f"{red}.png"} for red in (1, 2)]
    rows = [{"image": {key: cell[key] for key in keys}} for cell in cells]
    pandas.DataFrame(rows).to_parquet(tmp_path / "test.parquet")
    assert [item.read() for item in HuggingFace(path=str(tmp_path)).items()] == [
        png(1),
        png(2),
    ]


def test_lists_of_images_are_named_for_what_they_are(tmp_path):
    pandas.DataFrame({"image": [[{"bytes": png(1), "path": "a.png"}]]}).to_parquet(
        tmp_path / "test.parquet"
    )
    with pytest.raises(
        ConfigError,
        match="column 'image' holds lists of objects of bytes, path, and no images",
    ):
        list(HuggingFace(path=str(tmp_path)).items())
