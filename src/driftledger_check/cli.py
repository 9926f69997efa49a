"""``driftledger-check score.zip``: exit code 0 if all that can be checked is reproduced, 1 if something differs, 2 if
it is no bundle."""

import argparse
import json
import sys
from pathlib import Path

from driftledger_check.archive import Archive, ArchiveError
from driftledger_check.bundle import Bundle, BundleError, place_of
from driftledger_check.dsse import AttestationError, parse_attestation
from driftledger_check.ledger import check_ledger
from driftledger_check.lines import Line
from driftledger_check.links import check_files, check_fingerprints, check_links, guarded
from driftledger_check.numbers import check_numbers
from driftledger_check.report import Report, plain


def check(path: Path, *, allowed_signers: Path | None = None, checkpoint: Path | None = None) -> Report:
    """Check all of a bundle.

    Args:
        allowed_signers: whose signatures the reader trusts.
        checkpoint: one of the ledger that the reader kept.

    Raises:
        ArchiveError, BundleError: it is none.
        AttestationError: the checkpoint is none.
        OSError: it cannot be read.
    """
    kept = None if checkpoint is None else parse_attestation(checkpoint.read_bytes())
    with Archive(path.open("rb")) as archive:
        bundle = Bundle(archive)
        groups: dict[str, list[Line]] = {
            "files": guarded("bundle", check_files, bundle),
            "links": guarded("bundle", check_links, bundle),
            "fingerprints": guarded("bundle", check_fingerprints, bundle),
            "ledger": guarded("ledger", check_ledger, bundle, allowed_signers, kept),
        }
        for lineage in bundle.lineages:
            where = lineage["score_file"]["path"]
            groups[f"numbers of {place_of(lineage['score'])}"] = guarded(where, check_numbers, bundle, lineage)
    return Report(path.name, groups)


def run(
    path: Path, *, allowed_signers: Path | None = None, checkpoint: Path | None = None, as_json: bool = False
) -> int:
    """Check a bundle and print what came of it; the exit code."""
    for given in (allowed_signers, checkpoint):
        if given is not None and not given.is_file():
            return _fail(f"there is no file {given}")
    try:
        report = check(path, allowed_signers=allowed_signers, checkpoint=checkpoint)
    except (ArchiveError, BundleError) as error:
        return _fail(f"{path} {error}")
    except AttestationError as error:
        return _fail(f"{checkpoint} {error}")
    except OSError as error:
        return _fail(f"{path} cannot be read: {error.strerror}")
    print(json.dumps(report.to_dict(), indent=2) if as_json else report.as_text())
    return 0 if report.holds else 1


def _fail(sentence: str) -> int:
    print(f"driftledger-check: {plain(sentence)}", file=sys.stderr)
    return 2


def main() -> None:
    """The ``driftledger-check`` command."""
    parser = argparse.ArgumentParser("driftledger-check", description="Check a bundle that somebody else made.")
    parser.add_argument("bundle", type=Path, help="a file that 'driftledger bundle' wrote")
    parser.add_argument("--allowed-signers", type=Path, help="whose signatures you trust, as SSH lists them")
    parser.add_argument("--checkpoint", type=Path, help="a checkpoint of the ledger that you kept")
    parser.add_argument("--json", action="store_true", help="print every line as JSON")
    given = parser.parse_args()
    options = {"allowed_signers": given.allowed_signers, "checkpoint": given.checkpoint}
    sys.exit(run(given.bundle, **options, as_json=given.json))
