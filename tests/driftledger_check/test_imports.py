"""The checker stands alone, whichever of its files is read."""

import ast
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

FILES = sorted((REPOSITORY / "src" / "driftledger_check").rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_it_imports_the_standard_library_numpy_pillow_and_itself(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    named = [each.name for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names]
    named += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level]
    tops = {each.partition(".")[0] for each in named}
    assert tops <= {*sys.stdlib_module_names, "numpy", "PIL", "driftledger_check"}
    assert not tops & {"socket", "urllib", "http", "pickle", "shelve", "marshal", "ctypes", "multiprocessing"}
