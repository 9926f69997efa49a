"""The kinds of component, their fingerprints and cards."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from importlib import metadata
from operator import not_
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, TypeVar

from PIL import Image
from pydantic import Field

from driftledger.core.canonical import Json, sha256_of
from driftledger.core.code_digest import code_digest, is_ours
from driftledger.core.files import Record
from driftledger.core.registry import Provided, not_installed
from driftledger.core.strict import is_none
from driftledger.core.types import Conversation, Float32, Medium, PromptUsage, Result

Kind = Literal["model", "generator", "encoder"]

Readiness: TypeAlias = tuple[list[str], list[str]]
"""Problems that would end every call on this machine, and notes before the first call."""

T = TypeVar("T")

_OPERATIONAL = "operational"
Operational: TypeAlias = Annotated[T, _OPERATIONAL]
"""Marks a setting that cannot change results, so that it is not in the fingerprint."""


class Component(Provided, ABC):
    """A frozen specification: settings as fields, and a method that does the work.

    ``provider`` is its name in the registry, or its place if it has none. ``version`` is raised
    whenever a change of the code changes results; a golden test holds embedded components to that.
    """

    kind: ClassVar[Kind]
    version: ClassVar[str]

    entry_name: ClassVar[str] = ""
    """``models.blind``, if it is an entry of a project."""

    code_is_identity: ClassVar[bool] = True
    """Whether the fingerprint includes the code of a class that does not come with driftledger.

    It is False for code that only looks up results with an identity of their own, such as weights
    or texts of people.
    """

    metered: ClassVar[bool] = False
    """Whether time, tokens and costs of calls are stored with records: services, checkpoints."""

    understands: ClassVar[frozenset[str] | None] = None
    """Providers of the only models that this generator, image encoder or judge can work with.

    None means any model. Controls, which do not look, are always accepted, and so is a model with
    ``understood_by``.
    """

    is_control: ClassVar[bool] = False
    """Set it in a model that does not look: its scores show what a benchmark gives for nothing."""

    @property
    def control(self) -> bool:
        """True for a control: by its class, or as its entry says ``sees: nothing``."""
        return self.is_control or getattr(self, "sees", None) == "nothing"

    batch_size: int = Field(default=16, ge=1, le=4096)
    """Consecutive calls that are handed over at once; shards do not separate them. It is part of
    the identity: in reduced precision, results depend on the other calls of a batch."""

    knows: Operational[str | None] = Field(default=None, min_length=1, max_length=300)
    """Its knowledge about the program that made the data of its evaluation, in one phrase: its
    :attr:`mark`."""

    def identity(self) -> Json:
        """Return what the settings resolve to: weights, services, libraries."""
        return {}

    @property
    def unrepeatable(self) -> str | None:
        """Why the same call may give other bytes next time; None if it gives the same."""
        return None

    @property
    def mark(self) -> str | None:
        """The caveat, in one phrase, that its card and the flags of its scores show."""
        return self.knows

    def readiness(self) -> Readiness:
        """Return problems that would end every call, and notes; make no call."""
        return [], []

    def release(self) -> None:
        """Free loaded weights and their memory; the next call loads them again."""

    def model_copy(
        self, *, update: Mapping[str, Any] | None = None, deep: bool = False
    ) -> Self:
        """Return a checked copy with other settings, and its own fingerprint."""
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
            ConfigError: such a class has no file.
        """
        classes = [cls for cls in type(self).__mro__ if issubclass(cls, Component)]
        modules = [cls.__module__ for cls in classes if not is_ours(cls.__module__)]
        return code_digest(*modules) if modules else None

    @cached_property
    def spec(self) -> Json:
        """All that can change results: provider, version, settings and identity."""
        identity = self.identity()
        if self.code_is_identity and self.code_digest is not None:
            identity = identity | {"code": self.code_digest}
        return {
            "provider": self.provider,
            "version": self.version,
            "settings": self.model_dump(mode="json", exclude=self.operational()),
            "identity": identity,
        }

    @cached_property
    def fingerprint(self) -> str:
        """Hex SHA-256 of the canonical JSON of :attr:`spec`."""
        return sha256_of(self.spec)


