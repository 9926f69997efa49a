"""Chains of describing and drawing: GenCeption, and fidelity, whose chains have one drawing.

GenCeption is by Cao et al.; fidelity follows section 3.2.2 of the paper on TRAC. CLIP-S-I
and CLIP-S are cosines of an encoder in percent; SSIM needs no encoder. Where a model left
no description, similarities are 0 from there on, or missing, as ``unread`` says.
"""

import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from driftledger_check.bundle import Folder, Json, ScoreFiles, Vector
from driftledger_check.compute.encoders import Encoder, Picture
from driftledger_check.compute.stats import (
    SIX_DECIMALS,
    SIX_DIGITS,
    Array,
    Intervals,
    Metrics,
    cosines,
    finite,
    frechet_distance,
    gc,
    mean,
    means,
    named,
    pick,
    places,
    ssim,
)
from driftledger_check.compute.values import (
    ALL,
    PERCENT,
    Computed,
    MissingError,
    Record,
    Sample,
    bounded,
    clusters,
    first_problem,
    read_records,
    read_samples,
)

MOST_REPEATS = 1000
MOST_ITERATIONS = 100
MOST_PIXELS = 4096
TEXT_MEAN = "text_similarity_mean"
_AT_T = re.compile(r"(.+)_at_(\d+)(_low|_high|_std|)")
_BY_IMAGES = ("(image_|sound_)?similarity", "gc", "gc_samples", "clip_s_i", "samples")
"""Metrics from the features of images, beside Fréchet distances, as patterns."""
_CURVES = (
    "similarity",
    "gc",
    "gc_low",
    "gc_high",
    "gc_std",
    "similarity_std",
    "text_similarity",
)


class Chains:
    """The records of one repeat."""

    def __init__(
        self,
        folder: Folder,
        records: Sequence[Record],
        unread: str,
    ) -> None:
        self.records = records
        self.last: dict[str, Record] = {}
        """Sample → its last record."""
        self.drawn: dict[tuple[str, int], Picture] = {}
        """(Sample, t) → the image that was drawn."""
        self.described: dict[tuple[str, int], str] = {}
        """(Sample, t) → the description."""
        self.worst: dict[str, int] = {}
        """Sample → the t from which on its similarities are 0."""
        for record in records:
            t = iteration(record)
            self.last[record.unit] = record
            if record.file is not None:
                self.drawn[record.unit, t] = Picture(folder, record.file)
            if record.description:
                self.described[record.unit, t] = record.description
            if unread == "worst" and record.is_undescribed:
                self.worst[record.unit] = t


def iteration(record: Record) -> int:
    """Return the t of a record."""
    return bounded(record.step, 1, 10**6)


def words(records: Sequence[Record]) -> Metrics:
    """Average the number of words of all descriptions."""
    texts = [record.reply.get("text") for record in records]
    lengths = [float(len(text.split())) for text in texts if text]
    return {"words": mean(lengths)} if lengths else {}


class Part(NamedTuple):
    """Measures of the chains of one repeat, or their means over all repeats."""

    columns: dict[str, Array]
    """Metric → a value per sample, or n×T of them."""
    frechet: Array
    """Fréchet distances between originals and iteration t: of each category, and of all."""
    size: int
    """The number of samples behind the last distance over all."""


