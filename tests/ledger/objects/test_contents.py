import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger.benchmarks.records import RECORDS
from driftledger.benchmarks.score import SCORE
from driftledger.core.canonical import md5_bytes, sha256_bytes
from driftledger.core.errors import LedgerError
from driftledger.ledger.lock import LockedFile, read_lock
from driftledger.ledger.objects.contents import Contents, recorded
from driftledger.ledger.objects.fetching import manifest_md5, parse_manifest
from driftledger.ledger.objects.reach import Reach
from tests.ledger.verify.conftest import CHAINS, GENCEPTION, MODEL, Ledger

CHAIN = f"chain@my_images-{MODEL}-painter"
SCORED = f"genception@my_images-{MODEL}-painter-layout"


def chain_of(ledger: Ledger) -> LockedFile:
    return read_lock(ledger.root)[CHAIN].out(CHAINS)


def score_of(ledger: Ledger) -> LockedFile:
    return read_lock(ledger.root)[SCORED].out(f"{GENCEPTION}/{SCORE}")


def empty_cache(root: Path) -> None:
    shutil.rmtree(root / ".dvc" / "cache")


def files_of(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_manifest_names_every_file_as_dvc_does(kept: Ledger) -> None:
    chain, contents = chain_of(kept), kept.contents
    cached = contents.cached(chain.md5)
    assert cached is not None
    rows = json.loads(cached.read_text(encoding="utf-8"))
    assert contents.manifest(chain) == {row["relpath"]: row["md5"] for row in rows}
    assert contents.manifest(chain).keys() == files_of(kept.root / CHAINS).keys()
    assert contents.manifest(score_of(kept)) == {"": score_of(kept).md5}
    assert manifest_md5(contents.folder_here(CHAINS)) == chain.md5
    assert contents.locked_here(CHAINS) == chain


@given(st.dictionaries(st.text(min_size=1), st.text("0123456789abcdef", min_size=32, max_size=32), min_size=1))
def test_manifests_are_written_as_dvc_writes_them(files: dict[str, str]) -> None:
    from dvc_data.hashfile.hash_info import HashInfo
    from dvc_data.hashfile.tree import Tree

    tree = Tree()  # type: ignore[no-untyped-call]
    for name, md5 in files.items():
        tree.add((name,), None, HashInfo("md5", md5))
    tree.digest()
    assert manifest_md5(files) == tree.oid


@pytest.mark.parametrize(
    "text",
    ["", "{}x", '{"relpath": "a"}', '[{"relpath": "a"}]', "[1]", '[{"relpath": "", "md5": "0"}]']
    + [json.dumps([{"relpath": name, "md5": "0" * 32}]) for name in ("../up", "a/../../up", "/etc/passwd", 7)],
)
def test_what_is_no_manifest_or_leads_out_of_the_folder_is_none(text: str) -> None:
    assert parse_manifest(text.encode()) is None


def test_a_damaged_object_is_never_handed_out(ledger: Ledger) -> None:
    chain, contents = chain_of(ledger), ledger.contents
    name, md5 = next(item for item in contents.manifest(chain).items() if item[0].endswith("2.png"))
    cached = contents.cached(md5)
    assert cached is not None
    assert contents.path(md5) == cached
    cached.chmod(0o644)
    cached.write_bytes(cached.read_bytes() + b"!")
    assert contents.path(md5) is None
    assert contents.path(md5, f"{CHAINS}/{name}") == ledger.root / CHAINS / name
    (ledger.root / CHAINS / name).write_bytes(b"another")
    assert contents.path(md5, f"{CHAINS}/{name}") is None
    with pytest.raises(LedgerError, match=rf"{CHAINS}/{name} \(md5 {md5}\) are not at hand; run 'dvc fetch'"):
        contents.materialise(chain, ledger.root / "there")


def test_the_folder_at_its_path_stands_in_for_the_cache(ledger: Ledger) -> None:
    chain = chain_of(ledger)
    before = ledger.contents.manifest(chain)
    empty_cache(ledger.root)
    contents = ledger.contents
    assert contents.manifest(chain) == before
    assert contents.fetch([chain]) == []
    assert contents.unfetched is None
    shutil.rmtree(ledger.root / CHAINS / "images")
    with pytest.raises(LedgerError, match=f"which files {CHAINS} had is known neither to DVC's cache nor here"):
        ledger.contents.manifest(chain)


def test_for_what_is_in_the_checkout_dvc_is_not_asked_where_the_reader_keeps_things(
    kept: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked() -> None:
        raise AssertionError("DVC was imported")

    monkeypatch.setattr("driftledger.ledger.objects.contents.own_settings", asked)
    score, contents = score_of(kept), Contents(kept.root)
    found = contents.path(score.md5, score.path)
    assert found is not None
    assert found.is_relative_to(kept.root)
    with pytest.raises(AssertionError, match="DVC was imported"):
        contents.path("0" * 32, score.path)


def test_score_files_are_found_in_git_history(ledger: Ledger) -> None:
    score, root = score_of(ledger), ledger.root
    path = root / score.path
    before = path.read_bytes()
    empty_cache(root)
    path.unlink()
    path.write_bytes(b"{}\n")
    for command in (["add", "--all"], ["commit", "--quiet", "--message", "another score"]):
        subprocess.run(["git", *command], cwd=root, check=True)
    path.unlink()
    found = ledger.contents.path(score.md5, score.path)
    assert found is not None
    assert found.read_bytes() == before
    assert ledger.contents.has(score)
    assert ledger.contents.path("0" * 32, score.path) is None
    contents = ledger.contents
    assert contents.path(score.md5, "reports/another.json") is None
    assert contents.path(score.md5, score.path) == found


def test_without_git_there_is_no_history(tmp_path: Path) -> None:
    assert Contents(tmp_path).path("0" * 32, "a") is None


def test_outside_of_dvc_the_files_at_their_paths_are_all_there_is(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a")
    contents = Contents(tmp_path)
    here = contents.locked_here("a.txt")
    assert here == LockedFile(path="a.txt", md5="0cc175b9c0f1b6a831c399e269772661", size=1)
    assert contents.fits(here)
    gone = here.model_copy(update={"md5": "0" * 32})
    assert contents.fetch([here, gone]) == [gone]
    assert "none is asked without --remote URL, or --trust" in (contents.unfetched or "")
    contents = Contents(tmp_path, Reach(trust=True))
    assert contents.fetch([here, gone]) == [gone]
    assert "is no DVC project" in (contents.unfetched or "")
    assert contents.locked_here("b.txt") is None


def test_what_is_set_up_is_the_bytes_of_then(ledger: Ledger, tmp_path: Path) -> None:
    chain, score, root = chain_of(ledger), score_of(ledger), ledger.root
    before, before_score = files_of(root / CHAINS), (root / score.path).read_bytes()
    for name in before:
        (root / CHAINS / name).unlink()
        (root / CHAINS / name).write_bytes(b"now")
    ledger.contents.materialise(chain, tmp_path / "then")
    ledger.contents.materialise(score, tmp_path / "scores" / SCORE)
    assert files_of(tmp_path / "then") == before
    assert (tmp_path / "scores" / SCORE).read_bytes() == before_score


def test_the_cache_of_ones_own_checkout_may_be_anywhere(ledger: Ledger, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (ledger.root / ".dvc" / "cache").rename(elsewhere)
    shutil.rmtree(ledger.root / CHAINS)
    assert not ledger.contents.has(chain_of(ledger))
    with (ledger.root / ".dvc" / "config").open("a", encoding="utf-8") as config:
        config.write(f"[cache]\n    dir = {elsewhere}\n")
    assert not ledger.contents.has(chain_of(ledger))
    assert Contents(ledger.root, Reach(trust=True)).has(chain_of(ledger))


def test_a_changed_file_is_hashed_again(tmp_path: Path) -> None:
    contents, path = Contents(tmp_path), tmp_path / "a"
    for data in (b"one", b"two!"):
        path.unlink(missing_ok=True)
        path.write_bytes(data)
        for _ in range(2):
            assert contents.md5_of(path) == md5_bytes(data)
            assert contents.sha256_of(path) == sha256_bytes(data)


def test_a_folder_with_exactly_its_bytes_is_read_in_place(ledger: Ledger) -> None:
    chain, score, contents = chain_of(ledger), score_of(ledger), ledger.contents
    assert contents.in_place(chain) == ledger.root / CHAINS
    assert contents.in_place(score) == ledger.root / score.path
    with recorded(contents, [chain, score]) as folders:
        assert folders(chain) == ledger.root / CHAINS
        assert folders(score) == ledger.root / score.path


def changed_file(folder: Path) -> None:
    (folder / RECORDS).unlink()
    (folder / RECORDS).write_bytes(b"{}\n")


def missing_file(folder: Path) -> None:
    next(folder.rglob("*.png")).unlink()


def file_beside(folder: Path) -> None:
    (folder / "images" / "more.png").write_bytes(b"")


def ignored_file_beside(folder: Path) -> None:
    (folder.parents[4] / ".dvcignore").write_text("*.tmp\n", encoding="utf-8")
    (folder / "more.tmp").write_bytes(b"")


def folder_of_another_place(folder: Path) -> None:
    (folder / "more").symlink_to(folder.parent, target_is_directory=True)


def link_out_of_the_checkout(folder: Path) -> None:
    elsewhere = folder.parents[4].with_name("elsewhere.jsonl")
    elsewhere.write_bytes((folder / RECORDS).read_bytes())
    (folder / RECORDS).unlink()
    (folder / RECORDS).symlink_to(elsewhere)


@pytest.mark.parametrize(
    "change",
    [
        changed_file,
        missing_file,
        file_beside,
        ignored_file_beside,
        folder_of_another_place,
        link_out_of_the_checkout,
    ],
)
def test_any_other_folder_is_set_up_elsewhere(ledger: Ledger, change: Callable[[Path], None]) -> None:
    chain, contents = chain_of(ledger), ledger.contents
    before = files_of(ledger.root / CHAINS)
    contents.in_place(chain)  # what was hashed before is no excuse
    change(ledger.root / CHAINS)
    assert contents.in_place(chain) is None
    with recorded(contents, [chain]) as folders:
        assert not folders(chain).is_relative_to(ledger.root)
        assert files_of(folders(chain)) == before


def test_files_that_are_expected_are_not_asked_of_dvcs_ignore_files(
    kept: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain, contents = chain_of(kept), kept.contents
    assert contents.more_here(CHAINS) == sorted(contents.manifest(chain), key=Path)
    monkeypatch.setattr(Contents, "_is_ignored", property(lambda self: pytest.fail("DVC was imported")))
    assert kept.contents.more_here(CHAINS, contents.manifest(chain).keys()) == []
