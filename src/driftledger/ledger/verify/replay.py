"""Recompute scores from records, and records from components.

Do the records still give these scores, and do the components still give these records?

The calls that are made again are drawn at random by the verifier: a forger who foresees the sample
forges other calls. The call store is not used, since it would return the stored answer. No service
is called: it costs money, and may answer differently.
"""

import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from itertools import chain, zip_longest
from pathlib import Path
from random import Random
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from driftledger.benchmarks.base.collecting import Recorded
from driftledger.benchmarks.base.records import (
    CARD,
    RECORDS,
    CollectedCard,
)
from driftledger.collect.batches import ask_batch, finished
from driftledger.collect.call import Ask
from driftledger.collect.features import FeatureStore
from driftledger.components.base import Component, Encoder
from driftledger.components.checkpoints import CheckpointComponent
from driftledger.core.canonical import Json, sha256_bytes, sha256_file
from driftledger.core.errors import (
    ConfigError,
    DriftledgerError,
    LedgerError,
    OutOfMemoryError,
)
from driftledger.core.files import read_json, read_regular
from driftledger.core.grouping import grouped
from driftledger.core.media import open_picture
from driftledger.core.text import same_start, shortened
from driftledger.core.types import Outcome
from driftledger.ledger.findings import Finding, Line, VerifyResult
from driftledger.ledger.lineage import Lineage, Run
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.rescoring import (
    Judge,
    Played,
    play,
    record_lines,
    rescore,
    row_lines,
    score_lines,
    usage_lines,
)
from driftledger.ledger.verify.components import Components
from driftledger.project.project import Project
from driftledger.scoring.roles import ROLES

_UNFIT = (
    DriftledgerError,
    ValueError,
    LookupError,
    OSError,
    SyntaxError,
    NotImplementedError,
)
"""Errors over files that were changed, or that this code did not write. The last two are Pillow's:
for a PNG with bytes between its chunks, and for an unknown pixel format."""

_RELATIVE = 1e-4
_ABSOLUTE = 1e-6
"""How far a number may be off if an encoder has weights: torch gives other last bits on another
processor, and in sums of many terms these reach the fifth digit. Embedded encoders give the same
bits everywhere."""

_GREY_LEVELS = 2
"""How far a pixel may be off, of 255, if weights drew it: another processor rounds differently."""
_BEFORE = 20
_AFTER = 40
"""Characters that are shown before and after the place where a text differs."""


def recompute(
    project: Project,
    lineages: Iterable[Lineage],
    contents: Contents,
    components: Components | None = None,
    features: FeatureStore | None = None,
) -> VerifyResult:
    """Compute scores from their records, and compare all that is stored.

    They are numbers, counts and rows, each score once.

    Records are replayed: from the results in them, their protocols have to give the same records.
    Nothing is called but encoders, and the workspace stays as it is. A score is ``skipped`` if its
    encoder, its records or a user's file is not here.

    Args:
        features: stored features; by default, encoders compute all again, once.
    """
    result = VerifyResult()
    components = components or Components(project)
    features = features or FeatureStore()
    for lineage in {lineage.folder: lineage for lineage in lineages}.values():
        stage = lineage.spec.collects.name
        path = lineage.collected[stage].path
        with _reading(lineage, f"records of {stage}", result):
            played, _ = _play(lineage, contents, components, keeps_calls=False)
            lines = record_lines(played, f"{path}/{RECORDS}")
            result.add(lines, "records followed", "numbers")
        with _reading(lineage, "totals of calls", result):
            folder = contents.recorded(lineage.folder)
            records = contents.recorded(lineage.collected[stage])
            lines = usage_lines(folder, records, lineage.folder.path)
            result.add(lines, "values", "numbers")
        with _reading(lineage, "score", result):
            result.add(
                _score_lines(project, lineage, contents, components, features),
                "values",
                "numbers",
            )
            result.checked["scores"] += 1
    return result


@contextmanager
def _reading(lineage: Lineage, what: str, result: VerifyResult) -> Iterator[None]:
    """Note why a reading fails: bytes are not here, or not as they should be."""
    try:
        yield
    except (
        LedgerError,
        ConfigError,
        OutOfMemoryError,
        Image.DecompressionBombError,
    ) as error:
        result.skip(lineage.score_path, str(error))
    except _UNFIT as error:
        kind = (
            "" if isinstance(error, DriftledgerError) else f"{type(error).__name__}: "
        )
        why = f"the {what} cannot be made from what is stored: {kind}{shortened(str(error))}"
        result.find(lineage.score_path, why, "numbers")


