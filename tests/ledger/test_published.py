"""Files of published runs: written once, named by their content, merged by Git, missed when they
are gone."""

import shutil

import pytest

from driftledger.commands.compare import compare
from driftledger.commands.stages import track
from driftledger.core.errors import LedgerError
from driftledger.core.files import write_json
from driftledger.ledger.lineage import CodeVersion
from driftledger.ledger.published import (
    check_published,
    publish,
    read_published,
    refuse_if_deleted,
)
from tests.conftest import REPOSITORY
from tests.ledger.conftest import GENCEPTION, MODEL
from tests.ledger.test_verify import places


def test_a_run_is_published_once(ledger):
    [before] = read_published(ledger.root)
    assert publish(ledger.root, ledger.evidence()) is None
    assert read_published(ledger.root) == [before]
    assert before.combination == ledger.evidence().combination
    [score] = [each for each in before.scores if each.path == GENCEPTION]
    assert {each["role"]: each["name"] for each in score.components}[
        "generator"
    ] == "painter"


def test_a_comparison_says_whether_scores_are_as_published(ledger):
    run = f"{MODEL}/painter/layout"
    found = compare(ledger.project, f"HEAD:{run}", run)
    assert found.basis == "scores: A as published, B as published"
    assert (found.conclusion, found.verdict) == (None, 0)
    ledger.put(f"{GENCEPTION}/rows.jsonl", 0, "group", to="x")
    ledger.relock()
    problem = f"{GENCEPTION}/rows.jsonl is not as it was published"
    assert problem in compare(ledger.project, run, run).basis
    for file in (ledger.root / "ledger").glob("*.json"):
        file.unlink()
    assert "as in dvc.lock, not published" in compare(ledger.project, run, run).basis


def test_two_branches_that_publish_the_same_run_merge_without_a_conflict(ledger):
    code = ledger.evidence().code
    ledger.git("checkout", "-q", "-b", "other", "HEAD~1")
    (ledger.root / "note.txt").write_text("another commit")
    ledger.git("add", "note.txt")
    ledger.git("commit", "-q", "-m", "another commit")
    ledger.git("checkout", "-q", "main", "--", "dvc.lock", "reports", "data")
    assert publish(ledger.root, ledger.evidence()) is not None
    ledger.commit()
    ledger.git("merge", "-q", "main", "-m", "both")
    runs = read_published(ledger.root)
    assert len({each.fingerprint for each in runs}) == 1
    assert len({each.code.commit for each in runs}) == 2
    assert check_published(ledger.root, [ledger.evidence()]).findings == []
    assert ledger.evidence().code in [each.code for each in runs]
    assert code in [each.code for each in runs]


def test_of_several_files_clean_code_is_believed(ledger):
    code = ledger.evidence().code
    [clean] = read_published(ledger.root)
    # names are hashes: some come before the clean file's, and some behind it
    for digit in "0123456789abcdef":
        dirty = clean.model_copy(
            update={"code": CodeVersion(commit=digit * 40, dirty=True)}
        )
        write_json(ledger.root / dirty.file, dirty)
    assert ledger.evidence().code == code
    assert not code.dirty


def test_code_is_not_believed_of_a_file_with_another_name(ledger):
    [file] = (ledger.root / "ledger").iterdir()
    file.rename(file.with_name(f"{'0' * 64}.json"))
    ledger.commit("renamed")
    assert ledger.evidence().code.commit == ledger.git("rev-parse", "HEAD")


def test_a_run_without_a_file_is_missing(ledger):
    evidence = ledger.evidence()
    shutil.rmtree(ledger.root / "ledger")
    ledger.git("checkout", "-q", "--orphan", "fresh")
    ledger.commit()
    result = check_published(ledger.root, [evidence])
    assert places(result) == ["missing ledger"]
    assert "run 'driftledger track'" in result.findings[0].what


def test_scores_that_changed_under_a_fingerprint_are_found(ledger):
    ledger.put(f"{GENCEPTION}/score.json", "gc_at_2", "value", to=0.9)
    ledger.relock()
    [finding] = check_published(ledger.root, [ledger.evidence()]).findings
    assert f"{GENCEPTION} is not as it was published" in finding.what


def test_a_deletion_is_found_however_it_was_committed(ledger):
    [file] = (ledger.root / "ledger").iterdir()
    commit = ledger.git("rev-parse", "HEAD")
    file.unlink()
    ledger.commit("delete")
    [finding] = check_published(ledger.root).findings
    assert finding.where == f"ledger/{file.name}"
    assert finding.what.endswith(
        f"'git checkout {commit[:12]} -- ledger/{file.name}' restores it"
    )
    ledger.run("git", "checkout", commit, "--", f"ledger/{file.name}")
    assert check_published(ledger.root).findings == []


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[" * 100_000, b'{"schema": 1}', b"\xff", b"null"]
)
def test_damaged_files_are_named(ledger, content):
    [file] = (ledger.root / "ledger").iterdir()
    file.write_bytes(content)
    assert places(check_published(ledger.root)) == [f"bytes ledger/{file.name}"]
    with pytest.raises(LedgerError, match=f"run 'git checkout ledger/{file.name}'"):
        read_published(ledger.root)


def test_a_shallow_clone_says_that_it_does_not_know_all(ledger, tmp_path):
    ledger.git(
        "clone", "-q", "--depth", "1", f"file://{ledger.root}", str(tmp_path / "clone")
    )
    result = check_published(tmp_path / "clone")
    assert result.findings == []
    assert "git fetch --unshallow" in result.skipped[0].why


def test_this_repository_has_every_run_that_it_has_published():
    result = check_published(REPOSITORY)
    assert result.checked["published runs"] >= 6
    assert result.findings == []


@pytest.mark.parametrize(
    "head", ["garbage", "", "ref: refs/heads/../../x", "ref: refs/heads/missing"]
)
def test_a_broken_head_is_a_sentence(ledger, head):
    (ledger.root / ".git/HEAD").write_text(head)
    [skipped] = check_published(ledger.root, [ledger.evidence()]).skipped
    assert (
        "deleted files cannot be looked for in Git's history: the Git repository here"
        in skipped.why
    )


def test_nothing_is_published_while_files_of_the_last_commit_are_gone(ledger):
    refuse_if_deleted(ledger.root)
    [file] = (ledger.root / "ledger").iterdir()
    shutil.rmtree(ledger.root / "ledger")
    with pytest.raises(
        LedgerError,
        match=f"has 1 published runs that are not here, ledger/{file.name} first; 'git ",
    ):
        track(ledger.project)
    ledger.git("checkout", "HEAD", "--", "ledger")
    refuse_if_deleted(ledger.root)
