"""Every score, computed once more from its records: are these the numbers that the records give?"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
from PIL import Image

from driftledger.benchmarks.base import NEEDED_FOR, Benchmark, Input, Metric, Stage, base_role
from driftledger.benchmarks.code import code_behind
from driftledger.benchmarks.records import RECORDS, CollectedRecord
from driftledger.benchmarks.registry import runner
from driftledger.benchmarks.score import Row, Score
from driftledger.benchmarks.scoring import ToScore
from driftledger.collect.features import FeatureStore
from driftledger.components.base import Encoder
from driftledger.components.checkpoints.component import CheckpointComponent
from driftledger.core.canonical import canonical_json, sha256_file
from driftledger.core.errors import ConfigError, DriftledgerError, LedgerError, OutOfMemoryError
from driftledger.core.escaping import for_line
from driftledger.core.files import read_jsonl
from driftledger.core.limits import strangers_pixels
from driftledger.core.shortening import shortened
from driftledger.core.types import Float32, PromptUsage
from driftledger.ledger.findings import Finding, Skipped, VerifyResult
from driftledger.ledger.lineage import Lineage
from driftledger.ledger.objects.contents import Contents, Recorded, recorded
from driftledger.ledger.verify.components import Components, Unavailable, other_code
from driftledger.ledger.verify.unfit import UNFIT
from driftledger.ledger.verify.values import Place, ValueComparison, compare, compare_rows
from driftledger.project.project import Project


def recompute(
    project: Project,
    lineages: Iterable[Lineage],
    contents: Contents,
    components: Components | None = None,
    features: FeatureStore | None = None,
) -> VerifyResult:
    """Compute scores from their records, each once, and compare all that is stored: numbers, counts, rows, readings.

    Nothing is called but encoders, and nothing in the workspace is touched. What is not at hand is ``skipped``; what
    needs no encoder is compared without it.

    Args:
        features: what is taken as encoders gave it; by default they see and read everything anew.
    """
    distinct = list({(each.score_file.path, each.score_file.md5): each for each in lineages}.values())
    components = components or Components.of(project)
    result = VerifyResult()
    inputs = [locked for each in distinct for locked in (each.data, *each.collected.values())]
    with recorded(contents, inputs) as folders, strangers_pixels():
        for each in distinct:
            result += _Check(project, each, contents, folders, components, features).result()
    return result


class _Beside(NamedTuple):
    """What goes into a score beside the records."""

    encoders: dict[str, Encoder]
    files: dict[str, Path]
    missing: frozenset[Input]


class _Check:
    """The check of one score."""

    def __init__(
        self,
        project: Project,
        lineage: Lineage,
        contents: Contents,
        folders: Recorded,
        components: Components,
        features: FeatureStore | None,
    ) -> None:
        self._project, self._lineage, self._contents = project, lineage, contents
        self._folders, self._components, self._features = folders, components, features
        self._spec, self._path = lineage.spec, lineage.score_file.path
        self._found = VerifyResult()

    def result(self) -> VerifyResult:
        for stage in self._spec.collects:
            self._try(partial(self._reread, stage), f"records of {stage.name}")
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
            self._skip(self._path, for_line(str(error)))
        except UNFIT as error:
            kind = "" if isinstance(error, DriftledgerError) else f"{type(error).__name__}: "
            self._find(self._path, f"no {what} can be had from what is stored: {kind}{shortened(str(error))}")

    def _where(self, stage: str) -> Path:
        """The recorded bytes of what a stage wrote."""
        data = self._lineage.data
        return self._folders(data if stage == self._spec.data.name else self._lineage.collected[stage])

    def _reread(self, stage: Stage) -> None:
        """What was read in answers, read once more."""
        again = runner(self._spec.name).reread(stage.name, self._where)
        if again is None or stage.record is None:
            return
        path = f"{self._lineage.collected[stage.name].path}/{RECORDS}"
        if again.unlike:
            self._skip(path, for_line(again.unlike))
            return
        stored: Sequence[CollectedRecord] = read_jsonl(self._where(stage.name) / RECORDS, stage.record)
        compared = compare_rows(stored, again.records, lambda record: record.place, exact=True)
        self._found.checked["records read again"] += len(stored)
        self._add(path, compared, stage)

    def _recompute(self) -> None:
        score, spec, collected = self._lineage.score, self._spec, self._lineage.collected
        encoders, files, missing = self._beside()
        made = runner(spec.name).score(
            ToScore(
                keys=score.keys,
                folders={
                    stage.name: self._where(stage.name)
                    for stage in spec.stages
                    if stage == spec.data or stage.name in collected
                },
                scoring=spec.scoring.model_validate(score.inputs.settings),
                min_coverage=0.0,  # which may refuse, and changes no number
                encoders=encoders,
                beside=files,
                features=self._features,
            )
        )
        exact = not any(isinstance(encoder, CheckpointComponent) for encoder in encoders.values())
        depends = depends_on(spec, missing)
        codes = {("components", role, "code") for role in encoders}  # of which _beside tells

        def leave_out(place: Place) -> bool:
            return place in codes or depends(place)

        self._add(self._path, compare(score, as_read(made.score), exact=exact, leave_out=leave_out), spec.scores)
        self._found.checked["scores"] += 1
        rows_file = self._lineage.rows_file
        file = self._contents.path(rows_file.md5, rows_file.path)
        if file is None:
            self._skip(rows_file.path, "it is neither here nor in Git's history")
            return
        stored = read_jsonl(file, Row)
        rows = compare_rows(stored, made.rows, lambda row: row.unit, exact=exact, leave_out=leave_out)
        self._add(rows_file.path, rows, spec.scores)

    def _beside(self) -> _Beside:
        """The encoders and the user's files of the record, or what takes their place where they are not at hand."""
        encoders: dict[str, Encoder] = {}
        missing = set[Input]()
        for role in ("encoder", "text_encoder"):
            card = self._lineage.score.components.get(role)
            if card is None and role not in self._spec.scores.keys:
                continue
            card = self._lineage.score.components[role]
            found = self._components.get(card, role)
            if isinstance(found, Unavailable):
                self._skip(self._path, f"{found.why}; only what needs no {role.replace('_', ' ')} is compared")
                missing |= NEEDED_FOR[role]
                found = ReadingStandIn() if role == "text_encoder" else StandIn()
            elif why := other_code(found, card):
                self._skip(self._path, why)
            encoders[role] = found  # type: ignore[assignment]  # of the section of encoders
        files = {}
        for setting, recorded_digest in self._lineage.beside.items():
            file = self._file(setting, recorded_digest)
            if file is None:
                missing.add(Input.RATINGS)
            else:
                files[setting] = file
        return _Beside(encoders, files, frozenset(missing))

    def _file(self, setting: str, sha256: str) -> Path | None:
        """The user's file of a setting, if it still is the recorded one."""
        try:
            given: Path | None = getattr(self._project.settings.section(self._spec.name), setting)
            file = None if given is None else self._project.root / given
            if file is not None and file.is_file() and sha256_file(file) == sha256:
                return file
            why = "is not the one that was recorded" if file is not None and file.is_file() else "is not here"
        except ConfigError as error:
            why = f"cannot be found: {for_line(str(error))}"
        self._skip(self._path, f"the file of {self._spec.name}.{setting} {why}; what needs it is not compared")
        return None

    def _add(self, path: str, compared: ValueComparison, stage: Stage) -> None:
        self._found.checked["numbers"] += compared.numbers
        if compared.differences:
            [entry] = [each for name, each in self._lineage.stages.items() if name.partition("@")[0] == stage.name]
            recorded_code = entry.code.values()
            other = recorded_code and code_behind(self._spec, stage) not in recorded_code
            code = f" (the code of {stage.name} here is not the recorded one)" if other else ""
            for each in compared.differences:
                self._find(f"{path}: {each.where}", each.what + code)

    def _find(self, where: str, what: str) -> None:
        self._found.findings.append(Finding("numbers", where, what))

    def _skip(self, where: str, why: str) -> None:
        if (skipped := Skipped(where, why)) not in self._found.skipped:
            self._found.skipped.append(skipped)


