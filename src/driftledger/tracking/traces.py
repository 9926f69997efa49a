"""Traces of a run: units step by step with their pictures."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from driftledger.benchmarks.base.chains.spec import ChainBenchmark
from driftledger.benchmarks.base.traces import Shot, Shown, Step, Trace, worth_showing
from driftledger.core.canonical import Json
from driftledger.core.errors import LedgerError
from driftledger.core.media import MEDIA
from driftledger.core.types import Outcome
from driftledger.data.thumbnails import SIDE, shrunk, webp
from driftledger.ledger.lineage import Lineage
from driftledger.scoring.score import Row
from driftledger.tracking.store import all_pages

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.tracing.attachments import Attachment
    from PIL.Image import Image

SOURCE_RUN = "mlflow.sourceRun"
"""Metadata of a trace: the run that it is of."""
_RUN = "driftledger.run"
"""Attribute of our spans, which MLflow writes before the metadata of their trace."""

OF_RUN = f"metadata.`{SOURCE_RUN}` = '{{}}'"
"""Filter for the traces of a run."""
CUT_SHORT = f"metadata.`{SOURCE_RUN}` IS NULL AND span.attributes.`{_RUN}` LIKE '%'"
"""Filter for our traces without metadata, whose writing was ended early."""

CHAIN_SIDE = 384
"""Pixels of the longer side of a chain's pictures, at most."""
_KINDS = {
    "model": "CHAT_MODEL",
    "generator": "TOOL",
    "judge": "EVALUATOR",
    "": "PARSER",
}


def traces_of(
    lineage: Lineage,
    root: Path,
    rows: Sequence[Row],
    at_most: int | Literal["all", "none"],
) -> Iterator[Trace]:
    """Yield the units of a score to look at: the worst, the best and some between.

    Their values are among the outputs. They are no assessments, which MLflow would average over
    these few units.
    """
    if at_most == "none":
        return
    spec = lineage.spec
    score = lineage.score
    chosen = worth_showing(
        spec.metrics, score, rows, None if at_most == "all" else at_most
    )
    for trace in spec.traces(lineage.places(root), score, chosen):
        yield replace(trace, outputs={**trace.outputs, **trace.values})


