import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from driftledger.core.errors import ConfigError, DataError, DriftledgerError, MissingExtraError, MissingSourceError
from driftledger.core.files import read_json
from driftledger.data.question_sets.files import QuestionEntry, QuestionSetCard, read_questions
from driftledger.data.question_sets.huggingface import HuggingFaceQuestions
from driftledger.data.question_sets.table import QuestionTable
from tests.data.question_sets.sources import BEYOND, MME, REFUSAL, RULES, SAP, VET, build_set, images, png

datasets = pytest.importorskip("datasets")
huggingface_hub = pytest.importorskip("huggingface_hub")

HUB_ID = "owner/questions"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library's own folders, which it has fixed when it was imported, without a network."""
    folder = tmp_path / "cache"
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", folder)
    monkeypatch.setattr(datasets.config, "HF_MODULES_CACHE", folder / "modules")
    monkeypatch.setattr(datasets.config, "DOWNLOADED_DATASETS_PATH", folder / "downloads")
    monkeypatch.setattr(datasets.config, "EXTRACTED_DATASETS_PATH", folder / "downloads" / "extracted")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)


def stored(folder: Path, *rows: dict[str, Any], features: Any = None) -> Path:
    """A folder with a parquet file of these rows, each with its image's bytes."""
    folder.mkdir(exist_ok=True)
    cells = [
        row if isinstance(row["image"], dict | None) else row | {"image": {"bytes": png(), "path": row["image"]}}
        for row in rows
    ]
    table = datasets.Dataset.from_list(cells, features=features)
    table.cast_column("image", datasets.Image(decode=False)).to_parquet(folder / "test.parquet")
    return folder


def provider(path: Path | str, protocol: str = "mm_sap", **more: Any) -> HuggingFaceQuestions:
    return HuggingFaceQuestions.model_validate({"protocol": protocol, "path": str(path)} | more)


def built(questions: HuggingFaceQuestions, tmp_path: Path) -> tuple[QuestionSetCard, list[QuestionEntry]]:
    build_set("mine", questions, tmp_path / "built")
    return read_json(tmp_path / "built" / "question_set.json", QuestionSetCard), read_questions(tmp_path / "built")


def refused(questions: HuggingFaceQuestions, tmp_path: Path, kind: type[DriftledgerError] = DataError) -> str:
    with pytest.raises(kind) as caught:
        build_set("mine", questions, tmp_path / "built")
    assert not (tmp_path / "built").exists()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_mm_sap_with_lists_and_class_labels(tmp_path: Path) -> None:
    features = datasets.Features(
        {
            "image": {"bytes": datasets.Value("binary"), "path": datasets.Value("string")},
            **{name: datasets.Value("string") for name in ("question", "answer", "refusal", "subtask")},
            "options": datasets.List(datasets.Value("string")),
            "subset": datasets.ClassLabel(names=["know", "basic", "beyond"]),
        }
    )
    rows = [SAP, BEYOND, SAP | {"subset": "know"}]
    card, entries = built(provider(stored(tmp_path / "q", *rows, features=features)), tmp_path)
    assert [entry.subset for entry in entries] == ["basic", "beyond", "know"]
    assert entries[0].options == ["red", "blue", REFUSAL, "green", "white"]
    assert [(entry.answer, entry.refusal) for entry in entries] == [(1, 2), (None, 2), (1, 2)]
    assert entries[0].source == {"row": "0", "file": "a.png"}
    assert card.source == {"kind": "huggingface", "folder": "q"}
    assert card.provider == "huggingface"
    assert "path" not in card.settings


def test_mm_vet_as_the_hub_has_it(tmp_path: Path) -> None:
    """The columns of lmms-lab/MMVet."""
    row = {
        "question_id": "v1_0",
        "image": "v1_0.png",
        "question": "x?",
        "answer": "-1<AND>-5",
        "capability": "ocr,math",
    }
    columns = {"id": "question_id", "capabilities": "capability"}
    _, [entry] = built(provider(stored(tmp_path / "q", row), "mm_vet", columns=columns), tmp_path)
    assert (entry.id, entry.answer, entry.capabilities) == ("v1_0", "-1<AND>-5", ["ocr", "math"])


