"""Scorers for ``mlflow.genai.evaluate``, and data for ``log_input``.

Names are those of ``params.yaml`` in the working folder, or else of the catalogue. Calls go through
the store and the budgets of that project or, without one, through the store of
:func:`driftledger.evaluate`. Each assessment names the versions behind it, and ``driftledger
audit`` takes its id, or that of its trace.
"""

from collections.abc import Collection, Mapping
from contextlib import ExitStack, suppress
from functools import cached_property, lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import numpy as np
from mlflow.entities import AssessmentError, AssessmentSource, Feedback
from mlflow.genai.scorers import Scorer
from pydantic import Field, PrivateAttr

from driftledger.benchmarks.base.scoring import PERCENT
from driftledger.benchmarks.registry import FIRST
from driftledger.collect.batches import Workers
from driftledger.collect.call import Draw, Steps
from driftledger.collect.features import FeatureStore, encode_media, encode_texts
from driftledger.collect.progress import Progress
from driftledger.collect.run import Collector
from driftledger.components.base import Encoder, Generator
from driftledger.core.canonical import derive_seed, sha256_bytes, sha256_file
from driftledger.core.errors import ConfigError, DataError
from driftledger.core.media import Medium, png_bytes
from driftledger.core.types import Float32, Result, Subject
from driftledger.data.datasets.given import keys_in, read_given
from driftledger.dvc_source import DVCDatasetSource as DVCDatasetSource  # offered here
from driftledger.dvc_source import dvc_dataset as dvc_dataset
from driftledger.metrics.drift import cosine_similarity
from driftledger.metrics.neighbours import own_nearest
from driftledger.metrics.structural import comparable, structural_similarity
from driftledger.project.presets import OWN, control
from driftledger.project.project import Project, calls_folder
from driftledger.project.settings import PARAMS, parse_settings, read_yaml
from driftledger.tracking.assessments import metadata_of


class _ImageScorer(Scorer):
    """Compares an image with what a generator draws from an app's description.

    An empty output gets 0, as for a model. If the app failed or the generator drew nothing, the
    assessment has an error instead of a value.
    """

    image: str = "image"
    """The key of the image in ``inputs``: a path, bytes, base64, a Pillow image or an array."""
    text: str = "description"
    """The key of the text in ``outputs``, where these are neither the text itself nor a completion
    of OpenAI's."""
    _project: Project = PrivateAttr()
    _generator: Generator = PrivateAttr()
    _encoder: Encoder = PrivateAttr()
    _metadata: dict[str, str] = PrivateAttr(default_factory=dict)

    def __init__(
        self,
        generator: str,
        encoder: str,
        *,
        understood_by: Collection[str] = (),
        **fields: Any,
    ) -> None:
        """Find the components.

        Args:
            understood_by: providers of components that understand the app's words.

        Raises:
            ConfigError: a name is unknown, or a component cannot do this.
        """
        name = fields.get("metric", type(self).__name__.lower())
        # a call of a service may take longer than MLflow would wait
        super().__init__(**{"name": name, "timeout": 0} | fields)
        self._project = _project(Path.cwd())
        self._generator = self._project.component("generators", generator)
        self._encoder = self._project.component("encoders", encoder)
        for name, component in (generator, self._generator), (encoder, self._encoder):
            if isinstance(component, Encoder) and not component.looks:
                raise ConfigError(f"{name!r} is not for images; name another one")
            if component.understands and component.provider not in understood_by:
                raise ConfigError(
                    f"{name!r} only works for models of {', '.join(component.understands)}; name "
                    f"another, or set understood_by=[{component.provider!r}] if it does for the app"
                )
            self._metadata |= metadata_of(name, component)

    def value(self, image: Medium, text: str, drawn: Medium) -> float:
        """Return the value of a description that was drawn."""
        raise NotImplementedError

    def __call__(  # type: ignore[override]  # MLflow gives what is named here alone
        self, *, inputs: Any, outputs: Any
    ) -> Feedback:
        """Return the assessment of a row."""
        text = _text(outputs, self.text)
        entry = _value_under(inputs, self.image, "inputs", "image")
        image = _medium(entry, f"inputs[{self.image!r}]")
        metadata = dict(self._metadata)
        value: float | None = 0.0
        error = None
        if text.strip():
            section: Any = self._project.settings.section(FIRST)
            call = Draw(
                self._generator,
                section.generate_prompt.replace("{description}", text),
                seed=derive_seed(1, image.sha256, 0, 1),
                context=Subject(image.sha256[:12], 1),
            )
            drawn = _call_once(self._project, call)
            metadata["call"] = call.key
            metadata["served_model"] = drawn.served_model or "not named"
            if drawn.medium:
                value = self.value(image, text, drawn.medium)
            else:
                value = None
                error = AssessmentError(drawn.outcome, drawn.error)
        source = AssessmentSource("CODE", "driftledger")
        return Feedback(self.name, value, error, source, metadata=metadata)

    def _seen(self, medium: Medium) -> Float32:
        """Return the encoder's view of an image, 1×d."""
        features = FeatureStore(self._project.state / "features")
        return encode_media(self._encoder, [medium], features)

    def _cosine(self, image: Medium, view: Float32) -> float:
        return float(cosine_similarity(self._seen(image), view)[0])


