"""Print the tree of the package, with the first line of each folder and file."""

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path("src/driftledger")


def first_line(module: Path) -> str:
    """Return the first line of a module's docstring, without its period."""
    text = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0].removesuffix(".")


def lines(folder: Path, depth: int = 0) -> Iterator[str]:
    """Yield a line for a folder, and one for each file and folder in it."""
    indent = "  " * depth
    yield f"{indent + folder.name + '/':<28} {first_line(folder / '__init__.py')}"
    for path in sorted(folder.iterdir(), key=lambda path: (path.is_file(), path.name)):
        if (path / "__init__.py").exists():
            yield from lines(path, depth + 1)
        elif path.suffix == ".py" and path.name != "__init__.py":
            yield f"{indent}  {path.stem:<{26 - 2 * depth}} {first_line(path)}"


if __name__ == "__main__":
    print(*lines(PACKAGE), sep="\n")
