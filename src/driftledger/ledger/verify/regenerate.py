"""Some calls, made once more: do the components still give what the records hold?

Which calls is for the verifier's dice to say, and not for anything in the checkout: a forger who foresees the sample
forges beside it. The call store is not looked at, since it would answer with what was stored. No service is ever
called: it costs money, and does not answer twice the same.
"""

import math
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from io import BytesIO
from itertools import groupby, takewhile
from operator import itemgetter
from random import Random
from typing import NamedTuple

import numpy as np
from PIL import Image

from driftledger.benchmarks.base import kind_of
from driftledger.benchmarks.registry import runner
from driftledger.benchmarks.runner import Caller, RecordedCall
from driftledger.collect.batches import make_batch
from driftledger.collect.call import Call, Result
from driftledger.components.base import Component
from driftledger.components.card import ComponentCard
from driftledger.components.checkpoints.component import CheckpointComponent
from driftledger.components.remote.component import RemoteComponent
from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import DriftledgerError, LedgerError
from driftledger.core.escaping import for_line
from driftledger.core.limits import strangers_pixels
from driftledger.core.shortening import shortened
from driftledger.core.types import Outcome
from driftledger.ledger.findings import Finding, Skipped, VerifyResult
from driftledger.ledger.lineage import Evidence, Lineage
from driftledger.ledger.objects.contents import Contents, Recorded, recorded
from driftledger.ledger.verify.components import Components, Unavailable, other_code
from driftledger.ledger.verify.unfit import UNFIT
from driftledger.project.project import Project

GREY_LEVELS = 2
"""How far a pixel may be off, of 255, where weights drew it: a processor with other last bits rounds some otherwise."""

_BEFORE, _AFTER = 20, 40
"""How much of a text is shown around the place where it differs."""

FORGED = Fraction(1, 10)
"""The share of a kind's calls for which it is told how likely their forgery is found."""


class CallKind(NamedTuple):
    """How many of a kind's calls were drawn by lot and compared."""

    name: str
    """The benchmark, and what the calls were for."""
    calls: int
    """That could have been drawn."""
    compared: int

    @property
    def found_with(self) -> Fraction:
        """The probability that a forgery of the share :data:`FORGED` of them is found, wherever in the kind it is; a
        larger one is found with a greater one. Drawn without replacement, each as likely as another (hypergeometric).
        """
        forged = math.ceil(FORGED * self.calls)
        return 1 - Fraction(math.comb(self.calls - forged, self.compared), math.comb(self.calls, self.compared))


@dataclass
class Pool:
    """The calls of one kind that can be made again."""

    calls: list[RecordedCall] = field(default_factory=list)
    weight: float = 0.0
    """Of the headline numbers, how many stand on the kind; a drawing that begins the rest of a chain counts for all of
    it."""

    def add(self, calls: Sequence[RecordedCall], scores: int) -> None:
        """More of them, on which as many scores stand."""
        self.weight += scores * sum(call.moves for call in calls) / len(calls)
        self.calls += calls


class Regenerated(NamedTuple):
    """What came of the calls that were made again, and what that proves."""

    seed: int
    """That draws the same calls once more."""
    kinds: list[CallKind]
    never: list[str]
    """Components whose calls cannot be made again, and why."""
    result: VerifyResult

    def to_dict(self) -> dict[str, object]:
        """JSON-ready, without the result."""
        kinds = [{**kind._asdict(), "found_with": float(kind.found_with)} for kind in self.kinds]
        return {"seed": self.seed, "forged": float(FORGED), "never": self.never, "kinds": kinds}


def own_seed() -> int:
    """63 bits that nobody foresees."""
    return secrets.randbits(63)


