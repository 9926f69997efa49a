"""``models`` and ``add``: list the catalogue, select entries."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from driftledger.commands.terminal import HEAD, line, table
from driftledger.components.base import SightedModel
from driftledger.core.canonical import Json
from driftledger.core.errors import ConfigError, DriftledgerError, unknown_name
from driftledger.core.files import write_text
from driftledger.core.grouping import grouped
from driftledger.core.registry import EXTRAS, provider_class
from driftledger.project.catalogue import (
    SECTIONS,
    catalogue,
    checked_class,
    selectable,
)
from driftledger.project.presets import with_entry
from driftledger.project.project import Project
from driftledger.project.settings import PARAMS

COMPONENTS = ("models", "generators", "encoders")


def add(
    project: Project,
    section: str,
    choice: str,
    *,
    only: bool,
    base_url: str | None,
    key: str | None,
    sees_nothing: bool,
) -> list[str]:
    """Select one more model, generator or encoder in ``params.yaml``, and say what it needs.

    Args:
        only: whether it is selected alone, in place of the others.
        sees_nothing: whether to select the same model without its images instead.

    Raises:
        ConfigError: it is unknown, cannot be asked like that, or cannot understand the others;
            nothing is written.
    """
    before = project.settings.benchmarks
    entries = project.settings.entries(section)
    name, entry = selectable(section, choice, base_url, key, entries)
    if sees_nothing:
        entry = (entry or entries[name].written) | {"sees": "nothing"}
        name = name.removesuffix("_sees_nothing") + "_sees_nothing"
        kind = checked_class(section, entry["provider"], project.root)
        if not issubclass(kind, SightedModel):
            raise ConfigError(
                f"{choice!r} cannot be asked without images; name a model that is a service or a "
                "checkpoint"
            )
    text = with_entry(project.root, section, name, entry, only=only)
    write_text(project.root / PARAMS, text)
    project = Project(project.root, own_code=True)
    lines = [f"{PARAMS} selects {name}"]
    after = project.settings.benchmarks
    if len(after) > len(before):
        chains: Any = project.settings.section("genception")
        lines.append(
            f"{PARAMS} selects GenCeption, too, over the images of self-retrieval, with "
            f"iterations: {chains.iterations}"
        )
    elif len(after) < len(before):
        lines.append(f"self-retrieval is no longer selected: {name} reads no texts")
    return [*lines, *needs(project, section, [name])]


def needs(project: Project, section: str, names: Sequence[str]) -> list[str]:
    """Say what components still need on this machine, a line each."""
    sentences = []
    for name in names:
        missing, notes = project.settings.build(section, name).readiness()
        entry = project.settings.entry(section, name)
        needed = [f"missing: {need}" for need in missing]
        needed += notes
        if entry.retired:
            needed.append(f"retired on {entry.retired}, so that its service refuses it")
        if entry.about and entry.about.memory:
            needed.append(f"{entry.about.memory:g} GB of memory for its weights")
        sentences += [f"{section}.{name}: {need}" for need in needed]
    return sentences


def catalogue_rows(words: str = "") -> list[Json]:
    """List catalogue entries: what each needs and costs, and when that was checked.

    Retired entries are last.

    Args:
        words: a section of ``params.yaml``, or a part of a name, a provider or a model; without it,
            every component.

    Raises:
        ConfigError: nothing matches.
    """
    rows = []
    for section in [words] if words in SECTIONS else COMPONENTS:
        for name, entry in catalogue(section).items():
            fields = {"about": None} | entry.model_dump(mode="json")
            path = str(fields.get("path"))
            if path.startswith("lab/") and not Path(path).parent.is_dir():
                continue  # a checkpoint of our repository, which the package lacks
            what = fields.get("provider") or ""
            for key in ("model", "path", "prompt"):
                if isinstance(fields.get(key), str):
                    what = f"{what}/{fields[key]}".lstrip("/")
                    break
            row: Json = {
                "section": section,
                "name": name,
                "is": what,
                "needs": _needed(section, fields),
                "prices": fields.get("prices"),
                "retired": fields.get("retired"),
                "checked": (fields["about"] or {}).get("checked"),
            }
            rows.append(row)
    matching = [
        row
        for row in rows
        if words.lower() in f"{row['section']} {row['name']} {row['is']}".lower()
    ]
    if not matching:
        raise ConfigError(unknown_name("name", words, [row["name"] for row in rows]))
    return sorted(matching, key=lambda row: row["retired"] is not None)


def catalogue_table(rows: Sequence[Json]) -> Table:
    """Lay the catalogue out as a table.

    In a narrow terminal, the first line of an entry has its name alone.
    """
    listing = table("", "needs", "$ per M tokens", "checked", "retired")
    longest = max(len(row["name"]) for row in rows)
    for section, entries in grouped(rows, lambda row: str(row["section"])).items():
        listing.add_row(line(f"{section}:", HEAD))
        for row in entries:
            prices = row["prices"] or {}
            price = " / ".join(
                f"{prices[key]:g}" for key in ("input", "output") if key in prices
            )
            price += f"{prices['image']:g} an image" if "image" in prices else ""
            name = Text(f"{row['name']:{longest}}  {row['is']}")
            cells = (row["needs"], price, row["checked"] or "", row["retired"] or "")
            listing.add_row(name, *map(line, cells))
    return listing


def _needed(section: str, fields: Mapping[str, Any]) -> str:
    """Say what an entry needs: an extra, the key of a service, memory."""
    needed = []
    with suppress(DriftledgerError, KeyError):
        kind: Any = provider_class(section, fields["provider"])
        usual_key = getattr(kind.model_fields.get("api_key_env"), "default", None)
        extra = getattr(kind, "extra", None) or EXTRAS.get(getattr(kind, "library", ""))
        if key := fields.get("api_key_env", usual_key):
            needed.append(key)
        elif extra:
            needed.append(f"[{extra}]")
        if memory := (fields["about"] or {}).get("memory"):
            needed.append(f"{memory:g} GB")
    return ", ".join(needed)