class ChainScore:
    """A score of chains while it is computed."""

    def __init__(
        self,
        files: ScoreFiles,
        computed: Computed,
        samples: Sequence[Sample],
        stage: str,
    ) -> None:
        self.files = files
        self.computed = computed
        self.samples = samples
        self.settings: Json = files.score["inputs"]["settings"]
        self.of_texts = samples[0].file.endswith(".txt")
        """True if chains begin with a text, which is drawn."""
        self.categories = [sample.category for sample in samples]
        self.rows = places(self.categories)
        """Category → the rows of its samples."""
        self.copies = list(clusters(samples).values())
        """The cluster of each sample: the first one with the same image."""
        folder = files.collected[stage]
        records = read_records(folder)
        protocol = folder.json("components.json")["protocol"]
        repeats = bounded(protocol.get("repeats", 1), 1, MOST_REPEATS)
        if len(records) < repeats * len({record.unit for record in records}):
            raise ValueError(f"a sample lacks one of its {repeats} repeats")
        computed.put(words(records), "metrics")
        computed.served(records, "model", "generator")
        unread = self.settings.get("unread", "left_out")
        self.repeats = []
        for repeat in range(repeats):
            own = [record for record in records if record.repeat == repeat]
            self.repeats.append(Chains(folder, own, unread))
        self.worst = sum(len(chains.worst) for chains in self.repeats)
        self.encoder = Encoder(files, "encoder", computed)
        self.intervals = Intervals.of(self.settings)

    def put_counts(self, scored: int) -> None:
        """Put how many samples are scored; those without a description count, too."""
        total = len(self.samples) * len(self.repeats)
        self.computed.counts(
            scored,
            scored + self.worst,
            total,
        )

    def originals(self) -> list[Picture]:
        """List the images of all samples."""
        return [Picture(self.files.data, sample.file) for sample in self.samples]

    def measure(self, measure: Callable[[Chains], Part]) -> None:
        """Measure the chains of each repeat, and average over repeats."""
        self.parts = [measure(chains) for chains in self.repeats]
        self.overall = over_repeats(self.parts)

    def category_means(self, columns: Mapping[str, Array]) -> Array:
        """Average over the samples of each category: categories × columns."""
        table = np.array([*columns.values()]).reshape(len(columns), len(self.samples)).T
        return np.array([means(table[rows]) for rows in self.rows.values()])

    def put_interval(
        self,
        metric: str,
        column: Array,
        groups: Sequence[str],
        most: float,
    ) -> None:
        """Put the interval of the mean of group means, whose values are within ±most."""
        known = np.flatnonzero(~np.isnan(column)).tolist()
        interval = self.intervals.of_mean(
            metric,
            column[known].tolist(),
            groups=pick(groups, known),
            clusters=pick(self.copies, known),
            bottom=-most,
            top=most,
        )
        self.computed.put(interval, "metrics")

    def put_repeats(self, repeats: Sequence[Metrics]) -> None:
        """Put the metrics of each of several repeats, and the deviations over repeats."""
        if len(repeats) < 2:
            return
        for number, chains in enumerate(self.repeats):
            repeats[number].update(words(chains.records))
            self.computed.put(
                repeats[number],
                "groups",
                "repeat",
                str(number),
            )
        for name in repeats[0].keys() - {"samples"}:
            values = [metrics[name] for metrics in repeats if name in metrics]
            is_metric = ("metrics", name) in self.computed.numbers
            if is_metric and len(values) == len(repeats):
                self.computed.put(
                    statistics.pstdev(values),
                    "metrics",
                    f"{name}_std",
                )

    def put_rows(self, groups: Sequence[str], extras: Sequence[Json]) -> None:
        """Put the row of each sample: its values over all repeats, and in each of them."""
        for row, sample in enumerate(self.samples):
            outcomes = [chains.last[sample.id].outcome for chains in self.repeats]
            repeats = []
            for outcome, part in zip(outcomes, self.parts, strict=True):
                repeats.append(
                    {
                        "outcome": outcome,
                        **_row_values(part, row),
                    }
                )
            content = {
                "group": groups[row],
                "cluster": self.copies[row],
                "outcome": first_problem(outcomes),
                "extra": extras[row],
                "repeats": repeats if len(repeats) > 1 else [],
                **_row_values(self.overall, row),
            }
            self.computed.put(content, "rows", sample.id)


def _row_values(part: Part, row: int) -> dict[str, list[float]]:
    """List the values of a sample, but for means over iterations."""
    values = {}
    for metric, column in part.columns.items():
        if column.ndim == 2:
            values[metric] = column[row].tolist()
        elif not metric.endswith("_mean") and not math.isnan(column[row]):
            values[metric] = [float(column[row])]
    return values