def chain_rows(
    lineage: Lineage,
    rows_of: Callable[[str], Sequence[Row]],
    at_most: int | Literal["all", "none"],
) -> dict[str, Row]:
    """Return ``photos/<sample>`` → its row, for the chains that MLflow's grid shows.

    As many samples as have traces, evenly spread and the same ones for all models, which the grid
    puts side by side.
    """
    if at_most == "none" or not isinstance(lineage.spec, ChainBenchmark):
        return {}
    rows = rows_of(lineage.rows_path)
    most = len(rows) if at_most == "all" else min(at_most, len(rows))
    chosen = [rows[place * len(rows) // most] for place in range(most)]
    return {f"{lineage.score.on}/{row.unit}": row for row in chosen}


def pictures_of(
    lineage: Lineage, root: Path, chains: Mapping[str, Row]
) -> Iterator[tuple[str, list[Path | None]]]:
    """Yield the key of each chain and its pictures from t = 0 on.

    They are of the first repeat; a text has None.
    """
    rows = [*chains.values()]
    traces = lineage.spec.traces(lineage.places(root), lineage.score, rows)
    for key, trace in zip(chains, traces, strict=True):
        outputs = [*trace.inputs.values()]
        for step in trace.steps:
            if not step.again:
                outputs += step.outputs.values()
        start = [None] if "description" in trace.inputs else []
        yield key, [*start, *(each.file for each in outputs if isinstance(each, Shot))]


@lru_cache(maxsize=500)
def both_sizes(file: Path) -> "tuple[Image, bytes]":
    """Return a picture for the grid of chains, and a smaller one as WebP for traces.

    Several runs show the same originals, and each file is decoded once.
    """
    large, small = shrunk(file, CHAIN_SIDE, SIDE)
    return large, webp(small)


class Traces:
    """The traces of one run, which MLflow queues. The first one is dated as the newest."""

    def __init__(self, client: "MlflowClient", experiment_id: str, run_id: str) -> None:
        self._client = client
        self._experiment_id = experiment_id
        self._run_id = run_id
        self._written = set[str]()
        """Ids of the traces."""
        self._attachments: dict[Path, tuple[Attachment, str]] = {}
        """File and media type → its attachment, and the trace that it is attached to: the first one
        that shows it."""
        self._now = time.time_ns()

    def __len__(self) -> int:
        return len(self._written)

    def add(self, lineage: Lineage, trace: Trace) -> None:
        """Queue one trace, with a span per column of its steps: more spans would take more time."""
        import mlflow

        moment = self._now - len(self) * 1_000_000
        root = mlflow.start_span_no_context(
            trace.name,
            "CHAIN",
            tags={"score": lineage.place, "unit": trace.unit},
            attributes={_RUN: self._run_id},
            metadata={SOURCE_RUN: self._run_id},
            experiment_id=self._experiment_id,
            start_time_ns=moment,
        )
        trace_id = str(root.trace_id)
        root.set_inputs(self._plain(trace.inputs, trace_id))
        for column, group in groupby(
            trace.steps, key=lambda step: (step.again, step.column)
        ):
            steps = list(group)
            span = mlflow.start_span_no_context(
                " ".join(filter(None, column)) or steps[0].name,
                _KINDS[steps[0].role],
                root,
                self._plain(steps[0].inputs, trace_id),
                {_RUN: self._run_id},
                start_time_ns=moment,
            )
            failed = [step.outcome for step in steps if _status(step.outcome) != "OK"]
            span.end(
                outputs=self._outputs(steps, trace_id),
                status=_status(failed[0] if failed else Outcome.OK),
                end_time_ns=moment,
            )
        root.end(
            outputs=self._plain(trace.outputs, trace_id),
            status=_status(trace.outcome),
            end_time_ns=moment,
        )
        self._written.add(trace_id)

    def _outputs(self, steps: Sequence[Step], trace_id: str) -> Json:
        """Gather the outputs of a column's steps; a repeated name gets its step's name."""
        outputs = {}
        for step in steps:
            own = {**step.outputs, "error": step.error} if step.error else step.outputs
            for key, value in own.items():
                name = f"{step.name}: {key}" if key in outputs else key
                outputs[name] = self._plain(value, trace_id)
        return outputs

    def require(self) -> None:
        """Raise if traces are missing; call it once MLflow has written its queue.

        Raises:
            LedgerError: not all traces have arrived.
        """
        arrived = trace_ids(
            self._client, self._experiment_id, OF_RUN.format(self._run_id)
        )
        if {*arrived} != self._written:
            raise LedgerError(
                "MLflow did not take all traces of a run; run 'driftledger track' again"
            )

    def _plain(self, shown: Shown, trace_id: str) -> Any:
        """Convert a value to what MLflow takes."""
        if isinstance(shown, Shot):
            return self._attached(shown.file, trace_id)
        if isinstance(shown, Mapping):
            return {key: self._plain(value, trace_id) for key, value in shown.items()}
        if isinstance(shown, Sequence) and not isinstance(shown, str):
            return [self._plain(item, trace_id) for item in shown]
        return shown

    def _attached(self, file: Path, trace_id: str) -> Any:
        """Attach a picture of a file; refer to it if it is attached already."""
        from mlflow.tracing.attachments import Attachment

        if file in self._attachments:
            attachment, owner = self._attachments[file]
            return attachment.ref(owner)
        attachment = Attachment(
            content_type=MEDIA[".webp"], content_bytes=both_sizes(file)[1]
        )
        self._attachments[file] = attachment, trace_id
        return attachment


def delete_traces(client: "MlflowClient", experiment_id: str, of: str) -> None:
    """Delete the traces for which MLflow's filter ``of`` holds."""
    ids = trace_ids(client, experiment_id, of)
    for start in range(0, len(ids), 100):  # MLflow takes no more at once
        client.delete_traces(experiment_id, trace_ids=ids[start : start + 100])


def trace_ids(client: "MlflowClient", experiment_id: str, of: str) -> list[str]:
    """List the ids of the traces for which MLflow's filter ``of`` holds."""
    traces = all_pages(
        client.search_traces,
        locations=[experiment_id],
        filter_string=of,
        max_results=500,
        include_spans=False,
    )
    return [trace.info.trace_id for trace in traces]


def _status(outcome: Outcome) -> str:
    """Return the status of an outcome; a refusal is an answer and no error."""
    return "OK" if outcome.goes_on or outcome is Outcome.REFUSED else "ERROR"
