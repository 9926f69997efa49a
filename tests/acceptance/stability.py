"""What 1.x keeps, in ``golden/stable_1.json``: a name of something stable → what it is.

``python -m tests.acceptance.stability`` adds what is new; nothing that is there is changed or
removed. ``python -m tests.acceptance.stability --first`` was for the release of 1.0 alone: it makes
the project of that version, and then the whole file.
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
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import typer

from tests.acceptance import project_1_0
from tests.acceptance.checkout import Checkout
from tests.acceptance.numbers import read
from tests.acceptance.places import CLI, GOLDEN, REPOSITORY, STABLE
from tests.acceptance.project_1_0 import BUNDLE, OTHER_RUN, RUN

FILE = GOLDEN / "stable_1.json"
Entries = dict[str, str]
COMMANDS = (
    f"audit {RUN} --json",
    f"audit {RUN}:gc_at_2 --json",
    "audit --generator hands --json",
    "audit nobody/hands/layout --json",
    f"compare {OTHER_RUN} {RUN} --json",
    f"compare {RUN} {RUN} --fail-if worse --json",
    f"compare {OTHER_RUN} {RUN} --fail-if worse --json",
    f"compare {OTHER_RUN} {RUN} --fail-if not-as-good --margin 0.1 --metric gc_at_2 --json",
    "verify --json",
    f"verify {RUN} --json",
    "plan --json",
    "models --json",
    f"check {BUNDLE} --json",
    f"check {BUNDLE} --trust-features",
    "check params.yaml",
    "upgrade --check",
    "report",
    "run --json",
)
"""What is asked of the project of 1.0; all but the last make no call and change no score."""
FILES = (
    "data/records/*/*/**/*.json*",
    "reports/scores/*/*/**/*.json*",
    "ledger/*.json",
)
OWN_WORDS = {"eyes", "hands", "regions_fine", "blind", "rubric", "painter", "layout"}
OWN_WORDS |= {"tfidf", "words", "photos", "digits", "short", "elements"}
OWN_WORDS |= {"my_mm_sap", "my_mm_vet", "my_mme", "round", "square"}
"""Names that the project of 1.0 gives, which are keys in what is written about it."""
NAMES_OF_FILES = re.compile(r".*[./@ ].*|[0-9]+|[0-9a-f]{12,}")
"""Keys that are paths, numbers of samples or digests."""


def options(command: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield a command's arguments and options, and those of the commands below it."""
    place = 0
    for each in command.params:
        need = "required" if each.required else "optional"
        if each.param_type_name == "argument":
            place += 1
            yield f"command {name} {each.name.upper()}", f"argument {place}, {need}"
            continue
        kind = "flag" if each.is_flag else f"value, {need}"
        for option in (*each.opts, *each.secondary_opts):
            yield f"command {name} {option}", kind
    for below, each in getattr(command, "commands", {}).items():
        yield from options(each, f"{name} {below}")


def signature(name: str, function: Any) -> Iterator[tuple[str, str]]:
    """Yield what a call needs, and each parameter."""
    parameters = inspect.signature(function).parameters.values()
    named = [each for each in parameters if each.name not in ("self", "cls")]
    needed = []
    for place, each in enumerate(named, 1):
        default = ", optional"
        if each.default is each.empty and each.kind not in (
            each.VAR_POSITIONAL,
            each.VAR_KEYWORD,
        ):
            default = ", required"
            needed.append(each.name)
        kind = each.kind.description
        if each.kind is each.POSITIONAL_OR_KEYWORD:
            kind = f"{place}"
        yield f"{name}({each.name})", kind + default
    yield f"{name}()", f"needs {', '.join(needed) or 'nothing'}"


def members(name: str, kind: type) -> Iterator[tuple[str, str]]:
    """Yield a class's constructor and what its users may call, read or write over."""
    yield from signature(name, kind)
    abstract = getattr(kind, "__abstractmethods__", ())
    yield f"{name} to be written", ", ".join(sorted(abstract)) or "nothing"
    for owner in reversed(kind.__mro__):
        if not owner.__module__.startswith("driftledger"):
            continue
        for word in {**inspect.get_annotations(owner), **vars(owner)}:
            member = inspect.getattr_static(kind, word, None)
            if isinstance(member, classmethod | staticmethod):
                member = member.__func__
            if word.startswith("_"):
                continue
            if isinstance(member, FunctionType):
                yield from signature(f"{name}.{word}", member)
            else:
                yield f"{name}.{word}", "attribute"


