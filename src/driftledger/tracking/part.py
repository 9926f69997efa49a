"""What one benchmark adds to a run in MLflow, and how all of them say it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from driftledger.benchmarks._questions.records import QuestionScore
from driftledger.benchmarks.description_records import TracScore
from driftledger.core.canonical import canonical_json
from driftledger.core.escaping import csv_text, for_csv, for_markdown
from driftledger.ledger.lineage import AnyScore, Behind
from driftledger.tracking.components import Played
from driftledger.tracking.content import Metric

Artifacts = dict[str, Callable[[], bytes]]


@dataclass(frozen=True, slots=True)
class Part:
    """One score's share of a run; its fields are those of :class:`~driftledger.tracking.content.RunContent`."""

    metrics: Sequence[Metric]
    note: Sequence[str]
    """Lines of the run's description, in Markdown."""
    components: Played
    """The metrics are shown with each version that they are of."""
    params: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    artifacts: Artifacts = field(default_factory=dict)
    late_metrics: Callable[[], Iterable[Metric]] = tuple


def place_of(score: AnyScore) -> str:
    """The name of the data; TRAC's scores, of which there are several on the same, have their own names below it."""
    if isinstance(score, TracScore):
        return f"{score.dataset}/{score.description}/{score.encoder}"
    return score.question_set if isinstance(score, QuestionScore) else score.dataset


def lock_tags(behind: Behind[AnyScore], places: Mapping[str, str] | None = None) -> dict[str, str]:
    """``dvc.lock/<stage>/<place>`` → what each stage behind a score wrote.

    A place is the name of the data, unless ``places`` says another for a stage, since several may stand beside each
    other in one run.
    """
    tags = {}
    for stage, entry in behind.stages.items():
        word = stage.partition("@")[0]
        place = (places or {}).get(word, behind.on)
        tags[f"dvc.lock/{word}/{place}"] = canonical_json(
            {"stage": stage, "outs": {out.path: out.md5 for out in entry.outs}}
        )
    return tags


def limit(max_tokens: int | None) -> str:
    """How long a description may be, for people."""
    return "the model's own limit" if max_tokens is None else str(max_tokens)


def note_lines(said: str, flags: Sequence[str]) -> list[str]:
    """One entry of the run's description, with what a reader must know below it."""
    return [f"- {said}", *(f"  - {for_markdown(flag)}" for flag in flags)]


def some_of(metrics: Mapping[str, float], *names: str) -> str:
    """``a = 1.0, b = 2.0``, of those that are there."""
    return ", ".join(f"{name} = {metrics[name]:.1f}" for name in names if name in metrics)


def groups_csv(what: str, groups: Mapping[str, Mapping[str, float]]) -> bytes:
    """A table with a row per class or category and a column per metric."""
    columns = sorted({metric for metrics in groups.values() for metric in metrics})
    rows = ([for_csv(name), *(number(metrics.get(column)) for column in columns)] for name, metrics in groups.items())
    return csv_text([what, *columns], rows).encode()


def number(value: float | None) -> str:
    """A cell with six decimals, or an empty one."""
    return "" if value is None else f"{value:.6f}"
