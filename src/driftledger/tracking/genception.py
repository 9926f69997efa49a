"""GenCeption's part of a run in MLflow."""

from collections.abc import Iterator
from functools import partial

from driftledger.benchmarks.genception.records import ChainRecord, SampleScore, ScoreFile
from driftledger.core.escaping import csv_text, for_csv
from driftledger.core.files import read_jsonl
from driftledger.core.paths import Layout, samples_file
from driftledger.data.records import SampleEntry
from driftledger.ledger.lineage import Behind
from driftledger.reports.contact_sheet import contact_sheet
from driftledger.tracking.components import components_of
from driftledger.tracking.content import Metric, key_of
from driftledger.tracking.costs import chain_calls, cost_metrics
from driftledger.tracking.part import Part, lock_tags, note_lines, number


def genception_part(layout: Layout, run: str, behind: Behind[ScoreFile]) -> Part:
    """Curves with a step per iteration, final values, and every chain to look at; ``run`` is the picture's title."""
    chain = behind.score.inputs.chain
    folder = f"genception/{behind.on}"
    calls = partial(chain_calls, layout.root / behind.collected["chain"].path, chain)
    return Part(
        metrics=tuple(_metrics(behind.score)),
        note=_note(behind.score),
        components=components_of(behind),
        params={
            "iterations": str(chain.iterations),
            "seed": str(chain.seed),
            "describe_prompt": chain.describe_prompt,
            "generate_prompt": chain.generate_prompt,
        },
        tags=lock_tags(behind),
        artifacts={
            f"{folder}/chains.png": partial(_sheet, layout, run, behind),
            f"{folder}/samples.csv": partial(_samples_csv, layout, behind),
            f"{folder}/descriptions.csv": partial(_descriptions_csv, layout, behind),
        },
        late_metrics=partial(cost_metrics, layout, folder, behind.on, calls),
    )


def _metrics(score: ScoreFile) -> Iterator[Metric]:
    prefix, t = f"genception/{score.dataset}", score.inputs.chain.iterations
    for row in score.curve:
        for column in sorted(row.keys() - {"t"}):
            yield Metric(f"{prefix}/{column}", row[column], step=int(row["t"]), dataset=score.dataset)
    finals = {key: value for key, value in score.metrics.items() if f"_at_{t}" in key or "_at_" not in key}
    for key, value in {**finals, "coverage": score.coverage}.items():
        yield Metric(f"{prefix}/{key}", value, dataset=score.dataset)
    for kind, rows in (("category", score.by_category), ("group", score.by_group)):
        for name, values in rows.items():
            if f"gc_at_{t}" in values:
                yield Metric(f"{prefix}/{kind}/{key_of(name)}/gc_at_{t}", values[f"gc_at_{t}"], dataset=score.dataset)


def _note(score: ScoreFile) -> list[str]:
    t = score.inputs.chain.iterations
    value, low, high = (score.metrics[f"gc_at_{t}{end}"] for end in ("", "_low", "_high"))
    chains = f"{score.scored}/{score.total} chains"
    return note_lines(f"**{score.dataset}**: GC@{t} = {value:.3f} ({low:.3f} to {high:.3f}), {chains}", score.flags)


def _sheet(layout: Layout, run: str, behind: Behind[ScoreFile]) -> bytes:
    dataset, chain = (layout.root / file.path for file in (behind.data, behind.collected["chain"]))
    entries = read_jsonl(dataset / "samples.jsonl", SampleEntry)
    return contact_sheet(f"{run}   on {behind.on}", dataset, chain, entries, _sample_scores(layout, behind))


def _sample_scores(layout: Layout, behind: Behind[ScoreFile]) -> list[SampleScore]:
    return read_jsonl(samples_file(layout.root / behind.score_file.path), SampleScore)


def _samples_csv(layout: Layout, behind: Behind[ScoreFile]) -> bytes:
    steps = range(1, behind.score.inputs.chain.iterations + 1)
    head = ["sample", "category", "outcome", *(f"s{t}" for t in steps), *(f"gc{t}" for t in steps)]
    rows = (
        [*map(for_csv, (row.sample, row.category, row.outcome)), *map(number, [*row.similarity, *row.gc])]
        for row in _sample_scores(layout, behind)
    )
    return csv_text(head, rows).encode()


def _descriptions_csv(layout: Layout, behind: Behind[ScoreFile]) -> bytes:
    records = read_jsonl(layout.root / behind.collected["chain"].path / "records.jsonl", ChainRecord)
    texts = ((row, row.description or "", row.error or "") for row in records)
    rows = ([*map(for_csv, (row.sample, str(row.t), row.outcome, said, error))] for row, said, error in texts)
    return csv_text(["sample", "t", "outcome", "description", "error"], rows).encode()
