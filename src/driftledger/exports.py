"""A run as CSV, as records of Every Eval Ever 0.3, as logs of Inspect, or for a public leaderboard.

Dates are the commit's. Every Eval Ever gets aggregates alone: an instance there is text, and here
are images.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from driftledger import __version__
from driftledger.benchmarks.base import Benchmark, Metric
from driftledger.benchmarks.registry import benchmarks
from driftledger.benchmarks.score import SPREAD, Row, base_key
from driftledger.benchmarks.traces import Shot, Shown, Trace
from driftledger.components.base import ComponentCard
from driftledger.core.canonical import (
    Json,
    canonical_json,
    pretty_json,
    sha256_file,
    sha256_of,
)
from driftledger.core.errors import LedgerError, unknown_name
from driftledger.core.files import (
    INPUTS,
    load_json,
    read_jsonl,
    read_regular,
    write_bytes,
)
from driftledger.core.media import data_url, kind_of
from driftledger.core.registry import import_extra
from driftledger.core.text import csv_text
from driftledger.ledger.lineage import Lineage, Run, read_runs
from driftledger.ledger.objects.git import Git
from driftledger.project.project import Project

_SOURCE = {
    "source_name": "driftledger",
    "source_type": "evaluation_run",
    "evaluator_relationship": "other",
}
CSV_COLUMNS = (
    "run",
    "benchmark",
    "on",
    "metric",
    "value",
    "low",
    "high",
    "std",
    "scored",
    "total",
    "score_sha256",
)


def export(project: Project, kind: str, run: str, out: Path) -> int:
    """Write a selected run below ``out`` in one of the formats; return how many files.

    Raises:
        LedgerError: the format or the run is unknown, or the commit of its code is not here.
        MissingExtraError: the format's library is not installed.
    """
    formats = dict(FORMATS)
    for spec in benchmarks():
        if spec.board:
            formats[spec.name] = partial(_leaderboard, spec)
    if kind not in formats:
        raise LedgerError(unknown_name("format", kind, formats))
    combinations = {}
    for combination in project.combinations:
        combinations[str(combination)] = combination
        combinations[combination.path] = combination
    if run not in combinations:
        raise LedgerError(unknown_name("selected run", run, combinations))
    evidence = read_runs(project.root, project.selected, [combinations[run]])[0]
    git = Git.around(project.root)
    commit = evidence.code.commit
    dates = {known.id: known.date for known in git.commits()} if git else {}
    date = dates.get(commit or "")
    if date is None:
        source = "a commit; run 'git commit'"
        if commit:
            source = f"the commit {commit}, which is not here; fetch it with Git"
        raise LedgerError(f"an export has its date from {source}")
    files = formats[kind](project.root, evidence, datetime.fromisoformat(date))
    for name, content in files.items():
        write_bytes(out / name, content)
    return len(files)


def _metrics(lineage: Lineage) -> Iterator[tuple[str, Metric]]:
    for metric in lineage.spec.metrics:
        for key in lineage.spec.keys_of(metric, lineage.score):
            yield key, metric


def _csv(root: Path, run: Run, date: datetime) -> dict[str, bytes]:
    rows = []
    for lineage in run.lineages:
        score = lineage.score
        numbers = dict(score.numbers())
        digest = sha256_file(root / lineage.score_path)
        for key in numbers:
            if base_key(key) == key:
                values = [
                    numbers.get(key + end, "") for end in ("", "_low", "_high", "_std")
                ]
                place = [run.name, lineage.spec.name, score.on, key]
                rows.append([*place, *values, score.scored, score.total, digest])
    return {"scores.csv": csv_text(CSV_COLUMNS, rows).encode()}


def _leaderboard(
    spec: Benchmark, root: Path, run: Run, date: datetime
) -> dict[str, bytes]:
    """Make an entry of a benchmark's public leaderboard, a file per dataset."""
    files = {}
    for lineage in run.lineages:
        score = lineage.score
        numbers = spec.board_scores(score) if lineage.spec is spec else {}
        if numbers:
            model = score.components["model"]
            repository = _repository(model)
            url = f"https://huggingface.co/{repository}" if repository else ""
            rounded = {name: round(value, 3) for name, value in numbers.items()}
            content = {"models": [{"name": model.name, "url": url, "scores": rounded}]}
            files[f"{score.on}/leaderboard.json"] = pretty_json(content).encode()
    if not files:
        raise LedgerError(spec.board)
    return files


