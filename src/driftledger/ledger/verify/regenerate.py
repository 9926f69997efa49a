"""Some calls, made once more: do the components still give what the records hold?

The call store is not looked at, since it would answer with what was stored. No service is ever called: it costs money,
and does not answer twice the same.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from io import BytesIO
from itertools import groupby, takewhile
from random import Random

import numpy as np
from PIL import Image

from driftledger.benchmarks.registry import runner
from driftledger.benchmarks.runner import Caller, RecordedCall
from driftledger.collect.call_result import Result
from driftledger.collect.local import make_batch
from driftledger.collect.steps import Call
from driftledger.components.base import Component
from driftledger.components.card import ComponentCard
from driftledger.components.checkpoints.component import CheckpointComponent
from driftledger.components.remote.component import RemoteComponent
from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import DriftledgerError, LedgerError
from driftledger.core.escaping import for_line
from driftledger.core.limits import strangers_pixels
from driftledger.core.types import Outcome
from driftledger.ledger.findings import Finding, Skipped, VerifyResult
from driftledger.ledger.lineage import Evidence, Lineage
from driftledger.ledger.objects.contents import Contents, Recorded, recorded
from driftledger.ledger.verify.components import Components, Unavailable, other_code
from driftledger.project.project import Project

GREY_LEVELS = 2
"""How far a pixel may be off, of 255, where weights drew it: a processor with other last bits rounds some otherwise."""

_BEFORE, _AFTER = 20, 40
"""How much of a text is shown around the place where it differs."""


def regenerate(
    project: Project,
    evidence: Evidence,
    contents: Contents,
    count: int,
    seed: int,
    components: Components | None = None,
) -> VerifyResult:
    """Make some of a run's calls again and compare texts, and images byte by byte.

    They are drawn at random, evenly from all kinds of calls, among those whose component is at hand in the recorded
    version and gives equal bytes for equal calls; what else was called is ``skipped``.

    Args:
        count: how many; all, where there are fewer.
        seed: of the choice.
    """
    components = components or Components.of(project)
    # One score of each set of records: several encoders look at the same ones.
    distinct = {tuple(each.md5 for each in lineage.collected.values()): lineage for lineage in evidence.lineages}
    outputs = (locked for lineage in distinct.values() for locked in (lineage.data, *lineage.collected.values()))
    result = VerifyResult()
    with recorded(contents, outputs) as folders, strangers_pixels():
        pools: dict[str, list[RecordedCall]] = defaultdict(list)
        for lineage in distinct.values():
            for call in _calls(lineage, folders, components, result):
                pools[call.kind].append(call)
        # Component by component, so that no two of them need the memory at once.
        picked = sorted(_picked(pools, count, seed), key=lambda call: call.component.fingerprint)
        for _, some in groupby(picked, key=lambda call: call.component.fingerprint):
            for call in some:
                result += make_again(call)
            call.component.release()
    return result


def _calls(lineage: Lineage, folders: Recorded, components: Components, result: VerifyResult) -> list[RecordedCall]:
    """The calls behind a score that can be made again; what cannot be is noted in ``result``."""
    outputs = {lineage.spec.data.name: lineage.data, **lineage.collected}
    try:
        callers = runner(lineage.spec.name).callers(lineage, lambda stage: folders(outputs[stage]))
        return [call for caller in callers for call in _callable(caller, lineage, components, result)]
    except (LedgerError, Image.DecompressionBombError) as error:
        result.skipped.append(Skipped(lineage.score_file.path, for_line(str(error))))
    except (DriftledgerError, ValueError, LookupError, OSError) as error:
        said = f"what was called cannot be told from the records: {type(error).__name__}: {error}"
        result.findings.append(Finding("bytes", lineage.score_file.path, for_line(said)[:300]))
    return []


def _callable(caller: Caller, lineage: Lineage, components: Components, result: VerifyResult) -> Iterator[RecordedCall]:
    """The calls to a component that can be made again; the result says why nothing can be."""
    component = _again(caller.card, caller.role, components)
    if isinstance(component, Unavailable):
        served = lineage.score.served.get(caller.role, {})
        said = f"; it said it was {', '.join(map(for_line, served))}" if served else ""
        result.skipped.append(Skipped(caller.folder, component.why + said))
        return
    if why := other_code(component, caller.card):
        result.skipped.append(Skipped(caller.folder, why))
    if caller.needs is None:
        yield from caller.calls(component)
        return
    other = _again(caller.needs, "model", components)
    if isinstance(other, Unavailable):
        why = f"the descriptions that were shown as examples are in no record: {other.why}"
        result.skipped.append(Skipped(caller.folder, why))
        return
    yield from caller.calls(component, other)


def _again(card: ComponentCard, role: str, components: Components) -> Component | Unavailable:
    """A component that may be called and gives the same again, or why it cannot be had."""
    component = components.get(card, role)
    if isinstance(component, Unavailable):
        return component
    if component.unrepeatable is not None:
        return Unavailable(f"{component.kind} {for_line(card.name)}: {component.unrepeatable}")
    return component


def _picked(pools: Mapping[str, list[RecordedCall]], count: int, seed: int) -> list[RecordedCall]:
    """One of each kind in turn, until there are enough or none is left."""
    random = Random(seed)
    kinds = sorted(pools)
    random.shuffle(kinds)
    for kind in kinds:
        random.shuffle(pools[kind])
    picked: list[RecordedCall] = []
    while len(picked) < count and (left := [kind for kind in kinds if pools[kind]]):
        picked += [pools[kind].pop() for kind in left[: count - len(picked)]]
    return picked


def make_again(recorded: RecordedCall) -> VerifyResult:
    """Make a call of a component on this machine, and compare: a text as it is, an image by its file's bytes."""
    where = for_line(recorded.where)
    try:
        result, png = _make(recorded.call())
        if result.outcome is Outcome.FAILED:
            return _skipped(where, f"it failed when it was made again: {result.error or 'no reason given'}")
        return _compared(recorded, where, result, png)
    except (DriftledgerError, Image.DecompressionBombError) as error:
        return _skipped(where, str(error))
    except (ValueError, LookupError, OSError) as error:
        said = f"it cannot be made again from the records: {type(error).__name__}: {error}"
        return _found(where, for_line(said)[:300])


