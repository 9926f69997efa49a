"""The checks: each looks at one promise of :mod:`driftledger.components.base`, and says what it sees instead.

A check that cannot tell anything, because an earlier one failed or the component says so itself, does not apply. So
each mistake is found by one check and not by all that come after it.
"""

import gc
import tracemalloc
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from traceback import extract_tb
from typing import Any

from driftledger.components.base import Component, Encoder, Model
from driftledger.components.contract.findings import (
    RESULTS,
    Checked,
    Finding,
    MadeTwice,
    NotApplicableError,
    Report,
)
from driftledger.components.contract.memory import held_by, tensors
from driftledger.components.contract.process import elsewhere
from driftledger.components.contract.tasks import Task, tasks
from driftledger.components.remote.component import RemoteComponent
from driftledger.core.errors import ConfigError, DriftledgerError

PAID_ITEMS = 2
"""How many ordinary calls of a service are made, twice each."""

_ROOM = 1 << 20
"""Bytes that a component may keep when it is released."""
_GROWTH = 16 << 10
"""Bytes by which memory may grow with a call that was made before."""
_ROUNDS = 3


@dataclass
class Subject:
    """A component under check, and what was seen of it so far."""

    component: Component
    folder: Path
    notes: list[str] = field(default_factory=list)
    """What the check at work says where it holds."""
    results: dict[str, Sequence[Any]] = field(default_factory=dict)
    """Task → the first results."""
    twice: MadeTwice = field(default_factory=lambda: MadeTwice(0, 0))

    @property
    def paid(self) -> bool:
        return costs_money(self.component)

    @cached_property
    def tasks(self) -> list[Task]:
        folder = self.folder / "first"
        folder.mkdir()
        return tasks(self.component, folder, self.most)

    @property
    def most(self) -> int | None:
        return PAID_ITEMS if self.paid else None

    @cached_property
    def alone(self) -> dict[str, list[Any]]:
        """Task → the results of calls that are made one by one.

        Raises:
            NotApplicableError: the component says that they are others.
        """
        if self.component.unrepeatable:
            raise NotApplicableError(self.component.unrepeatable)
        return {task.name: [task.make(self.component, [item])[0] for item in task.items] for task in self.tasks}

    def fresh(self) -> Component:
        """The same component, made anew from its settings."""
        return type(self.component).model_validate(self.component.model_dump())

    def begin_afresh(self) -> None:
        """Go on with a fresh one; of what was loaded there are never two."""
        self.component.release()
        self.component = self.fresh()


def costs_money(component: Component) -> bool:
    """Whether each call of a component is a call of a service."""
    return isinstance(component, RemoteComponent)


def calls_of_service(component: Component) -> int:
    """How many calls :func:`check_component` makes, each of which may cost money; 0 for what runs on this machine."""
    if not costs_money(component):
        return 0
    with TemporaryDirectory() as folder:
        asked = tasks(component, Path(folder), PAID_ITEMS)
        return sum(2 * len(task.items) + sum(map(len, task.odd().values())) for task in asked)


def members(subject: Subject) -> Iterator[Finding]:
    """Does its class say what every class of its kind must?"""
    cls = type(subject.component)
    needed = ["provider", "version"]
    if isinstance(subject.component, Encoder):
        needed += ["frechet_name"] if subject.component.sees else []
        if not subject.component.sees and not subject.component.reads:
            yield Finding(cls.__name__, "encode_images or encode_texts", "neither")
    for name in needed:
        value = getattr(cls, name, None)
        if not isinstance(value, str) or not value:
            yield Finding(f"{cls.__name__}.{name}", "a text", "nothing" if value is None else repr(value)[:80])


def settings(subject: Subject) -> Iterator[Finding]:
    """Is it the same component again when its settings are written as JSON and read?"""
    component = subject.component
    again = type(component).model_validate_json(component.model_dump_json())
    for name in type(component).model_fields:
        if getattr(again, name) != getattr(component, name):
            yield Finding(name, repr(getattr(component, name))[:80], repr(getattr(again, name))[:80])
    if again.fingerprint != component.fingerprint:
        yield Finding("fingerprint", component.fingerprint[:12], again.fingerprint[:12])


def results(subject: Subject) -> Iterator[Finding]:
    """Are its results what its kind gives, one for each call?"""
    component, about = subject.component, []
    if isinstance(component, Model):
        _check_subjects(component, subject.tasks)
    for task in subject.tasks:
        made = task.make(component, task.items)
        found = list(task.problems(made, len(task.items)))
        yield from found
        if not found:
            subject.results[task.name] = made
            if trouble := task.trouble(made):
                raise NotApplicableError(trouble)
            about.append(f"{len(task.items)} {task.name}")
    widths = {len(made[0]) for name, made in subject.results.items() if name.endswith("vectors")}
    if len(widths) > 1:
        yield Finding("vectors", "as many numbers for images as for texts", " and ".join(map(str, sorted(widths))))
    subject.notes.append(", ".join(about))


