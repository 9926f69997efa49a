"""What every component promises, for one test file of yours: ``assert check_component(MyModel()) == []``."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from driftledger.components.base import Component, Encoder, Generator, Model
from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import DriftledgerError
from driftledger.core.images import png_bytes
from driftledger.core.types import Conversation, Generated, ImageFile, Outcome, PromptUsage, Reply, Subject

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

VECTOR_TOLERANCE = 1e-4
"""Of a vector's length: sums of float32 that are taken in another order."""
PIXEL_TOLERANCE = 2
"""Of 255: another rounding."""


class Task(NamedTuple):
    """One method of a component: calls in, as many results out."""

    name: str
    calls: Sequence[Any]
    """Three that any component can do something with, each different."""
    empty: Sequence[Any]
    """A call with an empty text, where there is a text."""
    make: Callable[[Any, Sequence[Any]], Any]
    """The results of a component for some calls."""


def check_component(component: Component) -> list[str]:
    """Return what is wrong with a component, a sentence each; an empty list if it keeps its contract.

    There is one result per call, in the form of its kind; numbers say something; the same call gives the same again,
    also alone, in another order and by a new component with the same settings; no call and an empty text give a result
    or a ``ValueError`` of one sentence. Each call of a service may cost money: all checks make about 20.
    """
    anew = type(component).model_validate_json(component.model_dump_json())
    found = []
    if anew.fingerprint != component.fingerprint:
        found.append("its settings, written as JSON and read again, have another fingerprint")
    with TemporaryDirectory() as folder:
        tasks = [*_tasks(component, Path(folder))]
        if not tasks:
            found.append(f"{type(component).__name__} has neither encode_images nor encode_texts")
        for task in tasks:
            made = task.make(component, task.calls)
            problems = [*_wrong(task.name, made, len(task.calls))]
            found += problems or _repeated(task, made, component, anew)
            for what, calls in {"no call": [], "an empty text": task.empty}.items():
                found += [] if problems else _of_nothing(task, component, what, calls)
    return found


def _tasks(component: Component, folder: Path) -> Iterator[Task]:
    """What a component can be asked; images that are handed over as files lie in ``folder``."""
    pictures = []
    for ground, circle in (("navy", "gold"), ("white", "crimson"), ("olive", "black")):
        pictures.append(Image.new("RGB", (64, 48), ground))
        ImageDraw.Draw(pictures[-1]).ellipse((12, 6, 44, 38), fill=circle)
    if isinstance(component, Model):
        asked = []
        for number, (text, picture) in enumerate(zip((*QUESTIONS, ""), (*pictures, pictures[0]), strict=True)):
            digest = sha256_bytes(png_bytes(picture))
            (folder / f"{digest}.png").write_bytes(png_bytes(picture))
            file = ImageFile(folder / f"{digest}.png", digest)
            asked.append(Conversation.ask(text, file, Subject(f"probe-{number % 3}", 1)))
        yield Task("replies", asked[:3], asked[3:], lambda of, calls: of.respond(calls))
    elif isinstance(component, Generator):
        yield Task(
            "images",
            [(text, 2**32 - 1 - number) for number, text in enumerate(TEXTS)],
            [("", 1)],
            lambda of, calls: of.generate([prompt for prompt, _ in calls], [seed for _, seed in calls]),
        )
    elif isinstance(component, Encoder):
        if component.sees:
            yield Task("image vectors", pictures, [], lambda of, calls: of.encode_images(calls))
        if component.reads:
            yield Task("text vectors", TEXTS, [""], lambda of, calls: of.fitted(TEXTS).encode_texts(calls))
            yield Task("readings", TEXTS, [""], lambda of, calls: of.fitted(TEXTS).read_texts(calls))