def _make(call: Call) -> tuple[Result, bytes | None]:
    if isinstance(call.component, RemoteComponent):
        raise TypeError(f"{call.component.provider} is a service, which verifying never calls")
    [made] = make_batch([call])
    return made.result, made.png


def _compared(recorded: RecordedCall, where: str, result: Result, png: bytes | None) -> VerifyResult:
    name, gave = recorded.component.provider, recorded.gave
    if isinstance(gave, str):
        if result.text == gave:
            return _held()
        stored_text, made_text = _around(gave, result.text or "")
        return _found(where, f"{stored_text!r} is stored, {name} now says {made_text!r}")
    stored = gave.path.read_bytes()
    digest = sha256_bytes(stored)
    if digest != gave.sha256:
        return _found(where, f"its sha256 is {digest[:12]}…, and its record says {gave.sha256[:12]}…")
    if png is None:
        return _found(where, f"{name} now gives no image ({result.outcome})")
    if png == stored:
        return _held()
    if isinstance(recorded.component, CheckpointComponent) and _look_alike(stored, png):
        return _skipped(where, f"drawn again it differs by no more than {GREY_LEVELS} of 255, as by another processor")
    return _found(where, f"sha256 {digest[:12]}… is stored, {name} now draws {sha256_bytes(png)[:12]}…")


def _around(stored: str, made: str) -> tuple[str, str]:
    """Both texts around the first character in which they differ."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(stored, made, strict=False)))
    first, last = max(0, same - _BEFORE), same + _AFTER
    return for_line(stored[first:last]), for_line(made[first:last])


def _look_alike(one: bytes, other: bytes) -> bool:
    """Whether two images are equal but for roundings."""
    first, second = (np.asarray(Image.open(BytesIO(png)).convert("RGB"), dtype=np.int16) for png in (one, other))
    return first.shape == second.shape and int(np.abs(first - second).max()) <= GREY_LEVELS


def _held() -> VerifyResult:
    return VerifyResult(checked=Counter(calls=1))


def _found(where: str, what: str) -> VerifyResult:
    return _held() + VerifyResult([Finding("bytes", where, what)])


def _skipped(where: str, why: str) -> VerifyResult:
    return VerifyResult(skipped=[Skipped(where, for_line(why))])
