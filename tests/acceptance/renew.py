"""Write golden files again from an evaluated checkout: ``python -m tests.acceptance.renew CHECKOUT
[KIND]…``.

Kinds are ``scores``, ``details``, ``records`` and ``mlflow``; without one, all are
written. The checkout holds the default run; its scores of the neural run, which are in Git, are
written as well. Look at the difference before you commit it: each line is a number that a user
sees. ``stable_1.json`` is not among them: :mod:`tests.acceptance.stability` adds to it.
"""

import sys
from pathlib import Path

from tests.acceptance import numbers, records, snapshot

KINDS = ("scores", "details", "records", "mlflow")


def renew(top: Path, kinds: list[str]) -> None:
    lines = numbers.lines_of(top)
    numbers.write_golden(
        {name: each for name, each in lines.items() if name.partition("/")[0] in kinds}
    )
    if "records" in kinds:
        records.write_golden(records.digests(top))
    if "mlflow" in kinds:
        snapshot.FILE.write_text(
            snapshot.text_of(snapshot.snapshot(top / "mlflow.db")), encoding="utf-8"
        )


if __name__ == "__main__":
    renew(Path(sys.argv[1]).resolve(), sys.argv[2:] or list(KINDS))
