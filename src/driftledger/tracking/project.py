"""Evidence and score files → what MLflow shows. A projection: nothing here is measured or decided."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from driftledger.canonical import canonical_json, sha256_of
from driftledger.config import Tracking
from driftledger.layout import Layout, samples_file
from driftledger.ledger.code import dirty_patch, packages
from driftledger.ledger.evidence import Behind, Evidence
from driftledger.records import ChainRecord, ComponentCard, SampleEntry, SampleScore, read_jsonl
from driftledger.reports.contact_sheet import contact_sheet
from driftledger.shown import csv_text, for_csv, for_markdown
from driftledger.tracking.content import ComponentVersion, DatasetInput, Metric, RunContent
from driftledger.tracking.costs import call_costs
from driftledger.tracking.questions import (
    question_artifacts,
    question_dataset,
    question_metrics,
    question_note,
    question_tags,
)
from driftledger.tracking.store import push

EVIDENCE = "evidence.json"

FLAGS = "driftledger.flags"
"""Tag of runs: what a reader of the scores must know; absent where there is nothing."""


def tracking_uri(tracking: Tracking) -> str:
    """Where MLflow is: ``MLFLOW_TRACKING_URI``, or what params say."""
    return os.environ.get("MLFLOW_TRACKING_URI") or tracking.uri


def show(layout: Layout, evidence: Sequence[Evidence], tracking: Tracking) -> str:
    """Let the current runs of the experiment be exactly those that ``evidence`` stands for; say what it took.

    Raises:
        LedgerError: the MLflow store cannot be used; nothing of ours is lost by that.
    """
    contents = [run_content(layout, each) for each in evidence]
    lock = layout.state / "locks" / "track.lock"
    pushed = push(contents, tracking_uri=tracking_uri(tracking), experiment=tracking.experiment, lock=lock)
    return (
        f"MLflow experiment {tracking.experiment!r}: {pushed.created} runs created, {pushed.resumed} completed, "
        f"{pushed.unchanged} unchanged"
    )


def run_content(layout: Layout, evidence: Evidence) -> RunContent:
    """One combination as an MLflow run."""
    first = evidence.behind[0].score.inputs
    chain = first.chain
    cards = {"model": chain.model, "generator": chain.generator, "encoder": first.encoder}
    params = {"iterations": str(chain.iterations), "seed": str(chain.seed)}
    params |= {"describe_prompt": chain.describe_prompt, "generate_prompt": chain.generate_prompt}
    tags = {f"{kind}.fingerprint": card.fingerprint for kind, card in cards.items()}
    for kind, card in cards.items():
        params |= _spec_params(kind, card)
    tags |= {"git.commit": evidence.code.commit or "none", "git.dirty": str(evidence.code.dirty).lower()}
    for behind in evidence.behind:
        for stage, entry in behind.stages.items():
            name = f"dvc.lock/{stage.partition('@')[0]}/{behind.score.dataset}"
            tags[name] = canonical_json({"stage": stage, "outs": {out.path: out.md5 for out in entry.outs}})
    tags |= _flag_tags(evidence)
    tags["mlflow.note.content"] = _note(evidence)
    artifacts: dict[str, Callable[[], bytes]] = {
        EVIDENCE: lambda: evidence.model_dump_json(indent=2, by_alias=True).encode(),
        "packages.txt": lambda: packages().encode(),
    }
    if evidence.code.dirty:
        artifacts["dirty.patch"] = lambda: dirty_patch(layout.root).encode(errors="surrogateescape")
    for behind in evidence.behind:
        artifacts |= _artifacts(layout, evidence, behind)
    for answered in evidence.questions:
        tags |= question_tags(answered)
        artifacts |= question_artifacts(layout, answered)
    return RunContent(
        name=evidence.name,
        fingerprint=evidence.fingerprint,
        params=params,
        tags=tags,
        metrics=(
            *(metric for behind in evidence.behind for metric in _metrics(behind)),
            *(metric for answered in evidence.questions for metric in question_metrics(answered)),
        ),
        datasets=(
            *(_dataset(behind) for behind in evidence.behind),
            *(question_dataset(answered) for answered in evidence.questions),
        ),
        generator=ComponentVersion(
            kind="generator",
            name=chain.generator.name,
            fingerprint=chain.generator.fingerprint,
            params=_spec_params("generator", chain.generator),
            tags={},
        ),
        artifacts=artifacts,
        late_metrics=partial(_timings, layout, evidence),
    )


def _flag_tags(evidence: Evidence) -> dict[str, str]:
    """Which versions services said they were, and what a reader of the scores must know."""
    served: dict[str, set[str]] = {}
    for behind in evidence.behind:
        for role, versions in behind.score.served.items():
            served.setdefault(role, set()).update(versions)
    tags = {f"{role}.served": ", ".join(sorted(versions)) for role, versions in served.items()}
    flags = {f"{behind.score.dataset}: {flag}" for behind in evidence.behind for flag in behind.score.flags}
    flags |= {f"{each.score.question_set}: {flag}" for each in evidence.questions for flag in each.score.flags}
    flags |= {
        f"{len(each)} served versions of the {role} in this run" for role, each in served.items() if len(each) > 1
    }
    return tags | ({FLAGS: "; ".join(sorted(flags))} if flags else {})


def _note(evidence: Evidence) -> str:
    """The run's description in the UI, in Markdown; every name in it is a catalogue name."""
    lines = []
    for behind in evidence.behind:
        score, t = behind.score, behind.score.inputs.chain.iterations
        value, low, high = (score.metrics[f"gc_at_{t}{end}"] for end in ("", "_low", "_high"))
        chains = f"{score.scored}/{score.total} chains"
        lines.append(f"- **{score.dataset}**: GC@{t} = {value:.3f} ({low:.3f} to {high:.3f}), {chains}")
        lines += [f"  - {for_markdown(flag)}" for flag in score.flags]
    lines += [question_note(answered) for answered in evidence.questions]
    return "\n".join([*lines, "", f"Where it comes from: `driftledger audit {'/'.join(evidence.combination)}`"])


