"""Tables that only GenCeption has: people against the best model, and the rank over groups of categories."""

from collections.abc import Iterator, Sequence

from driftledger.benchmarks.base import NOTHING, Benchmark, Cell, Cells, Origin, Table, cell
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
    rows: list[list[Cell | str]] = [
        [Cell(score.model, more=(score.is_control and "control") or "")] for score in scores
    ]
    total = sum(len(members) for members in groups.values())
    weighted: list[list[float | None]] = [[] for _ in scores]
    for group, members in groups.items():
        ranks_at: list[list[int | None]] = []
        for key in spec.keys_of(gc, scores):
            number = f"group/{group}/{key}"
            values = [spec.value_of(score, number) for score in scores]
            if any(value is not None for value in values):
                competing = [None if score.is_control else value for score, value in zip(scores, values, strict=True)]
                known = [value for value in competing if value is not None]
                left = iter(competition_ranks(known, higher_is_better=True) if known else [])
                ranks_at.append([None if value is None else next(left) for value in competing])
                head.append(f"{group} {gc.named(key)}")
                for cells, score, value, rank in zip(rows, scores, values, ranks_at[-1], strict=True):
                    more = "" if rank is None else f"rank {rank}"
                    cells.append(cell(value, digits=gc.digits, more=more, of=Origin(score, number)))
        for place, terms in enumerate(weighted):
            ranks = [float(rank) for at in ranks_at if (rank := at[place]) is not None]
            complete = ranks and len(ranks) == len(ranks_at)
            terms.append(exact_mean(ranks) * len(members) / total if complete else None)
    for cells, score, terms in zip(rows, scores, weighted, strict=True):
        known_terms = [term for term in terms if term is not None]
        cells.append(cell(sum(known_terms) if len(known_terms) == len(terms) else None, of=Origin(score, "")))
    shares = " + ".join(f"{len(members)}/{total} · {group}" for group, members in groups.items())
    yield Table(
        "GC by groups of categories, and the GC rank of the paper's first version",
        [*head, "GC rank (lower is better)"],
        rows,
        [f"GC rank: {shares}, of each group the mean of its ranks, which go by the values alone."],
        [score.coverage for score in scores],
        name="group_ranks",
        detail=True,
    )
