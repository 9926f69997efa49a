"""Names and paths in records, cards, manifests and locks: none leads out of its folder."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from driftledger.benchmarks.genception.records import WitnessRecord
from pydantic import BaseModel, ValidationError

from driftledger.benchmarks._chains.records import ChainRecord
from driftledger.benchmarks._questions.records import AnswerRecord
from driftledger.benchmarks.mm_sap.records import ChoiceRecord
from driftledger.benchmarks.mm_vet.records import JudgedRecord
from driftledger.benchmarks.mme.records import YesNoRecord
from driftledger.benchmarks.records import CollectedCard
from driftledger.benchmarks.runner import write_collected
from driftledger.benchmarks.score import Row, Score
from driftledger.benchmarks.trac.records import DescriptionRecord
from driftledger.core.errors import StoreError
from driftledger.core.files import Record, parse_json
from driftledger.data.question_sets.files import QUESTIONS, QuestionEntry, read_questions
from driftledger.data.records import DatasetCard, SampleEntry, read_samples
from driftledger.ledger.lock import LockedFile, parse_locks
from driftledger.ledger.objects.fetching import manifest_md5, parse_manifest
from tests.conftest import draw
from tests.support.chains import chains, collected
from tests.support.fakes import EchoModel, SizeGenerator

OUT = (
    *("../x", "../../etc/passwd", "/etc/passwd", "a/../../x", "a/./x", "a//x", "a/", ".", "..", "", "./x"),
    *(r"..\x", r"C:\x", "C:/x", "c:x", r"\\server\share\x", "//server/share/x"),
    *("a\0.png", "a\nb", "a\x1b[2J", "a\x85b", "a\u2028b", "a\u2029b", "\ud800", "ä" * 128, "a/" * 2100 + "x"),
)
"""What is no relative path anywhere: out of the folder, of another system, with what is not seen, too long."""
NO_IDS = (*OUT, "a/b", "a b", ".hidden", "-" * 101, "naïve", "a\u202eb", "..x", "$(id)", "%2e%2e", "a:b")
IDS = ("disc", "a.b-c_D", "0001", "-", "_", "test-purple-ring-001", "two-0007", "0", "x" * 100, "a..b", "CON", "a.")

SAMPLE = {"id": "a", "file": "a.png", "sha256": "0" * 64, "width": 1, "height": 1, "schema": 2}
QUESTION = {"id": "a", "image": "a.png", "image_sha256": "0" * 64, "image_id": "1", "question": "What?", "schema": 2}


def kinds(of: type[BaseModel] = Record) -> Iterator[type[BaseModel]]:
    for kind in of.__subclasses__():
        yield kind
        yield from kinds(kind)


def test_no_record_holds_a_name_or_a_path_of_any_form() -> None:
    of_ours = [kind for kind in kinds() if kind.__module__.startswith("driftledger.")]
    assert {SampleEntry, QuestionEntry, ChainRecord, AnswerRecord, ChoiceRecord, YesNoRecord, JudgedRecord} < {*of_ours}
    names = {"id", "sample", "file", "image", "path", "question", "unit", "image_id", "demonstrations", "keys", "leaks"}
    for kind in (*of_ours, LockedFile):
        for name in names & kind.model_fields.keys():
            field = kind.model_fields[name]
            assert field.metadata or "Annotated" in str(field.annotation) or field.annotation is int, (kind, name)


@pytest.mark.parametrize("path", OUT)
@pytest.mark.parametrize(
    ("kind", "field", "plain"),
    [
        (SampleEntry, "file", SAMPLE),
        (QuestionEntry, "image", QUESTION),
        (ChainRecord, "image", {"sample": "a", "t": 1, "outcome": "ok", "parent_sha256": "p", "seed": 1}),
        (LockedFile, "path", {"md5": "0" * 32, "size": 1}),
    ],
)
def test_paths(kind: type[BaseModel], field: str, plain: dict[str, Any], path: str) -> None:
    kind.model_validate(plain | {field: "images/a b/ä.png"})
    with pytest.raises(ValidationError):
        kind.model_validate(plain | {field: path})


@pytest.mark.parametrize(
    ("kind", "field", "plain"),
    [
        (SampleEntry, "id", SAMPLE),
        (QuestionEntry, "id", QUESTION),
        (ChainRecord, "sample", {"t": 1, "outcome": "ok", "parent_sha256": "p", "seed": 1}),
        (WitnessRecord, "sample", {"outcome": "ok", "model": "m"}),
        (DescriptionRecord, "sample", {"outcome": "ok", "split": "test"}),
        (AnswerRecord, "question", {"outcome": "ok", "variant": 0}),
        (ChoiceRecord, "question", {"outcome": "ok", "variant": 0, "how": "letter"}),
        (JudgedRecord, "question", {"outcome": "ok", "variant": 0, "how": "number", "repeat": 0}),
        (YesNoRecord, "question", {"outcome": "ok", "variant": 0, "how": "word"}),
    ],
)
def test_ids(kind: type[BaseModel], field: str, plain: dict[str, Any]) -> None:
    for fine in IDS:
        kind.model_validate(plain | {field: fine})
    for id_ in NO_IDS:
        with pytest.raises(ValidationError):
            kind.model_validate(plain | {field: id_})


def test_ids_beside_others() -> None:
    record = {"sample": "a", "split": "test", "outcome": "ok"}
    with pytest.raises(ValidationError):
        DescriptionRecord.model_validate(record | {"demonstrations": ["b", "../b"]})
    card = {"name": "d", "provider": "p", "settings": {}, "source": {}, "samples": 1, "categories": {}, "groups": {}}
    for leaks in ({"../a": "b"}, {"a": "../b"}):
        with pytest.raises(ValidationError):
            DatasetCard.model_validate(card | {"digest": "x", "leaks": leaks})
    Row.model_validate({"unit": r"any words: C:\x/../", "group": "all", "cluster": "a", "outcome": "ok", "values": {}})


@pytest.mark.parametrize("name", ["../x", "/x", "a/b", "", "A", "a\n", "x" * 65])
def test_names_of_folders_in_cards(name: str) -> None:
    card = {"benchmark": "genception", "stage": "chain", "keys": {"dataset": "d"}, "data_digest": "x", "components": {}}
    CollectedCard.model_validate(card | {"protocol": {}})
    for field, value in (("benchmark", name), ("stage", name), ("keys", {"dataset": name})):
        with pytest.raises(ValidationError):
            CollectedCard.model_validate(card | {"protocol": {}, field: value})
        if field != "stage":
            with pytest.raises(ValidationError, match=field):
                Score.model_validate({field: value})


def dataset(folder: Path, *changes: dict[str, Any]) -> Path:
    """A dataset's folder whose entries were changed by hand."""
    draw(folder / "a.png", 1)
    (folder / "samples.jsonl").write_text("".join(json.dumps(SAMPLE | each) + "\n" for each in changes))
    return folder


