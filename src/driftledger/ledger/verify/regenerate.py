"""Some calls, made once more: do the components still give what the records hold?

The call store is not looked at, since it would answer with what was stored. No service is ever called: it costs money,
and does not answer twice the same.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from random import Random
from typing import Any

from driftledger.components.base import Component
from driftledger.components.card import ComponentCard
from driftledger.core.errors import DriftledgerError, LedgerError
from driftledger.core.escaping import for_line
from driftledger.ledger.findings import Finding, Report, Unchecked
from driftledger.ledger.lineage import AnyScore, Behind, Evidence
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.verify.calls import RecordedCall, Role, roles_of
from driftledger.ledger.verify.components import Components, NotAtHand, Section
from driftledger.ledger.verify.making import make_again
from driftledger.ledger.verify.recorded_folders import recorded
from driftledger.ledger.verify.scoring import Where
from driftledger.project.project import Project


def regenerate(
    project: Project,
    evidence: Evidence,
    contents: Contents,
    count: int,
    seed: int,
    components: Components | None = None,
) -> Report:
    """Make some of a run's calls again and compare texts, and images byte by byte.

    They are drawn at random, evenly from what was described, drawn, answered and graded, among those whose component is
    at hand in the recorded version and gives equal bytes for equal calls; what else was called is ``unchecked``.

    Args:
        count: how many; all, where there are fewer.
        seed: of the choice.
    """
    components = components or Components.of(project)
    distinct, report = _distinct(evidence.behind), Report()
    outputs = (locked for behind in distinct for locked in (behind.data, *behind.collected.values()))
    with recorded(contents, outputs) as where:
        pools: dict[str, list[RecordedCall]] = defaultdict(list)
        for behind in distinct:
            for call in _calls(behind, where, components, report):
                pools[call.kind].append(call)
        for found in _made_again(_picked(pools, count, seed)):
            report += found
    return report


def _distinct(behind: Iterable[Behind[AnyScore]]) -> list[Behind[AnyScore]]:
    """One score of each set of records: several encoders look at the same ones."""
    return list({tuple(locked.md5 for locked in each.collected.values()): each for each in behind}.values())


def _calls(behind: Behind[AnyScore], where: Where, components: Components, report: Report) -> list[RecordedCall]:
    """The calls behind a score that can be made again; what cannot be is noted in ``report``."""
    try:
        return [call for role in roles_of(behind, where) for call in _callable(role, behind, components, report)]
    except LedgerError as error:
        report.unchecked.append(Unchecked(behind.score_file.path, for_line(str(error))))
    except (DriftledgerError, ValueError, LookupError, OSError) as error:
        said = f"what was called cannot be told from the records: {type(error).__name__}: {error}"
        report.findings.append(Finding("bytes", behind.score_file.path, for_line(said)[:300]))
    return []


def _callable(role: Role, behind: Behind[AnyScore], components: Components, report: Report) -> Iterator[RecordedCall]:
    """The calls to a component that can be made again; if there are none, the report says why."""
    component = _again(role.card, role.section, components)
    if isinstance(component, NotAtHand):
        served = behind.score.served.get(role.name, {})
        said = f"; it said it was {', '.join(map(for_line, served))}" if served else ""
        report.unchecked.append(Unchecked(role.folder, component.why + said))
        return
    if role.needs is None:
        yield from role.calls(component)
        return
    other = _again(role.needs, "models", components)
    if isinstance(other, NotAtHand):
        why = f"the descriptions that were shown as examples are in no record: {other.why}"
        report.unchecked.append(Unchecked(role.folder, why))
        return
    yield from role.calls(component, other)


def _again(card: ComponentCard, section: Section, components: Components) -> Component | NotAtHand:
    """A component that may be called and gives the same again, or why there is none."""
    get: Mapping[str, Any] = {"models": components.model, "generators": components.generator}
    component: Component | NotAtHand = get[section](card)
    if isinstance(component, NotAtHand):
        return component
    if component.unrepeatable is not None:
        return NotAtHand(f"{component.kind} {for_line(card.name)}: {component.unrepeatable}")
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


def _made_again(calls: Iterable[RecordedCall]) -> Iterator[Report]:
    """Component by component, so that no two of them need the memory at once."""
    by_component = sorted(calls, key=lambda call: call.component.fingerprint)
    for _, some in groupby(by_component, key=lambda call: call.component.fingerprint):
        for call in some:
            yield make_again(call)
        call.component.release()
