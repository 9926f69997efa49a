"""The entries that come with the package, for names that ``params.yaml`` does not define."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from driftledger.benchmarks.descriptions import Description
from driftledger.collect.settings import WorkerSettings
from driftledger.core.places import LONGEST
from driftledger.core.registry import PROVIDED_SECTIONS
from driftledger.core.yaml_text import load_yaml

DESCRIPTIONS = "descriptions"
SECTIONS = (*PROVIDED_SECTIONS, DESCRIPTIONS)
"""Of ``params.yaml``, and the names of the catalogue's files."""


class CatalogueEntry(BaseModel):
    """A catalogue entry: a provider and whatever settings that provider knows."""

    model_config = ConfigDict(frozen=True, extra="allow")

    provider: str = Field(max_length=LONGEST)
    workers: WorkerSettings | None = None
    """By whom its batches are made; no setting of the component."""

    def settings(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


AnyEntry = CatalogueEntry | Description


@cache
def catalogue(section: str) -> Mapping[str, AnyEntry]:
    """The entries of a section that come with the package, by name."""
    raw = load_yaml((files("driftledger") / "catalogue" / f"{section}.yaml").read_bytes())
    kind = Description if section == DESCRIPTIONS else CatalogueEntry
    return {name: kind.model_validate(entry) for name, entry in raw.items()}
