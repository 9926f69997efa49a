"""Fidelity (after the paper of TRAC, section 3.2.2): image against redrawing, image against description, and people.

CLIP-S-I and CLIP-S are cosines in percent, seen through an encoder; SSIM needs none.
"""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from driftledger_check.compute.chains import Chains, originals
from driftledger_check.compute.encoders import Encoder, Picture
from driftledger_check.compute.found import (
    ALL,
    PERCENT,
    Found,
    Missing,
    Sample,
    read_samples,
    settings_of,
    text,
    text_or_none,
    whole,
)
from driftledger_check.compute.frechet import PRECISION, frechet_distance
from driftledger_check.compute.intervals import Bootstrap
from driftledger_check.compute.means import correlations, cosines, mean
from driftledger_check.compute.ssim import PRECISION as LAST_DECIMAL
from driftledger_check.compute.ssim import luma, ssim
from driftledger_check.files import ScoreFiles

Values = dict[str, dict[str, float]]
"""Metric → sample → value."""

_LINE_END = re.compile(r"\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_LEFT_OUT = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ufeff\ud800-\udfff]")
_WRITTEN_OUT = re.compile(r"[\x0b-\x1f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_QUOTED = re.compile(
    r"'(?!'*+[1-9][0-9]{0,8}\Z)'*+"
    r"(?:[=+\-@\t\r]|(?:(?=[^0-9]*+[0-9])[0-9.-]*+[A-Za-z]{0,9}+[0-9.-]*+|true|false)\Z)",
    re.IGNORECASE,
)
"""What begins with our ', before what a spreadsheet would take for a formula, a number or a date."""


def recompute(files: ScoreFiles, found: Found) -> None:
    settings, chains, every = settings_of(files), Chains(files.collected["redraw"]), read_samples(files.data)
    samples = [sample for sample in every if sample.split == "test"] or every
    drawn = [sample for sample in samples if (sample.id, 1) in chains.drawn]
    pairs = list(zip(originals(files.data, drawn), (chains.drawn[sample.id, 1] for sample in drawn), strict=True))
    encoder, metrics = Encoder(files, "encoder", found), dict[str, float]()
    values: Values = {}
    name, distance = "clip_s_i" if encoder.reads else "image_similarity", encoder.frechet_name
    try:
        first, redrawn = (encoder.images([pair[side] for pair in pairs]) for side in (0, 1)) if pairs else ([], [])
        values[name] = _percent(drawn, cosines(first, redrawn))
        if len(drawn) >= 2:
            metrics = {distance: frechet_distance(first, redrawn), "images": float(len(drawn))}
            found.tolerances["metrics", distance] = PRECISION * metrics[distance]
    except Missing as why:
        found.withhold((name, distance, "images"), str(why))
    try:
        side = whole(settings["ssim_side"], 11, 4096)
        values["ssim"] = _percent(drawn, [_ssim(*pair, side) for pair in pairs])
    except Missing as why:
        found.withhold(["ssim"], str(why))
    if encoder.reads:
        try:
            values["clip_s"] = _clip_s(files, samples, chains, encoder)
        except Missing as why:
            found.withhold(["clip_s"], str(why))
    if human := _human(files, samples, chains):
        values["human"] = human
    boot = Bootstrap.of(settings)
    for metric, of_sample in values.items():
        several = list(of_sample.values())
        metrics |= {metric: mean(several)} | boot.of_mean(metric, several, [ALL] * len(several))
    found.put(["metrics"], metrics | chains.words)
    for category in {sample.category for sample in samples}:
        members = {sample.id for sample in samples if sample.category == category}
        rows = {key: [value for at, value in some.items() if at in members] for key, some in values.items()}
        found.put(["groups", "category", category], {key: mean(row) for key, row in rows.items() if row})
    for metric, of_sample in values.items():
        both = sorted(of_sample.keys() & human.keys()) if metric != "human" else []
        agreed = correlations([human[at] for at in both], [of_sample[at] for at in both])
        found.put(["groups", "agreement", metric], agreed or {})
    for sample in samples:
        found.row(sample.id, {key: [some[sample.id]] for key, some in values.items() if sample.id in some})
    for place in found.numbers:
        if place[:2] == ("groups", "agreement"):
            found.tolerances[place] = LAST_DECIMAL
        elif any(re.fullmatch("ssim(_low|_high)?", part) for part in (place[-1], place[-2])):
            found.tolerances[place] = PERCENT * LAST_DECIMAL
    found.outcomes(text(each, "outcome") for each in chains.records)
    found.counts(len(drawn), len(drawn), len(samples))


