"""Scorers for ``mlflow.genai.evaluate``: how much of an image is in what your own app says of it.

``inputs`` hold the image: a path, bytes, a Pillow image, or a text with a data URL or base64. Calls
go through the store and the budgets of the project in the working folder, or, without one, through
the store of :func:`driftledger.evaluate`. Each assessment carries the versions behind it, and
``driftledger audit`` takes its id, or that of its trace.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar, NamedTuple

import numpy as np
from mlflow.entities import AssessmentError, AssessmentSource, Feedback
from mlflow.genai.scorers import Scorer
from PIL import Image
from pydantic import PrivateAttr

from driftledger.benchmarks.fidelity.spec import FidelityBenchmark
from driftledger.benchmarks.registry import FIRST
from driftledger.collect.call import Draw, Steps
from driftledger.collect.features import (
    FeatureStore,
    encode_media,
    encode_texts,
    read_texts,
)
from driftledger.collect.progress import Progress
from driftledger.collect.run import Collector
from driftledger.commands.evaluate import calls_folder
from driftledger.components.base import Component, Encoder, Generator
from driftledger.core.canonical import derive_seed, sha256_bytes
from driftledger.core.errors import ConfigError, DataError, DriftledgerError
from driftledger.core.files import load_yaml, read_bytes
from driftledger.core.media import Medium, image_in, png_bytes
from driftledger.core.types import Float32, Outcome, Result, Subject
from driftledger.data.datasets.base import MAX_PIXELS, reached
from driftledger.data.datasets.decode import decode
from driftledger.metrics.drift import cosine_similarity
from driftledger.metrics.structural import comparable, structural_similarity
from driftledger.project.presets import OWN
from driftledger.project.project import Project
from driftledger.project.settings import PARAMS, parse_settings
from driftledger.tracking.assessments import metadata_of

PERCENT = 100


class Measure(NamedTuple):
    """The value of an assessment, and how it came about."""

    value: float
    rationale: str


@dataclass(frozen=True)
class Shown:
    """An image, what the app said of it, and what was drawn from that."""

    image: Medium
    text: str
    drawn: Medium | None


class ImageScorer(Scorer):  # type: ignore[misc]  # MLflow's classes have no types
    """Compares an image with what an app says of it, by an encoder and, where named, a generator.

    An app that says nothing gets 0, as a model of GenCeption does. Where the app failed, or the
    generator refused or lost the drawing, the assessment has an error in the place of a value.
    """

    benchmark: ClassVar[str] = FIRST
    """The benchmark whose section of ``params.yaml`` says how."""
    image: str = "image"
    """The key of the image in ``inputs``."""
    description: str = "description"
    """The key of the description in ``outputs``, where these are not the text itself."""
    seed: int = 1
    """What the generator's seeds are derived from, with the bytes of the image."""
    _project: Project = PrivateAttr()
    _encoder: Encoder = PrivateAttr()
    _generator: Generator | None = PrivateAttr(default=None)
    _metadata: dict[str, str] = PrivateAttr()
    _names: list[str] = PrivateAttr()

    def __init__(
        self,
        encoder: str | Encoder,
        generator: str | Generator | None = None,
        *,
        understood: bool = False,
        **fields: Any,
    ) -> None:
        """Find the components.

        Args:
            encoder: its name in ``params.yaml`` or the catalogue, or the component itself.
            generator: likewise.
            understood: the app speaks as the models do that these components were made for.

        Raises:
            ConfigError: a name is unknown, or a component cannot do this.
        """
        # a call to a service may take longer than MLflow's limit
        super().__init__(**{"name": type(self).__name__.lower(), "timeout": 0} | fields)
        self._project = _project_in(Path.cwd())
        find = partial(_component, self._project, understood=understood)
        name, self._encoder = find("encoders", encoder)
        components = {"encoder": (name, self._encoder)}
        if "image" not in self._encoder.media:
            raise ConfigError(f"{name!r} has no image tower; name another encoder")
        if generator is not None:
            name, self._generator = find("generators", generator)
            components["generator"] = (name, self._generator)
            if "image" not in self._generator.media:
                raise ConfigError(f"{name!r} draws no images; name another generator")
        elif not self._encoder.reads:
            raise ConfigError(
                f"{name!r} has no text tower, and no generator draws what the app says; name one, "
                "or another encoder"
            )
        self._metadata = metadata_of(components)
        self._names = self.assessments()

    def assessments(self) -> list[str]:
        """Return the names of the assessments that each row gets."""
        return [self.name]

    def measures(self, shown: Shown) -> Mapping[str, Measure]:
        """Return the value of each assessment, by its name, as far as the drawing allows."""
        raise NotImplementedError

    def __call__(self, *, inputs: Any, outputs: Any) -> list[Feedback]:
        """Return the assessments of a row."""
        metadata = dict(self._metadata)
        measures: Mapping[str, Measure] = {}
        error = None
        try:
            image = medium_of(inputs[self.image], f"inputs[{self.image!r}]")
            metadata["image"] = image.sha256
            text = _text_of(outputs, self.description)
            if not text.strip():
                metadata["outcome"] = Outcome.EMPTY
                nothing = Measure(0.0, "the app said nothing of the image")
                measures = dict.fromkeys(self._names, nothing)
            else:
                drawn = self._drawn(image, text, metadata)
                if drawn.medium is None:
                    error = AssessmentError(drawn.outcome, drawn.error)
                measures = self.measures(Shown(image, text, drawn.medium))
        except DriftledgerError as wrong:
            error = AssessmentError(type(wrong).__name__, str(wrong))
        feedbacks = []
        for name in self._names:
            measure = measures.get(name)
            feedback = Feedback(
                name=name,
                value=measure.value if measure else None,
                error=None if measure else error,
                rationale=measure.rationale if measure else None,
                source=AssessmentSource("CODE", "driftledger"),
                metadata=metadata,
            )
            feedbacks.append(feedback)
        return feedbacks

    def view(self, shown: Shown) -> Float32 | None:
        """Return the encoder's view of the drawing or, without a generator, of the description."""
        if self._generator is None:
            return encode_texts(self._encoder, [shown.text], self._features)
        return None if shown.drawn is None else self.seen([shown.drawn])

    def seen(self, media: Iterable[Medium]) -> Float32:
        """Return the encoder's view of images, n×d."""
        return encode_media(self._encoder, media, self._features)

    @property
    def _features(self) -> FeatureStore:
        return FeatureStore(self._project.state / "features")

    def _drawn(self, image: Medium, text: str, metadata: dict[str, str]) -> Result:
        """Draw a description, once for all scorers, and note the call."""
        if self._generator is None:
            return Result()
        section: Any = self._project.settings.section(self.benchmark)
        prompt = section.generate_prompt.replace("{description}", text)
        seed = derive_seed(self.seed, "", image.sha256, 1)
        subject = Subject(image.sha256[:12], 1)
        call = Draw(self._generator, prompt, seed, subject)

        def steps() -> Steps[Result]:
            return (yield call)

        with _collector(self._project) as collector:
            [drawn] = collector.run([steps()], Progress("", total=0))
        metadata["call"] = call.key
        metadata["outcome"] = drawn.outcome
        if drawn.served_model:
            metadata["generator_served"] = drawn.served_model
        return drawn


