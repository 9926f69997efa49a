"""What answers shares no table with what draws: no module that one side reads is read by the other."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import REPOSITORY

SOURCE = REPOSITORY / "src"
DEMO = "driftledger_demo"
SHARED = {(f"{DEMO}.vocabulary", "RGB")}
"""A type; a table is nothing that both may read."""
CEILINGS = {f"{DEMO}.models.faultless"}
"""Models that measure by what draws, and say so beside every score."""


def file_of(module: str) -> Path:
    path = SOURCE / module.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def imports(module: str) -> Iterator[tuple[str, str]]:
    """What a module imports of the demonstration: from which module, and which name."""
    for node in ast.walk(ast.parse(file_of(module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(DEMO):
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                yield (submodule, "*") if file_of(submodule).exists() else (node.module, alias.name)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "*") for alias in node.names if alias.name.startswith(DEMO))


def read_by(*folders: str) -> set[tuple[str, str]]:
    """Names that the modules of ``folders`` use, by way of other modules too."""
    modules = {
        f"{DEMO}.{folder}.{'.'.join(path.relative_to(SOURCE / 'driftledger_demo' / folder).with_suffix('').parts)}"
        for folder in folders
        for path in (SOURCE / "driftledger_demo" / folder).rglob("*.py")
        if path.name != "__init__.py"
    } - CEILINGS
    used: set[tuple[str, str]] = {(module, "*") for module in modules}
    waiting, seen = list(modules), set(modules)
    while waiting:
        for name in imports(waiting.pop()):
            used.add(name)
            if name not in SHARED and name[0] not in seen:
                seen.add(name[0])
                waiting.append(name[0])
    return used


def test_what_answers_shares_no_table_with_what_draws() -> None:
    answers, draws = read_by("vision", "models"), read_by("scenes", "scene_photos")
    shared = {module for module, _ in answers - SHARED} & {module for module, _ in draws - SHARED}
    assert shared == set()
    assert draws >= SHARED  # or the exception is no longer needed
    assert {f"{DEMO}.vision.world", f"{DEMO}.cielab"} <= {module for module, _ in answers}