def _repository(model: ComponentCard) -> str:
    """Return the repository of a model's weights; empty if they come from none."""
    weights = model.identity.get("weights")
    return str(weights.get("repository", "")) if isinstance(weights, dict) else ""


def _every_eval_ever(root: Path, run: Run, date: datetime) -> dict[str, bytes]:
    files = {}
    when = str(int(date.timestamp()))
    for lineage in run.lineages:
        score = lineage.score
        spec = lineage.spec
        model = score.components["model"]
        id_ = _repository(model) or model.name
        developer = id_.rpartition("/")[0] or "unknown"
        [card] = (
            file
            for file in (root / lineage.data.path).glob("*.json")
            if file.name != INPUTS
        )
        source = load_json(read_regular(card))["source"]
        data = {
            "dataset_name": score.on,
            "source_type": "other",
            "additional_details": _texts_of(source),
        }
        if "dataset" in source:
            data |= {"source_type": "hf_dataset", "hf_repo": source["dataset"]}
        details = _texts_of(model.settings) | {
            "deployment_type": "externally_managed"
            if "model" in score.served
            else "self_deployed",
            "model_availability": "open_weights" if id_ != model.name else "unknown",
        }
        results = []
        for key, metric in _metrics(lineage):
            scored: Json = {"score": score.metrics[key]}
            if interval := score.interval(key):
                ends = {
                    "lower": interval.low,
                    "upper": interval.high,
                    "confidence_level": score.confidence,
                }
                scored["uncertainty"] = {"confidence_interval": ends}
            config = {
                "evaluation_description": metric.formula,
                "metric_id": f"driftledger.{spec.name}.{key}",
                "metric_name": metric.named(key),
                "lower_is_better": not metric.higher_is_better,
            }
            result = {
                "evaluation_result_id": f"{lineage.place}/{key}",
                "evaluation_name": f"{spec.title} on {score.on}",
                "source_data": data,
                "metric_config": config,
                "score_details": scored,
                "generation_config": {
                    "additional_details": _texts_of(score.inputs.protocol)
                },
            }
            if metric.higher_is_better is not None:
                results.append(result)
        noted = {
            "source_organization_name": "unknown",
            "additional_details": _texts_of(_noted(root, run, lineage)),
        }
        record = {
            "schema_version": "0.3.0",
            "evaluation_id": f"{lineage.place}/{id_}/{when}",
            "evaluation_timestamp": when,
            "retrieved_timestamp": when,
            "source_metadata": _SOURCE | noted,
            "eval_library": {"name": "driftledger", "version": __version__},
            "model_info": {
                "name": model.name,
                "id": id_,
                "developer": developer,
                "additional_details": details,
            },
            "evaluation_results": results,
        }
        name = UUID(hex=sha256_of([run.fingerprint, lineage.place])[:32], version=4)
        folder = f"data/{spec.name}/{developer}/{id_.rpartition('/')[2]}"
        files[f"{folder}/{name}.json"] = pretty_json(record).encode()
    return files