def _wrong(name: str, made: Any, count: int) -> Iterator[str]:
    """What is wrong with the form of results of ``count`` calls."""
    if name.endswith("vectors"):
        if not isinstance(made, np.ndarray) or made.dtype != np.float32 or made.ndim != 2 or len(made) != count:
            got = f"{made.dtype} {made.shape}" if isinstance(made, np.ndarray) else type(made).__name__
            yield f"{name}: expected a float32 array, {count} × d, got {got}"
    elif not isinstance(made, list | tuple) or len(made) != count:
        got = str(len(made)) if isinstance(made, list | tuple) else type(made).__name__
        yield f"{name}: expected {count} for {count} calls, got {got}"
    else:
        yield from (f"{name}: {problem}" for each in made if (problem := _form(name, each)))


def _form(name: str, result: Any) -> str:
    """What is wrong with one result."""
    if name == "readings":
        fits = isinstance(result, PromptUsage) and 0 <= result.read <= result.tokens
        return "" if fits else f"expected a PromptUsage that read at most all tokens, got {result!r:.80}"
    kind = Reply if name == "replies" else Generated
    if not isinstance(result, kind) or not isinstance(result.outcome, Outcome):
        return f"expected a {kind.__name__} with an Outcome, got {result!r:.80}"
    if isinstance(result, Reply) and not isinstance(result.text, str):
        return f"expected a text, got {result.text!r:.80}"
    image = result.image if isinstance(result, Generated) else None
    if image is not None and (not isinstance(image, Image.Image) or image.mode != "RGB"):
        return f"expected a PIL image of mode RGB, got {getattr(image, 'mode', type(image).__name__)}"
    if isinstance(result, Generated) and image is None and result.outcome.goes_on:
        return f"expected an image with the outcome {result.outcome}"
    missing = result.outcome is Outcome.FAILED and not result.error
    return "expected an error beside the outcome failed" if missing else ""


def _repeated(task: Task, made: Any, component: Component, anew: Component) -> Iterator[str]:
    """Check that results say something, and that the same calls give them again in all ways."""
    if isinstance(made, np.ndarray):
        if not np.isfinite(made).all():
            yield f"{task.name} hold NaN or infinity"
        elif not made.any(axis=1).all():
            yield f"{task.name} of {int((~made.any(axis=1)).sum())} of {len(made)} calls are all zero"
    elif all(getattr(each, "outcome", None) is Outcome.FAILED for each in made):
        yield f"every call failed: {made[0].error}"
    if component.unrepeatable:
        return
    turned = task.make(component, task.calls[::-1])
    again = {
        "made again": task.make(component, task.calls),
        "made by a new component with the same settings": task.make(anew, task.calls),
    }
    again = {f"differ when they are {how}": results for how, results in again.items()}
    again["differ when each call is made alone"] = [task.make(component, [call])[0] for call in task.calls]
    for how, results in again.items():
        if count := sum(not _same(*pair) for pair in zip(made, results, strict=True)):
            yield f"{count} of {len(made)} {task.name} {how}"
    if not all(_same(*pair) for pair in zip(made, turned[::-1], strict=True)):
        yield f"{task.name} do not come in the order of the calls"


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Reply):
        return (one.outcome, one.text) == (other.outcome, other.text)
    if isinstance(one, Generated):
        if one.image is None or other.image is None or one.image.size != other.image.size:
            return one.image is other.image and one.outcome == other.outcome
        pixels, others = (np.asarray(each.image, np.int16) for each in (one, other))
        return bool(np.abs(pixels - others).max() <= PIXEL_TOLERANCE)
    if isinstance(one, np.ndarray):
        length = max(np.linalg.norm(one), np.linalg.norm(other))
        return bool(one.shape == other.shape and np.linalg.norm(one - other) <= VECTOR_TOLERANCE * length)
    return bool(one == other)


def _of_nothing(task: Task, component: Component, what: str, calls: Sequence[Any]) -> Iterator[str]:
    """Check that no call at all, and an empty text, are answered or refused in one sentence."""
    try:
        made = task.make(component, calls)
    except (DriftledgerError, ValueError) as error:
        if len(str(error).strip().splitlines()) != 1:
            yield f"{task.name} of {what}: expected one sentence, got {type(error).__name__}: {error}"
    except Exception as error:
        yield f"{task.name} of {what}: expected a ValueError, got {type(error).__name__}: {error}"
    else:
        yield from (f"{each} (of {what})" for each in _wrong(task.name, made, len(calls)))