class Redrawn(_ImageScorer):
    """The cosine between an image and its redrawing: GenCeption's s(1)."""

    def value(self, image: Medium, text: str, drawn: Medium) -> float:
        return self._cosine(image, self._seen(drawn))


class Fidelity(_ImageScorer):
    """A metric of the fidelity benchmark, 0 to 100, higher is better."""

    metric: Literal["clip_s", "clip_s_i", "image_similarity", "ssim"]
    """The name of the metric and of the assessment."""

    def value(self, image: Medium, text: str, drawn: Medium) -> float:
        if self.metric == "ssim":
            section: Any = self._project.settings.section("fidelity")
            before = comparable(image.open(), section.ssim_side)
            after = comparable(drawn.open(), section.ssim_side)
            return PERCENT * structural_similarity(before, after)
        view = self._seen(drawn)
        if self.metric == "clip_s":
            view = encode_texts(self._encoder, [text])
        return PERCENT * self._cosine(image, view)


class Distinctive(_ImageScorer):
    """The accuracy with which a drawing leads back to its own image.

    It is 1 if no other image is as near to the drawing by cosine, 1/n if n images are equally near,
    else 0. The mean is the accuracy of retrieval.
    """

    among: list[Any] = Field(min_length=1)
    """The images to tell apart, as in ``inputs``; a row's own is always one of them."""

    @cached_property
    def _known(self) -> dict[str, Float32]:
        known = {}
        for number, entry in enumerate(self.among):
            medium = _medium(entry, f"among[{number}]")
            known[medium.sha256] = self._seen(medium)
        return known

    def value(self, image: Medium, text: str, drawn: Medium) -> float:
        known = self._known | {image.sha256: self._seen(image)}
        views = np.concatenate([*known.values()])
        own = [*known].index(image.sha256)
        return float(own_nearest(views, self._seen(drawn), [own])[0])


def _medium(entry: Any, where: str) -> Medium:
    """Return an image as a dataset holds it: upright RGB.

    Raises:
        DriftledgerError: it cannot be read or decoded, or has more than 50 million pixels.
    """
    setting = "image= to the key of a path, or of an image itself"
    image, _ = read_given(entry, where, setting)
    return Medium(Path("image.png"), sha256_bytes(png_bytes(image)), image)


def _value_under(row: Any, key: str, role: str, setting: str) -> Any:
    """Return the value of a row under a key.

    Raises:
        DataError: it has no such key.
    """
    if isinstance(row, Mapping) and key in row:
        return row[key]
    raise DataError(
        f"{role} have no {key!r}, and are of the type {type(row).__name__}{keys_in(row)}; set "
        f"{setting}= to the key of the {setting}"
    )


def _text(outputs: Any, key: str) -> str:
    """Return the text of an app's output.

    It is the output itself, the value under a key, or the content of a completion of OpenAI's.

    Raises:
        DataError: there is none.
    """
    if hasattr(outputs, "model_dump"):  # OpenAI's client returns a model of pydantic
        outputs = outputs.model_dump()
    if isinstance(outputs, str):
        return outputs
    if isinstance(outputs, Mapping) and key not in outputs:
        with suppress(LookupError, TypeError):
            content = outputs["choices"][0]["message"]["content"]
            outputs = {key: content or ""}  # a refusal has none
    text = _value_under(outputs, key, "outputs", "text")
    if not isinstance(text, str):
        raise DataError(
            f"outputs[{key!r}] is of the type {type(text).__name__}{keys_in(text)}; set text= to "
            "the key of a text"
        )
    return text


def _project(folder: Path) -> Project:
    """Return the project in a folder, or one with the catalogue's names alone.

    Its components are loaded once, and again after ``params.yaml`` has changed.
    """
    params = folder / PARAMS
    digest = "unread" if params.is_file() else ""
    with suppress(OSError):  # the reader of settings reports it
        digest = sha256_file(params)
    return _loaded(folder, digest)


@lru_cache(maxsize=4)
def _loaded(folder: Path, params: str) -> Project:
    """Return the project.

    Args:
        params: the SHA-256 of its ``params.yaml``; empty without one.
    """
    if params:
        return Project(folder, own_code=True, resolved={})
    raw = read_yaml(OWN / "templates" / PARAMS)
    raw["store"] = calls_folder()
    raw["run"]["models"] = [control()]  # settings name a model
    settings = parse_settings(raw, "driftledger.mlflow")
    return Project(folder, own_code=True, given=settings, resolved={})


class _Shared(ExitStack):
    """An open store and its collector, with how many scorers use them now."""

    def __init__(self, project: Project) -> None:
        super().__init__()
        self.users = 0
        store = self.enter_context(project.store())
        # in this process, where the project's components stay loaded
        self.collector = self.enter_context(Collector(store, Workers()))


_OPEN: dict[Path, _Shared] = {}
_OPENING = Lock()


def _call_once(project: Project, call: Draw) -> Result:
    """Make a call unless it is stored, or wait for the scorer that is making it.

    The last scorer at work closes the store, so that other processes can use it.
    """

    def steps() -> Steps[Result]:
        return (yield call)

    with _OPENING:
        shared = _OPEN.get(project.state) or _Shared(project)
        _OPEN[project.state] = shared
        shared.users += 1
    try:
        return shared.collector.run([steps()], Progress("", total=0))[0]
    finally:
        with _OPENING:
            shared.users -= 1
            if not shared.users:
                _OPEN.pop(project.state).close()
