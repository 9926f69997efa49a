"""How faithful descriptions are, as in the TRAC paper's Tables 1 and 2: to the image, and to what is redrawn of it."""

from collections.abc import Iterator, Mapping, Sequence

from driftledger.benchmarks.description_records import FidelityScore
from driftledger.core.escaping import for_csv, for_markdown
from driftledger.reports.tables import (
    best_first,
    cell,
    flag_lines,
    grouped,
    interval,
    is_frechet,
    markdown_table,
    ranks_of,
)

_NAMES = {
    "clip_s": "CLIP-S",
    "ssim": "SSIM",
    "fid": "FID",
    "clip_s_i": "CLIP-S-I",
    "image_similarity": "image similarity",
    "human": "human rating",
}
_ENDS = ("_low", "_high")
_ORDER = ("clip_s", "clip_s_i", "image_similarity", "ssim")
"""The first of these that a model has decides where it stands."""


def fidelity_tables(scores: Sequence[FidelityScore]) -> list[str]:
    """Markdown lines: per dataset, generator and encoder a row per model, what is absent and why, and agreement."""
    lines: list[str] = []
    for block in _blocks(scores):
        first = block[0]
        lines += [f"## fidelity on {first.dataset} · {first.generator} · {first.encoder}", "", *_table(block)]
        lines += [*_absent(block), *_coverage(block), *_agreement(block), *flag_lines(block)]
    return lines


def fidelity_rows(scores: Sequence[FidelityScore]) -> Iterator[tuple[object, ...]]:
    """Rows of the leaderboard's CSV: every metric with ranks, every category's, and the agreement with people."""
    for block in _blocks(scores):
        ranks = {metric: _ranks(block, metric) for metric in _metrics(block)}
        for place, score in enumerate(block):
            for metric, kind, name, value in _values(score):
                rank = ranks[metric][place] if kind == "overall" and metric in ranks else None
                fixed = (score.dataset, score.generator, score.encoder, f"fidelity/{metric}", kind, "")
                yield (*fixed, for_csv(name), score.model, value, "" if rank is None else rank)


def _values(score: FidelityScore) -> Iterator[tuple[str, str, str, float]]:
    """Metric, kind, name and value."""
    for metric, value in sorted(score.metrics.items()):
        yield metric, "overall", "overall", value
    for kind, groups in (("category", _by_metric(score.by_category)), ("agreement", score.agreement)):
        for metric, values in sorted(groups.items()):
            for name, value in sorted(values.items()):
                yield metric, kind, name, value


def _by_metric(by_category: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    turned: dict[str, dict[str, float]] = {}
    for category, values in by_category.items():
        for metric, value in values.items():
            turned.setdefault(metric, {})[category] = value
    return turned


def _blocks(scores: Sequence[FidelityScore]) -> Iterator[list[FidelityScore]]:
    """Models that are compared, the best first."""
    for block in grouped(scores, lambda score: (score.dataset, score.generator, score.encoder)).values():
        by_model = {score.model: score for score in block}
        decides = next((metric for metric in _ORDER if metric in _metrics(block)), "")
        order = best_first({model: score.metrics.get(decides) for model, score in by_model.items()})
        yield [by_model[model] for model in order]


def _metrics(block: Sequence[FidelityScore]) -> list[str]:
    """The metrics that some model has, in the order of the paper's columns."""
    there = {metric for score in block for metric in score.metrics if not metric.endswith(_ENDS)}
    frechet = sorted(metric for metric in there if is_frechet(metric))
    columns = ["clip_s", "ssim", *frechet, "clip_s_i", "image_similarity", "human"]
    return [metric for metric in columns if metric in there]


def _ranks(block: Sequence[FidelityScore], metric: str) -> tuple[int | None, ...]:
    return ranks_of([score.metrics.get(metric) for score in block], not is_frechet(metric))


def _table(block: Sequence[FidelityScore]) -> Iterator[str]:
    metrics = _metrics(block)
    columns = metrics if "clip_s" in metrics else ["clip_s", *metrics]
    ranks = {metric: _ranks(block, metric) for metric in columns}

    def row(place: int, score: FidelityScore) -> Iterator[str]:
        yield score.model
        for metric in columns:
            yield cell(score.metrics.get(metric), ranks[metric][place], more=interval(score.metrics, metric))

    rows = [list(row(place, score)) for place, score in enumerate(block)]
    return markdown_table(
        "as in the paper's Tables 1 and 2; in brackets the interval", ["", *map(_title, columns)], rows
    )


def _title(metric: str) -> str:
    notes = {"human": " (1–5)"} | ({metric: " (lower is better)"} if is_frechet(metric) else {})
    return _NAMES.get(metric, metric) + notes.get(metric, "")


def _absent(block: Sequence[FidelityScore]) -> Iterator[str]:
    """What has no value, and why; of the models that this holds for, unless it holds for all."""
    reasons = grouped(
        ((metric, reason, score.model) for score in block for metric, reason in sorted(score.absent.items())),
        lambda each: each[:2],
    )
    for (metric, reason), some in reasons.items():
        of = "" if len(some) == len(block) else f" of {', '.join(model for *_, model in some)}"
        yield f"- No {for_markdown(_NAMES.get(metric, metric))}{of}: {for_markdown(reason)}."
    if reasons:
        yield ""


def _coverage(block: Sequence[FidelityScore]) -> Iterator[str]:
    said = ", ".join(f"{score.model} {score.scored}/{score.total}" for score in block)
    yield f"Images that were redrawn: {said}."
    yield ""
    rated = [score for score in block if "human" in score.metrics]
    if rated:
        used = (f"{s.model} {s.inputs.ratings.get('used', 0)} by {s.inputs.ratings.get('raters', 0)}" for s in rated)
        yield f"Human ratings and raters: {', '.join(used)}."
        yield ""


def _agreement(block: Sequence[FidelityScore]) -> Iterator[str]:
    """How each metric goes with what people say, over samples."""
    columns = ("spearman", "kendall", "pearson")
    rows = [
        [
            f"{_NAMES.get(metric, metric)}: {score.model}",
            *(cell(values.get(name), digits=3) for name in columns),
            f"{values['n']:.0f}",
        ]
        for metric in _metrics(block)
        for score in block
        if (values := score.agreement.get(metric)) is not None
    ]
    if rows:
        yield from markdown_table("agreement with human ratings, over samples", ["", *columns, "samples"], rows)
