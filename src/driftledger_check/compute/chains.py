"""Chains of describing and drawing: GenCeption (Cao et al.), and fidelity (after TRAC, section 3.2.2) of one redrawing.

CLIP-S-I and CLIP-S are cosines in percent, seen through an encoder; SSIM needs none. Where a model left no description,
similarities are 0 from there on, or missing, as ``unread`` says.
"""

import math
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from driftledger_check.bundle import Folder, ScoreFiles
from driftledger_check.compute import values
from driftledger_check.compute.encoders import Encoder, Picture
from driftledger_check.compute.stats import (
    SIX_DECIMALS,
    SIX_DIGITS,
    Array,
    Intervals,
    by_group,
    cosines,
    finite,
    frechet_distance,
    gc_at,
    mean,
    mean_of,
    over_repeats,
    places,
    ssim,
)
from driftledger_check.compute.values import ALL, PERCENT, Found, MissingError, Row, Sample

MOST_REPEATS, MOST_ITERATIONS, MOST_PIXELS = 1000, 100, 4096
TEXT_MEAN = "text_similarity_mean"


class Chains:
    """Every iteration of every sample, of one repeat or of all."""

    def __init__(self, folder: Folder, records: Sequence[Row], unread: str) -> None:
        self.records = records
        undescribed = [each for each in records if values.is_undescribed(each)]
        self.worst = {each["unit"]: place_of(each)[1] for each in undescribed} if unread == "worst" else {}
        """Sample → the t from which on its similarities are 0; of one repeat."""
        self.last = {each["unit"]: each for each in records}
        """Sample → its last record; of one repeat."""
        drawn = [each for each in records if each["file"] is not None]
        self.drawn = {place_of(each): Picture(folder, each["file"]) for each in drawn}
        """(Sample, t) → what was drawn; of one repeat."""

    @property
    def words(self) -> dict[str, float]:
        """The mean length of the descriptions."""
        said = [each["text"] for each in self.records]
        words = [float(len(each.split())) for each in said if each]
        return {"words": mean(words)} if words else {}


def read_chains(folder: Folder, settings: Row, found: Found) -> list[Chains]:
    """Those of each repeat; what is true of all of them is put among what is found."""
    every, protocol = values.records(folder), folder.json("components.json")["protocol"]
    repeats = values.whole(protocol.get("repeats", 1), 1, MOST_REPEATS)
    if len(every) < repeats * len({each["unit"] for each in every}):
        raise ValueError(f"a sample lacks one of its {repeats} repeats")
    unread = settings.get("unread", "left_out")
    found.put(["metrics"], Chains(folder, every, unread).words)
    found.served(every, "model", "generator")
    return [Chains(folder, [each for each in every if each["repeat"] == n], unread) for n in range(repeats)]


def place_of(record: Row) -> tuple[str, int]:
    """Sample and t."""
    return record["unit"], values.whole(record["step"], 1, 10**6)


def ended(outcomes: Sequence[str]) -> str:
    """How a sample ended: the first of its repeats that was not as it should be."""
    return next((each for each in outcomes if each != "ok"), "ok")


def put_repeats(found: Found, repeats: Sequence[Mapping[str, float]]) -> None:
    """The metrics of each of several repeats alone, and their deviation over these."""
    if len(repeats) < 2:
        return
    found.put(["groups", "repeat"], {str(place): each for place, each in enumerate(repeats)})
    for key in repeats[0].keys() - {"samples"}:
        if ("metrics", key) in found.numbers and all(key in each for each in repeats):
            found.put(["metrics"], {f"{key}_std": statistics.pstdev([each[key] for each in repeats])})


class Part(NamedTuple):
    """What chains come to: those of one repeat, or the mean over all."""

    columns: Mapping[str, Array]
    """Metric → a value per sample."""
    rows: Mapping[str, Array]
    """Key of a row's values → n×T of them."""
    frechet: Mapping[str, list[float]]
    """Category → distances between the originals and iteration t, for t = 1 …; under ``""`` over all categories."""
    size: int
    """How many the last of the distances over all is over."""
    words: Mapping[str, float]


