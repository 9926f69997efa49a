"""One file that proves a run to a stranger: written here, checked by :mod:`driftledger_check`."""

from pathlib import Path

from driftledger.commands.ask import evidence_of
from driftledger.core.escaping import for_line
from driftledger.ledger.bundle.write import write_bundle
from driftledger.ledger.objects.reach import Reach
from driftledger.project.project import Project

_SHOWN = 5


def bundle(project: Project, run: str, out: Path, *, images: bool) -> list[str]:
    """Bundle a run, and say in a few lines what is in the file."""
    evidence = evidence_of(project, run, Reach(trust=True))
    written = write_bundle(project, evidence, out, images=images)
    left_out = f" and the hashes of {written.left_out:,} images" if written.left_out else ""
    held = f"{written.files:,} files{left_out}, {written.size / 1e6:.1f} MB"
    more = len(written.notes) - _SHOWN
    notes = [f"to know: {for_line(each)}" for each in written.notes[:_SHOWN]]
    check = f"'driftledger check {for_line(out.name)}' checks it, as the package driftledger-check does by itself"
    return [
        f"{for_line(str(out))}: {for_line(evidence.name)}, {held}",
        *notes,
        *[f"and {more} more"] * (more > 0),
        check,
    ]
