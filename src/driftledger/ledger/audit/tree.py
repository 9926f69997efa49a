"""Branches of an audit's tree, and its JSON. What they say was in part written by others: every line of it is inert."""

import re
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from rich.tree import Tree

from driftledger.components.card import ComponentCard
from driftledger.core.canonical import canonical_json, pretty_json
from driftledger.core.code_digest import code_digest
from driftledger.core.escaping import for_terminal
from driftledger.core.registry import providers
from driftledger.core.terminal import QUIET, line
from driftledger.ledger.lock import LockedFile

_NOT_ASCII = re.compile(r"[^\x20-\x7e\n]")


def add(tree: Tree, what: str, said: str) -> Tree:
    """A branch that says ``what: said``."""
    told = line(f"{what}: {said}")
    told.stylize(QUIET, 0, len(what) + 1)
    return tree.add(told)


def add_file(tree: Tree, what: str, file: LockedFile) -> Tree:
    """A file or folder with its MD5."""
    count = f", {file.nfiles} files" if file.nfiles is not None else ""
    return add(tree, what, f"{file.path}, md5 {file.md5}{count}")


def add_component(tree: Tree, what: str, card: ComponentCard) -> None:
    """A component version: its fingerprint, and everything in it."""
    branch = add(tree, what, f"{card.name}, fingerprint {card.fingerprint}")
    if card.mark is not None:
        add(branch, "to know", card.mark)
    add(branch, "provider", f"{card.provider}, version {card.version}")
    if card.package is not None:
        add(branch, "package", card.package)
    add(branch, "settings", canonical_json(card.settings))
    if card.identity:
        add(branch, "identity", canonical_json(card.identity))
    if card.code_digest:
        here = _codes_here(card.provider)
        other = f", and the code here is {' or '.join(sorted(here))}" if here and card.code_digest not in here else ""
        add(branch, "code", card.code_digest + other)


def _codes_here(provider: str) -> set[str]:
    """The code digests of the providers of this name, without importing them."""
    tables = (providers(section) for section in ("models", "generators", "encoders"))
    return {code_digest(table[provider]) for table in tables if provider in table}


def add_card(tree: Tree, what: str, card: Any) -> None:
    """A component as a file of any format describes it."""
    try:
        add_component(tree, what, ComponentCard.model_validate(card))
    except ValidationError:
        add(tree, what, canonical_json(card))


def add_all(tree: Tree, said: Mapping[str, Any], *names: str) -> None:
    """A branch for each of the names that something is known about."""
    for name in names:
        value = said.get(name)
        if value not in (None, "", [], {}):
            add(tree, name.replace("_", " "), value if isinstance(value, str) else canonical_json(value))


def inert_json(value: Any) -> str:
    """Indented JSON in which a terminal finds nothing to obey; it reads back as it was."""
    return _NOT_ASCII.sub(
        lambda found: found[0] if _is_inert(found[0]) else f"\\u{ord(found[0]):04x}", pretty_json(value)
    )


def _is_inert(letter: str) -> bool:
    return for_terminal(letter) == letter and not "\ud800" <= letter <= "\udfff"
