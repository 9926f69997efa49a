"""An image's way back, as a tree and as JSON: sample or record, description, prompt, seed, versions, parent, scores."""

from collections.abc import Sized
from typing import Any

from rich.tree import Tree

from driftledger.core.terminal import as_many, line
from driftledger.ledger.audit.images import ImagePlace
from driftledger.ledger.audit.targets import ImageTarget
from driftledger.ledger.audit.tree import add, add_all, add_card

_SHORT, _WIDE = 8, 60
"""Letters of a fingerprint, and of a line, in a short answer."""

_MOST = 20
"""Places, and scores of a place, that the tree shows; JSON has all."""

_TOLD = {
    "sample": ("category", "label", "split", "width", "height", "source", "notes"),
    "question": ("question", "options", "answer", "refusal", "subset", "subtask", "category", "source", "notes"),
    "drawn": (
        *("outcome", "description", "seed", "revised_prompt", "served_model", "served_generator"),
        *("system_fingerprint", "generator_system_fingerprint", "prompt_reading", "notes", "error"),
    ),
}
"""Role → the fields of a list's line that the tree shows."""


def image_tree(target: ImageTarget) -> Tree:
    """Each place of the image in the ledger."""
    made = ", the PNG that a dataset makes of these bytes" if target.converted else ""
    tree = Tree(line(f"image {target.image}{made}"))
    for place in target.places.found[:_MOST]:
        _add_place(tree, place)
    _add_rest(tree, "places", target.places.found)
    if unknown := target.places.unknown:
        add(tree, "not looked into", f"{len(unknown)} folders, for instance: {unknown[0]}")
    return tree


def image_answer(target: ImageTarget) -> tuple[str, list[tuple[str, str]]]:
    """What the image is, and in short what is known of its first place."""
    if not target.places.found:
        return f"image {target.image}", [("stands", "nowhere in the ledger")]
    place, *others = target.places.found
    components = place.card.get("components")
    cards = components.items() if isinstance(components, dict) else ()
    used = [f"{path} ({facts.headline} = {facts.value!r})" for path, facts in place.scores.items()]
    told = {
        "file": f"{place.folder}/{place.file}{'' if place.current else ', in a version that dvc.lock no longer has'}",
        "described as": str(place.entry.get("description") or ""),
        "question": str(place.entry.get("question") or ""),
        "drawn from": (_parent(place) or "").rpartition(", ")[2],
        **{
            role: f"{card.get('name')}@{str(card.get('fingerprint'))[:_SHORT]}"
            for role, card in sorted(cards)
            if isinstance(card, dict)
        },
        "digest": str(place.card.get("digest") or place.card.get("data_digest") or "")[:_SHORT],
        "doubt": as_many(place.doubts, _WIDE),
        "used by": as_many(used, _WIDE),
        "also": as_many([f"{each.folder}/{each.file}" for each in others], _WIDE),
    }
    return _what(place), [
        (name, as_many([text], 2 * _WIDE if name == "described as" else _WIDE)) for name, text in told.items() if text
    ]


def image_json(target: ImageTarget) -> dict[str, Any]:
    """The same, ready for JSON."""
    return {
        "image": target.image._asdict(),
        "converted": target.converted,
        "places": [
            place._asdict()
            | {
                "parent": _parent(place),
                "scores": [
                    {"path": path, **facts.model_dump(include={"benchmark", "headline", "value"})}
                    for path, facts in place.scores.items()
                ],
            }
            for place in target.places.found
        ],
        "unknown": target.places.unknown,
    }


def _add_place(tree: Tree, place: ImagePlace) -> None:
    when = "" if place.current else ", in a version that dvc.lock no longer has"
    branch = add(tree, _what(place), f"{place.folder}/{place.file}{when}")
    add_all(branch, place.entry, "sha256", "image_sha256")
    add(branch, "md5", place.md5 or "not known: the folder's manifest is not at hand")
    add(branch, "folder", f"{place.folder}, md5 {place.folder_md5}")
    for doubt in place.doubts:
        add(branch, "doubt", doubt)
    add_all(branch, place.entry, *_TOLD[place.role])
    if place.role == "drawn":
        add(branch, "parent image", _parent(place) or "not known")
        add_all(branch, place.card, "data_digest")
        protocol, components = place.card.get("protocol"), place.card.get("components")
        if isinstance(protocol, dict):
            add_all(branch, protocol, *sorted(protocol))
        if isinstance(components, dict):
            for role in sorted(components):
                add_card(branch, role, components[role])
    else:
        add_all(branch, place.card, "digest", "provider", "source")
    for path, facts in list(place.scores.items())[:_MOST]:
        add(branch, "used by", f"{path}, {facts.headline} = {facts.value!r}")
    _add_rest(branch, "scores", place.scores)


def _what(place: ImagePlace) -> str:
    name = place.entry.get("id" if place.role != "drawn" else "sample")
    data = place.folder.split("/")[2]
    if place.role == "sample":
        return f"sample {name} of dataset {data}"
    if place.role == "question":
        return f"image of question {name} of {data}"
    return f"drawn of sample {name} of dataset {data} at t = {place.entry.get('t')}"


def _parent(place: ImagePlace) -> str | None:
    """The image that was described, by its hash and place."""
    parent, t = place.entry.get("parent_sha256"), place.entry.get("t")
    if place.role != "drawn" or parent is None:
        return None
    where = f"drawn at t = {t - 1}" if isinstance(t, int) and t > 1 else "the original"
    return f"sha256 {parent}, {where}"


def _add_rest(tree: Tree, what: str, things: Sized) -> None:
    if len(things) > _MOST:
        tree.add(line(f"and {len(things) - _MOST} more {what}"))
