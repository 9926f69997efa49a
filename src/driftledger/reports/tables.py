"""The tables of all benchmarks, and the formats that they are written in.

Which numbers a table shows is in each benchmark's specification. Cells hold plain text that models and files may have
brought; it is made inert where it is written.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from driftledger.benchmarks.base import COVERAGE, NOWHERE, Benchmark, Cell, Cells, Metric, Origin, Place, Table
from driftledger.benchmarks.base import cell as cell
from driftledger.benchmarks.score import HIGH, LOW, STD, Score, base_key
from driftledger.core.escaping import csv_table, for_csv
from driftledger.core.grouping import grouped
from driftledger.core.markup import for_cell, for_latex
from driftledger.metrics.ranks import DECIMALS, competition_ranks
from driftledger.reports.standing import Block, Standing

SHARED_LETTER = "models that share one cannot be told apart"


def ranks_of(values: Sequence[float | None], higher_is_better: bool = True) -> tuple[int | None, ...]:
    """Return competition ranks among those that have a value.

    >>> ranks_of([0.3, None, 0.5, 0.5])
    (3, None, 1, 1)
    """
    known = [value for value in values if value is not None]
    ranks = iter(competition_ranks(known, higher_is_better) if known else [])
    return tuple(None if value is None else next(ranks) for value in values)


def places(
    scores: Sequence[Score], values: Sequence[float | None], metric: Metric, standing: Standing | None = None
) -> list[Place]:
    """Return the place of each score's model by these values; controls have none, since they are not models to choose.

    Args:
        standing: what tests show; without it ranks go by the values.
    """
    competing = [None if score.is_control else value for score, value in zip(scores, values, strict=True)]
    if standing is None:
        unranked = metric.higher_is_better is None
        return [Place(rank) for rank in ([None] * len(values) if unranked else ranks_of(competing, metric.is_higher))]
    groups = standing.groups
    return [
        NOWHERE
        if value is None or score.model not in groups.ranks
        else Place(groups.ranks[score.model], score.model in groups.best, groups.letters[score.model])
        for score, value in zip(scores, competing, strict=True)
    ]


def best_first(scores: Sequence[Score], values: Mapping[str, float | None], higher: bool = True) -> list[Score]:
    """Order scores by the values of their models, those without one behind them, controls behind all."""
    sign = -1 if higher else 1

    def order(score: Score) -> tuple[bool, bool, float, str]:
        value = values[score.model]
        return score.is_control, value is None, sign * (value or 0.0), score.model

    return sorted(scores, key=order)


def misplaced(scores: Sequence[Score], values: Sequence[float | None], metric: Metric) -> str:
    """Say in a head above how many models a control has a better value; empty where it is above none."""
    if metric.higher_is_better is None:
        return ""
    sign = 1 if metric.higher_is_better else -1
    known = [(s, sign * round(v, DECIMALS)) for s, v in zip(scores, values, strict=True) if v is not None]
    best = max((value for score, value in known if score.is_control), default=None)
    models = [value for score, value in known if not score.is_control]
    below = sum(best is not None and value < best for value in models)
    return f" (a control is above {below} of {len(models)} models)" if below else ""


def title_of(metric: Metric, key: str) -> str:
    """A metric's title, its unit, and its direction where a reader could be mistaken."""
    return metric.named(key) + (metric.unit and f", {metric.unit}") + direction(metric)


def direction(metric: Metric) -> str:
    """Say where lower is better."""
    return " (lower is better)" if metric.higher_is_better is False else ""


def name_cell(score: Score) -> Cell:
    """A model's name, which says so of a control."""
    return Cell(score.model, more="control" if score.is_control else "")


def interval(values: Mapping[str, float], number: str, digits: int) -> str:
    """A number's interval, empty without one.

    >>> interval({"ssim": 28.2, "ssim_low": 27.14, "ssim_high": 29.5}, "ssim", 1)
    '27.1–29.5'
    """
    ends = [values[number + end] for end in (LOW, HIGH) if number + end in values]
    return "–".join(f"{end:.{digits}f}" for end in ends) if len(ends) == 2 else ""


def places_of(block: Block, scores: Sequence[Score], number: str, metric: Metric) -> list[Place]:
    """The places of some scores of a block by a number."""
    values = [block.spec.value_of(score, number) for score in scores]
    return places(scores, values, metric, block.standing(number))


