"""Makes the calls behind a bundle again with the reader's own components, and says what came of it as a statement."""

import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from driftledger import __version__
from driftledger.components.checkpoints.source import hashed_anew
from driftledger.core.canonical import sha256_bytes, sha256_file
from driftledger.core.errors import LedgerError
from driftledger.core.escaping import for_line
from driftledger.ledger.code import packages
from driftledger.ledger.findings import VerifyResult
from driftledger.ledger.lineage import Evidence
from driftledger.ledger.reproduce.unpacked import Unpacked, read_bundle
from driftledger.ledger.verify.components import Components
from driftledger.ledger.verify.recompute import recompute
from driftledger.ledger.verify.regenerate import Regenerated, regenerate
from driftledger.project.project import Project
from driftledger_check.archive import Archive, ArchiveError
from driftledger_check.bundle import EVIDENCE, Bundle, BundleError
from driftledger_check.dsse import REPRODUCTION, Statement

_MOST = 200
"""Differences that a statement lists; it counts all."""

_PASSES = 64
"""Two for each step of the longest chain that anybody makes, with a component that does what it promises."""


class Reproduced(NamedTuple):
    """What came of it."""

    statement: Statement
    again: Regenerated
    scores: VerifyResult

    @property
    def outcome(self) -> str:
        """``reproduced``; ``partly reproduced``, where not every call was made again; ``differs``; or ``nothing made
        again``."""
        return str(self.statement.predicate["outcome"])


@hashed_anew()
def reproduce(project: Project, file: Path, calls: int | None, seed: int) -> Reproduced:
    """Make the calls of a bundle again, each from what is stored before it, and compute its scores from what they give.

    Where all are made and some give something else, those that follow are made from that, until nothing changes.
    Nothing of the bundle is run; its files are unpacked into a temporary folder.

    Args:
        project: the reader's, whose entries say where weights are.
        calls: how many are drawn by lot; None makes all.
        seed: of the lot.

    Raises:
        LedgerError: it is no bundle that can be read, or not at one with itself.
    """
    try:
        with Archive(file.open("rb")) as archive, TemporaryDirectory(prefix="driftledger-") as top:
            bundle = Bundle(archive)
            evidence, components = read_bundle(bundle), Components.of(project)
            contents = Unpacked(bundle, Path(top))
            changed: list[bool] = []
            asked = (project, [evidence], contents, calls or sys.maxsize, seed, components)
            again = regenerate(*asked, differing=lambda call: changed.append(contents.replace(call)))
            for _ in range(_PASSES if calls is None and any(changed) else 0):  # what follows from what was replaced
                before = dict(contents.replaced)
                regenerate(*asked, differing=contents.replace)
                if contents.replaced == before:
                    break
            if any(changed):
                for lineage in evidence.lineages:
                    contents.reread(lineage)
            scores = recompute(project, evidence.lineages, contents, components)
            if contents.replaced:  # then records have other digests
                scores.findings = [each for each in scores.findings if ": inputs.records." not in each.where]
            subject = {file.name: sha256_file(file), EVIDENCE: sha256_bytes(archive.read(EVIDENCE))}
    except (ArchiveError, BundleError) as error:
        raise LedgerError(f"{for_line(str(file))} {for_line(str(error))}") from None
    except OSError as error:
        raise LedgerError(f"{for_line(str(file))} cannot be read: {error.strerror}") from None
    said = _said(evidence, again, scores, changed)
    return Reproduced(Statement(REPRODUCTION, subject, said), again, scores)


def _said(evidence: Evidence, again: Regenerated, scores: VerifyResult, changed: list[bool]) -> Mapping[str, Any]:
    result = again.result
    return {
        "outcome": _outcome(again, scores),
        "run": {"name": evidence.name, "fingerprint": evidence.fingerprint},
        "calls": {**again.to_dict(), **_differences(result)},
        "scores": {
            **_differences(scores),
            "numbers": scores.checked["numbers"],
            "from_new_calls": sum(changed),
            "not_from_new_calls": changed.count(False),
        },
        "environment": {
            "driftledger": __version__,
            "python": platform.python_version(),
            "platform": f"{platform.system()} {platform.machine()}",
            "packages": packages().splitlines(),
        },
    }


def _outcome(again: Regenerated, scores: VerifyResult) -> str:
    if not again.result.holds or not scores.holds:
        return "differs"
    if not again.result.checked["calls"]:
        return "nothing made again"
    whole = not again.never and all(kind.compared == kind.calls for kind in again.kinds)
    return "reproduced" if whole else "partly reproduced"


def _differences(result: VerifyResult) -> dict[str, Any]:
    return {
        "differ": len(result.findings),
        "differences": [{"where": each.where, "what": each.what} for each in result.findings[:_MOST]],
        "not_compared": [{"where": each.where, "why": each.why} for each in result.skipped[:_MOST]],
    }
