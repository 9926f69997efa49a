"""An image's way back, as a tree and as JSON: sample or record, description, prompt, seed, versions, parent, scores."""

from typing import Any

from rich.tree import Tree

from driftledger.ledger.audit.branches import add, add_all, add_card, line
from driftledger.ledger.audit.images import ImageUse
from driftledger.ledger.audit.places import ImagePlace, UsingScore
from driftledger.ledger.audit.targets import ImageTarget

_MOST = 20
"""Places, and scores of a place, that the tree shows; JSON has all."""

_SAMPLE = ("category", "label", "split", "width", "height", "source", "notes")
_QUESTION = ("question", "options", "answer", "refusal", "subset", "subtask", "category", "source", "notes")
_RECORD = (
    *("outcome", "description", "seed", "revised_prompt", "served_model", "served_generator", "system_fingerprint"),
    *("generator_system_fingerprint", "prompt_reading", "notes", "error"),
)


def image_tree(target: ImageTarget) -> Tree:
    """Each place of the image in the ledger."""
    tree = Tree(line(_title(target)))
    for place in target.places.found[:_MOST]:
        _add_place(tree, place)
    _add_rest(tree, "places", target.places.found)
    if unknown := target.places.unknown:
        add(tree, "not looked into", f"{len(unknown)} folders, for instance: {unknown[0]}")
    return tree


def image_json(target: ImageTarget) -> dict[str, Any]:
    """The same, ready for JSON."""
    return {
        "image": target.image._asdict(),
        "converted": target.converted,
        "places": [
            {
                **place.use._asdict(),
                "current": place.current,
                "parent": _parent(place.use),
                "scores": [{"path": score.path, **_value(score)} for score in place.scores],
            }
            for place in target.places.found
        ],
        "unknown": target.places.unknown,
    }


def _title(target: ImageTarget) -> str:
    made = ", the PNG that a dataset makes of these bytes" if target.converted else ""
    return f"image {target.image}{made}"


def _add_place(tree: Tree, place: ImagePlace) -> None:
    use = place.use
    when = "" if place.current else ", in a version that dvc.lock no longer has"
    branch = add(tree, _what(use), f"{use.folder}/{use.file}{when}")
    add_all(branch, use.entry, "sha256", "image_sha256")
    add(branch, "md5", use.md5 or "not known: the folder's manifest is not at hand")
    add(branch, "folder", f"{use.folder}, md5 {use.folder_md5}")
    for doubt in use.doubts:
        add(branch, "doubt", doubt)
    if use.role == "drawn":
        _add_record(branch, use)
    else:
        add_all(branch, use.entry, *(_SAMPLE if use.role == "sample" else _QUESTION))
        add_all(branch, use.card, "digest", "provider", "source")
    for score in place.scores[:_MOST]:
        said = _value(score)
        add(branch, "used by", f"{score.path}, {said['headline']} = {said['value']!r}")
    _add_rest(branch, "scores", place.scores)


def _what(use: ImageUse) -> str:
    name = use.entry.get("id" if use.role != "drawn" else "sample")
    names = use.folder.split("/")[2:]
    if use.role == "sample":
        return f"sample {name} of dataset {names[0]}"
    if use.role == "question":
        return f"image of question {name} of {names[0]}"
    return f"drawn of sample {name} of dataset {names[0]} at t = {use.entry.get('t')}"


def _add_record(branch: Tree, use: ImageUse) -> None:
    add_all(branch, use.entry, *_RECORD)
    add(branch, "parent image", _parent(use) or "not known")
    card = use.card
    add_all(branch, card, "data_digest")
    protocol, components = card.get("protocol"), card.get("components")
    if isinstance(protocol, dict):
        add_all(branch, protocol, *sorted(protocol))
    if isinstance(components, dict):
        for role in sorted(components):
            add_card(branch, role, components[role])


def _parent(use: ImageUse) -> str | None:
    """The image that was described, by its hash and place."""
    parent, t = use.entry.get("parent_sha256"), use.entry.get("t")
    if use.role != "drawn" or parent is None:
        return None
    drawn = isinstance(t, int) and t > 1
    where = f"drawn at t = {t - 1}" if isinstance(t, int) and drawn else "the original"
    return f"sha256 {parent}, {where}"


def _value(score: UsingScore) -> dict[str, Any]:
    facts = score.facts
    return {"benchmark": facts.benchmark, "headline": facts.headline, "value": facts.value}


def _add_rest(tree: Tree, what: str, things: list[Any]) -> None:
    if len(things) > _MOST:
        tree.add(line(f"and {len(things) - _MOST} more {what}"))
