"""The version of a user's code: a digest of its module.

It covers the module and what it imports by the same author, also inside functions: modules of its
top-level package or, if that is not installed, modules in the same folder. driftledger's own code
has versions instead; it is left out, and so is other installed code. Nothing is imported.

Comments, docstrings and ``__version__`` do not count. A data file counts by its bytes if a module
names it, by its path relative to the module's folder, in a string.
"""

import ast
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path

from driftledger.core.canonical import sha256_bytes, sha256_file, sha256_of
from driftledger.core.errors import ConfigError

_INSTALLED = ("site-packages", "dist-packages")


def is_ours(module: str) -> bool:
    """Return True if a module is driftledger's own, which has a version instead."""
    return module.partition(".")[0] == "driftledger"


def code_digest(*targets: str) -> str:
    """Return the hex SHA-256 of the code of one or several targets together.

    Args:
        targets: ``package.module`` or ``package.module:Name``.

    Raises:
        ConfigError: the code of a target is in no file, or a file cannot be read as Python.
    """
    digests: dict[str, str] = {}
    for target in targets:
        digests.update(_digests(target.partition(":")[0]))
    return sha256_of(digests)


@cache
def _digests(module: str) -> tuple[tuple[str, str], ...]:
    """List the dotted name of each module, or path of each data file, with its digest."""
    if module == "__main__":
        script = sys.modules["__main__"]
        spec = getattr(script, "__spec__", None)
        module = (
            spec.name if spec else Path(getattr(script, "__file__", "__main__")).stem
        )
    home = _home(module)

    def own_file(name: str) -> Path | None:
        """Return the file of a module by the same author."""
        is_of_package = name.partition(".")[0] == module.partition(".")[0]
        if home is None or (
            not is_of_package and (home.name in _INSTALLED or is_ours(name))
        ):
            return None
        path = home.joinpath(*name.split("."))
        for file in (path / "__init__.py", path.with_suffix(".py")):
            if file.is_file():
                return file
        return None

    if home is None or own_file(module) is None:
        raise ConfigError(
            f"the code of {module!r} is in no file here, so that its version is unknown; "
            "put it into a module that can be imported"
        )
    digests = {}
    waiting = {}
    for name in accumulate(module.split("."), "{}.{}".format):
        file = own_file(name)
        if file:
            waiting[name] = file
    while waiting:
        name, file = waiting.popitem()
        try:
            tree = ast.parse(file.read_bytes())
        except (SyntaxError, ValueError) as error:
            raise ConfigError(
                f"{file} cannot be read as Python ({error}); correct it"
            ) from None
        digests[name] = sha256_bytes(_written(tree).encode())
        nodes = [*ast.walk(tree)]
        package = name if file.name == "__init__.py" else name.rpartition(".")[0]
        for imported in _imports(nodes, package):
            imported_file = own_file(imported)
            if imported_file and imported not in digests:
                waiting[imported] = imported_file
        for data in _data_files(nodes, file):
            digests[data.relative_to(home).as_posix()] = sha256_file(data)
    return tuple(sorted(digests.items()))


def _home(module: str) -> Path | None:
    """Return the folder that a module's top-level package or file lies in."""
    try:
        spec = find_spec(module.partition(".")[0])
    except ValueError:  # made by hand, or by an interactive session
        return None
    places = (
        [] if spec is None else [*(spec.submodule_search_locations or ()), spec.origin]
    )
    return Path(places[0]).parent if places and places[0] else None


def _written(value: object) -> str:
    """Write a syntax tree as text in which Python 3.11 to 3.13 agree.

    Parts that cannot change a result are left out.
    """
    if isinstance(value, list):
        return "".join(_written(item) + "," for item in value if _counts(item))
    if not isinstance(value, ast.AST):
        return ascii(value)
    text = ""
    for name in value._fields:
        field = getattr(value, name, None)
        if isinstance(
            value, ast.JoinedStr
        ):  # 3.12 writes empty parts that 3.11 does not
            field = [
                part for part in value.values if getattr(part, "value", None) != ""
            ]
        # Later versions have more fields, which are empty where 3.11 can read the code.
        if name not in ("ctx", "kind") and field is not None and field != []:
            text += f"{name}={_written(field)};"
    return f"{type(value).__name__}({text})"


def _counts(node: object) -> bool:
    """Return True if a node can change what a module does; docstrings cannot."""
    if isinstance(node, ast.Expr):
        return not (
            isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        )
    if isinstance(node, ast.Assign):
        names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        return names != ["__version__"]
    return True


def _imports(nodes: Iterable[ast.AST], package: str) -> Iterator[str]:
    """Yield the dotted names that may be modules, and the packages around each.

    Importing a module runs these, too.
    """
    for node in nodes:
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = []
            if node.level:
                above = package.split(".")[: package.count(".") + 2 - node.level]
            if node.module:
                above.append(node.module)
            base = ".".join(above)
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        for name in names:
            yield from accumulate(
                name.split("."), "{}.{}".format
            )  # a.b.c: a, a.b, a.b.c


def _data_files(nodes: Iterable[ast.AST], module: Path) -> Iterator[Path]:
    """Yield the data files that strings of a module name, in its folder or below."""
    siblings = {path.name for path in module.parent.iterdir()}
    for node in nodes:
        text = node.value if isinstance(node, ast.Constant) else None
        if not isinstance(text, str) or not 0 < len(text) < 200 or "\0" in text:
            continue
        parts = text.split("/")
        if parts[0] in siblings and {"", ".", ".."}.isdisjoint(parts):
            file = module.parent.joinpath(*parts)
            if file.is_file() and file.suffix != ".py":
                yield file