def over_repeats(parts: Sequence[Part]) -> Part:
    """Average over repeats.

    A sample has the mean over those repeats in which it has a value. A distance is the
    mean over all repeats.
    """
    if len(parts) == 1:
        return parts[0]
    columns = {}
    for metric in parts[0].columns:
        if all(metric in part.columns for part in parts):
            columns[metric] = means(np.stack([part.columns[metric] for part in parts]))
    frechet = means(np.stack([part.frechet for part in parts]), of_all=True)
    return Part(
        columns,
        frechet,
        size=min(part.size for part in parts),
    )


def genception(files: ScoreFiles, computed: Computed) -> None:
    """Measure how similar chains stay to their first image, and texts to the first one."""
    score = ChainScore(
        files,
        computed,
        samples=read_samples(files.data),
        stage="chain",
    )
    groups = files.data.json("dataset.json")["groups"]
    # Each group has a sample, and costs as a category does.
    bounded(
        len(groups),
        0,
        len(score.samples),
    )
    until = _iterations(score, groups)
    score.measure(lambda chains: _measure_chains(score, chains, until))
    summary = summarize(score, score.overall, min(until))
    computed.put(summary.metrics, "metrics")
    for metric, column in per_iteration(score.overall.columns).items():
        has_interval = metric.startswith("gc_at_") or metric == TEXT_MEAN
        if has_interval and metric in summary.metrics:
            score.put_interval(
                metric,
                column,
                groups=score.categories,
                most=1.0,
            )
    categories = list(score.rows)
    for category, values in zip(categories, summary.by_category, strict=True):
        computed.put(
            named(summary.names, values),
            "groups",
            "category",
            category,
        )
    for group, members in groups.items():
        rows = [categories.index(category) for category in members]
        values = means(summary.by_category[rows], of_all=True)
        computed.put(
            named(summary.names, values),
            "groups",
            "group",
            group,
        )
    computed.put(groups, "details", "groups")
    score.put_repeats(
        [summarize(score, part, min(until)).metrics for part in score.parts]
    )
    distance = score.encoder.frechet_name
    _put_curves(computed, (*_CURVES, distance))
    computed.rounded[f".*{distance}.*"] = (SIX_DIGITS, 0.0)
    score.put_rows(score.categories, [{}] * len(score.samples))
    stopped = []
    for chains in score.repeats:
        for sample, t in zip(score.samples, until, strict=True):
            last = chains.last[sample.id]
            came = last.description if score.of_texts else last.file
            if iteration(last) != t or came is None:
                stopped.append(last.outcome)
    computed.put(Counter(stopped), "outcomes")
    counted = sum(len(finite(part.columns["similarity_mean"])) for part in score.parts)
    score.put_counts(counted - score.worst)


def _iterations(score: ChainScore, groups: Mapping[str, Sequence[str]]) -> list[int]:
    """Read T of each sample, which the settings may lower for groups of categories."""
    most = bounded(score.settings["iterations"], 1, MOST_ITERATIONS)
    until = dict.fromkeys(score.categories, most)
    sooner = score.settings.get("iterations_by_group") or {}
    # The first group that names a category wins.
    for group, t in reversed(sooner.items()):
        for category in groups.get(group, ()):
            until[category] = bounded(t, 1, most)
    return pick(until, score.categories)


def _measure_chains(
    score: ChainScore,
    chains: Chains,
    until: Sequence[int],
) -> Part:
    """Measure similarities, GC@t and Fréchet distances of one repeat."""
    most = score.settings["iterations"]
    part = measure_images(
        score,
        chains,
        most,
        list(score.rows),
    )
    similarity = part.columns["similarity"]
    _put_zeros(score, chains, similarity, until)
    part.columns["gc"] = gc(similarity)
    part.columns["similarity_mean"] = _running_means(similarity, until)
    if "text_encoder" in score.files.score["components"]:
        try:
            texts = _compare_texts(score, chains, max(until))
        except MissingError as why:
            score.computed.withhold(["text_similarity"], str(why))
        else:
            _put_zeros(score, chains, texts, until)
            texts[:, 0] = np.nan  # the first description is compared with no other
            part.columns["text_similarity"] = texts
            part.columns[TEXT_MEAN] = _running_means(
                texts[:, 1:], [t - 1 for t in until]
            )
    return part


