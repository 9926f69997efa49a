"""Evidence and score files → what MLflow shows. A projection: nothing here is measured or decided."""

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import Any, Generic, Literal, TypeVar

from driftledger.benchmarks.base import Artifacts, base_role, kind_of
from driftledger.benchmarks.traces import Trace
from driftledger.collect.call_result import Cost
from driftledger.components.card import ComponentCard
from driftledger.core.canonical import canonical_json
from driftledger.core.escaping import for_line, for_markdown
from driftledger.core.paths import Paths
from driftledger.ledger.code import packages
from driftledger.ledger.lineage import Evidence
from driftledger.metrics.exact import exact_mean
from driftledger.project.settings import Tracking
from driftledger.reports.charts import colour_of
from driftledger.tracking.addresses import artifact_store, tracking_uri
from driftledger.tracking.component_versions import all_of, spec_params
from driftledger.tracking.content import EVIDENCE, NOTE, PACKAGES, DatasetInput, RunContent, as_text, clip
from driftledger.tracking.score_part import ScorePart, evaluation_table, taken
from driftledger.tracking.store import Pushed, push
from driftledger.tracking.views import readable, tags_of, views

T = TypeVar("T")


COLOUR = "mlflow.runColor"
"""Tag of runs: their colour in charts, which MLflow draws by chance otherwise."""

EVIDENCE_TAG = "driftledger.evidence_sha256"
"""Tag of runs: as in the ledger's line; the evidence itself is an artifact."""

EXPERIMENT_NOTE = """\
A run for each combination of model, generator and encoder; a view of what DVC's locks hold, which `driftledger track` \
rebuilds.

- **GenAI, Evaluation runs**: all runs with their scores; choose some and look at the same sample side by side.
- **GenAI, Traces**: chains, answers and descriptions step by step with their pictures.
- **Model training, Runs, Views**: the leaderboard, and charts of each benchmark; *Artifact evaluation* sets all units \
side by side.
- Scores are `<metric>.<benchmark>.<data>`; other metrics and curves stand below their benchmark, intervals, \
deviations and coverage below `uncertainty`, groups below `within …`, what calls took below `usage`.
- **Duration** is what a run's calls took, one after the other, whenever they were made; empty where no one knows.
- Runs tagged `driftledger.current: true` show what is selected now. Where a number comes from: \
`driftledger audit RUN:METRIC`.
"""

_MAX_IDENTITY = 300
_DIGEST = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{20,}\b")

EVALUATION = {"mlflow.runType": "genai_evaluate"}
"""Tag of runs: lets MLflow show them among its evaluation runs, with their metrics and traces."""

TABLES = "mlflow.loggedArtifacts"
"""Tag of runs: which artifacts are tables that MLflow's evaluation view sets side by side."""

_TYPES: Mapping[type, str] = {bool: "boolean", int: "long", float: "double", list: "array", dict: "map"}
_EXPECTED = ("answer", "refusal", "label")
"""Of a sample or question: what is right."""

_IS_REMOTE = re.compile(r"(https?|ssh|git)://|[\w.-]+@[\w.-]+:")

FLAGS = "driftledger.flags"
"""Tag of runs: what a reader of the scores must know; absent where there is nothing."""

ABSENT = "driftledger.absent"
"""Tag of runs: what could not be computed, and why; absent where there is nothing."""


def show(
    root: Path,
    evidence: Sequence[Evidence],
    tracking: Tracking,
    *,
    repair: bool = False,
    calls: Path | None = None,
) -> str:
    """Let the current runs of the experiment be exactly those that ``evidence`` stands for; say what it took.

    Args:
        repair: whether what MLflow holds otherwise is mended, and doubles are merged.
        calls: the folder of the call store, where it is not that of the repository.

    Raises:
        LedgerError: the MLflow store cannot be used.
    """
    contents = contents_of(root, evidence, tracking, calls)
    about = partial(_about, root, evidence, contents)
    pushed = publish(root, contents, tracking, tracking.experiment, about, repair=repair)
    return (
        f"MLflow experiment {tracking.experiment!r}: {pushed.created} runs created, {pushed.resumed} completed, "
        f"{pushed.unchanged} unchanged{f', {pushed.merged} doubles merged' if pushed.merged else ''}"
    )