def _percent(samples: Sequence[Sample], values: Sequence[float]) -> dict[str, float]:
    return {sample.id: PERCENT * value for sample, value in zip(samples, values, strict=True)}


@lru_cache(maxsize=2**14)
def _ssim(original: Picture, redrawn: Picture, side: int) -> float:
    return ssim(luma(original, side), luma(redrawn, side))


def _clip_s(files: ScoreFiles, samples: Sequence[Sample], chains: Chains, encoder: Encoder) -> dict[str, float]:
    """Of everything that was described, whether it could be drawn or not."""
    said = {sample.id: _description(chains, sample) for sample in samples}
    described = [(sample, each) for sample in samples if (each := said[sample.id])]
    if not described:
        return {}
    images = encoder.images(originals(files.data, [sample for sample, _ in described]))
    rows = encoder.texts([each for _, each in described], [])
    some = [sample for sample, _ in described]
    return _percent(some, cosines(images, [rows[each] for _, each in described]))


def _description(chains: Chains, sample: Sample) -> str | None:
    record = chains.last.get(sample.id)
    return None if record is None else text_or_none(record, "description") or None


def _human(files: ScoreFiles, samples: Sequence[Sample], chains: Chains) -> dict[str, float]:
    """Sample → the mean of what people gave for this description, from 1 to 5."""
    if "ratings" not in files.beside:
        return {}
    dataset, model = files.score["keys"]["dataset"], files.score["keys"]["model"]
    shown = {_clean(sample.id).strip(): _description(chains, sample) for sample in samples}
    given: dict[str, list[int]] = {}
    for row in _sheet(files.beside["ratings"]):
        said = shown.get(row["sample"])
        about_this = said is not None and _as_shown(said) == " ".join(row["description"].split())
        if row["rating"] and (row["dataset"], row["model"]) == (dataset, model) and about_this:
            given.setdefault(row["sample"], []).append(whole(int(row["rating"]), 1, 5))
    means = {sample.id: given.get(_clean(sample.id).strip()) for sample in samples}
    return {name: sum(some) / len(some) for name, some in means.items() if some}


def _sheet(data: bytes) -> list[Mapping[str, str]]:
    """The rows of a CSV file as spreadsheets save it."""
    whole_text = data.decode("utf-8-sig")
    tables = [list(csv.reader(io.StringIO(whole_text, newline=""), delimiter=each)) for each in ",;\t"]
    [head, *rows] = max(tables, key=lambda table: len({"dataset", "sample", "model"} & {*_cells(table[0], True)}))
    names = _cells(head, True)
    return [dict(zip(names, [*_cells(row), *[""] * len(names)], strict=False)) for row in rows]


def _cells(row: Sequence[str], fold: bool = False) -> list[str]:
    cells = [_clean(cell[1:] if _QUOTED.match(cell) else cell).strip() for cell in row]
    return [cell.casefold() for cell in cells] if fold else cells


def _clean(some: str) -> str:
    return _LEFT_OUT.sub("", _LINE_END.sub("\n", some))


def _as_shown(said: str) -> str:
    """As the sheet shows a description, differences in blanks apart."""
    written = _WRITTEN_OUT.sub(lambda match: f"\\x{ord(match[0]):02x}", _clean(said))
    return " ".join(written.split())
