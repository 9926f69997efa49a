"""One sample's chains by every model, as the README shows them."""

from collections.abc import Sequence

from driftledger.benchmarks.genception.records import SampleScore
from driftledger.core.files import read_jsonl
from driftledger.core.paths import Combination, Layout, samples_file
from driftledger.data.records import SampleEntry
from driftledger.reports.contact_sheet import chain_row, draw_rows


def draw_chains(layout: Layout, datasets: Sequence[str], models: Sequence[str], generator: str, encoder: str) -> bytes:
    """A PNG of the first dataset's first sample: a row per model, with one generator and one encoder.

    Without a dataset it is a picture that says so, since DVC wants one.
    """
    if not datasets:
        return draw_rows("GenCeption is not selected: there are no chains to show.", [])
    dataset = datasets[0]
    first = read_jsonl(layout.dataset(dataset) / "samples.jsonl", SampleEntry)[0]
    original = layout.dataset(dataset) / first.file
    rows = []
    for model in models:
        scores = layout.scores("genception", dataset, Combination(model, generator, encoder))
        score = next(each for each in read_jsonl(samples_file(scores), SampleScore) if each.sample == first.id)
        rows.append(chain_row(model, original, layout.chain(dataset, model, generator), score))
    return draw_rows(f"{dataset}: {first.id}, redrawn by {generator}, seen by {encoder}", rows)