def cells_of(block: Block, scores: Sequence[Score], number: str, metric: Metric, *, ranked: bool = True) -> list[Cell]:
    """A number of some scores of a block, with deviations or intervals and, where ranked, places."""
    at = places_of(block, scores, number, metric) if ranked else [NOWHERE] * len(scores)
    cells = []
    for score, place in zip(scores, at, strict=True):
        kind, _, rest = number.partition("/")
        name, in_group, key = rest.rpartition("/")
        values, key = (score.groups.get(kind, {}).get(name, {}), key) if in_group else (score.metrics, number)
        value, digits = block.spec.value_of(score, number), metric.digits
        deviation = f"{values[key + STD]:.{digits}f}" if value is not None and key + STD in values else ""
        more = "" if deviation else interval(values, key, digits)
        cells.append(cell(value, place, digits, more, Origin(score, number))._replace(deviation=deviation))
    return cells


def _ranks(block: Block, scores: Sequence[Score], number: str, metric: Metric) -> list[Cell]:
    at = places_of(block, scores, number, metric)
    return [cell(place.rank, digits=0, of=Origin(s, number)) for s, place in zip(scores, at, strict=True)]


def misplaced_by(block: Block, number: str, metric: Metric) -> str:
    return misplaced(block.scores, [block.spec.value_of(score, number) for score in block.scores], metric)


def tables_of(block: Block) -> list[Table]:
    """All tables of a block: models side by side, groups, those of the benchmark alone, and how controls do."""
    spec, order = block.spec, ordered_scores(block)
    models = list(_model_tables(block, order))
    models[0] = models[0]._replace(notes=[*models[0].notes, *spec.notes(order)])
    tables = [*models, *spec.tables(order), *_group_tables(block, order), *controls_table(block)]
    return list(map(with_coverages, tables))


def ordered_scores(block: Block, metric: Metric | None = None) -> list[Score]:
    """The scores of a block, the best first; by the first metric that some have where none is named."""
    spec = block.spec
    keys = [(each, spec.shown_key(each, block.scores)) for each in ([metric] if metric else spec.metrics)]
    by, key = next(((each, key) for each, key in keys if key), (spec.metrics[0], None))
    return best_first(block.scores, {s.model: spec.ranked(s, key or "") for s in block.scores}, by.is_higher)


def _model_tables(block: Block, scores: Sequence[Score]) -> Iterator[Table]:
    """A row per model: the tables that the specification names, or one with every metric."""
    spec = block.spec
    every = {metric.key: metric.key for metric in spec.metrics}
    shown = spec.shown or {f"{spec.title}; in brackets the interval": every}
    named = {number.rpartition("/")[2] for columns in shown.values() for number in columns.values()}
    for place, (title, columns) in enumerate(shown.items(), 1):
        further = {m.key: m.key for m in spec.metrics if place == 1 and m.key not in {*named, *spec.not_shown}}
        head, cells = [""], [[name_cell(score) for score in scores]]
        for name, number in {**columns, **further}.items():
            family = next((metric for metric in spec.metrics if metric.key == number), None)
            members = [spec.members(family, score) if family else [number] for score in scores]
            if family and "{t}" in family.key and family.key not in spec.every_step:
                members = [keys[-1:] for keys in members]
            for key in dict.fromkeys(key for keys in members for key in keys):
                metric = spec.metric(key.rpartition("/")[2])
                assert metric is not None  # specifications name no other
                if any(spec.value_of(score, key) is not None for score in scores):
                    title_of_column = title_of(metric, key) if name == number else name
                    head.append(title_of_column + misplaced_by(block, key, metric))
                    cells.append(cells_of(block, scores, key, metric))
        first = spec.shown_key(spec.metrics[0], scores)
        if first is not None:
            head.append("rank")
            cells.append(_ranks(block, scores, first, spec.metrics[0]))
        coverages, name = [score.coverage for score in scores], f"models_{place}" if len(shown) > 1 else "models"
        yield Table(title, head, list(zip(*cells, strict=True)), coverages=coverages, name=name)


def _group_tables(block: Block, scores: Sequence[Score]) -> Iterator[Table]:
    """A table per kind of groups and metric."""
    spec = block.spec
    for kind in spec.tabled_groups:
        published = spec.published_groups.get(kind, "")
        in_groups = {key for score in scores for values in score.groups.get(kind, {}).values() for key in values}
        for metric in spec.metrics:
            keys = sorted(key for key in in_groups if spec.metric(key) is metric and base_key(key) == key)
            keys.sort(key=lambda key: -int((metric.match(key) or {}).get("t", 0)))
            for key in keys[:1] if "{t}" in metric.key and metric.key not in spec.every_step else keys:
                title = f"{title_of(metric, key)} by {kind}{published}{misplaced_by(block, key, metric)}"
                detail = not (spec.means_of_groups and metric.headline and key == keys[0])
                published = ""
                standing = block.standing(key)
                letters = {} if standing is None else standing.groups.letters
                table = _group_table([(block, scores)], kind, key, metric)
                names = zip(scores, table.head[1:], strict=True)
                head = [f"{name} ({letters[s.model]})" if letters.get(s.model) else name for s, name in names]
                note = f"Letters beside names are by {metric.named(key)} as a whole; {SHARED_LETTER}."
                yield table._replace(title=title, head=["", *head], notes=[note] if letters else [], detail=detail)


