"""GenCeption (Cao et al.): how similar chains of describing and drawing stay to their first image.

Beside images, descriptions are compared: each with the first one of its chain, and the sentences of the first one with
what other models said of the image (after CrossCheckGPT and SelfCheckGPT).
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from driftledger_check.compute import given
from driftledger_check.compute.chains import Chains, ended, place_of, put_repeats, read_chains
from driftledger_check.compute.cycles import (
    OF_SIMILARITIES,
    PIXELS_PER_SIDE,
    RATE,
    ROUNDED,
    cycle_metrics,
    pixel_distance,
)
from driftledger_check.compute.encoders import Encoder, Picture
from driftledger_check.compute.found import Found
from driftledger_check.compute.frechet import PRECISION, frechet_distance
from driftledger_check.compute.intervals import Intervals
from driftledger_check.compute.means import (
    Array,
    by_group,
    cosines,
    finite,
    gc_at,
    mean,
    mean_of,
    over_repeats,
    places,
    steps_of_all,
)
from driftledger_check.compute.neighbours import STEPS, rounded_cosines
from driftledger_check.files import ScoreFiles, Vector

MOST_ITERATIONS = 100
CROSS_CHECK, TEXT_MEAN = "cross_check", "text_similarity_mean"
WITH_INTERVAL = (TEXT_MEAN, CROSS_CHECK, "pixel_distance")

_SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
_LETTER = re.compile(r"[^\W\d_]")


class Frechet(NamedTuple):
    """Distances between the originals and iteration t, for t = 1 …."""

    by_category: Mapping[str, list[float]]
    whole: list[float]
    """Over all categories, as far as each has a chain."""
    images: int
    """How many the last of these is over."""


class Part(NamedTuple):
    """What chains come to: those of one repeat, or the mean over all."""

    columns: Mapping[str, Array]
    """Metric → a value per sample."""
    rows: Mapping[str, Array]
    """Key of a row's values → n×T of them, or n×1."""
    frechet: Frechet
    words: Mapping[str, float]
    kinds: Mapping[str, Array]
    """Kind of mean cumulative drift → n×T similarities."""


def recompute(files: ScoreFiles, found: Found) -> None:
    settings, repeats, samples = (
        given.settings(files),
        read_chains(files.collected["chain"], found),
        given.samples(files.data),
    )
    groups = given.lists(files.data.json("dataset.json")["groups"])
    most = given.whole(settings["iterations"], 1, MOST_ITERATIONS)
    sooner = given.mapping(settings.get("iterations_by_group") or {})
    stops = {each: given.whole(t, 1, most) for name, t in [*sooner.items()][::-1] for each in groups.get(name, ())}
    categories = [sample.category for sample in samples]
    until = [stops.get(category, most) for category in categories]
    encoder, intervals = Encoder(files, "encoder", found), Intervals.of(settings)
    parts = [_part(files, samples, chains, until, most, encoder, found) for chains in repeats]
    whole = parts[0] if len(parts) == 1 else _mean_of(parts)

    def means(part: Part, ends: Intervals | None) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
        metrics, by_category = _means(part.columns, categories, part.frechet, encoder.frechet_name, ends)
        for t in range(min(until) + 1, most + 1):  # over some of the categories it would be of something else
            metrics = {key: value for key, value in metrics.items() if not re.search(rf"_at_{t}(_low|_high)?$", key)}
        metrics |= cycle_metrics({name: side[:, : min(until)] for name, side in part.kinds.items()}, ends)
        return metrics, by_category

    metrics, by_category = means(whole, intervals)
    by_groups = {name: mean_of([by_category[each] for each in some], of_all=True) for name, some in groups.items()}
    found.put(
        [], {"metrics": metrics, "groups": {"category": by_category, "group": by_groups}, "details": {"groups": groups}}
    )
    for end in (f"{RATE}_low", f"{RATE}_high"):
        if end in metrics:
            found.tolerances["metrics", end] = ROUNDED * metrics[end]
    put_repeats(found, [means(part, None)[0] | dict(part.words) for part in parts])
    every = {place[1]: given.number(value) for place, value in found.numbers.items() if place[0] == "metrics"}
    _put_curves(found, every, encoder.frechet_name, most)
    for place, sample in enumerate(samples):
        ends = [given.text(chains.last[sample.id], "outcome") for chains in repeats]
        told = [
            (end, {name: side[place].tolist() for name, side in part.rows.items()})
            for end, part in zip(ends, parts, strict=True)
        ]
        values = {name: side[place].tolist() for name, side in whole.rows.items()}
        found.row(sample.id, sample.category, sample.id, ended(ends), {}, values, told)
    scored = sum(len(finite(part.columns["similarity_mean"])) for part in parts)
    found.counts(scored, scored, len(samples) * len(parts))
    last = ((chains.last[sample.id], t) for chains in repeats for sample, t in zip(samples, until, strict=True))
    found.outcomes(each for each, t in last if place_of(each)[1] != t or each["image"] is None)


