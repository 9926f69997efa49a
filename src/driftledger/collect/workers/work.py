"""How a batch gets to a replica and its results come back: as plain values, since both ends have the same code.

What is sent is a component's settings and not the component: the replica makes its own, and refuses one whose
fingerprint is another there.
"""

import os
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from pydantic import ValidationError

from driftledger.collect.call_result import Context, Cost, Finished, Result
from driftledger.collect.local import ContractError, LocalCalls
from driftledger.collect.steps import Ask, Call, Draw
from driftledger.components.base import Component, Generator, Model
from driftledger.core import errors
from driftledger.core.changes import changes
from driftledger.core.errors import ConfigError, DriftledgerError
from driftledger.core.places import import_place, is_place, place_of
from driftledger.core.strict import explain
from driftledger.core.types import Conversation, ImageFile


class Recipe(NamedTuple):
    """What a replica makes its component by, and what must come of it."""

    place: str
    """Of the class: its module and its name, parted by a colon."""
    beside: str | None
    """The folder of a module that is not installed, by its place; None where it is."""
    settings: dict[str, Any]
    fingerprint: str
    spec: dict[str, Any]
    folder: str
    """Where relative paths in the settings start from, if there is such a folder."""

    @classmethod
    def of(cls, component: Component) -> "Recipe":
        kind = type(component)
        settings = component.model_dump(mode="json")
        beside = _beside(kind) if is_place(component.provider) else None
        return cls(place_of(kind), beside, settings, component.fingerprint, component.spec, str(Path.cwd()))

    @property
    def name(self) -> str:
        """For people: the provider and the beginning of the fingerprint."""
        return f"{self.spec['provider']} ({self.fingerprint[:12]})"

    def on(self, device: str | None) -> "Recipe":
        """The same on another device, which is no part of the fingerprint."""
        return self if device is None else self._replace(settings=self.settings | {"device": device})

    def make(self) -> Component:
        """The component, made here.

        Raises:
            ConfigError: it cannot be made, or is another here.
        """
        where = f"{self.name} on {socket.gethostname()}"
        try:
            beside = None if self.beside is None else Path(self.beside)
            made: Component = import_place(self.place, beside).model_validate(self.settings)
        except ConfigError as error:
            raise ConfigError(f"{where} cannot be made ({error}); install there what is installed here") from None
        except ValidationError as error:
            raise ConfigError(f"{explain(error, where)}; install there what is installed here") from None
        if made.fingerprint != self.fingerprint:
            apart = "; ".join(f"{each.key} is {each.new!r:.80}, not {each.old!r:.80}" for each in self._apart(made)[:3])
            raise ConfigError(
                f"{where} is another component, {made.fingerprint[:12]} ({apart or 'its spec'}); install there what is "
                "installed here, with the same weights"
            )
        return made

    def _apart(self, made: Component) -> list[Any]:
        return list(changes(self.spec, made.spec))


def _beside(kind: type) -> str | None:
    """The folder in which the top-level module or package of a class lies."""
    file = getattr(sys.modules[kind.__module__.partition(".")[0]], "__file__", None)
    if file is None:
        return None
    folder = Path(file).absolute().parent
    return str(folder.parent if Path(file).stem == "__init__" else folder)


class AskedFor(NamedTuple):
    """A conversation to answer, without whom it is asked of."""

    role: str
    conversation: Conversation
    context: Context
    repeat: int | None


class DrawnFor(NamedTuple):
    """A prompt to draw, without who draws it."""

    prompt: str
    seed: int
    context: Context


Item: TypeAlias = AskedFor | DrawnFor
Work: TypeAlias = tuple[Item, ...]
"""A batch; its images lie where the replica can open them, or are put there by :func:`with_images`."""


def packed(calls: Sequence[Call]) -> Work:
    """A batch as it is sent."""
    return tuple(
        AskedFor(call.role, call.conversation, call.context, call.repeat)
        if isinstance(call, Ask)
        else DrawnFor(call.prompt, call.seed, call.context)
        for call in calls
    )


def images_of(work: Work) -> dict[str, ImageFile]:
    """Every image that a batch shows, by its SHA-256."""
    shown = (
        part for item in work if isinstance(item, AskedFor) for turn in item.conversation.turns for part in turn.parts
    )
    return {part.sha256: part for part in shown if isinstance(part, ImageFile)}


def with_images(work: Work, images: Callable[[ImageFile], ImageFile]) -> Work:
    """The same batch with each image as ``images`` gives it."""

    def placed(item: Item) -> Item:
        if isinstance(item, DrawnFor):
            return item
        turns = (
            replace(turn, parts=tuple(images(part) if isinstance(part, ImageFile) else part for part in turn.parts))
            for turn in item.conversation.turns
        )
        return item._replace(conversation=replace(item.conversation, turns=tuple(turns)))

    return tuple(placed(item) for item in work)


class Given(NamedTuple):
    """What one call gave, without its key."""

    result: Result
    png: bytes | None
    cost: Cost


class Trouble(NamedTuple):
    """What a batch raised that no other call would be spared: the exception's class, and what it said."""

    kind: str
    said: str

    @classmethod
    def of(cls, error: Exception) -> "Trouble":
        kind = type(error).__name__
        if isinstance(error, DriftledgerError | MemoryError | ContractError):
            return cls(kind, str(error))
        return cls(kind, "".join(traceback.format_exception(error)))

    def error(self) -> Exception:
        """The exception, to be raised by whoever asked."""
        kind = getattr(errors, self.kind, None)
        if kind is not None and issubclass(kind, DriftledgerError):
            return kind(self.said)  # type: ignore[no-any-return]
        known: dict[str, type[Exception]] = {"MemoryError": MemoryError, "ContractError": ContractError}
        return known.get(self.kind, RuntimeError)(self.said)


class Made(NamedTuple):
    """What came of a batch: an answer per call, or trouble."""

    answers: tuple[Given, ...] = ()
    trouble: Trouble | None = None

    def finished(self, calls: Sequence[Call]) -> list[Finished]:
        """The results of ``calls``, whose batch it was; raises what the replica raised."""
        if self.trouble is not None:
            raise self.trouble.error()
        return [Finished(call.key, call.context, *answer) for call, answer in zip(calls, self.answers, strict=True)]


class Bench:
    """What a replica works at: the component, made at the first batch and kept, with its weights."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._local = LocalCalls()

    @cached_property
    def component(self) -> Component:
        if Path(self._recipe.folder).is_dir():
            os.chdir(self._recipe.folder)
        return self._recipe.make()

    def make(self, work: Work) -> Made:
        """Make a batch; whatever is raised is part of what came of it."""
        try:
            finished = self._local.make([self._call(item) for item in work])
        except Exception as error:
            return Made(trouble=Trouble.of(error))
        return Made(tuple(Given(item.result, item.png, item.cost) for item in finished))

    def _call(self, item: Item) -> Call:
        component = self.component
        if isinstance(item, AskedFor) and isinstance(component, Model):
            return Ask(component, item.role, item.conversation, item.context, item.repeat)
        if isinstance(item, DrawnFor) and isinstance(component, Generator):
            return Draw(component, item.prompt, item.seed, item.context)
        raise TypeError(f"{component.kind} {component.provider} was given {type(item).__name__}")
