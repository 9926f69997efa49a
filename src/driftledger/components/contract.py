"""Checks of what every component promises, for one test file of yours.

Use them as ``assert check_component(MyModel()) == []``.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np
from PIL import Image, ImageDraw

from driftledger.components.base import Component, Encoder, Generator, Model
from driftledger.core.canonical import sha256_bytes
from driftledger.core.media import Medium, Sound, encoded, suffix_of
from driftledger.core.types import Conversation, Outcome, Result, Subject

TEXTS = (
    "A golden circle on a dark blue ground, a little left of the middle.",
    "A red rectangle on a white background. It fills most of the picture.",
    "Two black birds sit on a green roof, and it rains.",
)
QUESTIONS = (
    "Describe the image in one sentence.",
    "Which colour is the ground?\nA. red\nB. white\nC. I cannot tell\nAnswer with the letter.",
    "Is there a circle in the image? Please answer yes or no.",
)

Make: TypeAlias = Callable[[Any, Sequence[Any]], Any]
"""The results of a component for some calls."""


def check_component(component: Component) -> list[str]:
    """Return what is wrong with a component, a sentence each; an empty list if it keeps its
    contract.

    There is one result per call, in the form of its kind; numbers say something; the same call
    gives the same again, also alone, in another order and by a new component with the same
    settings. Each call of a service may cost money: all checks make about 15.
    """
    twin = type(component).model_validate_json(component.model_dump_json())
    problems = []
    if twin.fingerprint != component.fingerprint:
        problems.append(
            "its settings, written as JSON and read again, have another fingerprint"
        )
    with TemporaryDirectory() as folder:
        tasks = [*_tasks(component, Path(folder))]
        if not tasks:
            problems.append(
                f"{type(component).__name__} has none of encode_images, encode_sounds and "
                "encode_texts"
            )
        for name, make, calls in tasks:
            results = make(component, calls)
            if wrong := _wrong(name, results, len(calls)):
                problems.append(wrong)
                continue
            if isinstance(results, np.ndarray):
                if not np.isfinite(results).all() or not results.any(axis=1).all():
                    problems.append(f"{name} hold NaN or infinity, or zeros alone")
            elif all(each.outcome is Outcome.FAILED for each in results):
                problems.append(f"every call failed: {results[0].error}")
            if not component.unrepeatable:
                again = {
                    "are made again": make(component, calls),
                    "are made by a new component with the same settings": make(
                        twin, calls
                    ),
                    "are asked for in reversed order": make(component, calls[::-1])[
                        ::-1
                    ],
                    "are each made alone": [
                        make(component, [call])[0] for call in calls
                    ],
                }
                for how, others in again.items():
                    if count := sum(
                        not _same(*pair) for pair in zip(results, others, strict=True)
                    ):
                        problems.append(
                            f"{count} of {len(results)} {name} differ when they {how}"
                        )
    return problems


def _tasks(
    component: Component, folder: Path
) -> Iterator[tuple[str, Make, Sequence[Any]]]:
    """Yield each method of a component: its name, how it is called, and three different calls.

    Media that are handed over as files lie in ``folder``.
    """
    pictures = []
    for ground, circle in (("navy", "gold"), ("white", "crimson"), ("olive", "black")):
        pictures.append(Image.new("RGB", (64, 48), ground))
        ImageDraw.Draw(pictures[-1]).ellipse((12, 6, 44, 38), fill=circle)
    waves = [
        np.sin(np.arange(16_000)[:, None] * pitch / 2_546) / 2
        for pitch in (220, 440, 880)
    ]
    sounds = [Sound(wave.astype(np.float32), 16_000) for wave in waves]
    if isinstance(component, Model):
        conversations = []
        media = [*(pictures if "image" in component.media else sounds)]
        for number, (text, medium) in enumerate(zip(QUESTIONS, media, strict=True)):
            data = encoded(medium)
            file = Medium(folder / f"{number}{suffix_of(data)}", sha256_bytes(data))
            file.path.write_bytes(data)
            conversations.append(
                Conversation.ask(text, file, Subject(f"probe-{number}", 1, "probes"))
            )
        yield "replies", lambda of, calls: of.respond(calls), conversations
    elif isinstance(component, Generator):
        prompts = [(text, 2**32 - 1 - number) for number, text in enumerate(TEXTS)]
        yield (
            "images",
            lambda of, calls: of.generate([p for p, _ in calls], [s for _, s in calls]),
            prompts,
        )
    elif isinstance(component, Encoder):
        if "image" in component.media:
            yield "image vectors", lambda of, calls: of.encode_images(calls), pictures
        if "sound" in component.media:
            yield "sound vectors", lambda of, calls: of.encode_sounds(calls), sounds
        if component.reads:
            yield (
                "text vectors",
                lambda of, calls: of.fitted(TEXTS).encode_texts(calls),
                TEXTS,
            )


def _wrong(name: str, results: Any, count: int) -> str:
    """Describe what is wrong with the form of the results of ``count`` calls; empty if nothing
    is."""
    if name.endswith("vectors"):
        fits = isinstance(results, np.ndarray) and results.dtype == np.float32
        if fits and results.ndim == 2 and len(results) == count:
            return ""
        got = (
            f"{results.dtype} {results.shape}"
            if isinstance(results, np.ndarray)
            else type(results).__name__
        )
        return f"{name}: expected a float32 array, {count} × d, got {got}"
    if not isinstance(results, list | tuple) or len(results) != count:
        got = (
            str(len(results))
            if isinstance(results, list | tuple)
            else type(results).__name__
        )
        return f"{name}: expected {count} for {count} calls, got {got}"
    are_replies = name == "replies"
    expected = "a Result with an RGB image, or with a finite sound"
    if are_replies:
        expected = "a Result with a text"
    for result in results:
        fits = False
        if isinstance(result, Result) and isinstance(result.outcome, Outcome):
            fits = isinstance(result.text, str) if are_replies else _is_drawn(result)
        if not fits:
            got = getattr(result, "image", None) or result
            return f"{name}: expected {expected}, got {got!r:.80}"
        if result.outcome is Outcome.FAILED and not result.error:
            return f"{name}: expected an error beside the outcome failed"
    return ""


def _is_drawn(result: Result) -> bool:
    """Return True if a result holds what a generator may give."""
    if result.sound is not None:
        return result.sound.samples.ndim == 2 and bool(
            np.isfinite(result.sound.samples).all()
        )
    return not result.outcome.goes_on or getattr(result.image, "mode", "") == "RGB"


def _same(one: Any, other: Any) -> bool:
    """Return True if results are equal, but for rounding.

    Images may differ by 2 of 255, and others as sums in another order do.
    """
    if isinstance(one, Result):
        if (one.outcome, one.text) != (other.outcome, other.text):
            return False
        if one.sound is not None and other.sound is not None:
            ours = one.sound.samples
            theirs = other.sound.samples
            return ours.shape == theirs.shape and _same(ours.ravel(), theirs.ravel())
        if (
            one.image is None
            or other.image is None
            or one.image.size != other.image.size
        ):
            return one.image is other.image
        pixels = np.asarray(one.image, np.int16)
        others = np.asarray(other.image, np.int16)
        return bool(np.abs(pixels - others).max() <= 2)
    return bool(
        np.linalg.norm(one - other)
        <= 1e-4 * max(np.linalg.norm(one), np.linalg.norm(other))
    )