def _play(
    lineage: Lineage, contents: Contents, components: Components, *, keeps_calls: bool
) -> tuple[Played, dict[str, Component | str]]:
    """Replay the protocol behind a score by the results in its records.

    Returns:
        The protocol, and role → its component, or why it is not here.

    Raises:
        LedgerError: bytes, or an encoder that chose examples, are not here.
    """
    folder = contents.recorded(lineage.collected[lineage.spec.collects.name])
    card = read_json(folder / CARD, CollectedCard)
    roles = {}
    for role, known in card.components.items():
        roles[role] = components.get(known, role)
        if isinstance(roles[role], str) and ROLES[role] == "encoder":
            raise LedgerError(
                f"the {role.replace('_', ' ')}, which chose the examples, is not here"
            )
    data = contents.recorded(lineage.data)
    return play(lineage.spec, folder, data, roles, keeps_calls=keeps_calls), roles


def _score_lines(
    project: Project,
    lineage: Lineage,
    contents: Contents,
    components: Components,
    features: FeatureStore | None,
) -> Iterator[Line]:
    """Compute a score, and compare its numbers and rows with those that are stored.

    Raises:
        LedgerError: some of what it was made from is not here.
    """
    stored = lineage.score
    spec = lineage.spec
    encoders = dict[str, Encoder]()
    for role in ("encoder", "text_encoder"):
        if role in spec.scores.keys or role in stored.components:
            component = components.get(stored.components[role], role)
            if isinstance(component, str):
                raise LedgerError(component)
            encoders[role] = cast(Encoder, component)
    user_files = dict[str, Path]()
    for setting, sha256 in stored.inputs.beside.items():
        named: Path | None = getattr(project.settings.section(spec.name), setting)
        file = None if named is None else project.root / named
        if file is None or not file.is_file() or sha256_file(file) != sha256:
            raise LedgerError(
                f"the file of {spec.name}.{setting} is not here as it was recorded"
            )
        user_files[setting] = file
    folders = {}
    for stage in spec.stages[:-1]:
        folders[stage.name] = contents.recorded(lineage.folders[stage.name])
    again = rescore(spec, stored, folders, encoders, user_files, features)
    judge = Judge(spec, stored.driftledger)
    if any(isinstance(encoder, CheckpointComponent) for encoder in encoders.values()):
        judge = Judge(spec, stored.driftledger, _RELATIVE, _ABSOLUTE)
    path = lineage.folder.path
    version = spec.scores.version
    if stored.inputs.version != version:
        why = (
            f"version {stored.inputs.version} of the scoring made it, and version {version} is "
            "installed; differences may be due to that"
        )
        yield Line(lineage.score_path, "not checkable", why, values=0)
    yield from score_lines(judge, stored, again.score, path)
    yield from row_lines(judge, contents.recorded(lineage.folder), again.rows, path)


class Regenerated(NamedTuple):
    """The calls that were made again."""

    seed: int
    """Draws the same calls again."""
    kinds: list[Json]
    """``name``: benchmark and purpose of the calls; ``calls``: how many could be drawn;
    ``compared``: how many were."""
    result: VerifyResult


def regenerate(
    runs: Sequence[Run],
    contents: Contents,
    components: Components,
    count: int,
    seed: int | None = None,
) -> Regenerated:
    """Make some calls behind runs again, and compare texts and bytes of images.

    They are drawn by lot, equally many of each kind if there are enough. Their components must be
    here in the recorded version, and give equal bytes for equal calls; calls of other components
    are ``skipped``. Failed calls are a kind of their own: who marks a bad answer as failed improves
    a score.

    Args:
        count: how many of each run; all, if there are fewer.
        seed: draws the calls of an earlier verification again; by default, it is unpredictable.
    """
    seed = secrets.randbits(63) if seed is None else seed
    result = VerifyResult()
    compared = Counter[str]()
    # One score of each set of records: several encoders look at the same ones.
    lineages = {}
    for run in runs:
        for lineage in run.lineages:
            lineages[lineage.data, *lineage.collected.values()] = lineage
    pools: dict[str, list[Recorded]] = {}
    for lineage in lineages.values():
        with _reading(lineage, f"calls of {lineage.spec.collects.name}", result):
            for call in _calls(lineage, contents, components, result):
                kind = call.call.role if isinstance(call.call, Ask) else "draw"
                if call.gave.outcome is Outcome.FAILED:
                    kind += ", failed"
                pools.setdefault(f"{lineage.spec.name}: {kind}", []).append(call)
    drawn = draw_lots(pools, count * len(runs), seed)
    calls_of = grouped(drawn, lambda pair: pair[1].call.component.fingerprint)
    # Component by component, so that no two of them need the memory at once.
    for fingerprint in sorted(calls_of):
        for kind, call in calls_of[fingerprint]:
            try:
                what = _difference(call)
            except (DriftledgerError, Image.DecompressionBombError) as error:
                result.skip(call.place, str(error))
                continue
            except _UNFIT as error:
                what = shortened(
                    f"it cannot be made again from the records: {type(error).__name__}: {error}"
                )
            compared[kind] += 1
            if what:
                result.findings.append(Finding("bytes", call.place, what))
        call.call.component.release()
    result.checked["calls"] = compared.total()
    kinds = []
    for kind, calls in sorted(pools.items()):
        kinds.append({"name": kind, "calls": len(calls), "compared": compared[kind]})
    return Regenerated(seed, kinds, result)


