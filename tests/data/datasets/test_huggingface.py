import io
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from driftledger.core.errors import ConfigError, DataError, DriftledgerError, MissingExtraError, MissingSourceError
from driftledger.core.files import read_jsonl
from driftledger.data.datasets.build import build
from driftledger.data.datasets.huggingface import HuggingFace
from driftledger.data.records import DatasetCard, SampleEntry, read_samples
from tests.conftest import draw

datasets = pytest.importorskip("datasets")
pytest.importorskip("huggingface_hub")

pytestmark = pytest.mark.usefixtures("cache")

HUB_ID = "owner/pets"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def png(red: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 6), (red, 0, 0)).save(buffer, "PNG")
    return buffer.getvalue()


def image_folder(folder: Path) -> Path:
    """Two cats and a dog in the library's own folder format."""
    for number, name in enumerate(("cat/a.png", "cat/b.png", "dog/c.png")):
        draw(folder / "test" / name, number)
    return folder


def parquet(folder: Path, images: list[dict[str, Any] | bytes], **columns: list[Any]) -> Path:
    """A table of images, stored as images or as plain bytes, with more columns."""
    folder.mkdir(exist_ok=True)
    plain = isinstance(images[0], bytes)
    rows = datasets.Dataset.from_dict({"image": images, **columns})
    if not plain:
        rows = rows.cast_column("image", datasets.Image(decode=False))
    rows.to_parquet(folder / "test.parquet")
    return folder


def table(folder: Path, **columns: list[Any]) -> Path:
    """Three images in a table."""
    return parquet(folder, [{"bytes": png(red), "path": None} for red in (1, 2, 3)], **columns)


def built(dataset: HuggingFace, tmp_path: Path) -> tuple[DatasetCard, list[SampleEntry]]:
    card = build("mine", dataset, tmp_path / "data")
    return card, read_jsonl(tmp_path / "data" / "samples.jsonl", SampleEntry)


def refused(dataset: HuggingFace, tmp_path: Path, kind: type[DriftledgerError] = DataError) -> str:
    with pytest.raises(kind) as caught:
        build("mine", dataset, tmp_path / "data")
    assert not (tmp_path / "data").exists()
    assert not (tmp_path / "data.partial").exists()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_local_image_folder_with_class_labels_by_name(tmp_path: Path) -> None:
    dataset = HuggingFace(path=str(image_folder(tmp_path / "pets")), category_column="label", label_column="label")
    card, entries = built(dataset, tmp_path)
    assert card.categories == {"cat": 2, "dog": 1}
    assert card.source == {"kind": "huggingface", "folder": "pets"}
    assert [(entry.id, entry.category, entry.label) for entry in entries] == [
        ("0", "cat", "cat"),
        ("1", "cat", "cat"),
        ("2", "dog", "dog"),
    ]
    assert entries[0].source == {"row": "0", "file": "test/cat/a.png"}
    with Image.open(tmp_path / "pets" / "test" / "dog" / "c.png") as image:
        assert read_samples(tmp_path / "data")[2].image.open().tobytes() == image.tobytes()


def test_a_table_with_ids_and_categories(tmp_path: Path) -> None:
    folder = table(tmp_path / "pets", name=["c", "b", "a"], kind=["x", "y", "x"], unused=[[1], [2], [3]])
    card, entries = built(HuggingFace(path=str(folder), id_column="name", category_column="kind"), tmp_path)
    assert card.categories == {"x": 2, "y": 1}
    assert [(entry.id, entry.category, entry.source["row"]) for entry in entries] == [
        ("a", "x", "2"),
        ("b", "y", "1"),
        ("c", "x", "0"),
    ]
    assert [sample.image.open().getpixel((0, 0)) for sample in read_samples(tmp_path / "data")] == [
        (3, 0, 0),
        (2, 0, 0),
        (1, 0, 0),
    ]


