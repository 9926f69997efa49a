"""Traces of a run: single units of its scores, step by step with their pictures."""

import io
import mimetypes
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from driftledger.benchmarks.score import Row
from driftledger.benchmarks.traces import Shot, Shown, Step, Trace, worth_showing
from driftledger.core.types import Outcome
from driftledger.ledger.lineage import Lineage
from driftledger.tracking.store import all_pages

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import LiveSpan
    from mlflow.tracing.attachments import Attachment

SOURCE_RUN = "mlflow.sourceRun"
"""Metadata of a trace: the run that it is of."""

SIDE, SMALL = 256, 20_000
"""Pixels of the longer side of an attached picture; bytes of a file that is attached as it is."""

_PER_FLUSH = 200
"""MLflow queues traces, and drops what comes while its queue of 1,000 is full."""

_KINDS = {"model": "CHAT_MODEL", "generator": "TOOL", "judge": "EVALUATOR", "": "PARSER"}


def traces_of(
    lineage: Lineage, root: Path, rows: Sequence[Row], at_most: int | Literal["all", "none"]
) -> Iterator[Trace]:
    """Yield the units of a score to look at: the worst, the best and some between.

    Scores stay on them only where MLflow's average over the traces of a run is the score itself.
    """
    if at_most == "none":
        return
    spec, score = lineage.spec, lineage.score
    shown = worth_showing(spec, score, rows, None if at_most == "all" else at_most)
    traces = list(spec.traces(lineage.places(root), score, shown))
    averages = {
        metric.named(key)
        for key, value in spec.headlines(score).items()
        if (metric := spec.metric(key))
        and len(worth := [trace.values.get(metric.named(key)) for trace in traces]) == len(rows)
        and None not in worth
        and abs(sum(filter(None, worth)) / len(worth) - value) < 1e-9
    }
    for trace in traces:
        scores = {title: value for title, value in trace.values.items() if title in averages}
        yield replace(trace, gave={**trace.gave, **trace.values}, values=scores)


def write_traces(
    client: "MlflowClient", experiment_id: str, run_id: str, traces: Sequence[tuple[Lineage, Trace]]
) -> bool:
    """Write the traces of a run, the first as the newest; return whether all of them arrived."""
    import mlflow
    from mlflow.entities import AssessmentSource

    pictures: dict[Path, tuple[Attachment, str]] = {}
    now, ids = time.time_ns(), list[str]()
    for number, (lineage, trace) in enumerate(traces, 1):
        ids.append(_write(experiment_id, run_id, lineage, trace, now - number * 1_000_000, pictures))
        if number % _PER_FLUSH == 0 or number == len(traces):
            mlflow.flush_trace_async_logging()
    if set(trace_ids(client, experiment_id, run_id)) != set(ids):
        return False
    source = AssessmentSource("CODE", "driftledger")
    for trace_id, (_, trace) in zip(ids, traces, strict=True):
        for title, value in trace.values.items():
            mlflow.log_feedback(trace_id=trace_id, name=title, value=value, source=source)
    return True


def delete_traces(client: "MlflowClient", experiment_id: str, run_id: str) -> None:
    """Delete the traces of a run."""
    ids = trace_ids(client, experiment_id, run_id)
    for start in range(0, len(ids), 100):  # MLflow takes no more at once
        client.delete_traces(experiment_id, trace_ids=ids[start : start + 100])


def trace_ids(client: "MlflowClient", experiment_id: str, run_id: str) -> list[str]:
    of_run = f"metadata.`{SOURCE_RUN}` = '{run_id}'"
    found = all_pages(
        client.search_traces, locations=[experiment_id], filter_string=of_run, max_results=500, include_spans=False
    )
    return [trace.info.trace_id for trace in found]


def _write(
    experiment_id: str,
    run_id: str,
    lineage: Lineage,
    trace: Trace,
    moment: int,
    pictures: "dict[Path, tuple[Attachment, str]]",
) -> str:
    """Write one trace, and return its id."""
    import mlflow

    root = mlflow.start_span_no_context(
        trace.name,
        "CHAIN",
        tags={"score": lineage.place, "unit": trace.unit},
        metadata={SOURCE_RUN: run_id},
        experiment_id=experiment_id,
        start_time_ns=moment,
    )
    plain = partial(_plain, trace_id=root.trace_id, pictures=pictures)
    root.set_inputs(plain(trace.asked))
    for column, steps in groupby(trace.steps, key=lambda step: (step.again, step.column)):
        _write_column(" ".join(filter(None, column)), list(steps), root, moment, plain)
    root.end(outputs=plain(trace.gave), status=_status(trace.outcome), end_time_ns=moment)
    return str(root.trace_id)


def _write_column(
    name: str, steps: Sequence[Step], root: "LiveSpan", moment: int, plain: Callable[[Shown], Any]
) -> None:
    """The steps that belong together as one span, since each span costs."""
    import mlflow

    first = steps[0]
    span = mlflow.start_span_no_context(
        name or first.name, _KINDS[first.role], root, plain(first.asked), start_time_ns=moment
    )
    gave: dict[str, Any] = {}
    for step in steps:
        for key, value in (*step.gave.items(), *([("error", step.error)] if step.error else [])):
            gave[f"{step.name}: {key}" if key in gave else key] = plain(value)
    worst = next((step.outcome for step in steps if _status(step.outcome) != "OK"), Outcome.OK)
    span.end(outputs=gave, status=_status(worst), end_time_ns=moment)


def _status(outcome: Outcome) -> str:
    """A refusal is an answer, and no error that a reader must look at."""
    return "OK" if outcome.goes_on or outcome is Outcome.REFUSED else "ERROR"


def _plain(shown: Shown, trace_id: str, pictures: "dict[Path, tuple[Attachment, str]]") -> Any:
    """As MLflow takes it; a picture is attached to the first trace of the run that shows it."""
    from mlflow.tracing.attachments import Attachment

    if isinstance(shown, Shot):
        if shown.file in pictures:
            attachment, owner = pictures[shown.file]
            return attachment.ref(owner)
        content_type, content = _thumbnail(shown.file)
        attachment = Attachment(content_type=content_type, content_bytes=content)
        pictures[shown.file] = attachment, trace_id
        return attachment
    if isinstance(shown, Mapping):
        return {key: _plain(value, trace_id, pictures) for key, value in shown.items()}
    if isinstance(shown, Sequence) and not isinstance(shown, str):
        return [_plain(each, trace_id, pictures) for each in shown]
    return shown


@lru_cache(maxsize=1000)
def _thumbnail(file: Path) -> tuple[str, bytes]:
    """Content type and bytes of a picture, small enough for many traces."""
    content = file.read_bytes()
    if len(content) <= SMALL:
        return mimetypes.guess_type(file.name)[0] or "image/png", content
    from PIL import Image

    with Image.open(io.BytesIO(content)) as image:
        image.thumbnail((SIDE, SIDE))
        small = io.BytesIO()
        image.convert("RGB").save(small, "JPEG", quality=85)
    return "image/jpeg", small.getvalue()