def genception(files: ScoreFiles, found: Found) -> None:
    """How similar chains stay to their first image, and their descriptions to the first one."""
    settings, samples = files.score["inputs"]["settings"], values.samples(files.data)
    repeats, groups = read_chains(files.collected["chain"], settings, found), files.data.json("dataset.json")["groups"]
    most, sooner = values.whole(settings["iterations"], 1, MOST_ITERATIONS), settings.get("iterations_by_group") or {}
    values.whole(len(groups), 0, len(samples))  # each has a sample, and costs as much as a category
    stops = {each: values.whole(t, 1, most) for name, t in [*sooner.items()][::-1] for each in groups.get(name, ())}
    categories = [sample.category for sample in samples]
    until = [stops.get(category, most) for category in categories]
    clusters = values.clusters(samples)
    encoder, intervals = Encoder(files, "encoder", found), Intervals.of(settings)
    parts = [_part(files, samples, chains, until, most, encoder, found) for chains in repeats]
    whole = parts[0] if len(parts) == 1 else _mean_of(parts)

    def means(part: Part, ends: Intervals | None) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
        metrics, by_category = _means(part, categories, [*clusters.values()], encoder.frechet_name, ends)
        for t in range(min(until) + 1, most + 1):  # over some of the categories it would be of something else
            metrics = {key: value for key, value in metrics.items() if not re.search(rf"_at_{t}(_low|_high)?$", key)}
        return metrics, by_category

    metrics, by_category = means(whole, intervals)
    by_groups = {name: mean_of([by_category[each] for each in some], of_all=True) for name, some in groups.items()}
    kinds = {"category": by_category, "group": by_groups}
    found.put([], {"metrics": metrics, "groups": kinds, "details": {"groups": groups}})
    put_repeats(found, [means(part, None)[0] | dict(part.words) for part in parts])
    metrics = {place[1]: value for place, value in found.numbers.items() if place[0] == "metrics"}
    ends = {"gc_low": "_low", "gc_high": "_high", "gc_std": "_std", "similarity_std": "_std"}
    for curve in ("similarity", "gc", *ends, encoder.frechet_name, "text_similarity"):
        end = ends.get(curve, "")
        keys = {str(t): f"{curve.removesuffix(end)}_at_{t}{end}" for t in range(1, most + 1)}
        found.put(["curves", curve], {t: metrics[key] for t, key in keys.items() if key in metrics})
    found.rounded[f".*{encoder.frechet_name}.*"] = SIX_DIGITS, 0.0
    for place, sample in enumerate(samples):
        outcomes = [chains.last[sample.id]["outcome"] for chains in repeats]
        worth = [{name: side[place].tolist() for name, side in part.rows.items()} for part in (whole, *parts)]
        names = (sample.category, clusters[sample.id], ended(outcomes))
        found.row(sample.id, names, {}, worth[0], list(zip(outcomes, worth[1:], strict=True)))
    counted = sum(len(finite(part.columns["similarity_mean"])) for part in parts)
    worst = sum(len(chains.worst) for chains in repeats)
    found.counts(counted - worst, counted, len(samples) * len(parts))
    last = ((chains.last[sample.id], t) for chains in repeats for sample, t in zip(samples, until, strict=True))
    found.outcomes(each for each, t in last if place_of(each)[1] != t or each["file"] is None)