def test_no_chain_of_a_sample_is_written_outside_of_the_project(tmp_path: Path) -> None:
    folder = dataset(tmp_path / "d", {"id": "../../../../outside"})
    with pytest.raises(
        StoreError, match=r"line 1 is not a SampleEntry of schema 2: id: it is no id \(use up to 100 of"
    ):
        _chain(folder, tmp_path / "projects/mine/data/chain")
    assert not list(tmp_path.rglob("*outside*"))


def _chain(folder: Path, target: Path) -> None:
    collecting = chains(read_samples(folder), EchoModel(), SizeGenerator())
    write_collected(target, collecting, collected(collecting, target.parent / "store"))


def test_no_image_outside_of_a_dataset_is_opened(tmp_path: Path) -> None:
    draw(tmp_path / "secret.png", 1)
    for file in ("../secret.png", str(tmp_path / "secret.png")):
        with pytest.raises(StoreError, match="file: it is no path below a folder"):
            read_samples(dataset(tmp_path / "d", {"file": file}))


def test_no_image_outside_of_a_question_set_is_shown(tmp_path: Path) -> None:
    (tmp_path / QUESTIONS).write_text(json.dumps(QUESTION | {"image": "../../../etc/passwd"}))
    with pytest.raises(StoreError, match="image: it is no path below a folder"):
        read_questions(tmp_path)


