"""Components made of plain functions, without writing a class.

Each is a class as if it had been written: in a module it can be named in ``params.yaml`` by its
place, as in ``provider: my_module:shout``, and its code is that module with what it imports.
Keyword-only arguments of the function are its settings there. What is made in a notebook or inside
of another function has no place, and its code no
file: it differs from everything else, also from itself made again, and cannot be in a ledger.
"""

from abc import ABC
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from inspect import Parameter, signature
from typing import Any, ClassVar, get_type_hints
from uuid import uuid4

import numpy as np
from PIL import Image

from driftledger.components.base import (
    Component,
    Encoder,
    Generator,
    Model,
)
from driftledger.core.errors import ConfigError
from driftledger.core.media import ANY_MEDIUM
from driftledger.core.registry import LONGEST, import_place, place_of
from driftledger.core.types import Conversation, Float32, Result, Sound


class _OfFunction(Component, ABC):
    """A component that leaves its work to a function."""

    media = ANY_MEDIUM

    function: ClassVar[Callable[..., Any]]
    settings: ClassVar[frozenset[str]]
    """The keyword-only arguments of the function."""
    number: ClassVar[str]
    """Differs from that of all others that any process made, since calls are kept."""

    @classmethod
    def is_named(cls, name: str) -> None:
        cls.__name__ = cls.__qualname__ = name
        cls.provider = place_of(cls)

    def call(self, *given: Any) -> Any:
        """Return the function's value, called with its settings."""
        return self.function(
            *given, **{setting: getattr(self, setting) for setting in self.settings}
        )

    @cached_property
    def code_digest(self) -> str | None:
        """The digest of the function's module; its number if no place leads to the function."""
        with suppress(ConfigError):
            if import_place(self.provider) is type(self):
                return super().code_digest
        return self.number


def model(fn: Callable[..., str | Result], *, version: str = "1") -> type[Model]:
    """Return a model of a function that takes a prompt and a list of images, and gives text.

    The images are RGB, of Pillow's; sounds are a :class:`~driftledger.core.media.Sound`. In-context
    examples stand before what is asked, in the prompt and among the images, as one text with blank
    lines between. A function may give a :class:`~driftledger.core.types.Result` instead of text.

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

    def respond(
        self: _OfFunction, conversations: Sequence[Conversation]
    ) -> list[Result]:
        replies = []
        for conversation in conversations:
            texts = (part for part in conversation.parts if isinstance(part, str))
            media = [medium.open() for medium in conversation.media]
            answer = self.call("\n\n".join(texts), media)
            if not isinstance(answer, str | Result):
                raise TypeError(
                    f"{self.provider} gave {type(answer).__name__} where it is to give text"
                )
            replies.append(Result(answer) if isinstance(answer, str) else answer)
        return replies

    cls: type[Model] = _class_of(Model, fn, version=version, respond=respond)
    return cls


def generator(
    fn: Callable[..., Image.Image | Sound | Result], *, version: str = "1"
) -> type[Generator]:
    """Return a generator of a function that takes a prompt and a seed, and gives an image of
    Pillow's, or a sound.

    >>> plain = generator(lambda prompt, seed: Image.new("RGB", (32, 32), (seed % 256, 0, 0)))
    >>> plain().generate(["A red square."], [200])[0].image.getpixel((0, 0))
    (200, 0, 0)

    Args:
        version: as in :func:`model`.
    """

    def generate(
        self: _OfFunction, prompts: Sequence[str], seeds: Sequence[int]
    ) -> list[Result]:
        drawn = []
        for prompt, seed in zip(prompts, seeds, strict=True):
            result = self.call(prompt, seed)
            if isinstance(result, Sound):
                result = Result(sound=result)
            if not isinstance(result, Image.Image | Result):
                raise TypeError(
                    f"{self.provider} gave {type(result).__name__}; return an image of Pillow's"
                )
            drawn.append(
                Result(image=result) if isinstance(result, Image.Image) else result
            )
        return drawn

    cls: type[Generator] = _class_of(Generator, fn, version=version, generate=generate)
    return cls


def encoder(
    images: Callable[..., Any] | None = None,
    *,
    sounds: Callable[..., Any] | None = None,
    texts: Callable[..., Any] | None = None,
    version: str = "1",
) -> type[Encoder]:
    """Return an encoder of a function that takes a list of images, of sounds or of texts.

    It gives an array with a row of features for each of them.

    >>> lengths = encoder(texts=lambda texts: [[len(text), 1.0] for text in texts])
    >>> lengths().encode_texts(["A cat", "A dog sits"])
    array([[ 5.,  1.],
           [10.,  1.]], dtype=float32)

    Args:
        version: as in :func:`model`.

    Raises:
        ConfigError: not exactly one function is given.
    """
    given = [
        (tower, fn)
        for tower, fn in (("images", images), ("sounds", sounds), ("texts", texts))
        if fn is not None
    ]
    if len(given) != 1:
        raise ConfigError(
            f"an encoder is made of one function, not of {len(given)}; derive a class from Encoder"
        )

    def encode(self: _OfFunction, samples: Sequence[Any]) -> Float32:
        features = np.asarray(self.call([*samples]), dtype=np.float32)
        if features.ndim != 2 or len(features) != len(samples):
            raise TypeError(
                f"{self.provider} gave features of shape {features.shape} for {len(samples)} "
                "samples"
            )
        return features

    [(tower, fn)] = given
    cls: type[Encoder] = _class_of(
        Encoder, fn, version=version, **{f"encode_{tower}": encode}
    )
    return cls


def _class_of(base: Any, fn: Callable[..., Any], **members: Any) -> Any:
    """Return a class that works by the function, with a field for each of its keyword-only
    arguments."""
    arguments = signature(fn).parameters.values()
    settings = {
        each.name: each.default
        for each in arguments
        if each.kind is Parameter.KEYWORD_ONLY
    }
    fields = {
        *base.model_fields,
        *dir(base),
        *dir(_OfFunction),
        *_OfFunction.__annotations__,
    }
    if taken := sorted(fields & settings.keys()):
        raise ConfigError(
            f"{fn.__qualname__}: a setting cannot be called {taken[0]!r}; rename the argument"
        )
    hints = get_type_hints(fn, include_extras=True)
    space = {
        "__module__": fn.__module__,
        "__qualname__": fn.__qualname__[:LONGEST],
        "__doc__": fn.__doc__,
        "__annotations__": {setting: hints.get(setting, Any) for setting in settings},
        **{
            setting: default
            for setting, default in settings.items()
            if default is not Parameter.empty
        },
        **members,
    }
    cls = type(base)(fn.__name__, (_OfFunction, base), space)
    cls.function = staticmethod(fn)
    cls.settings = frozenset(settings)
    cls.number = uuid4().hex
    return cls