def _part(
    files: ScoreFiles,
    samples: Sequence[Sample],
    chains: Chains,
    until: Sequence[int],
    most: int,
    encoder: Encoder,
    found: Found,
) -> Part:
    try:
        similarity, frechet, count = _seen(files, samples, chains, encoder, most)
    except MissingError as why:
        similarity, frechet, count = np.full((len(samples), most), np.nan), {}, 0
        for at, sample in enumerate(samples):  # a placeholder, for what is counted
            similarity[at, [t for t in range(most) if (sample.id, t + 1) in chains.drawn]] = 0.0
        name = encoder.frechet_name
        found.withhold(("similarity", "gc", "gc_samples", "samples", name, f"whole_{name}"), str(why))
    _put_zeros(similarity, samples, chains, until)
    gc = np.array([[gc_at(row, t) for t in range(1, most + 1)] for row in similarity.tolist()])
    sides = (("similarity", similarity), ("gc", gc))
    columns = {f"{name}_at_{t + 1}": side[:, t] for name, side in sides for t in range(most)}
    columns["similarity_mean"] = _running_means(similarity, until)
    rows = {"similarity": similarity, "gc": gc}
    if "text_encoder" in files.score["components"]:
        try:
            similar = rows["text_similarity"] = _read(files, samples, chains, max(until), found)
            _put_zeros(similar, samples, chains, until, first=2)
            columns |= {f"text_similarity_at_{t + 1}": similar[:, t] for t in range(1, max(until))}
            if max(until) > 1:
                columns[TEXT_MEAN] = _running_means(similar[:, 1:], [end - 1 for end in until])
        except MissingError as why:
            found.withhold(["text_similarity"], str(why))
    return Part(columns, rows, frechet, count, chains.words)


def _put_zeros(similar: Array, samples: Sequence[Sample], chains: Chains, until: Sequence[int], first: int = 1) -> None:
    """Put 0 where the model has left no description, from t = ``first`` on."""
    for row, sample, end in zip(similar, samples, until, strict=True):
        if sample.id in chains.worst:
            row[max(first, chains.worst[sample.id]) - 1 : end] = 0.0


