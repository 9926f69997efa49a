"""Components made of plain functions, without writing a class.

Each is a class as if it had been written: in a module it can be named in ``params.yaml`` by its place, as in
``provider: my_module:shout``, and its code is that module with what it imports. Keyword-only arguments of the function
are its settings there. What is made in a notebook or inside of another function has no place, and its code no file: it
differs from everything else that this process made, and cannot be in a ledger.
"""

import itertools
from abc import ABC
from collections.abc import Callable, Sequence
from functools import cached_property
from inspect import Parameter, signature
from typing import Any, ClassVar, TypeVar, get_type_hints

import numpy as np
from PIL import Image

from driftledger.components.base import Component, Encoder, Generator, Model, frechet_name_of
from driftledger.core.canonical import sha256_of
from driftledger.core.errors import ConfigError
from driftledger.core.media import ANY_MEDIUM, Kind
from driftledger.core.registry import LONGEST, import_place, place_of
from driftledger.core.types import Conversation, Float32, Generated, Medium, Reply, Sound

_NUMBERS = itertools.count(1)


class _OfFunctions(Component, ABC):
    """A component that leaves its work to functions."""

    media: ClassVar[frozenset[Kind]] = ANY_MEDIUM

    functions: ClassVar[dict[str, Callable[..., Any]]]
    number: ClassVar[int]
    """Differs from that of all others that this process made."""

    @classmethod
    def is_named(cls, name: str) -> None:
        cls.__name__ = cls.__qualname__ = name
        cls.provider = place_of(cls)

    def call(self, name: str, *given: Any) -> Any:
        """What one of the functions makes of something, with the settings that it takes."""
        fn = self.functions[name]
        return fn(*given, **{setting: getattr(self, setting) for setting in _settings_of(fn)})

    @cached_property
    def code_digest(self) -> str | None:
        """Of the function's module; of a function that no place leads to, a digest that this process alone has."""
        try:
            code = super().code_digest
            return code if import_place(self.provider) is type(self) else sha256_of([code, self.number])
        except ConfigError:
            return sha256_of(["in no file", self.number])


OfFunctions = TypeVar("OfFunctions", bound=_OfFunctions)


class FunctionModel(_OfFunctions, Model):
    """A model that a function is; it is given images, or sounds as :class:`~driftledger.core.media.Sound`."""

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        replies = []
        for conversation in conversations:
            parts = [part for turn in conversation.turns for part in turn.parts]
            prompt = "\n\n".join(part for part in parts if isinstance(part, str))
            answer = self.call("model", prompt, [part.open() for part in parts if isinstance(part, Medium)])
            if not isinstance(answer, str | Reply):
                raise TypeError(f"{self.provider} gave {type(answer).__name__} where it is to give text")
            replies.append(Reply(answer) if isinstance(answer, str) else answer)
        return replies


class FunctionGenerator(_OfFunctions, Generator):
    """A generator that a function is."""

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Generated]:
        drawn = []
        for prompt, seed in zip(prompts, seeds, strict=True):
            result = self.call("generator", prompt, seed)
            if isinstance(result, Sound):
                result = Generated(sound=result)
            if not isinstance(result, Image.Image | Generated):
                raise TypeError(f"{self.provider} gave {type(result).__name__}; return an image of Pillow's")
            drawn.append(Generated(result.convert("RGB")) if isinstance(result, Image.Image) else result)
        return drawn


class FunctionEncoder(_OfFunctions, Encoder):
    """An encoder with functions for towers."""

    @classmethod
    def is_named(cls, name: str) -> None:
        super().is_named(name)
        if "images" in cls.functions:
            cls.frechet_name = frechet_name_of(cls.provider)

    def features(self, tower: str, given: Sequence[Any]) -> Float32:
        features = np.asarray(self.call(tower, [*given]), dtype=np.float32)
        if features.ndim != 2 or len(features) != len(given):
            raise TypeError(f"{self.provider} gave features of shape {features.shape} for {len(given)} {tower}")
        return features


