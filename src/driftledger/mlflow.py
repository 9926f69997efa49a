"""Scorers for ``mlflow.genai.evaluate``: how much of an image is in what your own app says of it.

Names are those of ``params.yaml`` in the working folder, or else of the catalogue. Calls go through
the store and the budgets of that project or, without one, through the store of
:func:`driftledger.evaluate`. Each assessment carries the versions behind it, and ``driftledger
audit`` takes its id, or that of its trace.
"""

import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from functools import cache
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar, TypeAlias

import numpy as np
from mlflow.entities import AssessmentError, AssessmentSource, Feedback
from mlflow.genai.scorers import Scorer
from PIL import Image
from pydantic import PrivateAttr

from driftledger.benchmarks.fidelity.spec import FidelityBenchmark
from driftledger.benchmarks.registry import FIRST
from driftledger.collect.call import Draw, Steps
from driftledger.collect.features import FeatureStore, encode_media, encode_texts
from driftledger.collect.progress import Progress
from driftledger.collect.run import Collector
from driftledger.components.base import Component, Encoder
from driftledger.core.canonical import derive_seed, sha256_bytes
from driftledger.core.errors import ConfigError, DataError, DriftledgerError
from driftledger.core.files import read_bytes
from driftledger.core.media import Medium, image_in, png_bytes
from driftledger.core.types import Float32, Result, Subject
from driftledger.data.datasets.base import MAX_PIXELS, reached
from driftledger.data.datasets.decode import decode
from driftledger.metrics.drift import cosine_similarity
from driftledger.metrics.structural import comparable, structural_similarity
from driftledger.project.presets import OWN
from driftledger.project.project import STORE, Project, calls_folder
from driftledger.project.settings import PARAMS, parse_settings, read_yaml
from driftledger.tracking.assessments import metadata_of

_IMAGE = "a path, bytes, a Pillow image or a data URL"
Measures: TypeAlias = dict[str, tuple[float, str]]
"""Name of an assessment → its value, and how it came about."""


