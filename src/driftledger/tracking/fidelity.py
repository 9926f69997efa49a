"""Fidelity's part of a run in MLflow."""

from collections.abc import Iterator
from functools import partial

from driftledger.benchmarks.description_records import FidelityScore, Redrawn
from driftledger.benchmarks.genception.records import ChainRecord
from driftledger.core.escaping import csv_text, for_csv
from driftledger.core.files import read_jsonl
from driftledger.core.paths import Layout, samples_file
from driftledger.data.records import SampleEntry
from driftledger.ledger.lineage import Behind
from driftledger.reports.contact_sheet import redraws_sheet
from driftledger.tracking.components import components_of
from driftledger.tracking.content import Metric
from driftledger.tracking.costs import chain_calls, cost_metrics
from driftledger.tracking.part import Part, groups_csv, limit, lock_tags, note_lines, number, some_of


def fidelity_part(layout: Layout, run: str, behind: Behind[FidelityScore]) -> Part:
    """Final values, how they go with human ratings, and every redrawing to look at; ``run`` is the picture's title."""
    score, chain = behind.score, behind.score.inputs.chain
    folder, params = f"fidelity/{score.dataset}", f"fidelity.{score.dataset}"
    figures = some_of(score.metrics, "clip_s", "clip_s_i", "image_similarity", "ssim", "human")
    calls = partial(chain_calls, layout.root / behind.collected["redraw"].path, chain)
    return Part(
        metrics=tuple(_metrics(score)),
        note=note_lines(f"**{score.dataset}**: fidelity {figures}, {score.scored}/{score.total} redrawn", score.flags),
        components=components_of(behind),
        params={
            "seed": str(chain.seed),
            f"{params}.describe_prompt": chain.describe_prompt,
            f"{params}.generate_prompt": chain.generate_prompt,
            f"{params}.max_tokens": limit(chain.max_tokens),
        },
        tags=lock_tags(behind),
        artifacts={
            f"{folder}/redraws.png": partial(_sheet, layout, run, behind),
            f"{folder}/samples.csv": partial(_samples_csv, layout, behind),
            f"{folder}/by_category.csv": partial(groups_csv, "category", score.by_category),
        },
        late_metrics=partial(cost_metrics, layout, folder, score.dataset, calls),
    )


def _metrics(score: FidelityScore) -> Iterator[Metric]:
    prefix = f"fidelity/{score.dataset}"
    for key, value in {**score.metrics, "coverage": score.coverage}.items():
        yield Metric(f"{prefix}/{key}", value, dataset=score.dataset)
    for metric, agreement in score.agreement.items():
        for key, value in agreement.items():
            yield Metric(f"{prefix}/agreement/{metric}/{key}", value, dataset=score.dataset)


def _sheet(layout: Layout, run: str, behind: Behind[FidelityScore]) -> bytes:
    dataset, redraws = (layout.root / file.path for file in (behind.data, behind.collected["redraw"]))
    entries = read_jsonl(dataset / "samples.jsonl", SampleEntry)
    return redraws_sheet(f"{run}   on {behind.on}", dataset, redraws, entries, _samples(layout, behind))


def _samples(layout: Layout, behind: Behind[FidelityScore]) -> list[Redrawn]:
    return read_jsonl(samples_file(layout.root / behind.score_file.path), Redrawn)


def _samples_csv(layout: Layout, behind: Behind[FidelityScore]) -> bytes:
    records = read_jsonl(layout.root / behind.collected["redraw"].path / "records.jsonl", ChainRecord)
    by_sample = {record.sample: record for record in records}
    samples = _samples(layout, behind)
    columns = sorted({metric for row in samples for metric in row.metrics})
    rows = []
    for row in samples:
        record = by_sample[row.sample]
        values = (number(row.metrics.get(column)) for column in columns)
        said = map(for_csv, (record.description or "", record.error or ""))
        rows.append([*map(for_csv, (row.sample, row.category, row.outcome)), *values, *said])
    return csv_text(["sample", "category", "outcome", *columns, "description", "error"], rows).encode()