def _group_table(
    some: Sequence[tuple[Block, Sequence[Score]]], kind: str, key: str, metric: Metric, *, alone: bool = True
) -> Table:
    """A row per group, a column per model of some blocks; with means of groups, as in GenCeption's Table 2, also those
    and their ranks.

    Args:
        alone: whether there is a single block; of several, a block that is apart from the first has no ranks.
    """
    spec, scores = some[0][0].spec, [score for _, own in some for score in own]
    nested: dict[str, list[str]] = scores[0].details["groups"] if spec.means_of_groups else {}
    names = dict.fromkeys(name for score in scores for name in score.groups.get(kind, {}))
    others = [name for name in names if not any(name in members for members in nested.values())]
    lines: list[tuple[str, str, bool]] = []
    for group, members in nested.items():
        lines += [(name, f"{kind}/{name}/{key}", False) for name in members]
        lines.append((group, f"{spec.means_of_groups}/{group}/{key}", True))
    lines += [(name, f"{kind}/{name}/{key}", False) for name in (sorted(others) if nested else others)]
    lines += [("overall", key, True)] if nested else []
    rows: list[Cells] = []
    for label, number, is_mean in lines:
        ranked = [(block, own, alone or not block.apart) for block, own in some]
        cells = [
            each for block, own, is_ranked in ranked for each in cells_of(block, own, number, metric, ranked=is_ranked)
        ]
        plain = [each._replace(more="") for each in cells]
        rows.append([Cell(f"{label} mean", bold=True) if is_mean else label, *plain])
        if is_mean:
            ranks = [
                each
                for block, own, is_ranked in ranked
                for each in (_ranks(block, own, number, metric) if is_ranked else [cell(None)] * len(own))
            ]
            rows.append([Cell(f"{label} rank", bold=True), *ranks])
    head, coverages = ["", *(str(name_cell(score)) for score in scores)], [score.coverage for score in scores]
    return Table("", head, rows, coverages=coverages, across=True, name=f"{kind}_{key}", detail=True)


def generators_tables(spec: Benchmark, blocks: Sequence[Block]) -> Iterator[Table]:
    """Groups of the first metric under several generators, each ranked by itself, as in GenCeption's Table 4."""
    alike = [key for key in spec.scores.keys if key not in ("model", "generator")]
    for on, some in grouped(blocks, lambda block: tuple(block.scores[0].keys[key] for key in alike)).items():
        every = [score for block in some for score in block.scores]
        if not spec.means_of_groups or len({score.keys.get("generator") for score in every}) < 2:
            continue
        metric, kind = spec.metrics[0], spec.tabled_groups[0]
        key = spec.keys_of(metric, every)[-1]
        columns = [(block, ordered_scores(block)) for block in some]
        scores = [score for _, own in columns for score in own]
        models = list(dict.fromkeys(score.model for score in scores))
        order = sorted(range(len(scores)), key=lambda place: models.index(scores[place].model))
        table = _group_table(columns, kind, key, metric, alone=False)
        yield with_coverages(
            table._replace(
                title=f"{metric.named(key)} by {kind} under several generators on {' · '.join(on)}, each ranked by "
                "itself, as in Table 4",
                head=["", *(f"{table.head[place + 1]} · {scores[place].keys['generator']}" for place in order)],
                rows=[[row[0], *(row[place + 1] for place in order)] for row in table.rows],
                notes=[f"{block.title} has no ranks: {block.apart}." for block in some if block.apart],
                coverages=[scores[place].coverage for place in order],
                name="-".join(("generators", *on)),
            )
        )


