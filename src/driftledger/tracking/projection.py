"""Evidence and score files → what MLflow shows. A projection: nothing here is measured or decided."""

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from driftledger.benchmarks.base import Artifacts
from driftledger.components.card import ComponentCard
from driftledger.core.escaping import for_line
from driftledger.core.paths import Paths
from driftledger.ledger.code import dirty_patch, packages
from driftledger.ledger.lineage import Evidence
from driftledger.ledger.log import chain
from driftledger.project.settings import Tracking
from driftledger.tracking.component_versions import all_of, spec_params
from driftledger.tracking.content import DatasetInput, RunContent
from driftledger.tracking.score_part import ScorePart
from driftledger.tracking.store import Pushed, push

EVIDENCE = "evidence.json"

FLAGS = "driftledger.flags"
"""Tag of runs: what a reader of the scores must know; absent where there is nothing."""

ABSENT = "driftledger.absent"
"""Tag of runs: what could not be computed, and why; absent where there is nothing."""


def tracking_uri(tracking: Tracking) -> str:
    """Where MLflow is: ``MLFLOW_TRACKING_URI``, or what params say."""
    return os.environ.get("MLFLOW_TRACKING_URI") or tracking.uri


def show(root: Path, evidence: Sequence[Evidence], tracking: Tracking) -> str:
    """Let the current runs of the experiment be exactly those that ``evidence`` stands for; say what it took.

    A run that is shown then gets its line of ``ledger.jsonl``, unless it has one.

    Raises:
        LedgerError: the MLflow store cannot be used, and no line is written; or the ledger cannot, and the runs are
            shown. The next call does what is left to do.
    """
    contents = [run_content(root, each) for each in evidence]
    paths = Paths(root)
    pushed = publish(root, contents, tracking, tracking.experiment)
    lines = chain.append(paths.ledger, evidence, paths.state / "locks" / "ledger.lock")
    return (
        f"MLflow experiment {tracking.experiment!r}: {pushed.created} runs created, {pushed.resumed} completed, "
        f"{pushed.unchanged} unchanged; {lines} new in {paths.ledger.name}"
    )


def publish(root: Path, contents: Sequence[RunContent], tracking: Tracking, experiment: str) -> Pushed:
    """Let the current runs of an experiment be exactly these; one process of a checkout at a time.

    Raises:
        LedgerError: the MLflow store cannot be used.
    """
    lock = Paths(root).state / "locks" / "track.lock"
    return push(contents, tracking_uri=tracking_uri(tracking), experiment=experiment, lock=lock)


def run_content(root: Path, evidence: Evidence) -> RunContent:
    """One combination as an MLflow run."""
    parts = list(_parts(root, evidence))
    params: dict[str, str] = {"seed": str(evidence.lineages[0].score.inputs.settings["seed"])} if parts else {}
    tags = {"git.commit": evidence.code.commit or "none", "git.dirty": str(evidence.code.dirty).lower()}
    artifacts = _code_artifacts(root, evidence)
    for part in parts:
        params |= part.params
        tags |= part.tags
        artifacts |= part.artifacts
    for role, card in _roles(evidence):
        params |= spec_params(role, card) | {f"{role}_version": card.fingerprint[:12]}
        tags[f"{role}.fingerprint"] = card.fingerprint
    return RunContent(
        name=evidence.name,
        fingerprint=evidence.fingerprint,
        params=params,
        tags=tags | _said(evidence) | {"mlflow.note.content": _note(evidence, parts)},
        metrics=tuple(metric for part in parts for metric in part.metrics()),
        datasets=tuple(_datasets(evidence)),
        components=all_of(lineage.score for lineage in evidence.lineages),
        artifacts=artifacts,
        late_metrics=lambda: [metric for part in parts for metric in part.late_metrics()],
    )


def _parts(root: Path, evidence: Evidence) -> Iterator[ScorePart]:
    """A part per score; of several of a benchmark on the same data, the first has the short prefix."""
    seen: set[str] = set()
    for lineage in evidence.lineages:
        short = f"{lineage.score.benchmark}/{lineage.on}"
        records = {file.path for file in lineage.collected.values()}  # which several encoders may read
        yield ScorePart(lineage, lineage.place if short in seen else short, root, not records <= seen)
        seen |= {short, *records}


def _roles(evidence: Evidence) -> Iterator[tuple[str, ComponentCard]]:
    """Each role with the component that played it first, and ``<role>.<name>`` with every other one."""
    first = evidence.components
    yield from first.items()
    others = {
        (role, card.name): card
        for lineage in evidence.lineages
        for role, card in lineage.score.components.items()
        if card.name != first[role].name
    }
    yield from ((f"{role}.{name}", card) for (role, name), card in others.items())


@cache
def _packages() -> bytes:
    """The same for every run of a push, and a third of a second to gather."""
    return packages().encode()


def _code_artifacts(root: Path, evidence: Evidence) -> Artifacts:
    artifacts: Artifacts = {
        EVIDENCE: lambda: evidence.model_dump_json(indent=2, by_alias=True).encode(),
        "packages.txt": _packages,
    }
    if evidence.code.dirty:
        artifacts["dirty.patch"] = lambda: dirty_patch(root).encode(errors="surrogateescape")
    return artifacts


def _said(evidence: Evidence) -> dict[str, str]:
    """Which versions services said they were, what a reader of the scores must know, and what could not be computed."""
    served: dict[str, set[str]] = {}
    for lineage in evidence.lineages:
        for role, versions in lineage.score.served.items():
            served.setdefault(role, set()).update(map(for_line, versions))
    tags = {f"{role}.served": ", ".join(sorted(versions)) for role, versions in served.items()}
    scores = [(lineage.place, lineage.score) for lineage in evidence.lineages]
    flags = [f"{place}: {for_line(flag)}" for place, score in scores for flag in score.flags]
    flags += [
        f"{len(each)} served versions of the {role} in this run" for role, each in served.items() if len(each) > 1
    ]
    absent = [
        f"{place}/{metric}: {for_line(reason)}" for place, score in scores for metric, reason in score.absent.items()
    ]
    return tags | {tag: "; ".join(sorted(said)) for tag, said in ((FLAGS, flags), (ABSENT, absent)) if said}


def _note(evidence: Evidence, parts: Iterable[ScorePart]) -> str:
    """The run's description in the UI, in Markdown; every name in it is a catalogue name."""
    lines = [line for part in parts for line in part.note]
    return "\n".join([*lines, "", f"Where it comes from: `driftledger audit {'/'.join(evidence.combination)}`"])


def _datasets(evidence: Evidence) -> Iterable[DatasetInput]:
    """One per name, whichever benchmarks go over it, with as many samples as the one that goes over most."""
    inputs: dict[tuple[str, str], DatasetInput] = {}
    for lineage in evidence.lineages:
        key = lineage.on, lineage.data.md5
        most = max(lineage.score.total, inputs[key].samples if key in inputs else 0)
        inputs[key] = DatasetInput(name=lineage.on, digest=lineage.data.md5, source=lineage.data.path, samples=most)
    return inputs.values()
