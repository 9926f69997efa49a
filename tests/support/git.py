"""Git repositories for tests, which neither the user's configuration nor a repository around them reaches."""

import os
import subprocess
from pathlib import Path

import pytest


@pytest.fixture
def no_git_but_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)


def git(root: Path, *arguments: str, succeeds: bool = True, **environment: str) -> str:
    """What the git program says."""
    who = ("-c", "user.name=tests", "-c", "user.email=tests@localhost", "-c", "protocol.file.allow=always")
    done = subprocess.run(
        ["git", "-C", root, *who, *arguments],
        capture_output=True,
        check=succeeds,
        encoding="utf-8",
        errors="surrogateescape",
        env=os.environ | environment,
    )
    return done.stdout.strip()


def commit(root: Path, message: str = "some", hour: int = 0) -> str:
    """Commit all that is there, on the 1st of March 2026 where an hour is given; return the commit."""
    git(root, "add", "--all")
    date = {"GIT_AUTHOR_DATE": (when := f"2026-03-01T{hour:02}:00:00+00:00"), "GIT_COMMITTER_DATE": when}
    git(root, "commit", "--quiet", "--allow-empty", "--message", message, succeeds=True, **date)
    return git(root, "rev-parse", "HEAD")