def _part(
    files: ScoreFiles,
    samples: Sequence[given.Sample],
    chains: Chains,
    until: Sequence[int],
    most: int,
    encoder: Encoder,
    found: Found,
) -> Part:
    drawn = _drawn(samples, chains, most)
    try:
        similarity, frechet = _seen(files, samples, drawn, encoder, most)
    except given.MissingError as why:
        similarity, frechet = np.full((len(samples), most), np.nan), Frechet({}, [], 0)
        for t, pictures in enumerate(drawn):
            similarity[list(pictures), t] = 0.0  # a place holder, for what is counted
        name = encoder.frechet_name
        found.withhold(("similarity", "gc", "gc_images", "images", name, f"whole_{name}", *OF_SIMILARITIES), str(why))
    gc = np.array([[gc_at(row, t) for t in range(1, most + 1)] for row in similarity.tolist()])
    columns = {
        f"{name}_at_{t + 1}": side[:, t] for name, side in (("similarity", similarity), ("gc", gc)) for t in range(most)
    }
    columns["similarity_mean"] = _running_means(similarity, until)
    rows = {"similarity": similarity, "gc": gc}
    kinds = {"mcd": similarity}
    try:
        columns["pixel_distance"] = _apart(files, samples, chains)
        rows["pixel_distance"] = columns["pixel_distance"][:, None]
    except given.MissingError as why:
        found.withhold(["pixel_distance"], str(why))
    if encoder.reads:
        try:
            said, shown = _across(files, samples, chains, encoder, most)
            rows |= {"original_to_text": said, "text_to_drawing": shown}
            kinds |= {"mcd_image_to_text": said, "mcd_text_to_image": shown}
        except given.MissingError as why:
            found.withhold(("mcd_image_to_text", "mcd_text_to_image", "original_to_text", "text_to_drawing"), str(why))
    if "text_encoder" in files.score["components"]:
        try:
            similar, support = _read(files, samples, chains, max(until), found)
            columns |= {f"text_similarity_at_{t + 1}": similar[:, t] for t in range(1, max(until))}
            if max(until) > 1:
                columns[TEXT_MEAN] = _running_means(similar[:, 1:], [end - 1 for end in until])
            columns[CROSS_CHECK] = support
            rows |= {"text_similarity": similar, CROSS_CHECK: support[:, None]}
            kinds["mcd_texts"] = similar
        except given.MissingError as why:
            found.withhold(("text_similarity", "mcd_texts", CROSS_CHECK), str(why))
    return Part(columns, rows, frechet, chains.words, kinds)


def _mean_of(parts: Sequence[Part]) -> Part:
    """A sample is worth the mean over the repeats in which it has a value; a distance is the mean over all repeats."""
    first, distances = parts[0], [part.frechet for part in parts]
    shared = [key for key in first.columns if all(key in part.columns for part in parts)]
    columns = {key: over_repeats([part.columns[key] for part in parts]) for key in shared}
    rows = {
        key: over_repeats([part.rows[key] for part in parts])
        for key in first.rows
        if all(key in part.rows for part in parts)
    }
    by_category = {
        name: steps_of_all([each.by_category.get(name, []) for each in distances]) for name in distances[0].by_category
    }
    whole, images = steps_of_all([each.whole for each in distances]), min(each.images for each in distances)
    kinds = {
        key: over_repeats([part.kinds[key] for part in parts])
        for key in first.kinds
        if all(key in part.kinds for part in parts)
    }
    return Part(columns, rows, Frechet(by_category, whole, images), {}, kinds)