def _inspect(root: Path, run: Run, date: datetime) -> dict[str, bytes]:
    log = import_extra("inspect_ai.log")
    files = {}
    for lineage in run.lineages:
        score = lineage.score
        rows = read_jsonl(root / lineage.rows_path, Row)
        name = score.components["model"].name
        samples = [
            _sample(each, name)
            for each in lineage.spec.traces(lineage.places(root), score, rows)
        ]
        spec = log.EvalSpec(
            created=date.isoformat(),
            task=lineage.place.replace("/", "_"),
            task_args=score.inputs.protocol,
            dataset=log.EvalDataset(name=score.on, samples=len(samples)),
            model=name,
            config=log.EvalConfig(),
            metadata=_noted(root, run, lineage),
        )
        scores = []
        headlines = lineage.spec.headlines(score)
        for key, metric in sorted(
            _metrics(lineage), key=lambda each: each[0] not in headlines
        ):
            ends = [key, *(key + end for end in SPREAD)]
            values = {
                end: log.EvalMetric(name=end, value=score.metrics[end])
                for end in ends
                if end in score.metrics
            }
            scores.append(
                log.EvalScore(
                    name=metric.named(key), scorer="driftledger", metrics=values
                )
            )
        results = log.EvalResults(
            total_samples=len(rows), completed_samples=len(rows), scores=scores
        )
        whole = log.EvalLog(
            status="success", eval=spec, results=results, samples=samples
        )
        with tempfile.NamedTemporaryFile(suffix=".eval") as file:
            log.write_eval_log(whole, file.name, format="eval")
            files[f"{lineage.place.replace('/', '-')}.eval"] = Path(
                file.name
            ).read_bytes()
    return files


def _sample(trace: Trace, name: str) -> Any:
    log = import_extra("inspect_ai.log")
    model = import_extra("inspect_ai.model")
    scorer = import_extra("inspect_ai.scorer")
    messages = [model.ChatMessageUser(content=_content(model, trace.inputs))]
    for step in trace.steps:
        metadata = {
            "step": step.name,
            "role": step.role or "rule",
            "outcome": step.outcome.value,
        }
        for kind, shown in (
            (model.ChatMessageUser, step.inputs),
            (model.ChatMessageAssistant, step.outputs),
        ):
            messages.append(kind(content=_content(model, shown), metadata=metadata))
    return log.EvalSample(
        id=_plain(trace.unit),
        epoch=1,
        input=messages[:1],
        target=list(_texts(trace.facts)),
        messages=messages,
        output=model.ModelOutput.from_content(name, "\n".join(_texts(trace.outputs))),
        scores={
            title: scorer.Score(value=value) for title, value in trace.values.items()
        },
        metadata={"outcome": trace.outcome.value},
    )


def _content(model: Any, shown: Mapping[str, Shown]) -> list[Any]:
    texts = {
        name: value for name, value in shown.items() if not isinstance(value, Shot)
    }
    text = "\n\n".join(
        f"{name}: {'; '.join(_texts({name: value}))}" for name, value in texts.items()
    )
    files = [each.file for each in shown.values() if isinstance(each, Shot)]
    parts = [
        model.ContentAudio(audio=data_url(file), format="wav")
        if kind_of(file) == "sound"
        else model.ContentImage(image=data_url(file))
        for file in files
    ]
    return [model.ContentText(text=text), *parts] if text else parts


def _texts(shown: Mapping[str, Shown]) -> Iterator[str]:
    for value in shown.values():
        some = (
            value
            if isinstance(value, Sequence) and not isinstance(value, str)
            else [value]
        )
        yield from (
            _plain(each)
            for each in some
            if each is not None and not isinstance(each, Shot)
        )


def _noted(root: Path, run: Run, lineage: Lineage) -> Json:
    return {
        "run": run.name,
        "run_fingerprint": run.fingerprint,
        "commit": run.code.commit,
        "score_sha256": sha256_file(root / lineage.score_path),
        "components": {
            role: card.fingerprint for role, card in lineage.score.components.items()
        },
        "flags": lineage.score.flags,
    }


def _texts_of(values: Mapping[str, object]) -> dict[str, str]:
    return {key: _plain(value) for key, value in values.items()}


def _plain(value: object) -> str:
    """Write a setting as text that every encoding takes."""
    text = value if isinstance(value, str) else canonical_json(value)
    return text.encode("utf-8", "backslashreplace").decode()


FORMATS = {
    "csv": _csv,
    "every-eval-ever": _every_eval_ever,
    "inspect": _inspect,
}
"""The formats of every benchmark; one with a public leaderboard adds its own."""
