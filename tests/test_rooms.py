"""Tests stand where the code that they test stands, and any two folders of them can be run together."""

from pathlib import Path

from tests.conftest import REPOSITORY

TESTS = REPOSITORY / "tests"
OF_THEIR_OWN = ("acceptance", "support", "cases", "pipelines", "lab", "perf", "words", "demo/golden", "hostile", "extras")
"""The net under all rooms, what tests share, whole runs, what is beside the package, a benchmark of the tests' own,
and attacks on readers."""


def folders() -> list[Path]:
    """Every folder with Python files, relative to ``tests``."""
    return sorted({path.parent.relative_to(TESTS) for path in TESTS.rglob("*.py")})


def test_every_folder_is_a_package() -> None:
    """Without, two files of the same name cannot be collected together."""
    assert [folder for folder in folders() if not (TESTS / folder / "__init__.py").is_file()] == []


def test_every_folder_is_one_of_the_package() -> None:
    own = {TESTS / name for name in OF_THEIR_OWN}
    tested = [folder for folder in folders() if not own & {TESTS / folder, *(TESTS / folder).parents}]
    assert len(tested) > 20
    rooms = REPOSITORY / "src" / "driftledger", REPOSITORY / "src"
    assert [folder for folder in tested if not any((room / folder).is_dir() for room in rooms)] == []
