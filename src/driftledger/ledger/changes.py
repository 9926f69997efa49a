"""What changed from one run to another beside their means: answers that are read otherwise, and
descriptions with other words.

Two runs of equal score may differ in a third of their answers. How many change by themselves shows
where A was asked twice.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np

from driftledger.benchmarks.records import RECORDS, CollectedRecord, RecordedResult
from driftledger.benchmarks.score import Answer
from driftledger.collect.features import encode_texts
from driftledger.components.base import ComponentCard, Encoder
from driftledger.components.checkpoints import CheckpointComponent
from driftledger.core.canonical import Json
from driftledger.core.errors import DriftledgerError
from driftledger.core.files import read_jsonl
from driftledger.core.types import Outcome
from driftledger.data.records import QUESTIONS, SAMPLES, QuestionEntry, SampleEntry
from driftledger.ledger.compare import paired_scores, rows_of
from driftledger.ledger.lineage import Lineage, Run
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.sources import Sources
from driftledger.ledger.verify.components import Components
from driftledger.metrics.changes import mcnemar, more_than_floor
from driftledger.metrics.exact import exact_mean, round_significant
from driftledger.metrics.intervals import DIGITS, proportion_interval
from driftledger.project.project import Project


class Side(NamedTuple):
    """An answer or a description of one run."""

    reading: str
    """``right``, ``wrong``, ``partly right``, ``refused``, ``unread``; or ``described``."""
    read: Any
    """What it is taken for: an option, a grade, a class; its text, of a description."""
    text: str | None
    """The model's reply; None where its record is not here."""
    drawing: Path | None = None
    """The image or sound that was drawn from it, if it was looked up."""


class Change(NamedTuple):
    """A sample or an answer that differs between A and B."""

    unit: str
    step: int
    """Of a description, the first iteration or condition at which the texts differ; of an answer,
    which of the unit's answers."""
    a: Side
    b: Side
    similarity: float | None = None
    """The cosine of both texts by the text encoder of A's score."""
    medium: Path | None = None
    """The sample's image or sound, if it was looked up."""


class Transition(NamedTuple):
    """How often a reading in A became another in B; equal ones are other answers of one worth."""

    a: str
    b: str
    count: int


class Floor(NamedTuple):
    """How much changes by itself, where A was asked twice."""

    source: str
    """The second asking: ``repeats``, or its ``as_of``."""
    samples: int
    """Those that both askings of A and B have."""
    changed: int
    """Those that differ between both askings of A."""
    further: int
    """Those in which B is further from A's first asking than A's second is."""
    nearer: int
    """The reverse."""
    p_value: float
    """One-sided, of more changes than a second asking shows."""


@dataclass(frozen=True)
class Changes:
    """The answers or the descriptions of two scores, and which of them changed.

    An answer has changed if it is read otherwise, a sample if a description of it has other words.
    """

    of: Literal["answers", "descriptions"]
    samples: int = 0
    """How many answers or described samples both runs have."""
    changed: int = 0
    share: float | None = None
    """``changed / samples``, from ``low`` to ``high``."""
    low: float | None = None
    high: float | None = None
    transitions: list[Transition] = field(default_factory=list)
    """The commonest first."""
    p_value: float | None = None
    """McNemar's, exact and two-sided: are answers as often better in B as worse? None of
    descriptions."""
    floor: Floor | None = None
    similarity: float | None = None
    """The mean over the texts that changed."""
    furthest: list[Change] = field(default_factory=list)
    """All that changed, those furthest apart first."""
    note: str = ""
    """What could not be told, and why."""

    def to_dict(self, most: int | None = None) -> Json:
        """Return it ready for JSON, with at most so many of the furthest; no paths."""
        data = asdict(self)
        data["transitions"] = [each._asdict() for each in self.transitions]
        data["floor"] = self.floor and self.floor._asdict()
        data["furthest"] = []
        for change in self.furthest[:most]:
            sides = {}
            for name, side in (("a", change.a), ("b", change.b)):
                shown = side._asdict()
                del shown["drawing"]
                sides[name] = shown
            each = {"unit": change.unit, "step": change.step, **sides}
            data["furthest"].append({**each, "similarity": change.similarity})
        return data


def changes_between(
    project: Project, sources: Sources, a: Run, b: Run, *, media: int = 0
) -> list[list[Changes]]:
    """Find what changed from A to B: for each pair of scores, in the order of a comparison's, the
    changes of its answers and of its descriptions.

    Args:
        media: of how many of the furthest the files of images or sounds are looked up.
    """
    raise NotImplementedError
