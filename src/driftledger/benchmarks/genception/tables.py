"""Models side by side, as in the papers' tables: GC at every t, categories, groups and ranks, people, generators."""

from collections.abc import Iterator, Sequence

from driftledger.benchmarks.base import Benchmark, Cell, Cells, Metric, Origin, SideBySide, Table
from driftledger.benchmarks.genception.cycles.tables import cycle_tables
from driftledger.benchmarks.score import Score
from driftledger.benchmarks.tables import (
    NOTHING,
    NOWHERE,
    best_first,
    cell,
    grouped,
    is_control,
    keys_of,
    letters_note,
    misplaced,
    model_table,
    name_cell,
    name_head,
    ordered,
    places,
    shown_key,
)
from driftledger.metrics.exact import exact_mean

PEOPLE = "human"
"""The provider of models that are people."""


def tables(spec: Benchmark, block: SideBySide) -> Iterator[Table]:
    """All measures in a row per model; then a table per metric by category, with a column per model, the best first.

    Headlines at T come first, everything else is for the page of details.
    """
    gc, order = spec.metrics[0], _best_first(spec, block.scores)
    yield model_table(spec, block, every_step=[gc.key])._replace(
        title="GC@t at every t, and what stands beside it; in brackets the interval"
    )
    yield from _people(spec, order)
    yield from cycle_tables(spec, order)
    yield from _rank_over_groups(spec, order)
    for metric in spec.metrics:
        keys = keys_of(spec, metric, order)
        for key in keys[::-1] if metric is gc else keys[-1:]:
            if any(_value(spec, score, key, "category", name) is not None for score in order for name in _names(order)):
                detail = not metric.headline or key != keys[-1]
                yield _by_category(spec, order, key, metric, block)._replace(detail=detail)


def tables_across(spec: Benchmark, blocks: Sequence[SideBySide]) -> Iterator[Table]:
    """Generators side by side by category, as in Table 4."""

    def but_generator(block: SideBySide) -> tuple[str, ...]:
        return tuple(name for key, name in block.scores[0].keys.items() if key not in ("model", "generator"))

    metric = spec.metrics[0]
    for on, some in grouped(blocks, but_generator).items():
        if len({block.scores[0].keys["generator"] for block in some}) > 1:
            every = [score for block in some for score in block.scores]
            key = keys_of(spec, metric, every)[-1]
            parts = [_by_category(spec, _best_first(spec, block.scores), key, metric, block, every) for block in some]
            by_model = grouped(
                (
                    (name, f"{name} · {block.scores[0].keys['generator']}", part, place)
                    for block, part in zip(some, parts, strict=True)
                    for place, name in enumerate(part.head)
                    if place
                ),
                lambda each: each[0],
            )
            columns = [each for of_model in by_model.values() for each in of_model]
            rows: list[Cells] = [
                [first[0], *(part.rows[number][place] for *_, part, place in columns)]
                for number, first in enumerate(parts[0].rows)
            ]
            yield Table(
                f"{metric.named(key)} by category under several generators on {' · '.join(on)}, each ranked by itself, "
                "as in Table 4",
                ["", *(head for _, head, *_ in columns)],
                rows,
                [f"{block.title} has no ranks: {block.apart}." for block in some if block.apart],
                [part.coverages[place - 1] for *_, part, place in columns],
                across=True,
                name="-".join(("generators", *on)),
                detail=True,
            )


def _best_first(spec: Benchmark, scores: Sequence[Score]) -> list[Score]:
    """By GC at the last t that all categories of a score have."""
    last = shown_key(spec, spec.metrics[0], scores) or ""
    return ordered(scores, {score.model: spec.ranked(score, last) for score in scores})