def test_mme_as_the_hub_has_it(tmp_path: Path) -> None:
    """The columns of lmms-lab/MME, whose question_id is the image's; here two images that look alike."""
    rows = [row | {"question_id": f"OCR/{pair}.jpg"} for pair in range(2) for row in MME]
    folder = stored(tmp_path / "q", *rows)
    card, entries = built(provider(folder, "mme", columns={"image_id": "question_id"}), tmp_path)
    assert [entry.id for entry in entries] == ["0", "1", "2", "3"]
    assert [entry.image_id for entry in entries] == ["OCR/0.jpg", "OCR/0.jpg", "OCR/1.jpg", "OCR/1.jpg"]
    assert [entry.answer for entry in entries] == ["yes", "no", "yes", "no"]
    assert (card.questions, card.images) == (4, 1)
    assert "4 questions, where MME asks 2" in refused(provider(folder, "mme"), tmp_path / "other")


def test_a_folder_of_images_with_metadata(tmp_path: Path) -> None:
    folder = images(tmp_path / "q", "test/a.png", "test/b.png")
    row = '{"file_name": "a.png", "question": "x?", "answer": "y", "capabilities": ["rec"]}'
    lines = [row, row.replace("a.png", "b.png")]
    (folder / "test" / "metadata.jsonl").write_text("\n".join(lines), encoding="utf-8")
    _, entries = built(provider(folder, "mm_vet"), tmp_path)
    assert [entry.source["file"] for entry in entries] == ["test/a.png", "test/b.png"]
    assert len({entry.image_id for entry in entries}) == 2
    (folder / "test" / "a.png").unlink()
    assert "row 0 of test" in refused(provider(folder, "mm_vet"), tmp_path / "other")


def test_the_same_rows_give_the_same_questions_as_a_table(tmp_path: Path) -> None:
    folder = stored(tmp_path / "q", SAP, BEYOND)
    ours, entries = built(provider(folder), tmp_path)
    build_set("mine", QuestionTable(protocol="mm_sap", path=folder / "test.parquet"), tmp_path / "table")
    assert read_questions(tmp_path / "table") == entries
    assert read_json(tmp_path / "table" / "question_set.json", QuestionSetCard).digest == ours.digest


@pytest.mark.parametrize("image", [None, {"bytes": None, "path": None}, {"bytes": b"", "path": None}])
def test_a_row_without_an_image(image: Any, tmp_path: Path) -> None:
    folder = stored(tmp_path / "q", VET, VET | {"image": image})
    assert "row 1 of test has no image (" in refused(provider(folder, "mm_vet"), tmp_path)


def test_a_row_cannot_name_another_file_of_this_disk(tmp_path: Path) -> None:
    (tmp_path / "private.png").write_bytes(png(200))
    for path in (str(tmp_path / "private.png"), str(tmp_path / "q" / ".." / "private.png")):
        folder = stored(tmp_path / "q", VET, VET | {"image": {"bytes": None, "path": path}})
        assert "names a file outside the dataset" in refused(provider(folder, "mm_vet"), tmp_path)


def test_a_wrong_question_is_named(tmp_path: Path) -> None:
    folder = stored(tmp_path / "q", SAP, SAP | {"answer": "purple"})
    assert "row 1 of test has the answer 'purple', which is not among its options" in refused(
        provider(folder), tmp_path
    )


def test_an_unknown_column_is_answered_with_the_nearest(tmp_path: Path) -> None:
    folder = stored(tmp_path / "q", SAP)
    said = refused(provider(folder, columns={"question": "questoin"}), tmp_path, ConfigError)
    assert "columns.question: column 'questoin' is unknown; did you mean 'question'?" in said


def test_a_column_without_images(tmp_path: Path) -> None:
    folder = stored(tmp_path / "q", SAP)
    said = refused(provider(folder, columns={"image": "subset"}), tmp_path, ConfigError)
    assert said == f"{folder}: column 'subset' holds no images; set columns.image"


