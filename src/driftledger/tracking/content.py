"""What one MLflow run shows, as plain values: the contract between the ledger and the store.

Everything that MLflow would refuse half-way through a push is refused here, before anything is written.
"""

import math
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from driftledger.benchmarks.traces import Trace
from driftledger.core.canonical import canonical_json

FINGERPRINT = "driftledger.fingerprint"
"""Tag of runs, logged models and registered versions: what they are looked up by."""

CURRENT = "driftledger.current"
"""Tag of runs: ``true`` on those that show what ``dvc.lock`` says now."""

REOPENED = "SCHEDULED"
"""Status of runs that were FINISHED and are being written again; one that never was is RUNNING."""

SUPERSEDED = " (superseded)"
"""Ends the name of a run that shows what another run of that name shows now."""

NOTE = "mlflow.note.content"
"""Tag of runs, experiments and logged models: their description, in Markdown."""

EVIDENCE = "evidence.json"
"""Artifact of runs: what :class:`~driftledger.ledger.lineage.Evidence` holds."""

PACKAGES, PATCH = "packages.txt", "dirty.patch"
OF_THE_MOMENT = (PACKAGES, PATCH)
"""Artifacts of runs that tell what was at hand when they were written; no lock and no ledger holds it."""

ComponentKind = Literal["model", "generator", "encoder", "judge"]

_KEY = re.compile(r"[A-Za-z0-9_./: -]{1,250}")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,200}")
_DIGEST_LIMIT = 36

MAX_PARAM, MAX_TAG, MAX_NAME = 6000, 8000, 250
METRICS_PER_CALL = 1000
"""MLflow takes no more."""

METRICS_AGAIN_PER_CALL = 100
"""With more, MLflow 3.17 fails to write rows again that are linked to a model and there already."""

ROOM_FOR_STATE = 500
"""Characters of a note that say of which run it is."""
_ROOM_FOR_NOTE = 40


def clip(text: str, limit: int) -> str:
    """``text`` in at most ``limit`` characters of valid Unicode, ending in a note of how many were cut."""
    text = text.encode("utf-8", "backslashreplace").decode()  # half a surrogate pair fits in no store
    text = text.replace("\0", r"\x00")  # and this in no PostgreSQL
    if len(text) <= limit:
        return text
    kept = limit - _ROOM_FOR_NOTE
    return f"{text[:kept]}… ({len(text) - kept} more characters)"


def clipped(values: Mapping[str, str], limit: int) -> dict[str, str]:
    """The same mapping with every value clipped."""
    return {key: clip(value, limit) for key, value in values.items()}


def as_text(value: object) -> str:
    """A setting's value as params and tags show it."""
    return value if isinstance(value, str) else canonical_json(value)


@dataclass(frozen=True, slots=True)
class LoggedMetric:
    """One value; ``dataset`` names the dataset input it was measured on."""

    key: str
    value: float
    step: int = 0
    dataset: str | None = None
    of: tuple[str, ...] = ()
    """The keys of the component versions that it was measured of: each is shown with it."""

    def __post_init__(self) -> None:
        _check_key("metric", self.key)
        if not math.isfinite(self.value):
            raise ValueError(f"metric {self.key!r} is {self.value}; only finite values are logged")


@dataclass(frozen=True, slots=True)
class DatasetInput:
    """A dataset behind a run: ``samples`` of it were asked about.

    ``digest`` has at most 36 characters, as an MD5 of DVC has.
    """

    name: str
    digest: str
    source: str
    """Its folder, which DVC has under ``digest``."""
    samples: int
    columns: Mapping[str, str] = field(default_factory=dict)
    """What each sample or question has → its type, as MLflow's schemas name it."""
    records: Callable[[], list[dict[str, Any]]] = list
    """Each of them: ``inputs``, and ``expectations`` where it is known what is right."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.digest) <= _DIGEST_LIMIT:
            raise ValueError(f"dataset {self.name!r}: digest {self.digest!r} must have 1 to {_DIGEST_LIMIT} characters")


@dataclass(frozen=True, slots=True)
class ComponentVersion:
    """A component as it was at work, known by what it was there as, its name and its fingerprint.

    A judge is a model that grades; the same model under evaluation is a version of another name.
    """

    kind: ComponentKind
    name: str
    fingerprint: str
    params: dict[str, str]
    tags: dict[str, str]
    description: str = ""
    """What it is, in Markdown in which all that is not ours is escaped."""
    served: frozenset[str] = frozenset()
    """What its service said it was; a version's tag gathers what all runs were told."""

    def __post_init__(self) -> None:
        _check_name("component name", self.name)
        _check_name("fingerprint", self.fingerprint)
        _check_keys(self.params, self.tags)

    @property
    def registered_name(self) -> str:
        """For instance ``generator.painter``."""
        return f"{self.kind}.{self.name}"

    @property
    def key(self) -> str:
        """What tells it from every other component version: ``generator.painter@<fingerprint>``."""
        return f"{self.registered_name}@{self.fingerprint}"


