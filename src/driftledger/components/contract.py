"""What every component promises, for one test file of yours: ``assert check_component(MyModel()) == []``.

Six checks: *shape* (one result per call, in the form of its kind), *finite* (numbers that say something),
*determinism* (the same call gives the same again, also in a component made anew), *alone* (a call gives alone what it
gives in a batch), *order* (results come in the order of the calls) and *empty* (no call, or an empty text, gives a
result or a ``ValueError`` of one sentence). Each call of a service may cost money: all checks together make about 20.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
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
PICTURES = (("navy", "gold"), ("white", "crimson"), ("olive", "black"))
"""The colours of ground and circle."""

VECTOR_TOLERANCE = 1e-4
"""Of a vector's length: sums of float32 that are taken in another order."""
PIXEL_TOLERANCE = 2
"""Of 255: another rounding."""


class Task(NamedTuple):
    """One method of a component: calls in, as many results out."""

    name: str
    calls: Sequence[Any]
    """Three that any component can do something with, each different."""
    empty: Any
    """A call with an empty text; None where there is no text."""
    make: Callable[[Any, Sequence[Any]], Any]
    """The results of a component for some calls."""
    form: Callable[[Any], str]
    """What is wrong with a result; an empty text where nothing is."""
    same: Callable[[Any, Any], bool]
    """Whether two results count as equal."""


def check_component(component: Component) -> list[str]:
    """Return what is wrong with a component, a sentence each; an empty list if it keeps its contract.

    Where its results have the wrong shape, the other checks say nothing.
    """
    with TemporaryDirectory() as folder:
        tasks = tasks_of(component, Path(folder))
        found = [*shape(component, tasks)]
        return found or [each for name, check in CHECKS.items() if name != "shape" for each in check(component, tasks)]


def tasks_of(component: Component, folder: Path) -> list[Task]:
    """List what a component can be asked; images that are handed over as files lie in ``folder``."""
    if isinstance(component, Model):
        about = [Subject(f"probe-{number}", 1) for number in range(len(QUESTIONS))]
        images = [_written(folder, _picture(*colours)) for colours in PICTURES]
        asked = [Conversation.ask(*each) for each in zip(QUESTIONS, images, about, strict=True)]
        nothing = Conversation.ask("", images[0], about[0])
        return [Task("replies", asked, nothing, lambda of, calls: of.respond(calls), _reply, _same_reply)]
    if isinstance(component, Generator):
        prompts = [(text, 2**32 - 1 - number) for number, text in enumerate(TEXTS)]
        return [Task("images", prompts, ("", 1), _drawn, _image, _same_image)]
    assert isinstance(component, Encoder)
    tasks = []
    if component.sees:
        pictures = [_picture(*colours) for colours in PICTURES]
        encode: Callable[[Any, Sequence[Any]], Any] = lambda of, calls: of.encode_images(calls)  # noqa: E731
        tasks.append(Task("image vectors", pictures, None, encode, _vector, _same_vector))
    if component.reads:
        encode = lambda of, calls: of.fitted(TEXTS).encode_texts(calls)  # noqa: E731
        tasks.append(Task("text vectors", TEXTS, "", encode, _vector, _same_vector))
        read: Callable[[Any, Sequence[Any]], Any] = lambda of, calls: of.fitted(TEXTS).read_texts(calls)  # noqa: E731
        tasks.append(Task("readings", TEXTS, "", read, _reading, lambda one, other: bool(one == other)))
    return tasks


def shape(component: Component, tasks: Sequence[Task]) -> Iterator[str]:
    """Check that there is one result per call, in the form of its kind."""
    if not tasks:
        yield f"{type(component).__name__} has neither encode_images nor encode_texts"
    for task in tasks:
        yield from _wrong(task, task.make(component, task.calls), len(task.calls))


def finite(component: Component, tasks: Sequence[Task]) -> Iterator[str]:
    """Check that vectors are finite and not all zero, and that some call of a model or generator worked."""
    for task in tasks:
        made = task.make(component, task.calls)
        if isinstance(made, np.ndarray):
            if not np.isfinite(made).all():
                yield f"{task.name} hold NaN or infinity"
            elif not made.any(axis=1).all():
                yield f"{task.name} of {int((~made.any(axis=1)).sum())} of {len(made)} calls are all zero"
        elif all(getattr(each, "outcome", None) is Outcome.FAILED for each in made):
            yield f"every call failed: {made[0].error}"


def determinism(component: Component, tasks: Sequence[Task]) -> Iterator[str]:
    """Check that the same calls give the same again, also of a component made anew from its settings."""
    anew = type(component).model_validate_json(component.model_dump_json())
    if anew.fingerprint != component.fingerprint:
        yield "its settings, written as JSON and read again, have another fingerprint"
    for task in tasks if not component.unrepeatable else ():
        first = task.make(component, task.calls)
        for whose in (component, anew):
            again = task.make(whose, task.calls)
            count = sum(not task.same(*pair) for pair in zip(first, again, strict=True))
            if count:
                how = "made again" if whose is component else "made by a new component with the same settings"
                yield f"{count} of {len(first)} {task.name} differ when they are {how}"


