"""A run as CSV, or as records of Every Eval Ever 0.3.

Dates are the commit's. Every Eval Ever gets aggregates alone: an instance there is text, and here
are images.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from uuid import UUID

from driftledger import __version__
from driftledger.benchmarks.base import Metric
from driftledger.benchmarks.score import base_key
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
    read_regular,
    write_bytes,
)
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
    """
    if kind not in FORMATS:
        raise LedgerError(unknown_name("format", kind, FORMATS))
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
    files = FORMATS[kind](project.root, evidence, datetime.fromisoformat(date))
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
        numbers = dict(score.numbers()) | score.costs
        digest = sha256_file(root / lineage.score_path)
        for key in numbers:
            if base_key(key) == key:
                values = [
                    numbers.get(key + end, "") for end in ("", "_low", "_high", "_std")
                ]
                place = [run.name, lineage.spec.name, score.on, key]
                rows.append([*place, *values, score.scored, score.total, digest])
    return {"scores.csv": csv_text(CSV_COLUMNS, rows).encode()}


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


FORMATS = {"csv": _csv, "every-eval-ever": _every_eval_ever}
