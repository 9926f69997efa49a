"""Git as the ledger reads it: in repositories of every kind, as the git program does, and executing nothing."""

import os
import shutil
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from driftledger.core.errors import LedgerError
from driftledger.ledger.objects.git import Commit, Git, blob_id, contents_at, why_unread
from tests.support.git import commit, git, no_git_but_ours

__all__ = ["no_git_but_ours"]
pytestmark = pytest.mark.usefixtures("no_git_but_ours")

OLD, NEW = b"old\n", b"new\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """``a.txt`` and ``folder/b.txt``: old, then new; on a branch ``side`` from the first commit, ``c.txt``."""
    root = tmp_path / "repository"
    (root / "folder").mkdir(parents=True)
    git(root, "init", "--quiet", "--initial-branch=main")
    for hour, content in enumerate((OLD, NEW)):
        for name in ("a.txt", "folder/b.txt"):
            (root / name).write_bytes(content)
        commit(root, f"commit {hour}", hour)
    git(root, "switch", "--quiet", "--create", "side", "HEAD~1")
    (root / "c.txt").write_bytes(b"side\n")
    commit(root, "on the side", 5)
    git(root, "switch", "--quiet", "main")
    return root


def opened(root: Path) -> Git:
    found = Git.around(root)
    assert found is not None
    return found


def names(commits: list[Commit]) -> list[str]:
    return [each.id for each in commits]


# --- commits


def test_commits_of_all_branches_stand_in_order_with_their_dates_in_utc(repository: Path) -> None:
    ids = [git(repository, "rev-parse", name) for name in ("main~1", "main", "side")]
    hours = ("00", "01", "05")
    dated = [Commit(name, f"2026-03-01T{hour}:00:00Z") for name, hour in zip(ids, hours, strict=True)]
    assert opened(repository).commits() == dated


def test_parents_come_first_whatever_they_claim_to_be_from(repository: Path) -> None:
    git(repository, "merge", "--quiet", "--no-edit", "side")
    early = commit(repository, "claims to be the first", 0)
    found = names(opened(repository).commits())
    assert found[-1] == early
    assert found == git(repository, "log", "--reverse", "--date-order", "--format=%H", "--all").split()
    for child, parents in opened(repository).parents([early]).items():
        assert all(found.index(parent) < found.index(child) for parent in parents)


def test_tags_and_remotes_count_and_what_a_program_keeps_for_itself_does_not(repository: Path, tmp_path: Path) -> None:
    (repository / "a.txt").write_bytes(b"put away\n")
    git(repository, "stash")
    tree = git(repository, "rev-parse", "HEAD^{tree}")
    hidden = {
        "refs/stash": git(repository, "rev-parse", "stash"),
        "refs/exps/some": git(repository, "commit-tree", tree, "-m", "an experiment of DVC"),
    }
    shown = {
        "refs/tags/some": git(repository, "commit-tree", tree, "-m", "tagged"),
        "refs/remotes/origin/some": git(repository, "commit-tree", tree, "-m", "fetched"),
    }
    for reference, name in (hidden | shown).items():
        git(repository, "update-ref", reference, name)
    git(repository, "tag", "--annotate", "--message=t", "annotated", "side")
    found = set(names(opened(repository).commits()))
    assert set(shown.values()) < found
    assert found.isdisjoint(hidden.values())
    assert len(found) == 5


def test_references_that_lead_to_no_commit_are_passed_over(repository: Path) -> None:
    git(repository, "tag", "a-file", git(repository, "rev-parse", "HEAD:a.txt"))
    heads = repository / ".git" / "refs" / "heads"
    (heads / "dangling").write_text("ref: refs/heads/nowhere\n")
    (heads / "lost").write_text("a" * 40 + "\n")
    (heads / "cut").write_text("")
    (heads / os.fsdecode(b"latin-\xe9")).write_text(git(repository, "rev-parse", "side") + "\n")
    assert len(opened(repository).commits()) == 3


@pytest.mark.parametrize("seconds", [0, 4_000_000_000, 99_999_999_999_999])
def test_a_commit_may_claim_any_time(repository: Path, seconds: int) -> None:
    stream = f"commit refs/heads/odd\ncommitter a <a@b> {seconds} +0000\ndata 0\n"
    subprocess.run(["git", "-C", repository, "fast-import", "--quiet"], input=stream.encode(), check=True)
    [odd] = [each for each in opened(repository).commits() if each.id == git(repository, "rev-parse", "odd")]
    assert odd.date[:4] == {0: "1970", 4_000_000_000: "2096"}.get(seconds, "9999")


@pytest.mark.parametrize(
    "revision", ["main", "HEAD", "@", "annotated", "refs/heads/main", "side~0", "side^", ":/on the"]
)
def test_a_revision_is_what_git_takes_it_for(repository: Path, revision: str) -> None:
    git(repository, "tag", "--annotate", "--message=t", "annotated", "side")
    found = opened(repository).commit(revision)
    assert found is not None
    assert found.id == git(repository, "rev-parse", f"{revision}^{{commit}}" if ":" not in revision else revision)
    assert opened(repository).commit(found.id[:10]) == found


@pytest.mark.parametrize(
    "revision",
    ["", "nothing", "HEAD~9", "main..side", "--all", "-", "HEAD:a.txt", "HEAD^{tree}", "a" * 40, "\0", "\udcff", "é\n"],
)
def test_what_names_no_commit_is_none(repository: Path, revision: str) -> None:
    assert opened(repository).commit(revision) is None
    assert contents_at(repository, ["a.txt"], revision) == [None]


def test_what_leads_to_a_commit(repository: Path) -> None:
    read = opened(repository)
    first, main, side = (git(repository, "rev-parse", name) for name in ("main~1", "main", "side"))
    assert read.before(main) == {first, main}
    assert read.leads_to(first, main)
    assert read.leads_to(first, side)
    assert not any(read.leads_to(*pair) for pair in ((main, first), (main, side), (main, main)))
    assert read.parents([main]) == {first: [], main: [first]}
    assert list(read.subjects(first, main)) == [(main, "commit 1")]
    assert list(read.subjects(main, first)) == []


@pytest.mark.parametrize(
    ("message", "subject"),
    [("one\n\ntwo\n", "one"), ("\n\n  one\nand more\n\ntwo", "one and more"), ("", ""), ("größe\r\n\r\n", "größe")],
)
def test_a_subject_is_the_first_paragraph(repository: Path, message: str, subject: str) -> None:
    name = git(repository, "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", message)
    head = git(repository, "rev-parse", "HEAD")
    assert list(opened(repository).subjects(head, name)) == [(name, subject)]


def test_a_merge_that_is_not_finished_has_two_heads(repository: Path) -> None:
    git(repository, "switch", "--quiet", "side")
    (repository / "a.txt").write_bytes(b"another\n")
    side = commit(repository)
    git(repository, "switch", "--quiet", "main")
    assert opened(repository).heads() == [git(repository, "rev-parse", "main")]
    git(repository, "merge", "side", succeeds=False)
    assert opened(repository).heads() == [git(repository, "rev-parse", "main"), side]


# --- files


def test_what_a_commit_has_at_paths(repository: Path) -> None:
    [main] = [git(repository, "rev-parse", "main")]
    paths = ["a.txt", "folder", "folder/b.txt", "c.txt", "a.txt/x", "folder/none", ""]
    found = opened(repository).ids(main, paths)
    assert found[:3] == git(repository, "rev-parse", *(f"main:{path}" for path in paths[:3])).split()
    assert found[3:] == [None] * 4
    assert opened(repository).ids("a" * 40, paths[:1]) == [None]
    assert contents_at(repository, paths) == [NEW, None, NEW, None, None, None, None]
    assert contents_at(repository, ["a.txt", "c.txt"], "side") == [OLD, b"side\n"]


def test_paths_are_relative_to_the_folder(repository: Path) -> None:
    read = opened(repository / "folder")
    main = git(repository, "rev-parse", "main")
    assert read.ids(main, ["b.txt", "a.txt"]) == [git(repository, "rev-parse", "main:folder/b.txt"), None]
    assert sorted(read.contents("b.txt")) == [NEW, OLD]
    assert list(read.contents("a.txt")) == []
    assert contents_at(repository / "folder", ["b.txt"]) == [NEW]
    (repository / "new").mkdir()
    assert contents_at(repository / "new", ["b.txt"]) == [None]
    (repository.parent / "link").symlink_to(repository / "folder")
    assert contents_at(repository.parent / "link", ["b.txt"]) == [NEW]


def test_the_files_of_a_tree_are_regular_ones(repository: Path, tmp_path: Path) -> None:
    (repository / "run").write_bytes(b"#!\n")
    (repository / "run").chmod(0o755)
    (repository / "link").symlink_to("a.txt")
    (repository / os.fsdecode(b"latin-\xe9")).write_bytes(b"name\n")
    (repository / "größe").write_bytes(b"name\n")
    git(repository, "submodule", "--quiet", "add", str(repository), "sub")
    last = commit(repository)
    read = opened(repository)
    files = read.files(git(repository, "rev-parse", "HEAD^{tree}"))
    assert set(files) == {".gitmodules", "a.txt", "folder/b.txt", "run", "größe", os.fsdecode(b"latin-\xe9")}
    assert read.read(files["folder/b.txt"]) == NEW
    assert read.ids(last, ["sub", "größe"]) == [None, files["größe"]]  # a submodule's commit is not in here
    assert read.files("a" * 40) == read.files(files["a.txt"]) == {}


def test_a_file_is_read_by_its_id(repository: Path) -> None:
    read, [name] = opened(repository), [git(repository, "rev-parse", "HEAD:a.txt")]
    assert (read.read(name), read.size(name)) == (NEW, len(NEW))
    assert blob_id(NEW) == blob_id(memoryview(NEW)) == name
    for absent in (None, "a" * 40, "zz", "", git(repository, "rev-parse", "HEAD^{tree}")):
        assert read.read(absent) is None
    assert (read.size(None), read.size("a" * 40)) == (0, 0)


def test_every_content_that_a_path_ever_had(repository: Path) -> None:
    git(repository, "merge", "--quiet", "--no-commit", "side")
    (repository / "a.txt").write_bytes(b"by the merge itself\n")
    commit(repository, "merged", 6)
    git(repository, "rm", "--quiet", "-r", "folder")
    commit(repository, "removed", 7)
    (repository / "a.txt").write_bytes(b"put away\n")
    git(repository, "stash")
    read = opened(repository)
    assert set(read.contents("a.txt")) == {b"put away\n", b"by the merge itself\n", NEW, OLD}
    assert sorted(read.contents("folder/b.txt")) == [NEW, OLD]
    assert list(read.contents("c.txt")) == [b"side\n"]
    assert list(read.contents("folder")) == list(read.contents("nothing")) == []


# --- repositories of every kind


def worktree(repository: Path, there: Path) -> Path:
    git(repository, "worktree", "add", "--quiet", "--detach", str(there))
    return there


def bare(repository: Path, there: Path) -> Path:
    git(repository, "clone", "--quiet", "--bare", str(repository), str(there))
    return there


def packed(repository: Path, there: Path) -> Path:
    git(repository, "gc", "--quiet")
    git(repository, "pack-refs", "--all")
    assert not list((repository / ".git" / "refs" / "heads").iterdir())
    return repository


def borrowing(repository: Path, there: Path) -> Path:
    git(repository, "clone", "--quiet", "--shared", str(repository), str(there))
    return there


def partial(repository: Path, there: Path) -> Path:
    git(repository, "config", "uploadpack.allowFilter", "true")
    git(repository, "clone", "--quiet", "--filter=blob:none", f"file://{repository}", str(there))
    return there


def submodule(repository: Path, there: Path) -> Path:
    there.mkdir()
    git(there, "init", "--quiet")
    git(there, "submodule", "--quiet", "add", str(repository), "sub")
    return there / "sub"


def detached(repository: Path, there: Path) -> Path:
    git(repository, "switch", "--quiet", "--detach")
    return repository


def elsewhere(repository: Path, there: Path) -> Path:
    git(repository, "init", "--quiet", f"--separate-git-dir={there}")
    return repository


KINDS = (worktree, bare, packed, borrowing, partial, submodule, detached, elsewhere)


@pytest.mark.parametrize("kind", KINDS)
def test_repositories_of_every_kind_hold_the_same(
    repository: Path, tmp_path: Path, kind: Callable[[Path, Path], Path]
) -> None:
    before = opened(repository).commits()
    root = kind(repository, tmp_path / "there")
    read = opened(root)
    assert read.commits() == before
    assert not read.is_shallow
    assert why_unread(root) == ""
    assert contents_at(root, ["a.txt", "folder/b.txt"]) == [NEW, NEW]
    assert read.heads() == [git(repository, "rev-parse", "main")]
    assert list(read.contents("c.txt")) == ([] if kind is partial else [b"side\n"])  # which is not fetched


@pytest.mark.parametrize("linked", [False, True])
def test_a_shallow_clone_ends_where_it_was_cut(repository: Path, tmp_path: Path, linked: bool) -> None:
    root = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{repository}", str(root))
    read = opened(worktree(root, tmp_path / "there") if linked else root)
    main = git(repository, "rev-parse", "main")
    assert read.is_shallow
    assert names(read.commits()) == read.heads() == [main]
    assert read.parents([main]) == {main: []}
    assert read.commit("HEAD~1") is None
    assert list(read.contents("a.txt")) == [NEW]


def test_without_a_repository_there_is_nothing(tmp_path: Path) -> None:
    for root in (tmp_path, tmp_path / "nowhere"):
        assert Git.around(root) is None
        assert why_unread(root) == "there is no Git repository here"
        assert contents_at(root, ["a", "b"]) == [None, None]


def test_a_repository_above_the_ceiling_is_not_ours(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(repository))
    assert Git.around(repository / "folder") is None
    assert Git.around(repository) is not None


def test_before_the_first_commit_there_is_nothing(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    assert Git.around(tmp_path) is None
    assert why_unread(tmp_path) == "the Git repository here has no commit"


def sha256(root: Path) -> None:
    git(root, "init", "--quiet", "--object-format=sha256")


def of_the_future(root: Path) -> None:
    git(root, "init", "--quiet")
    git(root, "config", "core.repositoryFormatVersion", "99")


def broken(root: Path) -> None:
    git(root, "init", "--quiet")
    (root / ".git" / "config").write_text("[core\n")


@pytest.mark.parametrize(("kind", "said"), [(sha256, "sha256"), (of_the_future, "99"), (broken, "config")])
def test_a_repository_that_cannot_be_read_is_one_sentence(
    tmp_path: Path, kind: Callable[[Path], None], said: str
) -> None:
    kind(tmp_path)
    assert Git.around(tmp_path) is None
    assert why_unread(tmp_path).startswith("the Git repository here cannot be read (")
    assert said in why_unread(tmp_path)
    assert contents_at(tmp_path, ["a"]) == [None]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_somebody_elses_repository_is_read_where_git_is_told_to_trust_it(repository: Path) -> None:
    for path in (repository, repository / ".git"):
        os.chown(path, 12345, 12345)
    assert "not owned by current user" in why_unread(repository)


def damage(root: Path, name: str) -> None:
    file = root / ".git" / "objects" / name[:2] / name[2:]
    file.chmod(0o644)
    file.write_bytes(b"damaged")


def test_a_damaged_history_is_one_sentence(repository: Path) -> None:
    damage(repository, git(repository, "rev-parse", "main~1"))
    with pytest.raises(LedgerError, match=r"the Git history of .* cannot be read .*; run 'git fsck'"):
        opened(repository).commits()
    with pytest.raises(LedgerError, match="git fsck"):
        list(opened(repository).contents("a.txt"))


def test_a_damaged_file_is_none(repository: Path) -> None:
    blob, tree = git(repository, "rev-parse", "main:a.txt", "main:folder").split()
    damage(repository, blob)
    damage(repository, tree)
    read = opened(repository)
    assert read.read(blob) is None
    assert read.files(tree) == {}
    assert contents_at(repository, ["a.txt", "folder/b.txt"]) == [None, None]
    assert list(read.contents("a.txt")) == [OLD]


# --- safety


def test_nothing_that_a_repository_sets_is_executed(repository: Path, tmp_path: Path) -> None:
    witness, script = tmp_path / "witness", tmp_path / "script"
    script.write_text(f"#!/bin/sh\necho $0 $* >> {witness}\ncat\n")
    script.chmod(0o755)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for hook in ("post-index-change", "reference-transaction", "post-checkout", "pre-commit", "fsmonitor-watchman"):
        shutil.copy(script, hooks / hook)
        shutil.copy(script, repository / ".git" / "hooks" / hook)
    (repository / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    commit(repository, "attributes")
    root = partial(repository, tmp_path / "clone")
    settings = {
        "core.fsmonitor": script,
        "core.hooksPath": hooks,
        "core.pager": script,
        "core.editor": script,
        "core.sshCommand": script,
        "core.gitProxy": script,
        "core.askPass": script,
        "core.alternateRefsCommand": script,
        "credential.helper": f"!{script}",
        "diff.external": script,
        "diff.evil.textconv": script,
        "diff.evil.command": script,
        "filter.evil.clean": script,
        "filter.evil.smudge": script,
        "filter.evil.process": script,
        "filter.evil.required": "true",
        "gpg.program": script,
        "log.showSignature": "true",
        "merge.evil.driver": script,
        "remote.origin.url": f"ext::{script}",
        "remote.origin.uploadpack": script,
        "uploadpack.packObjectsHook": script,
        "protocol.ext.allow": "always",
    }
    for key, value in settings.items():
        git(root, "config", key, str(value))
    (root / "a.txt").write_bytes(b"changed\n")
    git(root, "status", succeeds=False)
    assert witness.is_file()  # the git program does execute them
    witness.unlink()
    for path in (root, repository):
        read = opened(path)
        for each in read.commits():
            assert read.commit(each.id) == each
            assert read.before(each.id)
            for tree in read.ids(each.id, ["folder", "a.txt"]):
                read.files(str(tree))
                read.read(tree)
        for one, two in pairwise(read.commits()):
            assert list(read.subjects(one.id, two.id))
        assert read.parents(read.heads())
        assert list(read.contents("a.txt"))
        assert not read.is_shallow
        assert contents_at(path, ["a.txt", "nothing"], "HEAD~1")[1] is None
    assert not witness.exists()