def public(name: str, found: Any) -> Iterator[tuple[str, str]]:
    """Yield what people may use of a module, a class or a function."""
    if isinstance(found, ModuleType):
        for word, each in vars(found).items():
            ours = getattr(each, "__module__", "") == found.__name__
            if ours and not word.startswith("_"):
                yield from public(f"{name}.{word}", each)
    elif isinstance(found, type):
        yield from members(name, found)
    elif callable(found):
        yield from signature(name, found)


def kind_of(value: object) -> str:
    """Return the word that JSON has for a value without others inside."""
    if value is None:
        return "null"
    return {bool: "boolean", str: "string"}.get(type(value), "number")


def shapes(value: object, name: str) -> Iterator[tuple[str, str]]:
    """Yield each path to a value, and the kind of the value."""
    if isinstance(value, dict):
        for key, each in value.items():
            word = key
            if key in OWN_WORDS or NAMES_OF_FILES.fullmatch(key):
                word = "*"
            yield from shapes(each, f"{name}.{word}")
    elif isinstance(value, list):
        for each in value:
            yield from shapes(each, f"{name}[]")
    else:
        yield name, kind_of(value)


def code_entries() -> Entries:
    """Return what is stable of commands, Python and entry points."""
    command = typer.main.get_command(pkgutil.resolve_name(CLI))
    entries = dict(options(command, "driftledger"))
    for place in STABLE:
        name = place.replace(":", ".")
        entries |= {
            f"python {each}": what
            for each, what in public(name, pkgutil.resolve_name(place))
        }
    content = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
    for group, points in content["project"]["entry-points"].items():
        entries |= {f"entry point {group} {name}": "provider" for name in points}
    return entries


def asked(project: Checkout) -> tuple[Entries, list[tuple[str, str]]]:
    """Give the commands; return their exit codes, and the kinds of what they print as JSON."""
    codes = {}
    kinds = list[tuple[str, str]]()
    for command in COMMANDS:
        done = project.driftledger(*shlex.split(command), check=False)
        codes[f"exit code of {command}"] = str(done.returncode)
        assert "Traceback" not in done.stderr, done.stderr
        if "--json" in command and done.stdout:
            name = " ".join(command.split()[:1])
            kinds += shapes(json.loads(done.stdout), f"printed by {name}: ")
    return codes, kinds


def written(project: Checkout) -> Iterator[tuple[str, str]]:
    """Yield the kinds of what is in records, scores, the ledger and a bundle."""
    for pattern in FILES:
        for path in sorted(project.root.glob(pattern)):
            parts = path.relative_to(project.root).parts
            name = f"{path.name} of {parts[3]}" if len(parts) > 3 else parts[0]
            texts = [path.read_text(encoding="utf-8")]
            if path.suffix == ".jsonl":
                texts = texts[0].splitlines()
            for text in texts:
                yield from shapes(json.loads(text), f"in {name}: ")
    with zipfile.ZipFile(project.root / BUNDLE) as bundle:
        manifest = json.loads(bundle.read("manifest.json"))
    yield from shapes(manifest, "in the manifest of a bundle: ")


def joined(kinds: list[tuple[str, str]]) -> Entries:
    """Return each path with all its kinds."""
    found = dict[str, set[str]]()
    for name, kind in kinds:
        found.setdefault(name, set()).add(kind)
    return {name: " or ".join(sorted(each)) for name, each in found.items()}


def differences(now: Entries) -> list[str]:
    """Say what is stable and went away or changed."""
    stable = read(FILE)
    assert stable
    return [
        f"{name}: {what} in 1.0, now {now.get(name, 'gone')}"
        for name, what in stable.items()
        if now.get(name) != what
    ]
