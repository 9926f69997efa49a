"""Inspect's ``.eval`` logs, by its own library: a log for each score, with every unit step by step and its pictures."""

import base64
import io
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from driftledger import __version__
from driftledger.benchmarks.score import SPREAD, Row
from driftledger.benchmarks.traces import Shot, Shown, Trace
from driftledger.core.canonical import sha256_of
from driftledger.core.extras import import_extra
from driftledger.core.files import read_jsonl
from driftledger.exports.base import Files, Run, file_name, numbers, plain
from driftledger.ledger.lineage import Lineage

_FIRST_DATE = (1980, 1, 1, 0, 0, 0)


def files(run: Run) -> Files:
    """``<score>.eval`` for each score."""
    log = import_extra("inspect_ai.log")
    return {f"{file_name(each)}.eval": _bytes(log, _Log(run, each).whole(log)) for each in run.evidence.lineages}


class _Log:
    """One score as a log."""

    def __init__(self, run: Run, lineage: Lineage) -> None:
        self._run, self._lineage = run, lineage
        self._id = sha256_of([run.evidence.fingerprint, lineage.place])
        self._model = lineage.score.components["model"].name
        self._date = run.date.isoformat()

    def whole(self, log: Any) -> Any:
        lineage, score = self._lineage, self._lineage.score
        rows = read_jsonl(self._run.root / lineage.rows_path, Row)
        samples = [self._sample(log, each) for each in lineage.spec.traces(lineage, self._run.root, rows)]
        metadata = {
            "driftledger": __version__,
            "run": self._run.evidence.name,
            "run_fingerprint": self._run.evidence.fingerprint,
            "scores_md5": lineage.folder.md5,
            "data_digest": score.inputs.data_digest,
            "components": {role: card.fingerprint for role, card in score.components.items()},
            "flags": score.flags,
            "absent": score.absent,
        }
        spec = log.EvalSpec(
            eval_id=self._id[:22],
            run_id=self._run.evidence.fingerprint[:22],
            task_id=sha256_of(lineage.place)[:22],
            created=self._date,
            task=lineage.place.replace("/", "_"),
            task_display_name=f"{lineage.spec.title} on {lineage.on}",
            task_args=score.inputs.protocol,
            dataset=log.EvalDataset(name=lineage.on, samples=len(samples), sample_ids=[each.id for each in samples]),
            model=self._model,
            config=log.EvalConfig(),
            revision=log.EvalRevision(type="git", origin="", commit=self._run.commit, dirty=self._dirty),
            packages={"driftledger": __version__},
            metadata=metadata,
        )
        results = log.EvalResults(
            total_samples=len(samples), completed_samples=len(samples), scores=list(self._scores(log))
        )
        stats = log.EvalStats(started_at=self._date, completed_at=self._date)
        return log.EvalLog(status="success", eval=spec, results=results, stats=stats, samples=samples)

    @property
    def _dirty(self) -> bool:
        return self._run.evidence.code.dirty

    def _scores(self, log: Any) -> Iterator[Any]:
        """A metric each, with its interval and its deviation beside it; headlines first, where viewers look."""
        score = self._lineage.score
        headlines = self._lineage.spec.headlines(score)
        for number in sorted(numbers(self._lineage), key=lambda each: each.key not in headlines):
            beside = {number.key + end: score.metrics.get(number.key + end) for end in SPREAD}
            values = {number.key: number.value} | {key: value for key, value in beside.items() if value is not None}
            yield log.EvalScore(
                name=number.title,
                scorer="driftledger",
                scored_samples=score.scored,
                unscored_samples=score.total - score.scored,
                metrics={key: log.EvalMetric(name=key, value=value) for key, value in values.items()},
                metadata={"formula": number.metric.formula, "source": number.metric.source},
            )

    def _sample(self, log: Any, trace: Trace) -> Any:
        model, scorer = import_extra("inspect_ai.model"), import_extra("inspect_ai.scorer")
        asked = model.ChatMessageUser(id=self._digest(trace, "asked"), content=_content(model, trace.asked))
        messages = [asked]
        for place, step in enumerate(trace.steps, 1):
            told = {"step": step.name, "role": step.role or "rule", "outcome": step.outcome.value}
            told |= {"error": plain(step.error)} if step.error else {}
            for kind, content in (model.ChatMessageUser, step.asked), (model.ChatMessageAssistant, step.gave):
                name = self._digest(trace, f"{place}/{kind.__name__}")
                messages.append(kind(id=name, content=_content(model, content), metadata=told))
        output = model.ModelOutput.from_content(self._model, "\n".join(_texts(trace.gave)))
        output.choices[0].message.id = self._digest(trace, "gave")
        return log.EvalSample(
            id=plain(trace.unit),
            epoch=1,
            uuid=self._digest(trace, "sample"),
            input=[asked],
            target=list(_texts(trace.known)),
            messages=messages,
            output=output,
            scores={title: scorer.Score(value=value) for title, value in trace.values.items()},
            metadata={"outcome": trace.outcome.value},
            started_at=self._date,
            completed_at=self._date,
        )

    def _digest(self, trace: Trace, what: str) -> str:
        return sha256_of([self._id, trace.unit, what])[:22]


def _content(model: Any, shown: Mapping[str, Shown]) -> list[Any]:
    """What is shown: its text, and images as their bytes, since a log must not point to files beside it."""
    text = "\n\n".join(f"{name}: {'; '.join(some)}" for name in shown if (some := list(_texts({name: shown[name]}))))
    files = [value.file for value in shown.values() if isinstance(value, Shot)]
    images = (base64.b64encode(file.read_bytes()).decode() for file in files)
    parts = [model.ContentImage(image=f"data:image/png;base64,{image}") for image in images]
    return [*([model.ContentText(text=text)] if text else []), *parts]


def _texts(shown: Mapping[str, Shown]) -> Iterator[str]:
    for value in shown.values():
        some = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
        yield from (plain(each) for each in some if each is not None and not isinstance(each, Shot))


def _bytes(log: Any, whole: Any) -> bytes:
    """The log's file, in which the library leaves the hour at which each part was written."""
    with tempfile.TemporaryDirectory(prefix="driftledger-") as folder:
        path = Path(folder, "log.eval")
        log.write_eval_log(whole, str(path), format="eval")
        made = io.BytesIO()
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
            for name in sorted(old.namelist()):
                new.writestr(zipfile.ZipInfo(name, _FIRST_DATE), old.read(name), zipfile.ZIP_DEFLATED)
    return made.getvalue()