def test_nested_lists_are_no_options(tmp_path: Path) -> None:
    folder = stored(tmp_path / "q", SAP | {"options": [["red"], ["blue"]]})
    assert refused(provider(folder), tmp_path).startswith("row 0 of test in options holds a list where a text belongs")


def test_the_limit_takes_the_first_rows_and_renames_none(tmp_path: Path) -> None:
    folder = stored(tmp_path / "q", *[VET | {"answer": str(number)} for number in range(12)])
    every, few = (built(provider(folder, "mm_vet", limit=limit), tmp_path)[1] for limit in (None, 3))
    assert [entry.id for entry in few] == ["00", "01", "02"]
    assert few == every[:3]


def test_no_rows(tmp_path: Path) -> None:
    folder = stored(tmp_path / "q", SAP, BEYOND)
    assert "corresponds to no data" in refused(provider(folder, split="test[:0]"), tmp_path)


def test_a_hub_dataset_needs_a_revision(tmp_path: Path) -> None:
    said = "'owner/questions' is no folder here; mend path, or set revision if it is a dataset of the hub"
    assert refused(provider(HUB_ID), tmp_path, ConfigError) == said
    with pytest.raises(ConfigError, match="is no folder here"):
        provider(HUB_ID).source_digest()


@pytest.mark.parametrize("revision", ["main", COMMIT])
def test_a_hub_dataset_without_a_network_is_one_sentence(revision: str, tmp_path: Path) -> None:
    kind = DataError if revision == COMMIT else MissingSourceError  # a branch is looked up first
    said = refused(provider(HUB_ID, revision=revision), tmp_path, kind)
    assert said.startswith(f"{HUB_ID}, split 'test', cannot be loaded (")


def test_a_commit_is_recorded_and_needs_no_network() -> None:
    one, other = (provider(HUB_ID, revision=commit) for commit in (COMMIT, COMMIT[::-1]))
    assert one.source_digest() != other.source_digest()
    assert one.source() == {"kind": "huggingface", "dataset": HUB_ID, "revision": COMMIT}
    with pytest.raises(MissingSourceError, match="cannot be loaded"):
        provider(HUB_ID, revision="main").source_digest()


def test_a_branch_is_resolved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def dataset_info(_: Any, path: str, revision: str) -> Any:
        asked.append(revision)
        return type("Info", (), {"sha": COMMIT})

    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", dataset_info)
    questions = provider(HUB_ID, revision="main")
    assert questions.source()["revision"] == COMMIT
    assert questions.source_digest() == provider(HUB_ID, revision=COMMIT).source_digest()
    assert asked == ["main"]


def test_two_builds_are_the_same_bytes_wherever_the_folder_lies(tmp_path: Path) -> None:
    one = images(tmp_path / "here" / "q", "test/a.png", "test/b.png")
    line = '{"file_name": "a.png", "question": "x?", "answer": "y", "capabilities": ["rec"]}'
    (one / "test" / "metadata.jsonl").write_text(f"{line}\n{line.replace('a.png', 'b.png')}", encoding="utf-8")
    other = shutil.copytree(one, tmp_path / "there" / "q")
    build_set("mine", provider(one, "mm_vet"), tmp_path / "one")
    build_set("mine", provider(other, "mm_vet"), tmp_path / "other")
    files = sorted(file.relative_to(tmp_path / "one") for file in (tmp_path / "one").rglob("*") if file.is_file())
    assert len(files) == 4
    for file in files:
        content = (tmp_path / "one" / file).read_bytes()
        assert str(tmp_path).encode() not in content
        assert content == (tmp_path / "other" / file).read_bytes()
    assert provider(one, "mm_vet").source_digest() == provider(other, "mm_vet").source_digest()


def test_settings_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ValidationError, match="setting 'image_column' is unknown"):
        provider("x", image_column="y")
    with pytest.raises(ConfigError, match=r"columns\.options has no meaning for mme"):
        provider("x", "mme", columns={"options": "y"}).check(RULES["mme"])


def test_without_the_library_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "q").mkdir()
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'driftledger\[huggingface\]'"):
        build_set("mine", provider(tmp_path / "q"), tmp_path / "built")
