"""From rung to rung; what each gave is kept, so that a climb that was stopped goes on where it was."""

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, TypeAlias

from pydantic import FiniteFloat

import driftledger
import lab
from driftledger.core.canonical import sha256_file, sha256_of
from driftledger.core.errors import StoreError
from driftledger.core.files import Record, read_json, write_json
from driftledger.data.datasets.base import DatasetProvider
from driftledger.project.settings import Settings
from lab.ladder.bench import Bench, Ground, Readings, Rung
from lab.validity.collected import Place
from lab.validity.scores import Reading
from lab.validity.units import Units

End: TypeAlias = FiniteFloat | None


class Found(Record):
    """The file of one rung."""

    KIND: ClassVar[str] = "rung"

    made_of: str
    """Of what :func:`made_of` says."""
    readings: list[tuple[Place, FiniteFloat, End, End, Units | None]]
    """As in :class:`Reading`, without its counts."""


class KeptRungs:
    """Readings of rungs in a folder; what was made of something else, or was damaged, is not there."""

    def __init__(self, folder: Path, made_of: str) -> None:
        self._folder, self._made_of = folder, made_of

    def get(self, rung: Rung) -> Readings | None:
        """What was kept of a rung."""
        try:
            found = read_json(self._file(rung), Found)
        except StoreError:
            return None
        if found.made_of != self._made_of:
            return None
        return {place: Reading(value, low, high, units) for place, value, low, high, units in found.readings}

    def keep(self, rung: Rung, readings: Readings) -> Readings:
        """Keep what a rung gave, and give it back as :meth:`get` will."""
        rows = [(place, each.value, each.low, each.high, each.units) for place, each in readings.items()]
        write_json(self._file(rung), Found(made_of=self._made_of, readings=rows))
        return {place: each._replace(counts=None) for place, each in readings.items()}

    def _file(self, rung: Rung) -> Path:
        return self._folder / f"{rung.kind}-{rung.dose:.6f}.json"


def made_of(settings: Settings, ground: Ground) -> str:
    """A digest of everything that readings depend on: all code of the package and of the studies, the settings, the
    data and the components with their weights."""
    modules = [file for package in (driftledger, lab) for top in package.__path__ for file in Path(top).rglob("*.py")]
    return sha256_of(
        {
            "code": sorted(sha256_file(file) for file in modules),
            "settings": settings.model_dump(mode="json"),
            "speaker": ground.speaker,
            "data": [_of_data(*each) for each in (ground.dataset, ground.labelled)],
            "generators": {name: settings.generator(name).fingerprint for name in ground.generators},
            "encoders": {
                name: settings.encoder(name).fingerprint for name in (*ground.encoders, *ground.text_encoders)
            },
        }
    )


def _of_data(name: str, provider: DatasetProvider) -> list[str]:
    return [name, provider.provider, sha256_of(provider.model_dump(mode="json")), provider.source_digest()]


def climb(bench: Bench, kept: KeptRungs, told: Callable[[Rung], None] = lambda rung: None) -> dict[Rung, Readings]:
    """The readings of every rung; ``told`` hears of each that is not kept yet."""
    found = {}
    for rung in bench.ground.rungs:
        there = kept.get(rung)
        if there is None:
            told(rung)
            there = kept.keep(rung, bench.readings(rung))
        found[rung] = there
    return found
