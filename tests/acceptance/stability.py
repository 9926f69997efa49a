"""What 1.x keeps, a line each, in ``golden/stable_1.txt``.

``python -m tests.acceptance.stability`` adds what is new; no line is changed or removed.
``python -m tests.acceptance.stability --first`` was for the release of 1.0 alone: it makes the
project of that version, and then the whole file.
"""

import inspect
import json
import pkgutil
import re
import shlex
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import typer

from tests.acceptance import project_1_0
from tests.acceptance.checkout import Checkout
from tests.acceptance.places import CLI, GOLDEN, REPOSITORY, STABLE
from tests.acceptance.project_1_0 import BUNDLE, RUN

FILE = GOLDEN / "stable_1.txt"
OF_CODE = ("command ", "python ", "entry point ")
"""How lines begin that need no project."""
OTHER = "regions_fine/painter/layout"
BLIND = "blind/painter/layout"
COMMANDS = (
    f"audit {RUN} --json",
    f"audit {RUN}:gc_at_2 --json",
    "audit --generator hands --json",
    "audit photos/square/2.png --json",
    "audit nobody/hands/layout",
    f"compare {OTHER} {RUN} --json",
    f"compare {OTHER} {BLIND} --fail-if worse --metric gc_at_2 --json",
    f"compare {RUN} {RUN} --fail-if changed",
    "verify --json",
    "plan --json",
    "models --json",
    f"check {BUNDLE} --json",
    "check params.yaml",
    "upgrade --check",
    "report",
)
"""What is asked of the project of 1.0, before this:"""
RUNS = ("run --force --json", f"bundle {RUN} -o {BUNDLE}", f"check {BUNDLE} --json")
FILES = (
    *("**/score.json", "**/rows.jsonl", "**/usage.json", "**/usage.jsonl"),
    *("**/records.jsonl", "**/components.json", "ledger/*.json", ".bundle/*.json"),
)
FREE = re.compile(
    r".*\b(eyes|hands|regions_fine|blind|rubric|painter|layout|tfidf|words|photos|digits"
    r"|elements|my_mm_sap|my_mm_vet|my_mme|round|square)\b.*|.*[./@].*|[0-9]+|[0-9a-f]{12,}"
)
"""Keys that the project of 1.0 chooses, paths, numbers of samples and digests."""
UNDIVIDED = {"settings", "protocol", "identity", "params", "score"}
"""Objects with keys that components and benchmarks choose, or that are held elsewhere."""


def options(command: Any, name: str) -> Iterator[str]:
    """Yield a command's arguments and options, and those of the commands below it."""
    places = count(1)
    for each in command.params:
        kind = "flag" if getattr(each, "is_flag", False) else "value"
        if each.param_type_name == "argument":
            kind = f"argument {next(places)}"
        need = "required" if each.required else "optional"
        for option in (*each.opts, *each.secondary_opts):
            yield f"command {name} {option}: {kind}, {need}"
    for below, each in getattr(command, "commands", {}).items():
        yield from options(each, f"{name} {below}")


def signature(name: str, function: Any) -> Iterator[str]:
    """Yield what a call needs, and each parameter."""
    parameters = inspect.signature(function).parameters.values()
    needed = []
    for place, each in enumerate(parameters):
        if each.default is each.empty and "VAR" not in each.kind.name:
            needed.append(each.name)
        is_placed = each.kind is each.POSITIONAL_OR_KEYWORD
        yield f"{name}({each.name}): {place if is_placed else each.kind.description}"
    yield f"{name}() needs {' '.join(needed)}"


def public(name: str, found: Any) -> Iterator[str]:
    """Yield what people may use of a module, a class or a function."""
    if isinstance(found, ModuleType):
        for word, each in vars(found).items():
            ours = getattr(each, "__module__", "") == found.__name__
            if ours and not word.startswith("_"):
                yield from public(f"{name}.{word}", each)
    elif callable(found) and not hasattr(found, "__members__"):
        yield from signature(name, found)
    else:
        yield f"{name}: attribute"
    if isinstance(found, type):
        yield from members(name, found)


def members(name: str, kind: type) -> Iterator[str]:
    """Yield what users of a class may call, read or have to write."""
    abstract = getattr(kind, "__abstractmethods__", ())
    yield f"{name} leaves to be written: {' '.join(sorted(abstract))}"
    for owner in kind.__mro__:
        if owner.__module__.startswith("driftledger"):
            for word in {*vars(owner), *inspect.get_annotations(owner)}:
                if not word.startswith("_"):
                    yield from public(f"{name}.{word}", getattr(kind, word, None))


def shapes(value: object, name: str) -> Iterator[str]:
    """Yield a path and the type of its value, and those of what is inside."""
    yield f"{name}: {type(value).__name__}"
    if isinstance(value, dict):
        for key, each in value.items():
            inner = f"{name}.{'*' if FREE.fullmatch(key) else key}"
            if key in UNDIVIDED and isinstance(each, dict):
                yield f"{inner}: dict"
            else:
                yield from shapes(each, inner)
    elif isinstance(value, list):
        for each in value:
            yield from shapes(each, f"{name}[]")


def of_code() -> set[str]:
    """Return what is stable of commands, Python and entry points."""
    lines = {*options(typer.main.get_command(pkgutil.resolve_name(CLI)), "driftledger")}
    for module, names in STABLE.items():
        for word in names.split():
            name = f"{module}.{word}"
            lines.update(public(f"python {name}", pkgutil.resolve_name(name)))
    content = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
    for group, points in content["project"]["entry-points"].items():
        lines |= {f"entry point {group} {name}" for name in points}
    return lines


def asked(project: Checkout, commands: tuple[str, ...]) -> set[str]:
    """Give the commands; return their exit codes, and the shapes of what they print as JSON."""
    lines = set()
    for command in commands:
        done = project.driftledger(*shlex.split(command), check=False)
        lines.add(f"exit code of {command}: {done.returncode}")
        if command.endswith("--json"):
            name = command.partition(" ")[0]
            lines.update(shapes(json.loads(done.stdout), f"printed by {name}: "))
    return lines


def written(project: Checkout) -> set[str]:
    """Return the shapes of what is in records, scores, the ledger and a bundle."""
    with zipfile.ZipFile(project.root / BUNDLE) as bundle:
        bundle.extractall(project.root / ".bundle")
    lines = set()
    for pattern in FILES:
        for path in project.root.glob(pattern):
            text = path.read_text(encoding="utf-8")
            for each in text.splitlines() if path.suffix == ".jsonl" else [text]:
                lines.update(shapes(json.loads(each), f"in {pattern}: "))
    return lines


def services_alone(params: dict[str, Any]) -> None:
    """Leave out embedded components: where they have another version, they are asked again."""
    params["run"] |= {"models": ["eyes"], "generators": ["hands"]}


def of_project(project: Checkout) -> set[str]:
    """Return what is stable of commands' results; they make no call."""
    lines = asked(project, COMMANDS)
    project.params(services_alone)
    return lines | asked(project, RUNS) | written(project)


def read() -> set[str]:
    return {*FILE.read_text(encoding="utf-8").splitlines()}


def renew() -> None:
    """Add what is new."""
    with tempfile.TemporaryDirectory() as folder:
        now = of_code() | of_project(project_1_0.unpack(Path(folder)))
    FILE.write_text("\n".join(sorted(now | read())) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if "--first" in sys.argv:
        FILE.write_text("", encoding="utf-8")
        with tempfile.TemporaryDirectory() as made:
            project_1_0.make(Path(made))
    renew()
