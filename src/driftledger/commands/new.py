"""``new``: write a component or data of your own, with its test."""

import keyword
import os
import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from string import Template

from driftledger.core.errors import ConfigError, unknown_name
from driftledger.core.files import write_text
from driftledger.project.presets import OWN

_TEMPLATES = OWN / "templates" / "new"
_MODULE = re.compile(r"[a-z][a-z0-9_]{0,29}")
"""The name of a module; short enough that no line of a template grows too long."""
KINDS: Mapping[str, str] = {
    "model": "run.models",
    "generator": "run.generators",
    "encoder": "run.encoders",
    "dataset": "run.datasets and in the list of each benchmark that goes over it",
    "question_set": "run.question_sets and in run.mme",
}
"""What ``new`` can write, and where ``params.yaml`` selects an entry of it."""


def new(folder: Path, kind: str, name: str) -> list[str]:
    """Write ``NAME.py`` and ``tests/test_NAME.py`` into a folder.

    Args:
        kind: one of :data:`KINDS`.
        name: of the module; the class is named after it.

    Returns:
        Lines that say what was written, and what to put into ``params.yaml``.

    Raises:
        ConfigError: the kind does not exist, the name cannot be a module's, or something of that
            name exists; nothing is written.
    """
    if kind not in KINDS:
        raise ConfigError(unknown_name("kind", kind, KINDS))
    if not _MODULE.fullmatch(name) or keyword.iskeyword(name):
        raise ConfigError(
            f"{name!r:.80} cannot be a module's name; use up to 30 of a-z, 0-9 and _, "
            "beginning with a letter"
        )
    if find_spec(name) is not None:
        raise ConfigError(
            f"{name!r} is the name of an installed module; choose another"
        )
    module = folder / f"{name}.py"
    test = f"test_{kind if kind in ('dataset', 'question_set') else 'component'}"
    templates = {module: kind, folder / "tests" / f"test_{name}.py": test}
    for file in templates:
        if os.path.lexists(file):
            raise ConfigError(
                f"{file.relative_to(folder)} exists already; choose another name, or move it away"
            )
    texts = {}
    for file, template in templates.items():
        texts[file] = (_TEMPLATES / f"{template}.py.txt").read_text(encoding="utf-8")
    title = "".join(word.capitalize() for word in name.split("_"))
    words = {
        "name": name,
        # the file may use that name
        "Class": f"My{title}" if re.search(rf"\b{title}\b", texts[module]) else title,
    }
    for file, text in texts.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, Template(text).substitute(words))
    written = [str(file.relative_to(folder)) for file in templates]
    lines = [
        f"written: {', '.join(written)}",
        f"try it: python -m pytest {written[1]}",
        "for params.yaml:",
        "",
        f"{kind}s:",
        f"  {name}:",
        f"    provider: {name}:{words['Class']}",
    ]
    if kind == "question_set":
        lines.append("    protocol: mme")
    return [*lines, "", f"and its name in {KINDS[kind]}"]
