"""What the trained checkpoints can do by themselves, where the truth is known: what metrics are held against.

Written by ``python -m lab.trio measure``, which runs the checkpoints; read here, where no model is loaded.
"""

from collections.abc import Iterable
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, ConfigDict, Field, FiniteFloat
from pydantic.dataclasses import dataclass

from driftledger.core.files import Record

MEASURED = "reports/trio.json"
"""Below the top folder."""
CONFIDENCE = 0.95
DECIMALS = 6
"""The last bits of a number that was seen through weights vary with the processor."""


def rounded(value: float) -> float:
    """To six decimals, and without a minus before zero.

    >>> rounded(0.12345678), rounded(-1e-9)
    (0.123457, 0.0)
    """
    return round(value, DECIMALS) + 0.0


Rounded: TypeAlias = Annotated[FiniteFloat, AfterValidator(rounded)]
_FROZEN = ConfigDict(extra="forbid")


@dataclass(frozen=True, config=_FROZEN)
class Share:
    """How many of how many, with the 95 % Wilson interval of the probability behind it."""

    share: Annotated[Rounded, Field(ge=0, le=1)]
    low: Rounded
    high: Rounded
    right: Annotated[int, Field(ge=0)]
    of: Annotated[int, Field(ge=1)]


def share(hits: Iterable[object]) -> Share:
    """The share of what is true among ``hits``.

    Source: Wilson 1927, "Probable Inference, the Law of Succession, and Statistical Inference".

    Raises:
        ValueError: there are none.

    >>> share([True, True, True, False])
    Share(share=0.75, low=0.300642, high=0.954413, right=3, of=4)
    """
    known = [bool(hit) for hit in hits]
    if not known:
        raise ValueError("the share of nothing is not defined")
    from scipy.stats import binomtest  # slow to import

    right, of = sum(known), len(known)
    low, high = binomtest(right, of).proportion_ci(CONFIDENCE, method="wilson")
    return Share(right / of, float(low), float(high), right, of)


@dataclass(frozen=True, config=_FROZEN)
class Interval:
    """A value with both ends of its confidence interval."""

    value: Rounded
    low: Rounded
    high: Rounded


@dataclass(frozen=True, config=_FROZEN)
class Describer:
    """One stage of the model's training."""

    steps: int
    exact: Share
    """Of held-out images, those that are described word for word as their caption does."""


@dataclass(frozen=True, config=_FROZEN)
class Painter:
    """One version of the generator."""

    steps: int
    things: Share
    """Of the things in true captions, those that are drawn in their cell, with their colour and their shape."""
    ceiling: dict[str, list[Interval]]
    """Encoder → GC@1 … GC@T of chains in which every image is described without fault."""


@dataclass(frozen=True, config=_FROZEN)
class Retrieval:
    """Top-1 among 100 pairs of an image and its caption."""

    image_to_text: Share
    text_to_image: Share


class Measured(Record):
    """``reports/trio.json``. Names are those of the catalogues in ``params.yaml``."""

    describers: dict[str, Describer]
    """At least every stage of the model; others, such as the control, where their share is known too."""
    painters: dict[str, Painter]
    retrieval: Retrieval