def test_no_two_samples_have_one_folder(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="has the id Ring twice, capitals aside"):
        read_samples(dataset(tmp_path / "d", {"id": "ring"}, {"id": "Ring"}))
    (tmp_path / QUESTIONS).write_text("".join(json.dumps(QUESTION | {"id": each}) + "\n" for each in ("q", "q")))
    with pytest.raises(StoreError, match="has the id q twice"):
        read_questions(tmp_path)


@pytest.mark.parametrize("path", OUT)
def test_a_folder_of_dvc_names_no_file_outside_of_it(path: str) -> None:
    plain = [{"md5": "0" * 32, "relpath": "images/a.png"}]
    assert parse_manifest(json.dumps(plain).encode()) == {"images/a.png": "0" * 32}
    hostile = json.dumps([*plain, {"md5": "1" * 32, "relpath": path}]).encode()
    assert parse_manifest(hostile) is None


@pytest.mark.parametrize(
    "row",
    [
        {"md5": "../../../../etc/passwd", "relpath": "b"},
        {"md5": "1" * 31, "relpath": "b"},
        {"md5": "1" * 32 + "\n", "relpath": "b"},
        {"md5": 1, "relpath": "b"},
        {"md5": "1" * 32, "relpath": ["b"]},
        {"md5": "1" * 32, "relpath": "a"},
    ],
)
def test_a_folder_of_dvc_names_no_object_outside_of_the_cache(row: dict[str, Any]) -> None:
    assert parse_manifest(json.dumps([{"md5": "0" * 32, "relpath": "a"}, row]).encode()) is None


def test_a_manifest_is_read_as_dvc_writes_it() -> None:
    files = {"a b/ä.png": "0" * 32, "records.jsonl": "1" * 32}
    rows = [{"md5": md5, "relpath": name} for name, md5 in sorted(files.items())]
    assert parse_manifest(json.dumps(rows).encode()) == files
    assert manifest_md5(files).endswith(".dir")


@pytest.mark.parametrize("field", ["path: ../../../etc/passwd", "path: /etc/passwd", "md5: ../../../../etc/passwd"])
def test_a_lock_names_nothing_outside_of_the_project(field: str) -> None:
    plain = {"path": "data/a", "md5": "0" * 32, "size": "1"}
    name, _, value = field.partition(": ")
    out = ", ".join(f"{key}: {each}" for key, each in (plain | {name: value}).items())
    locks = parse_locks({"dvc.lock": f"stages:\n  one:\n    cmd: x\n    outs: [{{{out}}}]\n".encode()})
    assert not locks.entries
    assert [(where, "its entry cannot be read: outs.0." in what) for _, where, what in locks.damage] == [
        ("dvc.lock: one", True)
    ]


@pytest.mark.parametrize("file", ["../../secret.yaml", "/etc/passwd"])
def test_a_lock_names_no_settings_outside_of_the_project(file: str) -> None:
    locks = parse_locks({"dvc.lock": f"stages:\n  one:\n    cmd: x\n    params: {{{file}: {{a: 1}}}}\n".encode()})
    assert not locks.entries
    assert [where for _, where, _ in locks.damage] == ["dvc.lock: one"]


def test_what_is_refused_is_one_line() -> None:
    with pytest.raises(StoreError) as caught:
        parse_json(json.dumps(SAMPLE | {"id": "../\n\x1b[2J" * 5000}).encode(), SampleEntry, "samples.jsonl")
    assert len(str(caught.value)) < 300
    assert len(str(caught.value).splitlines()) == 1
