"""Every score, computed once more from its records: are these the numbers that the records give?"""

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from PIL import Image

from driftledger.benchmarks.base import Stage, kind_of
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
from driftledger.core.images import strangers_pixels
from driftledger.core.text import for_line, shortened
from driftledger.ledger.findings import Finding, Skipped, VerifyResult
from driftledger.ledger.lineage import Folder, Lineage
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.verify.components import Components, Unavailable
from driftledger.project.project import Project

UNFIT = (DriftledgerError, ValueError, LookupError, OSError, SyntaxError, NotImplementedError)
"""What is raised over files that this code did not write, or not as they are now. The last two are Pillow's, for a PNG
with something else between its chunks, and for a pixel format that it does not read."""

RELATIVE, ABSOLUTE = 1e-4, 1e-6
"""How far a number may be off that was seen through weights: torch gives other last bits on another processor, and in
sums of many terms these reach the fifth digit. Embedded encoders give the same bits everywhere."""

R = TypeVar("R", bound=Record)
Place: TypeAlias = tuple[str, ...]
"""Where a value is: ``("metrics", "gc_at_5")``."""
_NOTHING = object()


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
    distinct = list({each.folder: each for each in lineages}.values())
    components = components or Components(project)
    result = VerifyResult()
    with contents.recorded() as folders, strangers_pixels():
        for each in distinct:
            result += _Check(project, each, folders, components, features).result()
    return result


class _Check:
    """The check of one score."""

    def __init__(
        self,
        project: Project,
        lineage: Lineage,
        folders: Callable[[Folder], Path],
        components: Components,
        features: FeatureStore | None,
    ) -> None:
        self._project, self._lineage, self._folders = project, lineage, folders
        self._components, self._features = components, features
        self._spec, self._path = lineage.spec, lineage.score_path
        self._found = VerifyResult()

    def result(self) -> VerifyResult:
        for stage in self._spec.collects:
            self._try(partial(self._replay, stage), f"records of {stage.name}")
        self._try(self._recompute, "score")
        return self._found

    def _try(self, step: Callable[[], None], what: str) -> None:
        try:
            step()
        except (
            LedgerError,
            ConfigError,
            OutOfMemoryError,
            Image.DecompressionBombError,
        ) as error:  # not to be had here
            self._skip(str(error))
        except UNFIT as error:
            kind = "" if isinstance(error, DriftledgerError) else f"{type(error).__name__}: "
            self._find(self._path, f"no {what} can be had from what is stored: {kind}{shortened(str(error))}")

    def _where(self, stage: str) -> Path:
        """The recorded bytes of what a stage wrote."""
        return self._folders(self._lineage.folders[stage])

    def _replay(self, stage: Stage) -> None:
        """Go through the protocols once more, with the results that the records hold: do these records come of it?"""
        spec, folder = self._spec, self._where(stage.name)
        card, replay = read_json(folder / CARD, CollectedCard), Replay(folder)
        known = {
            role: component
            for role, each in card.components.items()
            if not isinstance(component := self._components.get(each, role), Unavailable)
        }
        if missing := [role for role in card.components.keys() - known if kind_of(role) == "encoder"]:
            raise LedgerError(
                f"which examples were shown depends on the {missing[0].replace('_', ' ')}, which is not here"
            )
        again = Collecting.recorded(spec, card, self._where(spec.data.name), known).run(replay)
        self._found.checked["records followed"] += len(replay.records)
        path = f"{self._lineage.collected[stage.name].path}/{RECORDS}"
        self._compare_rows(path, replay.records, again, lambda record: record.place, exact=True)

    def _recompute(self) -> None:
        score, spec = self._lineage.score, self._spec
        encoders = dict[str, Encoder]()
        for role in ("encoder", "text_encoder"):
            if role in spec.scores.keys or role in score.components:
                component = self._components.get(score.components[role], role)
                if isinstance(component, Unavailable):
                    raise LedgerError(component.why)
                encoders[role] = component  # type: ignore[assignment]  # of the section of encoders
        made = spec.score(
            ToScore(
                keys=score.keys,
                folders={stage.name: self._where(stage.name) for stage in (spec.data, *spec.collects)},
                scoring=spec.scoring.model_validate(score.inputs.settings),
                min_coverage=0.0,  # which may refuse, and changes no number
                encoders=encoders,
                beside={setting: self._file(setting, sha256) for setting, sha256 in score.inputs.beside.items()},
                features=self._features,
            )
        )
        exact = not any(isinstance(encoder, CheckpointComponent) for encoder in encoders.values())
        if score.inputs.version != spec.scores.version:
            self._skip(
                f"version {score.inputs.version} of the scoring made it, and version {spec.scores.version} is "
                "installed; differences may be due to that"
            )
        left_out = {("inputs", "version"), *(("components", role, "code") for role in encoders)}
        self._found.checked["scores"] += 1
        again = Score.model_validate_json(canonical_json(made.score.to_dict()))  # as its file would give it
        for place, what in self._compare(score, again, exact=exact, left_out=left_out):
            self._find(f"{self._path}: {'.'.join(place)}", what)
        stored = read_jsonl(self._where(spec.scores.name) / ROWS, Row)
        self._compare_rows(self._lineage.rows_path, stored, made.rows, lambda row: row.unit, exact=exact)

    def _file(self, setting: str, sha256: str) -> Path:
        """The user's file of a setting, if it still is the recorded one."""
        given: Path | None = getattr(self._project.settings.section(self._spec.name), setting)
        file = None if given is None else self._project.root / given
        if file is None or not file.is_file() or sha256_file(file) != sha256:
            raise LedgerError(f"the file of {self._spec.name}.{setting} is not here as it was recorded")
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
            differences = self._compare(one, other, exact=exact)
            if differences:
                place, what = differences[0]
                more = f"; and {len(differences) - 1} more of this row" if len(differences) > 1 else ""
                self._find(f"{path}: {name}.{'.'.join(place)}", f"{what}{more}")

    def _compare(
        self, stored: Record, made: Record, *, exact: bool, left_out: Collection[Place] = ()
    ) -> list[tuple[Place, str]]:
        """Every value that differs, and where."""
        before, after = dict[Place, Any](), dict[Place, Any]()
        _flatten(stored.to_dict(), (), before)
        _flatten(made.to_dict(), (), after)
        differences = []
        for place in dict.fromkeys((*before, *after)):
            if place in left_out:
                continue
            one, other = before.get(place, _NOTHING), after.get(place, _NOTHING)
            self._found.checked["numbers"] += isinstance(one, int | float) and not isinstance(one, bool)
            if not exact and isinstance(one, float) and isinstance(other, float):
                equal = math.isclose(one, other, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
            else:
                equal = type(one) is type(other) and bool(one == other)
            if not equal:
                differences.append((place, f"{_shown(one)} is stored, the records give {_shown(other)}"))
        return differences

    def _find(self, where: str, what: str) -> None:
        self._found.findings.append(Finding("numbers", for_line(where), what))

    def _skip(self, why: str) -> None:
        if (skipped := Skipped(self._path, for_line(why))) not in self._found.skipped:
            self._found.skipped.append(skipped)


def _flatten(value: Any, place: Place, into: dict[Place, Any]) -> None:
    if isinstance(value, dict):
        for name, each in value.items():
            _flatten(each, (*place, str(name)), into)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            _flatten(each, (*place, str(index)), into)
    else:
        into[place] = value


def _shown(value: Any) -> str:
    if value is _NOTHING:
        return "nothing"
    return f"{for_line(str(value)) if isinstance(value, str) else repr(value):.80}"
