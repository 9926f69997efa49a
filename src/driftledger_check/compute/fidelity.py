"""Fidelity (after the paper of TRAC, section 3.2.2): image against redrawing, image against description, and people.

CLIP-S-I and CLIP-S are cosines in percent, seen through an encoder; SSIM needs none.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from driftledger_check.compute import given
from driftledger_check.compute.chains import Chains, ended, put_repeats, read_chains
from driftledger_check.compute.encoders import Encoder, Picture
from driftledger_check.compute.found import PERCENT, Found
from driftledger_check.compute.frechet import PRECISION, frechet_distance
from driftledger_check.compute.intervals import Intervals
from driftledger_check.compute.means import by_group, correlations, cosines, mean
from driftledger_check.compute.ssim import PRECISION as LAST_DECIMAL
from driftledger_check.compute.ssim import luma, ssim
from driftledger_check.files import ScoreFiles

_LINE_END = re.compile(r"\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_LEFT_OUT = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ufeff\ud800-\udfff]")
_WRITTEN_OUT = re.compile(r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_QUOTED = re.compile(
    r"'(?!'*+[1-9][0-9]{0,8}\Z)'*+"
    r"(?:[=+\-@\t\r]|(?:(?=[^0-9]*+[0-9])[0-9.-]*+[A-Za-z]{0,9}+[0-9.-]*+|true|false)\Z)",
    re.IGNORECASE,
)
"""What begins with our ', before what a spreadsheet would take for a formula, a number or a date."""


class Part(NamedTuple):
    """What redrawings come to: those of one repeat, or the mean over all."""

    values: Mapping[str, Mapping[str, float]]
    """Metric → sample → value."""
    distance: Mapping[str, float]
    """The Fréchet distance, and over how many images it is."""
    words: Mapping[str, float]

    @property
    def metrics(self) -> dict[str, float]:
        """Without intervals."""
        means = {metric: mean(list(of_sample.values())) for metric, of_sample in self.values.items() if of_sample}
        return {**means, **self.distance, **self.words}


def recompute(files: ScoreFiles, found: Found) -> None:
    settings, every = given.settings(files), given.samples(files.data)
    repeats = read_chains(files.collected["redraw"], found)
    samples = [sample for sample in every if sample.split == "test"] or every
    encoder, side = Encoder(files, "encoder", found), given.whole(settings["ssim_side"], 11, 4096)
    parts = [_part(files, samples, chains, encoder, side, found) for chains in repeats]
    whole = parts[0] if len(parts) == 1 else _mean_of(parts)
    values = dict(whole.values)
    first = {sample.id: repeats[0].last.get(sample.id, {}) for sample in samples}
    said = {name: each for name, last in first.items() if (each := given.text_or_none(last, "description"))}
    if human := _human(files, said, samples, found):
        values["human"] = human
    intervals, metrics = Intervals.of(settings), dict(whole.distance)
    for metric, of_sample in values.items():
        several = list(of_sample.values())
        metrics |= {metric: mean(several)} | intervals.of_mean(metric, several, [given.ALL] * len(several))
        both = sorted(of_sample.keys() & human.keys()) if metric != "human" else []
        agreed = correlations([human[at] for at in both], [of_sample[at] for at in both])
        found.put(["groups", "agreement", metric], agreed or {})
    found.put(["metrics"], metrics)
    put_repeats(found, [part.metrics for part in parts])
    columns = {key: np.array([some.get(sample.id, np.nan) for sample in samples]) for key, some in values.items()}
    found.put(["groups", "category"], by_group(columns, [sample.category for sample in samples]))
    for sample in samples:
        ends = [given.text(chains.last[sample.id], "outcome") for chains in repeats]
        told = [(end, _of_sample(part.values, sample.id)) for end, part in zip(ends, parts, strict=True)]
        extra = {"category": sample.category}
        found.row(sample.id, given.ALL, sample.id, ended(ends), extra, _of_sample(values, sample.id), told)
    for place in found.numbers:
        rounded = (*place[:-1], place[-1].removesuffix("_std"))  # a deviation is as far off as what it is of
        if place[:2] == ("groups", "agreement"):
            found.tolerances[place] = LAST_DECIMAL
        elif any(re.fullmatch("ssim(_low|_high|_std)?", part) for part in place[-2:]):
            found.tolerances[place] = PERCENT * LAST_DECIMAL
        elif rounded[-1] == encoder.frechet_name:
            found.tolerances[place] = PRECISION * abs(given.number(found.numbers[rounded]))
    found.outcomes(each for chains in repeats for each in chains.records)
    redrawn = sum((sample.id, 1) in chains.drawn for chains in repeats for sample in samples)
    found.counts(redrawn, redrawn, len(samples) * len(repeats))


