"""``compare``: show two files of results side by side."""

from pathlib import Path

from driftledger.commands.compared import Compared, concluded
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import ConfigError
from driftledger.data.tables import KINDS
from driftledger.ledger.gate import Gate
from driftledger.ledger.result_files import Columns, columns_of
from driftledger.ledger.result_files import compare_files as compare

_BASIS = "as the files have them"


def is_result_file(path: Path) -> bool:
    """Return True if this is a file whose name says that it is a table."""
    return path.suffix.lower() in KINDS and path.is_file()


def compare_files(
    a: tuple[Path, str],
    b: tuple[Path, str],
    columns: Columns,
    *,
    anyway: bool = False,
    gate: Gate | None = None,
) -> Compared:
    """Compare two files; errors as in :func:`driftledger.ledger.result_files.compare_files`.

    Args:
        a: the path of A, and the name that the user gave.
        b: the same of B.

    Raises:
        ConfigError: one of them is not a file, or an option is missing.
    """
    for path, name in (a, b):
        if not path.is_file():
            raise ConfigError(
                f"{name} is not a file; name two files of results, or leave out the options for "
                "them to compare two runs"
            )
    if not columns.ids or not columns.values:
        missing = "--value" if columns.ids else "--id"
        raise ConfigError(
            f"{missing} is missing; files need --id, the column that names a row, and --value, a "
            f"column to compare: {a[1]} has {columns_of(*a)}"
        )
    gate = gate or Gate()
    comparison = compare(a, b, columns, anyway=anyway)
    judgements = gate.judge(comparison)
    if gate.fail_if is None:
        return Compared(comparison, f"values: {_BASIS}")
    is_one = a[0].samefile(b[0]) or sha256_file(a[0]) == sha256_file(b[0])
    return concluded(comparison, gate, judgements, _BASIS, is_one=is_one)
