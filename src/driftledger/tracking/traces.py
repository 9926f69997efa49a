"""Traces of a run: single units of its scores, step by step, in MLflow's trace view.

Ids, times and the names of pictures follow from the run and the unit, so that writing again writes the same.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from mlflow.entities import AssessmentSource, Feedback, Span, TraceInfo, TraceLocation, TraceState
from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository
from mlflow.tracing.client import TracingClient

from driftledger.benchmarks.traces import Shot, Shown, Step
from driftledger.core.canonical import canonical_json, sha256_bytes
from driftledger.core.escaping import for_line
from driftledger.core.types import Outcome
from driftledger.tracking.content import LoggedTrace, clip

_PREVIEW = 1000
"""Characters of what the list of traces shows of each."""

SOURCE_RUN = "mlflow.sourceRun"
"""What says which run a trace is of."""

_PER_CALL = 25
"""Traces whose spans travel together."""

_KINDS = {"model": "CHAT_MODEL", "generator": "TOOL", "judge": "EVALUATOR", "": "PARSER"}
"""Role → the kind of span, which MLflow shows by an icon."""


@dataclass
class _Written:
    """A trace as MLflow has it, and its pictures by their ids."""

    info: TraceInfo
    spans: list[Span]
    pictures: dict[str, Path]


class Traces:
    """The traces of one experiment."""

    def __init__(self, tracking_uri: str, experiment_id: str) -> None:
        self._client = TracingClient(tracking_uri)
        self._experiment_id = experiment_id

    def write(self, run_id: str, start: int, traces: Iterable[LoggedTrace]) -> None:
        """Write the traces of a run that has none.

        Args:
            start: of the run, in milliseconds since 1970.
        """
        made = [_Writing(run_id, self._experiment_id, start + place, each).made() for place, each in enumerate(traces)]
        for first in range(0, len(made), _PER_CALL):
            some = made[first : first + _PER_CALL]
            for each in some:
                info = self._client.start_trace(each.info)
                self._upload(info, each.pictures)
            self._client.log_spans(self._experiment_id, [span for each in some for span in each.spans])

    def delete(self, run_id: str) -> None:
        """Let go of the traces of a run."""
        of_run = f"metadata.`{SOURCE_RUN}` = '{run_id}'"
        while found := self._client.search_traces([self._experiment_id], of_run, _PER_CALL, include_spans=False):
            self._client.delete_traces(self._experiment_id, trace_ids=[each.info.trace_id for each in found])

    def _upload(self, info: TraceInfo, pictures: Mapping[str, Path]) -> None:
        place = info.tags["mlflow.artifactLocation"]
        store: Any = get_artifact_repository(place, tracking_uri=self._client.tracking_uri)  # untyped
        for name, file in pictures.items():
            store.upload_attachment(name, file.read_bytes())


@dataclass
class _Writing:
    """One trace while it is put together."""

    run_id: str
    experiment_id: str
    start: int
    logged: LoggedTrace
    pictures: dict[str, Path] = field(default_factory=dict)

    @property
    def id(self) -> str:
        key = canonical_json([self.run_id, self.logged.place, self.logged.trace.unit])
        return f"tr-{sha256(key.encode()).hexdigest()[:32]}"

    def made(self) -> _Written:
        trace = self.logged.trace
        steps = trace.steps
        whole = Step(trace.name, "", trace.asked, trace.gave, trace.outcome, _first_error(steps))
        spans = [self._span(0, whole, "CHAIN")]
        spans += [self._span(place, step, _KINDS[step.role]) for place, step in enumerate(steps, 1)]
        benchmark, _, on = self.logged.place.partition("/")
        info = TraceInfo(
            trace_id=self.id,
            trace_location=TraceLocation.from_experiment_id(self.experiment_id),
            request_time=self.start,
            state=TraceState.OK if _is_sound(trace.outcome) else TraceState.ERROR,
            request_preview=_preview(trace.asked),
            response_preview=_preview(trace.gave),
            client_request_id=trace.unit,
            trace_metadata={SOURCE_RUN: self.run_id},
            tags={
                "mlflow.traceName": trace.name,
                "mlflow.trace.spansLocation": "TRACKING_STORE",
                "benchmark": benchmark,
                "on": on,
                "unit": trace.unit,
                "outcome": trace.outcome,
            },
            assessments=list(self._scores()),
        )
        return _Written(info, spans, self.pictures)

    def _span(self, place: int, step: Step, kind: str) -> Span:
        """The root is at place 0."""
        attributes = {
            "mlflow.traceRequestId": self.id,
            "mlflow.spanType": kind,
            "mlflow.spanInputs": self._plain(step.asked),
            "mlflow.spanOutputs": self._plain(step.gave),
            "outcome": step.outcome,
        }
        moment = self.start * 1_000_000 + place  # in order; how long a call took, no record tells
        sound = _is_sound(step.outcome)
        return Span.from_dict(
            {
                "trace_id": self.id,
                "span_id": self._span_id(place),
                "parent_span_id": self._span_id(0) if place else None,
                "name": step.name,
                "start_time_unix_nano": moment,
                "end_time_unix_nano": moment,
                "events": [],
                "status": {
                    "code": "STATUS_CODE_OK" if sound else "STATUS_CODE_ERROR",
                    "message": "" if sound else for_line(step.error or step.outcome),
                },
                "attributes": {key: json.dumps(value, ensure_ascii=False) for key, value in attributes.items()},
            }
        )

    def _span_id(self, place: int) -> str:
        return sha256(f"{self.id}/{place}".encode()).hexdigest()[:16]

    def _plain(self, shown: Shown) -> Any:
        """As JSON has it, pictures as references to what is uploaded."""
        if isinstance(shown, Shot):
            return self._reference(shown.file)
        if isinstance(shown, Mapping):
            return {key: self._plain(value) for key, value in shown.items()}
        if isinstance(shown, Sequence) and not isinstance(shown, str):
            return [self._plain(each) for each in shown]
        return shown

    def _reference(self, file: Path) -> str:
        """As an ``Attachment`` of MLflow is referred to, whose id is drawn by chance."""
        content = file.read_bytes()
        name = str(UUID(sha256(f"{self.id}/{sha256_bytes(content)}".encode()).hexdigest()[:32]))
        self.pictures[name] = file
        said = {"content_type": "image/png", "trace_id": self.id, "size": str(len(content))}
        return f"mlflow-attachment://{name}?{urlencode(said)}"

    def _scores(self) -> Iterator[Feedback]:
        for place, (title, value) in enumerate(self.logged.trace.values.items()):
            feedback = Feedback(
                name=title,
                value=value,
                source=AssessmentSource("CODE", "driftledger"),
                trace_id=self.id,
                metadata={"mlflow.assessment.sourceRunId": self.run_id},
                create_time_ms=self.start,
                last_update_time_ms=self.start,
            )
            feedback.assessment_id = f"a-{sha256(f'{self.id}/score/{place}'.encode()).hexdigest()[:32]}"
            yield feedback


def _first_error(steps: Iterable[Step]) -> str | None:
    return next((step.error for step in steps if step.error), None)


def _is_sound(outcome: Outcome) -> bool:
    """Whether it is no error that a reader must look at: a refusal is an answer."""
    return outcome.goes_on or outcome is Outcome.REFUSED


def _preview(shown: Mapping[str, Shown]) -> str:
    """What is text in it."""
    texts = (value if isinstance(value, list) else [value] for value in shown.values())
    return clip(" · ".join(for_line(each) for some in texts for each in some if isinstance(each, str)), _PREVIEW)