def contents_of(
    root: Path, evidence: Sequence[Evidence], tracking: Tracking, calls: Path | None = None
) -> list[RunContent]:
    """What each run shows in MLflow: of a run that the ledger has a line for, with the code that it names there."""
    models = list(dict.fromkeys(each.combination.model for each in evidence))
    cards = [each.components["model"] for each in evidence]
    series = colour_of(models, {card.name for card in cards if card.is_control})
    return [
        run_content(root, each, colour=series[each.combination.model].colour, traces=tracking.traces, calls=calls)
        for each in evidence
    ]


def publish(
    root: Path,
    contents: Sequence[RunContent],
    tracking: Tracking,
    experiment: str,
    about: Callable[[Mapping[str, str]], Mapping[str, str]] = lambda held: {},
    *,
    repair: bool = False,
) -> Pushed:
    """Let the current runs of an experiment be exactly these, and its tags what ``about`` says; one process of a
    repository at a time.

    Raises:
        LedgerError: the MLflow store cannot be used.
    """
    lock = Paths(root).shared / "locks" / "track.lock"
    uri = tracking_uri(tracking)
    return push(
        contents,
        tracking_uri=uri,
        experiment=experiment,
        lock=lock,
        about=about,
        repair=repair,
        artifacts=artifact_store(tracking),
    )


def _about(
    root: Path, evidence: Sequence[Evidence], contents: Sequence[RunContent], held: Mapping[str, str]
) -> dict[str, str]:
    """Tags of the experiment: what is here, and saved views where MLflow shows them."""
    import mlflow

    tags = {NOTE: EXPERIMENT_NOTE}
    if readable(mlflow.__version__):
        parts = [part for each in evidence for part in _parts(root, each)]
        metrics = [metric.key for content in contents for metric in (*content.metrics, *content.late_metrics())]
        tags |= tags_of(views(parts, metrics), held, int(time.time() * 1000))
    return tags


def run_content(
    root: Path,
    evidence: Evidence,
    *,
    colour: str | None = None,
    traces: int | Literal["all", "none"] = "none",
    calls: Path | None = None,
) -> RunContent:
    """One combination as an MLflow run.

    Args:
        colour: of the run in charts; None is left to MLflow.
        traces: how many units of each score it shows step by step.
        calls: the folder of the call store, where it is not that of the repository.
    """
    parts = list(_parts(root, evidence))
    params = {"dataset": ", ".join(dict.fromkeys(lineage.on for lineage in evidence.lineages))} if parts else {}
    params |= {"seed": str(evidence.lineages[0].score.inputs.settings["seed"])} if parts else {}
    tags = {"git.commit": evidence.code.commit or "none", "git.dirty": str(evidence.code.dirty).lower()}
    tags |= EVALUATION | {EVIDENCE_TAG: evidence.fingerprint} | ({COLOUR: colour} if colour else {})
    artifacts = _code_artifacts(evidence)
    for part in parts:
        params |= part.params
        artifacts |= part.artifacts
    for role, card in _roles(evidence):
        params |= spec_params(role, card) | {f"{role}_version": card.fingerprint[:12]}
        tags[f"{role}.fingerprint"] = card.fingerprint
    units = [] if traces == "none" else [(part, _Shared(part.traces, 1 + part.costed)) for part in parts]
    artifacts |= {part.table: partial(_table, shared) for part, shared in units}
    tables = {TABLES: canonical_json([{"path": part.table, "type": "table"} for part, _ in units])} if units else {}
    metrics = [metric for part in parts for metric in part.metrics()]
    costs = cache(partial(taken, calls or Paths(root).shared, parts))
    return RunContent(
        name=evidence.name,
        fingerprint=evidence.fingerprint,
        params=params,
        tags=tags | _source(root, evidence) | _said(evidence) | tables | {NOTE: _note(evidence, parts)},
        metrics=(*(each for each in metrics if each.of), *(each for each in metrics if not each.of)),  # headlines first
        datasets=tuple(_datasets(root, evidence)),
        components=all_of(lineage.score for lineage in evidence.lineages),
        artifacts=artifacts,
        late_metrics=lambda: [metric for part, some in costs() for metric in part.cost_metrics(some)],
        seconds=lambda: _seconds(costs()),
        traces=lambda: (
            trace
            for part, shared in units
            if part.costed
            for trace in part.worth_showing(shared.get(), traces if isinstance(traces, int) else None)
        ),
    )


