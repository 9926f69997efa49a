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

from driftledger_check.compute import given
from driftledger_check.compute.chains import Chains, place_of
from driftledger_check.compute.encoders import Encoder, Picture
from driftledger_check.compute.found import Found
from driftledger_check.compute.frechet import PRECISION, frechet_distance
from driftledger_check.compute.intervals import Bootstrap
from driftledger_check.compute.means import Array, by_group, cosines, finite, gc_at, mean, mean_of, places
from driftledger_check.compute.neighbours import STEPS, rounded_cosines
from driftledger_check.files import ScoreFiles, Vector

MOST_ITERATIONS = 100
CROSS_CHECK, TEXT_MEAN = "cross_check", "text_similarity_mean"

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
    settings, chains, samples = (
        given.settings(files),
        Chains(files.collected["chain"], found),
        given.samples(files.data),
    )
    groups = given.lists(files.data.json("dataset.json")["groups"])
    most = given.whole(settings["iterations"], 1, MOST_ITERATIONS)
    sooner = given.mapping(settings.get("iterations_by_group") or {})
    stops = {each: given.whole(t, 1, most) for name, t in [*sooner.items()][::-1] for each in groups.get(name, ())}
    categories = [sample.category for sample in samples]
    until = [stops.get(category, most) for category in categories]
    encoder, drawn = Encoder(files, "encoder", found), _drawn(samples, chains, most)
    try:
        similarity, frechet = _seen(files, samples, drawn, encoder, most)
    except given.MissingError as why:
        similarity, frechet = np.full((len(samples), most), np.nan), Frechet({}, [], 0)
        for t, pictures in enumerate(drawn):
            similarity[list(pictures), t] = 0.0  # a place holder, for what is counted
        name = encoder.frechet_name
        found.withhold(("similarity", "gc", "gc_images", "images", name, f"whole_{name}"), str(why))
    gc = np.array([[gc_at(row, t) for t in range(1, most + 1)] for row in similarity.tolist()])
    columns = {
        f"{name}_at_{t + 1}": side[:, t] for name, side in (("similarity", similarity), ("gc", gc)) for t in range(most)
    }
    columns["similarity_mean"] = _running_means(similarity, until)
    rows = {"similarity": similarity, "gc": gc}
    if "text_encoder" in files.score["components"]:
        try:
            similar, support = _read(files, samples, chains, max(until), found)
            columns |= {f"text_similarity_at_{t + 1}": similar[:, t] for t in range(1, max(until))}
            if max(until) > 1:
                columns[TEXT_MEAN] = _running_means(similar[:, 1:], [end - 1 for end in until])
            columns[CROSS_CHECK] = support
            rows |= {"text_similarity": similar, CROSS_CHECK: support[:, None]}
        except given.MissingError as why:
            found.withhold(("text_similarity", CROSS_CHECK), str(why))
    metrics, by_category = _means(columns, categories, frechet, encoder.frechet_name, Bootstrap.of(settings))
    for t in range(min(until) + 1, most + 1):  # over some of the categories it would be of something else
        metrics = {key: value for key, value in metrics.items() if not re.search(rf"_at_{t}(_low|_high)?$", key)}
    by_groups = {name: mean_of([by_category[each] for each in some], of_all=True) for name, some in groups.items()}
    found.put(
        [], {"metrics": metrics, "groups": {"category": by_category, "group": by_groups}, "details": {"groups": groups}}
    )
    _put_curves(found, metrics, encoder.frechet_name, most)
    for place, sample in enumerate(samples):
        values = {name: side[place].tolist() for name, side in rows.items()}
        found.row(sample.id, sample.category, sample.id, given.text(chains.last[sample.id], "outcome"), {}, values)
    scored = len(finite(columns["similarity_mean"]))
    found.counts(scored, scored, len(samples))
    ends = ((chains.last[sample.id], end) for sample, end in zip(samples, until, strict=True))
    found.outcomes(last for last, end in ends if place_of(last)[1] != end or last["image"] is None)


def _means(
    columns: Mapping[str, Array], categories: Sequence[str], frechet: Frechet, name: str, boot: Bootstrap
) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """Over all, and of each category; ``name`` is that of the distance."""
    by_category = by_group(columns, categories)
    for category, distances in frechet.by_category.items():
        by_category[category] |= _weighed(name, distances)
    metrics = mean_of(list(by_category.values()), of_all=False)
    for key, column in columns.items():
        there = [(value, one) for value, one in zip(column.tolist(), categories, strict=True) if not math.isnan(value)]
        if there and (key.startswith("gc_at_") or key in (TEXT_MEAN, CROSS_CHECK)):
            metrics |= boot.of_mean(key, [value for value, _ in there], [one for _, one in there])
        if key.startswith("gc_at_") and all(key in row for row in by_category.values()):
            metrics[key.replace("gc_", "gc_images_")] = mean([value for value, _ in there])
    whole = _weighed(f"whole_{name}", frechet.whole)
    return metrics | whole | ({"images": float(frechet.images)} if whole else {}), by_category


def _weighed(name: str, distances: Sequence[float]) -> dict[str, float]:
    """The later iterations weigh more, as in GC@t."""
    return {f"{name}_at_{t}": gc_at(distances, t) for t in range(1, len(distances) + 1)}


