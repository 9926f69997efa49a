"""Imports point one way, for type checkers too: a module knows what lies below it, and nothing
above."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest

from tests.acceptance.test_imports import imports
from tests.conftest import REPOSITORY

SOURCE = REPOSITORY / "src" / "driftledger"

LAYERS: tuple[tuple[tuple[str, ...], ...], ...] = (
    (("core",),),
    (("metrics",), ("benchmarks._questions.parsing",)),  # pure functions of arrays and of text
    (("data",),),
    (("components.base",),),
    (("components.checkpoints",), ("components.service",)),
    (("components",),),
    (("collect",),),
    (("benchmarks",),),
    (("project",),),
    (("ledger",),),
    (("reports",),),
    (("tracking",), ("exports",)),
    (("notebook",),),
    (("commands",),),
    (("cli",),),
    (("__main__",),),
)
"""From the bottom to the top, the rooms of each layer by the names of their modules below
``driftledger``: a name stands for all that is inside, the longest that fits decides. A module
imports from its own room and from lower layers, never from a neighbour."""

COMPONENTS = (
    *("components.openai", "components.transformers", "components.vllm", "components.diffusers"),
    *("components.encoders", "components.checkpoints", "components.service"),
)
READERS = (
    *("ledger.audit", "reports.leaderboard"),
    *("tracking.content", "notebook"),
)
"""They read stored files, so that a score can be traced without a single component."""

HEAVY = (
    *(
        "mlflow",
        "dvc",
        "torch",
        "transformers",
        "datasets",
        "skimage",
        "sklearn",
        "scipy",
        "pandas",
        "pyarrow",
    ),
    *("matplotlib", "sqlalchemy", "requests", "rich", "jinja2"),
)


def dotted(path: Path) -> str:
    """The name of a module below ``driftledger``: ``core.types``, and ``core`` for the package
    itself."""
    return (
        ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        .removesuffix("__init__")
        .removesuffix(".")
    )


HOLDERS = ("", "components")
"""Packages that hold rooms of several layers, and no code."""

MODULES = {
    name: path for path in sorted(SOURCE.rglob("*.py")) if (name := dotted(path)) not in HOLDERS
}


def lies_in(module: str, room: Iterable[str]) -> int:
    """How many words of the name are the room's; 0 where the module is elsewhere."""
    fits = (name for name in room if fnmatchcase(module, name) or fnmatchcase(module, f"{name}.*"))
    return max((name.count(".") + 1 for name in fits), default=0)


def place(module: str) -> tuple[int, tuple[str, ...]]:
    """The layer of a module and its room; a package that holds several rooms is of the highest
    one."""
    found = [
        (lies_in(module, room), layer, room) for layer, rooms in enumerate(LAYERS) for room in rooms
    ]
    words, layer, room = max(found, key=lambda each: (each[0], -each[1]))
    assert words, f"{module} stands in no layer"
    return layer, room


def imported(path: Path) -> Iterator[str]:
    """Every module of ours that a file imports: at its head, inside a function, or for type
    checkers alone."""
    for name in imports(path):
        top, _, module = name.partition(".")
        found = module if module in MODULES else module.rpartition(".")[0]
        if top == "driftledger" and found:
            yield found


@cache
def graph() -> Mapping[str, frozenset[str]]:
    """Module → the modules that it imports."""
    return {module: frozenset(imported(path)) - {module} for module, path in MODULES.items()}


def arrows() -> list[tuple[str, str]]:
    return [(here, there) for here, targets in graph().items() for there in sorted(targets)]


def loaded_by(*modules: str) -> set[str]:
    """All modules that are loaded once a fresh interpreter has imported these."""
    code = (
        f"import sys, {', '.join(f'driftledger.{module}' for module in modules)}; "
        "print(*sys.modules, sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def ours(loaded: set[str]) -> set[str]:
    return {name.removeprefix("driftledger.") for name in loaded if name.startswith("driftledger.")}


def test_every_module_stands_in_a_layer_and_every_room_is_lived_in():
    packages = {dotted(path) for path in SOURCE.rglob("__init__.py")}
    rooms = {place(module)[1] for module in MODULES if module not in packages}
    assert rooms == {room for layer in LAYERS for room in layer}


def test_no_import_points_upwards_or_sideways():
    wrong = []
    for here, there in arrows():
        (layer, room), (other_layer, other_room) = place(here), place(there)
        if room != other_room and other_layer >= layer:
            wrong.append(f"{here} → {there}")
    assert not wrong, "\n".join(["imports that point upwards or sideways:", *wrong])


def test_what_a_benchmark_is_can_be_asked_without_components_or_heavy_libraries():
    specifications = [module for module in MODULES if fnmatchcase(module, "benchmarks.*.spec")]
    assert len(specifications) > 6
    loaded = loaded_by("benchmarks.registry", *specifications)
    assert not [module for module in ours(loaded) if lies_in(module, COMPONENTS)]
    assert not {name.partition(".")[0] for name in loaded} & set(HEAVY)


@pytest.mark.parametrize("reader", READERS)
def test_reading_the_ledger_loads_no_model_code_by_any_detour(reader):
    assert not [module for module in ours(loaded_by(reader)) if lies_in(module, COMPONENTS)]


@pytest.mark.parametrize("file", ["genception/score.py", "trac/score.py", "trac/collect.py"])
def test_benchmarks_compute_the_same_for_every_medium(file):
    nodes = ast.walk(ast.parse((SOURCE / "benchmarks" / file).read_text(encoding="utf-8")))
    names = [
        str(getattr(node, name))
        for node in nodes
        for name in ("id", "attr", "arg")
        if hasattr(node, name)
    ]
    assert "text" in names
    assert not [name for name in names if re.search("image|sound", name, re.IGNORECASE)]
