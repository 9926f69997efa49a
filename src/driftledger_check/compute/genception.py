"""GenCeption (Cao et al.): how similar chains of describing and drawing stay to their first image.

Beside images, descriptions are compared: each with the first one of its chain, and the sentences of the first one with
what other models said of the image (after CrossCheckGPT and SelfCheckGPT).
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from driftledger_check.compute.chains import MOST_ITERATIONS, Chains, originals, step_of
from driftledger_check.compute.encoders import Encoder
from driftledger_check.compute.found import (
    GOES_ON,
    Found,
    Missing,
    Sample,
    mapping,
    read_samples,
    settings_of,
    text,
    text_or_none,
    texts,
    whole,
)
from driftledger_check.compute.frechet import PRECISION, frechet_distance
from driftledger_check.compute.intervals import Bootstrap
from driftledger_check.compute.means import Array, by_group, cosines, finite, gc_at, mean, mean_of
from driftledger_check.compute.neighbours import STEPS, rounded_cosines
from driftledger_check.files import Folder, ScoreFiles, Vector

Columns = dict[str, list[float]]
"""Metric → its value for each sample; NaN where there is none."""

_SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
_LETTER = re.compile(r"[^\W\d_]")


class Frechet(NamedTuple):
    """Distances between the originals and iteration t, for t = 1 …."""

    by_category: Mapping[str, list[float]]
    whole: list[float]
    """Over all categories, as far as each has a chain."""
    images: int
    """How many the last of these is over."""


def recompute(files: ScoreFiles, found: Found) -> None:
    settings, chains, samples = settings_of(files), Chains(files.collected["chain"]), read_samples(files.data)
    groups = {name: texts(each) for name, each in mapping(files.data.json("dataset.json")["groups"]).items()}
    most, boot = whole(settings["iterations"], 1, MOST_ITERATIONS), Bootstrap.of(settings)
    sooner = {name: whole(t, 1, most) for name, t in mapping(settings.get("iterations_by_group") or {}).items()}
    categories = [sample.category for sample in samples]
    until = [next((t for name, t in sooner.items() if each in groups.get(name, ())), most) for each in categories]
    reached = _reached(samples, chains, most)
    encoder = Encoder(files, "encoder", found)
    try:
        similarity, frechet = _seen(files, samples, chains, reached, encoder, most)
    except Missing as why:
        similarity, frechet = np.full((len(samples), most), np.nan), Frechet({}, [], 0)
        for t, places in enumerate(reached):
            similarity[places, t] = 0.0  # a place holder, for what is counted
        name = encoder.frechet_name
        found.withhold(("similarity", "gc", "gc_images", "images", name, f"whole_{name}"), str(why))
    columns: Columns = {f"similarity_at_{t}": similarity[:, t - 1].tolist() for t in range(1, most + 1)}
    gc = [[gc_at(row, t) for t in range(1, most + 1)] for row in similarity.tolist()]
    columns |= {f"gc_at_{t}": [row[t - 1] for row in gc] for t in range(1, most + 1)}
    columns["similarity_mean"] = _running_means(similarity, until)
    rows = {"similarity": similarity.tolist(), "gc": gc}
    if "text_encoder" in files.score["components"]:
        try:
            similar, support = _read(files, samples, chains, max(until), found)
            columns |= {f"text_similarity_at_{t}": similar[:, t - 1].tolist() for t in range(2, max(until) + 1)}
            if max(until) > 1:
                columns["text_similarity_mean"] = _running_means(similar[:, 1:], [end - 1 for end in until])
            columns["cross_check"] = support
            rows |= {"text_similarity": similar.tolist(), "cross_check": [[each] for each in support]}
        except Missing as why:
            found.withhold(("text_similarity", "cross_check"), str(why))
    metrics, by_category = _means(columns, categories, frechet, encoder.frechet_name, boot)
    for t in range(min(until) + 1, most + 1):  # over some of the categories it would be of something else
        metrics = {key: value for key, value in metrics.items() if not re.search(rf"_at_{t}(_low|_high)?$", key)}
    found.put(["metrics"], metrics | chains.words)
    by_groups = {name: mean_of([by_category[each] for each in some], of_all=True) for name, some in groups.items()}
    for kind, group_rows in (("category", by_category), ("group", by_groups)):
        for name, row in group_rows.items():
            found.put(["groups", kind, name], row)
    _put_curves(found, metrics, encoder.frechet_name, most)
    for place, sample in enumerate(samples):
        found.row(sample.id, {name: values[place] for name, values in rows.items()})
    scored = len(finite(columns["similarity_mean"]))
    found.counts(scored, scored, len(samples))
    ended = ((chains.last[sample.id], end) for sample, end in zip(samples, until, strict=True) if sample.id in chains.last)
    found.outcomes(text(last, "outcome") for last, end in ended if step_of(last) != end or last["image"] is None)


def _means(
    columns: Columns, categories: Sequence[str], frechet: Frechet, frechet_name: str, boot: Bootstrap
) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """Over all, and of each category."""
    by_category = by_group(columns, categories)
    for name, distances in frechet.by_category.items():
        by_category[name] |= _weighed(frechet_name, distances)
    metrics = mean_of(list(by_category.values()), of_all=False)
    for key, column in columns.items():
        there = [(value, name) for value, name in zip(column, categories, strict=True) if not math.isnan(value)]
        if there and (key.startswith("gc_at_") or key in ("text_similarity_mean", "cross_check")):
            metrics |= boot.of_mean(key, [value for value, _ in there], [name for _, name in there])
        if key.startswith("gc_at_") and all(key in row for row in by_category.values()):
            metrics[key.replace("gc_", "gc_images_")] = mean([value for value, _ in there])
    if frechet.whole:
        metrics |= _weighed(f"whole_{frechet_name}", frechet.whole) | {"images": float(frechet.images)}
    return metrics, by_category


def _weighed(name: str, distances: Sequence[float]) -> dict[str, float]:
    """The later iterations weigh more, as in GC@t."""
    return {f"{name}_at_{t}": gc_at(distances, t) for t in range(1, len(distances) + 1)}


def _put_curves(found: Found, metrics: Mapping[str, float], frechet_name: str, most: int) -> None:
    ends = {"gc_low": "_low", "gc_high": "_high"}
    for curve in ("similarity", "gc", "gc_low", "gc_high", frechet_name, "text_similarity"):
        end = ends.get(curve, "")
        keys = {t: f"{curve.removesuffix(end)}_at_{t}{end}" for t in range(1, most + 1)}
        found.points(curve, {t: metrics[key] for t, key in keys.items() if key in metrics})
    for place, value in found.numbers.items():
        if place[0] != "rows" and any(frechet_name in part for part in place[1:]):
            found.tolerances[place] = PRECISION * abs(value or 0.0)


def _reached(samples: Sequence[Sample], chains: Chains, most: int) -> list[list[int]]:
    """For t = 1 … as far as any chain drew: the places of the samples whose chain did."""
    steps = ([i for i, sample in enumerate(samples) if (sample.id, t) in chains.drawn] for t in range(1, most + 1))
    return list(takewhile(len, steps))


def _seen(
    files: ScoreFiles,
    samples: Sequence[Sample],
    chains: Chains,
    reached: Sequence[Sequence[int]],
    encoder: Encoder,
    most: int,
) -> tuple[Array, Frechet]:
    """n×T cosines with the originals, and Fréchet distances to them."""
    first, similarity = encoder.images(originals(files.data, samples)), np.full((len(samples), most), np.nan)
    categories = [sample.category for sample in samples]
    by_category: dict[str, list[float]] = {name: [] for name in categories}
    whole_set, images = list[float](), 0
    for t, places in enumerate(reached):
        drawn = encoder.images([chains.drawn[samples[place].id, t + 1] for place in places])
        similarity[places, t] = cosines(first[places], drawn)
        for name, distances in by_category.items():
            rows = [row for row, place in enumerate(places) if categories[place] == name]
            if len(rows) >= 2 and len(distances) == t:
                distances.append(frechet_distance(first[[places[row] for row in rows]], drawn[rows]))
        if {categories[place] for place in places} == by_category.keys() and len(places) >= 2:
            whole_set.append(frechet_distance(first[places], drawn))
            images = len(places)
    return similarity, Frechet(by_category, whole_set, images)


def _running_means(values: Array, until: Sequence[int]) -> list[float]:
    """Of the first ``until`` of each row, added one by one."""
    sums = np.cumsum(values, axis=1)
    return [float(row[end - 1] / end) if end else math.nan for row, end in zip(sums, until, strict=True)]


def _read(
    files: ScoreFiles, samples: Sequence[Sample], chains: Chains, most: int, found: Found
) -> tuple[Array, list[float]]:
    """n×T cosines with the first description, NaN at t = 1; and how far the first one's sentences are borne out."""
    told = {(text(each, "sample"), step_of(each)): said for each in chains.records if (said := _said(each))}
    others: dict[str, list[str]] = {sample.id: [] for sample in samples}
    for each in _witnesses(files, chains.folder):
        others[each[0]].append(each[1])
    corpus = [*(said for (_, t), said in told.items() if t == 1), *(said for some in others.values() for said in some)]
    parts = [part for said in corpus for part in sentences(said)]
    encoder = Encoder(files, "text_encoder", found)
    rows = encoder.texts([*told.values(), *corpus, *parts], corpus) if corpus or told else {}
    similar, support = np.full((len(samples), most), np.nan), [math.nan] * len(samples)
    for place, sample in enumerate(samples):
        begin = told.get((sample.id, 1))
        if begin is None:
            continue
        for t in range(2, most + 1):
            said = told.get((sample.id, t))
            if said is not None and rows[begin].any() and rows[said].any():
                [similar[place, t - 1]] = cosines(rows[begin][None], rows[said][None])
        passages = [some for said in others[sample.id] if (some := sentences(said))]
        if passages and sentences(begin):
            support[place] = _support(sentences(begin), passages, rows)
    return similar, support


