"""Which code a result came from: a digest that a comment leaves alone and a changed line does not.

The digest of a module is over its *import closure*: the module, every package it lies in, and all that these import in
turn, inside functions too, as far as it is the same distribution. Nothing is imported to find out.

- The distribution is the module's top-level package; for code that is not installed, the modules beside that as well,
  so that the digest of ``my_models.py`` covers the ``my_tools.py`` that it imports. What comes from elsewhere has a
  version that an author names.
- A module counts as its syntax tree without comments, docstrings, other bare strings, ``__version__`` and the bodies of
  ``if TYPE_CHECKING:``. It is written so that Python 3.11, 3.12 and 3.13 give the same digest.
- A *data file* counts by its bytes where a module of the closure has its name, or its path relative to the module's
  folder, as a string: ``files(__package__) / "photos.json"`` does. A name that is put together from parts is not seen.
- A reference in a string, ``"package.module:Name"``, is not followed: a registry does not depend on what it lists.
- ``from package import *`` is followed to the package and not to the modules that its ``__all__`` names.
"""

import ast
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from driftledger.core.canonical import sha256_bytes, sha256_file, sha256_of
from driftledger.core.errors import ConfigError

_INSTALLED = ("site-packages", "dist-packages")
_CODE_SUFFIXES = (".py", ".pyc", *EXTENSION_SUFFIXES)
_SAYS_NOTHING = ("ctx", "kind", "type_comment")
"""Fields of a syntax tree that follow from where a node stands, or that only some readers fill in."""


class _Place(NamedTuple):
    """Where a module lies; a namespace package has folders and no file."""

    file: Path | None
    folders: tuple[Path, ...]
    """Where the modules inside a package are looked for."""


class _Source(NamedTuple):
    """What a file says, read once per process."""

    digest: str
    imports: frozenset[str]
    """Absolute names, of which some are of modules and some of what stands in them."""
    strings: frozenset[str]


def code_digest(*targets: str) -> str:
    """Hex SHA-256 of the canonical JSON of :func:`module_digests`, of several targets together.

    >>> code_digest("driftledger.core.seeds") == code_digest("driftledger.core.seeds:derive_seed")
    True

    Args:
        targets: each as ``package.module`` or ``package.module:Name``.

    Raises:
        ConfigError: the code of a target is in no file, or a file cannot be read as Python.
    """
    return sha256_of({name: digest for target in targets for name, digest in module_digests(target).items()})


def module_digests(target: str) -> dict[str, str]:
    """Everything in the closure with its digest: modules by dotted name, data files by path.

    Errors as in :func:`code_digest`.

    >>> sorted(module_digests("driftledger.core.images"))
    ['driftledger', 'driftledger.core', 'driftledger.core.images']
    """
    return dict(_closure(target.partition(":")[0]))


@cache
def _closure(module: str) -> tuple[tuple[str, str], ...]:
    """Name and digest of everything in it, in the order of the names."""
    module, homes = _start(module)
    found: dict[str, str] = {}
    waiting, seen = list(_with_packages(module)), set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        file = _in_scope(name, module, homes)
        if file is None:
            continue
        source = _read(file, name)
        found[name] = source.digest
        waiting += [each for imported in source.imports for each in _with_packages(imported)]
        for data in _data_files(file, source.strings):
            root = file.parents[name.count(".") + (file.name == "__init__.py")]
            found[data.relative_to(root).as_posix()] = sha256_file(data)
    return tuple(sorted(found.items()))


def _with_packages(name: str) -> Iterator[str]:
    """``a``, ``a.b`` and ``a.b.c`` for ``a.b.c``: importing it runs them all."""
    parts = name.split(".")
    return (".".join(parts[: end + 1]) for end in range(len(parts)))


def _start(module: str) -> tuple[str, tuple[Path, ...]]:
    """The module under the name that it is imported by, and the folders that its top-level package lies in.

    Raises:
        ConfigError: there is no such file.
    """
    if module == "__main__":
        script = sys.modules["__main__"]
        spec, file = getattr(script, "__spec__", None), getattr(script, "__file__", None)
        if spec is None and file is not None:
            return Path(file).stem, (Path(file).resolve().parent,)
        module = spec.name if spec else module
    top = module.partition(".")[0]
    try:
        spec = find_spec(top)
    except ValueError:  # a module that was made by hand, or by an interactive session
        spec = None
    if spec is not None and spec.submodule_search_locations:
        homes = tuple(Path(folder).parent for folder in spec.submodule_search_locations)
    elif spec is not None and spec.has_location and spec.origin:
        homes = (Path(spec.origin).parent,)
    else:
        homes = ()
    place = _place(module, homes)
    if place is None or place.file is None:
        raise ConfigError(
            f"the code of {module!r} is in no file here, and it is what tells versions apart; "
            "put it into a module that can be imported"
        )
    return module, homes