def _put_curves(found: Found, metrics: Mapping[str, float], frechet_name: str, most: int) -> None:
    ends = {"gc_low": "_low", "gc_high": "_high"}
    for curve in ("similarity", "gc", "gc_low", "gc_high", frechet_name, "text_similarity"):
        end = ends.get(curve, "")
        keys = {str(t): f"{curve.removesuffix(end)}_at_{t}{end}" for t in range(1, most + 1)}
        found.put(["curves", curve], {t: metrics[key] for t, key in keys.items() if key in metrics})
    for place, value in found.numbers.items():
        if place[0] in ("metrics", "groups", "curves") and any(frechet_name in part for part in place[1:]):
            found.tolerances[place] = PRECISION * abs(given.number(value))


def _drawn(samples: Sequence[given.Sample], chains: Chains, most: int) -> list[dict[int, Picture]]:
    """For t = 1 … as far as any chain drew: the place of a sample → what its chain drew there."""
    steps = (
        {at: chains.drawn[sample.id, t] for at, sample in enumerate(samples) if (sample.id, t) in chains.drawn}
        for t in range(1, most + 1)
    )
    return list(takewhile(len, steps))


def _seen(
    files: ScoreFiles,
    samples: Sequence[given.Sample],
    drawn: Sequence[Mapping[int, Picture]],
    encoder: Encoder,
    most: int,
) -> tuple[Array, Frechet]:
    """n×T cosines with the originals, and Fréchet distances to them."""
    first = encoder.images([Picture.of(files.data, sample.file) for sample in samples])
    similarity, categories = np.full((len(samples), most), np.nan), [sample.category for sample in samples]
    by_category: dict[str, list[float]] = {name: [] for name in categories}
    whole, images = list[float](), 0
    for t, pictures in enumerate(drawn):
        reached, redrawn = list(pictures), encoder.images(list(pictures.values()))
        similarity[reached, t] = cosines(first[reached], redrawn)
        there = places(categories[at] for at in reached)
        for name, rows in there.items():
            if len(rows) >= 2 and len(by_category[name]) == t:
                by_category[name].append(frechet_distance(first[[reached[row] for row in rows]], redrawn[rows]))
        if there.keys() == by_category.keys() and len(reached) >= 2:
            whole.append(frechet_distance(first[reached], redrawn))
            images = len(reached)
    return similarity, Frechet(by_category, whole, images)


def _running_means(values: Array, until: Sequence[int]) -> Array:
    """Of the first ``until`` of each row, added one by one."""
    sums = np.cumsum(values, axis=1)
    return np.array([row[end - 1] / end if end else math.nan for row, end in zip(sums, until, strict=True)])


def _read(
    files: ScoreFiles, samples: Sequence[given.Sample], chains: Chains, most: int, found: Found
) -> tuple[Array, Array]:
    """n×T cosines with the first description, NaN at t = 1; and how far the first one's sentences are borne out."""
    told = {place_of(each): said for each in chains.records if (said := given.said(each))}
    others: dict[str, list[str]] = {sample.id: [] for sample in samples}
    for name, said in _witnesses(files):
        others[name].append(said)
    corpus = [*(said for (_, t), said in told.items() if t == 1), *(said for some in others.values() for said in some)]
    begun = {sample.id: said for sample in samples if (said := told.get((sample.id, 1)))}
    parts = [part for name, said in begun.items() for each in (said, *others[name]) for part in sentences(each)]
    encoder = Encoder(files, "text_encoder", found)
    chained = [said for (name, _), said in told.items() if name in begun]
    rows = encoder.texts([*chained, *parts], corpus) if begun else {}
    similar, support = np.full((len(samples), most), np.nan), np.full(len(samples), np.nan)
    for place, sample in enumerate(samples):
        begin = begun.get(sample.id, "")
        for t in range(2, most + 1):
            later = told.get((sample.id, t))
            if begin and later and rows[begin].any() and rows[later].any():
                similar[place, t - 1] = cosines(rows[begin][None], rows[later][None])[0]
        passages = [some for said in others[sample.id] if (some := sentences(said))]
        if passages and (claims := sentences(begin)):
            support[place] = _support(claims, passages, rows)
    return similar, support


def _support(claims: Sequence[str], passages: Sequence[Sequence[str]], rows: Mapping[str, Vector]) -> float:
    """The mean over sentences of the mean over passages of the largest cosine with a sentence of the passage."""
    said = np.stack([rows[each] for each in claims])
    best = [rounded_cosines(said, np.stack([rows[each] for each in some])).max(axis=1) / STEPS for some in passages]
    return mean([mean(row) for row in np.stack(best, axis=1).tolist()])


def _witnesses(files: ScoreFiles) -> Iterator[tuple[str, str]]:
    """Sample and description, by models other than the one that is scored."""
    folder = files.collected.get("witness")
    if folder is None:
        return
    itself = given.text(files.collected["chain"].json("components.json")["components"]["model"], "fingerprint")
    cards = given.mapping(folder.json("components.json")["components"]).values()
    own = {given.text(card, "name") for card in cards if given.text(card, "fingerprint") == itself}
    for each in folder.rows("records.jsonl"):
        if given.text(each, "model") not in own and (said := given.said(each)):
            yield given.text(each, "sample"), said


def sentences(said: str) -> list[str]:
    """The sentences of a description; a line is one, however it ends, and what has no letter is none."""
    parts = (part.strip() for line in said.split("\n") for part in _SENTENCE_ENDS.split(line))
    return [part for part in parts if _LETTER.search(part)]
