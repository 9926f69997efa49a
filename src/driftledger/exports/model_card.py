"""What the Hugging Face hub shows of a model's scores: the ``model-index`` of a model card, and ``.eval_results``.

The second is for datasets of the hub alone, since it names them there.
"""

from collections.abc import Iterator
from typing import Any

import yaml

from driftledger.core.escaping import for_markdown
from driftledger.exports.base import Files, Number, Run, file_name, numbers, source_of
from driftledger.ledger.lineage import Lineage


def files(run: Run) -> Files:
    """``README.md``, and ``.eval_results/<score>.yaml`` of each score on a dataset of the hub."""
    made: dict[str, bytes] = {"README.md": _card(run).encode()}
    for lineage in run.evidence.lineages:
        if entries := list(_entries(run, lineage)):
            made[f".eval_results/{file_name(lineage)}.yaml"] = _yaml(entries).encode()
    return made


def _card(run: Run) -> str:
    name = run.evidence.combination.model
    results = [_result(lineage, number) for lineage in run.evidence.lineages for number in _told(lineage)]
    head = _yaml({"model-index": [{"name": name, "results": results}]})
    flags = [flag for lineage in run.evidence.lineages for flag in lineage.score.flags]
    rows = [
        f"| {for_markdown(lineage.place)} | {for_markdown(number.title)} "
        f"| {_value(number)} | {lineage.score.scored} of {lineage.score.total} |"
        for lineage in run.evidence.lineages
        for number in _told(lineage)
    ]
    lines = [
        f"# {for_markdown(name)}: scores",
        "",
        f"Measured by driftledger as the run {for_markdown(run.evidence.name)}, fingerprint "
        f"`{run.evidence.fingerprint}`, at commit `{run.commit}`.",
        "",
        "| score | metric | value | scored |",
        "|---|---|---|---|",
        *rows,
        *(["", *(f"- {for_markdown(flag)}" for flag in dict.fromkeys(flags))] if flags else []),
    ]
    return f"---\n{head}---\n\n" + "\n".join(lines) + "\n"


def _told(lineage: Lineage) -> Iterator[Number]:
    headlines = lineage.spec.headlines(lineage.score)
    return (number for number in numbers(lineage) if number.key in headlines)


def _value(number: Number) -> str:
    digits = number.metric.digits
    ends = f" ({number.interval.low:.{digits}f} to {number.interval.high:.{digits}f})" if number.interval else ""
    return f"{number.value:.{digits}f}{ends}"


def _result(lineage: Lineage, number: Number) -> dict[str, Any]:
    return {
        "task": {"type": "image-text-to-text", "name": lineage.spec.title},
        "dataset": {
            "type": lineage.on,
            "name": lineage.on,
            "config": lineage.place,
            "args": {"digest": lineage.score.inputs.data_digest},
        },
        "metrics": [
            {
                "type": number.key,
                "name": number.title,
                "value": number.value,
                "args": {"scores_md5": lineage.folder.md5},
            }
        ],
    }


def _entries(run: Run, lineage: Lineage) -> Iterator[dict[str, Any]]:
    source = source_of(run, lineage)
    if "dataset" in source:
        for number in _told(lineage):
            yield {
                "dataset": {
                    "id": source["dataset"],
                    "task_id": f"{lineage.spec.name}.{number.key}",
                    "revision": source["revision"],
                },
                "value": number.value,
                "date": run.date.isoformat(),
                "notes": f"driftledger run {run.evidence.fingerprint}, commit {run.commit}",
            }


def _yaml(value: object) -> str:
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True)
