"""Tests start from what the preset ``default`` selects, and from nothing that a user decides."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from driftledger.project.presets import apply_preset
from tests.conftest import REPOSITORY
from tests.support.params import DEFAULT, default_params, default_settings, default_text

USERS = re.compile(r"params\.yaml$|ledger\.jsonl$|mlflow\.db|\.dvc/config$|(data|reports)($|/)")
"""Files of the repository that are a user's to change."""

SHIPPED = re.compile(r"reports/perf/|data/leaderboards$")
"""Those that no evaluation writes."""

ABOUT_WHAT_IS_SHIPPED = {
    "tests/ledger/attest/test_publish.py",  # a ledger of theirs holds to the same
    "tests/ledger/audit/test_numbers.py",  # of every score that stands there
    "tests/ledger/log/test_notes.py",  # the first lines, behind which theirs come
    "tests/support/shipped.py",  # which leaves out what is not the repository's own
}
"""Files of tests whose subject is what stands in the repository, and that hold whatever a user has evaluated."""


def read_by(source: str) -> Iterator[str]:
    """The paths below ``REPOSITORY`` that are spelled out in a module."""
    inner: set[ast.AST] = set()
    for node in ast.walk(ast.parse(source)):
        if node in inner:
            continue
        parts: list[str] = []
        while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            parts.insert(0, str(node.right.value) if isinstance(node.right, ast.Constant) else "*")
            node = node.left
            inner.add(node)
        if isinstance(node, ast.Name) and node.id == "REPOSITORY" and parts:
            yield "/".join(parts)


def of_a_user(source: str) -> set[str]:
    return {path for path in read_by(source) if USERS.match(path) and not SHIPPED.match(path)}


def test_no_test_reads_what_a_user_decides_or_evaluates() -> None:
    reading = {
        file.relative_to(REPOSITORY).as_posix(): paths
        for file in (REPOSITORY / "tests").rglob("*.py")
        if "REPOSITORY /" in (source := file.read_text(encoding="utf-8")) and (paths := of_a_user(source))
    }
    assert set(reading) == ABOUT_WHAT_IS_SHIPPED
    assert {path for paths in reading.values() for path in paths if path == "params.yaml"} == set()


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('load_settings(REPOSITORY / "params.yaml")', {"params.yaml"}),
        ('json.loads((REPOSITORY / "reports" / name).read_bytes())', {"reports/*"}),
        ('REPOSITORY / "reports/leaderboard.md"', {"reports/leaderboard.md"}),
        ('REPOSITORY / "trio" / "params.yaml"', set()),
        ('REPOSITORY / "reports" / "perf" / "forgeries.json"', set()),
        ('tmp_path / "params.yaml"', set()),
    ],
)
def test_a_read_is_found_however_its_path_is_put_together(line: str, found: set[str]) -> None:
    assert found <= of_a_user(line)
    assert bool(found) == bool(of_a_user(line))


def test_they_start_from_what_the_preset_default_selects(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text(default_text(), encoding="utf-8")
    assert apply_preset(tmp_path, "default") == []
    assert (tmp_path / "params.yaml").read_bytes() == DEFAULT.read_bytes()


def test_a_change_of_one_test_is_not_seen_by_another() -> None:
    default_params()["run"]["models"].append("mine")
    assert "mine" not in default_params()["run"]["models"]
    assert "mine" not in default_settings().run.models