def test_a_column_of_plain_bytes_is_taken_for_images(tmp_path: Path) -> None:
    folder = parquet(tmp_path / "pets", [png(1), png(2)])
    assert built(HuggingFace(path=str(folder)), tmp_path)[0].samples == 2


def test_one_column_may_be_id_and_category(tmp_path: Path) -> None:
    folder = table(tmp_path / "pets", name=["a", "b", "c"])
    card, _ = built(HuggingFace(path=str(folder), id_column="name", category_column="name"), tmp_path)
    assert card.categories == {"a": 1, "b": 1, "c": 1}


def test_a_cell_without_a_category_leaves_the_sample_without_one(tmp_path: Path) -> None:
    folder = table(tmp_path / "pets", kind=["x", None, ""])
    card, entries = built(HuggingFace(path=str(folder), category_column="kind"), tmp_path)
    assert card.categories == {"x": 1}
    assert [entry.category for entry in entries] == ["x", None, None]


def test_images_are_decoded_by_our_rules(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    Image.new("CMYK", (4, 4)).save(buffer, "JPEG")
    folder = parquet(tmp_path / "pets", [{"bytes": buffer.getvalue(), "path": "scan.jpg"}])
    _, [entry] = built(HuggingFace(path=str(folder)), tmp_path)
    assert entry.notes == ["converted from CMYK"]
    assert entry.source == {"row": "0", "file": "scan.jpg"}


@pytest.mark.parametrize("column", ["image_column", "id_column", "category_column", "label_column"])
def test_an_unknown_column_is_answered_with_the_nearest(column: str, tmp_path: Path) -> None:
    folder = table(tmp_path / "pets", kind=["x", "y", "z"])
    said = refused(HuggingFace.model_validate({"path": str(folder), column: "kinds"}), tmp_path, ConfigError)
    assert said == f"{folder}: column 'kinds' is unknown; did you mean 'kind'? valid: image, kind"


def test_a_column_without_images(tmp_path: Path) -> None:
    folder = table(tmp_path / "pets", kind=["x", "y", "z"])
    said = refused(HuggingFace(path=str(folder), image_column="kind"), tmp_path, ConfigError)
    assert said == f"{folder}: column 'kind' holds no images; set image_column"


@pytest.mark.parametrize("split", ["tset", "test[", "", "../x", "test[5"])
def test_a_bad_split_is_one_sentence(split: str, tmp_path: Path) -> None:
    said = refused(HuggingFace(path=str(table(tmp_path / "pets")), split=split), tmp_path)
    assert f"split {split!r}, cannot be loaded (" in said


def test_an_unknown_split_is_answered_with_the_valid_ones(tmp_path: Path) -> None:
    assert "['test']" in refused(HuggingFace(path=str(table(tmp_path / "pets")), split="tset"), tmp_path)


def test_an_unknown_configuration_is_one_sentence(tmp_path: Path) -> None:
    said = refused(HuggingFace(path=str(table(tmp_path / "pets")), name="small"), tmp_path)
    assert "'small' not found" in said


def test_a_folder_that_holds_nothing_to_load(tmp_path: Path) -> None:
    (tmp_path / "pets").mkdir()
    assert "cannot be loaded" in refused(HuggingFace(path=str(tmp_path / "pets")), tmp_path)
    (tmp_path / "pets" / "test.parquet").write_bytes(b"PAR1 and no more")
    assert "Parquet magic bytes not found" in refused(HuggingFace(path=str(tmp_path / "pets")), tmp_path)


def test_of_a_long_complaint_the_middle_is_left_out(tmp_path: Path) -> None:
    said = refused(HuggingFace(path="x" * 5000), tmp_path, ConfigError)
    assert "cannot be reached ([Errno 36] File name too long: " in said
    assert "…xxx" in said
    assert said.endswith("x'); mend path")
    assert len(said) < 600


def test_what_went_wrong_inside_the_library_is_said(tmp_path: Path) -> None:
    folder = image_folder(tmp_path / "pets")
    (folder / "test" / "metadata.csv").write_text("file_name\n../../x.png\n", encoding="utf-8")
    assert "cannot be loaded (Invalid metadata file_name '../../x.png'" in refused(
        HuggingFace(path=str(folder)), tmp_path
    )


def test_a_listed_image_that_is_not_there_is_named(tmp_path: Path) -> None:
    folder = image_folder(tmp_path / "pets")
    (folder / "test" / "metadata.csv").write_text("file_name\ngone.png\n", encoding="utf-8")
    said = refused(HuggingFace(path=str(folder)), tmp_path)
    assert said.startswith("row 0 of test (test/gone.png) cannot be read (No such file or directory)")


def test_an_image_column_without_an_image(tmp_path: Path) -> None:
    folder = parquet(tmp_path / "pets", [{"bytes": png(1), "path": None}, None])  # type: ignore[list-item]
    assert refused(HuggingFace(path=str(folder)), tmp_path) == (
        "mine: row 1 of test is an empty file; replace or remove it"
    )


def test_a_broken_image_is_named_by_row_and_file(tmp_path: Path) -> None:
    folder = parquet(tmp_path / "pets", [{"bytes": b"hello", "path": "somewhere/a.png"}])
    assert refused(HuggingFace(path=str(folder)), tmp_path).startswith("mine: row 0 of test (a.png) is not an image")


@pytest.mark.parametrize(
    "ids", [["a", "../b", "c"], ["a", "/etc/b", "c"], ["a", "b\0", "c"], ["a", None, "c"], ["a", "", "c"]]
)
def test_a_hostile_id_is_refused(ids: list[str | None], tmp_path: Path) -> None:
    said = refused(HuggingFace(path=str(table(tmp_path / "pets", name=ids)), id_column="name"), tmp_path)
    assert said.startswith(f"mine: row 1 of test has the id {ids[1] or ''!r}, which is no safe file name")


def test_two_rows_with_one_id_are_both_named(tmp_path: Path) -> None:
    said = refused(HuggingFace(path=str(table(tmp_path / "pets", name=["a", "b", "A"])), id_column="name"), tmp_path)
    assert said.startswith("mine: row 0 of test and row 2 of test both get the id 'A'")


def test_a_row_cannot_name_another_file_of_this_disk(tmp_path: Path) -> None:
    private = draw(tmp_path / "private.png", 0)
    folder = parquet(tmp_path / "pets", [{"bytes": png(1), "path": None}, {"bytes": None, "path": str(private)}])
    said = refused(HuggingFace(path=str(folder)), tmp_path)
    assert said.startswith(f"row 1 of test (private.png) names a file outside the dataset, '{private}'")
    parquet(folder, [{"bytes": None, "path": f"{folder}/../private.png"}])
    assert "outside the dataset" in refused(HuggingFace(path=str(folder)), tmp_path)


def test_data_files_outside_the_folder_are_refused(tmp_path: Path) -> None:
    draw(tmp_path / "private" / "a.png", 0)
    (tmp_path / "pets").mkdir()
    (tmp_path / "pets" / "README.md").write_text(
        "---\nconfigs:\n- config_name: default\n  data_files:\n  - split: test\n    path: ../private/*\n---\n",
        encoding="utf-8",
    )
    assert "outside the dataset" in refused(HuggingFace(path=str(tmp_path / "pets")), tmp_path)


def test_a_class_without_a_name_is_one_sentence(tmp_path: Path) -> None:
    folder = table(tmp_path / "pets", kind=[0, -1, 7])
    (folder / "README.md").write_text(
        "---\ndataset_info:\n  features:\n  - name: image\n    dtype: image\n  - name: kind\n    dtype:\n"
        "      class_label:\n        names:\n          '0': cat\n          '1': dog\n---\n",
        encoding="utf-8",
    )
    said = refused(HuggingFace(path=str(folder), category_column="kind"), tmp_path)
    print(said)
    assert "class" in said
    _, entries = built(HuggingFace(path=str(folder), category_column="kind", limit=2), tmp_path)
    assert [entry.category for entry in entries] == ["cat", "-1"]


def test_of_rows_that_share_a_value_the_first_is_taken(tmp_path: Path) -> None:
    """As MME has two questions about each image; equal images of different ids stay."""
    images = [{"bytes": png(red), "path": None} for red in (10, 10, 20, 20, 10)]
    folder = parquet(tmp_path / "mme", images, question_id=["a/1", "a/1", "a/2", "a/2", "b/1"])
    _, entries = built(HuggingFace(path=str(folder), unique_column="question_id"), tmp_path)
    assert [entry.id for entry in entries] == ["0", "2", "4"]
    _, few = built(HuggingFace(path=str(folder), unique_column="question_id", limit=2), tmp_path)
    assert [entry.id for entry in few] == ["0", "2"]


def test_the_limit_takes_the_first_rows_and_renames_none(tmp_path: Path) -> None:
    folder = parquet(tmp_path / "pets", [{"bytes": png(red), "path": None} for red in range(12)])
    _, all_of_them = built(HuggingFace(path=str(folder)), tmp_path)
    _, few = built(HuggingFace(path=str(folder), limit=3), tmp_path)
    _, many = built(HuggingFace(path=str(folder), limit=1000), tmp_path)
    assert [entry.id for entry in few] == ["00", "01", "02"]
    assert few == all_of_them[:3]
    assert many == all_of_them


def test_a_hub_dataset_needs_a_revision(tmp_path: Path) -> None:
    said = "'owner/pets' is no folder here; mend path, or set revision if it is a dataset of the hub"
    dataset = HuggingFace(path=HUB_ID)
    assert refused(dataset, tmp_path, ConfigError) == said
    with pytest.raises(ConfigError, match="is no folder here"):
        dataset.source_digest()


def test_a_local_folder_has_no_revision(tmp_path: Path) -> None:
    dataset = HuggingFace(path=str(table(tmp_path / "pets")), revision="main")
    assert refused(dataset, tmp_path, ConfigError).endswith("has no revision; remove revision or the folder")


@pytest.mark.parametrize("path", ["~no_such_user_here/pets", "x" * 5000])
def test_a_path_that_cannot_be_looked_at_is_one_sentence(path: str, tmp_path: Path) -> None:
    assert len(refused(HuggingFace(path=path), tmp_path, ConfigError)) < 600


@pytest.mark.parametrize("revision", ["main", COMMIT])
@pytest.mark.parametrize("path", [HUB_ID, "a/b/c", "../../x", "https://example.org/x", "buckets/a/b"])
def test_a_hub_dataset_without_a_network_is_one_sentence(path: str, revision: str, tmp_path: Path) -> None:
    kind = DataError if revision == COMMIT else MissingSourceError  # a branch is looked up first
    said = refused(HuggingFace(path=path, revision=revision), tmp_path, kind)
    assert said.startswith(f"{path}, split 'test', cannot be loaded (")
    assert said.endswith("mend its settings or the network")


def test_a_branch_is_not_recorded_without_asking_the_hub() -> None:
    with pytest.raises(MissingSourceError, match="cannot be loaded"):
        HuggingFace(path=HUB_ID, revision="main").source_digest()


def stored_earlier(cache: Path, tmp_path: Path) -> None:
    """Leave what the library stores after it has loaded the hub's dataset at ``COMMIT``."""
    builder = datasets.load_dataset_builder(str(table(tmp_path / "pets")))
    builder.download_and_prepare()
    stored = cache / "owner___pets" / "default" / "0.0.0" / COMMIT
    shutil.copytree(builder.cache_dir, stored)
    info = json.loads((stored / "dataset_info.json").read_text(encoding="utf-8"))
    (stored / "dataset_info.json").write_text(json.dumps(info | {"config_name": "default"}), encoding="utf-8")


def test_a_commit_that_was_loaded_once_works_without_a_network(cache: Path, tmp_path: Path) -> None:
    stored_earlier(cache, tmp_path)
    card, _ = built(HuggingFace(path=HUB_ID, revision=COMMIT), tmp_path)
    assert card.samples == 3
    assert card.source == {"kind": "huggingface", "dataset": HUB_ID, "revision": COMMIT}


def test_another_commit_is_not_taken_for_the_one_that_was_loaded(cache: Path, tmp_path: Path) -> None:
    stored_earlier(cache, tmp_path)
    other = COMMIT[::-1]
    said = refused(HuggingFace(path=HUB_ID, revision=other), tmp_path)
    assert said == f"{HUB_ID} at {other} is not stored here; load it once with a network"


def test_the_source_digest_of_a_commit_needs_no_network() -> None:
    one, other = (HuggingFace(path=HUB_ID, revision=commit).source_digest() for commit in (COMMIT, COMMIT[::-1]))
    assert one != other


def test_changed_content_is_seen_though_the_library_has_stored_the_old_one(tmp_path: Path) -> None:
    folder = table(tmp_path / "pets")
    dataset, file = HuggingFace(path=str(folder)), tmp_path / "pets" / "test.parquet"
    before, digest, times = build("mine", dataset, tmp_path / "data"), dataset.source_digest(), file.stat()
    parquet(folder, [{"bytes": png(red), "path": None} for red in (4, 2, 3)])
    assert file.stat().st_size == times.st_size
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert dataset.source_digest() != digest
    assert build("mine", dataset, tmp_path / "data").digest != before.digest
    assert read_samples(tmp_path / "data")[0].image.open().getpixel((0, 0)) == (4, 0, 0)


def test_two_builds_are_the_same_bytes_wherever_the_folder_lies(tmp_path: Path) -> None:
    one = image_folder(tmp_path / "here" / "pets")
    other = shutil.copytree(one, tmp_path / "there" / "pets")
    build("mine", HuggingFace(path=str(one)), tmp_path / "one")
    build("mine", HuggingFace(path=str(other)), tmp_path / "other")
    files = sorted(file.relative_to(tmp_path / "one") for file in (tmp_path / "one").rglob("*") if file.is_file())
    assert len(files) == 5
    for file in files:
        content = (tmp_path / "one" / file).read_bytes()
        assert str(tmp_path).encode() not in content
        assert content == (tmp_path / "other" / file).read_bytes()
    assert HuggingFace(path=str(one)).source_digest() == HuggingFace(path=str(other)).source_digest()


@pytest.mark.parametrize("path", ["../pets", "../link", "~/pets"])
def test_a_relative_path_a_link_and_a_tilde(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image_folder(tmp_path / "pets")
    (tmp_path / "link").symlink_to("pets")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("HOME", str(tmp_path))
    _, entries = built(HuggingFace(path=path), tmp_path)
    assert [entry.source["file"] for entry in entries] == ["test/cat/a.png", "test/cat/b.png", "test/dog/c.png"]


def test_the_source_digest_sees_every_file_but_hidden_ones(tmp_path: Path) -> None:
    folder = image_folder(tmp_path / "pets")
    dataset = HuggingFace(path=str(folder))
    before = dataset.source_digest()
    (folder / ".cache").mkdir()
    (folder / ".cache" / "x").write_bytes(b"x")
    assert dataset.source_digest() == before
    (folder / "metadata.csv").write_text("file_name\n", encoding="utf-8")
    assert dataset.source_digest() != before


def test_without_the_library_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pets").mkdir()
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'driftledger\[huggingface\]'"):
        build("mine", HuggingFace(path=str(tmp_path / "pets")), tmp_path / "data")