def regenerate(
    project: Project,
    runs: Sequence[Evidence],
    contents: Contents,
    count: int,
    seed: int,
    components: Components | None = None,
    differing: Callable[[RecordedCall], object] = lambda call: None,
) -> Regenerated:
    """Make some of the calls behind runs again and compare texts, and images byte by byte.

    They are drawn by lot, as many of each kind as weighs what stands on it, among those whose component is at hand in
    the recorded version and gives equal bytes for equal calls; what else was called is ``skipped``.

    Args:
        count: how many of each run; all, where there are fewer.
        seed: of the lot: :func:`own_seed`, or one that draws the calls of an earlier verification again.
        differing: told of each call that gives something else than is stored, while its component is loaded.
    """
    components = components or Components.of(project)
    result, compared = VerifyResult(), Counter[str]()
    with pools_behind(runs, contents, components, result) as pools:
        # Component by component, so that no two of them need the memory at once.
        drawn = sorted(draw_lots(pools, count * len(runs), seed), key=lambda pair: pair[1].component.fingerprint)
        for _, some in groupby(drawn, key=lambda pair: pair[1].component.fingerprint):
            for kind, call in some:
                again = make_again(call)
                compared[kind] += again.checked["calls"]
                result += again
                if not again.holds or again.skipped:
                    differing(call)
            call.component.release()
    kinds = [CallKind(kind, len(pool.calls), compared[kind]) for kind, pool in sorted(pools.items())]
    return Regenerated(seed, kinds, list(dict.fromkeys(_never(runs, components))), result)


@contextmanager
def pools_behind(
    runs: Sequence[Evidence], contents: Contents, components: Components, result: VerifyResult
) -> Iterator[dict[str, Pool]]:
    """Kind → the calls behind runs that can be made again, for as long as the context lasts; ``result`` is told of the
    others."""
    # One score of each set of records: several encoders look at the same ones.
    scores: Counter[tuple[str, ...]] = Counter()
    distinct: dict[tuple[str, ...], Lineage] = {}
    for lineage in (lineage for run in runs for lineage in run.lineages):
        key = lineage.spec.name, *(each.md5 for each in lineage.collected.values())
        scores[key] += 1
        distinct[key] = lineage
    outputs = (locked for lineage in distinct.values() for locked in (lineage.data, *lineage.collected.values()))
    pools: dict[str, Pool] = {}
    with recorded(contents, outputs) as folders, strangers_pixels():
        for key, lineage in distinct.items():
            of_kind: dict[str, list[RecordedCall]] = {}
            for call in _calls(lineage, folders, components, result):
                of_kind.setdefault(f"{lineage.spec.name}: {call.kind}", []).append(call)
            for kind, calls in of_kind.items():
                pools.setdefault(kind, Pool()).add(calls, scores[key])
        yield pools


def draw_lots(pools: Mapping[str, Pool], count: int, seed: int) -> list[tuple[str, RecordedCall]]:
    """``count`` calls, each with its kind: of each kind its weight's share of them to within a call, while there are
    any, and within a kind each call as likely as another."""
    random, lots = Random(seed), list[tuple[float, str, RecordedCall]]()
    for kind, pool in sorted(pools.items()):
        first = random.random()
        shuffled = random.sample(pool.calls, len(pool.calls))
        lots += [((first + place) / pool.weight, kind, call) for place, call in enumerate(shuffled)]
    return [(kind, call) for _, kind, call in sorted(lots, key=itemgetter(0))[:count]]


def _never(runs: Sequence[Evidence], components: Components) -> Iterator[str]:
    """Why none of a component's calls can be made again."""
    for role, card in (item for run in runs for each in run.lineages for item in each.score.components.items()):
        if kind_of(role) != "encoder" and isinstance(found := _again(card, role, components), Unavailable):
            yield found.why


def _calls(lineage: Lineage, folders: Recorded, components: Components, result: VerifyResult) -> list[RecordedCall]:
    """The calls behind a score that can be made again; what cannot be is noted in ``result``."""
    outputs = {lineage.spec.data.name: lineage.data, **lineage.collected}
    try:
        callers = runner(lineage.spec.name).callers(lineage, lambda stage: folders(outputs[stage]))
        return [call for caller in callers for call in _callable(caller, lineage, components, result)]
    except (LedgerError, Image.DecompressionBombError) as error:
        result.skipped.append(Skipped(lineage.score_file.path, for_line(str(error))))
    except UNFIT as error:
        said = f"what was called cannot be told from the records: {type(error).__name__}: {error}"
        result.findings.append(Finding("bytes", lineage.score_file.path, shortened(said)))
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
    if components.repeatable_only and component.unrepeatable is not None:
        return Unavailable(f"{component.kind} {for_line(card.name)}: {component.unrepeatable}")
    return component


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
    except UNFIT as error:
        said = f"it cannot be made again from the records: {type(error).__name__}: {error}"
        return _found(where, shortened(said))


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
