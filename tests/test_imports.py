"""Imports point one way: a module knows what lies below it, and nothing above."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

SOURCE = REPOSITORY / "src" / "driftledger"

LAYERS: tuple[tuple[str, ...], ...] = (
    ("types", "errors", "canonical", "shown", "images", "vocabulary", "figures", "progress", "layout", "yaml_text"),
    ("call_key", "call_result", "seeds", "strict", "metrics", "parsing", "sheets"),
    ("components", "registry", "calls", "benchmark_settings"),
    ("remote", "checkpoints"),
    ("records",),
    ("question_records", "description_records", "ratings", "feature_store"),
    ("datasets",),
    ("question_sets",),
    ("models", "generators", "encoders"),
    ("config", "execution"),
    ("presets",),
    ("benchmarks",),
    ("ledger", "reports"),
    ("project", "tracking"),
    ("verification",),
    ("trio", "validity"),
    ("stages",),
    ("selection",),
    ("questions", "collecting", "inquiries"),
    ("cli",),
)
"""From the bottom to the top. A module imports from lower layers and from its own folder, never from a neighbour."""

MODEL_CODE = {"models", "generators", "encoders", "benchmarks", "execution"}
READERS = {"ledger", "reports", "tracking"}
"""They read stored files, so that a score can be traced without a single component."""

HEAVY = (
    *("mlflow", "dvc", "torch", "transformers", "datasets", "skimage", "sklearn", "scipy", "pandas", "pyarrow"),
    *("matplotlib", "sqlalchemy", "requests", "rich", "jinja2"),
)


def parts() -> dict[str, int]:
    return {part: layer for layer, some in enumerate(LAYERS) for part in some}


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def name_of(path: Path) -> str:
    """The dotted name; a package's ends in ``__init__``, so that relative imports resolve by the same rule."""
    return ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)


def imported(path: Path) -> Iterator[str]:
    """Every module of ours that ``path`` imports, at its head, inside a function or for type checking."""
    package = name_of(path).split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "driftledger")
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            if base.split(".")[0] == "driftledger":
                yield from (f"{base}.{alias.name}" for alias in node.names)


def part_of(dotted: str) -> str:
    return dotted.partition(".")[2].partition(".")[0]


def arrows() -> set[tuple[str, str]]:
    """(from, to) between parts of the package, as the source says."""
    found = {(part_of(name_of(path)), part_of(target)) for path in modules() for target in imported(path)}
    return {(here, there) for here, there in found if here != there}


def loaded_by(module: str) -> list[str]:
    """All modules that are loaded once ``module`` is imported by a fresh interpreter."""
    code = f"import sys, {module}; print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_every_module_has_a_layer() -> None:
    here = {part_of(name_of(path)) for path in modules()} - {"__init__"}
    assert here == set(parts())


def test_no_import_points_upwards_or_sideways() -> None:
    layer = parts()
    wrong = sorted(f"{here} → {there}" for here, there in arrows() if layer[there] >= layer[here])
    assert not wrong, f"upward imports: {wrong}"


def test_the_arrows_are_really_seen() -> None:
    assert {("cli", "stages"), ("stages", "tracking"), ("tracking", "ledger"), ("benchmarks", "metrics")} <= arrows()


@pytest.mark.parametrize("reader", sorted(READERS))
def test_what_reads_stored_files_imports_no_model_code(reader: str) -> None:
    assert not {there for here, there in arrows() if here == reader} & MODEL_CODE


def test_metrics_know_nothing_but_types() -> None:
    assert {there for here, there in arrows() if here == "metrics"} == {"types"}


def test_types_import_nothing_of_ours() -> None:
    assert [name for name in loaded_by("driftledger.core.types") if name.startswith("driftledger")] == [
        "driftledger",
        "driftledger.core.types",
    ]


def test_the_command_line_starts_without_heavy_libraries() -> None:
    loaded = {name.split(".")[0] for name in loaded_by("driftledger.cli")}
    assert not loaded & set(HEAVY)


@pytest.mark.parametrize(
    "module",
    [
        "driftledger.ledger.audit.audit",
        "driftledger.ledger.why",
        "driftledger.reports.leaderboard",
        "driftledger.reports.contact_sheet",
        "driftledger.tracking.project",
        "driftledger.tracking.lookup",
    ],
)
def test_reading_the_ledger_loads_no_model_code_by_any_detour(module: str) -> None:
    loaded = {part_of(name) for name in loaded_by(module) if name.startswith("driftledger.")}
    assert not loaded & MODEL_CODE
