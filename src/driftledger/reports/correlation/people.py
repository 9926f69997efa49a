"""Our metrics against people, caption by caption: where a model said what people have judged, of the same image.

Which model said a caption does not matter: a model of the provider ``predictions`` may say the captions of a file.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from driftledger.benchmarks.base import Benchmark, Input
from driftledger.benchmarks.records import RECORDS
from driftledger.benchmarks.score import ROWS, Row, Score
from driftledger.core.files import read_jsonl
from driftledger.data.judgements import Judgements, compared, image_name
from driftledger.metrics.agreement import Agreement, agreement
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.fisher import Ends, fisher_interval


class WithPeople(NamedTuple):
    """One metric, and one file of judgements."""

    judgements: str
    of: str
    """The benchmark, the data and what the metric is seen through."""
    title: str
    images: int
    found: Agreement
    """Over captions; its signs are such that 1 is the metric that orders captions as people do."""
    spearman: Ends | None
    kendall: Ends | None
    """Intervals as of so many captions as there are images, since those of one image go together."""


def with_people(
    root: Path, scores: Sequence[tuple[Benchmark, Score]], judgements: Sequence[Judgements], confidence: float
) -> list[WithPeople]:
    """Every metric with a value for single images, over the captions of all models that said a judged one.

    A score whose records are not on this machine is left out.
    """
    if not judgements:
        return []
    rated = {file.name: {(each.image, each.caption): each.rating for each in file.captions} for file in judgements}
    columns: dict[tuple[str, str, str], list[tuple[str, float, float]]] = {}
    for spec, score in scores:
        said = _descriptions(root, spec, score)
        rows = _rows(root, spec, score) if said else []
        for key, title, sign in _metrics(spec, score):
            metric = spec.metric(key)
            for row in rows:
                values = [value for value in metric.values_in(row, key) if value is not None] if metric else []
                pair = image_name(row.unit), said.get(row.unit, "")
                for name, ratings in rated.items():
                    if values and pair in ratings:
                        found = columns.setdefault((name, _through(spec, score), title), [])
                        found.append((pair[0], ratings[pair], sign * exact_mean(values)))
    return [
        told
        for (name, of, title), some in columns.items()
        if (told := _correlated(name, of, title, some, confidence)) is not None
    ]


def _correlated(
    name: str, of: str, title: str, some: Sequence[tuple[str, float, float]], confidence: float
) -> WithPeople | None:
    people, values = (np.array([each[place] for each in some]) for place in (1, 2))
    found = agreement(people, values)
    if found is None:
        return None
    images = len({image for image, *_ in some})
    spearman = fisher_interval(found.spearman, images, "spearman", confidence)
    kendall = fisher_interval(found.kendall, images, "kendall", confidence)
    return WithPeople(name, of, title, images, found, spearman, kendall)


def _metrics(spec: Benchmark, score: Score) -> Iterator[tuple[str, str, float]]:
    """Key, title and sign of what has a value for each image, rests on a first description and ranks."""
    for metric in spec.metrics:
        if metric.row and metric.higher_is_better is not None and Input.DESCRIPTIONS in metric.needs:
            for key in spec.members(metric, score)[:1]:  # of a family over t what rests on the first description alone
                yield key, metric.named(key), 1.0 if metric.higher_is_better else -1.0


def _descriptions(root: Path, spec: Benchmark, score: Score) -> Mapping[str, str]:
    """Unit → what the model said first, as it is compared."""
    found: dict[str, str] = {}
    for stage in spec.collects:
        file = root / stage.at(score.keys) / RECORDS
        if stage.record is None or stage.apart or "description" not in stage.record.model_fields or not file.is_file():
            continue
        for record in read_jsonl(file, stage.record):
            text = getattr(record, "description", None)
            if text:
                found.setdefault(record.unit, compared(text))
    return found


def _rows(root: Path, spec: Benchmark, score: Score) -> list[Row]:
    return read_jsonl(root / spec.scores.at(score.keys) / ROWS, Row)


def _through(spec: Benchmark, score: Score) -> str:
    keys = [score.keys[key] for key in spec.scores.keys if key != "model"]
    return " · ".join([spec.title, *keys])
