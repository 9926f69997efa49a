"""The files of the ledger: what they hold, and how they are written whole or not at all."""

import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from driftledger.canonical import canonical_json, pretty_json, sha256_of
from driftledger.components import Component
from driftledger.errors import StoreError
from driftledger.strict import explain
from driftledger.types import ImageFile, Outcome, Reading, Sample, Split


class Record(BaseModel):
    """One line or one file of the ledger. ``schema`` is its format's number, checked when it is read."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, ser_json_inf_nan="constants")

    SCHEMA: ClassVar[int] = 1
    schema_: int = Field(default=1, alias="schema", ge=1, le=1)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, with file names for field names."""
        return self.model_dump(mode="json", by_alias=True)


R = TypeVar("R", bound=Record)

ONE_CATEGORY = "all"
"""The one category of a dataset that has none."""


class SampleEntry(Record):
    """A line of ``samples.jsonl``: one image of a dataset."""

    id: str
    file: str
    category: str | None = None
    label: str | None = None
    split: Split | None = None
    sha256: str
    width: int
    height: int
    source: dict[str, str] = Field(default_factory=dict)
    """Where it came from: file name, address, licence, as far as they are known."""
    notes: list[str] = Field(default_factory=list)
    """What was repaired when it was read, e.g. ``rotated upright as its EXIF tag says``."""


class DatasetCard(Record):
    """``dataset.json``: what the dataset is, and the digest of what it holds."""

    name: str
    provider: str
    settings: dict[str, Any]
    source: dict[str, str]
    samples: int
    categories: dict[str, int]
    groups: dict[str, list[str]]
    general_category: str | None = None
    """What all classes are, e.g. bird: ``{category}`` in a prompt."""
    labels: dict[str, dict[Split, int]] = Field(default_factory=dict)
    """Label → split → how many samples; empty unless the dataset has a support and a test set."""
    label_names: dict[str, list[str]] = Field(default_factory=dict)
    """Label → what else a description may call the class."""
    leaks: dict[str, str] = Field(default_factory=dict)
    """Id of a test sample → id of the support sample that is the same image, pixel for pixel."""
    digest: str
    """SHA-256 over every sample's id, category, label, split and image hash."""


def dataset_digest(entries: Sequence[SampleEntry]) -> str:
    """The digest of a dataset of these samples, in order: what a score can hang on."""
    return sha256_of([[entry.id, entry.category, entry.label, entry.split, entry.sha256] for entry in entries])


class ChainRecord(Record):
    """A line of a chain's ``records.jsonl``: one sample's iteration ``t``, describe and generate together."""

    sample: str
    t: int = Field(ge=1)
    outcome: Outcome
    description: str | None = None
    image: str | None = None
    image_sha256: str | None = None
    parent_sha256: str
    seed: int
    served_model: str | None = None
    served_generator: str | None = None
    revised_prompt: str | None = None
    system_fingerprint: str | None = None
    generator_system_fingerprint: str | None = None
    prompt_reading: Reading | None = None
    """How much of the prompt the generator's text encoder read, where that is known."""
    notes: list[str] = Field(default_factory=list)
    """What was unusual about how the calls were made, e.g. in a smaller batch than the fingerprint says."""
    error: str | None = None


class ComponentCard(Record):
    """Which version of a component was at work: its catalogue name, its spec, and the fingerprint over the spec."""

    name: str
    fingerprint: str
    provider: str
    version: str
    settings: dict[str, Any]
    identity: dict[str, Any]

    @classmethod
    def of(cls, name: str, component: Component) -> "ComponentCard":
        return cls(name=name, fingerprint=component.fingerprint, **component.spec)


class ChainCard(Record):
    """A chain's ``components.json``: everything that its records stand on."""

    dataset: str
    dataset_digest: str
    model: ComponentCard
    generator: ComponentCard
    iterations: int
    describe_prompt: str
    max_tokens: int | None = None
    """How long a description may be; None is the model's own limit."""
    generate_prompt: str
    seed: int


def generation_prompt(template: str, description: str | None) -> str:
    """The generator's prompt: ``template`` with the description in its place, whatever the description holds."""
    return template.replace("{description}", description or "")