def _check_subjects(model: Model, asked: Sequence[Task]) -> None:
    try:
        model.check_subjects([each.subject.sample for each in asked[0].items])
    except ConfigError as error:
        raise NotApplicableError(str(error)) from None


def determinism(subject: Subject) -> Iterator[Finding]:
    """Does it give the same again, with the files elsewhere, and freshly made?"""
    folder = subject.folder / "second"
    folder.mkdir()
    again = tasks(subject.component, folder, subject.most)
    differ: dict[str, set[int]] = {task.name: set() for task in again}
    found, furthest = [], []
    for what in ("the same call once more", "the same call of a fresh component"):
        if what.endswith("fresh component"):
            if subject.paid:
                break
            subject.begin_afresh()
        for task in again:
            made = task.make(subject.component, task.items)
            yield from task.problems(made, len(task.items))
            distances = [task.apart(*pair) for pair in zip(subject.results[task.name], made, strict=True)]
            furthest.append((task, max(distances)))
            differ[task.name] |= {at for at, distance in enumerate(distances) if distance}
            wrong = [distance for distance in distances if distance > task.tolerance]
            if wrong:
                seen = f"{len(wrong)} of {len(made)} {task.in_words(max(wrong))}"
                found.append(Finding(f"{task.name}, {what}", "the same", seen))
    twice = MadeTwice(sum(len(task.items) for task in again), sum(map(len, differ.values())))
    if not isinstance(subject.component, Encoder):
        subject.twice = twice
    if why := subject.component.unrepeatable:
        raise NotApplicableError(f"{why}; {twice.other} of {twice.calls} made twice gave other bytes")
    yield from found
    subject.notes.append(_furthest(furthest))


def order(subject: Subject) -> Iterator[Finding]:
    """Is the first result that of the first call?"""
    told = []
    for task in subject.tasks:
        together, alone = subject.results[task.name], subject.alone[task.name]
        if all(task.close(alone[0], each) for each in alone):
            continue
        told.append(task.name)
        for at, result in enumerate(together):
            fits = [number for number, each in enumerate(alone) if task.close(result, each)]
            if fits and at not in fits:
                yield Finding(f"{task.name}, result {at + 1}", f"that of call {at + 1}", f"that of call {fits[0] + 1}")
    if not told:
        raise NotApplicableError("all results are the same, in whatever order")


def company(subject: Subject) -> Iterator[Finding]:
    """Does a call give alone what it gives in company?"""
    furthest = []
    for task in subject.tasks:
        pairs = zip(subject.results[task.name], subject.alone[task.name], strict=True)
        distances = [task.apart(*pair) for pair in pairs]
        furthest.append((task, max(distances)))
        for at, distance in enumerate(distances, start=1):
            if distance > task.tolerance:
                yield Finding(f"{task.name}, call {at} made alone", "as in company", task.in_words(distance))
    subject.notes.append(_furthest(furthest))


def release(subject: Subject) -> Iterator[Finding]:
    """Does it work again after release()?"""
    _not_paid(subject)
    component = subject.component
    try:
        for _ in range(2):  # also where there is nothing left to let go of
            component.release()
        for task in subject.tasks:
            made = task.make(component, task.items)
            found = list(task.problems(made, len(task.items)))
            yield from found
            if not found and not component.unrepeatable:
                distance = max(task.apart(*pair) for pair in zip(subject.results[task.name], made, strict=True))
                if distance > task.tolerance:
                    yield Finding(f"{task.name} after release()", "as before", task.in_words(distance))
    finally:
        subject.begin_afresh()


def memory(subject: Subject) -> Iterator[Finding]:
    """Does it let go of what it loaded?"""
    _not_paid(subject)
    subject.component.release()
    component = subject.fresh()
    before, alive = held_by(component), tensors()
    for _ in range(_ROUNDS - 1):
        _make_one_each(subject, component)
    loaded, grown = held_by(component), []
    tracemalloc.start()
    try:
        for _ in range(_ROUNDS + 1):
            _make_one_each(subject, component)
            gc.collect()
            grown.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    steps = [later - earlier for earlier, later in pairwise(grown)]
    if min(steps) > _GROWTH:
        yield Finding("each call that was made before", "no more memory", f"{_size(min(steps))} more")
    component.release()
    left, left_alive = held_by(component) - before, tensors() - alive
    if left > _ROOM and not min(steps) > _GROWTH:
        yield Finding("after release()", f"up to {_size(_ROOM)} held", f"{_size(left)}")
    elif left_alive > _ROOM:
        yield Finding("after release()", "no tensors left", f"{_size(left_alive)} of tensors")
    gone = weakref.ref(component)
    del component
    gc.collect()
    if gone() is not None:
        yield Finding("a component that nobody uses", "gone", "something keeps it")
    subject.notes.append(f"{_size(max(loaded - before, 0))} held when loaded")


