"""TRAC's part of a run in MLflow. Its scores are the model's, shown on each of its combinations."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from driftledger.benchmarks.description_records import (
    Condition,
    DescriptionRecord,
    DescriptionsCard,
    Retrieved,
    TracScore,
)
from driftledger.components.card import ComponentCard
from driftledger.core.escaping import csv_text, for_csv
from driftledger.core.files import read_jsonl
from driftledger.core.paths import Layout, samples_file
from driftledger.data.records import SampleEntry
from driftledger.ledger.lineage import Behind
from driftledger.tracking.components import components_of, spec_params
from driftledger.tracking.content import Metric
from driftledger.tracking.costs import cost_metrics, describe_calls
from driftledger.tracking.part import Part, groups_csv, limit, lock_tags, note_lines, number, place_of, some_of


def trac_parts(layout: Layout, scores: Sequence[Behind[TracScore]]) -> Iterator[Part]:
    """A part per score. The first of a dataset is its headline and stands at ``trac/<dataset>/…``; every other one
    below its names, at ``trac/<dataset>/<description>/<encoder>/…``."""
    headlines: dict[str, TracScore] = {}
    costed: set[tuple[str, str]] = set()
    for behind in scores:
        score, headline = behind.score, headlines.setdefault(behind.on, behind.score)
        part = _part(layout, behind, headline)
        if (score.dataset, score.description) not in costed:  # every encoder reads the same descriptions
            costed.add((score.dataset, score.description))
            part = replace(part, late_metrics=partial(_costs, layout, behind, headline))
        yield part


def _part(layout: Layout, behind: Behind[TracScore], headline: TracScore) -> Part:
    score = behind.score
    prefix = f"trac/{score.dataset}" if score is headline else f"trac/{place_of(score)}"
    figures = some_of(score.metrics, "top1", "class_mean", "chance", "leak_rate")
    said = f"TRAC {figures} ({score.description}, {score.encoder}), {score.scored}/{score.total} test samples"
    return Part(
        metrics=tuple(_metrics(score, prefix)),
        note=note_lines(f"**{score.dataset}**: {said}", score.flags),
        components=components_of(behind),
        params=_params(score, headline),
        tags=lock_tags(behind, {"describe": f"{score.dataset}/{score.description}", "trac": place_of(score)})
        | {f"{role}.fingerprint": card.fingerprint for role, card in _cards(score, headline).items()},
        artifacts={
            f"{prefix}/descriptions.csv": partial(_descriptions_csv, layout, behind),
            f"{prefix}/by_class.csv": partial(groups_csv, "class", score.by_class),
            f"{prefix}/confused.csv": partial(_confused_csv, score),
        },
    )


def _metrics(score: TracScore, prefix: str) -> Iterator[Metric]:
    for key, value in {**score.metrics, "coverage": score.coverage}.items():
        yield Metric(f"{prefix}/{key}", value, dataset=score.dataset)
    for row in score.vote:
        yield Metric(f"{prefix}/vote", row["vote"], step=int(row["k"]), dataset=score.dataset)
    fewest, first = min(each.shots for each in score.conditions), score.inputs.descriptions.max_tokens[0]
    lengths = {each.max_tokens or 0: each for each in score.conditions if each.shots == fewest}
    shots = {each.shots: each for each in score.conditions if each.max_tokens == first}
    yield from _sweep(score.dataset, f"{prefix}/by_length/top1", lengths)
    yield from _sweep(score.dataset, f"{prefix}/by_shots/top1", shots)


def _sweep(dataset: str, key: str, conditions: dict[int, Condition]) -> Iterator[Metric]:
    """A step chart, where there is more than one step."""
    if len(conditions) > 1:
        for step, condition in conditions.items():
            yield Metric(key, condition.metrics["top1"], step=step, dataset=dataset)


def _costs(layout: Layout, behind: Behind[TracScore], headline: TracScore) -> Iterable[Metric]:
    score = behind.score
    prefix = f"trac/{score.dataset}"
    if score is not headline:
        prefix = f"{prefix}/{score.description}"
    folder, dataset = (layout.root / file.path for file in (behind.collected["describe"], behind.data))
    calls = partial(describe_calls, folder, dataset, score.inputs.descriptions)
    return cost_metrics(layout, prefix, score.dataset, calls)


def _params(score: TracScore, headline: TracScore) -> dict[str, str]:
    card = score.inputs.descriptions
    prefix = f"trac.{score.dataset}.{score.description}"
    params = {"seed": str(card.seed), f"{prefix}.prompt": card.prompt}
    params[f"{prefix}.max_tokens"] = ", ".join(map(limit, card.max_tokens))
    if score is headline:
        params["description"] = score.description
    if card.demonstrations:
        shots = ", ".join(map(str, card.demonstrations.shots))
        params |= {f"{prefix}.choose": card.demonstrations.choose, f"{prefix}.shots": shots}
    for role, component in _cards(score, headline).items():
        params |= spec_params(role, component)
    return params


def _cards(score: TracScore, headline: TracScore) -> dict[str, ComponentCard]:
    """The components that only TRAC has, by their roles; the model stands with the whole run."""
    main = score.encoder == headline.encoder
    cards = {"text_encoder" if main else f"text_encoders.{score.encoder}": score.inputs.encoder}
    shown = score.inputs.descriptions.demonstrations
    prefix = f"trac.{score.dataset}.{score.description}"
    if shown and shown.encoder:
        cards[f"{prefix}.encoder"] = shown.encoder
    if shown and shown.by:
        cards[f"{prefix}.by"] = shown.by
    return cards


def _descriptions_csv(layout: Layout, behind: Behind[TracScore]) -> bytes:
    """Every description under every condition; what it was taken for, of the headline's condition."""
    folder, dataset = (layout.root / file.path for file in (behind.collected["describe"], behind.data))
    labels = {entry.id: entry.label for entry in read_jsonl(dataset / "samples.jsonl", SampleEntry)}
    taken = {row.sample: row for row in read_jsonl(samples_file(layout.root / behind.score_file.path), Retrieved)}
    shown = _headline_condition(behind.score.inputs.descriptions)
    rows = []
    for record in read_jsonl(folder / "descriptions.jsonl", DescriptionRecord):
        found = taken.get(record.sample) if (record.max_tokens, record.shots) == shown else None
        said = (record.outcome, labels.get(record.sample) or "", record.description or "")
        rows.append(
            [
                *map(for_csv, (record.sample, record.split)),
                "" if record.max_tokens is None else record.max_tokens,
                record.shots,
                *map(for_csv, (*said, *_taken(found), " ".join(record.demonstrations), record.error or "")),
            ]
        )
    return csv_text(_COLUMNS, rows).encode()


_COLUMNS = (
    *("sample", "split", "max_tokens", "shots", "outcome", "label", "description"),
    *("taken for", "by class mean", "nearest", "names", "demonstrations", "error"),
)


def _headline_condition(card: DescriptionsCard) -> tuple[int | None, int]:
    """The first length, with the most demonstrations."""
    return card.max_tokens[0], card.demonstrations.shots[-1] if card.demonstrations else 0


def _taken(found: Retrieved | None) -> tuple[str, str, str, str]:
    if found is None:
        return "", "", "", ""
    names = [word for word, named in (("its class", found.names_own), ("another class", found.names_other)) if named]
    return found.top1 or "", found.class_mean or "", found.nearest or "", " and ".join(names)


def _confused_csv(score: TracScore) -> bytes:
    rows = (
        [*map(for_csv, (pair.first, pair.second)), pair.first_as_second, pair.second_as_first, number(pair.rate)]
        for pair in score.confused
    )
    return csv_text(["first", "second", "first as second", "second as first", "rate"], rows).encode()
