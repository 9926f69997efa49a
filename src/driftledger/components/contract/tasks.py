"""What each kind of component is asked, what its results must be, and how far apart two of them are."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from PIL import Image

from driftledger.components.base import Component, Encoder, Generator, Model
from driftledger.components.contract import probes
from driftledger.components.contract.findings import Finding
from driftledger.core.types import Conversation, Generated, Outcome, PromptUsage, Reply, Usage

FAR = float("inf")
"""How far apart results are that cannot be measured against each other."""


class Task(ABC):
    """One method of a component: items in, as many results out."""

    name: ClassVar[str]
    """What sentences call its results."""
    tolerance: ClassVar[float] = 0.0
    """How far apart two results may be that must be the same."""

    def __init__(self, folder: Path, most: int | None = None) -> None:
        """
        Args:
            folder: where images lie that are handed over as files.
            most: how many items are asked about; else all.
        """
        self.folder = folder
        self.items: Sequence[Any] = self.ordinary()[:most]

    @abstractmethod
    def ordinary(self) -> Sequence[Any]:
        """Items that any component can do something with, each different."""

    @abstractmethod
    def odd(self) -> Mapping[str, Sequence[Any]]:
        """Name → items that few think of."""

    @abstractmethod
    def make(self, component: Any, items: Sequence[Any]) -> Any:
        """What the component makes of them, unchecked."""

    @abstractmethod
    def problems(self, made: Any, count: int, *, odd: bool = False) -> Iterator[Finding]:
        """What is wrong with the form of ``made`` as results for so many items."""

    @abstractmethod
    def apart(self, one: Any, other: Any) -> float:
        """How far apart two results are; 0 where nobody could tell them apart."""

    @abstractmethod
    def plain(self, result: Any) -> Any:
        """A result as JSON, from which :meth:`from_plain` makes what :meth:`apart` takes."""

    @abstractmethod
    def from_plain(self, plain: Any) -> Any:
        """What another process said of a result."""

    def close(self, one: Any, other: Any) -> bool:
        """Whether two results count as the same."""
        return self.apart(one, other) <= self.tolerance

    def in_words(self, distance: float) -> str:
        """``distance`` of :meth:`apart`, as a table says it."""
        return "identical" if distance == 0 else "different"

    def trouble(self, results: Sequence[Any]) -> str | None:
        """Why none of the results says anything; None where one does."""
        return None

    def _count(self, made: Any, count: int) -> Iterator[Finding]:
        if not isinstance(made, Sequence) or isinstance(made, str):
            yield Finding(self.name, f"a list of {count}", f"{type(made).__name__}")
        elif len(made) != count:
            yield Finding(self.name, f"{count} for {count} calls", f"{len(made)}")


class Replies(Task):
    """What a model answers."""

    name = "replies"

    def ordinary(self) -> list[Conversation]:
        return probes.conversations(self.folder)

    def odd(self) -> dict[str, Sequence[Conversation]]:
        return probes.odd_conversations(self.folder)

    def make(self, component: Model, items: Sequence[Conversation]) -> Any:
        return component.respond(items)

    def problems(self, made: Any, count: int, *, odd: bool = False) -> Iterator[Finding]:
        yield from self._count(made, count)
        if not isinstance(made, Sequence):
            return
        for reply in made:
            if not isinstance(reply, Reply):
                yield Finding(self.name, "driftledger.core.types.Reply", type(reply).__name__)
            elif not isinstance(reply.text, str):
                yield Finding(f"{self.name}: text", "a str", type(reply.text).__name__)
            else:
                yield from _outcome(self.name, reply)

    def apart(self, one: Reply, other: Reply) -> float:
        return 0.0 if (one.outcome, one.text) == (other.outcome, other.text) else FAR

    def plain(self, result: Reply) -> list[str]:
        return [result.text, result.outcome]

    def from_plain(self, plain: Any) -> Reply:
        text, outcome = plain
        return Reply(text, Outcome(outcome))

    def trouble(self, results: Sequence[Reply]) -> str | None:
        return _all_failed(results)


class Drawings(Task):
    """What a generator draws. An item is a prompt and a seed."""

    name = "images"
    tolerance = 2.0  # of 255, in one channel of one pixel: another rounding

    def ordinary(self) -> list[tuple[str, int]]:
        return [(text, 2**32 - 1 - number) for number, text in enumerate(probes.TEXTS)]

    def odd(self) -> dict[str, Sequence[tuple[str, int]]]:
        texts = {
            "an empty prompt": "",
            "a very long prompt": probes.LONG_TEXT,
            "a prompt that cannot be written": probes.UNWRITABLE,
        }
        return {"no prompt": [], **{name: [(text, 0)] for name, text in texts.items()}}

    def make(self, component: Generator, items: Sequence[tuple[str, int]]) -> Any:
        return component.generate([prompt for prompt, _ in items], [seed for _, seed in items])

    def problems(self, made: Any, count: int, *, odd: bool = False) -> Iterator[Finding]:
        yield from self._count(made, count)
        if not isinstance(made, Sequence):
            return
        for drawn in made:
            if not isinstance(drawn, Generated):
                yield Finding(self.name, "driftledger.core.types.Generated", type(drawn).__name__)
                continue
            yield from _outcome(self.name, drawn)
            if drawn.image is None and drawn.outcome in (Outcome.OK, Outcome.TRUNCATED):
                yield Finding(self.name, f"an image with the outcome {drawn.outcome}", "None")
            elif drawn.image is not None and not isinstance(drawn.image, Image.Image):
                yield Finding(self.name, "a PIL.Image.Image", type(drawn.image).__name__)
            elif drawn.image is not None and drawn.image.mode != "RGB":
                yield Finding(self.name, "mode RGB", f"mode {drawn.image.mode}")

    def apart(self, one: Generated, other: Generated) -> float:
        """The largest difference of a channel of a pixel, 0 … 255."""
        if one.outcome != other.outcome:
            return FAR
        if one.image is None or other.image is None:
            return 0.0 if one.image is other.image else FAR
        if one.image.size != other.image.size:
            return FAR
        pixels = (np.asarray(image.convert("RGB"), np.int16) for image in (one.image, other.image))
        return float(np.abs(next(pixels) - next(pixels)).max(initial=0))

    def in_words(self, distance: float) -> str:
        return super().in_words(distance) if distance in (0, FAR) else f"up to {distance:.0f} of 255 apart"

    def plain(self, result: Generated) -> list[Any]:
        image = result.image
        return [result.outcome, image and [*image.size], image and image.convert("RGB").tobytes().hex()]

    def from_plain(self, plain: Any) -> Generated:
        outcome, size, pixels = plain
        image = Image.frombytes("RGB", (size[0], size[1]), bytes.fromhex(pixels)) if size else None
        return Generated(image, Outcome(outcome))

    def trouble(self, results: Sequence[Generated]) -> str | None:
        return _all_failed(results)


class _Vectors(Task):
    """What a tower of an encoder gives."""

    tolerance = 1e-4  # of a vector's length: sums of float32 that are taken in another order

    def problems(self, made: Any, count: int, *, odd: bool = False) -> Iterator[Finding]:
        if not isinstance(made, np.ndarray):
            yield Finding(self.name, "a NumPy array, n × d", type(made).__name__)
        elif made.dtype != np.float32:
            yield Finding(self.name, "float32", str(made.dtype))
        elif made.ndim != 2 or len(made) != count:
            yield Finding(self.name, f"{count} × d numbers", " × ".join(map(str, made.shape)))
        elif count and not made.shape[1]:
            yield Finding(self.name, "at least one number each", "none")
        elif not np.isfinite(made).all():
            yield Finding(self.name, "finite numbers", "NaN or infinity")
        elif not (odd and self.may_be_zero) and not made.any(axis=1).all():
            yield Finding(self.name, "not all zero", f"{int((~made.any(axis=1)).sum())} of {count} all zero")

    may_be_zero: ClassVar[bool]
    """Whether there are items of which nothing is known."""

    def apart(self, one: Any, other: Any) -> float:
        """The length of the difference, as a share of the longer vector."""
        if one.shape != other.shape:
            return FAR
        first, second = one.astype(np.float64), other.astype(np.float64)
        longest = max(np.linalg.norm(first), np.linalg.norm(second))
        return float(np.linalg.norm(first - second) / longest) if longest else 0.0

    def in_words(self, distance: float) -> str:
        return super().in_words(distance) if distance in (0, FAR) else f"{distance:.1g} of their length apart"

    def plain(self, result: Any) -> list[float]:
        return [float(number) for number in result]

    def from_plain(self, plain: Any) -> Any:
        return np.array(plain, np.float32)


class ImageVectors(_Vectors):
    """Of an encoder that sees."""

    name = "image vectors"
    may_be_zero = False

    def ordinary(self) -> list[Image.Image]:
        return probes.pictures()

    def odd(self) -> dict[str, Sequence[Image.Image]]:
        return {
            "no image": [],
            **{name: [image] for name, image in {**probes.odd_shapes(), **probes.odd_modes()}.items()},
        }

    def make(self, component: Encoder, items: Sequence[Image.Image]) -> Any:
        return component.encode_images(items)


class TextVectors(_Vectors):
    """Of an encoder that reads; one that learns from a corpus is shown the texts that it will read."""

    name = "text vectors"
    may_be_zero = True

    def ordinary(self) -> list[str]:
        return [*probes.TEXTS]

    def odd(self) -> dict[str, Sequence[str]]:
        return {
            "no text": [],
            "an empty text": [""],
            "a very long text": [probes.LONG_TEXT],
            "a text that cannot be written": [probes.UNWRITABLE],
        }

    def make(self, component: Encoder, items: Sequence[str]) -> Any:
        return component.fitted(probes.TEXTS).encode_texts(items)


class Readings(Task):
    """What a text tower says of how much it reads."""

    name = "readings"

    def ordinary(self) -> list[str]:
        return [*probes.TEXTS, probes.LONG_TEXT]

    def odd(self) -> dict[str, Sequence[str]]:
        return {"no text": [], "an empty text": [""]}

    def make(self, component: Encoder, items: Sequence[str]) -> Any:
        return component.fitted(probes.TEXTS).read_texts(items)

    def problems(self, made: Any, count: int, *, odd: bool = False) -> Iterator[Finding]:
        yield from self._count(made, count)
        if not isinstance(made, Sequence):
            return
        for usage in made:
            if not isinstance(usage, PromptUsage):
                yield Finding(self.name, "driftledger.core.types.PromptUsage", type(usage).__name__)
            elif not 0 <= usage.read <= usage.tokens:
                yield Finding(self.name, "at most all tokens read", f"{usage.read} of {usage.tokens}")

    def apart(self, one: PromptUsage, other: PromptUsage) -> float:
        return 0.0 if one == other else FAR

    def plain(self, result: PromptUsage) -> list[int]:
        return [result.tokens, result.read]

    def from_plain(self, plain: Any) -> PromptUsage:
        return PromptUsage(*plain)


def tasks(component: Component, folder: Path, most: int | None = None) -> list[Task]:
    """All that a component can be asked; see :class:`Task`."""
    asked: list[Task] = [Replies(folder, most)] if isinstance(component, Model) else []
    asked += [Drawings(folder, most)] if isinstance(component, Generator) else []
    if asked:
        return asked
    assert isinstance(component, Encoder)
    towers: list[Task] = [ImageVectors(folder, most)] if component.sees else []
    return [*towers, *([TextVectors(folder, most), Readings(folder, most)] if component.reads else [])]


def _outcome(name: str, result: Reply | Generated) -> Iterator[Finding]:
    if not isinstance(result.outcome, Outcome):
        yield Finding(f"{name}: outcome", "an Outcome", repr(result.outcome)[:80])
    elif result.outcome is Outcome.FAILED and not result.error:
        yield Finding(name, "an error beside the outcome failed", "none")
    if result.usage is not None and not isinstance(result.usage, Usage):
        yield Finding(f"{name}: usage", "a Usage or None", type(result.usage).__name__)


def _all_failed(results: Sequence[Reply] | Sequence[Generated]) -> str | None:
    if any(result.outcome is not Outcome.FAILED for result in results):
        return None
    return f"every call failed: {results[0].error}"
