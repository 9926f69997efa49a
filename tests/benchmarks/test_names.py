"""What a benchmark is stands in its folder: nobody else names it, and nobody else asks what kind of score one is."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from driftledger.benchmarks.records import CollectedRecord
from driftledger.benchmarks.registry import benchmark_names, benchmarks
from driftledger.benchmarks.score import Row, Score
from tests.conftest import REPOSITORY

SOURCE = REPOSITORY / "src" / "driftledger"
LISTED = (
    *("benchmarks/registry.py", "catalogue", "presets", "templates", "commands/people.py", "demo/scenes"),
    *("reports/cross_check.py", "reports/report.py", "reports/site/build.py", "project/resolve.py"),
    *("notebook/first_look.py", "ledger/audit.py", "tracking/content.py"),
)
"""Where benchmarks are listed or used by their names: the registry, data and templates that come with the package, the
sheets that people fill in for a benchmark, the questions of the demonstration, which are made for them, the cross-check
of GenCeption by a second encoder, the first look at it in a notebook, and docstrings with examples of names."""


def subclasses(kind: type) -> Iterator[type]:
    for each in kind.__subclasses__():
        yield from (each, *subclasses(each))


benchmarks()  # whose specifications have records of their own
KINDS = {kind.__name__ for base in (Score, Row, CollectedRecord) for kind in (base, *subclasses(base))}


def texts() -> Iterator[tuple[str, str]]:
    """Path below the package → text."""
    for path in sorted(SOURCE.rglob("*")):
        if path.is_file() and path.suffix in {".py", ".yaml", ".md", ".toml"}:
            yield path.relative_to(SOURCE).as_posix(), path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", benchmark_names())
def test_only_its_own_folder_names_it(name: str) -> None:
    home = f"benchmarks/{name}"
    word = re.compile(rf"(?<![a-z0-9]){name}(?![a-z0-9])")
    named = [
        f"{path}: {line.strip()}"
        for path, text in texts()
        if not path.startswith((f"{home}/", *LISTED))
        for line in text.splitlines()
        if word.search(line)
    ]
    assert named == []


def kinds(tree: ast.AST) -> Iterator[str]:
    """The names of classes that a module tests for."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in {"isinstance", "issubclass"}
        ):
            yield from (each.id for each in ast.walk(node.args[1]) if isinstance(each, ast.Name))
        if isinstance(node, ast.MatchClass):
            yield from (each.id for each in ast.walk(node.cls) if isinstance(each, ast.Name))


def test_nobody_asks_a_score_of_what_kind_it_is() -> None:
    asked = [
        f"{path}: {kind}"
        for path, text in texts()
        if path.endswith(".py") and not path.startswith("benchmarks/")
        for kind in kinds(ast.parse(text))
        if kind in KINDS
    ]
    assert asked == []


def test_kinds_are_really_seen() -> None:
    asked = "isinstance(score, Score | Row)\nmatch row:\n    case ChainRecord():\n        pass\n"
    assert [*kinds(ast.parse(asked))] == ["Score", "Row", "ChainRecord"]
    assert len(KINDS) > 8


def test_places_that_may_name_benchmarks_are_there() -> None:
    assert [place for place in LISTED if not (Path(SOURCE) / place).exists()] == []