class ImageScorer(Scorer):
    """Compares an image with what an app says of it, by what a generator draws from that.

    An app that says nothing gets 0, as a model does. Where the app failed, or the generator refused
    or lost the drawing, the assessment has an error in the place of a value.
    """

    image: str = "image"
    """The key of the image in ``inputs``: a path, bytes, a Pillow image or a data URL."""
    description: str = "description"
    """The key of the text in ``outputs``, where these are not the text itself."""
    seed: int = 1
    """What the generator's seeds are derived from, with the bytes of the image."""
    _project: Project = PrivateAttr()
    _encoder: Encoder = PrivateAttr()
    _generator: Any = PrivateAttr(default=None)
    _metadata: dict[str, str] = PrivateAttr()

    def __init__(
        self,
        generator: str | None,
        encoder: str,
        *,
        understood: bool = False,
        **fields: Any,
    ) -> None:
        """Find the components.

        Args:
            generator: None compares the description itself, by an encoder that reads texts, too.
            understood: the app speaks as the only models do that the components understand.

        Raises:
            ConfigError: a name is unknown, or a component cannot do this.
        """
        # a service may take longer than MLflow waits
        super().__init__(**{"name": type(self).__name__.lower(), "timeout": 0} | fields)
        self._project = _project(Path.cwd(), generator, encoder)
        self._encoder = self._project.component("encoders", encoder)
        components: dict[str, Component] = {encoder: self._encoder}
        if generator is not None:
            self._generator = self._project.component("generators", generator)
            components[generator] = self._generator
        elif not self._encoder.reads:
            raise ConfigError(
                f"{encoder!r} reads no texts; name another encoder, or a generator"
            )
        for name, component in components.items():
            if component.understands and not understood:
                raise ConfigError(
                    f"{name!r} only works for models of {', '.join(component.understands)}; name "
                    "another, or set understood=True if the app speaks as they do"
                )
        self._metadata = metadata_of(components)

    @property
    def names(self) -> list[str]:
        """The names of the assessments that each row gets."""
        return [self.name]

    def measures(self, image: Medium, text: str, drawn: Medium | None) -> Measures:
        """Return the assessments of a description, without those of a drawing that is missing."""
        raise NotImplementedError

    def __call__(  # type: ignore[override]  # MLflow gives what is named here alone
        self, *, inputs: Any, outputs: Any
    ) -> list[Feedback]:
        """Return the assessments of a row."""
        metadata = dict(self._metadata)
        measures: Measures = {}
        error: Exception | AssessmentError | None = None
        text = outputs
        if isinstance(outputs, Mapping):
            text = outputs.get(self.description)
        try:
            image = _medium(inputs.get(self.image), f"inputs[{self.image!r}]")
            if not isinstance(text, str):
                raise DataError(
                    f"outputs are no text and have none under {self.description!r}"
                )
            if text.strip():
                drawn = self._drawn(image, text, metadata)
                measures = self.measures(image, text, drawn.medium)
                error = AssessmentError(drawn.outcome, drawn.error)
            else:
                measures = dict.fromkeys(self.names, (0.0, "the app said nothing"))
        except DriftledgerError as wrong:
            error = wrong
        feedbacks = []
        for name in self.names:
            value, rationale = measures.get(name, (None, None))
            feedback = Feedback(
                name=name,
                value=value,
                error=error if value is None else None,
                rationale=rationale,
                source=AssessmentSource("CODE", "driftledger"),
                metadata=metadata,
            )
            feedbacks.append(feedback)
        return feedbacks

    def _drawn(self, image: Medium, text: str, metadata: dict[str, str]) -> Result:
        """Draw a description, once for all scorers, and note the call."""
        if self._generator is None:
            return Result()
        section: Any = self._project.settings.section(FIRST)
        call = Draw(
            self._generator,
            section.generate_prompt.replace("{description}", text),
            seed=derive_seed(self.seed, "", image.sha256, 1),
            context=Subject(image.sha256[:12], 1),
        )
        drawn = _made(self._project, call)
        metadata["call"] = call.key
        metadata["outcome"] = drawn.outcome
        if drawn.served_model:
            metadata["served"] = drawn.served_model
        return drawn

    def seen(self, media: Iterable[Medium]) -> Float32:
        """Return the encoder's view of images, n×d."""
        return encode_media(self._encoder, media, self._features)

    def read(self, text: str) -> Float32:
        """Return the encoder's view of a text, 1×d."""
        return encode_texts(self._encoder, [text], self._features)

    @property
    def _features(self) -> FeatureStore:
        return FeatureStore(self._project.state / "features")


class Redrawn(ImageScorer):
    """The cosine between an image and what was drawn from its description: GenCeption's s(1)."""

    def measures(self, image: Medium, text: str, drawn: Medium | None) -> Measures:
        if drawn is None:
            return {}
        cosine = _cosine(self.seen([image]), self.seen([drawn]))
        return {self.name: (cosine, "the cosine between image and drawing")}


class Fidelity(ImageScorer):
    """The metrics of the fidelity benchmark that one image has, 0 to 100, higher is better.

    With an encoder that reads texts, ``clip_s``; with a generator, ``ssim``, and ``clip_s_i`` or,
    where the encoder reads no texts, ``image_similarity``.
    """

    @property
    def names(self) -> list[str]:
        names = ["clip_s"] if self._encoder.reads else []
        if self._generator is not None:
            names += ["ssim", "clip_s_i" if names else "image_similarity"]
        return names

    def measures(self, image: Medium, text: str, drawn: Medium | None) -> Measures:
        measures: Measures = {}
        original = self.seen([image])
        if self._encoder.reads:
            cosine = 100 * _cosine(original, self.read(text))
            how = "100 · the cosine between image and description"
            measures["clip_s"] = (cosine, how)
        if drawn is not None:
            cosine = 100 * _cosine(original, self.seen([drawn]))
            how = "100 · the cosine between image and drawing"
            measures[self.names[-1]] = (cosine, how)
            section: Any = self._project.settings.section(FidelityBenchmark.name)
            lumas = [
                comparable(each.open(), section.ssim_side) for each in (image, drawn)
            ]
            ssim = 100 * structural_similarity(*lumas)
            measures["ssim"] = (ssim, f"at {section.ssim_side} pixels a side")
        return measures


