"""The files of chains: every iteration of every sample, and what they were made with."""

from typing import Any

from pydantic import Field, FiniteFloat

from driftledger.components.card import ComponentCard
from driftledger.core.files import Record
from driftledger.core.types import Outcome, Reading


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
