"""Every score, computed once more from its records: are these the numbers that the records give?"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from PIL import Image

from driftledger.benchmarks.base import ROLES
from driftledger.benchmarks.collecting import Collecting, Replay
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard
from driftledger.benchmarks.score import ROWS, Row, Score
from driftledger.benchmarks.scoring import ToScore
from driftledger.collect.features import FeatureStore
from driftledger.components.base import Encoder
from driftledger.components.checkpoints import CheckpointComponent
from driftledger.core.canonical import canonical_json, sha256_file
from driftledger.core.errors import ConfigError, DriftledgerError, LedgerError, OutOfMemoryError, first_few
from driftledger.core.files import Record, read_json, read_jsonl
from driftledger.core.text import shortened
from driftledger.ledger.findings import Finding, Skipped, VerifyResult
from driftledger.ledger.lineage import Lineage
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.verify.components import Components
from driftledger.project.project import Project

UNFIT = (DriftledgerError, ValueError, LookupError, OSError, SyntaxError, NotImplementedError)
"""What is raised over files that this code did not write, or not as they are now. The last two are Pillow's, for a PNG
with something else between its chunks, and for a pixel format that it does not read."""

RELATIVE, ABSOLUTE = 1e-4, 1e-6
"""How far a number may be off that was seen through weights: torch gives other last bits on another processor, and in
sums of many terms these reach the fifth digit. Embedded encoders give the same bits everywhere."""

R = TypeVar("R", bound=Record)
Places: TypeAlias = Mapping[str, Callable[[], Path]]
"""Stage → gives the folder with the recorded bytes of what it wrote; LedgerError where they are not here."""


def recompute(
    project: Project,
    lineages: Iterable[Lineage],
    contents: Contents,
    components: Components | None = None,
    features: FeatureStore | None = None,
) -> VerifyResult:
    """Compute scores from their records, each once, and compare all that is stored: numbers, counts, rows.

    Records are followed: the protocols that made them give the same ones again, from the results that they hold.

    Nothing is called but encoders, and nothing in the workspace is touched. A score whose encoder, records or user's
    files are not here is ``skipped``.

    Args:
        features: what encoders gave before; by default they see and read everything again.
    """
    check = _Check(project, components or Components(project), features)
    with contents.recorded() as place_of:
        for lineage in {each.folder: each for each in lineages}.values():
            places = {stage: partial(place_of, folder) for stage, folder in lineage.folders.items()}
            with check.reading(lineage, f"records of {lineage.spec.collects.name}"):
                check.replay(lineage, places)
            with check.reading(lineage, "score"):
                check.score(lineage, places)
    return check.result


class _Check:
    """Compares what is stored with what it is made of."""

    def __init__(self, project: Project, components: Components, features: FeatureStore | None) -> None:
        self._project, self._components, self._features = project, components, features
        self.result = VerifyResult()

    @contextmanager
    def reading(self, lineage: Lineage, what: str) -> Iterator[None]:
        """Note why something cannot be read: that it is not here, or that it is not what it should be."""
        try:
            yield
        except (LedgerError, ConfigError, OutOfMemoryError, Image.DecompressionBombError) as error:
            if (skipped := Skipped(lineage.score_path, str(error))) not in self.result.skipped:
                self.result.skipped.append(skipped)
        except UNFIT as error:
            kind = "" if isinstance(error, DriftledgerError) else f"{type(error).__name__}: "
            self._find(lineage.score_path, f"no {what} can be had from what is stored: {kind}{shortened(str(error))}")

    def replay(self, lineage: Lineage, places: Places) -> None:
        """Go through the protocols once more, with the results that the records hold: do these records come of it?"""
        stage = lineage.spec.collects.name
        folder = places[stage]()
        card, replay = read_json(folder / CARD, CollectedCard), Replay(folder)
        known = {
            role: component
            for role, each in card.components.items()
            if not isinstance(component := self._components.get(each, role), str)
        }
        if missing := [role for role in card.components.keys() - known if ROLES[role] == "encoder"]:
            raise LedgerError(
                f"which examples were shown depends on the {missing[0].replace('_', ' ')}, which is not here"
            )
        again = Collecting.recorded(lineage.spec, card, places[lineage.spec.data.name](), known).run(replay)
        self.result.checked["records followed"] += len(replay.records)
        path = f"{lineage.collected[stage].path}/{RECORDS}"
        self._compare_rows(path, replay.records, again, lambda record: record.place, exact=True)

    def score(self, lineage: Lineage, places: Places) -> None:
        """Compute a score again from its records."""
        stored, spec = lineage.score, lineage.spec
        encoders = dict[str, Encoder]()
        for role in ("encoder", "text_encoder"):
            if role in spec.scores.keys or role in stored.components:
                component = self._components.get(stored.components[role], role)
                if isinstance(component, str):
                    raise LedgerError(component)
                encoders[role] = component  # type: ignore[assignment]  # of the section of encoders
        made = spec.score(
            ToScore(
                keys=stored.keys,
                folders={stage.name: places[stage.name]() for stage in spec.stages[:-1]},
                scoring=spec.scoring.model_validate(stored.inputs.settings),
                min_coverage=0.0,  # which may refuse, and changes no number
                encoders=encoders,
                beside={name: self._file(lineage, name, sha256) for name, sha256 in stored.inputs.beside.items()},
                features=self._features,
            )
        )
        exact = not any(isinstance(encoder, CheckpointComponent) for encoder in encoders.values())
        if stored.inputs.version != spec.scores.version:
            why = (
                f"version {stored.inputs.version} of the scoring made it, and version {spec.scores.version} is "
                "installed; differences may be due to that"
            )
            self.result.skipped.append(Skipped(lineage.score_path, why))
        self.result.checked["scores"] += 1
        again = Score.model_validate_json(canonical_json(made.score.to_dict()))  # as its file would give it
        left_out = {"inputs.version", *(f"components.{role}.code" for role in encoders)}
        for place, what in self._differences(stored, again, exact=exact).items():
            if place not in left_out:
                self._find(f"{lineage.score_path}: {place}", what)
        rows = read_jsonl(places[spec.scores.name]() / ROWS, Row)
        self._compare_rows(lineage.rows_path, rows, made.rows, lambda row: row.unit, exact=exact)

    def _file(self, lineage: Lineage, setting: str, sha256: str) -> Path:
        """The user's file of a setting, if it still is the recorded one."""
        given: Path | None = getattr(self._project.settings.section(lineage.spec.name), setting)
        file = None if given is None else self._project.root / given
        if file is None or not file.is_file() or sha256_file(file) != sha256:
            raise LedgerError(f"the file of {lineage.spec.name}.{setting} is not here as it was recorded")
        return file

    def _compare_rows(
        self, path: str, stored: Sequence[R], made: Sequence[R], key: Callable[[R], str], *, exact: bool
    ) -> None:
        """Find the first value of each row that differs, and rows that are only on one side."""
        names, expected = [key(row) for row in stored], [key(row) for row in made]
        if names != expected:
            unmatched = first_few(sorted({*names} ^ {*expected}))
            order = "its rows are in another order, or one is there twice"
            self._find(path, f"rows are missing or have no record: {unmatched}" if unmatched else order)
            return
        for name, one, other in zip(names, stored, made, strict=True):
            if differences := self._differences(one, other, exact=exact):
                place, what = next(iter(differences.items()))
                more = f"; and {len(differences) - 1} more of this row" if len(differences) > 1 else ""
                self._find(f"{path}: {name}.{place}", f"{what}{more}")

    def _differences(self, stored: Record, made: Record, *, exact: bool) -> dict[str, str]:
        """Place of every value that differs → both values."""
        before, after = (dict(_leaves(each.to_dict())) for each in (stored, made))
        differences = {}
        for place in dict.fromkeys((*before, *after)):
            one, other = before.get(place), after.get(place)
            self.result.checked["numbers"] += isinstance(one, int | float) and not isinstance(one, bool)
            if not exact and isinstance(one, float) and isinstance(other, float):
                equal = math.isclose(one, other, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
            else:
                equal = place in before and place in after and type(one) is type(other) and one == other
            if not equal:
                shown = [f"{some[place]!r:.80}" if place in some else "nothing" for some in (before, after)]
                differences[place] = f"{shown[0]} is stored, the records give {shown[1]}"
        return differences

    def _find(self, where: str, what: str) -> None:
        self.result.findings.append(Finding("numbers", where, what))


def _leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Every value in JSON, by its place with dots: ``metrics.gc_at_5``."""
    if isinstance(value, dict | list):
        for name, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(each, f"{place}.{name}" if place else str(name))
    else:
        yield place, value
