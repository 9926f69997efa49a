"""The checker, the package and its demonstration are apart, and no private name of DVC or MLflow is
reached."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.places import REPOSITORY

SOURCE = REPOSITORY / "src"
PUBLIC_OF_DVC = {"dvc", "dvc.api", "dvc.exceptions"}
PRIVATE_OF_MLFLOW = "mlflow.store"


def imports(path: Path) -> Iterator[str]:
    """The full name of everything that a module imports, anywhere in it."""
    package = path.relative_to(SOURCE).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def all_imports(package: str) -> Iterator[tuple[Path, str]]:
    paths = sorted((SOURCE / package).rglob("*.py"))
    assert paths, f"src/{package} holds no module"
    for path in paths:
        yield from ((path.relative_to(SOURCE), name) for name in imports(path))


def test_the_checker_imports_nothing_of_driftledger():
    found = [f"{path}: {name}" for path, name in all_imports("driftledger_check")]
    assert found
    assert not [
        each
        for each in found
        if each.partition(": ")[2].partition(".")[0] in {"driftledger", "driftledger_demo"}
    ]


@pytest.mark.parametrize("package", ["driftledger", "driftledger_check", "driftledger_demo"])
def test_no_package_imports_what_stands_beside_the_sources(package):
    tops = {name.partition(".")[0] for _, name in all_imports(package)}
    assert tops
    assert not tops & {"lab", "perf", "tests"}


def test_driftledger_does_not_import_its_demonstration():
    found = [f"{path}: {name}" for path, name in all_imports("driftledger")]
    assert found
    assert not [
        each for each in found if each.partition(": ")[2].partition(".")[0] == "driftledger_demo"
    ]


def test_the_demonstration_imports_what_anybodys_own_components_may():
    found = {
        name
        for _, name in all_imports("driftledger_demo")
        if name.partition(".")[0] == "driftledger"
    }
    rooms = {".".join(name.split(".")[1:3]) for name in found}
    assert rooms
    assert not {
        each
        for each in rooms
        if not each.startswith(("core.", "metrics", "components.base", "data."))
    } - {
        "benchmarks._questions"  # how answers are read
    }


def is_private(name: str) -> bool:
    library = name.partition(".")[0]
    if library not in {"dvc", "dvc_data", "dvc_objects", "mlflow"}:
        return False
    if any(part.startswith("_") and part != "__version__" for part in name.split(".")):
        return True
    if library == "dvc":
        return name not in PUBLIC_OF_DVC and name.rpartition(".")[0] not in PUBLIC_OF_DVC - {"dvc"}
    return name == PRIVATE_OF_MLFLOW or name.startswith(f"{PRIVATE_OF_MLFLOW}.")


def test_no_private_name_of_dvc_or_mlflow_is_imported():
    found = {
        f"{path} imports {name}" for path, name in all_imports("driftledger") if is_private(name)
    }
    assert not found, "\n".join(sorted(found))