def _part(
    files: ScoreFiles, samples: Sequence[given.Sample], chains: Chains, encoder: Encoder, side: int, found: Found
) -> Part:
    originals = {sample.id: Picture.of(files.data, sample.file) for sample in samples}
    pairs = {name: (first, chains.drawn[name, 1]) for name, first in originals.items() if (name, 1) in chains.drawn}
    told = {sample.id: chains.last.get(sample.id, {}) for sample in samples}
    said = {name: each for name, last in told.items() if (each := given.text_or_none(last, "description"))}
    metrics, values = dict[str, float](), dict[str, dict[str, float]]()
    name, distance = "clip_s_i" if encoder.reads else "image_similarity", encoder.frechet_name

    def measure(metric: str, names: Mapping[str, object], similarities: Callable[[], list[float]]) -> None:
        try:
            values[metric] = {name: PERCENT * value for name, value in zip(names, similarities(), strict=True)}
        except given.MissingError as why:
            found.withhold([metric, *([distance, "images"] if metric == name else [])], str(why))

    def between_images() -> list[float]:
        first, redrawn = (encoder.images([pair[side] for pair in pairs.values()]) for side in (0, 1))
        if len(pairs) >= 2:
            metrics.update({distance: frechet_distance(first, redrawn), "images": float(len(pairs))})
        return cosines(first, redrawn)

    def with_texts() -> list[float]:
        """Of everything that was described, whether it could be drawn or not."""
        rows = encoder.texts(said.values(), [])
        return cosines(
            encoder.images([originals[each] for each in said]), np.stack([rows[each] for each in said.values()])
        )

    measure(name, pairs, between_images)
    measure("ssim", pairs, lambda: [_ssim(*pair, side) for pair in pairs.values()])
    if encoder.reads:
        measure("clip_s", said, with_texts)
    return Part(values, metrics, chains.words)


def _mean_of(parts: Sequence[Part]) -> Part:
    """A sample is worth the mean over the repeats in which it has a value; a distance is the mean over all repeats."""
    values: dict[str, dict[str, float]] = {}
    for metric in parts[0].values:
        sides = [part.values.get(metric, {}) for part in parts]
        names = dict.fromkeys(name for side in sides for name in side)
        values[metric] = {name: mean([side[name] for side in sides if name in side]) for name in names}
    shared = [key for key in parts[0].distance if all(key in part.distance for part in parts)]
    distance = {key: mean([part.distance[key] for part in parts]) for key in shared}
    if "images" in distance:
        distance["images"] = min(part.distance["images"] for part in parts)
    return Part(values, distance, {})


def _of_sample(values: Mapping[str, Mapping[str, float]], sample: str) -> dict[str, list[float]]:
    return {key: [some[sample]] for key, some in values.items() if sample in some}


@lru_cache(maxsize=2**14)
def _ssim(original: Picture, redrawn: Picture, side: int) -> float:
    return ssim(luma(original, side), luma(redrawn, side))


def _human(
    files: ScoreFiles, said: Mapping[str, str], samples: Sequence[given.Sample], found: Found
) -> dict[str, float]:
    """Sample → the mean of what people gave for this description, from 1 to 5."""
    shown = {_clean(name).strip(): _as_shown(each) for name, each in said.items()}
    ratings: dict[str, list[int]] = {}
    raters, stale, about = set(), 0, (files.score["keys"]["dataset"], files.score["keys"]["model"])
    for row in _sheet(files.beside["ratings"]) if "ratings" in files.beside else ():
        if row["rating"] and (row["dataset"], row["model"]) == about:
            if shown.get(row["sample"]) == " ".join(row["description"].split()):
                ratings.setdefault(row["sample"], []).append(given.whole(int(row["rating"]), 1, 5))
                raters.add(row["rater"])
            else:
                stale += 1
    used = sum(map(len, ratings.values()))
    found.put(["details", "ratings"], {"used": used, "raters": len(raters), "stale": stale})
    means = {sample.id: ratings.get(_clean(sample.id).strip()) for sample in samples}
    return {name: sum(some) / len(some) for name, some in means.items() if some}


def _sheet(data: bytes) -> Iterator[Mapping[str, str]]:
    """The rows of a CSV file as spreadsheets save it."""
    whole = data.decode("utf-8-sig")
    tables = [list(csv.reader(io.StringIO(whole, newline=""), delimiter=each)) for each in ",;\t"]
    heads = [[cell.casefold() for cell in _cells(table[0])] for table in tables]
    names, rows = max(zip(heads, tables, strict=True), key=lambda sheet: len({"dataset", "sample"} & {*sheet[0]}))
    yield from (dict(zip(names, [*_cells(row), *[""] * len(names)], strict=False)) for row in rows[1:])


def _cells(row: Sequence[str]) -> list[str]:
    return [_clean(cell[1:] if _QUOTED.match(cell) else cell).strip() for cell in row]


def _clean(some: str) -> str:
    return _LEFT_OUT.sub("", _LINE_END.sub("\n", some))


def _as_shown(said: str) -> str:
    """As the sheet shows a description, differences in blanks apart."""
    return " ".join(_WRITTEN_OUT.sub(lambda match: f"\\x{ord(match[0]):02x}", _clean(said)).split())
