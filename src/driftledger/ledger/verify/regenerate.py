"""Some calls, made once more: do the components still give what the records hold?

The call store is not looked at, since it would answer with what was stored. No service is ever called: it costs money,
and does not answer twice the same.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from random import Random

from driftledger.benchmarks.registry import runner
from driftledger.benchmarks.runner import Caller, RecordedCall
from driftledger.components.base import Component
from driftledger.components.card import ComponentCard
from driftledger.core.errors import DriftledgerError, LedgerError
from driftledger.core.escaping import for_line
from driftledger.ledger.findings import Finding, Skipped, VerifyResult
from driftledger.ledger.lineage import Evidence, Lineage
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.verify.components import Components, Unavailable, other_code
from driftledger.ledger.verify.folders import Recorded, recorded
from driftledger.ledger.verify.making import make_again
from driftledger.project.project import Project


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
    distinct, result = _distinct(evidence.lineages), VerifyResult()
    outputs = (locked for lineage in distinct for locked in (lineage.data, *lineage.collected.values()))
    with recorded(contents, outputs) as folders:
        pools: dict[str, list[RecordedCall]] = defaultdict(list)
        for lineage in distinct:
            for call in _calls(lineage, folders, components, result):
                pools[call.kind].append(call)
        for found in _made_again(_picked(pools, count, seed)):
            result += found
    return result


def _distinct(lineages: Iterable[Lineage]) -> list[Lineage]:
    """One score of each set of records: several encoders look at the same ones."""
    return list({tuple(locked.md5 for locked in each.collected.values()): each for each in lineages}.values())


def _calls(lineage: Lineage, folders: Recorded, components: Components, result: VerifyResult) -> list[RecordedCall]:
    """The calls behind a score that can be made again; what cannot be is noted in ``result``."""
    outputs = {lineage.spec.data.name: lineage.data, **lineage.collected}
    try:
        callers = runner(lineage.spec.name).callers(lineage, lambda stage: folders(outputs[stage]))
        return [call for caller in callers for call in _callable(caller, lineage, components, result)]
    except LedgerError as error:
        result.skipped.append(Skipped(lineage.score_file.path, for_line(str(error))))
    except (DriftledgerError, ValueError, LookupError, OSError) as error:
        said = f"what was called cannot be told from the records: {type(error).__name__}: {error}"
        result.findings.append(Finding("bytes", lineage.score_file.path, for_line(said)[:300]))
    return []


def _callable(caller: Caller, lineage: Lineage, components: Components, result: VerifyResult) -> Iterator[RecordedCall]:
    """The calls to a component that can be made again; if there are none, the result says why."""
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
    """A component that may be called and gives the same again, or why there is none."""
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


def _made_again(calls: Iterable[RecordedCall]) -> Iterator[VerifyResult]:
    """Component by component, so that no two of them need the memory at once."""
    by_component = sorted(calls, key=lambda call: call.component.fingerprint)
    for _, some in groupby(by_component, key=lambda call: call.component.fingerprint):
        for call in some:
            yield make_again(call)
        call.component.release()
