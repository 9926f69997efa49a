from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from driftledger.core.errors import LedgerError
from driftledger.ledger import lock
from driftledger.ledger.lock import LockEntry, parse_locks, read_lock
from tests.support.ledgers import divide_lock, genception_score, lock_of, locked, write_ledger, write_lock

DATA, CODE = locked("data/datasets/shapes", "1" * 32 + ".dir", nfiles=4), locked("src/driftledger/models", "2" * 32)


def entry(**changes: Any) -> LockEntry:
    plain = {"cmd": "driftledger x", "deps": [DATA, CODE], "params": {"params.yaml": {"run.seed": 1}}, "outs": []}
    return LockEntry.model_validate(plain | changes)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_ledger(tmp_path)
    return tmp_path


def test_stages_files_and_params_are_read(root: Path) -> None:
    lock = read_lock(root)
    assert list(lock) == [
        "resolve",
        "dataset@shapes",
        "chain@shapes-seer-brush",
        "genception@shapes-seer-brush-eye",
    ]
    chain = lock["chain@shapes-seer-brush"]
    assert chain.cmd == "driftledger stage genception chain shapes seer brush"
    assert chain.params["params.yaml"]["run.seed"] == 7
    images = chain.out("data/chains/shapes/seer/brush")
    assert (images.md5, images.nfiles) == ("2" * 32 + ".dir", 6)


def test_the_code_is_left_out_and_nothing_else() -> None:
    kept = entry().without_code()
    assert [dep["path"] for dep in kept["deps"]] == ["data/datasets/shapes"]
    assert {key: kept[key] for key in ("cmd", "params", "outs")} == {
        "cmd": "driftledger x",
        "params": {"params.yaml": {"run.seed": 1}},
        "outs": [],
    }


def test_code_that_changes_leaves_the_rest_as_it_is() -> None:
    assert entry(deps=[DATA, CODE | {"md5": "9" * 32}]).without_code() == entry().without_code()
    assert entry(deps=[DATA | {"md5": "9" * 32}, CODE]).without_code() != entry().without_code()


def test_digests_of_code_are_left_out_of_what_was_resolved() -> None:
    resolved = {"code.chain": "0" * 64, "models.seer": "1" * 64}
    plain = {"data/resolved.json": resolved, "params.yaml": {"run.seed": 1, "code.chain": "a setting"}}
    ran = entry(params=plain)
    assert ran.code == {"code.chain": "0" * 64}
    assert ran.without_code()["params"] == {
        "data/resolved.json": {"models.seer": "1" * 64},
        "params.yaml": {"run.seed": 1, "code.chain": "a setting"},
    }
    assert entry().code == {}


def test_a_folder_that_only_sounds_like_source_counts() -> None:
    named = [locked("srcdata/x", "3" * 32), locked("data/src/x", "4" * 32)]
    assert len(entry(deps=[*named, CODE]).without_code()["deps"]) == 2


def test_a_command_may_be_several() -> None:
    assert entry(cmd=["a", "b"]).cmd == ["a", "b"]


def test_an_output_that_is_not_there_is_not_made_up(root: Path) -> None:
    with pytest.raises(LedgerError, match=r"data/elsewhere.*dvc repro"):
        read_lock(root)["dataset@shapes"].out("data/elsewhere")


def test_without_a_lock_dvc_has_not_run(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"dvc\.lock is missing; run 'dvc repro' first"):
        read_lock(tmp_path)


def without_md5(root: Path) -> bytes:
    lock = lock_of(root, genception_score())
    del lock["stages"]["resolve"]["outs"][0]["md5"]
    return yaml.safe_dump(lock).encode()


def with_unknown_key(root: Path) -> bytes:
    lock = lock_of(root, genception_score())
    lock["stages"]["resolve"]["wrote"] = []
    return yaml.safe_dump(lock).encode()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"stages: [",
        b"- a\n",
        b"schema: '2.0'\n",
        b"stages: []\n",
        b"stages: {a: b}\n",
        b"\xff\xfe\x00",
        b"<<<<<<< HEAD\nstages: {}\n=======\nstages: {}\n>>>>>>> other\n",
        b"stages: {a: 2026-13-45}\n",
        without_md5,
        with_unknown_key,
    ],
)
def test_anything_else_is_one_sentence(root: Path, content: bytes | Callable[[Path], bytes]) -> None:
    (root / "dvc.lock").write_bytes(content if isinstance(content, bytes) else content(root))
    with pytest.raises(LedgerError, match=r"is not a dvc\.lock .*git checkout") as caught:
        read_lock(root)
    assert len(str(caught.value).splitlines()) == 1


def test_the_locks_of_all_pipelines_are_read_as_one(root: Path) -> None:
    whole = read_lock(root)
    divide_lock(root)
    assert [name.partition("@")[0] for name in yaml.safe_load((root / "dvc.lock").read_bytes())["stages"]] == [
        "resolve",
        "dataset",
    ]
    assert read_lock(root) == whole


def test_a_stage_that_has_moved_to_its_pipeline_is_read_there(root: Path) -> None:
    """DVC leaves in a lock what its pipeline no longer has."""
    before = (root / "dvc.lock").read_bytes()
    divide_lock(root)
    (root / "dvc.lock").write_bytes(before.replace(b"run.seed: 7", b"run.seed: 6"))
    assert read_lock(root)["chain@shapes-seer-brush"].params["params.yaml"]["run.seed"] == 7


def test_an_empty_pipeline_has_no_stages(tmp_path: Path) -> None:
    write_lock(tmp_path, {"schema": "2.0", "stages": {}})
    assert read_lock(tmp_path) == {}


def test_the_same_bytes_are_parsed_once_and_damage_is_told_of_each_file(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    honest = lock.load_yaml
    monkeypatch.setattr(lock, "load_yaml", lambda text: texts.append(text) or honest(text))  # type: ignore[func-returns-value]
    whole = b"stages:\n  parsed_once:\n    cmd: x\n  damaged:\n    other: 1\n"
    several = [parse_locks({name: whole}) for name in ("a", "b")]
    assert len(texts) == 1
    assert [each.entries.keys() for each in several] == [{"parsed_once"}] * 2
    assert [[where for _, where, _ in each.damage] for each in several] == [["a: damaged"], ["b: damaged"]]
    assert [parse_locks({name: b"stages: ["}).damage[0][0] for name in ("a", "b")] == ["a", "b"]