def odd_input(subject: Subject) -> Iterator[Finding]:
    """Does it answer what few think of, or refuse it in a sentence?"""
    refused = []
    for task in subject.tasks:
        for name, items in task.odd().items():
            try:
                made = task.make(subject.component, items)
            except (DriftledgerError, ValueError) as error:
                if len(str(error).strip().splitlines()) != 1:
                    yield Finding(f"{task.name}, {name}", "one sentence", f"{_raised(error)}")
                refused.append(name)
            except Exception as error:
                yield Finding(f"{task.name}, {name}", "a result, or a ValueError of one sentence", _raised(error))
            else:
                for finding in task.problems(made, len(items), odd=True):
                    yield finding._replace(what=f"{finding.what}, {name}")
    subject.notes.append(f"refused: {', '.join(dict.fromkeys(refused))}" if refused else "all answered")


def another_process(subject: Subject) -> Iterator[Finding]:
    """Are its fingerprint and its results the same in another process?"""
    _not_paid(subject)
    subject.component.release()
    there = elsewhere(subject.component)
    if there.fingerprint != subject.component.fingerprint:
        yield Finding("fingerprint", subject.component.fingerprint[:12], there.fingerprint[:12])
    if subject.component.unrepeatable:
        subject.notes.append("the same fingerprint")
        return
    furthest = []
    for task in subject.tasks:
        pairs = zip(subject.results[task.name], map(task.from_plain, there.results[task.name]), strict=True)
        furthest.append((task, max(task.apart(*pair) for pair in pairs)))
        if furthest[-1][1] > task.tolerance:
            yield Finding(task.name, "the same", task.in_words(furthest[-1][1]))
    subject.notes.append(_furthest(furthest))


Check = Callable[[Subject], Iterator[Finding]]

CHECKS: Mapping[str, tuple[Check, tuple[str, ...]]] = {
    "members": (members, ()),
    "settings": (settings, ("members",)),
    RESULTS: (results, ("members",)),
    "determinism": (determinism, (RESULTS,)),
    "order": (order, (RESULTS, "determinism")),
    "company": (company, (RESULTS, "determinism", "order")),
    "release": (release, (RESULTS, "determinism")),
    "memory": (memory, (RESULTS, "release")),
    "odd input": (odd_input, (RESULTS,)),
    "another process": (another_process, ("settings", RESULTS, "determinism")),
}
"""Name → the check, and those without which it tells nothing."""


def check_component(component: Component) -> Report:
    """Hold a component to the contract of its kind.

    It is asked a few dozen small calls, here and in a process of its own, and is released at the end. One behind a
    service is asked :func:`calls_of_service` calls.

    Raises:
        DriftledgerError: it cannot be asked at all: an extra, a file or a key is missing.
    """
    made: list[Checked] = []
    with TemporaryDirectory() as folder:
        subject = Subject(component, Path(folder))
        for name, (check, needs) in CHECKS.items():
            before = [each for each in made if each.name in needs]
            made.append(_made(name, check, subject, [each.name for each in before if _tells_nothing(each)]))
        subject.component.release()
    return Report(made, subject.twice)


def _tells_nothing(checked: Checked) -> bool:
    """Whether those that build upon this check have nothing to look at."""
    return checked.verdict == "differs" or (checked.name == RESULTS and checked.verdict != "holds")


def _made(name: str, check: Check, subject: Subject, failed: Sequence[str]) -> Checked:
    asks = (check.__doc__ or "").strip()
    if failed:
        return Checked(name, asks, "not applicable", f"{failed[0]} come first")
    subject.notes.clear()
    try:
        found = tuple(check(subject))
    except NotApplicableError as error:
        return Checked(name, asks, "not applicable", str(error))
    except DriftledgerError:
        raise
    except Exception as error:
        found = (Finding("an ordinary call", "a result", _raised(error)),)
    return Checked(name, asks, "differs" if found else "holds", "" if found else "; ".join(subject.notes), found)


def _not_paid(subject: Subject) -> None:
    """
    Raises:
        NotApplicableError: calls cost money, and what they load is in somebody else's memory.
    """
    if subject.paid:
        raise NotApplicableError("it is a service, whose calls cost money")


def _make_one_each(subject: Subject, component: Component) -> None:
    for task in subject.tasks:
        task.make(component, task.items[:1])


def _furthest(distances: Sequence[tuple[Task, float]]) -> str:
    return "; ".join(dict.fromkeys(f"{task.name} {task.in_words(distance)}" for task, distance in distances))


def _raised(error: Exception) -> str:
    """The exception, and the line that raised it."""
    said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    last = extract_tb(error.__traceback__)[-1:]
    return said + "".join(f" ({Path(frame.filename).name}, line {frame.lineno})" for frame in last)


def _size(count: int) -> str:
    return f"{count / 2**20:.1f} MiB" if count >= 2**20 else f"{count / 2**10:.1f} KiB"
