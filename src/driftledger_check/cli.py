"""The command ``driftledger-check score.zip``.

Exit codes: 0 every headline is reproduced, 1 something differs, 2 not a bundle, 3 a headline
is not checked or is from the bundle's own features (0 with ``--trust-features``).
"""

import argparse
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from driftledger_check import compute
from driftledger_check.archive import Archive, BundleError
from driftledger_check.bundle import Bundle, Json
from driftledger_check.compute.values import Computed, Key, Value
from driftledger_check.links import (
    check_files,
    check_fingerprints,
    check_ledger,
    check_links,
    guarded,
)
from driftledger_check.report import FROM_FEATURES, NUMBERS, Line, Report, plain

_CHECKS = {
    "files": check_files,
    "links": check_links,
    "fingerprints": check_fingerprints,
    "ledger": check_ledger,
}


def check(path: Path, *, trust_features: bool = False) -> Report:
    """Check all of a bundle.

    Args:
        trust_features: accept headlines that are from the bundle's own features.

    Raises:
        BundleError: the file is not a bundle.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        bundle = Bundle(Archive(file))
        groups = {name: guarded(name, check, bundle) for name, check in _CHECKS.items()}
        for lineage in bundle.lineages:
            folder = str(lineage["folder"]["path"])
            where = f"{folder}/score.json"
            name = f"{NUMBERS}{folder.removeprefix('reports/scores/')}"
            groups[name] = guarded(where, check_numbers, bundle, lineage)
    return Report(path.name, groups, trusts_features=trust_features)


def check_numbers(bundle: Bundle, lineage: Json) -> Iterator[Line]:
    """Compare every number of a score and its rows with the one that the records give."""
    files = bundle.score_files(lineage)
    computed = compute.recompute(files)
    stored = compute.stored(files)
    where = f"{lineage['folder']['path']}/score.json"
    for place in dict.fromkeys(
        (
            *stored,
            *computed.numbers,
            *computed.not_checkable,
        )
    ):
        yield _compared(
            f"{where}: {'.'.join(place)}",
            computed,
            place,
            stored.get(place),
        )


def _compared(
    where: str,
    computed: Computed,
    place: Key,
    value: Value,
) -> Line:
    """Compare the stored value at a place with the computed one."""
    for end in range(1, len(place) + 1):
        if place[:end] in computed.not_checkable:
            return Line(
                where,
                "not checkable",
                computed.not_checkable[place[:end]],
            )
    is_stored = f"{value!r:.80} is stored, and the records give"
    if place not in computed.numbers:
        return Line(where, "differs", f"{is_stored} no such value")
    if not computed.agrees(place, value):
        return Line(
            where,
            "differs",
            f"{is_stored} {computed.numbers[place]!r:.80}",
        )
    if why := computed.taken_from(place):
        return Line(where, FROM_FEATURES, why)
    return Line(where, "reproduced")


def run(
    path: Path,
    *,
    as_json: bool = False,
    trust_features: bool = False,
) -> int:
    """Check a bundle, print the result, and return the exit code."""
    try:
        report = check(path, trust_features=trust_features)
    except (BundleError, OSError) as error:
        why = (
            f"cannot be read: {error.strerror}" if isinstance(error, OSError) else error
        )
        print(f"driftledger-check: {plain(f'{path} {why}')}", file=sys.stderr)
        return 2
    print(json.dumps(report.to_dict(), indent=2) if as_json else report.as_text())
    return report.code


def main() -> None:
    """Run the ``driftledger-check`` command."""
    parser = argparse.ArgumentParser(
        "driftledger-check",
        description="Check a bundle that somebody else made.",
        epilog="Exit codes: 0 every headline is reproduced, 1 something differs, "
        "2 not a bundle, 3 a headline is not checked or is from the bundle's own features.",
    )
    parser.add_argument(
        "bundle", type=Path, help="a file that 'driftledger bundle' wrote"
    )
    parser.add_argument("--json", action="store_true", help="print every line as JSON")
    parser.add_argument(
        "--trust-features",
        action="store_true",
        help="accept headlines that are from the bundle's own features: "
        "exit code 0 in place of 3",
    )
    options = parser.parse_args()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    code = run(
        options.bundle,
        as_json=options.json,
        trust_features=options.trust_features,
    )
    sys.exit(code)
