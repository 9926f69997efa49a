"""Some calls, made once more: do the components still give what the records hold?

The verifier's dice choose the calls, and nothing in the checkout does: a forger who foresees the sample forges other
calls. The call store is not looked at, since it would answer with what was stored. No service is ever called: it costs
money, and does not answer twice the same.
"""

import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from io import BytesIO
from itertools import groupby, takewhile
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
from PIL import Image

from driftledger.benchmarks.records import RECORDS, RecordedResult
from driftledger.collect.batches import ask_batch, finished
from driftledger.collect.call import Ask, Call
from driftledger.components.base import Component
from driftledger.components.checkpoints import CheckpointComponent
from driftledger.components.service import RemoteComponent
from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import DriftledgerError, LedgerError
from driftledger.core.text import shortened
from driftledger.core.types import Outcome
from driftledger.ledger.findings import Finding, VerifyResult
from driftledger.ledger.lineage import Evidence, Lineage
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.verify.components import Components
from driftledger.ledger.verify.recompute import UNFIT, follow, reading
from driftledger.project.project import Project

GREY_LEVELS = 2
"""How far a pixel may be off, of 255, where weights drew it: a processor with other last bits rounds some otherwise."""
_BEFORE, _AFTER = 20, 40
"""How much of a text is shown around the place where it differs."""


class CallKind(NamedTuple):
    """How many calls of a kind were drawn by lot and compared."""

    name: str
    """The benchmark, and what the calls were for."""
    calls: int
    """That could have been drawn."""
    compared: int


class Again(NamedTuple):
    """A recorded call with its component, which is here."""

    where: str
    """The file, and the record in it."""
    call: Call
    gave: RecordedResult
    folder: Path
    """Of the record."""


class Regenerated(NamedTuple):
    """The calls that were made again."""

    seed: int
    """That draws the same calls once more."""
    kinds: list[CallKind]
    result: VerifyResult

    def to_dict(self) -> dict[str, object]:
        """JSON-ready, without the result."""
        return {"seed": self.seed, "kinds": [kind._asdict() for kind in self.kinds]}


def regenerate(
    project: Project,
    runs: Sequence[Evidence],
    contents: Contents,
    count: int,
    seed: int | None = None,
    components: Components | None = None,
) -> Regenerated:
    """Make some of the calls behind runs again and compare texts, and images byte by byte.

    They are drawn by lot among those with a component that is here in the recorded version and gives equal bytes for
    equal calls, equally many of each kind as far as there are; the calls of other components are ``skipped``.

    Args:
        count: how many of each run; all, where there are fewer.
        seed: draws the calls of an earlier verification again; by default, one that cannot be foreseen.
    """
    seed = secrets.randbits(63) if seed is None else seed
    components = components or Components(project)
    result, compared = VerifyResult(), Counter[str]()
    # One score of each set of records: several encoders look at the same ones.
    lineages = {(each.data, *each.collected.values()): each for run in runs for each in run.lineages}
    pools: dict[str, list[Again]] = {}
    for lineage in lineages.values():
        with reading(lineage, f"calls of {lineage.spec.collects.name}", result):
            for call in _calls(lineage, contents, components, result):
                kind = call.call.role if isinstance(call.call, Ask) else "draw"
                pools.setdefault(f"{lineage.spec.name}: {kind}", []).append(call)
    # Component by component, so that no two of them need the memory at once.
    drawn = sorted(draw_lots(pools, count * len(runs), seed), key=lambda pair: pair[1].call.component.fingerprint)
    for _, some in groupby(drawn, key=lambda pair: pair[1].call.component.fingerprint):
        for kind, call in some:
            try:
                what = _difference(call)
            except (DriftledgerError, Image.DecompressionBombError) as error:
                result.skip(call.where, str(error))
                continue
            except UNFIT as error:
                what = shortened(f"it cannot be made again from the records: {type(error).__name__}: {error}")
            compared[kind] += 1
            result.findings += [Finding("bytes", call.where, what)] if what else []
        call.call.component.release()
    result.checked["calls"] = compared.total()
    kinds = [CallKind(kind, len(calls), compared[kind]) for kind, calls in sorted(pools.items())]
    return Regenerated(seed, kinds, result)


def _calls(lineage: Lineage, contents: Contents, components: Components, result: VerifyResult) -> list[Again]:
    """The calls behind records that can be made again; components that cannot are noted in ``result``."""
    replay, _, played = follow(lineage, contents, components)
    path, here = lineage.collected[lineage.spec.collects.name].path, list[Component]()
    for role, component in played.items():
        if isinstance(component, str):
            served = lineage.score.served.get(role, {})
            result.skip(path, component + (f"; it called itself {', '.join(served)}" if served else ""))
        elif component.unrepeatable is not None:
            result.skip(path, f"{component.kind} {lineage.score.components[role].name}: {component.unrepeatable}")
        else:
            here.append(component)
    return [
        Again(f"{path}/{each.gave.image or f'{RECORDS}: {each.place}'}", each.call, each.gave, replay.folder)
        for each in replay.calls.values()
        if each.call.component in here and each.gave.outcome is not Outcome.FAILED
    ]


def draw_lots(pools: Mapping[str, Sequence[Again]], count: int, seed: int) -> list[tuple[str, Again]]:
    """``count`` calls, each with its kind: kinds take turns, and within a kind each call is equally likely."""
    random = Random(seed)
    shuffled = [(kind, random.sample(calls, len(calls))) for kind, calls in sorted(pools.items())]
    lots = [(place, kind, call) for kind, calls in shuffled for place, call in enumerate(calls)]
    return [(kind, call) for _, kind, call in sorted(lots, key=lambda lot: lot[0])[:count]]


def _difference(recorded: Again) -> str:
    """Make a call of a component on this machine, and compare: a text as it is, an image by its file's bytes.

    Returns:
        What differs; nothing where the same came of it.

    Raises:
        LedgerError: they cannot be compared.
    """
    component = recorded.call.component
    if isinstance(component, RemoteComponent):
        raise TypeError(f"{component.provider} is a service, which verifying never calls")
    again = finished(recorded.call, *ask_batch([recorded.call]))
    if again.result.outcome is Outcome.FAILED:
        raise LedgerError(f"it failed when it was made again: {again.result.error or 'no reason given'}")
    image = recorded.gave.image_file(recorded.folder)
    if image is None:
        before, now = recorded.gave.text or "", again.result.text or ""
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, now, strict=False)))
        around = slice(max(0, same - _BEFORE), same + _AFTER)
        differs = f"{before[around]!r} is stored, {component.provider} now says {now[around]!r}"
        return "" if before == now else differs
    stored, png = image.path.read_bytes(), again.png
    digest = sha256_bytes(stored)
    if digest != image.sha256:
        return f"its sha256 is {digest[:12]}…, its record has {image.sha256[:12]}…"
    if png is None:
        return f"{component.provider} now gives no image ({again.result.outcome})"
    if png == stored:
        return ""
    if isinstance(component, CheckpointComponent) and _look_alike(stored, png):
        raise LedgerError(f"drawn again it differs by at most {GREY_LEVELS} of 255, as by another processor")
    return f"sha256 {digest[:12]}… is stored, {component.provider} now draws {sha256_bytes(png)[:12]}…"


def _look_alike(one: bytes, other: bytes) -> bool:
    """Whether two images are equal but for roundings."""
    first, second = (np.asarray(Image.open(BytesIO(png)).convert("RGB"), dtype=np.int16) for png in (one, other))
    return first.shape == second.shape and int(np.abs(first - second).max()) <= GREY_LEVELS
