"""What Git tracks is what DVC finds by itself, whatever happens to the index between two questions."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from scmrepo.git.backend.dulwich import DulwichBackend

from driftledger.repro.tracked import remembering

ASKED = ["a", "b", "folder", "folder/in", "folder/in/c d.txt", "folder/i", "fold", ".", "ü", "new"]


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet")
    for name in ("a", "folder/in/c d.txt", "ü"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    return tmp_path


class Counted(DulwichBackend):
    """Counts how often its index is read."""

    reads = 0

    def __init__(self, folder: Path) -> None:
        super().__init__(str(folder))
        read = self.repo.open_index

        def counted() -> Any:
            self.reads += 1
            return read()

        self.repo.open_index = counted


def test_answers_are_those_of_dvc_and_the_index_is_read_when_it_has_changed(repository: Path) -> None:
    is_tracked = remembering(DulwichBackend.is_tracked)
    git(repository, "add", ".")
    backend = Counted(repository)

    def answers() -> list[bool]:
        paths = [str(repository / name) for name in ASKED]
        return [is_tracked(backend, path) for path in paths]

    def by_dvc() -> list[bool]:
        return [DulwichBackend(str(repository)).is_tracked(str(repository / name)) for name in ASKED]

    assert answers() == answers() == by_dvc()
    assert answers()[0]
    assert backend.reads == 1
    (repository / "new").write_text("x")
    git(repository, "add", "new")
    git(repository, "rm", "--cached", "--quiet", "a")
    assert answers() == by_dvc()
    assert (answers()[0], answers()[-1]) == (False, True)
    assert backend.reads == 2
    backend.close()


def test_where_there_is_no_index_dvc_is_asked(repository: Path) -> None:
    seen: list[str] = []
    is_tracked = remembering(lambda _, path: bool(seen.append(path)))
    backend = DulwichBackend(str(repository))
    assert not is_tracked(backend, "a")
    assert seen == ["a"]
    backend.close()