def _support(claims: Sequence[str], passages: Sequence[Sequence[str]], rows: Mapping[str, Vector]) -> float:
    """The mean over sentences of the mean over passages of the largest cosine with a sentence of the passage."""
    said = np.stack([rows[each] for each in claims])
    best = [rounded_cosines(said, np.stack([rows[each] for each in some])).max(axis=1) / STEPS for some in passages]
    return mean([mean(row) for row in np.stack(best, axis=1).tolist()])


def _witnesses(files: ScoreFiles, chain: Folder) -> Iterator[tuple[str, str]]:
    """Sample and description, by models other than the one that is scored."""
    folder = files.collected.get("witness")
    if folder is None:
        return
    itself = text(chain.json("components.json")["components"]["model"], "fingerprint")
    cards = mapping(folder.json("components.json")["components"]).values()
    own = {text(card, "name") for card in cards if text(card, "fingerprint") == itself}
    for each in folder.rows("records.jsonl"):
        if text(each, "model") not in own and (said := _said(each)):
            yield text(each, "sample"), said


def _said(record: Mapping[str, object]) -> str | None:
    return text_or_none(record, "description") if text(record, "outcome") in GOES_ON else None


def sentences(said: str) -> list[str]:
    """The sentences of a description; a line is one, however it ends, and what has no letter is none."""
    parts = (part.strip() for line in said.split("\n") for part in _SENTENCE_ENDS.split(line))
    return [part for part in parts if _LETTER.search(part)]
