"""How far values and ranks depend on the generator or the encoder, where several are selected."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from driftledger.benchmarks.base import NEEDED_FOR, Benchmark
from driftledger.metrics.ranks import DECIMALS
from driftledger.metrics.variance import variance_shares
from driftledger.reports.cells import Cell, Cells, ReportTable, cell
from driftledger.reports.scores import Block, alike

_HEAD = (
    "",
    "models, % of variance",
    "generator or encoder",
    "both together",
    "pairs of models",
    "in another order",
    "of them shown",
)
_NOTE = (
    "Variance components of the values of models through each generator or encoder, as two-way "
    "random effects; an estimate below 0 counts as 0. What a generator or an encoder does to all "
    "models alike changes no rank; both together do, and hold the noise of the samples. In another "
    "order are pairs of which one is better through one, and the other through another; that is "
    "shown where tests show both."
)


def dependence_tables(
    spec: Benchmark, blocks: Sequence[Block]
) -> Iterator[ReportTable]:
    """Yield a table of the first metric, with a row per kind of component with several names."""
    metric = spec.metrics[0]
    rows: list[Cells] = []
    for role in ("generator", "encoder", "text_encoder"):
        if metric.needs & NEEDED_FOR[role]:
            for names, members in alike(blocks, role).items():
                through = [block.scores[0].keys.get(role, "") for block in members]
                place = f"{' · '.join(names)} through {', '.join(through)}"
                rows += _rows(members, place)
    if rows:
        title = f"{spec.title}: how far ranks depend on the generator or encoder"
        yield ReportTable(
            title, _HEAD, rows=rows, notes=[_NOTE], across=True, name="dependence"
        )


def _rows(blocks: Sequence[Block], place: str) -> Iterator[Cells]:
    """Yield the row of several blocks; nothing if fewer than two models have a rank in each."""
    spec = blocks[0].spec
    key = spec.headline(blocks[0].scores[0])[0]
    models = blocks[0].ranked(key)
    for block in blocks:
        models = [model for model in models if model in block.ranked(key)]
    if len(blocks) < 2 or len(models) < 2:
        return
    columns = [block.values(key) for block in blocks]
    shares = variance_shares([[values[m] for values in columns] for m in models])
    turned = 0
    shown = 0
    pairs = list(combinations(models, 2))
    for one, other in pairs:
        leads = [round(values[one] - values[other], DECIMALS) for values in columns]
        turned += min(leads) < 0 < max(leads)
        winners: set[str] = set()
        for block in blocks:
            tested = block.tested(key)
            if tested is not None:
                winners |= tested.groups.better[one] & {other}
                winners |= tested.groups.better[other] & {one}
        shown += len(winners) == 2
    row: list[Cell | str] = [f"{spec.titled(key)} on {place}"]
    row += [cell(100 * share, digits=1) for share in shares]
    yield [*row, str(len(pairs)), str(turned), str(shown)]
