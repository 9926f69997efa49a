"""Which code was at work: the commit, what differs from it, and the packages."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from driftledger.ledger import code
from driftledger.ledger.code import code_version, dirty_patch, is_dirty, packages
from tests.support.git import git, no_git_but_ours

__all__ = ["no_git_but_ours"]
pytestmark = pytest.mark.usefixtures("no_git_but_ours")


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


def test_what_is_below_a_folder_is_asked_for_alone(repository: Path) -> None:
    git(repository, "config", "status.relativePaths", "true")
    (repository / "below").mkdir()
    assert not is_dirty(repository)
    (repository / "new").write_text("x")
    assert is_dirty(repository)
    assert not is_dirty(repository / "below")
    assert code_version(repository / "below") == code_version(repository)  # the whole checkout's code is at work
    (repository / "below" / "new").write_text("x")
    assert is_dirty(repository / "below")
    assert code_version(repository / "below").untracked == ["below/", "new"]
    (repository / ".gitignore").write_text("*\n!*/\n")
    assert not is_dirty(repository)


def test_asking_runs_no_hook_and_no_monitor_and_writes_nothing(repository: Path, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path / 'witness'}\n")
    script.chmod(0o755)
    (repository / ".git" / "hooks" / "post-index-change").symlink_to(script)
    git(repository, "config", "core.fsmonitor", str(script))
    (repository / "a.txt").touch()
    before = (repository / ".git" / "index").read_bytes()
    assert not code_version(repository).dirty
    assert dirty_patch(repository) == ""
    assert (repository / ".git" / "index").read_bytes() == before
    assert not (tmp_path / "witness").exists()
    git(repository, "status")
    assert (tmp_path / "witness").exists()  # which the program does unless it is told not to


def edit(root: Path) -> None:
    (root / "a.txt").write_text("one\n2\nthree\n")


def stage(root: Path) -> None:
    edit(root)
    git(root, "add", "a.txt")


def rename(root: Path) -> None:
    git(root, "mv", "a.txt", "b.txt")


def delete(root: Path) -> None:
    (root / "a.txt").unlink()


def leave_untracked(root: Path) -> None:
    (root / "new.txt").write_text("a\nb")
    (root / "empty").touch()
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "-n 'ö' # left out:").write_text("diff --git a/x b/x\nBinary files a and b differ\n")


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
        leave_untracked,
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


def test_a_patch_is_cut_at_whole_files_and_says_so(repository: Path) -> None:
    (repository / "a.txt").write_text("x" * 3_000_000)
    for name in "bcd":
        (repository / name).write_text("y\n" * 200_000)  # 600,000 characters of a patch
    (repository / "e").write_text("small\n")
    patch = dirty_patch(repository)
    assert len(patch) < code.PATCH_LIMIT + 200
    assert patch.splitlines()[-3:] == [f"# left out: {name} (too large)" for name in ("a.txt", "c", "d")]
    assert patch.count("diff --git") == 2
    assert "+small\n" in patch


def test_src_comes_first_and_what_the_pipelines_write_is_left_out(repository: Path) -> None:
    entry = {
        "cmd": "x",
        "outs": [{"path": path, "md5": "0" * 32, "size": 1} for path in ("data/resolved.json", "reports/a")],
    }
    (repository / "pipelines" / "mme").mkdir(parents=True)
    (repository / "pipelines" / "mme" / "dvc.lock").write_text(json.dumps({"stages": {"s": entry}}))
    for name in (
        "data/resolved.json",
        "data/mine.json",
        "reports/a/b.svg",
        "reports/ab.svg",
        "ledger.jsonl",
        "src/z.py",
    ):
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text("x\n")
    edit(repository)
    git(repository, "add", "reports")
    patch = dirty_patch(repository)
    named = [line.split(" b/")[-1] for line in patch.splitlines() if line.startswith("diff --git")]
    assert named == ["src/z.py", "a.txt", "data/mine.json", "reports/ab.svg"]
    assert patch.endswith("# left out: 4 files that the pipelines write\n")


def test_binary_files_are_named_and_the_rest_still_applies(repository: Path, tmp_path: Path) -> None:
    (repository / "b.bin").write_bytes(bytes(range(256)) * 4)
    (repository / "c\n.bin").write_bytes(b"\0")
    git(repository, "add", "b.bin")
    edit(repository)
    patch = dirty_patch(repository)
    assert patch.splitlines()[-2:] == ["# left out: b.bin (binary)", "# left out: c .bin (binary)"]
    (tmp_path / "patch").write_text(patch)
    git(repository, "stash")
    git(repository, "apply", str(tmp_path / "patch"))
    assert (repository / "a.txt").read_text() == "one\n2\nthree\n"


def test_the_installed_packages_are_listed_in_order() -> None:
    lines = packages().splitlines()
    assert len(lines) > 20
    assert lines == sorted(set(lines), key=str.casefold)
    assert any(line.startswith("driftledger==") for line in lines)
    assert all(len(line.split("==")) == 2 for line in lines)
