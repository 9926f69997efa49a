"""Whether all behind a run still holds: bytes, links and numbers, and the ledger's line of it."""

import math
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Group, RenderableType

from driftledger.benchmarks.selection import Selected
from driftledger.components.checkpoints.source import hashed_anew
from driftledger.core.errors import DriftledgerError
from driftledger.core.files import parsed_once
from driftledger.core.paths import Combination
from driftledger.core.terminal import BAD, DOUBT, GOOD, line, lines, table
from driftledger.ledger.attest.check import Trust, check_whose
from driftledger.ledger.findings import Finding, Kind, VerifyResult
from driftledger.ledger.lineage import Evidence, read_all_evidence
from driftledger.ledger.log.chain import check as check_chain
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.objects.reach import HERE, Reach
from driftledger.ledger.verify.bytes_check import check_bytes, check_stages
from driftledger.ledger.verify.components import Components
from driftledger.ledger.verify.links import check_links
from driftledger.ledger.verify.recompute import recompute
from driftledger.ledger.verify.seen_once import SeenOnce
from driftledger.project.project import Project

if TYPE_CHECKING:
    from driftledger.ledger.verify.ask_again import AskedAgain
    from driftledger.ledger.verify.regenerate import Regenerated

_REMEDY: dict[Kind, str] = {
    "bytes": "bytes: 'dvc checkout' or 'git checkout' brings back what was recorded; 'dvc repro' makes it anew",
    "numbers": "numbers: 'dvc repro' computes them again from the records; what was published with them was wrong",
    "missing": "missing: 'dvc pull' brings what a remote has; 'dvc repro' makes it anew",
}
"""What to do, kind by kind."""

_SHOWN = 5
"""Of what cannot be checked here; JSON has all."""

_FILES, _CHAIN = "files", "ledger"


class Verified(NamedTuple):
    """What was checked, and what came of it."""

    names: list[str]
    checks: dict[str, VerifyResult]
    """In the order in which they were made."""
    again: "Regenerated | None" = None
    asked: "Sequence[AskedAgain]" = ()
    """What services said that were asked again: no proof, and so no finding."""
    told: Sequence[str] = ()
    """Sentences, of which the last says by whose history it holds."""

    @property
    def result(self) -> VerifyResult:
        """All of it together."""
        return sum(self.checks.values(), VerifyResult())

    def as_table(self) -> Group:
        """A line per check; each difference, and what to do; what cannot be checked here; and a sentence on all."""
        made, result = table("check", "how many", "result", "first problem"), self.result
        for name, each in self.checks.items():
            many = ", ".join(f"{count:,} {what}" for what, count in sorted(each.checked.items()))
            found, skipped = each.findings, each.skipped
            good = "holds" if many else "nothing to check"
            came = f"{len(found)} wrong" if found else f"{len(skipped)} not checked" if skipped else good
            first = found[0].where if found else skipped[0].where if skipped else ""
            style = BAD if found else DOUBT if skipped else GOOD
            made.add_row(line(name), line(many or "–"), line(came, style), line(first))
        what = self.names[0] if len(self.names) == 1 else f"{len(self.names)} runs"
        several = "" if len(result.findings) == 1 else "s"
        rest = f" that can be checked here; {len(result.skipped)} not" if result.skipped else ""
        end = f"{len(result.findings)} difference{several}" if result.findings else f"all holds{rest}"
        told = [f"{each.kind}: {each.where}: {each.what}" for each in result.findings]
        told += [f"→ {_REMEDY[kind]}" for kind in dict.fromkeys(each.kind for each in result.findings)]
        told += [f"not checked: {each.where}: {each.why}" for each in result.skipped[:_SHOWN]]
        more = len(result.skipped) - _SHOWN
        told += [f"not checked: {more} more; --json has them all"] * (more > 0)
        ending = line(f"{what}: {end}", GOOD if result.holds else BAD)
        return Group(*self._head(), made, "", lines(told), ending, lines(self.told))

    def _head(self) -> list[RenderableType]:
        """By which lot calls were drawn, and what that can prove."""
        if self.again is None:
            return [lines(map(str, self.asked)), ""] if self.asked else []
        told = [f"calls are drawn by lot, with seed {self.again.seed}; --seed draws the same ones again"]
        told += [f"cannot be made again: {why}" for why in self.again.never]
        forged = "a forgery of 10% or more of them is found with probability"
        kinds = table("made again", "calls", "of", forged, numbers=("calls", "of", forged))
        for kind in self.again.kinds:
            found = f"{math.floor(100 * kind.found_with) / 100:.2f}"
            kinds.add_row(*map(line, (kind.name, f"{kind.compared:,}", f"{kind.calls:,}", found)))
        return [lines(told), "", kinds, "", lines(map(str, self.asked))]

    def to_dict(self) -> dict[str, object]:
        return {
            "runs": self.names,
            "holds": self.result.holds,
            "checked": dict(self.result.checked),
            "findings": [finding._asdict() for finding in self.result.findings],
            "skipped": [each._asdict() for each in self.result.skipped],
            "told": [*self.told],
            **({} if self.again is None else {"regenerated": self.again.to_dict()}),
            **({"asked_again": [each._asdict() for each in self.asked]} if self.asked else {}),
        }


