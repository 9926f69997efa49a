"""The files of TRAC and fidelity: descriptions of labelled images, and what the descriptions are worth."""

from typing import Any

from pydantic import Field, FiniteFloat

from driftledger.benchmarks.genception.records import ChainCard
from driftledger.components.card import ComponentCard
from driftledger.core.files import Record
from driftledger.core.types import Outcome, Split


class DescriptionRecord(Record):
    """A line of ``descriptions.jsonl``: one sample, described under one condition."""

    sample: str
    split: Split
    max_tokens: int | None = None
    """The length that was allowed; None is the model's own limit."""
    shots: int = Field(default=0, ge=0)
    demonstrations: list[str] = Field(default_factory=list)
    """Ids of the support samples that were shown with their descriptions, in the order in which they were shown."""
    outcome: Outcome
    description: str | None = None
    served_model: str | None = None
    system_fingerprint: str | None = None
    notes: list[str] = Field(default_factory=list)
    error: str | None = None


class DemonstrationsCard(Record):
    """How in-context examples were chosen, and whose descriptions were shown with them."""

    choose: str
    shots: list[int]
    encoder: ComponentCard | None = None
    """What similarity was seen through; None where examples are drawn at random."""
    by: ComponentCard | None = None
    """Whose descriptions are shown; None stands for the model's own, without demonstrations."""


class DescriptionsCard(Record):
    """``components.json`` beside the descriptions: everything that they stand on."""

    dataset: str
    dataset_digest: str
    model: ComponentCard
    description: str
    """The catalogue's name of this way to ask."""
    prompt: str
    """As it was sent, with the dataset's general category in its place."""
    max_tokens: list[int | None]
    demonstrations: DemonstrationsCard | None = None
    seed: int


class TracInputs(Record):
    """What a TRAC score was computed from."""

    dataset_digest: str
    descriptions_sha256: str
    descriptions: DescriptionsCard
    encoder: ComponentCard
    settings: dict[str, Any]


class Condition(Record):
    """TRAC under one length limit and with so many demonstrations."""

    max_tokens: int | None = None
    shots: int = 0
    metrics: dict[str, FiniteFloat]
    scored: int
    total: int


class ConfusedClasses(Record):
    """Two classes that the descriptions do not tell apart."""

    first: str
    second: str
    first_as_second: int
    second_as_first: int
    rate: FiniteFloat
    """Of the scored test samples of both, the percentage that was taken for the other."""


class TracScore(Record):
    """``reports/scores/trac/<dataset>/<model>/<description>/<encoder>.json``. All percentages, 0 to 100."""

    benchmark: str = "trac"
    dataset: str
    model: str
    description: str
    encoder: str
    metrics: dict[str, FiniteFloat]
    """Of the headline: the first length, with the most demonstrations."""
    vote: list[dict[str, FiniteFloat]]
    """``k`` and ``vote``, the accuracy of the majority among the k nearest, for every k; of the headline."""
    by_class: dict[str, dict[str, FiniteFloat]]
    confused: list[ConfusedClasses]
    conditions: list[Condition]
    """Every length with every number of demonstrations."""
    outcomes: dict[str, int]
    """Of the headline's test samples: outcome → how many."""
    scored: int
    """Test samples with a description."""
    total: int
    coverage: FiniteFloat
    absent: dict[str, str] = Field(default_factory=dict)
    served: dict[str, dict[str, int]] = Field(default_factory=dict)
    flags: list[str] = Field(default_factory=list)
    inputs: TracInputs


class Retrieved(Record):
    """A line of ``….samples.jsonl``: what one test sample's description was taken for; of the headline."""

    sample: str
    label: str
    outcome: Outcome
    nearest: str | None = None
    """The support sample with the most similar description; None where nothing could be compared."""
    top1: str | None = None
    class_mean: str | None = None
    names_own: bool = False
    """Whether the description names the sample's class."""
    names_other: bool = False


class FidelityInputs(Record):
    """What a fidelity score was computed from."""

    dataset_digest: str
    records_sha256: str
    chain: ChainCard
    """Of the redrawings, which are chains of one iteration."""
    encoder: ComponentCard
    ratings: dict[str, int] = Field(default_factory=dict)
    """Human ratings: how many counted, from how many raters, and how many were of another description."""
    settings: dict[str, Any]


class FidelityScore(Record):
    """``reports/scores/fidelity/<dataset>/<model>/<generator>/<encoder>.json``."""

    benchmark: str = "fidelity"
    dataset: str
    model: str
    generator: str
    encoder: str
    metrics: dict[str, FiniteFloat]
    """``clip_s``, ``clip_s_i`` or ``image_similarity``, and ``ssim``, times 100 as the paper prints them; the Fréchet
    distance under its encoder's name; ``human``, 1 to 5."""
    by_category: dict[str, dict[str, FiniteFloat]]
    agreement: dict[str, dict[str, FiniteFloat]] = Field(default_factory=dict)
    """Metric → how it goes with the human ratings: ``spearman``, ``kendall``, ``pearson`` and ``n``."""
    outcomes: dict[str, int]
    scored: int
    total: int
    coverage: FiniteFloat
    absent: dict[str, str] = Field(default_factory=dict)
    """What could not be computed, and why."""
    served: dict[str, dict[str, int]] = Field(default_factory=dict)
    flags: list[str] = Field(default_factory=list)
    inputs: FidelityInputs


class Redrawn(Record):
    """A line of ``….samples.jsonl``: one sample's values; a metric that has none is not in it."""

    sample: str
    category: str
    outcome: Outcome
    metrics: dict[str, FiniteFloat] = Field(default_factory=dict)
