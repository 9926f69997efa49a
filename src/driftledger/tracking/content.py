"""The content of a run in MLflow, as plain values."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from driftledger.components.base import ComponentCard
from driftledger.core.canonical import canonical_json
from driftledger.core.text import for_line
from driftledger.ledger.lineage import Run
from driftledger.reports.leaderboard import FLOORS, percentage
from driftledger.reports.tests import with_ranks
from driftledger.scoring.frame import frame, place_of, rows_in
from driftledger.scoring.metric import COSTS, Metric
from driftledger.scoring.number import Number, NumberName, Place
from driftledger.scoring.roles import flags_of
from driftledger.scoring.score import Score
from driftledger.scoring.table import number_cell
from driftledger.tracking.view import MAX_TAG

FINGERPRINT = "driftledger.fingerprint"
"""Tag that runs, and the versions of registered models, are found by."""
TYPE = "mlflow.runType"
"""Tag of the runs that are listed among MLflow's *Evaluation runs*."""
EVALUATION = "genai_evaluate"
NOTE = "mlflow.note.content"
"""Tag of runs and experiments: their description, in Markdown."""

MOST_METRICS = 40
MOST_PARAMS = 40
_MAX_PARAM = 500
_SHORT = 12
"""Digits of a digest that people and ``driftledger audit`` tell versions apart by."""
_DIGEST = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{20,}\b")
_ROLES = ("generator", "model", "encoder", "text_encoder", "judge")
"""In the order in which a run lists its components."""
_NOT_SHOWN = ("example_encoder", "example_model")
"""Roles of components that chose examples, or that others are compared with."""


Ranked = Mapping[tuple[int, Place], Any]
"""``id`` of a score and a place → the row of a frame with ranks."""


class Tracked(NamedTuple):
    """A number of a score, under the name that MLflow shows."""

    name: str
    """``gc_at_5/photos``; of a curve without t."""
    value: float
    step: int
    """The t of a point of a curve; else 0."""
    title: str
    """For people, with the benchmark, data and components."""
    metric: Metric
    place: Place
    score: Score
    is_headline: bool
    """True of the first number of its score."""
    is_further: bool
    """True if an earlier score of the run is of the same benchmark and data."""


def clip(text: str, limit: int) -> str:
    """Cut a text to at most ``limit`` characters that every store takes."""
    # PostgreSQL takes no NUL
    text = text.encode("utf-8", "backslashreplace").decode().replace("\0", r"\x00")
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def in_table(text: str) -> str:
    """Escape text for a cell of a Markdown table; MLflow shows no HTML."""
    return for_line(text).replace("|", r"\|")


def flat(prefix: str, values: Mapping[str, Any]) -> dict[str, str]:
    """Flatten settings to ``identity.weights.commit`` → text, without unset values."""
    texts: dict[str, str] = {}
    for key, value in values.items():
        name = re.sub(r"[^A-Za-z0-9_. -]", "_", f"{prefix}.{key}" if prefix else key)[
            :250
        ]
        if isinstance(value, dict):
            texts |= flat(name, value)
        elif value not in (None, "", []):
            text = value if isinstance(value, str) else canonical_json(value)
            texts[name] = clip(_DIGEST.sub(r"\1…", text), _MAX_PARAM)
    return texts


def digest_of(score: Score) -> str:
    """Return the digest of a score's data, as short as MLflow wants it."""
    return score.inputs.data_digest[:32]


def cards_of(run: Run) -> dict[str, list[ComponentCard]]:
    """Return role → the components that play it in the run's scores."""
    cards: dict[str, dict[str, ComponentCard]] = {role: {} for role in _ROLES}
    for lineage in run.lineages:
        for role, card in lineage.score.components.items():
            if role not in _NOT_SHOWN:
                cards.setdefault(role, {})[card.fingerprint] = card
    return {
        role: list(versions.values()) for role, versions in cards.items() if versions
    }


def _tracked_in(run: Run) -> Iterator[Tracked]:
    """Yield the numbers that the benchmarks' tables track, by MLflow's names.

    A further score of a benchmark on the same data has in front what tells it from the first,
    since MLflow cuts names off at the end: ``words.trac_accuracy/digits``. Costs are those of the
    first score on the data; the tables have the others.
    """
    firsts: dict[tuple[str, str], Score] = {}
    priced: dict[str, Score] = {}
    for lineage in run.lineages:
        score = lineage.score
        first = firsts.setdefault((score.benchmark, score.on), score)
        further = [
            value for key, value in score.keys.items() if first.keys[key] != value
        ]
        numbers = list(_shown(lineage.spec.metrics.tracked, score))
        if priced.setdefault(score.on, score) is score:
            for key, value in score.costs.items():
                numbers.append((COSTS[key], Number(metric=key, value=value), 0))
        _, _, data = lineage.place.partition("/")
        for metric, number, step in numbers:
            t = None if step else number.t
            is_headline = number is numbers[0][1]
            name = str(NumberName(metric.alias or metric.name, t))
            yield Tracked(
                name=f"{'.'.join([*further, name])}/{score.on}",
                value=number.value or 0.0,
                step=step,
                title=f"{lineage.spec.title} {metric.titled(t)} · {data}",
                metric=metric,
                place=number.place,
                score=score,
                is_headline=is_headline and not step,
                is_further=score is not first,
            )


