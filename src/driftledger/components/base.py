"""The three kinds of component, and the fingerprint and the card that say which version of one was
at work."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from importlib import metadata
from operator import not_
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, TypeVar

from PIL import Image
from pydantic import Field

from driftledger.core.canonical import Json, sha256_of
from driftledger.core.code_digest import code_digest, is_ours
from driftledger.core.files import Record
from driftledger.core.registry import Provided, not_installed
from driftledger.core.strict import is_none
from driftledger.core.types import Conversation, Float32, PromptUsage, Result

Kind = Literal["model", "generator", "encoder"]

Readiness: TypeAlias = tuple[list[str], list[str]]
"""What would end each call on this machine, and what to know before the first."""

T = TypeVar("T")

_OPERATIONAL = "operational"
Operational: TypeAlias = Annotated[T, _OPERATIONAL]
"""Marks a setting that says how calls are made and cannot change what comes out: it is not in the
fingerprint."""


class Component(Provided, ABC):
    """A frozen specification, with its configuration as fields, and the one method that does the
    work.

    ``provider`` is its name in the registry, or else its place. ``version`` is raised whenever a
    change to the code changes what comes out; a golden test holds embedded components to that.
    """

    kind: ClassVar[Kind]
    version: ClassVar[str]

    entry_name: ClassVar[str] = ""
    """``models.blind``, where it is an entry of a project."""

    code_is_identity: ClassVar[bool] = True
    """Whether the code of a class that does not come with driftledger is part of the fingerprint:
    it is, unless the code only looks up what has an identity of its own, such as weights or what
    people wrote."""

    metered: ClassVar[bool] = False
    """Whether the time, tokens and money of its calls are written beside records, as of services
    and checkpoints."""

    understands: ClassVar[frozenset[str] | None] = None
    """Of a generator, an image encoder or a judge: the providers of the only models that it can do
    its work for. None means any model. Controls, which don't look, are always accepted, and so is a
    model with ``understood_by``."""

    is_control: ClassVar[bool] = False
    """Set it in a model that does not look: its scores show what a benchmark gives away for free.
    """

    batch_size: int = Field(default=16, ge=1, le=4096)
    """How many calls are handed over at once; part of the identity, since in reduced precision the
    company in a batch changes what comes out."""

    @property
    def batch_window(self) -> int:
        """The number of calls in a row from which those of like length form batches.

        It is ``batch_size`` if batches are formed in the order of the calls.
        """
        return self.batch_size

    knows: Operational[str | None] = Field(default=None, min_length=1, max_length=300)
    """What it knows of the program that made the data which it is measured on, in one phrase; its
    :attr:`mark`."""

    def identity(self) -> Json:
        """Return what the settings resolve to: weights, services, libraries that shape the
        output."""
        return {}

    @property
    def unrepeatable(self) -> str | None:
        """Return why a call that is made again, alone, may give other bytes; None if it gives the
        same."""
        return None

    @property
    def mark(self) -> str | None:
        """The caveat that the card and the flags of every score with it show, in one phrase."""
        return self.knows

    def readiness(self) -> Readiness:
        """Return what would end each of its calls on this machine, and what to know before the
        first; none is made."""
        return [], []

    def release(self) -> None:
        """Let go of loaded weights and the memory they take; the next call loads them again."""

    def model_copy(
        self, *, update: Mapping[str, Any] | None = None, deep: bool = False
    ) -> Self:
        """Return a copy with other settings, checked, and with a fingerprint of its own: pydantic's
        would keep the cached one."""
        return type(self).model_validate(self.model_dump() | dict(update or {}))

    @classmethod
    def operational(cls) -> set[str]:
        """Return the names of the settings that are marked :data:`Operational`."""
        return {
            name
            for name, field in cls.model_fields.items()
            if _OPERATIONAL in field.metadata
        }

    @cached_property
    def code_digest(self) -> str | None:
        """The digest of its base classes outside driftledger; None if there are none.

        Raises:
            ConfigError: such a class is written in no file.
        """
        classes = [each for each in type(self).__mro__ if issubclass(each, Component)]
        modules = [each.__module__ for each in classes if not is_ours(each.__module__)]
        return code_digest(*modules) if modules else None

    @cached_property
    def spec(self) -> Json:
        """Everything that can change the output: provider, version, settings and resolved
        identity."""
        code = (
            {"code": self.code_digest}
            if self.code_is_identity and self.code_digest is not None
            else {}
        )
        return {
            "provider": self.provider,
            "version": self.version,
            "settings": self.model_dump(mode="json", exclude=self.operational()),
            "identity": self.identity() | code,
        }

    @cached_property
    def fingerprint(self) -> str:
        """Hex SHA-256 of the canonical JSON of :attr:`spec`."""
        return sha256_of(self.spec)


def library_versions(*names: str, extra: str | None = None) -> dict[str, str]:
    """Distribution name → installed version, for :meth:`Component.identity`.

    Args:
        extra: as of :func:`~driftledger.core.registry.not_installed`.

    Raises:
        MissingExtraError: one is not installed.
    """
    versions = {}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            raise not_installed(name, extra) from None
    return versions


class Model(Component):
    """The multimodal LLM under evaluation: conversation in, text out."""

    kind = "model"

    understood_by: Operational[tuple[str, ...]] = ()
    """Providers of components that understand this model although :attr:`Component.understands`
    doesn't name it: its user vouches for that."""

    @property
    def longest(self) -> int | None:
        """The most tokens of a reply by its own settings; None if nothing limits it."""
        return _CONTROLS_SAY if self.is_control else None

    @property
    def continues(self) -> bool:
        """True if it can be given the beginning of its reply, as the last turn of a
        conversation."""
        return False

    @abstractmethod
    def respond(self, conversations: Sequence[Conversation]) -> list[Result]:
        """Answer the last turn of each conversation, in order; a reply holds the beginning that it
        was given."""


