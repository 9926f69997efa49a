"""``new``: writes a component, a dataset or a question set of somebody's own, which works at once, and its test."""

import keyword
import re
from collections.abc import Mapping
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import NamedTuple

from driftledger.core.errors import ConfigError, unknown_name
from driftledger.core.files import write_text

_NAME = re.compile(r"[a-z][a-z0-9_]{0,29}")
"""Of a module; short enough that no line of a template grows too long."""


class _Kind(NamedTuple):
    section: str
    test: str
    """Which template its test is written from."""
    selected: str
    """Where params.yaml selects an entry of it; ``{protocol}`` is the benchmark that its template is written for."""


KINDS: Mapping[str, _Kind] = {
    "model": _Kind("models", "test_component", "run.models"),
    "generator": _Kind("generators", "test_component", "run.generators"),
    "encoder": _Kind("encoders", "test_component", "run.encoders"),
    "dataset": _Kind("datasets", "test_dataset", "run.datasets and in the list of each benchmark that goes over it"),
    "question_set": _Kind("question_sets", "test_question_set", "run.question_sets and in run.{protocol}"),
}
"""What can be written."""


def new(folder: Path, kind: str, name: str, *, package: bool = False) -> list[str]:
    """Write ``NAME.py`` and ``tests/test_NAME.py`` into a folder, or a package with both.

    Args:
        kind: one of :data:`KINDS`.
        name: of the module; the class is named after it.
        package: whether it becomes a folder of that name that pip installs, with an entry point.

    Returns:
        Lines that say what was written, and what to put into ``params.yaml``.

    Raises:
        ConfigError: there is no such kind, the name cannot be a module's, or something of that name is there;
            nothing is written.
    """
    if kind not in KINDS:
        raise ConfigError(unknown_name("kind", kind, KINDS))
    _check_name(name)
    section, test, selected = KINDS[kind]
    top = folder / name if package else folder
    module = top / "src" / name / "__init__.py" if package else top / f"{name}.py"
    tested = top / "tests" / f"test_{name}.py"
    templates = {module: kind, tested: test} | ({top / "pyproject.toml": "pyproject.toml"} if package else {})
    for file in (top, *templates) if package else templates:
        if file.exists() or file.is_symlink():
            raise ConfigError(f"{file.relative_to(folder)} is there already; choose another name, or move it away")
    words = {
        "name": name,
        "Class": _class_name(name, _template(kind)),
        "distribution": name.replace("_", "-"),
        "section": section,
        "folder": 'Path(__file__).parent.parent / "src"' if package else "Path(__file__).parent.parent",
    }
    for file, template in templates.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, Template(_template(template)).substitute(words))
    written = [str(file.relative_to(folder)) for file in templates]
    provider = name if package else f"{name}:{words['Class']}"
    protocol = _protocol(_template(kind))
    more = f", protocol: {protocol}" if protocol else ""
    return [
        f"written: {', '.join(written)}",
        *([f"install it: pip install --editable ./{name}"] if package else []),
        f"try it: python -m pytest {written[1]}",
        "for params.yaml:",
        "",
        f"{section}:",
        f"  {name}: {{ provider: {provider}{more} }}",
        "",
        f"and its name in {selected.format(protocol=protocol)}",
    ]


def _template(name: str) -> str:
    suffix = "" if name.endswith(".toml") else ".py"
    return (files("driftledger") / "templates" / "new" / f"{name}{suffix}.txt").read_text(encoding="utf-8")


def _protocol(template: str) -> str:
    """The benchmark that a question set is written for; empty where none is."""
    found = re.search(r'^    protocol: Literal\["(\w+)"\]$', template, re.MULTILINE)
    return "" if found is None else found[1]


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise ConfigError(f"{name!r:.80} cannot be a module; use up to 30 of a-z 0-9 _, a letter first")
    if find_spec(name) is not None:
        raise ConfigError(f"{name!r} is what an installed module is called; choose another name")


def _class_name(name: str, template: str) -> str:
    """``my_colours`` → ``MyColours``, unless the file has another use for that name."""
    made = "".join(word[:1].upper() + word[1:] for word in name.split("_"))
    return f"My{made}" if re.search(rf"\b{made}\b", template) else made
