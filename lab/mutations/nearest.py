"""Which tests to ask about a file: those whose imports lead to it over the fewest others."""

import ast
import re
from collections import deque
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

_OURS = ("driftledger", "lab", "tests")
_NAMED = re.compile(r"(?:driftledger|lab|tests)(?:\.\w+)+(?=$|:)")
"""A module named in a string, as a registry does."""
_COMMANDS = {"driftledger": "driftledger.cli", "dvc": "driftledger.cli"}
"""What a test starts in a process of its own."""


class Nearest:
    """The imports of a checkout, read once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._modules: dict[str, Path] = {}
        for base, folder in (("src", "src/driftledger"), (".", "lab"), (".", "tests")):
            for path in sorted((root / folder).rglob("*.py")):
                parts = path.relative_to(root / base).with_suffix("").parts
                self._modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
        self._imports = {name: set(self._imported(name, path)) - {name} for name, path in self._modules.items()}

    def tests(self, path: str, most: int) -> list[str]:
        """At most so many test files, relative to the root, for a file of the package; the nearest first.

        Among equally near ones those of the same room come first, and then those that import little else. A file with
        examples in its docstrings is the first of its own tests.
        """
        target = next(name for name, file in self._modules.items() if file == self._root / path)
        room = target.split(".")[1:-1]
        ranked = []
        for name, file in self._modules.items():
            if name.startswith("tests.") and file.name.startswith("test_"):
                away = self._distances(name)
                if target in away:
                    mirrored = file.stem == f"test_{target.rpartition('.')[2]}"
                    shared = _common(room, name.split(".")[1:-1])
                    rank = (0 if mirrored and shared else away[target], -shared, len(away), name)
                    ranked.append((rank, str(file.relative_to(self._root))))
        files = [file for _, file in sorted(ranked)][:most]
        examples = ">>>" in (self._root / path).read_text(encoding="utf-8")
        return [path, *files] if examples else files

    def _distances(self, test: str) -> dict[str, int]:
        """Every module that a test's imports lead to → over how many."""
        found, waiting = {test: 0}, deque([test])
        while waiting:
            here = waiting.popleft()
            for other in self._imports[here]:
                if other not in found:
                    found[other] = found[here] + 1
                    waiting.append(other)
        return found

    def _imported(self, name: str, path: Path) -> Iterator[str]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield from self._known(alias.name)
            elif isinstance(node, ast.ImportFrom):
                above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
                base = ".".join([*above, *([node.module] if node.module else [])])
                for alias in node.names:
                    yield from self._known(f"{base}.{alias.name}")
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                named = _NAMED.match(node.value)
                yield from self._known(named[0] if named else _COMMANDS.get(node.value, ""))
        if any(isinstance(node, ast.FunctionDef) and node.name == "__getattr__" for node in tree.body):
            yield from (other for other in self._modules if other.rpartition(".")[0] == name)
        if path.name.startswith("test_"):
            parts = name.split(".")
            fixtures = (".".join([*parts[:count], "conftest"]) for count in range(1, len(parts)))
            yield from (other for other in fixtures if other in self._modules)

    def _known(self, dotted: str) -> Iterator[str]:
        """The module that a dotted name is, or is in."""
        if dotted.split(".")[0] in _OURS:
            while dotted not in self._modules and "." in dotted:
                dotted = dotted.rpartition(".")[0]
            if dotted in self._modules:
                yield dotted


def _common(one: list[str], other: list[str]) -> int:
    """How many folders two paths begin with in common."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
