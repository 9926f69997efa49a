"""What is behind a score: by ``dvc.lock`` and the files it speaks of, and by Git."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from driftledger.core.errors import LedgerError
from driftledger.core.paths import Layout, drift_stage
from driftledger.ledger import code
from driftledger.ledger.code import code_version, dirty_patch, packages
from driftledger.ledger.lineage import Evidence, Selected, read_evidence
from tests.support.ledgers import COMBINATION, lock_of, locked, score_file, write_ledger, write_lock

DATASET, CHAIN, DRIFT = "dataset@shapes", "chain@shapes-seer-brush", "drift@shapes-seer-brush-eye"


@pytest.fixture(autouse=True)
def no_git_but_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the user's configuration nor a repository around the temporary folder is seen."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)


def read(root: Path) -> Evidence:
    return read_evidence(Layout(root), Selected(["shapes"]), COMBINATION)


def git(root: Path, *arguments: str) -> str:
    who = ("-c", "user.name=tests", "-c", "user.email=tests@localhost")
    done = subprocess.run(["git", "-C", root, *who, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One commit that holds ``a.txt``."""
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "--quiet")
    (root / "a.txt").write_text("one\ntwo\nthree\n")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "first")
    return root


def test_evidence_leads_to_files_stages_and_score(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    evidence = read(tmp_path)
    [behind] = evidence.behind
    assert (evidence.name, evidence.combination) == ("seer · brush · eye", COMBINATION)
    assert behind.score == score_file()
    assert behind.score_file.path == "reports/scores/genception/shapes/seer/brush/eye.json"
    assert list(behind.collected) == ["chain"]
    chain = behind.collected["chain"]
    assert (chain.path, chain.md5) == ("data/chains/shapes/seer/brush", "2" * 32 + ".dir")
    assert (behind.data.path, behind.data.md5) == ("data/datasets/shapes", "1" * 32 + ".dir")
    assert list(behind.stages) == [DATASET, CHAIN, DRIFT]
    assert len(evidence.fingerprint) == 64
    assert read(tmp_path) == evidence


def test_evidence_comes_back_from_json(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    evidence = read(tmp_path)
    text = evidence.model_dump_json(by_alias=True)
    assert Evidence.model_validate_json(text) == evidence
    assert str(tmp_path) not in text


Change = Callable[[dict[str, Any]], object]

KEEPS: dict[str, Change] = {
    "code is changed": lambda stages: stages[CHAIN]["deps"][1].update(md5="f" * 32, size=1),
    "code is a new dependency": lambda stages: stages[DRIFT]["deps"].append(locked("src/driftledger/new.py", "f" * 32)),
    "code is no dependency": lambda stages: stages[DRIFT]["deps"].pop(),
    "a stage that is not behind it": lambda stages: stages["resolve"]["outs"][0].update(md5="f" * 32),
    "another combination": lambda stages: stages.update({f"{DRIFT}2": stages[DRIFT]}),
}
CHANGES: dict[str, Change] = {
    "dataset": lambda stages: stages[DATASET]["outs"][0].update(md5="f" * 32),
    "chain": lambda stages: stages[CHAIN]["outs"][0].update(md5="f" * 32),
    "dataset of the chain": lambda stages: stages[CHAIN]["deps"][0].update(md5="f" * 32),
    "dataset of the score": lambda stages: stages[DRIFT]["deps"][1].update(md5="f" * 32),
    "values per sample": lambda stages: stages[DRIFT]["outs"][1].update(md5="f" * 32),
    "setting": lambda stages: stages[CHAIN]["params"]["params.yaml"].update({"run.seed": 8}),
    "nested setting": lambda stages: stages[CHAIN]["params"]["params.yaml"]["generators.brush"].update(size=1),
    "new setting": lambda stages: stages[DATASET]["params"]["params.yaml"].update({"x": None}),
    "command": lambda stages: stages[DRIFT].update(cmd="driftledger drift"),
    "output more": lambda stages: stages[DATASET]["outs"].append(locked("data/more", "0" * 32)),
}


@pytest.mark.parametrize("what", [*KEEPS, *CHANGES])
def test_the_fingerprint_hangs_on_bytes_and_settings_and_not_on_code(tmp_path: Path, what: str) -> None:
    write_ledger(tmp_path)
    before = read(tmp_path).fingerprint
    lock = lock_of(tmp_path, score_file())
    (KEEPS | CHANGES)[what](lock["stages"])
    write_lock(tmp_path, lock)
    assert (read(tmp_path).fingerprint == before) is (what in KEEPS)


def test_another_score_is_another_fingerprint(tmp_path: Path) -> None:
    write_ledger(tmp_path / "a")
    write_ledger(tmp_path / "b", score_file(scored=1, coverage=0.5))
    assert read(tmp_path / "a").fingerprint != read(tmp_path / "b").fingerprint


def test_the_place_of_the_checkout_does_not_count(tmp_path: Path) -> None:
    write_ledger(tmp_path / "a")
    write_ledger(tmp_path / "far" / "away")
    assert read(tmp_path / "a") == read(tmp_path / "far" / "away")


@pytest.mark.parametrize("stage", [DATASET, CHAIN, DRIFT])
def test_a_stage_that_has_not_run_is_named(tmp_path: Path, stage: str) -> None:
    write_ledger(tmp_path)
    lock = lock_of(tmp_path, score_file())
    del lock["stages"][stage]
    write_lock(tmp_path, lock)
    with pytest.raises(LedgerError, match=f"no dvc.lock here has a stage '{stage}'; run 'dvc repro' first"):
        read(tmp_path)


def test_a_score_file_that_was_altered_is_not_believed(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    path = Layout(tmp_path).scores("genception", "shapes", COMBINATION)
    path.write_text(path.read_text(encoding="utf-8").replace("0.7", "0.9"), encoding="utf-8")
    with pytest.raises(LedgerError, match=r"eye\.json is not the file that dvc\.lock speaks of .*run 'dvc repro'"):
        read(tmp_path)


def test_a_score_file_that_is_gone_can_be_had_again(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    Layout(tmp_path).scores("genception", "shapes", COMBINATION).unlink()
    with pytest.raises(LedgerError, match=r"eye\.json is missing; run 'dvc repro', or 'git checkout reports/"):
        read(tmp_path)


def test_a_lock_of_other_outputs_is_one_sentence(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    lock = lock_of(tmp_path, score_file())
    lock["stages"][drift_stage("shapes", COMBINATION)]["outs"][0]["path"] = "scores/eye.json"
    write_lock(tmp_path, lock)
    with pytest.raises(LedgerError, match="dvc repro"):
        read(tmp_path)


def test_without_a_lock_nothing_has_run(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"dvc\.lock is missing"):
        read(tmp_path)


def test_a_clean_checkout_is_its_commit(repository: Path) -> None:
    found = code_version(repository)
    assert found == code.CodeVersion(commit=git(repository, "rev-parse", "HEAD"), dirty=False, untracked=[])
    assert dirty_patch(repository) == ""


def test_outside_git_there_is_no_commit(tmp_path: Path) -> None:
    assert code_version(tmp_path) == code.CodeVersion(commit=None, dirty=False, untracked=[])
    assert dirty_patch(tmp_path) == ""


def test_without_git_at_all_there_is_no_commit(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert code_version(repository).commit is None
    assert dirty_patch(repository) == ""


def test_before_the_first_commit_everything_is_dirty(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "a").write_text("a")
    assert code_version(tmp_path) == code.CodeVersion(commit=None, dirty=True, untracked=["a"])


def test_untracked_files_are_listed_whatever_they_are_called(repository: Path) -> None:
    for name in ("new", "größe", "with space", "-> arrow", 'quo"te', "line\nbreak"):
        (repository / name).write_text("x")
    found = code_version(repository)
    assert found.untracked == sorted(["new", "größe", "with space", "-> arrow", 'quo"te', "line\nbreak"])
    assert found.dirty


def edit(root: Path) -> None:
    (root / "a.txt").write_text("one\n2\nthree\n")


def stage(root: Path) -> None:
    edit(root)
    git(root, "add", "a.txt")


def rename(root: Path) -> None:
    git(root, "mv", "a.txt", "b.txt")


def delete(root: Path) -> None:
    (root / "a.txt").unlink()


def add_binary(root: Path) -> None:
    (root / "b.bin").write_bytes(bytes(range(256)) * 4)
    git(root, "add", "b.bin")


def write_latin_1(root: Path) -> None:
    (root / "a.txt").write_bytes("one\nzwölf\n".encode("latin-1"))


def write_crlf(root: Path) -> None:
    (root / "a.txt").write_bytes(b"one\r\ntwo\r\n\x0c\nno end")


def make_executable(root: Path) -> None:
    (root / "a.txt").chmod(0o755)


def name_it_strangely(root: Path) -> None:
    (root / "grö ße\t.txt").write_text("x\n")
    git(root, "add", "--all")


def coloured(root: Path) -> None:
    edit(root)
    git(root, "config", "color.ui", "always")


def without_prefix(root: Path) -> None:
    edit(root)
    git(root, "config", "diff.noprefix", "true")


def with_another_tool(root: Path) -> None:
    edit(root)
    git(root, "config", "diff.external", "true")


@pytest.mark.parametrize(
    "change",
    [
        edit,
        stage,
        rename,
        delete,
        add_binary,
        write_latin_1,
        write_crlf,
        make_executable,
        name_it_strangely,
        coloured,
        without_prefix,
        with_another_tool,
    ],
)
def test_the_patch_applied_to_the_commit_gives_the_same_files(
    repository: Path, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    change(repository)
    assert code_version(repository).dirty
    (tmp_path / "dirty.patch").write_bytes(dirty_patch(repository).encode(errors="surrogateescape"))
    git(tmp_path, "clone", "--quiet", str(repository), "clone")
    git(tmp_path / "clone", "apply", str(tmp_path / "dirty.patch"))

    def files(root: Path) -> dict[str, tuple[bytes, int]]:
        return {path.name: (path.read_bytes(), path.stat().st_mode) for path in root.iterdir() if path.is_file()}

    assert files(tmp_path / "clone") == files(repository)


def test_an_endless_patch_is_cut_and_says_so(repository: Path) -> None:
    (repository / "a.txt").write_text("x" * 3_000_000)
    patch = dirty_patch(repository)
    assert len(patch) < code.PATCH_LIMIT + 100
    assert patch.splitlines()[-1].startswith("# cut here: 2")


def test_the_installed_packages_are_listed_in_order() -> None:
    lines = packages().splitlines()
    assert len(lines) > 20
    assert lines == sorted(set(lines), key=str.casefold)
    assert any(line.startswith("driftledger==") for line in lines)
    assert all(len(line.split("==")) == 2 for line in lines)
