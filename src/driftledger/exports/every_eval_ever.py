"""Every Eval Ever 0.3: an aggregate record for each score, at the path that its data store wants.

Its records of single instances hold text alone and a boolean ``is_correct``, so none are written here. For a chain of
images they would need parts of content with a media type and a SHA-256 in ``input``, ``output`` and ``messages``, a
score at each turn, and an ``is_correct`` that may be absent.
"""

from typing import Any
from uuid import UUID

from driftledger import __version__
from driftledger.benchmarks.score import Score
from driftledger.components.card import ComponentCard
from driftledger.core.canonical import pretty_json, sha256_of
from driftledger.exports.base import Files, Number, Run, numbers, plain, source_of, weights
from driftledger.ledger.lineage import Lineage

SCHEMA = "0.3.0"


def files(run: Run) -> Files:
    """``data/<benchmark>/<developer>/<model>/<id>.json`` for each score."""
    made: dict[str, bytes] = {}
    for lineage in run.evidence.lineages:
        model = lineage.score.components["model"]
        developer, name = _developer(model), _model_id(model).rpartition("/")[2]
        digest = sha256_of([run.evidence.fingerprint, lineage.place])
        folder = f"data/{lineage.spec.name}/{developer}/{name}"
        record = pretty_json(_record(run, lineage))
        made[f"{folder}/{UUID(hex=digest[:32], version=4)}.json"] = record.encode()
    return made


def _record(run: Run, lineage: Lineage) -> dict[str, Any]:
    score, when = lineage.score, str(int(run.date.timestamp()))
    details = {
        "run": run.evidence.name,
        "run_fingerprint": run.evidence.fingerprint,
        "commit": run.commit,
        "uncommitted_changes": plain(run.evidence.code.dirty),
        "score_file": lineage.score_path,
        "scores_md5": lineage.folder.md5,
        "components": plain({role: card.fingerprint for role, card in score.components.items()}),
        "flags": plain(score.flags),
        "absent": plain(score.absent),
        "instances": "not written: an instance there is text with a right answer, and here are images",
    }
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"{lineage.place}/{_model_id(score.components['model'])}/{when}",
        "evaluation_timestamp": when,
        "retrieved_timestamp": when,
        "source_metadata": {
            "source_name": "driftledger",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
            "additional_details": details,
        },
        "eval_library": {"name": "driftledger", "version": __version__},
        "model_info": _model(score.components["model"], served="model" in score.served),
        "evaluation_results": [
            _result(run, lineage, number) for number in numbers(lineage) if number.metric.higher_is_better is not None
        ],
    }


def _result(run: Run, lineage: Lineage, number: Number) -> dict[str, Any]:
    score, metric = lineage.score, number.metric
    config: dict[str, Any] = {
        "evaluation_description": metric.formula,
        "metric_id": f"driftledger.{lineage.spec.name}.{number.key}",
        "metric_name": number.title,
        "lower_is_better": not metric.higher_is_better,
    }
    if metric.unit:
        config["metric_unit"] = metric.unit
    if metric.published:
        config["additional_details"] = {"published": metric.published}
    return {
        "evaluation_result_id": f"{lineage.place}/{number.key}",
        "evaluation_name": f"{lineage.spec.title} on {lineage.on}",
        "source_data": _source(run, lineage),
        "metric_config": config,
        "score_details": {"score": number.value, **_details(score, number)},
        "generation_config": {
            "additional_details": {key: plain(value) for key, value in score.inputs.protocol.items()}
        },
    }


def _details(score: Score, number: Number) -> dict[str, Any]:
    told = {"scored": score.scored, "counted": score.counted, "total": score.total, "coverage": score.coverage}
    if number.deviation is not None:
        told["standard_deviation_over_repeats"] = number.deviation
    found: dict[str, Any] = {"details": {key: plain(value) for key, value in told.items()}}
    if number.interval is not None:
        low, high = number.interval
        interval = {"lower": low, "upper": high, "confidence_level": score.confidence}
        found["uncertainty"] = {"confidence_interval": interval}
    return found


def _source(run: Run, lineage: Lineage) -> dict[str, Any]:
    source = source_of(run, lineage)
    place = {"source_type": "hf_dataset", "hf_repo": source["dataset"]} if "dataset" in source else {}
    details = {**source, "digest": lineage.score.inputs.data_digest}
    return {"dataset_name": lineage.on, "source_type": "other", "additional_details": details, **place}


def _model_id(card: ComponentCard) -> str:
    return weights(card).get("repository", card.name)


def _developer(card: ComponentCard) -> str:
    return _model_id(card).rpartition("/")[0] or "unknown"


def _model(card: ComponentCard, *, served: bool) -> dict[str, Any]:
    on_hub = bool(weights(card))
    return {
        "name": card.name,
        "id": _model_id(card),
        "developer": _developer(card),
        "additional_details": {
            "deployment_type": "externally_managed" if served else "self_deployed",
            "model_availability": "open_weights" if on_hub else "unknown",
            "fingerprint": card.fingerprint,
            "provider": card.provider,
            "identity": plain(card.identity),
            "settings": plain(card.settings),
        },
    }
