"""What the embedded models reach on the default question sets, and what is left of it when the pictures change.

Run as ``python -m lab.scenes`` in the top folder, with ``--out FILE`` to write the Markdown into a page. Every model of
params.yaml that answers questions is asked about the photographs at three difficulties, about the plain drawings, and
about the photographs of the default difficulty with noise of one grey level and at 90 % of their size. Intervals are
percentile intervals over images.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BytesIO
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, NamedTuple, cast, get_args

import numpy as np
import typer
from PIL import Image

from driftledger.benchmarks._questions.parsing.choice import parse_choice
from driftledger.benchmarks._questions.parsing.yes_no import parse_yes_no
from driftledger.benchmarks._questions.records import permutation
from driftledger.benchmarks._questions.runner import rendered
from driftledger.benchmarks.mm_sap.settings import MMSAPSettings
from driftledger.benchmarks.registry import question_rules
from driftledger.collect.batches import make_batch
from driftledger.collect.call import Ask, Context
from driftledger.components.base import Model
from driftledger.core.canonical import sha256_bytes
from driftledger.core.images import png_bytes
from driftledger.core.types import Conversation, ImageFile
from driftledger.data.question_sets.base import QuestionProvider, SourceQuestion
from driftledger.demo.models.rubric import grade
from driftledger.demo.scene_photos.provider import ScenePhotos
from driftledger.demo.scenes.provider import Protocol, Scenes
from driftledger.metrics import yes_no
from lab.entry import here, new_app, run

RESAMPLES = 500
BEGIN, END = "<!-- python -m lab.scenes: begin -->", "<!-- python -m lab.scenes: end -->"

Change = Callable[[bytes], bytes]

app = new_app(__doc__ or "")


class Measured(NamedTuple):
    """A score in per cent of the best, with its 95 % interval."""

    score: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.score:.1f} ({self.low:.1f}–{self.high:.1f})"


def as_it_is(data: bytes) -> bytes:
    return data


def noisy(data: bytes) -> bytes:
    """One grey level up or down, or none, at every point."""
    pixels = np.asarray(Image.open(BytesIO(data)).convert("RGB"), dtype=np.int64)
    by = np.random.default_rng(len(data)).integers(-1, 2, pixels.shape)
    return png_bytes(Image.fromarray(np.clip(pixels + by, 0, 255).astype(np.uint8)))


def smaller(data: bytes) -> bytes:
    """At 90 % of its width and height."""
    image = Image.open(BytesIO(data)).convert("RGB")
    return png_bytes(image.resize((image.width * 9 // 10, image.height * 9 // 10), Image.Resampling.BICUBIC))


def pictures(asked: Sequence[SourceQuestion], folder: Path, change: Change = as_it_is) -> dict[str, ImageFile]:
    """The images of questions as files, once each."""
    found: dict[str, ImageFile] = {}
    for question in asked:
        if question.image_id not in found:
            data = change(question.read())
            path = folder / question.image_id
            path.write_bytes(data)
            found[question.image_id] = ImageFile(path, sha256_bytes(data))
    return found


def questions(provider: QuestionProvider) -> list[SourceQuestion]:
    return list(provider.questions(question_rules(provider)))


def answered(
    model: Model, asked: Sequence[SourceQuestion], images: Mapping[str, ImageFile], prompt: str
) -> list[float]:
    """What ``model`` gets for each question, with its options in one order; about one image after the other.

    Args:
        prompt: of questions with options, with ``{question}`` and ``{options}``.
    """
    worth = [0.0] * len(asked)
    for at, question in sorted(enumerate(asked), key=lambda each: each[1].image_id):
        shown = [question.options[option] for option in permutation(1, question.id, 0, len(question.options))]
        text = rendered(prompt, question.question, shown) if shown else question.question
        call = Ask(model, "answer", Conversation.ask(text, images[question.image_id]), Context("", question.id, 1))
        [finished] = make_batch([call])
        worth[at] = _worth(question, shown, finished.result.text or "")
    return worth


def _worth(question: SourceQuestion, shown: Sequence[str], said: str) -> float:
    if shown and question.refusal is not None:
        option = parse_choice(said, shown, shown.index(question.refusal)).value
        accepted = {"basic": (question.answer,), "beyond": (question.refusal,)}.get(
            question.subset or "", (question.answer, question.refusal)
        )
        return float(option is not None and shown[option] in accepted)
    if question.capabilities:
        return grade(question.answer or "", said) / 10
    return float(parse_yes_no(said).value == (question.answer == "yes"))


def measured(protocol: Protocol, asked: Sequence[SourceQuestion], worth: Sequence[float]) -> Measured:
    """MM-SAP's score, MM-Vet's total, or MME's mean over categories."""
    points: dict[str, list[tuple[SourceQuestion, float]]] = {}
    for question, one in zip(asked, worth, strict=True):
        points.setdefault(question.image_id, []).append((question, one))
    images = sorted(points)
    random = np.random.default_rng(0)
    draws = [random.integers(0, len(images), len(images)) for _ in range(RESAMPLES)]
    scores = sorted(_score(protocol, [points[images[at]] for at in draw.tolist()]) for draw in draws)
    low, high = scores[RESAMPLES * 25 // 1000], scores[RESAMPLES * 975 // 1000]
    return Measured(_score(protocol, list(points.values())), low, high)


def _score(protocol: Protocol, images: Sequence[list[tuple[SourceQuestion, float]]]) -> float:
    if protocol != "mme":
        worth = [one for image in images for _, one in image]
        return 100 * sum(worth) / len(worth)
    by_category: dict[str, list[tuple[float, str, bool]]] = {}
    for number, image in enumerate(images):
        for question, right in image:
            row = right, str(number), question.answer == "yes"
            by_category.setdefault(question.category or "", []).append(row)
    scores: list[float] = []
    for rows in by_category.values():
        said = [yes if right else not yes for right, _, yes in rows]
        scores.append(yes_no.score(said, [yes for _, _, yes in rows], [number for _, number, _ in rows]).score or 0.0)
    return sum(scores) / len(scores) / 2


def variants(difficulty: float) -> Iterator[tuple[str, Callable[[Protocol], QuestionProvider], Change]]:
    """What is compared: its title, the questions, and what is done to the images."""

    def photos(at: float) -> Callable[[Protocol], QuestionProvider]:
        return lambda protocol: ScenePhotos(protocol=protocol, difficulty=at)

    for at in (0.0, 0.5, 1.0):
        yield f"difficulty {at:g}", photos(at), as_it_is
    yield "± 1 grey level", photos(difficulty), noisy
    yield "90 % size", photos(difficulty), smaller
    yield "drawings", lambda protocol: Scenes(protocol=protocol), as_it_is


def tables(models: Mapping[str, Model], difficulty: float, prompt: str) -> Iterator[str]:
    """A Markdown table per protocol, a row per model."""
    protocols: tuple[Protocol, ...] = get_args(Protocol)
    cells: dict[tuple[Protocol, str], list[str]] = {}
    titles = []
    for title, provider, change in variants(difficulty):
        titles.append(title)
        by_protocol = {protocol: questions(provider(protocol)) for protocol in protocols}
        asked = [question for each in by_protocol.values() for question in each]
        with TemporaryDirectory() as folder:
            images = pictures(sorted(asked, key=lambda question: question.image_id), Path(folder), change)
            for name, model in models.items():
                worth = iter(answered(model, asked, images, prompt))
                for protocol, each in by_protocol.items():
                    score = measured(protocol, each, list(islice(worth, len(each))))
                    cells.setdefault((protocol, name), []).append(str(score))
    for protocol in protocols:
        yield f"\n**{protocol}**\n"
        yield f"| model | {' | '.join(titles)} |"
        yield "|---" * (len(titles) + 1) + "|"
        yield from (f"| {name} | {' | '.join(cells[protocol, name])} |" for name in models)


@app.command()
def table(out: Annotated[Path | None, typer.Option(help="A page with a place for the tables.")] = None) -> None:
    """Print the tables, and put them between their marks in a page."""
    settings = here().settings
    models = {name: settings.model(name) for name in settings.run.models}
    text = "\n".join(tables(models, 0.5, cast(MMSAPSettings, settings.section("mm_sap")).prompt))
    print(text)
    if out:
        page = out.read_text(encoding="utf-8")
        found = re.sub(
            rf"(?<={re.escape(BEGIN)}).*(?={re.escape(END)})", lambda _: f"\n{text}\n\n", page, flags=re.DOTALL
        )
        out.write_text(found, encoding="utf-8")


if __name__ == "__main__":
    run(app)
