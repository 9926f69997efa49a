"""Evidence and score files → what MLflow shows. A projection: nothing here is measured or decided."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache

from driftledger.benchmarks._questions.records import QuestionScore
from driftledger.benchmarks.description_records import FidelityScore, TracScore
from driftledger.benchmarks.genception.records import ScoreFile
from driftledger.core.escaping import for_line
from driftledger.core.paths import Layout
from driftledger.ledger.code import dirty_patch, packages
from driftledger.ledger.lineage import Evidence
from driftledger.ledger.log import chain
from driftledger.project.settings import Tracking
from driftledger.tracking.components import all_of, spec_params
from driftledger.tracking.content import DatasetInput, Metric, RunContent
from driftledger.tracking.fidelity import fidelity_part
from driftledger.tracking.genception import genception_part
from driftledger.tracking.part import Artifacts, Part, place_of
from driftledger.tracking.questions import question_part
from driftledger.tracking.store import push
from driftledger.tracking.trac import trac_parts

EVIDENCE = "evidence.json"

FLAGS = "driftledger.flags"
"""Tag of runs: what a reader of the scores must know; absent where there is nothing."""

ABSENT = "driftledger.absent"
"""Tag of runs: what could not be computed, and why; absent where there is nothing."""

_ROLES = ("model", "generator", "encoder")


def tracking_uri(tracking: Tracking) -> str:
    """Where MLflow is: ``MLFLOW_TRACKING_URI``, or what params say."""
    return os.environ.get("MLFLOW_TRACKING_URI") or tracking.uri


def show(layout: Layout, evidence: Sequence[Evidence], tracking: Tracking) -> str:
    """Let the current runs of the experiment be exactly those that ``evidence`` stands for; say what it took.

    A run that is shown then gets its line of ``ledger.jsonl``, unless it has one.

    Raises:
        LedgerError: the MLflow store cannot be used, and no line is written; or the ledger cannot, and the runs are
            shown. The next call does what is left to do.
    """
    contents = [run_content(layout, each) for each in evidence]
    lock = layout.state / "locks" / "track.lock"
    pushed = push(contents, tracking_uri=tracking_uri(tracking), experiment=tracking.experiment, lock=lock)
    lines = chain.append(layout.ledger, evidence, layout.state / "locks" / "ledger.lock")
    return (
        f"MLflow experiment {tracking.experiment!r}: {pushed.created} runs created, {pushed.resumed} completed, "
        f"{pushed.unchanged} unchanged; {lines} new in {layout.ledger.name}"
    )


def run_content(layout: Layout, evidence: Evidence) -> RunContent:
    """One combination as an MLflow run."""
    parts = [
        *(genception_part(layout, evidence.name, behind) for behind in evidence.of(ScoreFile)),
        *trac_parts(layout, evidence.of(TracScore)),
        *(fidelity_part(layout, evidence.name, behind) for behind in evidence.of(FidelityScore)),
        *(question_part(layout, behind) for behind in evidence.of(QuestionScore)),
    ]
    cards = {role: card for role, card in evidence.cards.items() if role in _ROLES}
    params: dict[str, str] = {}
    tags = {f"{role}.fingerprint": card.fingerprint for role, card in cards.items()}
    tags |= {"git.commit": evidence.code.commit or "none", "git.dirty": str(evidence.code.dirty).lower()}
    artifacts = _code_artifacts(layout, evidence)
    for part in parts:
        params |= part.params
        tags |= part.tags
        artifacts |= part.artifacts
    for role, card in cards.items():
        params |= spec_params(role, card)
    return RunContent(
        name=evidence.name,
        fingerprint=evidence.fingerprint,
        params=params,
        tags=tags | _said(evidence) | {"mlflow.note.content": _note(evidence, parts)},
        metrics=tuple(metric for part in parts for metric in _linked(part, part.metrics)),
        datasets=tuple(_datasets(evidence)),
        components=all_of(part.components for part in parts),
        artifacts=artifacts,
        late_metrics=lambda: [metric for part in parts for metric in _linked(part, part.late_metrics())],
    )


def _linked(part: Part, metrics: Iterable[Metric]) -> Iterator[Metric]:
    """The metrics with the component versions that they are of."""
    keys = tuple(component.key for component in part.components.measured)
    return (replace(metric, of=keys) for metric in metrics)


@cache
def _packages() -> bytes:
    """The same for every run of a push, and a third of a second to gather."""
    return packages().encode()


def _code_artifacts(layout: Layout, evidence: Evidence) -> Artifacts:
    artifacts: Artifacts = {
        EVIDENCE: lambda: evidence.model_dump_json(indent=2, by_alias=True).encode(),
        "packages.txt": _packages,
    }
    if evidence.code.dirty:
        artifacts["dirty.patch"] = lambda: dirty_patch(layout.root).encode(errors="surrogateescape")
    return artifacts


def _said(evidence: Evidence) -> dict[str, str]:
    """Which versions services said they were, what a reader of the scores must know, and what could not be computed."""
    served: dict[str, set[str]] = {}
    for behind in evidence.behind:
        for role, versions in behind.score.served.items():
            served.setdefault(role, set()).update(map(for_line, versions))
    tags = {f"{role}.served": ", ".join(sorted(versions)) for role, versions in served.items()}
    scores = [(f"{behind.score.benchmark}/{place_of(behind.score)}", behind.score) for behind in evidence.behind]
    flags = [f"{place}: {for_line(flag)}" for place, score in scores for flag in score.flags]
    flags += [
        f"{len(each)} served versions of the {role} in this run" for role, each in served.items() if len(each) > 1
    ]
    absent = [
        f"{place}/{metric}: {for_line(reason)}" for place, score in scores for metric, reason in score.absent.items()
    ]
    return tags | {tag: "; ".join(sorted(said)) for tag, said in ((FLAGS, flags), (ABSENT, absent)) if said}


def _note(evidence: Evidence, parts: Iterable[Part]) -> str:
    """The run's description in the UI, in Markdown; every name in it is a catalogue name."""
    lines = [line for part in parts for line in part.note]
    return "\n".join([*lines, "", f"Where it comes from: `driftledger audit {'/'.join(evidence.combination)}`"])


def _datasets(evidence: Evidence) -> Iterable[DatasetInput]:
    """One per name, whichever benchmarks go over it, with as many samples as the one that goes over most."""
    inputs: dict[tuple[str, str], DatasetInput] = {}
    for behind in evidence.behind:
        key = behind.on, behind.data.md5
        most = max(behind.score.total, inputs[key].samples if key in inputs else 0)
        inputs[key] = DatasetInput(name=behind.on, digest=behind.data.md5, source=behind.data.path, samples=most)
    return inputs.values()