def _groups(scores: Sequence[Score]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = scores[0].details["groups"]
    return groups


def _names(scores: Sequence[Score]) -> list[str]:
    """All categories, those of groups first."""
    others = sorted({name for score in scores for name in score.groups["category"]})
    return list(dict.fromkeys([*(name for members in _groups(scores).values() for name in members), *others]))


def _by_category(
    spec: Benchmark,
    scores: Sequence[Score],
    key: str,
    metric: Metric,
    block: SideBySide,
    beside: Sequence[Score] = (),
) -> Table:
    """As in the paper's Table 2; a block that is apart from the first has no ranks beside those of others.

    Args:
        beside: scores whose categories have a row, too.
    """
    is_ranked = not (beside and block.apart)

    def row(label: str, kind: str, name: str) -> Iterator[list[Cell | str]]:
        values = [_value(spec, score, key, kind, name) for score in scores]
        standing = block.standing(_number(key, kind, name))
        at = places(scores, values, metric, standing) if is_ranked else [NOWHERE] * len(values)
        origins = [_origin(score, key, kind, name) for score in scores]
        told = zip(values, at, origins, strict=True)
        cells = [cell(value, place, metric.digits, of=of) for value, place, of in told]
        yield [label if kind == "category" else Cell(f"{label} mean", bold=True), *cells]
        if kind != "category":
            yield [
                Cell(f"{label} rank", bold=True),
                *(cell(place.rank, digits=0, of=of) for place, of in zip(at, origins, strict=True)),
            ]

    rows: list[list[Cell | str]] = []
    for group, members in _groups(scores).items():
        for name in members:
            rows += row(name, "category", name)
        rows += row(group, "group", group)
    grouped_names = {name for members in _groups(scores).values() for name in members}
    for name in _names([*scores, *beside]):
        if name not in grouped_names:
            rows += row(name, "category", name)
    rows += row("overall", "overall", "")
    better = {True: "; higher is better", False: "; lower is better", None: ""}[metric.higher_is_better]
    above = misplaced(scores, [_value(spec, score, key, "overall", "") for score in scores], metric)
    standing = None if beside else block.standing(_number(key, "overall", ""))  # beside others a name stands alone
    title, head = f"{metric.named(key)}{better}{above}", ["", *(name_head(score, standing) for score in scores)]
    notes, coverages = letters_note(metric, key, standing), [score.coverage for score in scores]
    return Table(title, head, rows, notes, coverages, across=True, name=f"category_{key}")


def _rank_over_groups(spec: Benchmark, scores: Sequence[Score]) -> Iterator[Table]:
    """The first version's GC rank: of each group the mean of its ranks over t, weighed by its share of categories."""
    gc, groups = spec.metrics[0], _groups(scores)
    if len(groups) < 2:
        return
    head: list[str] = [""]
    rows: list[list[Cell | str]] = [[name_cell(score)] for score in scores]
    total = sum(len(members) for members in groups.values())
    weighed: list[list[float | None]] = [[] for _ in scores]
    for group, members in groups.items():
        ranks_at: list[tuple[int | None, ...]] = []
        for key in keys_of(spec, gc, scores):
            values = [_value(spec, score, key, "group", group) for score in scores]
            if any(value is not None for value in values):
                ranks_at.append(tuple(place.rank for place in places(scores, values, gc)))
                head.append(f"{group} {gc.named(key)}")
                for cells, score, value, rank in zip(rows, scores, values, ranks_at[-1], strict=True):
                    of = _origin(score, key, "group", group)
                    cells.append(cell(value, NOWHERE, gc.digits, "" if rank is None else f"rank {rank}", of))
        for place, terms in enumerate(weighed):
            ranks = [float(rank) for at in ranks_at if (rank := at[place]) is not None]
            whole = ranks and len(ranks) == len(ranks_at)
            terms.append(exact_mean(ranks) * len(members) / total if whole else None)
    sums = [None if None in terms else sum(term for term in terms if term is not None) for terms in weighed]
    for cells, score, value in zip(rows, scores, sums, strict=True):
        cells.append(cell(value, of=Origin(score, "")))
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


def _people(spec: Benchmark, scores: Sequence[Score]) -> Iterator[Table]:
    """People against the best model, as in Table 5; those that may be ranked with models, for these alone are here."""
    gc = spec.metrics[0]
    people = [s for s in scores if s.components["model"].provider == PEOPLE and keys_of(spec, gc, [s])]
    models = [s for s in scores if s.components["model"].provider != PEOPLE and not is_control(s)]
    for number, person in enumerate(people if models else (), 1):
        key = shown_key(spec, gc, [person]) or ""
        rows: list[list[Cell | str]] = []
        kinds = [("category", name, name) for name in _names(scores)]
        kinds += [("group", group, f"{group} mean") for group in _groups(scores)]
        for kind, name, label in [*kinds, ("overall", "", "overall mean")]:
            theirs = _value(spec, person, key, kind, name)
            values = {score.model: _value(spec, score, key, kind, name) for score in models}
            best = best_first(values)[0]
            value, of = values[best], next(_origin(each, key, kind, name) for each in models if each.model == best)
            more = None if theirs is None or not value else 100 * (theirs / value - 1)
            delta = cell(more, digits=1)
            rows.append(
                [
                    Cell(label, bold=kind != "category"),
                    cell(theirs, digits=gc.digits, of=_origin(person, key, kind, name)),
                    cell(value, digits=gc.digits, of=of),
                    best if value is not None else NOTHING,
                    delta._replace(text=f"+{delta.text}") if more is not None and more > 0 else delta,
                ]
            )
        title = f"{gc.named(key)} of {person.model} and of the best model, as in Table 5"
        head = ["", person.model, "best model", "which", "Δ %: people ÷ best − 1"]
        coverages = ", ".join(f"{score.model} {score.coverage:.3f}" for score in (person, *models))
        yield Table(title, head, rows, [f"Coverage: {coverages}."], name=f"people_{number}")


def _value(spec: Benchmark, score: Score, key: str, kind: str, name: str) -> float | None:
    if kind == "overall":
        return spec.ranked(score, key)
    return score.groups.get(kind, {}).get(name, {}).get(key)


def _origin(score: Score, key: str, kind: str, name: str) -> Origin:
    """Of what :func:`_value` gives."""
    return Origin(score, _number(key, kind, name))


def _number(key: str, kind: str, name: str) -> str:
    return key if kind == "overall" else f"{kind}/{name}/{key}"
