"""The stages of ``trio/dvc.yaml``: train the small checkpoints, measure them, and see whether the metrics rank them."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from driftledger.core.errors import ConfigError, unknown_name
from driftledger.core.files import write_json
from driftledger.core.registry import import_extra
from driftledger.project.presets import preset_settings
from driftledger.project.project import Project

PRESET = "neural"
"""What ``make run-neural`` selects."""
CONTROL = "blind"


def train_trio(project: Project, parts: Sequence[str] = ()) -> None:
    """Train what ``trio/params.yaml`` says, or go on where it was left.

    Args:
        parts: some of them; none is all.

    Raises:
        ConfigError: no such part, or the settings are wrong.
        MissingExtraError: a library is not installed.
    """
    for library in ("diffusers", "open_clip"):
        import_extra(library)
    from driftledger.trio import train
    from driftledger.trio.settings import FOLDER, load_trio

    for part in parts:
        if part not in train.PARTS:
            raise ConfigError(unknown_name("part", part, train.PARTS))
    folder = project.root / FOLDER
    workshop = train.workshop(project.settings, load_trio(project.root), project.layout.state / FOLDER, folder)
    with project.only_one(folder):
        for part in parts or train.PARTS:
            train.PARTS[part](workshop)


def measure_trio(project: Project) -> None:
    """Measure every checkpoint where the truth is known, into ``reports/trio.json``."""
    from driftledger.reports.validity.measured import Describer, Measured, Painter
    from driftledger.trio.settings import load_trio
    from driftledger.validity.measuring import Bench

    trio, settings = load_trio(project.root), project.settings
    target = project.layout.measured_trio
    with project.only_one(target), TemporaryDirectory() as folder:
        bench = Bench(settings, Path(folder), trio.measured.iterations)
        encoders = {name: settings.encoder(name) for name in trio.measured.encoders}
        painters = {}
        for name, steps in trio.generators.items():
            generator = settings.generator(name)
            ceiling = {seen: bench.ceiling(generator, encoder) for seen, encoder in encoders.items()}
            painters[name] = Painter(steps, bench.redrawn(generator), ceiling)
        exact = {name: bench.exact(settings.model(name)) for name in trio.models}
        describers = {name: Describer(steps, exact[name]) for name, steps in trio.models.items()}
        retrieval = bench.retrieval(settings.encoder(trio.measured.retrieval))
        write_json(target, Measured(describers=describers, painters=painters, retrieval=retrieval))


def validity(project: Project) -> None:
    """Hold the scores of the preset ``neural`` against what was measured, into ``reports/validity.*``.

    Raises:
        StoreError: a score is missing.
    """
    from driftledger.reports.validity.ladder import Ladder
    from driftledger.reports.validity.report import write_validity
    from driftledger.trio.settings import load_trio

    trio, settings = load_trio(project.root), preset_settings(project.root, PRESET)
    ladder = Ladder(trio.models, trio.generators, CONTROL, trio.measured.retrieval)
    with project.only_one(project.layout.validity):
        write_validity(project.layout, settings.run, settings.genception, ladder)