def _apart(files: ScoreFiles, samples: Sequence[given.Sample], chains: Chains) -> Array:
    """n: between the original and the first redrawing, pixel by pixel."""
    first = {sample.id: chains.drawn.get((sample.id, 1)) for sample in samples}
    originals = {sample.id: Picture.of(files.data, sample.file) for sample in samples}
    return np.array([math.nan if image is None else _distance(originals[name], image) for name, image in first.items()])


@lru_cache(maxsize=2**14)
def _distance(a: Picture, b: Picture) -> float:
    return pixel_distance(*(_pixels(each) for each in (a, b)))


@lru_cache(maxsize=512)
def _pixels(picture: Picture) -> NDArray[np.uint8]:
    size = (PIXELS_PER_SIDE, PIXELS_PER_SIDE)
    return np.asarray(picture.open().convert("RGB").resize(size, Image.Resampling.BILINEAR))


def _across(
    files: ScoreFiles, samples: Sequence[given.Sample], chains: Chains, encoder: Encoder, most: int
) -> tuple[Array, Array]:
    """n×T cosines of originals with descriptions, and of first descriptions with what was drawn."""
    every = {place_of(each): text for each in chains.records if (text := given.said(each))}
    told = {at: text for at, text in every.items() if at[1] <= most}
    said, shown = (np.full((len(samples), most), np.nan) for _ in range(2))
    texts = encoder.texts(told.values(), []) if told else {}
    for place, sample in enumerate(samples):
        steps = range(1, most + 1)
        own = {t: texts[told[sample.id, t]] for t in steps if (sample.id, t) in told}
        if own:
            [original] = encoder.images([Picture.of(files.data, sample.file)])
            said[place, [t - 1 for t in own]] = cosines(np.stack([original] * len(own)), np.stack([*own.values()]))
        pictures = {t: chains.drawn[sample.id, t] for t in steps if (sample.id, t) in chains.drawn}
        if 1 in own and pictures:
            seen = encoder.images([*pictures.values()])
            shown[place, [t - 1 for t in pictures]] = cosines(np.stack([own[1]] * len(seen)), seen)
    return said, shown


def _means(
    columns: Mapping[str, Array], categories: Sequence[str], frechet: Frechet, name: str, intervals: Intervals | None
) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """Over all, with intervals where there are to be some, and of each category; ``name`` is that of the
    distance."""
    by_category = by_group(columns, categories)
    for category, distances in frechet.by_category.items():
        by_category[category] |= _weighed(name, distances)
    metrics = mean_of(list(by_category.values()), of_all=False)
    for key, column in columns.items():
        there = [(value, one) for value, one in zip(column.tolist(), categories, strict=True) if not math.isnan(value)]
        if intervals is not None and there and (key.startswith("gc_at_") or key in WITH_INTERVAL):
            metrics |= intervals.of_mean(key, [value for value, _ in there], [one for _, one in there])
        if key.startswith("gc_at_") and all(key in row for row in by_category.values()):
            metrics[key.replace("gc_", "gc_images_")] = mean([value for value, _ in there])
    whole = _weighed(f"whole_{name}", frechet.whole)
    return metrics | whole | ({"images": float(frechet.images)} if whole else {}), by_category


def _weighed(name: str, distances: Sequence[float]) -> dict[str, float]:
    """The later iterations weigh more, as in GC@t."""
    return {f"{name}_at_{t}": gc_at(distances, t) for t in range(1, len(distances) + 1)}


def _put_curves(found: Found, metrics: Mapping[str, float], frechet_name: str, most: int) -> None:
    ends = {"gc_low": "_low", "gc_high": "_high", "gc_std": "_std", "similarity_std": "_std"}
    for curve in ("similarity", "gc", *ends, frechet_name, "text_similarity"):
        end = ends.get(curve, "")
        keys = {str(t): f"{curve.removesuffix(end)}_at_{t}{end}" for t in range(1, most + 1)}
        found.put(["curves", curve], {t: metrics[key] for t, key in keys.items() if key in metrics})
    for place in found.numbers:
        if place[0] in ("metrics", "groups", "curves") and any(frechet_name in part for part in place[1:]):
            rounded = (*place[:-1], place[-1].removesuffix("_std"))  # a deviation is as far off as what it is of
            found.tolerances[place] = PRECISION * abs(given.number(found.numbers[rounded]))


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