def measure_images(
    score: ChainScore,
    chains: Chains,
    most: int,
    categories: Sequence[str],
) -> Part:
    """Compare drawings with the originals, or texts, by cosines and Fréchet distances.

    Args:
        categories: those whose distances are computed, beside the one over all.
    """
    came: Mapping[tuple[str, int], Any] = chains.drawn
    if score.of_texts:
        came = chains.described
    similarity = np.full((len(score.samples), most), np.nan)
    for row, sample in enumerate(score.samples):
        for t in range(1, most + 1):
            if (sample.id, t) in came:  # it counts, also if it cannot be read
                similarity[row, t - 1] = 0.0
    frechet = np.full((len(categories) + 1, most), np.nan)
    size = 0
    try:
        encode: Callable[[Sequence[Any]], Vector] = score.encoder.images
        starts: Sequence[Any] = score.originals()
        if score.of_texts:
            starts = [_text(picture) for picture in starts]
            encode = partial(_encode_texts, score.encoder, starts)
        first = encode(starts)
        for t in range(most):
            reached = np.flatnonzero(~np.isnan(similarity[:, t])).tolist()
            if not reached:
                break
            originals = first[reached]
            redrawn = encode([came[score.samples[row].id, t + 1] for row in reached])
            if score.of_texts:
                similarity[reached, t] = _text_cosines(originals, redrawn)
            else:
                similarity[reached, t] = cosines(originals, redrawn)
            members = places(pick(score.categories, reached))
            sets = [members.get(category, []) for category in categories]
            if all(sets) and len(reached) >= 2:
                sets.append(list(range(len(reached))))
                size = len(reached)
            for number, rows in enumerate(sets):
                if len(rows) >= 2:
                    distance = frechet_distance(originals[rows], redrawn[rows])
                    frechet[number, t] = distance
    except MissingError as why:
        distance_name = f"(whole_)?{score.encoder.frechet_name}"
        score.computed.withhold((*_BY_IMAGES, distance_name), str(why))
    return Part({"similarity": similarity}, frechet, size)


def _text(picture: Picture) -> str:
    """Read the text that a chain begins with; MissingError if the bundle left it out."""
    try:
        return picture.folder.text(picture.name)
    except KeyError:
        path = f"{picture.folder.path}/{picture.name}"
        raise MissingError(f"{path} was left out of the bundle") from None


def _encode_texts(
    encoder: Encoder, corpus: Sequence[str], texts: Sequence[str]
) -> Vector:
    """Compute features by an encoder that learns from the texts of the dataset alone."""
    rows = encoder.texts(texts, corpus)
    return np.stack([rows[text] for text in texts])


def _text_cosines(a: Vector, b: Vector) -> Array:
    """Compute cosines; 0 where the encoder knows nothing of one of both texts."""
    known = np.flatnonzero(a.any(axis=1) & b.any(axis=1)).tolist()
    similarity = np.zeros(len(a))
    similarity[known] = cosines(a[known], b[known])
    return similarity


def _put_zeros(
    score: ChainScore,
    chains: Chains,
    similarity: Array,
    until: Sequence[int],
) -> None:
    """Put 0 from the t on at which the model left no description."""
    for row, sample in enumerate(score.samples):
        if sample.id in chains.worst:
            similarity[row, chains.worst[sample.id] - 1 : until[row]] = 0.0


def _running_means(similarity: Array, until: Sequence[int]) -> Array:
    """Average the first ``until`` values of each row, added one by one."""
    sums = np.cumsum(similarity, axis=1)
    averages = np.full(len(sums), np.nan)
    for row, end in enumerate(until):
        if end:
            averages[row] = sums[row, end - 1] / end
    return averages


