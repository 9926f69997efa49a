"""The keys of what commands print with ``--json``, without values: ``golden/json_keys.txt``.

``python -m tests.acceptance.renew CHECKOUT keys`` writes them again.
"""

import json
from collections.abc import Iterator

from tests.acceptance.checkout import Checkout
from tests.acceptance.places import GOLDEN, OTHER_RUN, RUN

FILE = GOLDEN / "json_keys.txt"
COMMANDS = {
    "audit of a run": ("audit", RUN),
    "audit of a metric": ("audit", f"{RUN}:gc_at_5"),
    "audit of a generator": ("audit", "--generator", "painter"),
    "compare": ("compare", RUN, OTHER_RUN),
    "models": ("models",),
    "plan": ("plan",),
    "run": ("run",),
    "verify": ("verify", RUN),
}
DEPTH = 3
"""Deeper ones are names of metrics, settings and files."""


def key_paths(value: object, path: str = "") -> Iterator[str]:
    """Every path to a value, down to :data:`DEPTH` keys; items of a list are not told apart."""
    if isinstance(value, dict) and value and path.count(".") < DEPTH - 1:
        for key, each in value.items():
            yield from key_paths(each, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        yield f"{path}[]"
        for each in value:
            yield from key_paths(each, f"{path}[]")
    else:
        yield path


def printed(checkout: Checkout, command: str) -> set[str]:
    """The key paths of what a command prints."""
    done = checkout.driftledger(*COMMANDS[command], "--json", check=False)
    assert done.returncode in (0, 1), done.stderr
    return set(key_paths(json.loads(done.stdout)))


def read_golden() -> dict[str, set[str]]:
    golden: dict[str, set[str]] = {}
    for line in FILE.read_text(encoding="utf-8").splitlines():
        command, _, path = line.partition(": ")
        golden.setdefault(command, set()).add(path)
    return golden


def write_golden(checkout: Checkout) -> None:
    lines = sorted(
        f"{command}: {path}\n"
        for command in COMMANDS
        for path in printed(checkout, command)
    )
    FILE.write_text("".join(lines), encoding="utf-8")
