"""``batch-size``: finds the size of batch that a checkpoint runs best with on this machine, and notes it.

A size is found once and written down, and never chosen anew by a run: the company in a batch changes last bits, so that
it is part of the fingerprint.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from PIL import Image
from rich.console import Group

from driftledger.benchmarks.base import SECTIONS
from driftledger.commands.collect import check_known
from driftledger.components.base import Component, Generator, Model
from driftledger.components.checkpoints.component import CheckpointComponent
from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import ConfigError, OutOfMemoryError, StoreError, unknown_name
from driftledger.core.extras import import_extra
from driftledger.core.images import png_bytes
from driftledger.core.terminal import line, lines, table
from driftledger.core.types import Conversation, Generated, ImageFile, Outcome, Reply
from driftledger.project.entries import with_setting
from driftledger.project.project import Project
from driftledger.project.settings import PARAMS, Settings

_LARGEST = 4096
"""As :attr:`~driftledger.components.base.Component.batch_size` allows."""
_WORTH = 1.1
"""How many times as fast twice the size must be."""
_SIDE = 1024
"""Pixels of the image that is shown where no dataset is built."""
_CHARACTERS = 1000
"""Of the prompt, which is longer than those of most benchmarks."""

Seconds = Callable[[], float]


class Tried(NamedTuple):
    """Batches of one size."""

    size: int
    per_second: float | None
    """Calls; None where they do not fit."""
    peak: int | None
    """The most bytes of the device's memory that were taken at once, where torch can say."""


class Found(NamedTuple):
    """What came of all that was tried with an entry."""

    section: str
    name: str
    before: int
    tried: list[Tried]
    best: int

    def as_table(self) -> Group:
        made = table("batch", "calls/s", "peak", numbers=("batch", "calls/s", "peak"))
        for size, per_second, peak in self.tried:
            speed = "out of memory" if per_second is None else f"{per_second:.3g}"
            made.add_row(line(str(size)), line(speed), line("" if peak is None else f"{peak / 2**30:.2f} GiB"))
        return Group(made, lines(["", f"{self.section}.{self.name}: batch_size {self.best}, and {self.before} before"]))


def find(project: Project, name: str, kind: str | None = None, seconds: Seconds = time.perf_counter) -> Found:
    """Make batches of doubled size until memory runs out, or until they are hardly faster; nothing is stored.

    Each call is as large as they get: the largest image of the selected datasets that are built, a long prompt, and an
    answer without an end.

    Args:
        kind: of :data:`~driftledger.benchmarks.base.SECTIONS`, where entries of several have the name.
        seconds: a clock.

    Raises:
        ConfigError: there is no such entry, or more than one; it is no model or generator with weights of its own that
            takes batches as they are; or its calls fail.
        OutOfMemoryError: not even one call fits.
    """
    settings = project.settings
    section = section_of(settings, name, kind)
    if section not in ("models", "generators"):
        raise ConfigError(f"{section}.{name}: batch sizes are found for models and generators; set batch_size yourself")
    component: Component = settings.model(name) if section == "models" else settings.generator(name)
    if not isinstance(component, CheckpointComponent):
        raise ConfigError(f"{section}.{name} has no weights on this machine, so that no batch can be too large for it")
    if component.fits_batches:
        raise ConfigError(
            f"{section}.{name}: {component.provider} fits batches into memory itself; keep its batch_size"
        )
    with TemporaryDirectory() as folder:
        call = _worst_call(component, project, Path(folder))
        try:
            tried = list(_doubled(component, call, seconds))
        finally:
            component.release()
    fitting = {each.size: each.per_second for each in tried if each.per_second is not None}
    largest = max(fitting)
    worth = largest == 1 or fitting[largest] >= _WORTH * fitting[largest // 2]
    return Found(section, name, component.batch_size, tried, largest if worth else largest // 2)


def write(project: Project, found: Found) -> str:
    """Set ``batch_size`` of the entry in ``params.yaml``, whose comments stay; what was done, in a sentence.

    Raises:
        ConfigError: it is written in a way that cannot be changed.
    """
    if found.best == found.before:
        return "that is its size already: nothing is written"
    with_setting(project.root, found.section, found.name, "batch_size", found.best)
    return f"written to {PARAMS}; it is part of the fingerprint, so that calls made in other batches are made again"


def _doubled(component: CheckpointComponent, call: Callable[[int], None], seconds: Seconds) -> Iterator[Tried]:
    size, before = 1, 0.0
    while size <= _LARGEST:
        try:
            peak = _Peak(component.torch_device)
            taken = min(_timed(call, size, seconds) for _ in range(2))  # the first may load, or compile kernels
        except OutOfMemoryError:
            if size == 1:
                raise
            yield Tried(size, None, None)
            return
        yield Tried(size, size / taken, peak.bytes())
        if size / taken < _WORTH * before:
            return
        size, before = 2 * size, size / taken


def _timed(call: Callable[[int], None], size: int, seconds: Seconds) -> float:
    started = seconds()
    call(size)
    return seconds() - started


class _Peak:
    """The memory of a device from now on."""

    def __init__(self, device: str) -> None:
        self._cuda = import_extra("torch").cuda if device.startswith("cuda") else None
        self._device = device
        if self._cuda is not None:
            self._cuda.reset_peak_memory_stats(device)

    def bytes(self) -> int | None:
        return None if self._cuda is None else int(self._cuda.max_memory_allocated(self._device))


def _worst_call(component: CheckpointComponent, project: Project, folder: Path) -> Callable[[int], None]:
    """What makes a batch of a size, of the largest calls."""
    text = ("A red circle beside a small blue square. " * _CHARACTERS)[:_CHARACTERS]
    if isinstance(component, Generator):
        return lambda size: _check(component.generate([text] * size, range(size)))
    assert isinstance(component, Model)
    component.answer_without_end()
    asked = Conversation.ask(text, _largest_image(project, folder))
    return lambda size: _check(component.respond([asked] * size))


def _check(made: list[Reply] | list[Generated]) -> None:
    for each in made:
        if each.outcome is Outcome.FAILED and "empty" not in str(each.error):
            raise ConfigError(f"its calls fail, so that batches say nothing: {each.error}")


def _largest_image(project: Project, folder: Path) -> ImageFile:
    images = []
    for dataset in project.settings.run.datasets:
        try:
            images += [sample.image for sample in project.built_samples(dataset)]
        except StoreError:  # it is not built
            continue
    if images:
        return max(images, key=_pixels)
    png = png_bytes(Image.new("RGB", (_SIDE, _SIDE), "teal"))
    (folder / "teal.png").write_bytes(png)
    return ImageFile(folder / "teal.png", sha256_bytes(png))


def _pixels(image: ImageFile) -> int:
    with Image.open(image.path) as opened:  # the header alone
        return opened.width * opened.height


def section_of(settings: Settings, name: str, kind: str | None) -> str:
    """The section that has an entry of that name.

    Raises:
        ConfigError: none has one, or several have, and ``kind`` does not say which is meant.
    """
    if kind is not None:
        check_known("kind", [kind], SECTIONS)
    sections = [SECTIONS[kind]] if kind else list(dict.fromkeys(SECTIONS.values()))
    having = [section for section in sections if name in settings.entries(section)]
    if not having:
        raise ConfigError(
            unknown_name(f"{PARAMS}: component", name, {each for one in sections for each in settings.entries(one)})
        )
    if len(having) > 1:
        kinds = [word for word, section in SECTIONS.items() if section in having and word != "judge"]
        raise ConfigError(f"{name!r} is in {' and '.join(having)}; say which with --kind {' or --kind '.join(kinds)}")
    return having[0]
