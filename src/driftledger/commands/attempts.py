"""What is selected, as plans name it, and that it was tried."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from driftledger.commands.kept import ENTRIES
from driftledger.core.canonical import sha256_of
from driftledger.ledger.attest.attest import read_all
from driftledger.ledger.attest.plans import attempt_name, open_plan
from driftledger.ledger.code import code_version
from driftledger.ledger.log.chain import note, read_ledger
from driftledger.ledger.log.lines import Noted, PublishedCode, read_chain
from driftledger.project.project import Project

_VIEWS = ("report", "correlation")
"""Code that shows scores, and moves none."""

_BESIDE = (ENTRIES, "code", "correlation", "observations")
"""Noted, and no part of a selection as it stands."""


def note_attempt(project: Project, noted: Mapping[str, Any]) -> None:
    """Note the selection as an attempt under the open plan, once; nothing where none is open.

    Args:
        noted: of :func:`~driftledger.commands.resolve.resolved`.

    Raises:
        LedgerError: the ledger is not as it was written, or cannot be written.
    """
    chain, kept = read_chain(read_ledger(project.paths.ledger)), read_all(project.root).of("plan")
    plan, selection = open_plan(chain, kept), planned(project, noted)["selection_sha256"]
    if plan is None:
        return
    name = attempt_name(plan.line.subject_sha256)
    if any((line.name, line.subject_sha256) == (name, selection) for line in chain.notes.values()):
        return  # and nothing need be written, nor Git be asked
    code = code_version(project.root)
    attempt = Noted(
        kind="attempt",
        name=name,
        subject_sha256=selection,
        code=PublishedCode(commit=code.commit, dirty=code.dirty),
    )
    note(project.paths.ledger, ledger_lock(project), lambda *_: attempt)


def planned(project: Project, noted: Mapping[str, Any]) -> dict[str, Any]:
    """What is selected, in words and as digests, and one digest of all of it."""
    settings = project.settings
    code = {part: each for part, each in noted["code"].items() if part not in _VIEWS}
    selection = {
        "run": settings.run.model_dump(mode="json"),
        "settings": {spec.name: settings.section(spec.name).model_dump(mode="json") for spec in settings.benchmarks},
        "resolved": {part: each for part, each in noted.items() if part not in _BESIDE} | {"code": code},
    }
    headlines = {spec.name: [each.key for each in spec.metrics if each.headline] for spec in settings.benchmarks}
    return selection | {"headlines": headlines, "selection_sha256": sha256_of(selection)}


def ledger_lock(project: Project) -> Path:
    """Held by who appends to the ledger."""
    return project.paths.state / "locks" / "ledger.lock"
