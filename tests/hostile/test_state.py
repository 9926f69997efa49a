"""What driftledger remembers lies with the reader: what a checkout says that it remembers is not read."""

import shutil
import sqlite3
from pathlib import Path

import pytest

from .conftest import READERS, RUN, Stranger

STATE = ".driftledger"


def test_a_forged_memory_is_not_asked(stranger: Stranger, tmp_path: Path) -> None:
    question = ("audit", "--model", "regions_medium", "--json")
    honest = stranger.read(*question)
    [own] = (tmp_path / "cache").rglob("audit.db")
    forged = stranger.root / STATE / "audit.db"
    forged.parent.mkdir(exist_ok=True)
    shutil.copy(own, forged)
    with sqlite3.connect(forged) as database:
        changed = database.execute("UPDATE answers SET value = replace(value, '0.', '0.9')").rowcount
    database.close()
    assert changed > 0
    assert stranger.read(*question) == honest
    shutil.rmtree(tmp_path / "cache")
    assert stranger.read(*question) == honest


def test_a_reader_leaves_nothing_in_the_checkout(stranger: Stranger) -> None:
    shutil.rmtree(stranger.root / STATE, ignore_errors=True)
    before = stranger.files()
    stranger.read_by_all()
    assert stranger.files() == before


@pytest.mark.parametrize("target", ["folder", "database"])
def test_a_link_out_of_the_checkout_is_not_written_through(stranger: Stranger, tmp_path: Path, target: str) -> None:
    private = tmp_path / "private"
    private.mkdir()
    shutil.rmtree(stranger.root / STATE, ignore_errors=True)
    if target == "folder":
        (stranger.root / STATE).symlink_to(private)
    else:
        (stranger.root / STATE).mkdir()
        (stranger.root / STATE / "audit.db").symlink_to(private / "theirs.db")
    # A score that only Git's history has is set up as a file.
    (stranger.root / "reports" / "scores").rename(tmp_path / "scores")
    stranger.git("checkout", "--quiet", "--", "reports/scores")
    stranger.read_by_all(*READERS, ("audit", "--model", "regions_medium"), ("audit", RUN, "--full"))
    assert not list(private.iterdir())


def test_a_store_that_params_name_is_no_business_of_readers(stranger: Stranger, tmp_path: Path) -> None:
    stranger.params(lambda params: params.update(store=str(tmp_path / "private")))
    stranger.read_by_all(*READERS, ("audit", "--model", "regions_medium"), ("audit", RUN, "--full"))
    assert not (tmp_path / "private").exists()


def test_what_git_has_is_kept_with_the_reader(stranger: Stranger, tmp_path: Path) -> None:
    score = next((stranger.root / "reports" / "scores").rglob("rows.jsonl"))
    shutil.rmtree(stranger.root / ".dvc" / "cache")
    score.write_text("{}\n", encoding="utf-8")
    before = stranger.files()
    said = stranger.read("verify")
    assert f"bytes: {score.relative_to(stranger.root).as_posix()}" in said
    assert stranger.files() == before
    assert list((tmp_path / "cache").rglob("contents/*"))


def test_two_checkouts_share_no_memory(stranger: Stranger, tmp_path: Path) -> None:
    other = stranger.copy(tmp_path / "other")
    for each in (stranger, other):
        each.run("driftledger", "audit", "--model", "regions_medium")
    assert len(list((tmp_path / "cache").rglob("audit.db"))) == 2
