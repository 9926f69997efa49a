"""Traces of a run: single units of its scores, step by step, in MLflow's trace view.

Ids, times and the names of pictures follow from the run and the unit, so that writing again writes the same.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from copy import copy
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeGuard
from urllib.parse import urlencode
from uuid import UUID

from mlflow.entities import Assessment, AssessmentSource, Feedback, Span, TraceInfo, TraceLocation, TraceState
from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository
from mlflow.store.artifact.local_artifact_repo import LocalArtifactRepository
from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
from mlflow.tracing.client import TracingClient

from driftledger.benchmarks.traces import Shot, Shown, Step
from driftledger.core.canonical import sha256_bytes, sha256_of
from driftledger.core.escaping import for_line
from driftledger.core.types import Outcome
from driftledger.tracking import connection
from driftledger.tracking.content import LoggedTrace, clip

_PREVIEW = 1000
"""Characters of what the list of traces shows of each."""

SOURCE_RUN = "mlflow.sourceRun"
"""What says which run a trace is of."""

_SOURCE = "driftledger"
"""Of the scores of a trace: what tells them from what people say."""

_LISTED = 500
"""Traces that are listed at once."""

_PER_CALL = 25
"""Traces that travel together."""

_KINDS = {"model": "CHAT_MODEL", "generator": "TOOL", "judge": "EVALUATOR", "": "PARSER"}
"""Role → the kind of span, which MLflow shows by an icon."""


class Traces:
    """The traces of one experiment.

    Args:
        begin: to be called before something is written or deleted.
    """

    def __init__(self, tracking_uri: str, experiment_id: str, begin: Callable[[], None] = lambda: None) -> None:
        self._begin = begin
        self._client = TracingClient(tracking_uri)
        self._experiment_id = experiment_id

    def write(self, run_id: str, start: int, traces: Iterable[LoggedTrace]) -> None:
        """Write the traces of a run that has none; the first is the newest, which MLflow lists first.

        Args:
            start: of the run, in milliseconds since 1970.
        """
        pictures = _Pictures()
        written = (
            _Written(run_id, self._experiment_id, start - place, each, pictures) for place, each in enumerate(traces, 1)
        )
        while some := list(islice(written, _PER_CALL)):
            infos, spans = [each.info() for each in some], [each.spans() for each in some]
            self._begin()
            with _one_transaction(self._client.store) as store:
                begun = [store.start_trace(info) for info in infos]
                store.log_spans(self._experiment_id, list(chain.from_iterable(spans)))
            for info in begun:
                self._upload(info, pictures.new_of(info.trace_id))

    def told(self, run_id: str, traces: Iterable[LoggedTrace]) -> dict[str, str]:
        """Unit and place → what :meth:`write` lets the list of traces show of it."""
        written = (_Written(run_id, self._experiment_id, 0, each, _Pictures()).info() for each in traces)
        return dict(map(_told, written))

    def held(self, run_id: str) -> dict[str, str]:
        """The same of the traces that the run has; of several of a unit, one after the other."""
        of_run = f"metadata.`{SOURCE_RUN}` = '{run_id}'"
        held: dict[str, str] = {}
        for trace in connection.all_pages(
            self._client.search_traces, [self._experiment_id], of_run, _LISTED, include_spans=False
        ):
            key, told = _told(trace.info)
            held[key] = f"{held[key]} and {told}" if key in held else told
        return held

    def delete(self, run_id: str) -> None:
        """Let go of the traces of a run."""
        of_run = f"metadata.`{SOURCE_RUN}` = '{run_id}'"
        while found := self._client.search_traces([self._experiment_id], of_run, _PER_CALL, include_spans=False):
            self._begin()
            self._client.delete_traces(self._experiment_id, trace_ids=[each.info.trace_id for each in found])

    def _upload(self, info: TraceInfo, pictures: Mapping[str, bytes]) -> None:
        if not pictures:
            return
        place = info.tags["mlflow.artifactLocation"]
        store: Any = get_artifact_repository(place, tracking_uri=self._client.tracking_uri)  # untyped
        if isinstance(store, LocalArtifactRepository):  # which would write each to a folder of its own first
            folder = Path(store.artifact_dir, "attachments")
            folder.mkdir(parents=True, exist_ok=True)
            for name, content in pictures.items():
                (folder / name).write_bytes(content)
        else:
            for name, content in pictures.items():
                store.upload_attachment(name, content)


class _Pictures:
    """The pictures of a run's traces: equal ones are kept once, with the first trace that shows them."""

    def __init__(self) -> None:
        self._references: dict[Path | str, str] = {}
        """By file, and by the SHA-256 of its bytes."""
        self._new: dict[str, dict[str, bytes]] = {}

    def new_of(self, trace_id: str) -> dict[str, bytes]:
        """Id → bytes of those that this trace is the first to show, for once."""
        return self._new.pop(trace_id, {})

    def reference(self, file: Path, trace_id: str) -> str:
        """As an ``Attachment`` of MLflow is referred to, whose id is drawn by chance."""
        if file not in self._references:
            content = file.read_bytes()
            digest = sha256_bytes(content)
            if digest not in self._references:
                name = str(UUID(sha256_bytes(f"{trace_id}/{digest}".encode())[:32]))
                told = {"content_type": "image/png", "trace_id": trace_id, "size": str(len(content))}
                self._references[digest] = f"mlflow-attachment://{name}?{urlencode(told)}"
                self._new.setdefault(trace_id, {})[name] = content
            self._references[file] = self._references[digest]
        return self._references[file]


