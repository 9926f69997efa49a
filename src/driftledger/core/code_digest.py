"""The version of a user's code for a component or a dataset: a digest of its module.

It is over the module and over what that imports of the same author, inside functions too: the
modules of its top-level package or, where it is not installed, those beside it. Code that comes
with driftledger has versions instead, and is left out, as is everything else that is installed.
Nothing is imported for it.

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
    """Return True if a module is one of driftledger's own, which have a version instead of a
    digest."""
    return module.partition(".")[0] == "driftledger"


def code_digest(*targets: str) -> str:
    """Hex SHA-256 of the code of ``package.module`` or ``package.module:Name``, of several
    together.

    Raises:
        ConfigError: the code of a target is in no file, or a file cannot be read as Python.
    """
    return sha256_of(
        dict(part for target in targets for part in _digests(target.partition(":")[0]))
    )


@cache
def _digests(module: str) -> tuple[tuple[str, str], ...]:
    """Dotted name of each module, or path of each data file, and its digest."""
    if module == "__main__":
        script = sys.modules["__main__"]
        spec = getattr(script, "__spec__", None)
        module = spec.name if spec else Path(getattr(script, "__file__", "__main__")).stem
    home = _home(module)

    def own_file(name: str) -> Path | None:
        """Return the file of a module by the same author."""
        is_of_package = name.partition(".")[0] == module.partition(".")[0]
        if home is None or (not is_of_package and (home.name in _INSTALLED or is_ours(name))):
            return None
        path = home.joinpath(*name.split("."))
        return next(
            (file for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file()),
            None,
        )

    if home is None or own_file(module) is None:
        raise ConfigError(
            f"the code of {module!r} is in no file here, and it is what tells versions apart; "
            "put it into a module that can be imported"
        )
    digests = {}
    waiting = {
        name: file
        for name in accumulate(module.split("."), "{}.{}".format)
        if (file := own_file(name))
    }
    while waiting:
        name, file = waiting.popitem()
        try:
            tree = ast.parse(file.read_bytes())
        except (SyntaxError, ValueError) as error:
            raise ConfigError(f"{file} cannot be read as Python ({error}); correct it") from None
        digests[name] = sha256_bytes(_written(tree).encode())
        nodes = [*ast.walk(tree)]
        for imported in _imports(
            nodes, name if file.name == "__init__.py" else name.rpartition(".")[0]
        ):
            if imported not in digests and (beside := own_file(imported)):
                waiting[imported] = beside
        for data in _data_files(nodes, file):
            digests[data.relative_to(home).as_posix()] = sha256_file(data)
    return tuple(sorted(digests.items()))


def _home(module: str) -> Path | None:
    """Return the folder that a module's top-level package or file lies in."""
    try:
        spec = find_spec(module.partition(".")[0])
    except ValueError:  # made by hand, or by an interactive session
        return None
    places = [] if spec is None else [*(spec.submodule_search_locations or ()), spec.origin]
    return Path(places[0]).parent if places and places[0] else None


def _written(value: object) -> str:
    """Return a syntax tree as text that Python 3.11 to 3.13 write alike, without what cannot change
    what a module does."""
    if isinstance(value, list):
        return "".join(f"{_written(each)}," for each in value if _counts(each))
    if not isinstance(value, ast.AST):
        return ascii(value)
    fields = {
        name: getattr(value, name, None) for name in value._fields if name not in ("ctx", "kind")
    }
    if isinstance(value, ast.JoinedStr):  # 3.12 writes empty parts that 3.11 does not
        fields["values"] = [each for each in value.values if getattr(each, "value", None) != ""]
    # Later versions have more fields, which are empty where 3.11 can read the code.
    parts = (
        f"{name}={_written(field)};"
        for name, field in fields.items()
        if field is not None and field != []
    )
    return f"{type(value).__name__}({''.join(parts)})"


def _counts(node: object) -> bool:
    if isinstance(node, ast.Expr):
        return not (isinstance(node.value, ast.Constant) and isinstance(node.value.value, str))
    if isinstance(node, ast.Assign):
        return [each.id for each in node.targets if isinstance(each, ast.Name)] != ["__version__"]
    return True


def _imports(nodes: Iterable[ast.AST], package: str) -> Iterator[str]:
    """Yield the dotted names that may be modules, and the packages around each, which importing it
    runs too."""
    for node in nodes:
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: package.count(".") + 2 - node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        for name in names:
            yield from accumulate(name.split("."), "{}.{}".format)  # a.b.c: a, a.b, a.b.c


def _data_files(nodes: Iterable[ast.AST], module: Path) -> Iterator[Path]:
    beside = {each.name for each in module.parent.iterdir()}
    for node in nodes:
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and 0 < len(node.value) < 200
        ):
            parts = node.value.split("/")
            if parts[0] in beside and not {"", ".", ".."} & set(parts) and "\0" not in node.value:
                file = module.parent.joinpath(*parts)
                if file.is_file() and file.suffix != ".py":
                    yield file