def _compare_texts(
    score: ChainScore,
    chains: Chains,
    most: int,
) -> Array:
    """Compute n×T cosines of descriptions with the first of their chain; NaN at t = 1."""
    described = chains.described
    corpus = [text for (_, t), text in described.items() if t == 1]
    texts = [text for (unit, _), text in described.items() if (unit, 1) in described]
    rows: Mapping[str, Vector] = {}
    encoder = Encoder(score.files, "text_encoder", score.computed)
    if texts:
        rows = encoder.texts(texts, corpus)
    similarity = np.full((len(score.samples), most), np.nan)
    for row, sample in enumerate(score.samples):
        first = rows.get(described.get((sample.id, 1), ""))
        for t in range(2, most + 1):
            later = rows.get(described.get((sample.id, t), ""))
            if first is not None and later is not None and first.any() and later.any():
                similarity[row, t - 1] = cosines(first[None], later[None])[0]
    return similarity


def at(metric: str, most: int) -> list[str]:
    """Name the values of a metric at t = 1 … T."""
    return [f"{metric}_at_{t}" for t in range(1, most + 1)]


def per_iteration(columns: Mapping[str, Array]) -> dict[str, Array]:
    """Make a column of each iteration of n×T measures; keep other columns."""
    expanded = {}
    for metric, column in columns.items():
        if column.ndim == 1:
            expanded[metric] = column
        else:
            expanded.update(
                zip(
                    at(metric, column.shape[1]),
                    column.T,
                    strict=True,
                )
            )
    return expanded


class Summary(NamedTuple):
    """GenCeption's metrics, over all categories and of each."""

    names: Sequence[str]
    by_category: Array
    """Categories × names."""
    metrics: Metrics


def summarize(
    score: ChainScore,
    part: Part,
    shortest: int,
) -> Summary:
    """Average over the samples of each category, then over categories.

    Args:
        shortest: the smallest T of a category. Later values would be of some categories.
    """
    most = part.frechet.shape[1]
    distance = score.encoder.frechet_name
    columns = per_iteration(part.columns)
    names = [*columns, *at(distance, most)]
    gc_frechet = gc(part.frechet)  # equation 4
    by_category = np.hstack([score.category_means(columns), gc_frechet[:-1]])
    metrics = named(names, means(by_category))
    start = names.index("gc_at_1")
    gc_of_categories = by_category[:, start : start + most]
    over_samples = means(part.columns["gc"])
    over_samples[np.isnan(gc_of_categories).any(axis=0)] = np.nan
    metrics |= named(at("gc_samples", most), over_samples)
    of_all = named(at(f"whole_{distance}", most), gc_frechet[-1])
    if of_all:
        metrics |= {
            **of_all,
            "samples": float(part.size),
        }
    reached = {}
    for name, value in metrics.items():
        match = _AT_T.fullmatch(name)
        if match is None or int(match[2]) <= shortest:
            reached[name] = value
    return Summary(names, by_category, metrics=reached)


def _put_curves(computed: Computed, curves: Sequence[str]) -> None:
    """Put the metrics at each t once more, as curves."""
    for place, value in list(computed.numbers.items()):
        match = _AT_T.fullmatch(place[-1])
        if place[0] == "metrics" and match and match[1] + match[3] in curves:
            computed.put(
                value,
                "curves",
                match[1] + match[3],
                match[2],
            )


def fidelity(files: ScoreFiles, computed: Computed) -> None:
    """Compare each image with its redrawing and its description (TRAC, section 3.2.2)."""
    samples = read_samples(files.data)
    tested = [sample for sample in samples if sample.split == "test"]
    score = ChainScore(
        files,
        computed,
        samples=tested or samples,
        stage="redraw",
    )
    score.measure(lambda chains: _measure_redrawings(score, chains))
    if "ratings" in files.score["inputs"].get("beside", {}):
        why = "people's ratings are no part of the checker; 'driftledger verify' reads them"
        computed.withhold(["human"], why)
        computed.not_checkable |= {
            ("details", "ratings"): why,
            ("groups", "agreement"): why,
        }
    else:
        for count in ("used", "raters", "stale"):
            computed.put(0, "details", "ratings", count)
    computed.put(_redrawing_metrics(score, score.overall), "metrics")
    one_group = [ALL] * len(score.samples)
    columns = score.overall.columns
    for metric, column in columns.items():
        score.put_interval(metric, column, groups=one_group, most=PERCENT)
    score.put_repeats([_redrawing_metrics(score, part) for part in score.parts])
    by_category = score.category_means(columns)
    for category, values in zip(score.rows, by_category, strict=True):
        computed.put(
            named(list(columns), values),
            "groups",
            "category",
            category,
        )
    score.put_rows(one_group, [{"category": category} for category in score.categories])
    computed.rounded["ssim(_low|_high|_std)?"] = (0.0, PERCENT * SIX_DECIMALS)
    computed.rounded[f"{score.encoder.frechet_name}(_std)?"] = (SIX_DIGITS, 0.0)
    redrawn = 0
    outcomes = []
    for chains in score.repeats:
        outcomes += [record.outcome for record in chains.records]
        redrawn += sum((sample.id, 1) in chains.drawn for sample in score.samples)
    computed.put(Counter(outcomes), "outcomes")
    score.put_counts(redrawn)


