"""Write golden files again from an evaluated checkout: ``python -m tests.acceptance.renew CHECKOUT
[KIND]…``.

Kinds are ``scores``, ``details``, ``cross_check``, ``records``, ``keys`` (of what commands print as
JSON) and ``mlflow``; without one, all are written. The checkout holds the default run; its scores
of the neural run, which are in Git, are written as well. Look at the difference before you commit
it: each line is a number that a user sees.
"""

import sys
import tempfile
from pathlib import Path

from tests.acceptance import json_keys, numbers, records, snapshot
from tests.acceptance.checkout import Checkout

KINDS = ("scores", "details", "cross_check", "records", "keys", "mlflow")


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
    if "keys" in kinds:
        with tempfile.TemporaryDirectory() as folder:
            copied = Checkout(top, Path(folder)).copy(Path(folder))
            copied.commit("results")
            json_keys.write_golden(copied)


if __name__ == "__main__":
    renew(Path(sys.argv[1]).resolve(), sys.argv[2:] or list(KINDS))