def alone(component: Component, tasks: Sequence[Task]) -> Iterator[str]:
    """Check that a call gives alone what it gives in a batch."""
    for task in tasks if not component.unrepeatable else ():
        made = task.make(component, task.calls)
        single = [task.make(component, [call])[0] for call in task.calls]
        if count := sum(not task.same(*pair) for pair in zip(made, single, strict=True)):
            yield f"{count} of {len(made)} {task.name} differ when each call is made alone"


def order(component: Component, tasks: Sequence[Task]) -> Iterator[str]:
    """Check that reversed calls give reversed results."""
    for task in tasks if not component.unrepeatable else ():
        made, turned = task.make(component, task.calls), task.make(component, task.calls[::-1])
        if not all(task.same(*pair) for pair in zip(made, turned[::-1], strict=True)):
            yield f"{task.name} do not come in the order of the calls"


def empty(component: Component, tasks: Sequence[Task]) -> Iterator[str]:
    """Check that no call at all, and an empty text, are answered or refused in one sentence."""
    for task in tasks:
        for what, calls in {"no call": [], "an empty text": [] if task.empty is None else [task.empty]}.items():
            try:
                made = task.make(component, calls)
            except (DriftledgerError, ValueError) as error:
                if len(str(error).strip().splitlines()) != 1:
                    yield f"{task.name} of {what}: expected one sentence, got {type(error).__name__}: {error}"
            except Exception as error:
                yield f"{task.name} of {what}: expected a ValueError, got {type(error).__name__}: {error}"
            else:
                yield from (f"{each} (of {what})" for each in _wrong(task, made, len(calls)))


CHECKS: Mapping[str, Callable[[Component, Sequence[Task]], Iterator[str]]] = {
    each.__name__: each for each in (shape, finite, determinism, alone, order, empty)
}


def _wrong(task: Task, made: Any, count: int) -> Iterator[str]:
    """What is wrong with the form of results of ``count`` calls."""
    if task.form is _vector:
        if not isinstance(made, np.ndarray) or made.dtype != np.float32 or made.ndim != 2 or len(made) != count:
            got = f"{made.dtype} {made.shape}" if isinstance(made, np.ndarray) else type(made).__name__
            yield f"{task.name}: expected a float32 array, {count} × d, got {got}"
    elif not isinstance(made, list | tuple):
        yield f"{task.name}: expected a list of {count}, got {type(made).__name__}"
    elif len(made) != count:
        yield f"{task.name}: expected {count} for {count} calls, got {len(made)}"
    else:
        yield from (f"{task.name}: {problem}" for each in made if (problem := task.form(each)))


def _reply(reply: Any) -> str:
    if not isinstance(reply, Reply) or not isinstance(reply.text, str):
        return f"expected a Reply with a text, got {reply!r:.80}"
    return _outcome(reply)


def _image(drawn: Any) -> str:
    if not isinstance(drawn, Generated):
        return f"expected a Generated, got {type(drawn).__name__}"
    if drawn.image is None:
        return f"expected an image with the outcome {drawn.outcome}" if drawn.outcome.goes_on else _outcome(drawn)
    if not isinstance(drawn.image, Image.Image) or drawn.image.mode != "RGB":
        return f"expected a PIL image of mode RGB, got {getattr(drawn.image, 'mode', type(drawn.image).__name__)}"
    return _outcome(drawn)


def _outcome(result: Reply | Generated) -> str:
    if not isinstance(result.outcome, Outcome):
        return f"expected an Outcome, got {result.outcome!r:.80}"
    return (
        "expected an error beside the outcome failed" if result.outcome is Outcome.FAILED and not result.error else ""
    )


def _vector(vector: Any) -> str:
    return ""  # all are looked at together


def _reading(usage: Any) -> str:
    fits = isinstance(usage, PromptUsage) and 0 <= usage.read <= usage.tokens
    return "" if fits else f"expected a PromptUsage that read at most all tokens, got {usage!r:.80}"


def _same_reply(one: Reply, other: Reply) -> bool:
    return (one.outcome, one.text) == (other.outcome, other.text)


def _same_image(one: Generated, other: Generated) -> bool:
    if one.image is None or other.image is None or one.image.size != other.image.size:
        return one.image is other.image and one.outcome == other.outcome
    pixels = (np.asarray(each.image, np.int16) for each in (one, other))
    return bool(np.abs(next(pixels) - next(pixels)).max() <= PIXEL_TOLERANCE)


def _same_vector(one: Any, other: Any) -> bool:
    length = max(np.linalg.norm(one), np.linalg.norm(other))
    return bool(one.shape == other.shape and np.linalg.norm(one - other) <= VECTOR_TOLERANCE * length)


def _drawn(component: Any, calls: Sequence[tuple[str, int]]) -> Any:
    return component.generate([prompt for prompt, _ in calls], [seed for _, seed in calls])


def _picture(ground: str, circle: str) -> Image.Image:
    image = Image.new("RGB", (64, 48), ground)
    ImageDraw.Draw(image).ellipse((12, 6, 44, 38), fill=circle)
    return image


def _written(folder: Path, image: Image.Image) -> ImageFile:
    digest = sha256_bytes(png_bytes(image))
    path = folder / f"{digest}.png"
    path.write_bytes(png_bytes(image))
    return ImageFile(path, digest)