class Distinctive(ImageScorer):
    """Whether a description leads back to its own image, among others.

    It is 1 if the image is the nearest by cosine to the drawing or, without a generator, to the
    description; 1/n if n images are equally near, else 0. The mean is the accuracy of retrieval.
    """

    _known: dict[str, Float32] = PrivateAttr()

    def __init__(
        self, generator: str | None, encoder: str, *, among: Iterable[Any], **how: Any
    ) -> None:
        """Encode the images to tell apart, as in ``inputs``; a row's own is always one of them."""
        super().__init__(generator, encoder, **how)
        media = [_medium(image, "an image of among") for image in among]
        if not media:
            raise ConfigError("among has no images; give those to tell apart")
        digests = [medium.sha256 for medium in media]
        self._known = dict(zip(digests, self.seen(media), strict=True))

    def measures(self, image: Medium, text: str, drawn: Medium | None) -> Measures:
        if drawn is None and self._generator is not None:
            return {}
        view = self.read(text) if drawn is None else self.seen([drawn])
        known = {image.sha256: self.seen([image])[0]} | self._known
        support = np.stack([*known.values()])
        near = cosine_similarity(support, np.repeat(view, len(known), axis=0))
        nearer = int((near > near[0]).sum())
        equal = int((near == near[0]).sum())
        how = f"{nearer} of {len(known)} images are nearer than its own"
        return {self.name: (0.0 if nearer else 1 / equal, how)}


def _cosine(a: Float32, b: Float32) -> float:
    return float(cosine_similarity(a, b)[0])


def _medium(given: Any, where: str) -> Medium:
    """Return an image as a dataset holds it: upright RGB.

    Raises:
        ConfigError: its file is missing.
        DataError: it is of another type, cannot be decoded, or has more than 50 million pixels.
    """
    data = given
    if isinstance(given, Image.Image):
        buffer = BytesIO()
        given.save(buffer, "PNG")
        data = buffer.getvalue()
    elif isinstance(given, str):
        data = image_in(given) or Path(given)
    if isinstance(data, Path):
        data = read_bytes(reached(data, "file", f"{where} to {_IMAGE}", "the image "))
    if not isinstance(data, bytes):
        raise DataError(f"{where} is {type(given).__name__}, not {_IMAGE}")
    image, _ = decode(data, where, MAX_PIXELS)
    return Medium(Path("image.png"), sha256_bytes(png_bytes(image)), image)


@cache
def _project(folder: Path, generator: str | None, encoder: str) -> Project:
    """Return the project in a folder with what is named selected; components are loaded once.

    Without one, the catalogue has the names.
    """
    raw = read_yaml(OWN / "templates" / PARAMS)
    run = raw["run"]
    raw["store"] = calls_folder()
    if (folder / PARAMS).is_file():
        raw = read_yaml(folder / PARAMS)
        raw["store"] = os.environ.get(STORE) or raw.get("store")
    run |= {"models": ["blind"], "encoders": [encoder]}  # settings name a model
    run["generators"] = [generator] if generator else []
    given = parse_settings(raw | {"run": run}, "driftledger.mlflow", folder)
    return Project(folder, own_code=True, given=given, resolved={})


class _Desk:
    """The open store of a folder and its collector, which the scorers at work share.

    So none makes a call that another is making. The last one closes the store, for other processes.
    """

    open: ClassVar[dict[Path, "_Desk"]] = {}
    opening: ClassVar = Lock()

    def __init__(self, project: Project) -> None:
        self.users = 0
        self.stack = ExitStack()
        store = self.stack.enter_context(project.store())
        self.collector = self.stack.enter_context(Collector(store))


def _made(project: Project, call: Draw) -> Result:
    """Make a call, unless it is stored."""

    def steps() -> Steps[Result]:
        return (yield call)

    with _Desk.opening:
        desk = _Desk.open.get(project.state) or _Desk(project)
        _Desk.open[project.state] = desk
        desk.users += 1
    try:
        return desk.collector.run([steps()], Progress("", total=0))[0]
    finally:
        with _Desk.opening:
            desk.users -= 1
            if not desk.users:
                del _Desk.open[project.state]
                desk.stack.close()