class ScoreInputs(Record):
    """What a score file's numbers were computed from."""

    dataset_digest: str
    records_sha256: str
    chain: ChainCard
    encoder: ComponentCard
    settings: dict[str, Any]


class ScoreFile(Record):
    """``reports/scores/<benchmark>/…json``: numbers, how many samples are behind them, and what went in."""

    benchmark: str
    dataset: str
    model: str
    generator: str
    encoder: str
    metrics: dict[str, FiniteFloat]
    by_category: dict[str, dict[str, FiniteFloat]]
    by_group: dict[str, dict[str, FiniteFloat]]
    groups: dict[str, list[str]]
    curve: list[dict[str, FiniteFloat]]
    """One row per t, for step charts and ``dvc plots``."""
    failures: dict[str, int]
    """Outcome → how many chains it ended before T."""
    scored: int
    total: int
    coverage: FiniteFloat
    absent: dict[str, str]
    """What could not be computed, and why."""
    served: dict[str, dict[str, int]] = Field(default_factory=dict)
    """``model`` and ``generator`` → what their services said they were, and how many calls each version answered."""
    flags: list[str] = Field(default_factory=list)
    """What a reader of the numbers must know: versions that changed midway, descriptions that were cut off."""
    inputs: ScoreInputs


class SampleScore(Record):
    """A line of ``….samples.jsonl``: one sample's values; None where its chain did not get that far."""

    sample: str
    category: str
    similarity: list[FiniteFloat | None]
    gc: list[FiniteFloat | None]
    outcome: Outcome
    """Of the last iteration that was tried."""


def write_json(path: Path, value: Record | dict[str, Any]) -> None:
    """Write a JSON file in one step."""
    write_text(path, pretty_json(value.to_dict() if isinstance(value, Record) else value))


def write_jsonl(path: Path, rows: Iterable[Record]) -> None:
    """Write one canonical JSON object per line, in one step."""
    write_text(path, "".join(canonical_json(row.to_dict()) + "\n" for row in rows))


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 text file in one step."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file in one step: whoever looks sees the old bytes or the new ones."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_bytes(data)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def read_json(path: Path, kind: type[R]) -> R:
    """Read a file that :func:`write_json` wrote.

    Raises:
        StoreError: it is missing, or is not a ``kind`` of a schema known here.
    """
    return parse_json(_read(path), kind, str(path))


def read_jsonl(path: Path, kind: type[R]) -> list[R]:
    """Read a file that :func:`write_jsonl` wrote; errors as in :func:`read_json`."""
    return parse_jsonl(_read(path), kind, str(path))


def parse_jsonl(data: bytes, kind: type[R], where: str) -> list[R]:
    """What :func:`read_jsonl` finds in a file of these bytes, which errors call ``where``."""
    lines = data.removesuffix(b"\n").split(b"\n")  # not splitlines: a text may hold other line breaks
    return [parse_json(line, kind, f"{where}, line {number}") for number, line in enumerate(lines, 1) if lines != [b""]]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise StoreError(f"{path} is missing; run 'dvc repro', or 'dvc pull' to fetch it") from None


def parse_json(data: bytes, kind: type[R], where: str) -> R:
    """What :func:`read_json` finds in a file of these bytes, which errors call ``where``."""
    unfit = f"{where} is not a {kind.__name__} of schema {kind.SCHEMA}"
    try:
        value = json.loads(data.decode())
        canonical_json(value)  # which refuses a number that is not finite, wherever it stands
        return kind.model_validate(value)
    except ValidationError as error:
        raise StoreError(explain(error, unfit)) from None
    except ValueError as error:
        raise StoreError(f"{unfit}: {error}") from None


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A folder that appears at ``target`` whole, when the block ends well, and not at all otherwise."""
    partial = target.with_name(target.name + ".partial")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    try:
        yield partial
        shutil.rmtree(target, ignore_errors=True)
        partial.replace(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def read_samples(folder: Path) -> list[Sample]:
    """The samples of a dataset folder, in the order of its manifest."""
    return [
        Sample(entry.id, ImageFile(folder / entry.file, entry.sha256), entry.category, entry.label, entry.split)
        for entry in read_jsonl(folder / "samples.jsonl", SampleEntry)
    ]