def _calls(
    lineage: Lineage, contents: Contents, components: Components, result: VerifyResult
) -> list[Recorded]:
    """Return the calls that can be made again; note components that cannot."""
    played, roles = _play(lineage, contents, components, keeps_calls=True)
    for _ in played.records:
        pass  # which asks for the calls
    path = lineage.collected[lineage.spec.collects.name].path
    repeatable = []
    for role, component in roles.items():
        if isinstance(component, str):
            served = lineage.score.served.get(role, {})
            result.skip(
                path,
                component
                + (f"; it called itself {', '.join(served)}" if served else ""),
            )
        elif component.unrepeatable is not None:
            result.skip(
                path,
                f"{component.kind} {lineage.score.components[role].name}: {component.unrepeatable}",
            )
        else:
            repeatable.append(component)
    calls = []
    for call in played.replay.calls.values():
        if call.call.component in repeatable:
            place = call.gave.file or f"{RECORDS}: {call.place}"
            calls.append(call._replace(place=f"{path}/{place}"))
    return calls


def draw_lots(
    pools: Mapping[str, Sequence[Recorded]], count: int, seed: int
) -> list[tuple[str, Recorded]]:
    """Draw ``count`` calls with their kinds.

    Kinds take turns; within a kind, each call is equally likely.
    """
    random = Random(seed)
    shuffled = []
    for kind, calls in sorted(pools.items()):
        shuffled.append([(kind, call) for call in random.sample(calls, len(calls))])
    turns = chain.from_iterable(zip_longest(*shuffled))
    return [drawn for drawn in turns if drawn is not None][:count]


def _difference(recorded: Recorded) -> str:
    """Make a call again, and compare its text, or the bytes of its image.

    Returns:
        What differs; empty if nothing does.

    Raises:
        LedgerError: they cannot be compared.
    """
    component = recorded.call.component
    stored_as = recorded.gave.outcome
    try:
        again = finished(recorded.call, *ask_batch([recorded.call]))
    except Exception as error:
        if stored_as is Outcome.FAILED and not isinstance(error, DriftledgerError):
            return ""  # as when it was collected
        raise
    if again.outcome is not stored_as:
        if again.outcome is Outcome.FAILED:
            raise LedgerError(
                f"it failed when it was made again: {again.error or 'no reason given'}"
            )
        ends = f"{component.provider} now ends it as {again.outcome}"
        return f"it is stored as {stored_as}, and {ends}"
    served = recorded.gave.served_model
    if served != again.served_model:
        return (
            f"{served!r:.80} is stored as the served model, {component.provider} names "
            f"{again.served_model!r:.80}"
        )
    image = recorded.gave.medium
    if image is None:
        before = recorded.gave.text or ""
        now = again.text or ""
        same = same_start(before, now)
        around = slice(max(0, same - _BEFORE), same + _AFTER)
        differs = f"{before[around]!r} is stored, {component.provider} now says {now[around]!r}"
        return "" if before == now else differs
    stored = read_regular(image.path)
    png = again.data
    digest = sha256_bytes(stored)
    if digest != image.sha256:
        return f"its sha256 is {digest[:12]}…, its record has {image.sha256[:12]}…"
    if png is None:  # of a record that has an image beside an outcome without one
        return f"{component.provider} gives no image ({again.outcome})"
    if png == stored:
        return ""
    if isinstance(component, CheckpointComponent):
        one = _pixels(stored)
        other = _pixels(png)
        if one.shape == other.shape and int(np.abs(one - other).max()) <= _GREY_LEVELS:
            raise LedgerError(
                f"drawn again, it differs by at most {_GREY_LEVELS} of 255, as on another processor"
            )
    drawn = sha256_bytes(png)
    return (
        f"sha256 {digest[:12]}… is stored, {component.provider} now draws {drawn[:12]}…"
    )


def _pixels(image: bytes) -> NDArray[np.int16]:
    with open_picture(BytesIO(image)) as opened:
        return np.asarray(opened.convert("RGB"), dtype=np.int16)