def controls_table(block: Block) -> Iterator[Table]:
    """Where each metric that models are compared by places the controls: a row per metric, a column per control."""
    spec = block.spec
    controls = sorted((score for score in block.scores if score.is_control), key=lambda score: score.model)
    models = [score for score in block.scores if not score.is_control]
    rows: list[Cells] = []
    for metric in spec.metrics:
        key = spec.shown_key(metric, block.scores)
        is_wanted = metric.headline or metric.compared or metric.key in spec.across
        if key is None or not is_wanted or metric.higher_is_better is None:
            continue
        values = {score.model: spec.ranked(score, key) for score in block.scores}
        known = [score for score in best_first(models, values, metric.is_higher) if values[score.model] is not None]
        if not known or all(values[score.model] is None for score in controls):
            continue
        standing, sign = block.standing(key), 1 if metric.higher_is_better else -1
        cells: list[Cell] = []
        for control in controls:
            own = values[control.model]
            sides: dict[str, list[str]] = {"above": [], "near": [], "below": []}
            for score in known if own is not None else ():
                if standing is not None:
                    apart: float = standing.controls[control.model, score.model]
                else:
                    apart = sign * (round(own or 0.0, DECIMALS) - round(values[score.model] or 0.0, DECIMALS))
                sides["above" if apart > 0 else "below" if apart < 0 else "near"].append(score.model)
            more = "; ".join(
                f"{side} {'all' if len(names) == len(known) > 1 else ', '.join(names)}"
                for side, names in sides.items()
                if names
            )
            cells.append(cell(own, digits=metric.digits, more=more, of=Origin(control, key)))
        above = misplaced_by(block, key, metric)
        rows.append([f"{metric.named(key)}{direction(metric)}{above}{'' if standing else ', by value'}", *cells])
    if rows and models and controls:
        note = (
            "Above and below: shown by the differences sample by sample, with Holm's correction over all pairs of a "
            "control and a model; near: not shown. Where a row says by value, nothing was tested."
        )
        title = "where each metric places the controls, which do not look at the image"
        yield Table(title, ["", *(score.model for score in controls)], rows, [note], name="controls")


def with_coverages(table: Table) -> Table:
    """Add the coverages of a table's rows or columns as a column or row."""
    if not table.coverages:
        return table
    lines = list(zip(*table.rows, strict=True))[1:] if table.across else table.rows
    cells = []
    for line, coverage in zip(lines, table.coverages, strict=True):
        scores = [each.of.score for each in line if isinstance(each, Cell) and each.of is not None]
        of = Origin(scores[0], COVERAGE.key) if scores and scores[0].coverage == coverage else None
        cells.append(cell(coverage, digits=COVERAGE.digits, of=of))
    if table.across:
        return table._replace(rows=[*table.rows, [COVERAGE.title, *cells]], coverages=())
    rows = [[*row, each] for row, each in zip(table.rows, cells, strict=True)]
    return table._replace(head=[*table.head, COVERAGE.title], rows=rows, coverages=())


def markdown(table: Table) -> Iterator[str]:
    """Write a title, the table and its notes as lines, with an empty one behind each."""
    rows = ([_written(each, for_cell, "**{}**") for each in row] for row in table.rows)
    yield from markdown_table(for_cell(table.title), list(map(for_cell, table.head)), rows)
    for note in table.notes:
        yield from (for_cell(note), "")


def markdown_table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Write cells that are inert Markdown already; the first column has names, the others numbers."""
    yield from (f"**{title}**", "", f"| {' | '.join(head).lstrip()} |", f"|---|{'---:|' * (len(head) - 1)}")
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""


def latex(table: Table) -> str:
    """Write a floating table for documents with the package ``booktabs``; letters of other scripts need lualatex."""
    rows = [" & ".join(_written(each, for_latex, r"\textbf{{{}}}") for each in row) for row in table.rows]
    lines = [
        *(r"\begin{table}", r"\centering", rf"\caption{{{for_latex(table.title)}}}"),
        *(rf"\begin{{tabular}}{{l{'r' * (len(table.head) - 1)}}}", r"\toprule"),
        *(rf"{' & '.join(map(for_latex, table.head))} \\", r"\midrule", *(rf"{row} \\" for row in rows)),
        *(r"\bottomrule", r"\end{tabular}"),
        *(rf"\par\footnotesize {for_latex(note)}" for note in table.notes),
    ]
    return "\n".join([*lines, r"\end{table}", ""])


def csv(table: Table) -> bytes:
    """Write numbers with six decimals; letters, deviations and what is in brackets have columns of their own."""
    head: list[str] = []
    columns: list[list[str | float | None]] = []
    for place, title in enumerate(table.head):
        cells = [each if isinstance(each, Cell) else Cell(each) for each in (row[place] for row in table.rows)]
        head.append(title)
        columns.append([each.text if each.value is None else each.value for each in cells])
        for name, texts in (
            ("letters", [each.letters for each in cells]),
            ("±", [each.deviation for each in cells]),
            ("in brackets", [each.more for each in cells]),
        ):
            if any(texts):
                head.append(", ".join(filter(None, (title, name))))
                columns.append([*texts])
    return csv_table(list(map(for_csv, head)), zip(*columns, strict=True))


def _written(each: Cell | str, inert: Callable[[str], str], bold: str) -> str:
    if isinstance(each, str):
        return inert(each)
    text, more = inert(each.text), inert(str(each._replace(text="")))
    return (bold.format(text) if each.bold else text) + (more and f" {more}")