@dataclass
class _Written:
    """One trace as MLflow has it."""

    run_id: str
    experiment_id: str
    start: int
    logged: LoggedTrace
    pictures: _Pictures

    @property
    def id(self) -> str:
        return f"tr-{sha256_of([self.run_id, self.logged.place, self.logged.trace.unit])[:32]}"

    def spans(self) -> list[Span]:
        """The whole, and each step."""
        trace = self.logged.trace
        error = next((step.error for step in trace.steps if step.error), None)
        whole = Step(trace.name, "", trace.asked, trace.gave, trace.outcome, error)
        steps = (self._span(place, step, _KINDS[step.role]) for place, step in enumerate(trace.steps, 1))
        return [self._span(0, whole, "CHAIN"), *steps]

    def info(self) -> TraceInfo:
        """What the list of traces shows, and the scores."""
        trace = self.logged.trace
        benchmark, _, on = self.logged.place.partition("/")
        return TraceInfo(
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
        return self._digest(str(place))[:16]

    def _digest(self, what: str) -> str:
        """Of a part of the trace: hexadecimal digits."""
        return sha256_bytes(f"{self.id}/{what}".encode())

    def _plain(self, shown: Shown) -> Any:
        """As JSON has it, pictures as references to what is uploaded."""
        if isinstance(shown, Shot):
            return self.pictures.reference(shown.file, self.id)
        if isinstance(shown, Mapping):
            return {key: self._plain(value) for key, value in shown.items()}
        if isinstance(shown, Sequence) and not isinstance(shown, str):
            return [self._plain(each) for each in shown]
        return shown

    def _scores(self) -> Iterator[Feedback]:
        for place, (title, value) in enumerate(self.logged.trace.values.items()):
            feedback = Feedback(
                name=title,
                value=value,
                source=AssessmentSource("CODE", _SOURCE),
                trace_id=self.id,
                metadata={"mlflow.assessment.sourceRunId": self.run_id},
                create_time_ms=self.start,
                last_update_time_ms=self.start,
            )
            feedback.assessment_id = f"a-{self._digest(f'score/{place}')[:32]}"
            yield feedback


@contextmanager
def _one_transaction(store: Any) -> Iterator[Any]:
    """A store whose writes are one transaction, in which an experiment is looked up once; of a server, itself.

    MLflow's own stores open a session per trace, read the experiment with all its tags in each, and write the rows of
    each trace by themselves. Whatever is written must be new: where a trace is there already, nothing is.
    """
    if not isinstance(store, SqlAlchemyStore):
        yield store
        return
    with store.ManagedSessionMaker(read_only=False) as session:
        joined: Any = copy(store)  # the store itself is shared with the thread that renews the turn
        joined.ManagedSessionMaker = lambda read_only=True: nullcontext(_Together(session))
        joined.get_experiment = cache(joined.get_experiment)
        yield joined


class _Together:
    """A session that leaves rows until one of them is asked for, and so writes those of many traces together."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def flush(self) -> None:
        """Not yet."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


def _told(info: TraceInfo) -> tuple[str, str]:
    tags = [info.tags.get(key) for key in ("unit", "benchmark", "on", "outcome", "mlflow.traceName")]
    scores = sorted(([each.name, each.value] for each in info.assessments if _is_ours(each)), key=json.dumps)
    shown = [str(info.state), info.request_preview, info.response_preview, *tags[3:], scores]
    return f"{tags[0]} of {tags[1]}/{tags[2]}", json.dumps(
        shown, sort_keys=True, ensure_ascii=False, separators=(",", ":")
    )


def _is_ours(assessment: Assessment) -> TypeGuard[Feedback]:
    """Whether it is a score, and no more than what a person says of it in MLflow's pages."""
    return isinstance(assessment, Feedback) and assessment.source.source_id == _SOURCE


def _is_sound(outcome: Outcome) -> bool:
    """Whether it is no error that a reader must look at: a refusal is an answer."""
    return outcome.goes_on or outcome is Outcome.REFUSED


def _preview(shown: Mapping[str, Shown]) -> str:
    """What is text in it."""
    texts = (value if isinstance(value, list) else [value] for value in shown.values())
    return clip(" · ".join(for_line(each) for some in texts for each in some if isinstance(each, str)), _PREVIEW)