def library_versions(*names: str, extra: str | None = None) -> dict[str, str]:
    """Map distributions to their installed versions, for a component's identity.

    Args:
        extra: as for :func:`~driftledger.core.registry.not_installed`.

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
    """Providers of components that understand this model although their
    :attr:`Component.understands` does not name it: its user vouches for that."""

    blank: ClassVar[Medium | None] = None
    """What stands in for each image if its entry says ``sees: nothing``; None leaves images out."""

    @property
    def longest(self) -> int | None:
        """The most tokens of a reply by its own settings; None if nothing limits it."""
        return _CONTROLS_SAY if self.is_control else None

    @property
    def continues(self) -> bool:
        """True if the last turn of a conversation may be the beginning of its reply."""
        return False

    @abstractmethod
    def respond(self, conversations: Sequence[Conversation]) -> list[Result]:
        """Answer the last turn of each conversation, in order.

        A reply that goes on from a beginning includes it.
        """


GREY = Medium(
    Path(__file__).with_name("grey.png"),
    "a46622bc047d2c5b4644f9b69c47a3146a9bec8e1bc374ead4c3407badcda49c",
)
"""224×224 pixels of mid-grey, for models whose templates and processors need an image."""


class SightedModel(Model):
    """A model that looks at images, unless its entry says ``sees: nothing``."""

    sees: Literal["nothing"] | None = Field(default=None, exclude_if=is_none)
    """``nothing``: the same model is asked without the images, as a control. Calls that differ in
    their images alone are then one call."""


class Generator(Component):
    """Text in, image out."""

    kind = "generator"

    @property
    def pixels(self) -> int:
        """Pixels of its images; 1024 a side if its settings name no size."""
        return 1024**2

    @abstractmethod
    def generate(
        self, prompts: Sequence[str], seeds: Sequence[int]
    ) -> Sequence[Result]:
        """Draw an RGB image per prompt; equal prompts and seeds give equal images."""


class Encoder(Component):
    """Images and texts in, vectors out; a missing tower has no method."""

    kind = "encoder"

    @property
    def looks(self) -> bool:
        """True if it has an image tower."""
        return type(self).encode_images is not Encoder.encode_images

    @property
    def reads(self) -> bool:
        """True if it has a text tower; its space is that of the image tower."""
        return type(self).encode_texts is not Encoder.encode_texts

    def fitted(self, texts: Sequence[str]) -> "Encoder":
        """Return an encoder that has learned from this corpus; it may be itself."""
        return self

    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        """Return the features of RGB images, n×d, finite, not all zero."""
        raise NotImplementedError(
            f"encoder provider {self.provider!r} has no image tower"
        )

    def encode_texts(self, texts: Sequence[str]) -> Float32:
        """Return the features of texts, n×d, finite; zero only for unknown words."""
        raise NotImplementedError(
            f"encoder provider {self.provider!r} has no text tower"
        )

    def read_texts(self, texts: Sequence[str]) -> list[PromptUsage]:
        """Count the tokens of each text, and those within the limit of the text tower.

        A class without this method has no limit, and counts words.
        """
        counts = [len(text.split()) for text in texts]
        return [PromptUsage(count, count) for count in counts]


_CONTROLS_SAY = 50
"""Tokens of the longest reply of a control."""
MOST_TOKENS = 16_384
"""Tokens of a reply without a limit, for estimates."""
_BYTES = 6
"""Bytes of a token, for estimates: more than the mean of any language."""


def longest_reply(model: Model, max_tokens: int | None) -> str:
    """Return a text as long as the longest reply of at most ``max_tokens``."""
    limits = [limit for limit in (model.longest, max_tokens) if limit is not None]
    return _text_of(min(limits, default=MOST_TOKENS))


@cache
def _text_of(tokens: int) -> str:
    return "x" * (_BYTES * tokens)


class ComponentCard(Record):
    """The version of a component: catalogue name, spec, fingerprint of the spec."""

    name: str
    fingerprint: str
    provider: str
    version: str
    settings: Json
    identity: Json
    mark: str | None = Field(default=None, exclude_if=is_none)
    """The caveat for readers of its scores; not written if there is none."""
    control: bool = Field(default=False, exclude_if=not_)
    """True for a control, which nobody would choose as a model."""

    @classmethod
    def of(cls, name: str, component: Component) -> "ComponentCard":
        return cls(
            name=name,
            fingerprint=component.fingerprint,
            **component.spec,
            mark=component.mark,
            control=component.control,
        )