class _Shared(Generic[T]):
    """What several ask for, in any thread: made for the first of them, and let go of after the last."""

    def __init__(self, make: Callable[[], T], uses: int) -> None:
        self._make, self._uses, self._lock = make, uses, Lock()
        self._made: list[T] = []

    def get(self) -> T:
        with self._lock:
            made = self._made.pop() if self._made else self._make()
            self._uses -= 1
            if self._uses > 0:
                self._made.append(made)
            return made


def _table(units: _Shared[list[Trace]]) -> bytes:
    return evaluation_table(units.get())


def _seconds(costs: Iterable[tuple[ScorePart, Mapping[str, Sequence[Cost]]]]) -> float | None:
    calls = [call for _, of_roles in costs for some in of_roles.values() for call in some]
    return exact_mean([call.seconds for call in calls]) * len(calls) if calls else None


def _source(root: Path, evidence: Evidence) -> dict[str, str]:
    """Where MLflow's pages look for the code of a run."""
    tags = {"mlflow.source.name": "driftledger track", "mlflow.source.type": "LOCAL"}
    tags |= {"mlflow.source.git.commit": evidence.code.commit} if evidence.code.commit else {}
    return tags


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


def _code_artifacts(evidence: Evidence) -> Artifacts:
    artifacts: Artifacts = {
        EVIDENCE: lambda: evidence.model_dump_json(indent=2, by_alias=True).encode(),
        PACKAGES: _packages,
    }
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
    table = ["| | version | what identifies it |", "|---|---|---|"]
    for role, card in sorted(_roles(evidence), key=lambda each: not each[0].startswith("generator")):
        table.append(f"| {base_role(role).replace('_', ' ')} | {_version(role, card)} | {_identity(card)} |")
    data = {lineage.on: lineage.data.md5 for lineage in evidence.lineages}
    table += [f"| data | {name} | `{md5}` |" for name, md5 in data.items()]
    commit = "outside Git" if evidence.code.commit is None else f"`{evidence.code.commit[:12]}`"
    table.append(f"| code | {commit} | {'with uncommitted changes' if evidence.code.dirty else 'as committed'} |")
    scores = [line for part in parts for line in part.note]
    asked = f"Where it comes from: `driftledger audit {evidence.fingerprint[:12]}`"
    return "\n".join([*table, "", *scores, "", asked])


def _version(role: str, card: ComponentCard) -> str:
    """Name and version as ``audit`` takes them, with a link to what MLflow has of the name."""
    return f"[{card.name}@{card.fingerprint[:12]}](#/models/{kind_of(role)}.{card.name})"


def _identity(card: ComponentCard) -> str:
    """What its settings resolve to, in Markdown, digests by their beginning; where nothing does, its provider."""
    told = [_DIGEST.sub(r"\1…", f"{key} {as_text(value)}") for key, value in card.identity.items()]
    return for_markdown(clip(", ".join(told) or f"{card.provider} {card.version}", _MAX_IDENTITY))


def _datasets(root: Path, evidence: Evidence) -> Iterable[DatasetInput]:
    """One per name, whichever benchmarks go over it, with as many samples as the one that goes over most."""
    inputs: dict[tuple[str, str], DatasetInput] = {}
    for lineage in evidence.lineages:
        key = lineage.on, lineage.data.md5
        most = max(lineage.score.total, inputs[key].samples if key in inputs else 0)
        if key in inputs:
            inputs[key] = replace(inputs[key], samples=most)
        else:
            folder = root / lineage.data.path
            columns = _columns(_lines(folder))
            inputs[key] = DatasetInput(*key, lineage.data.path, most, columns, partial(_records, folder))
    return inputs.values()


def _lines(folder: Path) -> list[dict[str, Any]]:
    """What a dataset or question set has, less what is empty; nothing without the folder."""
    files = [file.read_bytes().removesuffix(b"\n") for file in sorted(folder.glob("*.jsonl"))]
    texts = [line for file in files if file for line in file.split(b"\n")]  # a text may hold other line breaks
    lines = [json.loads(line) for line in texts]
    return [{key: value for key, value in line.items() if value not in (None, [], {})} for line in lines]


def _records(folder: Path) -> list[dict[str, Any]]:
    return [
        {
            "inputs": {key: value for key, value in line.items() if key not in _EXPECTED},
            "expectations": {key: value for key, value in line.items() if key in _EXPECTED},
        }
        for line in _lines(folder)
    ]


def _columns(lines: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """What any line has → its type."""
    columns = {key: _TYPES.get(type(value), "string") for line in lines for key, value in line.items()}
    return dict(sorted(columns.items()))
