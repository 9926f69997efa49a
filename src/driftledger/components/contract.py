"""Checks of what every component promises, for your tests.

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
from driftledger.core.media import png_bytes
from driftledger.core.types import Conversation, Medium, Outcome, Result, Subject

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
    """Return a sentence for each promise that a component breaks.

    There is one result per call, in the form of its kind. Vectors are finite and not zero. The same
    call has the same result again: alone, in another order, and by a new component with the same
    settings. Each call of a service may cost money: all checks together make about 15.
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
                f"{type(component).__name__} has neither encode_images nor encode_texts"
            )
        for name, make, calls in tasks:
            results = make(component, calls)
            if wrong := _wrong(name, results, len(calls)):
                problems.append(wrong)
                continue
            if isinstance(results, np.ndarray):
                if not np.isfinite(results).all() or not results.any(axis=1).all():
                    problems.append(f"{name} hold NaN or infinity, or zeros alone")
            elif all(result.outcome is Outcome.FAILED for result in results):
                problems.append(f"every call failed: {results[0].error}")
            if component.unrepeatable:
                continue
            again = {
                "are made again": make(component, calls),
                "are made by a new component with the same settings": make(twin, calls),
                "are asked for in reversed order": make(component, calls[::-1])[::-1],
                "are each made alone": [make(component, [call])[0] for call in calls],
            }
            for how, others in again.items():
                pairs = zip(results, others, strict=True)
                if count := sum(not _is_same(*pair) for pair in pairs):
                    problems.append(
                        f"{count} of {len(results)} {name} differ when they {how}"
                    )
    return problems


def _tasks(
    component: Component, folder: Path
) -> Iterator[tuple[str, Make, Sequence[Any]]]:
    """Yield each method of a component: name of its results, caller, three calls.

    Images of prompts are files in ``folder``.
    """
    pictures = []
    for ground, circle in (("navy", "gold"), ("white", "crimson"), ("olive", "black")):
        pictures.append(Image.new("RGB", (64, 48), ground))
        ImageDraw.Draw(pictures[-1]).ellipse((12, 6, 44, 38), fill=circle)
    if isinstance(component, Model):
        conversations = []
        for number, (text, picture) in enumerate(zip(QUESTIONS, pictures, strict=True)):
            data = png_bytes(picture)
            file = Medium(folder / f"{number}.png", sha256_bytes(data))
            file.path.write_bytes(data)
            conversations.append(
                Conversation.ask(text, file, Subject(f"probe-{number}", 1, "probes"))
            )
        yield "replies", lambda of, calls: of.respond(calls), conversations
    elif isinstance(component, Generator):
        prompts = [(text, 2**32 - 1 - number) for number, text in enumerate(TEXTS)]
        yield (
            "images",
            lambda of, calls: of.generate(*zip(*calls, strict=True)),
            prompts,
        )
    elif isinstance(component, Encoder):
        if component.looks:
            yield "image vectors", lambda of, calls: of.encode_images(calls), pictures
        if component.reads:
            yield (
                "text vectors",
                lambda of, calls: of.fitted(TEXTS).encode_texts(calls),
                TEXTS,
            )


def _wrong(name: str, results: Any, count: int) -> str:
    """Describe what is wrong with the form of the results; empty if nothing."""
    if name.endswith("vectors"):
        got = type(results).__name__
        if isinstance(results, np.ndarray):
            got = f"{results.dtype} {results.shape}"
            if results.dtype == np.float32 and results.shape[:-1] == (count,):
                return ""
        return f"{name}: expected a float32 array, {count} × d, got {got}"
    size = len(results) if isinstance(results, list | tuple) else type(results).__name__
    if size != count:
        return f"{name}: expected {count} for {count} calls, got {size}"
    content = "text" if name == "replies" else "image"
    for result in results:
        fits = isinstance(result, Result) and isinstance(result.outcome, Outcome)
        if fits and content == "text":
            fits = isinstance(result.text, str)
        elif fits and result.outcome.goes_on:
            fits = getattr(result.image, "mode", "") == "RGB"
        if not fits:
            got = getattr(result, "image", None) or result
            wanted = {"text": "a text", "image": "an RGB image"}[content]
            return f"{name}: expected a Result with {wanted}, got {got!r:.80}"
        if result.outcome is Outcome.FAILED and not result.error:
            return f"{name}: expected an error with the outcome failed"
    return ""


def _is_same(one: Any, other: Any) -> bool:
    """Return True if results are equal, but for rounding.

    Images may differ by 2 of 255, and vectors as sums in another order do.
    """
    if isinstance(one, np.ndarray):
        largest = max(np.linalg.norm(one), np.linalg.norm(other))
        return bool(np.linalg.norm(one - other) <= 1e-4 * largest)
    if (one.outcome, one.text) != (other.outcome, other.text):
        return False
    if one.image is None or other.image is None or one.image.size != other.image.size:
        return one.image is other.image
    pixels = np.asarray(one.image, np.int16)
    others = np.asarray(other.image, np.int16)
    return bool(np.abs(pixels - others).max() <= 2)
