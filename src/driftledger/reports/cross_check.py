"""Cross-check: how far other models' descriptions support what a model says of the same images.

It compares models, so that it is computed here, from the first descriptions of GenCeption's chains, and is not part of
any model's score. Source: Sun et al., "CrossCheckGPT: Universal Hallucination Ranking for Multimodal Foundation
Models", with the cosine between sentences in place of BERTScore; see :mod:`driftledger.metrics.consistency`.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np

from driftledger.benchmarks._chains.records import ChainRecord
from driftledger.benchmarks.base import Benchmark, Table
from driftledger.benchmarks.genception.score import means_of
from driftledger.benchmarks.genception.settings import GenCeptionSettings
from driftledger.benchmarks.records import RECORDS
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import Score
from driftledger.benchmarks.scoring import interval
from driftledger.benchmarks.settings import Scoring
from driftledger.benchmarks.tables import cell
from driftledger.collect.features import encode_texts
from driftledger.components.base import Encoder
from driftledger.core.files import read_jsonl
from driftledger.data.records import ONE_CATEGORY
from driftledger.metrics.consistency import support
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.repeats import mean_over_repeats
from driftledger.project.project import Project
from driftledger.reports.sections import ReportPart

KEY = "cross_check"
_BETWEEN_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\s*\n\s*")
_LETTER = re.compile(r"[^\W\d_]")


def sentences(text: str) -> list[str]:
    """Split a description into sentences; each line of a list is one, and a bare number is none.

    >>> sentences("A red car, 2.5 m long. Two boats!\\n1. A mast")
    ['A red car, 2.5 m long.', 'Two boats!', 'A mast']
    """
    return [part.strip() for part in _BETWEEN_SENTENCES.split(text) if _LETTER.search(part)]


def cross_checks(project: Project, scores: Sequence[Score]) -> list[dict[str, Any]]:
    """Return a row per model, dataset and generator of GenCeption, with means per category and group of categories.

    Errors as in :meth:`Project.encoder`.

    Raises:
        StoreError: the records of a model are missing.
    """
    chains = {(s.on, s.model, s.keys["generator"]): s for s in scores if s.benchmark == "genception"}
    if not chains:
        return []
    spec, settings = benchmark("genception"), cast(GenCeptionSettings, project.settings.section("genception"))
    if settings.text_encoder is None:
        return []
    encoder = project.encoder(settings.text_encoder)
    first = {place: _first_descriptions(project, spec, score.keys) for place, score in chains.items()}
    rows = []
    for (on, model, generator), score in chains.items():
        card = score.components["model"]
        others = {
            name: first[on, name, generator].get(0, {})
            for name in settings.cross_check
            if (on, name, generator) in chains
            and chains[on, name, generator].components["model"].fingerprint != card.fingerprint
        }
        scoring = spec.scoring_of(project.settings.section(spec.name), project.settings.run.seed)
        row = {"dataset": on, "model": model, "generator": generator, "checked_by": [*others]}
        rows.append(row | _row(project, score, first[on, model, generator], others, encoder, scoring))
    return rows


def cross_check_tables(rows: Sequence[Mapping[str, Any]]) -> Iterator[ReportPart]:
    """Yield a table per dataset and generator; nothing where no model could be checked."""
    for place in dict.fromkeys((row["dataset"], row["generator"]) for row in rows if KEY in row):
        some = [row for row in rows if (row["dataset"], row["generator"]) == place and KEY in row]
        table = Table(
            f"Cross-check on {' · '.join(place)}: support by other models' descriptions, −1 to 1; higher is better",
            ["", "cross-check", "checked by"],
            [
                [row["model"], cell(row[KEY], digits=3, more=_ends(row)), ", ".join(row["checked_by"])]
                for row in sorted(some, key=lambda row: -row[KEY])
            ],
            name="cross_check",
        )
        yield ReportPart(table.title, f"cross_check-{'-'.join(place)}", benchmark("genception"), [table])


def _ends(row: Mapping[str, Any]) -> str:
    low, high = row.get(f"{KEY}_low"), row.get(f"{KEY}_high")
    return "" if low is None or high is None else f"{low:.3f} to {high:.3f}"


def _first_descriptions(project: Project, spec: Benchmark, keys: Mapping[str, str]) -> dict[int, dict[str, str]]:
    """Repeat → sample → the first description of its chain, where there is one."""
    texts: dict[int, dict[str, str]] = {}
    for record in read_jsonl(project.root / spec.collects[0].at(keys) / RECORDS, ChainRecord):
        if record.t == 1 and record.outcome.goes_on and record.description:
            texts.setdefault(record.repeat, {})[record.sample] = record.description
    return texts


def _row(
    project: Project,
    score: Score,
    own: Mapping[int, Mapping[str, str]],
    others: Mapping[str, Mapping[str, str]],
    encoder: Encoder,
    scoring: Scoring,
) -> dict[str, Any]:
    samples = project.built_samples(score.on)
    texts = [text for some in (*own.values(), *others.values()) for text in some.values()]
    reader = encoder.fitted(texts) if texts else encoder
    kept = project.features() if reader is encoder else None

    def supported(text: str, sample: str) -> float:
        said, passages = sentences(text), [sentences(some[sample]) for some in others.values() if sample in some]
        passages = [passage for passage in passages if passage]
        if not said or not passages:
            return math.nan
        features = encode_texts(reader, [*said, *(each for passage in passages for each in passage)], kept)
        of_said, *of_others = np.split(features, np.cumsum([len(said), *map(len, passages)])[:-1])
        return exact_mean(support(of_said, of_others).tolist())

    values = mean_over_repeats(
        [
            np.array([supported(some[each.id], each.id) if each.id in some else math.nan for each in samples])
            for some in own.values()
        ]
        or [np.full(len(samples), math.nan)]
    )
    there = np.isfinite(values)
    if not there.any():
        return {}
    categories = [each.category or ONE_CATEGORY for each in samples]
    means = means_of({KEY: values}, categories, score.details["groups"])
    members = [category for category, is_there in zip(categories, there, strict=True) if is_there]
    return {
        **means.overall,
        **interval(KEY, values[there], members, scoring).metrics,
        "category": {name: row[KEY] for name, row in means.by_category.items() if KEY in row},
        "group": {name: row[KEY] for name, row in means.by_group.items() if KEY in row},
    }
