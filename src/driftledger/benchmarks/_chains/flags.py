"""What a reader of a score must know about the calls behind it."""

from collections.abc import Iterable, Iterator, Sequence

from driftledger.benchmarks._chains.records import ChainRecord
from driftledger.benchmarks.records import CollectedCard
from driftledger.benchmarks.scoring import noted
from driftledger.collect.call import changed_versions, count_versions, version
from driftledger.metrics.exact import exact_mean

ENOUGH = 2048
"""As many images as Inception has features: with fewer, their covariances are not of full rank."""


def served_versions(records: Sequence[ChainRecord]) -> dict[str, dict[str, int]]:
    """``model`` and ``generator`` → the versions their services said they were → how many calls; local ones are absent.

    A version is the served model's name and, where the service tells it, its system fingerprint.
    """
    return count_versions(
        {
            "model": (version(record.served_model, record.system_fingerprint) for record in records),
            "generator": (
                version(record.served_generator, record.generator_system_fingerprint)
                for record in records
                if record.image is not None
            ),
        }
    )


def mean_words(records: Sequence[ChainRecord]) -> dict[str, float]:
    """Of the descriptions, by the metric's name; nothing where there are none."""
    words = [len(each.description.split()) for each in records if each.description is not None]
    return {"words": exact_mean(words)} if words else {}


def flags(records: Sequence[ChainRecord]) -> list[str]:
    """One sentence each for versions that changed midway, descriptions cut off, and calls made in smaller batches."""
    return [*changed_versions(served_versions(records)), *_cut(records), *noted(record.notes for record in records)]


def begun_by(card: CollectedCard) -> Iterator[str]:
    """A sentence where chains begin with a text."""
    if "writer" in card.components:
        yield f"chains begin with texts by {card.components['writer'].name}: what t = 1 shows owes nothing to the model"


def unified(card: CollectedCard) -> Iterator[str]:
    """A sentence where one component describes and draws."""
    model, generator = (card.components[role] for role in ("model", "generator"))
    if model.fingerprint == generator.fingerprint:
        yield f"{model.name} describes and draws: one model of one fingerprint, whose drift is that of both"


def few_images(distances: Iterable[object], images: int) -> Iterator[str]:
    """A sentence where a Fréchet distance is over too few images.

    Args:
        distances: what there is of it; nothing is said where nothing is.
    """
    if any(distances) and images < ENOUGH:
        yield (
            f"the Fréchet distance is over {images:,} images: with fewer than {ENOUGH:,} it is too high, the more so "
            "the fewer there are, so that values over other numbers of images are not comparable"
        )


def _cut(records: Sequence[ChainRecord]) -> Iterator[str]:
    readings = [record.prompt_reading for record in records if record.prompt_reading is not None]
    cut = [reading for reading in readings if reading.cut]
    if cut:
        unread = sum(reading.tokens - reading.read for reading in cut)
        tokens = sum(reading.tokens for reading in readings)
        yield (
            f"the generator's text encoder cut off {len(cut)} of {len(readings)} descriptions: "
            f"{unread} of {tokens} tokens were not read"
        )