def model(fn: Callable[..., str | Reply], *, version: str = "1") -> type[FunctionModel]:
    """A model of a function that takes a prompt and a list of images, and gives text.

    The images are RGB, of Pillow's. In-context examples stand before what is asked, in the prompt and among the images,
    as one text with blank lines between. A function may give a :class:`~driftledger.core.types.Reply` instead of text.

    >>> @model
    ... def shout(prompt, images, *, end: str = "!"):
    ...     return prompt.upper() + end
    >>> from driftledger.core.types import Conversation, Turn
    >>> [reply] = shout(end="?").respond([Conversation((Turn("user", ("A cat",)),))])
    >>> reply.text
    'A CAT?'

    Args:
        version: to be raised where what is behind the function changes and its code does not.
    """
    return _class_of(FunctionModel, {"model": fn}, {"version": version})


def generator(fn: Callable[..., Image.Image | Generated], *, version: str = "1") -> type[FunctionGenerator]:
    """A generator of a function that takes a prompt and a seed, and gives an image of Pillow's.

    >>> plain = generator(lambda prompt, seed: Image.new("RGB", (32, 32), (seed % 256, 0, 0)))
    >>> plain().generate(["A red square."], [200])[0].image.getpixel((0, 0))
    (200, 0, 0)

    Args:
        version: as in :func:`model`.
    """
    return _class_of(FunctionGenerator, {"generator": fn}, {"version": version})


def encoder(
    images: Callable[..., Any] | None = None, texts: Callable[..., Any] | None = None, *, version: str = "1"
) -> type[FunctionEncoder]:
    """An encoder of a function that takes a list of images, one that takes a list of texts, or both.

    Each gives an array with a row of features for each of them; with both, their rows are compared with each other.

    >>> lengths = encoder(texts=lambda texts: [[len(text), 1.0] for text in texts])
    >>> lengths().encode_texts(["A cat", "A dog sits"])
    array([[ 5.,  1.],
           [10.,  1.]], dtype=float32)

    Args:
        version: as in :func:`model`.

    Raises:
        ConfigError: neither function is given.
    """
    functions, members = {}, dict[str, Any](version=version)
    if images is not None:
        functions["images"] = images
        members["encode_images"] = lambda self, images: self.features("images", images)
    if texts is not None:
        functions["texts"] = texts
        members["encode_texts"] = lambda self, texts: self.features("texts", texts)
    return _class_of(FunctionEncoder, functions, members)


def _class_of(
    base: type[OfFunctions], functions: dict[str, Callable[..., Any]], members: dict[str, Any]
) -> type[OfFunctions]:
    """A class that works by the functions, with a field for each of their keyword-only arguments."""
    if not all(callable(fn) for fn in functions.values()) or not functions:
        raise ConfigError(f"{base.__name__} is made of functions; give one")
    first = next(iter(functions.values()))
    hints: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    for fn in functions.values():
        hints |= get_type_hints(fn, include_extras=True)
        settings |= _settings_of(fn)
    if taken := sorted(setting for setting in settings if hasattr(base, setting) or setting in base.model_fields):
        raise ConfigError(f"{first.__qualname__}: a setting cannot be called {taken[0]!r}; rename the argument")
    space = {
        "__module__": first.__module__,
        "__qualname__": first.__qualname__[:LONGEST],
        "__doc__": first.__doc__,
        "__annotations__": {setting: hints.get(setting, Any) for setting in settings},
        **{setting: default for setting, default in settings.items() if default is not Parameter.empty},
        **members,
    }
    cls: type[OfFunctions] = type(base)(first.__name__, (base,), space)  # type: ignore[misc]
    cls.functions, cls.number = functions, next(_NUMBERS)
    return cls


def _settings_of(fn: Callable[..., Any]) -> dict[str, Any]:
    """The keyword-only arguments of a function with their defaults."""
    given = signature(fn).parameters.values()
    return {each.name: each.default for each in given if each.kind is Parameter.KEYWORD_ONLY}
