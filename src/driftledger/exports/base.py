"""What all exports share: a run with a date, its numbers, and where what is exported is written.

Equal runs give equal bytes: dates are the commit's, ids follow from fingerprints.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, cast

from driftledger.benchmarks.base import Metric
from driftledger.benchmarks.score import Interval
from driftledger.components.card import ComponentCard
from driftledger.core.canonical import canonical_json
from driftledger.core.errors import DataError, LedgerError
from driftledger.core.escaping import for_line
from driftledger.core.files import copy_file, write_bytes
from driftledger.ledger.lineage import Evidence, Lineage
from driftledger.ledger.objects.git import Git

Files = Mapping[str, bytes | Path]
"""Path below the export's folder → its bytes, or the file to copy."""

_REPOSITORY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*/[A-Za-z0-9_][A-Za-z0-9_.-]*")

FORMATS = {
    "every-eval-ever": "driftledger.exports.every_eval_ever:files",
    "inspect": "driftledger.exports.inspect_log:files",
    "croissant": "driftledger.exports.croissant:files",
    "hf-model-card": "driftledger.exports.model_card:files",
}
"""Format → the function that makes its files of a :class:`Run`, imported when it is used."""


@dataclass(frozen=True)
class Run:
    """A run of a checkout, and when its commit was made."""

    root: Path
    evidence: Evidence
    commit: str
    date: datetime

    @classmethod
    def of(cls, root: Path, evidence: Evidence) -> "Run":
        """A run whose files are in the checkout.

        Raises:
            LedgerError: there is no commit, of which exports have their dates.
        """
        git = Git.around(root)
        head = None if git is None else git.commit("HEAD")
        if head is None:
            raise LedgerError("an export has its dates from the commit, and there is none here; run 'git commit' first")
        return cls(root, evidence, head.id, datetime.fromisoformat(head.date).astimezone(UTC))

    @property
    def data(self) -> Sequence[Lineage]:
        """A score of each dataset or question set."""
        return list({each.data.path: each for each in self.evidence.lineages}.values())


class Number(NamedTuple):
    """A metric of a score with what is told about it."""

    key: str
    metric: Metric
    value: float
    interval: Interval | None
    deviation: float | None

    @property
    def title(self) -> str:
        """For people."""
        return self.metric.named(self.key)


def numbers(lineage: Lineage) -> Iterator[Number]:
    """Every metric of a score that its benchmark's table names, in the table's order."""
    spec, score = lineage.spec, lineage.score
    for metric in spec.metrics:
        for key in spec.members(metric, score):
            yield Number(key, metric, score.metrics[key], score.interval(key), score.deviation(key))


def source_of(run: Run, lineage: Lineage) -> Mapping[str, str]:
    """Where a dataset or question set is from, as it says itself: of the hub, a ``dataset`` and its ``revision``."""
    [card] = (run.root / lineage.data.path).glob("*.json")
    return {key: plain(value) for key, value in json.loads(card.read_bytes())["source"].items()}


def file_name(lineage: Lineage) -> str:
    """The score's place in one word."""
    return lineage.place.replace("/", "-")


def weights(card: ComponentCard) -> Mapping[str, str]:
    """``repository`` and ``commit`` of a component whose weights are on the hub; empty for any other."""
    found = card.identity.get("weights")
    named = isinstance(found, dict) and _REPOSITORY.fullmatch(str(found.get("repository")))
    return found if isinstance(found, dict) and named else {}


def plain(value: object) -> str:
    """A setting as text that every encoding takes."""
    text = value if isinstance(value, str) else canonical_json(value)
    return text.encode("utf-8", "backslashreplace").decode()


def files_of(kind: str, run: Run) -> Files:
    """The files of a run in one of :data:`FORMATS`.

    Raises:
        MissingExtraError: its library is not installed.
    """
    module, _, function = FORMATS[kind].partition(":")
    return cast(Callable[[Run], Files], getattr(import_module(module), function))(run)


def write(folder: Path, files: Files) -> int:
    """Write files below a folder; say how many.

    Raises:
        DataError: the folder is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{for_line(str(folder))} is a file; name the folder that the export is written to")
    for name, content in files.items():
        if isinstance(content, bytes):
            write_bytes(folder / name, content)
        else:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            copy_file(content, folder / name)
    return len(files)