class LoggedTrace(NamedTuple):
    """A unit of a score, and the score's place in the run: ``<benchmark>/<on>``."""

    place: str
    trace: Trace


@dataclass(frozen=True, slots=True)
class RunContent:
    """One MLflow run. Two contents with the same fingerprint are the same run.

    ``artifacts`` maps a file's path inside the run to the function that makes its bytes, and ``late_metrics``
    gathers metrics that take work, as ``traces`` does units to look at; all are called only when the run is written,
    artifacts several at once.
    """

    name: str
    fingerprint: str
    params: dict[str, str]
    tags: dict[str, str]
    metrics: tuple[LoggedMetric, ...]
    datasets: tuple[DatasetInput, ...]
    components: tuple[ComponentVersion, ...]
    artifacts: Mapping[str, Callable[[], bytes]]
    late_metrics: Callable[[], Iterable[LoggedMetric]] = tuple
    seconds: Callable[[], float | None] = lambda: None
    """What all of its calls took, one after the other; None where no one knows."""
    traces: Callable[[], Iterable[LoggedTrace]] = tuple

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ValueError("a run needs a name")
        _check_name("fingerprint", self.fingerprint)
        _check_keys(self.params, self.tags)
        _check_once("dataset", (dataset.name for dataset in self.datasets))
        _check_once("component", (component.key for component in self.components))
        self._check_metrics(self.metrics)
        for path in self.artifacts:
            if not _is_plain(path):
                raise ValueError(f"artifact path {path!r} must be relative and stay inside the run")

    def every_metric(self) -> tuple[LoggedMetric, ...]:
        """The metrics, the late ones included."""
        metrics = (*self.metrics, *self.late_metrics())
        self._check_metrics(metrics)
        return metrics

    def _check_metrics(self, metrics: Iterable[LoggedMetric]) -> None:
        metrics = tuple(metrics)
        _check_once("metric and step", ((metric.key, metric.step) for metric in metrics))
        datasets = {None, *(dataset.name for dataset in self.datasets)}
        components = {component.key for component in self.components}
        for metric in metrics:
            if metric.dataset not in datasets:
                raise ValueError(f"metric {metric.key!r}: {metric.dataset!r} is not a dataset of run {self.name!r}")
            for key in metric.of:
                if key not in components:
                    raise ValueError(f"metric {metric.key!r}: {key!r} is not a component of run {self.name!r}")


def tags_of(content: RunContent, run_id: str) -> dict[str, str]:
    """The tags of a current run; its note names the run, since it is what stays of it when others are current."""
    tags = {**clipped(content.tags, MAX_TAG), FINGERPRINT: content.fingerprint, CURRENT: "true"}
    if NOTE in tags:
        note = clip(tags[NOTE], MAX_TAG - ROOM_FOR_STATE)
        tags[NOTE] = f"{note}\n\nMLflow run `{run_id}`, fingerprint `{content.fingerprint}`"
    return tags


def _check_keys(*mappings: Mapping[str, str]) -> None:
    for word, mapping in zip(("param", "tag"), mappings, strict=True):
        for key in mapping:
            _check_key(word, key)


def _check_key(word: str, key: str) -> None:
    if not _KEY.fullmatch(key) or not _is_plain(key):
        raise ValueError(
            f"{word} {key!r}: a key has 1 to 250 letters, digits, spaces and _ - . / : and reads as a relative path"
        )


def _check_name(word: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{word} {name!r} must have 1 to 200 letters, digits, _ and -")


def _check_once(word: str, values: Iterable[Hashable]) -> None:
    twice = [value for value, count in Counter(values).items() if count > 1]
    if twice:
        raise ValueError(f"{word} {twice[0]!r} is given twice")


def _is_plain(path: str) -> bool:
    """Whether ``path`` is a relative path that means what it says: MLflow refuses ``a//b``, ``./a`` and ``../a``."""
    return posixpath.normpath(path) == path and path not in (".", "..") and not path.startswith(("/", "../"))
