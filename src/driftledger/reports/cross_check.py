"""Cross-check: how far other models' descriptions support a model's description of the same images.

It compares models, so it is computed here, from the first descriptions that a benchmark collects,
and is not part of a score. Source: Sun et al., "CrossCheckGPT: Universal Hallucination Ranking for
Multimodal Foundation Models", with the cosine between sentences in place of BERTScore; see
:mod:`driftledger.metrics.consistency`.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import numpy as np

from driftledger.benchmarks._chains.scoring import means_of
from driftledger.benchmarks.base import DATASET
from driftledger.benchmarks.records import stream_records
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import Numbers, Score
from driftledger.benchmarks.scoring import interval_ends, interval_of_known
from driftledger.collect.features import FeatureStore, encode_texts
from driftledger.components.base import Encoder
from driftledger.core.canonical import Json
from driftledger.core.grouping import grouped
from driftledger.data.records import ONE_CATEGORY, read_samples
from driftledger.metrics.consistency import support
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.repeats import mean_over_repeats
from driftledger.project.project import Project
from driftledger.reports.cells import Cell, ReportTable, cell, interval
from driftledger.reports.leaderboard import ReportSection

KEY = "cross_check"
_BETWEEN_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\s*\n\s*")
_LETTER = re.compile(r"[^\W\d_]")

Descriptions = Mapping[int, Mapping[str, str]]
"""Repeat → sample → the first description of its chain, where there is one."""


def sentences(text: str) -> list[str]:
    """Split a description into sentences; each line of a list is one, and a bare number is left
    out.

    >>> sentences("A red car, 2.5 m long. Two boats!\\n1. A mast")
    ['A red car, 2.5 m long.', 'Two boats!', 'A mast']
    """
    return [
        part.strip() for part in _BETWEEN_SENTENCES.split(text) if _LETTER.search(part)
    ]


def cross_checks(project: Project, scores: Sequence[Score]) -> list[Json]:
    """Return a row per model, dataset and generator, with means per category and group of
    categories.

    Errors as in :meth:`Project.encoder`.

    Raises:
        StoreError: the records of a model are missing.
    """
    rows = {}
    for name, own in grouped(scores, lambda score: score.benchmark).items():
        check = benchmark(name).cross_check(project.settings.section(name))
        if check is None or check.text_encoder is None:
            continue
        encoder = project.component("encoders", check.text_encoder)
        for block in grouped(
            own, lambda score: (score.on, score.keys["generator"])
        ).values():
            by_model = {score.model: score for score in block}
            first = {
                score.model: _first_descriptions(project, score) for score in block
            }
            for score in block:
                others = {}
                for model in check.models:
                    if model in by_model and _component(by_model[model]) != _component(
                        score
                    ):
                        others[model] = first[model].get(0, {})
                rows[scores.index(score)] = {
                    "dataset": score.on,
                    "model": score.model,
                    "generator": score.keys["generator"],
                    "checked_by": [*others],
                    **_support(project, score, first[score.model], others, encoder),
                }
    return [row for _, row in sorted(rows.items())]


def _component(score: Score) -> str:
    return score.components["model"].fingerprint


def _first_descriptions(project: Project, score: Score) -> Descriptions:
    folder = project.root / benchmark(score.benchmark).collects.at(score.keys)
    texts: dict[int, dict[str, str]] = {}
    for record in stream_records(folder):
        if record.step == 1 and record.is_there:
            texts.setdefault(record.repeat, {})[record.unit] = record.text or ""
    return texts


def _support(
    project: Project,
    score: Score,
    own: Descriptions,
    others: Mapping[str, Mapping[str, str]],
    encoder: Encoder,
) -> Json:
    """Measure how far the others support one model's descriptions.

    The result is empty where no sample could be checked.
    """
    if not own:
        return {}
    texts = list[str]()
    for described in (*own.values(), *others.values()):
        texts += described.values()
    reader = encoder.fitted(texts)
    store = FeatureStore(project.state / "features") if reader is encoder else None

    def supported(text: str, sample: str) -> float:
        passages = [sentences(text)]
        for described in others.values():
            if passage := sentences(described.get(sample, "")):
                passages.append(passage)
        if not passages[0] or len(passages) == 1:
            return math.nan
        features = encode_texts(reader, [*chain.from_iterable(passages)], store)
        ends = np.cumsum([len(passage) for passage in passages])
        claims, *evidence = np.split(features, ends[:-1])
        return exact_mean(support(claims, evidence).tolist())

    samples = read_samples(project.root / DATASET.at(score.keys))
    repeats = []
    for described in own.values():
        values = np.full(len(samples), math.nan)
        for place, sample in enumerate(samples):
            if sample.id in described:
                values[place] = supported(described[sample.id], sample.id)
        repeats.append(values)
    values = mean_over_repeats(repeats)
    if not np.isfinite(values).any():
        return {}
    categories = [sample.category or ONE_CATEGORY for sample in samples]
    means = means_of({KEY: values}, categories, score.details["groups"])
    known = interval_of_known(values, categories, score.confidence)
    return {
        **means.overall,
        **interval_ends({KEY: known}).metrics,
        "category": _supports(means.by_category),
        "group": _supports(means.by_group),
    }


def _supports(rows: Mapping[str, Numbers]) -> Numbers:
    return {name: row[KEY] for name, row in rows.items() if KEY in row}


def cross_check_sections(rows: Sequence[Json]) -> Iterator[ReportSection]:
    """Yield a table per dataset and generator; nothing where no model could be checked."""
    checked = [row for row in rows if KEY in row]
    for names, members in grouped(
        checked, lambda row: (row["dataset"], row["generator"])
    ).items():
        lines: list[Sequence[Cell | str]] = []
        for row in sorted(members, key=lambda row: -row[KEY]):
            support_cell = cell(row[KEY], digits=3, more=interval(row, KEY, 3))
            lines.append([row["model"], support_cell, ", ".join(row["checked_by"])])
        title = (
            f"Cross-check on {' · '.join(names)}: support by other models' descriptions, −1 to 1; "
            "higher is better"
        )
        table = ReportTable(
            title, ["", "cross-check", "checked by"], lines, name="cross_check"
        )
        yield ReportSection(title, f"cross_check-{'-'.join(names)}", [table])
