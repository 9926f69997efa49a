"""Bytes by DVC's hash, wherever they are; and what a stranger's checkout names, which nobody asks
or runs."""

import shutil

import pytest

from driftledger.core.canonical import md5_bytes
from driftledger.core.errors import LedgerError
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.objects.files import Workspace, listing_md5
from driftledger.ledger.objects.git import Git
from tests.ledger.conftest import CHAINS, SCORES, Ledger


def chains(ledger):
    return ledger.genception().collected["chain"]


def lose(ledger, *paths):
    for path in paths:
        shutil.rmtree(ledger.root / path)


@pytest.mark.parametrize("lost", [(CHAINS,), (".dvc/cache",)])
def test_bytes_come_from_the_cache_or_from_their_place(ledger, lost):
    folder, before = chains(ledger), Workspace(ledger.root).listing(CHAINS)
    lose(ledger, *lost)
    contents = ledger.contents
    assert contents.has(folder)
    place = contents.recorded(folder)
    assert {name: md5_bytes((place / name).read_bytes()) for name in before} == before
    assert contents.recorded(folder) == place
    assert contents.manifest(folder) is contents.manifest(folder)
    del contents
    assert place.exists() is (lost != (CHAINS,)), (
        "what is in the workspace is read there"
    )


def test_a_folder_with_anything_else_in_it_is_not_read_in_place(ledger):
    (ledger.root / CHAINS / "secret.png").symlink_to("/etc/passwd")
    contents = ledger.contents
    assert not (contents.recorded(chains(ledger)) / "secret.png").exists()


def test_scores_of_a_former_commit_come_from_git(ledger):
    lineage = ledger.genception()
    data = (ledger.root / lineage.rows_path).read_bytes()
    lose(ledger, SCORES)
    ledger.commit("no scores")
    contents = ledger.contents
    path = contents.within(lineage.folder, "rows.jsonl")
    assert path is not None
    assert path.read_bytes() == data
    assert not path.is_relative_to(ledger.root)


def test_damaged_objects_are_not_handed_out(ledger):
    folder = chains(ledger)
    lose(ledger, CHAINS)
    for path in (ledger.root / ".dvc/cache/files/md5").glob("*/*"):
        path.chmod(0o644)
        path.write_bytes(b"[]" if path.name.endswith(".dir") else b"other")
    contents = ledger.contents
    assert not contents.has(folder)
    with pytest.raises(LedgerError, match="run 'dvc fetch'"):
        contents.manifest(folder)


def test_a_folder_that_is_nowhere_is_one_sentence(ledger):
    folder = chains(ledger)
    lose(ledger, "data/records", ".dvc/cache")
    with pytest.raises(LedgerError, match="run 'dvc fetch'; --trust"):
        ledger.contents.recorded(folder)


def link(path):
    """Move a folder out of the checkout, and let a link lead to it."""

    def change(ledger):
        shutil.move(ledger.root / path, ledger.root.parent / "outside")
        (ledger.root / path).symlink_to(ledger.root.parent / "outside")

    return change


def configured(ledger):
    shutil.move(ledger.root / ".dvc/cache", ledger.root.parent / "outside")
    (ledger.root / ".dvc/config").write_text(
        f"[cache]\n    dir = {ledger.root.parent / 'outside'}\n"
    )


@pytest.mark.parametrize(
    "change",
    [link(".dvc/cache"), link(".dvc"), configured],
    ids=["cache", ".dvc", "cache.dir"],
)
def test_a_strangers_cache_elsewhere_is_not_read(ledger, change):
    folder = chains(ledger)
    lose(ledger, "data/records")
    change(ledger)
    assert not ledger.contents.has(folder)
    assert Contents(ledger.root, trust=True).has(folder)


def test_git_reads_a_project_below_the_top(tmp_path):
    ledger = Ledger(tmp_path)
    (tmp_path / "below/ledger").mkdir(parents=True)
    ledger.git("init", "--quiet")
    ledger.git("config", "user.name", "tests")
    ledger.git("config", "user.email", "tests@localhost")
    (tmp_path / "below/ledger/a.json").write_text("1")
    ledger.commit("first")
    (tmp_path / "below/ledger/a.json").unlink()
    (tmp_path / "below/ledger/b.json").write_text("2")
    ledger.commit("second")
    git = Git.around(tmp_path / "below")
    assert git is not None
    first, second = (each.id for each in git.commits())
    trees = git.ever_at("ledger", git.heads())
    assert [({*git.files(tree)}, commit) for tree, commit in trees] == [
        ({"b.json"}, second),
        ({"a.json"}, first),
    ]
    assert git.read(git.id_at(first, "ledger/a.json")) == b"1"
    assert [git.id_at(second, path) for path in ("ledger/a.json", "nothing")] == [
        None,
        None,
    ]
    assert git.changes() == []
    (tmp_path / "below/new").touch()  # which no commit knows
    (tmp_path / "below/ledger/b.json").write_text("3")
    assert git.changes() == ["below/ledger/b.json"]
    assert git.prefix == "below/"
    assert listing_md5(git.listing(git.id_at(first, "ledger") or "")).endswith(".dir")
