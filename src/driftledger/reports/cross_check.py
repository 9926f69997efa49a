"""Cross-check: how far other models' descriptions support a model's description of the same images.

It compares models, so it is computed here, from the first descriptions of GenCeption's chains, and
is not part of a score. Source: Sun et al., "CrossCheckGPT: Universal Hallucination Ranking for
Multimodal Foundation Models", with the cosine between sentences in place of BERTScore; see
:mod:`driftledger.metrics.consistency`.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import numpy as np

from driftledger.benchmarks._chains.scoring import means_of
from driftledger.benchmarks.base import DATASET, Table, cell
from driftledger.benchmarks.genception.spec import GenCeptionSettings
from driftledger.benchmarks.records import read_records
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import Score
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
from driftledger.reports.leaderboard import Section
from driftledger.reports.tables import interval as interval_text

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
    return [part.strip() for part in _BETWEEN_SENTENCES.split(text) if _LETTER.search(part)]


def cross_checks(project: Project, scores: Sequence[Score]) -> list[Json]:
    """Return a row per model, dataset and generator of GenCeption, with means per category and
    group of categories.

    Errors as in :meth:`Project.encoder`.

    Raises:
        StoreError: the records of a model are missing.
    """
    chains = {
        (s.on, s.model, s.keys["generator"]): s for s in scores if s.benchmark == "genception"
    }
    if not chains:
        return []
    spec = benchmark("genception")
    settings = cast(GenCeptionSettings, project.settings.section("genception"))
    if settings.text_encoder is None:
        return []
    encoder = project.component("encoders", settings.text_encoder)
    first = {}
    for place, score in chains.items():
        texts: dict[int, dict[str, str]] = {}
        for record in read_records(project.root / spec.collects.at(score.keys)):
            if record.step == 1 and record.is_there:
                texts.setdefault(record.repeat, {})[record.unit] = record.text or ""
        first[place] = texts
    rows = []
    for (on, model, generator), score in chains.items():
        checkers = [name for name in settings.cross_check if (on, name, generator) in chains]
        others = {
            name: first[on, name, generator].get(0, {})
            for name in checkers
            if chains[on, name, generator].components["model"].fingerprint
            != score.components["model"].fingerprint
        }
        row = {"dataset": on, "model": model, "generator": generator, "checked_by": [*others]}
        rows.append(row | _support(project, score, first[on, model, generator], others, encoder))
    return rows


def _support(
    project: Project,
    score: Score,
    own: Descriptions,
    others: Mapping[str, Mapping[str, str]],
    encoder: Encoder,
) -> Json:
    """How far the others support one model's descriptions; empty where no sample could be
    checked."""
    if not own:
        return {}
    samples = read_samples(project.root / DATASET.at(score.keys))
    texts = [text for some in (*own.values(), *others.values()) for text in some.values()]
    reader = encoder.fitted(texts)
    kept = FeatureStore(project.state / "features") if reader is encoder else None

    def supported(text: str, sample: str) -> float:
        claims = sentences(text)
        passages = [sentences(some[sample]) for some in others.values() if sample in some]
        passages = [passage for passage in passages if passage]
        if not claims or not passages:
            return math.nan
        features = encode_texts(
            reader, [*claims, *(each for passage in passages for each in passage)], kept
        )
        of_claims, *of_others = np.split(
            features, np.cumsum([len(claims), *map(len, passages)])[:-1]
        )
        return exact_mean(support(of_claims, of_others).tolist())

    values = mean_over_repeats(
        [
            np.array(
                [
                    supported(some[each.id], each.id) if each.id in some else math.nan
                    for each in samples
                ]
            )
            for some in own.values()
        ]
    )
    if not np.isfinite(values).any():
        return {}
    categories = [each.category or ONE_CATEGORY for each in samples]
    means = means_of({KEY: values}, categories, score.details["groups"])
    confidence = project.settings.section("genception").confidence
    return {
        **means.overall,
        **interval_ends({KEY: interval_of_known(values, categories, confidence)}).metrics,
        "category": {name: row[KEY] for name, row in means.by_category.items() if KEY in row},
        "group": {name: row[KEY] for name, row in means.by_group.items() if KEY in row},
    }


def cross_check_sections(rows: Sequence[Json]) -> Iterator[Section]:
    """Yield a table per dataset and generator; nothing where no model could be checked."""
    checked = [row for row in rows if KEY in row]
    for place, some in grouped(checked, lambda row: (row["dataset"], row["generator"])).items():
        table = Table(
            f"Cross-check on {' · '.join(place)}: support by other models' descriptions, −1 to 1; "
            "higher is better",
            ["", "cross-check", "checked by"],
            [
                [
                    row["model"],
                    cell(row[KEY], digits=3, more=interval_text(row, KEY, 3)),
                    ", ".join(row["checked_by"]),
                ]
                for row in sorted(some, key=lambda row: -row[KEY])
            ],
            name="cross_check",
        )
        yield Section(table.title, f"cross_check-{'-'.join(place)}", [table])