class Redrawn(ImageScorer):
    """The cosine between an image and what a generator draws from the app's description of it.

    It is s(1) of GenCeption: 1 is the same, higher is better.
    """

    def __init__(
        self, generator: str | Generator, encoder: str | Encoder, **how: Any
    ) -> None:
        super().__init__(encoder, generator, **how)

    def measures(self, shown: Shown) -> Mapping[str, Measure]:
        view = self.view(shown)
        if view is None:
            return {}
        [value] = cosine_similarity(self.seen([shown.image]), view).tolist()
        how = "the cosine between the image and what was drawn from its description"
        return {self.name: Measure(value, how)}


class Fidelity(ImageScorer):
    """The metrics of the fidelity benchmark that one image has, 0 to 100, higher is better.

    ``clip_s`` compares the image with its description, if the encoder reads texts. With a
    generator, ``ssim`` and ``clip_s_i``, or ``image_similarity`` where the encoder reads none,
    compare it with what was drawn.
    """

    benchmark = FidelityBenchmark.name

    def assessments(self) -> list[str]:
        names = []
        if self._encoder.reads:
            names.append("clip_s")
        if self._generator is not None:
            names += ["ssim", self._similarity]
        return names

    @property
    def _similarity(self) -> str:
        return "clip_s_i" if self._encoder.reads else "image_similarity"

    def measures(self, shown: Shown) -> Mapping[str, Measure]:
        measures = {}
        original = self.seen([shown.image])

        def cosine(view: Float32, what: str) -> Measure:
            [value] = cosine_similarity(original, view).tolist()
            return Measure(
                PERCENT * value, f"100 · the cosine between image and {what}"
            )

        if self._encoder.reads:
            texts = [shown.text]
            view = encode_texts(self._encoder, texts, self._features)
            [reading] = read_texts(self._encoder, texts, self._features)
            begun = ", of which the encoder read only the beginning"
            what = f"description{begun if reading.cut else ''}"
            measures["clip_s"] = cosine(view, what)
        if shown.drawn is not None:
            drawn = self.seen([shown.drawn])
            measures[self._similarity] = cosine(drawn, "drawing")
            section: Any = self._project.settings.section(self.benchmark)
            side = section.ssim_side
            one = comparable(shown.image.open(), side)
            other = comparable(shown.drawn.open(), side)
            ssim = PERCENT * structural_similarity(one, other)
            how = f"100 · the structural similarity at {side} pixels a side"
            measures["ssim"] = Measure(ssim, how)
        return measures