def _redrawing_metrics(score: ChainScore, part: Part) -> Metrics:
    """Average over all samples."""
    metrics = {}
    for metric, column in part.columns.items():
        if values := finite(column):
            metrics[metric] = mean(values)
    if part.size:
        metrics[score.encoder.frechet_name] = float(part.frechet[0, 0])
        metrics["samples"] = float(part.size)
    return metrics


def _measure_redrawings(score: ChainScore, chains: Chains) -> Part:
    """Measure the redrawings of one repeat."""
    part = measure_images(score, chains, most=1, categories=[])
    similarity = part.columns["similarity"]
    _put_zeros(
        score,
        chains,
        similarity,
        [1] * len(score.samples),
    )
    is_sound = any(sample.file.endswith(".wav") for sample in score.samples)
    reads_texts = score.encoder.reads_texts
    metric = "clip_s_i" if reads_texts else "image_similarity"
    columns = {"sound_similarity" if is_sound else metric: PERCENT * similarity[:, 0]}
    if not is_sound:
        columns |= _column(
            score, chains, "ssim", _structural_similarities(score, chains)
        )
    if reads_texts:
        metric = "clap_score" if is_sound else "clip_s"
        columns |= _column(
            score,
            chains,
            metric,
            _text_fidelities(score, chains),
        )
    return part._replace(columns=columns)


def _column(
    score: ChainScore,
    chains: Chains,
    metric: str,
    pairs: Iterable[tuple[str, float]],
) -> dict[str, Array]:
    """Give a metric in percent, from pairs of sample and value; nothing if one is missing."""
    values = dict.fromkeys(chains.worst, 0.0)
    try:
        values.update(pairs)
    except MissingError as why:
        score.computed.withhold([metric], str(why))
        return {}
    column = [PERCENT * values.get(sample.id, math.nan) for sample in score.samples]
    return {metric: np.array(column)}


def _structural_similarities(
    score: ChainScore, chains: Chains
) -> Iterator[tuple[str, float]]:
    """Compare each drawing with its original by SSIM."""
    side = bounded(score.settings["ssim_side"], 11, MOST_PIXELS)
    for sample, original in zip(score.samples, score.originals(), strict=True):
        drawn = chains.drawn.get((sample.id, 1))
        if drawn:
            yield sample.id, ssim(_luma(original, side), _luma(drawn, side))


def _text_fidelities(score: ChainScore, chains: Chains) -> Iterator[tuple[str, float]]:
    """Compare each description with its original, whether it was drawn or not."""
    texts = {}
    originals = []
    for sample, original in zip(score.samples, score.originals(), strict=True):
        last = chains.last.get(sample.id)
        text = last.reply.get("text") if last else None
        if last and text and last.results[0]["outcome"] in ("ok", "truncated"):
            texts[sample.id] = text
            originals.append(original)
    if texts:
        rows = score.encoder.texts(texts.values(), [])
        features = np.stack(pick(rows, texts.values()))
        images = score.encoder.images(originals)
        yield from zip(texts, cosines(images, features), strict=True)


@lru_cache(maxsize=512)
def _luma(picture: Picture, side: int) -> NDArray[np.uint8]:
    """Read the grey values of an image, resized to ``side`` × ``side``."""
    grey = picture.open().convert("L")
    return np.asarray(grey.resize((side, side), Image.Resampling.BILINEAR))
