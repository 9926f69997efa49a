"""Components made of plain functions.

``params.yaml`` names such a component by its place, ``provider: my_module:shout``, and sets the
function's keyword-only arguments. Its code is that module with its imports. A component of a
notebook, or of a function inside another one, has no place and no file of code: its fingerprint
differs from all others, in each process again, and no ledger can hold it.
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
from driftledger.core.registry import LONGEST, import_place, place_of
from driftledger.core.types import Conversation, Float32, Result


class _OfFunction(Component, ABC):
    """A component that leaves its work to a function."""

    function: ClassVar[Callable[..., Any]]
    settings: ClassVar[frozenset[str]]
    """The keyword-only arguments of the function."""
    number: ClassVar[str]
    """Unique over all processes, since calls are kept."""

    @classmethod
    def is_named(cls, name: str) -> None:
        cls.__name__ = cls.__qualname__ = name
        cls.provider = place_of(cls)

    def call(self, *arguments: Any) -> Any:
        """Call the function, with its settings."""
        settings = {setting: getattr(self, setting) for setting in self.settings}
        return self.function(*arguments, **settings)

    @cached_property
    def code_digest(self) -> str | None:
        """The digest of the function's module; without a module, its number."""
        with suppress(ConfigError):
            if import_place(self.provider) is type(self):
                return super().code_digest
        return self.number


def model(fn: Callable[..., str | Result], *, version: str = "1") -> type[Model]:
    """Return a model of a function from a prompt and a list of images to text.

    The images are RGB images of Pillow. The prompt is one text with blank lines between its parts;
    in-context examples come first, in it and among the images. Instead of text, a function may
    return a :class:`~driftledger.core.types.Result`.

    >>> @model
    ... def shout(prompt, images, *, end: str = "!"):
    ...     return prompt.upper() + end
    >>> from driftledger.core.types import Conversation, Turn
    >>> [reply] = shout(end="?").respond([Conversation((Turn("user", ("A cat",)),))])
    >>> reply.text
    'A CAT?'

    Args:
        version: raise it if results change although the function's code does not.
    """

    def respond(
        self: _OfFunction, conversations: Sequence[Conversation]
    ) -> list[Result]:
        replies = []
        for conversation in conversations:
            texts = (part for part in conversation.parts if isinstance(part, str))
            images = [image.open() for image in conversation.media]
            answer = self.call("\n\n".join(texts), images)
            if not isinstance(answer, str | Result):
                raise TypeError(
                    f"{self.provider} returned {type(answer).__name__}; return text"
                )
            replies.append(Result(answer) if isinstance(answer, str) else answer)
        return replies

    cls: type[Model] = _class_of(Model, fn, version=version, respond=respond)
    return cls


def generator(
    fn: Callable[..., Image.Image | Result], *, version: str = "1"
) -> type[Generator]:
    """Return a generator of a function from a prompt and a seed to an image.

    >>> plain = generator(lambda prompt, seed: Image.new("RGB", (32, 32), (seed % 256, 0, 0)))
    >>> plain().generate(["A red square."], [200])[0].image.getpixel((0, 0))
    (200, 0, 0)

    Args:
        version: as in :func:`model`.
    """

    def generate(
        self: _OfFunction, prompts: Sequence[str], seeds: Sequence[int]
    ) -> list[Result]:
        results = []
        for prompt, seed in zip(prompts, seeds, strict=True):
            drawn = self.call(prompt, seed)
            if not isinstance(drawn, Image.Image | Result):
                raise TypeError(
                    f"{self.provider} returned {type(drawn).__name__}; return an image of Pillow"
                )
            results.append(
                Result(image=drawn) if isinstance(drawn, Image.Image) else drawn
            )
        return results

    cls: type[Generator] = _class_of(Generator, fn, version=version, generate=generate)
    return cls


def encoder(
    images: Callable[..., Any] | None = None,
    *,
    texts: Callable[..., Any] | None = None,
    version: str = "1",
) -> type[Encoder]:
    """Return an encoder of a function that takes a list of images, or of texts.

    The function returns an array with a row of features for each of them.

    >>> lengths = encoder(texts=lambda texts: [[len(text), 1.0] for text in texts])
    >>> lengths().encode_texts(["A cat", "A dog sits"])
    array([[ 5.,  1.],
           [10.,  1.]], dtype=float32)

    Args:
        version: as in :func:`model`.

    Raises:
        ConfigError: there is no function, or there are two.
    """
    fn = images or texts
    if fn is None or (images and texts):
        raise ConfigError(
            f"an encoder is made of one function, not of {2 if fn else 0}; derive a class from "
            "Encoder"
        )

    def encode(self: _OfFunction, samples: Sequence[Any]) -> Float32:
        features = np.asarray(self.call([*samples]), dtype=np.float32)
        if features.ndim != 2 or len(features) != len(samples):
            raise TypeError(
                f"{self.provider} returned features of shape {features.shape} for {len(samples)} "
                "samples"
            )
        return features

    method = "encode_images" if images else "encode_texts"
    cls: type[Encoder] = _class_of(Encoder, fn, version=version, **{method: encode})
    return cls


def _class_of(base: Any, fn: Callable[..., Any], **members: Any) -> Any:
    """Return a class of a function; keyword-only arguments become its fields."""
    settings = {
        argument.name: argument.default
        for argument in signature(fn).parameters.values()
        if argument.kind is Parameter.KEYWORD_ONLY
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
    members |= {
        "__module__": fn.__module__,
        "__qualname__": fn.__qualname__[:LONGEST],
        "__doc__": fn.__doc__,
        "__annotations__": {setting: hints.get(setting, Any) for setting in settings},
        **{
            setting: default
            for setting, default in settings.items()
            if default is not Parameter.empty
        },
    }
    cls = type(base)(fn.__name__, (_OfFunction, base), members)
    cls.function = staticmethod(fn)
    cls.settings = frozenset(settings)
    cls.number = uuid4().hex
    return cls