class Distinctive(ImageScorer):
    """Whether an app's description leads back to its own image, among others.

    It is 1 if the image is the nearest by cosine to the description or, with a generator, to what
    was drawn from that; 1/n if n images are equally near, else 0. The mean over rows is the
    accuracy of that retrieval.
    """

    _features_of: dict[str, Float32] = PrivateAttr()
    """SHA-256 of each image to tell apart → its features."""

    def __init__(
        self,
        encoder: str | Encoder,
        generator: str | Generator | None = None,
        *,
        among: Iterable[Any],
        **how: Any,
    ) -> None:
        """Encode the images to tell apart, as in ``inputs``; each row's own counts as one of them.

        Raises:
            ConfigError: as of :class:`ImageScorer`, or there are none.
        """
        super().__init__(encoder, generator, **how)
        media = [medium_of(image, "an image of among") for image in among]
        if not media:
            raise ConfigError("among has no images; give those to tell apart")
        digests = [medium.sha256 for medium in media]
        self._features_of = dict(zip(digests, self.seen(media), strict=True))

    def measures(self, shown: Shown) -> Mapping[str, Measure]:
        view = self.view(shown)
        if view is None:
            return {}
        features = dict(self._features_of)
        if shown.image.sha256 not in features:
            [features[shown.image.sha256]] = self.seen([shown.image])
        names = [*features]
        support = np.stack([*features.values()])
        near = cosine_similarity(support, np.repeat(view, len(names), axis=0))
        own = near[names.index(shown.image.sha256)]
        nearer = int((near > own).sum())
        equal = int((near == own).sum())
        how = f"{nearer} of {len(names)} images are nearer to the description than its own"
        if equal > 1:
            how += f", and {equal - 1} equally near"
        return {self.name: Measure(0.0 if nearer else 1 / equal, how)}


def medium_of(given: Any, where: str) -> Medium:
    """Return an image as a dataset would hold it: upright RGB.

    Raises:
        ConfigError: it is missing, or no image can be made of its type.
        DataError: it cannot be decoded, or has more than 50 million pixels.
    """
    if isinstance(given, Image.Image):
        image = given.convert("RGB")
    else:
        data = image_in(given) if isinstance(given, str) else given
        name = where
        if data is None or isinstance(data, Path):
            what = "a path of a file, bytes, a Pillow image or a data URL"
            file = reached(Path(given), "file", f"{where} to {what}", "the image ")
            name = str(file)
            data = read_bytes(file)
        if not isinstance(data, bytes):
            what = type(given).__name__
            raise DataError(
                f"{where} is {what}, not a path, bytes, a Pillow image or a data URL"
            )
        image, _ = decode(data, name, MAX_PIXELS)
    return Medium(Path("image.png"), sha256_bytes(png_bytes(image)), image)


def _text_of(outputs: Any, key: str) -> str:
    """Return the description in what an app returned.

    Raises:
        DataError: there is none: the app failed, or returned something else.
    """
    text = outputs.get(key) if isinstance(outputs, Mapping) else outputs
    if not isinstance(text, str):
        raise DataError(
            f"outputs hold no description: return a text, or one under {key!r}"
        )
    return text


def _project_in(folder: Path) -> Project:
    """Return the project in a folder, or one without results that stands for the catalogue."""
    file = folder / PARAMS
    return _project(folder, read_bytes(file) if file.is_file() else None)


@cache
def _project(folder: Path, params: bytes | None) -> Project:
    """Return the same project for the same settings, so that its components are loaded once."""
    if params is None:
        raw = load_yaml((OWN / "templates" / PARAMS).read_text(encoding="utf-8"))
        raw["run"]["models"] = ["blind"]  # settings name one; it is not asked
        raw["store"] = calls_folder()
        given = parse_settings(raw, "mlflow")
        return Project(folder, own_code=True, given=given, resolved={})
    return Project(folder, own_code=True, resolved={})


def _component(
    project: Project, section: str, given: str | Component, *, understood: bool
) -> tuple[str, Any]:
    """Return the name of a component, and the component."""
    component = given
    name = str(given)
    if isinstance(given, str):
        component = project.component(section, given)
    else:
        name = given.provider
    assert isinstance(component, Component)
    if component.understands is not None and not understood:
        models = ", ".join(sorted(component.understands))
        raise ConfigError(
            f"{name!r} only works for models of {models}; name another of {section}, or set "
            "understood=True if the app speaks as they do"
        )
    return name, component


@dataclass
class _Desk:
    """The open store and the collector of scorers at work in this process."""

    collector: Collector
    closing: ExitStack
    users: int = 0


_DESKS: dict[Path, _Desk] = {}
_OPENING = Lock()


@contextmanager
def _collector(project: Project) -> Iterator[Collector]:
    """Share a collector among the scorers at work, so that none makes a call that another makes.

    The last one closes the store, for other processes.
    """
    folder = project.state
    with _OPENING:
        if folder not in _DESKS:
            closing = ExitStack()
            store = closing.enter_context(project.store())
            collector = closing.enter_context(Collector(store))
            _DESKS[folder] = _Desk(collector, closing)
        desk = _DESKS[folder]
        desk.users += 1
    try:
        yield desk.collector
    finally:
        with _OPENING:
            desk.users -= 1
            if not desk.users:
                del _DESKS[folder]
                desk.closing.close()
