"""Tables that only GenCeption has: people against the best model, and the rank over groups of categories."""

import math
from collections.abc import Iterator, Sequence

from driftledger.benchmarks.base import COVERAGE, NOTHING, Benchmark, Cell, Cells, Origin, Table, cell, coverage_cell
from driftledger.benchmarks.score import Score
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.ranks import competition_ranks

PEOPLE = "human"
"""The provider of models that are people."""


def people(spec: Benchmark, scores: Sequence[Score]) -> Iterator[Table]:
    """Compare each person with the best model, category by category, as in the paper's Table 5."""
    gc = spec.metrics[0]
    persons = [s for s in scores if s.components["model"].provider == PEOPLE and spec.keys_of(gc, [s])]
    models = [s for s in scores if s.components["model"].provider != PEOPLE and not s.is_control]
    for number, person in enumerate(persons if models else (), 1):
        key = spec.shown_key(gc, [person]) or ""
        groups: dict[str, list[str]] = scores[0].details["groups"]
        others = sorted({name for score in scores for name in score.groups["category"]})
        categories = dict.fromkeys([*(name for members in groups.values() for name in members), *others])
        places = [(name, f"category/{name}/{key}") for name in categories]
        places += [(f"{group} mean", f"group/{group}/{key}") for group in groups]
        rows: list[Cells] = []
        for label, place in [*places, ("overall mean", key)]:
            theirs = spec.value_of(person, place)
            values = [(value, each) for each in models if (value := spec.value_of(each, place)) is not None]
            value, best = min(values, key=lambda each: (-each[0], each[1].model), default=(None, None))
            more = None if theirs is None or not value else 100 * (theirs / value - 1)
            delta = cell(more, digits=1)
            rows.append(
                [
                    Cell(label, bold=not place.startswith("category/")),
                    cell(theirs, digits=gc.digits, of=Origin(person, place)),
                    cell(value, digits=gc.digits, of=None if best is None else Origin(best, place)),
                    NOTHING if best is None else best.model,
                    delta._replace(text=f"+{delta.text}") if more is not None and more > 0 else delta,
                ]
            )
        head = ["", person.model, "best model", "which", "Δ %: people ÷ best − 1"]
        coverages = ", ".join(f"{score.model} {score.coverage:.3f}" for score in (person, *models))
        title = f"{gc.named(key)} of {person.model} and of the best model, as in Table 5"
        yield Table(title, head, rows, [f"Coverage: {coverages}."], name=f"people_{number}")


def rank_over_groups(spec: Benchmark, scores: Sequence[Score]) -> Iterator[Table]:
    """The first version's GC rank: of each group the mean of its ranks over t, weighted by its share of categories."""
    gc, groups = spec.metrics[0], scores[0].details["groups"]
    if len(groups) < 2:
        return
    head = [""]
    rows = [[Cell(score.model, more=(score.is_control and "control") or "")] for score in scores]
    total, weighted = sum(map(len, groups.values())), [0.0 for _ in scores]
    for group, members in groups.items():
        numbers = {f"group/{group}/{key}": f"{group} {gc.named(key)}" for key in spec.keys_of(gc, scores)}
        columns = {number: [spec.value_of(score, number) for score in scores] for number in numbers}
        columns = {number: values for number, values in columns.items() if any(value is not None for value in values)}
        ranks_of: list[list[float]] = [[] for _ in scores]
        for number, values in columns.items():
            ranked = [at for at, value in enumerate(values) if value is not None and not scores[at].is_control]
            ranks = competition_ranks([values[at] or 0.0 for at in ranked], higher_is_better=True) if ranked else []
            rank_of = dict(zip(ranked, ranks, strict=True))
            head.append(numbers[number])
            for at, (cells, score) in enumerate(zip(rows, scores, strict=True)):
                more = f"rank {rank_of[at]}" if at in rank_of else ""
                cells.append(cell(values[at], digits=gc.digits, more=more, of=Origin(score, number)))
                ranks_of[at] += [float(rank_of[at])] if at in rank_of else []
        for at, ranks_at in enumerate(ranks_of):
            complete = columns and len(ranks_at) == len(columns)
            weighted[at] += exact_mean(ranks_at) * len(members) / total if complete else math.nan
    for cells, score, rank in zip(rows, scores, weighted, strict=True):
        cells += [cell(None if math.isnan(rank) else rank, of=Origin(score, "")), coverage_cell(score)]
    shares = " + ".join(f"{len(members)}/{total} · {group}" for group, members in groups.items())
    yield Table(
        "GC by groups of categories, and the GC rank of the paper's first version",
        [*head, "GC rank (lower is better)", COVERAGE.title],
        rows,
        [f"GC rank: {shares}, of each group the mean of its ranks, which go by the values alone."],
        name="group_ranks",
        detail=True,
    )
