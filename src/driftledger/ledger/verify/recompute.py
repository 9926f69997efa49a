"""Every score, computed once more from its records: are these the numbers that the records give?"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from PIL import Image

from driftledger.benchmarks.base import ROLES
from driftledger.benchmarks.collecting import Collecting, Replay
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard, CollectedRecord
from driftledger.benchmarks.score import ROWS, Row, Score
from driftledger.benchmarks.scoring import ToScore
from driftledger.collect.features import FeatureStore
from driftledger.components.base import Component, Encoder
from driftledger.components.checkpoints import CheckpointComponent
from driftledger.core.canonical import canonical_json, sha256_file
from driftledger.core.errors import ConfigError, DriftledgerError, LedgerError, OutOfMemoryError, first_few
from driftledger.core.files import Record, read_json, read_jsonl
from driftledger.core.text import shortened
from driftledger.ledger.findings import Finding, VerifyResult
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


def recompute(
    project: Project,
    lineages: Iterable[Lineage],
    contents: Contents,
    components: Components | None = None,
    features: FeatureStore | None = None,
) -> VerifyResult:
    """Compute scores from their records, each once, and compare all that is stored: numbers, counts, rows.

    Records are followed: the protocols that made them give the same ones again, from the results that they hold.

    Nothing is called but encoders, and nothing in the workspace is touched. A score with an encoder, records or a
    user's files that are not here is ``skipped``.

    Args:
        features: what encoders gave before; by default they see and read everything again.
    """
    result, components = VerifyResult(), components or Components(project)
    for lineage in {each.folder: each for each in lineages}.values():
        stage = lineage.spec.collects.name
        with reading(lineage, f"records of {stage}", result):
            replay, again, _ = follow(lineage, contents, components)
            result.checked["records followed"] += len(replay.records)
            path = f"{lineage.collected[stage].path}/{RECORDS}"
            _compare_rows(result, path, replay.records, again, lambda record: record.place, exact=True)
        with reading(lineage, "score", result):
            _compare_score(result, lineage, _to_score(project, lineage, contents, components, features), contents)
    return result


@contextmanager
def reading(lineage: Lineage, what: str, result: VerifyResult) -> Iterator[None]:
    """Note why something cannot be read: it is not here, or it is not what it should be."""
    try:
        yield
    except (LedgerError, ConfigError, OutOfMemoryError, Image.DecompressionBombError) as error:
        result.skip(lineage.score_path, str(error))
    except UNFIT as error:
        kind = "" if isinstance(error, DriftledgerError) else f"{type(error).__name__}: "
        why = f"no {what} can be had from what is stored: {kind}{shortened(str(error))}"
        result.findings.append(Finding("numbers", lineage.score_path, why))


def follow(
    lineage: Lineage, contents: Contents, components: Components
) -> tuple[Replay, list[CollectedRecord], dict[str, Component | str]]:
    """Drive the protocols behind a folder of records once more, with the results that the records hold.

    Returns:
        The records with the calls that were asked for, the records that come of these, and role → its component, or
        why it cannot be had.

    Raises:
        LedgerError: bytes, or an encoder that chose examples, are not here.
    """
    folder = contents.recorded(lineage.collected[lineage.spec.collects.name])
    card, replay = read_json(folder / CARD, CollectedCard), Replay(folder)
    played = {role: components.get(each, role) for role, each in card.components.items()}
    here = {role: each for role, each in played.items() if not isinstance(each, str)}
    for role in played.keys() - here:
        if ROLES[role] == "encoder":
            raise LedgerError(f"which examples were shown depends on the {role.replace('_', ' ')}, which is not here")
    collecting = Collecting.recorded(lineage.spec, card, contents.recorded(lineage.data), here)
    return replay, collecting.run(replay), played


def _to_score(
    project: Project, lineage: Lineage, contents: Contents, components: Components, features: FeatureStore | None
) -> ToScore:
    """What a score was made from; LedgerError where some of it is not here."""
    stored, spec = lineage.score, lineage.spec
    encoders, beside = dict[str, Encoder](), dict[str, Path]()
    for role in ("encoder", "text_encoder"):
        if role in spec.scores.keys or role in stored.components:
            component = components.get(stored.components[role], role)
            if isinstance(component, str):
                raise LedgerError(component)
            encoders[role] = component  # type: ignore[assignment]  # of the section of encoders
    for setting, sha256 in stored.inputs.beside.items():
        given: Path | None = getattr(project.settings.section(spec.name), setting)
        file = None if given is None else project.root / given
        if file is None or not file.is_file() or sha256_file(file) != sha256:
            raise LedgerError(f"the file of {spec.name}.{setting} is not here as it was recorded")
        beside[setting] = file
    return ToScore(
        keys=stored.keys,
        folders={stage.name: contents.recorded(lineage.folders[stage.name]) for stage in spec.stages[:-1]},
        scoring=spec.scoring.model_validate(stored.inputs.settings),
        min_coverage=0.0,  # which may refuse, and changes no number
        encoders=encoders,
        beside=beside,
        features=features,
    )


def _compare_score(result: VerifyResult, lineage: Lineage, inputs: ToScore, contents: Contents) -> None:
    """Compute a score, and compare its numbers and rows with those that are stored."""
    stored, version, again = lineage.score, lineage.spec.scores.version, lineage.spec.score(inputs)
    if stored.inputs.version != version:
        why = f"version {stored.inputs.version} of the scoring made it, and version {version} is installed"
        result.skip(lineage.score_path, f"{why}; differences may be due to that")
    result.checked["scores"] += 1
    exact = not any(isinstance(encoder, CheckpointComponent) for encoder in inputs.encoders.values())
    score = Score.model_validate_json(canonical_json(again.score.to_dict()))  # as its file would give it
    left_out = {"inputs.version", *(f"components.{role}.code" for role in inputs.encoders)}
    for place, what in _differences(result, stored, score, exact=exact).items():
        if place not in left_out:
            result.findings.append(Finding("numbers", f"{lineage.score_path}: {place}", what))
    rows = read_jsonl(contents.recorded(lineage.folder) / ROWS, Row)
    _compare_rows(result, lineage.rows_path, rows, again.rows, lambda row: row.unit, exact=exact)


def _compare_rows(
    result: VerifyResult, path: str, stored: Sequence[R], again: Sequence[R], key: Callable[[R], str], *, exact: bool
) -> None:
    """Find the first value of each row that differs, and rows that are only on one side."""
    names, expected = [key(row) for row in stored], [key(row) for row in again]
    if names != expected:
        unmatched = first_few(sorted({*names} ^ {*expected}))
        order = "its rows are in another order, or one is there twice"
        what = f"rows are missing or have no record: {unmatched}" if unmatched else order
        result.findings.append(Finding("numbers", path, what))
        return
    for name, one, other in zip(names, stored, again, strict=True):
        if differences := _differences(result, one, other, exact=exact):
            place, what = next(iter(differences.items()))
            more = f"; and {len(differences) - 1} more of this row" if len(differences) > 1 else ""
            result.findings.append(Finding("numbers", f"{path}: {name}.{place}", f"{what}{more}"))


def _differences(result: VerifyResult, stored: Record, again: Record, *, exact: bool) -> dict[str, str]:
    """Place of every value that differs → both values."""
    before, after = (dict(_leaves(each.to_dict())) for each in (stored, again))
    differences = {}
    for place in dict.fromkeys((*before, *after)):
        one, other = before.get(place), after.get(place)
        result.checked["numbers"] += isinstance(one, int | float) and not isinstance(one, bool)
        if not exact and isinstance(one, float) and isinstance(other, float):
            equal = math.isclose(one, other, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
        else:
            equal = place in before and place in after and type(one) is type(other) and one == other
        if not equal:
            shown = [f"{some[place]!r:.80}" if place in some else "nothing" for some in (before, after)]
            differences[place] = f"{shown[0]} is stored, the records give {shown[1]}"
    return differences


def _leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Every value in JSON, by its place with dots: ``metrics.gc_at_5``."""
    if isinstance(value, dict | list):
        for name, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(each, f"{place}.{name}" if place else str(name))
    else:
        yield place, value