class Generator(Component):
    """Text in, image out."""

    kind = "generator"

    @property
    def pixels(self) -> int:
        """Pixels of an image that it draws; 1024 a side where its settings name no size."""
        return 1024**2

    @abstractmethod
    def generate(
        self, prompts: Sequence[str], seeds: Sequence[int]
    ) -> Sequence[Result]:
        """Draw one RGB image per prompt; equal prompts with equal seeds give equal images."""


class Encoder(Component):
    """Images and texts in, vectors out; one with a single tower defines only its method."""

    kind = "encoder"

    @property
    def looks(self) -> bool:
        """True if it has an image tower."""
        return type(self).encode_images is not Encoder.encode_images

    @property
    def reads(self) -> bool:
        """True if it has a text tower; with an image tower, both write into one space."""
        return type(self).encode_texts is not Encoder.encode_texts

    def fitted(self, texts: Sequence[str]) -> "Encoder":
        """Return the encoder that reads texts as this corpus teaches it; itself if it learns
        nothing from a corpus."""
        return self

    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        """Return the features of RGB images, n×d, finite, not all zero."""
        raise NotImplementedError(
            f"encoder provider {self.provider!r} has no image tower"
        )

    def encode_texts(self, texts: Sequence[str]) -> Float32:
        """Return the features of texts, n×d, finite; all zero only for a text that the encoder
        knows nothing of."""
        raise NotImplementedError(
            f"encoder provider {self.provider!r} has no text tower"
        )

    def read_texts(self, texts: Sequence[str]) -> list[PromptUsage]:
        """Count the tokens of each text, and those that the text tower reads before its limit.

        A class that says nothing of a limit reads all of every text, counted in words.
        """
        counts = [len(text.split()) for text in texts]
        return [PromptUsage(count, count) for count in counts]


_CONTROLS_SAY = 50
"""Tokens of the longest reply of a control."""
MOST_TOKENS = 16_384
"""In a reply, for estimates, where nothing limits it."""
_BYTES = 6
"""Of a token of a reply, for estimates of what reads it: more than the mean of any language."""


def longest_reply(model: Model, max_tokens: int | None) -> str:
    """Return a stand-in for a reply of at most ``max_tokens``, as long as it may be."""
    limits = [limit for limit in (model.longest, max_tokens) if limit is not None]
    return _text_of(min(limits, default=MOST_TOKENS))


@cache
def _text_of(tokens: int) -> str:
    return "x" * (_BYTES * tokens)


class ComponentCard(Record):
    """The version of a component: its catalogue name, spec and the fingerprint of the spec."""

    name: str
    fingerprint: str
    provider: str
    version: str
    settings: Json
    identity: Json
    mark: str | None = Field(default=None, exclude_if=is_none)
    """What a reader of every score with it must know; not written where there is nothing."""
    control: bool = Field(default=False, exclude_if=not_)
    """True for a control, which is no model to choose."""

    @classmethod
    def of(cls, name: str, component: Component) -> "ComponentCard":
        return cls(
            name=name,
            fingerprint=component.fingerprint,
            **component.spec,
            mark=component.mark,
            control=component.is_control,
        )