def _spec_params(kind: str, card: ComponentCard) -> dict[str, str]:
    params = {kind: card.name, f"{kind}.provider": card.provider, f"{kind}.version": card.version}
    params |= {f"{kind}.{key}": _plain(value) for key, value in card.settings.items()}
    return params | {f"{kind}.identity.{key}": _plain(value) for key, value in card.identity.items()}


def _plain(value: object) -> str:
    return value if isinstance(value, str) else canonical_json(value)


def _dataset(behind: Behind) -> DatasetInput:
    return DatasetInput(
        name=behind.score.dataset,
        digest=behind.dataset.md5,
        source=behind.dataset.path,
        samples=behind.score.total,
    )


def _metrics(behind: Behind) -> Iterator[Metric]:
    score = behind.score
    prefix, t = f"{score.benchmark}/{score.dataset}", score.inputs.chain.iterations
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


def _timings(layout: Layout, evidence: Evidence) -> Iterator[Metric]:
    for behind in evidence.behind:
        score = behind.score
        for key, value in call_costs(layout, behind).items():
            yield Metric(f"{score.benchmark}/{score.dataset}/{key}", value, dataset=score.dataset)


def key_of(name: str) -> str:
    """A category's or group's name as part of a metric key.

    One that MLflow would refuse, or that looks like a mended one, is mended and carries a part of its hash, so that no
    two names become the same key.
    """
    plain = re.sub(r"[^A-Za-z0-9_ -]", "_", name)[:80]
    if plain == name and name.strip() and not re.search(r"-[0-9a-f]{16}$", name):
        return name
    return f"{plain}-{sha256_of(name)[:16]}"


def _artifacts(layout: Layout, evidence: Evidence, behind: Behind) -> dict[str, Callable[[], bytes]]:
    score = behind.score
    folder = f"{score.benchmark}/{score.dataset}"
    return {
        f"{folder}/chains.png": partial(_sheet, layout, evidence, behind),
        f"{folder}/samples.csv": partial(_samples_csv, layout, behind),
        f"{folder}/descriptions.csv": partial(_descriptions_csv, layout, behind),
    }


def _sheet(layout: Layout, evidence: Evidence, behind: Behind) -> bytes:
    score = behind.score
    dataset = layout.dataset(score.dataset)
    chain = layout.chain(score.dataset, score.model, score.generator)
    entries = read_jsonl(dataset / "samples.jsonl", SampleEntry)
    title = f"{evidence.name}   on {score.dataset}"
    return contact_sheet(title, dataset, chain, entries, _sample_scores(layout, behind))


def _sample_scores(layout: Layout, behind: Behind) -> list[SampleScore]:
    return read_jsonl(samples_file(layout.root / behind.score_file.path), SampleScore)


def _samples_csv(layout: Layout, behind: Behind) -> bytes:
    steps = range(1, behind.score.inputs.chain.iterations + 1)
    head = ["sample", "category", "outcome", *(f"s{t}" for t in steps), *(f"gc{t}" for t in steps)]
    rows = (
        [*map(for_csv, (row.sample, row.category, row.outcome)), *map(_number, [*row.similarity, *row.gc])]
        for row in _sample_scores(layout, behind)
    )
    return csv_text(head, rows).encode()


def _descriptions_csv(layout: Layout, behind: Behind) -> bytes:
    records = read_jsonl(layout.root / behind.images.path / "records.jsonl", ChainRecord)
    texts = ((row, row.description or "", row.error or "") for row in records)
    rows = ([*map(for_csv, (row.sample, str(row.t), row.outcome, said, error))] for row, said, error in texts)
    return csv_text(["sample", "t", "outcome", "description", "error"], rows).encode()


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6f}"