def _in_scope(name: str, target: str, homes: tuple[Path, ...]) -> Path | None:
    """The file of a module, if there is one and the target's closure may hold it."""
    top = name.partition(".")[0]
    if top != target.partition(".")[0]:
        beside = None if any(home.name in _INSTALLED for home in homes) else _place(top, homes)
        if beside is None or beside.file is None:  # a folder without __init__.py gives way to what is installed
            return None
    place = _place(name, homes)
    return place.file if place else None


@cache
def _place(name: str, homes: tuple[Path, ...]) -> _Place | None:
    """Where Python would find a module, without importing the packages around it."""
    parent, _, last = name.rpartition(".")
    above = _place(parent, homes) if parent else _Place(None, homes)
    folders = [folder for folder in (above.folders if above else ()) if last]
    for folder in folders:
        if (package := folder / last / "__init__.py").is_file():
            return _Place(package, (package.parent,))
        for suffix in (*EXTENSION_SUFFIXES, ".py"):
            if (module := folder / (last + suffix)).is_file():
                return _Place(module, ())
    spaces = tuple(folder / last for folder in folders if (folder / last).is_dir())
    return _Place(None, spaces) if spaces else None


@cache
def _names(folder: Path) -> frozenset[str]:
    return frozenset(each.name for each in folder.iterdir()) if folder.is_dir() else frozenset()


def _data_files(module: Path, strings: Iterable[str]) -> Iterator[Path]:
    for text in strings:
        file = module.parent
        for part in text.split("/"):
            if part not in _names(file):
                break
            file /= part
        else:
            if file.is_file() and not file.name.endswith(_CODE_SUFFIXES):
                yield file


@cache
def _read(file: Path, name: str) -> _Source:
    data = file.read_bytes()
    if file.suffix != ".py":
        return _Source(sha256_bytes(data), frozenset(), frozenset())
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError) as error:
        raise ConfigError(f"{file} cannot be read as Python ({error}); mend it") from None
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    return _source(tree, package)


def _source(tree: ast.Module, package: str) -> _Source:
    """The tree in a form of its own: what ``ast.dump`` and ``repr`` write differs between versions of Python."""
    written: list[str] = []
    imports, strings = set[str](), set[str]()
    left: list[ast.AST | str] = [tree]
    while left:
        node = left.pop()
        if isinstance(node, str):
            written.append(node)
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.update(_imported(node, package))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            strings.add(node.value)
        written.append(f"{type(node).__name__}(")
        left.append(")")
        left += reversed([*_fields(node)])
    return _Source(sha256_bytes("".join(written).encode()), frozenset(imports), frozenset(strings))


def _fields(node: ast.AST) -> Iterator[ast.AST | str]:
    for field in node._fields:
        value = getattr(node, field, None)
        if value is None or field in _SAYS_NOTHING or (field == "body" and _for_types(node)):
            continue
        if isinstance(value, list):
            kept = [each for each in value if _counts(each, node)]
            if kept:
                yield f"{field}=["
                yield from (each if isinstance(each, ast.AST) else f"{each!a}," for each in kept)
                yield "]"
        elif isinstance(value, ast.AST):
            yield f"{field}="
            yield value
        else:
            yield f"{field}={value!a},"


def _counts(node: object, parent: ast.AST) -> bool:
    """Whether it can change what a module does: a string that stands alone cannot."""
    if isinstance(node, ast.Constant) and isinstance(parent, ast.JoinedStr):
        return node.value != ""  # which Python 3.12 alone puts behind a nested format
    if isinstance(node, ast.Expr):
        return not (isinstance(node.value, ast.Constant) and isinstance(node.value.value, str))
    if isinstance(node, ast.Assign):
        return [each.id for each in node.targets if isinstance(each, ast.Name)] != ["__version__"]
    return True


def _for_types(node: ast.AST) -> bool:
    test = node.test if isinstance(node, ast.If) else None
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def _imported(node: ast.Import | ast.ImportFrom, package: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    above = package.split(".")[: package.count(".") + 2 - node.level] if node.level else []
    base = ".".join([*above, *([node.module] if node.module else [])])
    yield base
    yield from (f"{base}.{alias.name}" for alias in node.names if alias.name != "*")
