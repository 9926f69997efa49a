"""``driftledger-check score.zip``.

Exit codes: 0 every headline is reproduced, 1 something differs, 2 not a bundle, 3 a headline is not checked or is from
the bundle's own features (0 with ``--trust-features``).
"""

import argparse
import io
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from driftledger_check import compute
from driftledger_check.archive import Archive, BundleError
from driftledger_check.bundle import Bundle
from driftledger_check.links import check_files, check_fingerprints, check_ledger, check_links, guarded
from driftledger_check.report import FROM_FEATURES, NUMBERS, Line, Report, plain


def check(path: Path, *, trust_features: bool = False) -> Report:
    """Check all of a bundle.

    Args:
        trust_features: accept headlines that are from the bundle's own features.

    Raises:
        BundleError: it is none.
        OSError: it cannot be read.
    """
    checks = {"files": check_files, "links": check_links, "fingerprints": check_fingerprints, "ledger": check_ledger}
    with path.open("rb") as file:
        bundle = Bundle(Archive(file))
        groups = {name: guarded(name, each, bundle) for name, each in checks.items()}
        for lineage in bundle.lineages:
            place = str(lineage["folder"]["path"])
            name = f"{NUMBERS}{place.removeprefix('reports/scores/')}"
            groups[name] = guarded(f"{place}/score.json", check_numbers, bundle, lineage)
    return Report(path.name, groups, trusts_features=trust_features)


def check_numbers(bundle: Bundle, lineage: Mapping[str, Any]) -> Iterator[Line]:
    """Compare every number of a score and its rows with the one that the records give."""
    where, files = f"{lineage['folder']['path']}/score.json", bundle.score_files(lineage)
    made, stored = compute.recompute(files), compute.stored(files)
    for place in dict.fromkeys((*stored, *made.numbers, *made.not_checkable)):
        line, value = f"{where}: {'.'.join(place)}", stored.get(place)
        begins = (place[:end] for end in range(1, len(place) + 1))
        if why := next((made.not_checkable[each] for each in begins if each in made.not_checkable), ""):
            yield Line(line, "not checkable", why)
        elif place not in made.numbers:
            yield Line(line, "differs", f"{value!r:.80} is stored, and the records give no such value")
        elif not made.agrees(place, value):
            yield Line(line, "differs", f"{value!r:.80} is stored, and the records give {made.numbers[place]!r:.80}")
        elif taken := made.taken_from(place):
            yield Line(line, FROM_FEATURES, taken)
        else:
            yield Line(line, "reproduced")


def run(path: Path, *, as_json: bool = False, trust_features: bool = False) -> int:
    """Check a bundle and print what came of it; the exit code."""
    try:
        report = check(path, trust_features=trust_features)
    except (BundleError, OSError) as error:
        why = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else error
        print(f"driftledger-check: {plain(f'{path} {why}')}", file=sys.stderr)
        return 2
    print(json.dumps(report.to_dict(), indent=2) if as_json else report.as_text())
    return report.code


def main() -> None:
    """The ``driftledger-check`` command."""
    parser = argparse.ArgumentParser(
        "driftledger-check",
        description="Check a bundle that somebody else made.",
        epilog="Exit codes: 0 every headline is reproduced, 1 something differs, 2 not a bundle, "
        "3 a headline is not checked or is from the bundle's own features.",
    )
    parser.add_argument("bundle", type=Path, help="a file that 'driftledger bundle' wrote")
    parser.add_argument("--json", action="store_true", help="print every line as JSON")
    trust = "accept headlines that are from the bundle's own features: exit code 0 in place of 3"
    parser.add_argument("--trust-features", action="store_true", help=trust)
    given = parser.parse_args()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    sys.exit(run(given.bundle, as_json=given.json, trust_features=given.trust_features))