@hashed_anew()
@parsed_once()
def verify(
    project: Project,
    run: str | None,
    reach: Reach = HERE,
    *,
    regenerated: int,
    seed: int | None = None,
    asked_again: int = 0,
) -> Verified:
    """Check every byte, link and number behind a run, or behind all that are selected.

    Args:
        regenerated: how many calls of each run are made again.
        seed: draws the calls of an earlier verification again; None draws others each time.
        asked_again: how many calls of each run services are asked again, twice each, which costs money.
    """
    if not reach.trust:  # whose repositories the checkout names, with the reader's token
        os.environ["HF_HUB_OFFLINE"] = "1"
    contents = Contents(project.root, reach)
    try:
        evidence = _to_verify(project, run, reach)
    except DriftledgerError as error:  # what is damaged may be what would have told what is behind the run
        return _damaged(project, run, contents, error)
    components = Components.of(project, trust=reach.trust)
    lineages = [lineage for each in evidence for lineage in each.lineages]
    files, links = check_bytes(project.root, evidence, contents), check_links(evidence, contents)
    once = SeenOnce() if files.holds and links.holds else None  # it goes by hashes that are right then
    checks = {
        _FILES: files,
        "links between them": links,
        "scores computed again": recompute(project, lineages, contents, components, once),
    }
    again: Regenerated | None = None
    asked: Sequence[AskedAgain] = ()
    if regenerated or asked_again:
        from driftledger.ledger.verify.ask_again import ask_again
        from driftledger.ledger.verify.regenerate import own_seed, regenerate

        lot = own_seed() if seed is None else seed
    if regenerated:
        again = regenerate(project, evidence, contents, regenerated, lot, components)
        checks["calls made again"] = again.result
    if asked_again:
        asked, checks["services asked again"] = ask_again(
            project, evidence, contents, asked_again, lot, trust=reach.trust
        )
    checks[_CHAIN] = check_chain(project.paths.ledger, project.root, evidence)
    return Verified([each.name for each in evidence], checks, again, asked)


def verify_ledger(project: Project) -> Verified:
    """Check the chain of ``ledger.jsonl``, and that the selected runs are in it."""
    evidence = read_all_evidence(project.root, project.selected, project.combinations)
    return Verified(["ledger.jsonl"], {_CHAIN: check_chain(project.paths.ledger, project.root, evidence)})


def by_whose_history(project: Project, verified: Verified, trust: Trust) -> Verified:
    """The same, with what checkpoints tell of the ledger: nothing that is checked here says who wrote it, and when.

    Errors as in :func:`~driftledger.ledger.attest.check.check_whose`.
    """
    whose = check_whose(project.paths.ledger, project.root, trust)
    said = whose.result != VerifyResult()
    checks = verified.checks | ({"checkpoints": whose.result} if said else {})
    return verified._replace(checks=checks, told=whose.told)


def _to_verify(project: Project, run: str | None, reach: Reach) -> Sequence[Evidence]:
    if run is None:
        return read_all_evidence(project.root, project.selected, project.combinations)
    with suppress(DriftledgerError):  # which Git's history or MLflow may still have
        if here := _named(project, run):
            return read_all_evidence(project.root, project.selected, here)
    from driftledger.commands.ask import evidence_of  # which opens MLflow

    return [evidence_of(project, run, reach)]


def _named(project: Project, run: str | None) -> list[Combination]:
    """The selected runs of that name; all for None."""
    return [each for each in project.combinations if run in (None, str(each), "/".join(each))]


def _damaged(project: Project, run: str | None, contents: Contents, error: DriftledgerError) -> Verified:
    """What is wrong with the stages behind a selected run whose evidence cannot be read; else the error as it is."""
    chosen = _named(project, run)
    if not chosen:
        raise error
    scores = [score for each in chosen for score in project.selected.of(each).scores]
    result = check_stages(project.root, Selected(scores), contents)
    if result.holds:
        result += VerifyResult([Finding("missing", "evidence", str(error))])
    return Verified([str(each) for each in chosen], {_FILES: result})