def as_read(score: Score) -> Score:
    """A score as its file would give it: flags begin with the marks of components, in the order of their roles."""
    return Score.model_validate_json(canonical_json(score.to_dict()))


class StandIn(Encoder):
    """In the place of an encoder that is not at hand: everything looks the same."""

    provider: ClassVar[str] = "stand_in"
    version: ClassVar[str] = "1"
    frechet_name: ClassVar[str] = "frechet_stand_in"

    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        return np.ones((len(images), 1), dtype=np.float32)


class ReadingStandIn(StandIn):
    """In the place of a text encoder."""

    def encode_texts(self, texts: Sequence[str]) -> Float32:
        return np.ones((len(texts), 1), dtype=np.float32)

    def read_texts(self, texts: Sequence[str]) -> list[PromptUsage]:
        return [PromptUsage(0, 0) for _ in texts]


def depends_on(spec: Benchmark, missing: frozenset[Input]) -> Callable[[Place], bool]:
    """Whether a value of a score, or of a row beside it, depends on something that is missing; what no table of the
    benchmark tells of may."""

    def needed(metrics: Sequence[Metric | None]) -> bool:
        return not metrics or any(metric is None or metric.needs & missing for metric in metrics)

    def depends(place: Place) -> bool:
        match place:
            case ("metrics", key) | ("groups", _, _, key):
                return needed([spec.metric(key)])
            case ("curves", name, *_):
                return needed([spec.of_curve(name)])
            case ("values", key, *_):
                return needed([metric for metric in spec.metrics if metric.row == key])
            case ("components", role, *_):
                return NEEDED_FOR.get(base_role(role), missing) <= missing
            case ("details" | "flags" | "absent" | "extra", *_):
                return True
        return False

    return depends if missing else lambda place: False
