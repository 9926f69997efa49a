"""Packages and rooms import one way, no private name of DVC or MLflow is reached, and sources stay
plain."""

import ast
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.acceptance.places import REPOSITORY

SOURCE = REPOSITORY / "src"
PACKAGES = ("driftledger", "driftledger_demo")
PUBLIC_OF_DVC = {"dvc", "dvc.api", "dvc.exceptions", "dvc.lock", "dvc.repo"}
"""With the two modules that one has to go on from: ``dvc.api`` only reads."""
PRIVATE_OF_MLFLOW = "mlflow.store"

LAYERS = (
    ("core", "dvc_source"),
    ("components", "data"),
    ("collect", "metrics"),
    ("scoring",),
    ("benchmarks",),
    ("project",),
    ("ledger", "reports", "tracking", "notebook", "mlflow"),
    ("commands",),
    ("cli",),
    ("__main__",),
)
"""The rooms of driftledger, from the bottom to the top."""
HEAVY = (
    "mlflow dvc torch transformers datasets skimage sklearn scipy pandas pyarrow matplotlib "
    "sqlalchemy requests rich jinja2"
)


def imports(path, tree):
    """Yield the full name of everything that a module imports, anywhere in it."""
    package = path.parts[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


@cache
def all_imports(package):
    found = []
    for place, (_, tree) in sources(package).items():
        path = Path(place).relative_to("src")
        found += [(path, name) for name in imports(path, tree)]
    assert found, f"src/{package} holds no import"
    return found


def top(name):
    return name.partition(".")[0]


@pytest.mark.parametrize(
    ("package", "never"),
    [
        ("driftledger", {"driftledger_demo", "lab", "tests"}),
        ("driftledger_demo", {"lab", "tests"}),
    ],
)
def test_packages_are_apart(package, never):
    assert not [
        f"{path}: {name}" for path, name in all_imports(package) if top(name) in never
    ]


def test_the_demonstration_imports_what_anybodys_own_components_may():
    found = {
        name
        for _, name in all_imports("driftledger_demo")
        if top(name) == "driftledger"
    }
    rooms = {".".join(name.split(".")[1:3]) for name in found}
    # the benchmarks' part is how answers are read
    may = ("core.", "metrics", "components.base", "data.", "benchmarks.base")
    assert rooms
    assert not {each for each in rooms if not each.startswith(may)}


def is_private(name):
    library = top(name)
    if library not in {"dvc", "dvc_data", "dvc_objects", "mlflow"}:
        return False
    if any(part.startswith("_") and part != "__version__" for part in name.split(".")):
        return True
    if library == "dvc":
        return name not in PUBLIC_OF_DVC and name.rpartition(".")[
            0
        ] not in PUBLIC_OF_DVC - {"dvc"}
    return name == PRIVATE_OF_MLFLOW or name.startswith(f"{PRIVATE_OF_MLFLOW}.")


def test_no_private_name_of_dvc_or_mlflow_is_imported():
    found = {
        f"{path} imports {name}"
        for path, name in all_imports("driftledger")
        if is_private(name)
    }
    assert not found, "\n".join(sorted(found))


def arrows():
    """Each room and a room that it imports from: at a head, inside a function, or for type
    checkers alone."""
    rooms = {each.stem for each in (SOURCE / "driftledger").iterdir()}
    found = set()
    for path, name in all_imports("driftledger"):
        here = path.relative_to("driftledger").with_suffix("").parts[0]
        package, *words = name.split(".")
        if (
            package == "driftledger"
            and words
            and words[0] in rooms
            and here != "__init__"
        ):
            found.add((here, words[0]))
    return {(here, there) for here, there in found if here != there}


def test_rooms_import_one_way():
    height = {room: number for number, rooms in enumerate(LAYERS) for room in rooms}
    found = arrows()
    assert {here for here, _ in found} | {*LAYERS[0]} == set(height)
    assert not {
        f"{here} → {there}" for here, there in found if height[there] > height[here]
    }
    assert not {pair for pair in found if pair[::-1] in found}


def inside(package):
    """Room → module → the modules of the room that it imports, for type checkers included."""
    modules = {}
    for place, (_, tree) in sources(package).items():
        path = Path(place).relative_to("src")
        names = set(imports(path, tree))
        modules[".".join(path.with_suffix("").parts)] = names
    rooms = {}
    for module, names in modules.items():
        room = ".".join(module.split(".")[:2])
        # of ``a.b.c`` either ``c`` or ``b`` is the module
        known = names | {name.rpartition(".")[0] for name in names}
        own = {name for name in known & modules.keys() if name.startswith(f"{room}.")}
        rooms.setdefault(room, {})[module] = own
    return rooms


def in_circles(graph):
    """Return the modules that import, by way of others, themselves."""
    left = {module: set(names) for module, names in graph.items()}
    before = None
    while before != left:  # without what imports nothing, and what nothing imports
        before = left
        imported = set().union(*left.values())
        left = {
            module: names & left.keys()
            for module, names in left.items()
            if names & left.keys() and module in imported
        }
    return sorted(left)


@pytest.mark.parametrize("package", PACKAGES)
def test_modules_of_a_room_import_each_other_in_no_circle(package):
    rooms = inside(package)
    assert any(names for graph in rooms.values() for names in graph.values())
    assert not [module for graph in rooms.values() for module in in_circles(graph)]


SLOW_TO_IMPORT = {
    "matplotlib": {"reports/charts.py"},
    "mlflow": {"mlflow.py", "dvc_source.py", "tracking"},
    "pandas": {
        "notebook.py",
        "commands/evaluate.py",
        "reports/correlation.py",
        "reports/leaderboard.py",
        "reports/site/build.py",
        "reports/tests.py",
        "scoring/frame.py",
    },
    "scipy": {
        "metrics/changes.py",
        "metrics/intervals.py",
        "metrics/paired.py",
    },
    "sklearn": set(),
}
"""Library → where alone it is imported: stages and short commands are mostly their imports."""


@pytest.mark.parametrize("library", SLOW_TO_IMPORT)
def test_large_libraries_are_imported_in_few_places(library):
    found = set()
    for path, name in all_imports("driftledger"):
        if top(name) == library:
            place = str(path.relative_to("driftledger"))
            found.add("tracking" if place.startswith("tracking/") else place)
    assert found == SLOW_TO_IMPORT[library]


def loaded_by(*modules):
    """Return all modules that a fresh interpreter loads when it imports these."""
    code = f"import sys, {', '.join(modules)}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("room", ["benchmarks", "ledger", "reports", "tracking"])
def test_what_is_stored_is_read_without_components(room):
    """What a benchmark is can be asked, and a score traced, without code of a model."""
    specs = (SOURCE / "driftledger/benchmarks").glob("*/spec.py")
    modules = {
        "benchmarks": [
            f"driftledger.benchmarks.{each.parent.name}.spec" for each in specs
        ],
        "ledger": ["driftledger.ledger.audit"],
        "reports": ["driftledger.reports.leaderboard"],
        "tracking": ["driftledger.tracking.content", "driftledger.notebook"],
    }[room]
    assert modules
    loaded = loaded_by(*modules)
    components = "driftledger.components."
    models = [
        "openai",
        "transformers",
        "diffusers",
        "encoders",
        "checkpoints",
        "service",
    ]
    assert not {
        each
        for each in loaded
        if each.startswith(tuple(components + m for m in models))
    }
    assert room != "benchmarks" or not {top(name) for name in loaded} & set(
        HEAVY.split()
    )


# How dense the sources are, and how their docstrings begin.

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
NO_BEGINNINGS = {
    *("What", "Whether", "Which", "Where", "Those"),
    *("Of", "By", "For", "As", "Behind", "Beside"),
}


@cache
def sources(package):
    """Return path → lines and syntax tree of each module."""
    found = {}
    for path in sorted((SOURCE / package).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        found[str(path.relative_to(REPOSITORY))] = (text.splitlines(), ast.parse(text))
    assert found
    return found


def is_prose(node):
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def is_pair(node):
    """Tell whether a statement is ``a, b = x, y``."""
    if not isinstance(node, ast.Assign):
        return False
    return isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple)


def code_lines(lines, tree):
    """Return the lines of code, without empty lines, comments and docstrings."""
    prose = set()
    for node in ast.walk(tree):
        if is_prose(node):
            prose |= set(range(node.lineno, node.end_lineno + 1))
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.strip().startswith("#") and number not in prose:
            yield line


@pytest.mark.parametrize("package", PACKAGES)
def test_a_line_of_code_is_one_thought(package):
    counts = Counter()
    for lines, tree in sources(package).values():
        counts["code"] += len(list(code_lines(lines, tree)))
        for node in ast.walk(tree):
            counts["nodes"] += 1
            counts["pairs"] += is_pair(node)
            counts["comprehensions"] += isinstance(node, COMPREHENSIONS)
    assert counts["nodes"] <= 9 * counts["code"]
    assert counts["pairs"] <= counts["code"] * 2 / 1000
    assert counts["comprehensions"] <= counts["code"] * 40 / 1000


@pytest.mark.parametrize("package", PACKAGES)
def test_no_line_is_over_100_characters(package):
    long = []
    for path, (lines, _) in sources(package).items():
        long += [f"{path}:{n}" for n, line in enumerate(lines, 1) if len(line) > 100]
    assert not long


@pytest.mark.parametrize("package", PACKAGES)
def test_a_docstring_begins_with_a_verb_or_a_noun(package):
    wrong = []
    for path, (_, tree) in sources(package).items():
        for node in ast.walk(tree):
            text = ast.get_docstring(node) if isinstance(node, FUNCTIONS) else None
            if text and text.split()[0].strip(".,:`*") in NO_BEGINNINGS:
                wrong.append(f"{path}:{node.lineno}: {text.splitlines()[0]}")
    assert not wrong, "\n".join(wrong)


def test_a_class_name_is_used_once():
    names = Counter()
    for _, tree in sources("driftledger").values():
        names.update(
            node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
        )
    assert names
    assert not [name for name, count in names.items() if count > 1]
