"""What the sections of ``params.yaml`` for benchmarks share."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from pydantic import AfterValidator, Field, TypeAdapter, ValidationInfo

from driftledger.core.strict import Strict


class EntryOf(NamedTuple):
    """Marks a setting with names of a catalogue, which ``resolve`` checks and notes."""

    section: str
    must: Literal["", "read", "ask once"] = ""
    """What the entry must do: an encoder reads texts; a description asks once an image, without
    examples."""


class OfSelected(NamedTuple):
    """Marks a setting with names that are selected in ``run``."""

    key: str = ""
    """The list there; empty for the benchmark's own, of data."""


Mark = TypeVar("Mark", EntryOf, OfSelected)
Coverage = Annotated[float, Field(ge=0.0, le=1.0)]
"""The share of units that must be scored for the model to have a rank."""

Unread = Literal["worst", "left_out"]
"""What a model's reply counts as where it holds nothing to go on from, because it is empty, refused
by the service or cut: the worst value (a wrong answer, a miss, a similarity of 0), or nothing. A
failed call never counts."""

Confidence = Annotated[float, Field(gt=0.5, lt=1.0)]
"""The confidence of intervals."""


class Section(Strict):
    """The settings of every benchmark's section."""

    min_coverage: Coverage
    unread: Unread
    confidence: Confidence

    def marks(self, kind: type[Mark]) -> Iterator[tuple[str, Mark, tuple[str, ...]]]:
        """Yield each setting with a mark of this kind: its name, mark and values."""
        for key, field in type(self).model_fields.items():
            value = getattr(self, key)
            names = (
                value if isinstance(value, tuple) else () if value is None else (value,)
            )
            yield from (
                (key, mark, names) for mark in field.metadata if isinstance(mark, kind)
            )


class RepeatedSection(Section):
    """The section of a benchmark that asks for every sample several times."""

    repeats: int = Field(ge=1, le=1000)
    """How many chains or redrawings each sample has, which differ in their seeds."""


def recorded(
    section: type["Section"], stored: Mapping[str, Any], needed: Iterable[str] = ()
) -> "Section":
    """Return a section with the settings of a file, each checked by its own field.

    Args:
        needed: settings that are null where the file leaves them out.

    Raises:
        ValueError: one is what no settings may have.
    """
    checked = {}
    for name in section.model_fields.keys() & {*stored, *needed}:
        field = section.model_fields[name]
        kind: Any = Annotated[field.annotation, field]
        checked[name] = TypeAdapter(kind).validate_python(stored.get(name))
    return section.model_construct(**checked)


def holding(*places: str) -> AfterValidator:
    """Require a prompt to hold each of these placeholders exactly once."""

    def check(prompt: str, info: ValidationInfo) -> str:
        for place in places:
            if prompt.count(place) != 1:
                raise ValueError(
                    f"{info.field_name or 'prompt'} must hold the placeholder {place} exactly once"
                )
        return prompt

    return AfterValidator(check)


DrawingPrompt = Annotated[str, holding("{description}")]
"""The prompt for a generator, with a placeholder for the description."""