def _mean_of(parts: Sequence[Part]) -> Part:
    """A sample is worth the mean over the repeats in which it has a value; a distance is the mean over all repeats."""

    def over(sides: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
        return {k: over_repeats([each[k] for each in sides]) for k in sides[0] if all(k in each for each in sides)}

    columns, rows = over([part.columns for part in parts]), over([part.rows for part in parts])
    steps = {name: zip(*(part.frechet.get(name, []) for part in parts), strict=False) for name in parts[0].frechet}
    frechet = {name: [mean(step) for step in some] for name, some in steps.items()}
    return Part(columns, rows, frechet, min(part.size for part in parts), {})


def _means(
    part: Part, categories: Sequence[str], clusters: Sequence[str], name: str, intervals: Intervals | None
) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """Over all, with intervals where there are to be some, and of each category; ``name`` is that of the distance."""

    def weighed(name: str, distances: Sequence[float]) -> dict[str, float]:
        return {f"{name}_at_{t}": gc_at(distances, t) for t in range(1, len(distances) + 1)}

    by_category = by_group(part.columns, categories)
    for category, distances in part.frechet.items():
        if category:
            by_category[category] |= weighed(name, distances)
    metrics = mean_of(list(by_category.values()), of_all=False)
    for key, column in part.columns.items():
        known = [at for at, value in enumerate(column.tolist()) if not math.isnan(value)]
        there = [float(column[at]) for at in known]
        if intervals is not None and there and (key.startswith("gc_at_") or key == TEXT_MEAN):
            groups, names = ([side[at] for at in known] for side in (categories, clusters))
            metrics |= intervals.of_mean(key, there, groups, names)
        if key.startswith("gc_at_") and all(key in row for row in by_category.values()):
            metrics[key.replace("gc_", "gc_samples_")] = mean(there)
    whole = weighed(f"whole_{name}", part.frechet.get("", []))
    return metrics | whole | ({"samples": float(part.size)} if whole else {}), by_category


def _seen(
    files: ScoreFiles, samples: Sequence[Sample], chains: Chains, encoder: Encoder, most: int
) -> tuple[Array, dict[str, list[float]], int]:
    """n×T cosines with the originals; Fréchet distances to them, and over how many samples the last one is."""
    steps = (
        {at: chains.drawn[sample.id, t] for at, sample in enumerate(samples) if (sample.id, t) in chains.drawn}
        for t in range(1, most + 1)
    )
    first = encoder.images([Picture(files.data, sample.file) for sample in samples])
    similarity, categories = np.full((len(samples), most), np.nan), [sample.category for sample in samples]
    frechet: dict[str, list[float]] = {"": [], **{name: [] for name in categories}}
    count = 0
    for t, pictures in enumerate(takewhile(len, steps)):
        reached, redrawn = list(pictures), encoder.images(list(pictures.values()))
        similarity[reached, t] = cosines(first[reached], redrawn)
        there = places(categories[at] for at in reached)
        for name, rows in there.items():
            if len(rows) >= 2 and len(frechet[name]) == t:
                frechet[name].append(frechet_distance(first[[reached[row] for row in rows]], redrawn[rows]))
        if there.keys() == {*categories} and len(reached) >= 2:
            frechet[""].append(frechet_distance(first[reached], redrawn))
            count = len(reached)
    return similarity, frechet, count


def _running_means(similar: Array, until: Sequence[int]) -> Array:
    """Of the first ``until`` of each row, added one by one."""
    sums = np.cumsum(similar, axis=1)
    return np.array([row[end - 1] / end if end else math.nan for row, end in zip(sums, until, strict=True)])


def _read(files: ScoreFiles, samples: Sequence[Sample], chains: Chains, most: int, found: Found) -> Array:
    """n×T cosines of descriptions with the first one of their chain, NaN at t = 1."""
    said = {place_of(each): text for each in chains.records if (text := values.description(each))}
    corpus = [text for (_, t), text in said.items() if t == 1]
    begun = {sample.id for sample in samples if (sample.id, 1) in said}
    encoder = Encoder(files, "text_encoder", found)
    rows = encoder.texts([text for (name, _), text in said.items() if name in begun], corpus) if begun else {}
    similar = np.full((len(samples), most), np.nan)
    for place, sample in enumerate(samples):
        for t in range(2, most + 1):
            begin, later = (rows.get(said.get((sample.id, at), "")) for at in (1, t))
            if begin is not None and later is not None and begin.any() and later.any():
                similar[place, t - 1] = cosines(begin[None], later[None])[0]
    return similar


def fidelity(files: ScoreFiles, found: Found) -> None:
    """Image against redrawing, and image against description."""
    settings, every = files.score["inputs"]["settings"], values.samples(files.data)
    repeats = read_chains(files.collected["redraw"], settings, found)
    samples = [sample for sample in every if sample.split == "test"] or every
    clusters = values.clusters(samples)
    encoder = Encoder(files, "encoder", found)
    parts = [_redrawn(files, samples, chains, encoder, settings, found) for chains in repeats]
    whole = parts[0] if len(parts) == 1 else _mean_of(parts)
    intervals, columns = Intervals.of(settings), dict(whole.columns)
    if "ratings" in files.score["inputs"].get("beside", {}):
        why = "people's ratings are no part of the checker; 'driftledger verify' reads them"
        found.withhold(["human"], why)
        found.not_checkable |= {("details", "ratings"): why, ("groups", "agreement"): why}
    else:
        found.put(["details", "ratings"], {"used": 0, "raters": 0, "stale": 0})

    def means(part: Part, columns: Mapping[str, Array]) -> dict[str, float]:
        distance = {encoder.frechet_name: part.frechet[""][0], "samples": float(part.size)} if part.size else {}
        return {key: mean(some) for key, column in columns.items() if (some := finite(column))} | distance

    found.put(["metrics"], means(whole, columns))
    for metric, column in columns.items():
        several = finite(column)
        of = [name for name, value in zip(clusters.values(), column, strict=True) if not math.isnan(value)]
        found.put(["metrics"], intervals.of_mean(metric, several, [ALL] * len(several), of, -PERCENT, PERCENT))
    put_repeats(found, [means(part, part.columns) | dict(part.words) for part in parts])
    found.put(["groups", "category"], by_group(columns, [sample.category for sample in samples]))
    for place, sample in enumerate(samples):
        ends = [chains.last[sample.id]["outcome"] for chains in repeats]
        worth = [
            {key: [float(column[place])] for key, column in each.items() if not math.isnan(column[place])}
            for each in (columns, *(part.columns for part in parts))
        ]
        names, extra = (ALL, clusters[sample.id], ended(ends)), {"category": sample.category}
        found.row(sample.id, names, extra, worth[0], list(zip(ends, worth[1:], strict=True)))
    found.rounded |= {"ssim(_low|_high|_std)?": (0.0, PERCENT * SIX_DECIMALS)}
    found.rounded[f"{encoder.frechet_name}(_std)?"] = SIX_DIGITS, 0.0
    found.outcomes(each for chains in repeats for each in chains.records)
    redrawn = sum((sample.id, 1) in chains.drawn for chains in repeats for sample in samples)
    worst = sum(len(chains.worst) for chains in repeats)
    found.counts(redrawn, redrawn + worst, len(samples) * len(repeats))


def _redrawn(
    files: ScoreFiles, samples: Sequence[Sample], chains: Chains, encoder: Encoder, settings: Row, found: Found
) -> Part:
    originals = {sample.id: Picture(files.data, sample.file) for sample in samples}
    pairs = {name: (first, chains.drawn[name, 1]) for name, first in originals.items() if (name, 1) in chains.drawn}
    last = {sample.id: chains.last.get(sample.id, {}) for sample in samples}  # drawn or not
    ended = {name: each["results"][0]["outcome"] for name, each in last.items() if each.get("text")}
    said = {name: last[name]["text"] for name, outcome in ended.items() if outcome in ("ok", "truncated")}
    columns, frechet = dict[str, Array](), list[float]()
    heard, distance = any(sample.file.endswith(".wav") for sample in samples), encoder.frechet_name
    name = "sound_similarity" if heard else "clip_s_i" if encoder.reads else "image_similarity"

    def measure(metric: str, names: Mapping[str, object], similarities: Callable[[], list[float]]) -> None:
        try:
            of_sample = dict.fromkeys(chains.worst, 0.0)
            of_sample |= zip(names, similarities() if names else (), strict=True)
            columns[metric] = np.array([PERCENT * of_sample.get(sample.id, math.nan) for sample in samples])
        except MissingError as why:
            found.withhold([metric, *([distance, "samples"] if metric == name else [])], str(why))

    def between_images() -> list[float]:
        first, redrawn = (encoder.images([pair[at] for pair in pairs.values()]) for at in (0, 1))
        frechet.extend([frechet_distance(first, redrawn)] if len(pairs) >= 2 else [])
        return cosines(first, redrawn)

    def with_texts() -> list[float]:
        rows = encoder.texts(said.values(), [])
        seen = encoder.images([originals[each] for each in said])
        return cosines(seen, np.stack([rows[each] for each in said.values()]))

    measure(name, pairs, between_images)
    if not heard:
        side = values.whole(settings["ssim_side"], 11, MOST_PIXELS)
        measure("ssim", pairs, lambda: [ssim(*(_luma(each, side) for each in pair)) for pair in pairs.values()])
    if encoder.reads:
        measure("clap_score" if heard else "clip_s", said, with_texts)
    return Part(columns, {}, {"": frechet}, len(pairs) if frechet else 0, chains.words)


@lru_cache(maxsize=512)
def _luma(picture: Picture, side: int) -> NDArray[np.uint8]:
    """Squeezed to ``side`` × ``side``."""
    return np.asarray(picture.open().convert("L").resize((side, side), Image.Resampling.BILINEAR))