def _shown(
    metrics: Iterable[Metric], score: Score
) -> Iterator[tuple[Metric, Number, int]]:
    """Yield metric, number and step: 0 for the last t, and t for a curve.

    MLflow's tables show the last point of a curve. One point is none, so that GC@1 is in no column
    with the ends of longer ones.
    """
    for metric in metrics:
        is_curve = "curve" in metric.shown
        last = score.last(metric.name)
        if last is not None and ("last" in metric.shown or not is_curve):
            yield metric, last, 0
        curve = []
        for number in score.over_t(metric.name) if is_curve else ():
            if number.t and number.value is not None:
                curve.append((metric, number, number.t))
        if len(curve) > 1:
            yield from curve


def metrics_of(run: Run) -> list[Tracked]:
    """Return what is tracked, under at most :data:`MOST_METRICS` names.

    MLflow has columns in this order, and few fit a screen: the headline of each benchmark, its
    other values, those of further scores on the same data, curves. The artifacts hold everything.
    """

    def order(tracked: Tracked) -> tuple[bool, ...]:
        return tracked.step > 0, tracked.is_further, not tracked.is_headline

    ordered = sorted(_tracked_in(run), key=order)
    names = dict.fromkeys(tracked.name for tracked in ordered)
    first = list(names)[:MOST_METRICS]
    return [tracked for tracked in ordered if tracked.name in first]


def headlines_of(run: Run) -> list[Tracked]:
    """Return the first number that each score tracks."""
    return [tracked for tracked in _tracked_in(run) if tracked.is_headline]


def params_of(run: Run) -> dict[str, str]:
    """Return names, versions, digests and settings, at most :data:`MOST_PARAMS`.

    Long texts are in an artifact.
    """
    cards = cards_of(run)
    params = {}
    for role, versions in cards.items():
        params[role] = ", ".join([card.name for card in versions])
        fingerprints = [card.fingerprint[:_SHORT] for card in versions]
        params[f"{role}_version"] = ", ".join(fingerprints)
    for lineage in run.lineages:
        params[f"data.{lineage.score.on}"] = digest_of(lineage.score)[:_SHORT]
    if run.lineages:
        params["seed"] = str(run.lineages[0].score.inputs.settings["seed"])
    for role, (card, *_) in cards.items():
        params[f"{role}.provider"] = card.provider
        params[f"{role}.code_version"] = card.version
    for role, (card, *_) in cards.items():
        settings = flat(role, card.settings)
        settings |= flat(f"{role}.identity", card.identity)
        for key, value in settings.items():
            if len(value) < _MAX_PARAM:
                params[key] = value
    return dict(list(params.items())[:MOST_PARAMS])


def ranked_in(runs: Iterable[Run]) -> Ranked:
    """Return the numbers of the headlines' metrics in the scores of runs."""
    numbers = frame(lineage.score for run in runs for lineage in run.lineages)
    headlines = [each.metric.name for run in runs for each in headlines_of(run)]
    rows = rows_in(with_ranks(numbers[numbers["metric"].isin(headlines)]))
    return {(id(row.score), place_of(row)): row for row in rows}


def tags_of(run: Run, ranked: Ranked) -> dict[str, str]:
    """Return those tags of a run that depend on no other run but by its floors."""
    code = run.code
    tags = {
        FINGERPRINT: run.fingerprint,
        NOTE: _note(run, ranked),
        "driftledger.version": ", ".join(
            dict.fromkeys(each.score.driftledger for each in run.lineages)
        ),
        "git.commit": code.commit or "none",
        "git.dirty": str(code.dirty).lower(),
        TYPE: EVALUATION,
        "mlflow.source.name": "driftledger track",
        "mlflow.source.type": "LOCAL",
    }
    if code.commit:
        tags["mlflow.source.git.commit"] = code.commit
    return {key: clip(value, MAX_TAG) for key, value in tags.items()}


def _note(run: Run, ranked: Ranked) -> str:
    """Describe a run in Markdown: its headlines with floors and ceilings, and its flags."""
    head = "| score | value | floor | ceiling | of the range | scored |"
    lines = [head, "|---|---|---|---|---|---|"]
    for tracked in headlines_of(run):
        score = tracked.score
        number = ranked[id(score), tracked.place]
        values = [tracked.value, number.floor, tracked.metric.ceiling]
        value, floor, ceiling = [number_cell(each, number.digits) for each in values]
        lines.append(
            f"| {in_table(tracked.title)} | {value} | {floor} | {ceiling} | "
            f"{percentage(number.share)} | {score.scored} of {score.total} |"
        )
    lines += ["", FLOORS, ""]
    flags: dict[str, None] = {}
    for lineage in run.lineages:
        flags |= dict.fromkeys(flags_of(lineage.spec.metrics, lineage.score))
    lines += [f"- {in_table(flag)}" for flag in flags]
    audit = f"`driftledger audit {run.fingerprint[:_SHORT]}`"
    return "\n".join([*lines, "", f"Where a number comes from: {audit}"])
