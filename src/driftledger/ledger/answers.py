"""Answers of an audit: short for people, as YAML and JSON with everything. All text from files is
inert in them."""

import json
import shlex
from collections.abc import Sequence
from typing import TypeAlias

import yaml
from rich.console import Group, RenderableType
from rich.table import Table

from driftledger.benchmarks.base import ROLES
from driftledger.benchmarks.registry import benchmark
from driftledger.core.canonical import Json
from driftledger.core.errors import first_few
from driftledger.core.terminal import HEAD, facts, line, lines, table
from driftledger.core.text import figure, for_terminal, shortened
from driftledger.ledger.audit import ImageTarget, Number, Offer, RunTarget
from driftledger.ledger.lineage import Lineage, place_of
from driftledger.ledger.objects.git import Git

SHORT = 8
"""Letters of a fingerprint, which ``audit --generator NAME@VERSION`` takes."""
_OFFERED = 9
"""Numbers that are offered, at most."""
_OF_RUNS = ("model", "generator", "encoder", "text_encoder", "judge")
_WIDE = 124
"""Letters beside a name, on two lines."""
_CHECKED = {
    "dvc.lock": "score.json, against dvc.lock; nothing behind it yet",
    "git": "score.json and dvc.lock are of one commit; nothing behind them",
}
_PROOF = {
    "dvc.lock": (
        "from Git and DVC: which bytes each stage read and wrote, by MD5, and with which "
        "settings; who has the cache or the remote can fetch these bytes and hash them with "
        "'driftledger verify'"
    ),
    "git": (
        "from Git history: the score file and the dvc.lock that were committed together; the "
        "bytes that they name can be fetched and hashed as long as the DVC cache or remote keeps "
        "them"
    ),
}


Answer: TypeAlias = tuple[str, list[tuple[str, str]]]
"""A headline, and names with their values below it."""


def data_of(target: RunTarget | ImageTarget) -> Json:
    """Everything about a target, ready for JSON."""
    if isinstance(target, ImageTarget):
        image = {"image": {"sha256": target.sha256}, "converted": target.converted}
        return image | {"places": target.places, "unknown": target.unknown}
    data = target.evidence.model_dump(mode="json", by_alias=True)
    rest = {
        "run": {key: data[key] for key in ("name", "combination", "fingerprint")},
        "code": data["code"],
    }
    if target.number is not None:
        number = target.number
        lineage = target.number.lineage
        metric = target.number.metric
        score = lineage.score
        computed = None
        if metric is not None:
            how = {
                "how": metric.formula,
                "function": metric.function,
                "published": metric.published,
            }
            computed = how | {"from": sorted(metric.needs)}
        data = {
            "metric": number.name,
            "value": number.value,
            "interval": number.interval,
            "computed": computed,
            "settings": score.inputs.settings,
            "protocol": score.inputs.protocol,
            "components": {
                role: score.components[role].to_dict()
                for role in lineage.spec.roles_of(score, number.key)
            },
            "served": score.served,
            "scored": score.how_many,
            "flags": lineage.spec.flags_of(score, number.key),
            "data_digest": score.inputs.data_digest,
            "records": score.inputs.records,
            "score": lineage.score_path,
            "values": lineage.rows_path,
            **lineage.model_dump(mode="json", by_alias=True, exclude={"score"}),
            **rest,
        }
    elif target.lineage is not None:
        data = target.lineage.model_dump(mode="json", by_alias=True) | rest
    return data | {"known_from": target.source, "proof": [_PROOF[target.source]]}


def as_yaml(target: RunTarget | ImageTarget) -> str:
    """:func:`data_of` as YAML."""
    plain = json.loads(json.dumps(data_of(target)))
    return for_terminal(yaml.safe_dump(plain, allow_unicode=True, sort_keys=False, width=120))


def as_answer(target: RunTarget | ImageTarget, unread: str = "", git: Git | None = None) -> Group:
    """A few lines: the value, which versions are behind it, what was checked, what to type next.

    Args:
        unread: why Git cannot be read here, if it cannot.
        git: knows on which day the commit was made.
    """
    if isinstance(target, ImageTarget):
        head, more = _of_image(target)
    else:
        number = target.number or (headline_of(target.lineage) if target.lineage else None)
        head, more = _of_run(target, number, unread, git)
    return Group(line(head, HEAD), facts(more))


def headline_of(lineage: Lineage) -> Number:
    """The first headline of a score, or else its coverage."""
    key, value = lineage.spec.headline(lineage.score)
    return (
        Number("coverage", lineage.score.coverage, lineage)
        if value is None
        else Number(key, value, lineage)
    )


def _titled(number: Number) -> str:
    """``GC@5 on photos: 0.743 [0.720, 0.766]``, with its group, where it has one."""
    unit = f" ({number.metric.unit})" if number.metric is not None and number.metric.unit else ""
    kind, _, rest = number.key.partition("/")
    of = f" of {kind} {rest.rpartition('/')[0]}" if rest else ""
    value = figure(number.value, number.metric.digits if number.metric else 4, number.interval)
    return f"{number.title}{unit}{of} on {number.lineage.place.partition('/')[2]}: {value}"


def _version(lineage: Lineage, role: str) -> str:
    """``painter@7eb2a388``, and what its service said it was."""
    card = lineage.score.components[role]
    served = ", ".join(lineage.score.served.get(role, ()))
    return f"{card.name}@{card.fingerprint[:SHORT]}" + (f" (served as {served})" if served else "")


def _of_run(target: RunTarget, number: Number | None, unread: str, git: Git | None) -> Answer:
    """A run, or one number of it."""
    evidence = target.evidence
    lineages = evidence.lineages if number is None else [number.lineage]
    key = "" if number is None else number.key
    by_role: dict[str, dict[str, None]] = {}
    flags = dict[str, None]()
    data = dict[str, None]()
    for lineage in lineages:
        score = lineage.score
        for role in lineage.spec.roles_of(score, key):
            if number is not None or role in _OF_RUNS:
                by_role.setdefault(ROLES[role] if number is None else role, {})[
                    _version(lineage, role)
                ] = None
        flags |= dict.fromkeys(lineage.spec.flags_of(score, key))
        data[f"{score.on}@{score.inputs.data_digest[:SHORT]}"] = None
    roles = [
        (role.replace("_", " "), ", ".join(by_role[role])) for role in ROLES if role in by_role
    ]
    code = evidence.code.named(git)
    end = [
        ("code", code if evidence.code.commit else f"{code}: {unread}"),
        ("checked", _CHECKED[target.source]),
    ]
    if flags:
        end.append(("to know", "; ".join(flags)))
    selected = target.source == "dvc.lock"
    run = shlex.quote(evidence.combination.path if selected else evidence.fingerprint[:12])
    end.append(("next", f"driftledger verify {run}; more: --full"))
    if number is None:
        scores = "; ".join(_titled(headline_of(lineage)) for lineage in lineages)
        head = f"{evidence.name}, fingerprint {evidence.fingerprint[:12]}"
        return head, [("scores", scores), *roles, ("data", ", ".join(data)), *end]
    kind = number.lineage.spec.data.name.replace("_", " ")
    scored = f"{', '.join(data)}, {number.lineage.score.how_many} scored"
    which = ("run", f"{evidence.name}, {evidence.fingerprint[:12]}")
    return _titled(number), [which, *roles, (kind, scored), *end]


def _of_image(target: ImageTarget) -> Answer:
    """The first place of an image, and where else it is used."""
    place, *others = target.places
    entry = place["entry"]
    card = place["card"]
    name = entry.get("unit") or entry.get("id")
    on = card.get("keys", {}).get("dataset") or place["folder"].split("/")[2]
    head = {
        "sample": f"sample {name} of dataset {on}",
        "question": f"image of question {name} of {on}",
    }
    drawn = f"made of sample {name} of dataset {on} at t = {entry.get('step')}"
    texts = [result["text"] for result in entry.get("results", []) if result.get("text")]
    used = [
        f"{score['path']} ({score['headline']} = {score['value']!r})" for score in place["scores"]
    ]
    more = {
        "file": f"{place['folder']}/{place['file']}",
        "described as": texts[0] if texts else None,
        "question": entry.get("question"),
        "made from": (place["parent"] or "").rpartition(", ")[2],
    }
    for role, component in card.get("components", {}).items():
        more[role] = f"{component['name']}@{component['fingerprint'][:SHORT]}"
    more["digest"] = (card.get("digest") or card.get("data_digest") or "")[:SHORT]
    more["used by"] = first_few(used, 1)
    more["also"] = first_few([f"{other['folder']}/{other['file']}" for other in others], 1)
    return head.get(place["role"], drawn), [
        (key, shortened(str(text), _WIDE)) for key, text in more.items() if text
    ]


def offers_table(text: str, offers: Sequence[Offer], git: Git | None) -> Group:
    """Two lines for each number that could be meant: what it is and who made it, and the command to
    type."""
    shown = []
    for offer in offers[:_OFFERED]:
        lineage = offer.number.lineage
        role = "generator" if "generator" in lineage.score.components else "model"
        state = "selected now" if offer.selected else "published earlier"
        made = f"{role} {_version(lineage, role)}; {state}, {offer.evidence.code.named(git)}"
        shown += [
            f"{_titled(offer.number)}; {made}",
            f"  driftledger audit {shlex.quote(offer.target)}",
        ]
    if offers[_OFFERED:]:
        shown.append(f"and {len(offers) - _OFFERED} more")
    return Group(line(f"{text:.40} could mean:", HEAD), lines(shown))


def touched_table(rows: Sequence[Json]) -> Group:
    """The scores by what made them, the oldest first, with their dates and the runs that show
    them."""
    groups = dict[str, Table]()
    for row in rows:
        spec = benchmark(row["benchmark"])
        key = row["headline"]
        value = row["value"]
        metric = spec.metric(key)
        since = str(row["first_date"] or "–")[:10]
        versions = {
            part["part"]: f"{part['name']}@{part['fingerprint'][:SHORT]}"
            for part in row["versions"]
        }
        model = versions.pop("model")
        made_with = ", ".join(sorted({*versions.values()}))
        if made_with not in groups:
            groups[made_with] = table(
                "score", "model", "metric", "value", "stood", "run", numbers=["value"]
            )
        groups[made_with].add_row(
            line(place_of(spec, row["keys"])),
            line(model),
            line(spec.titled(key)),
            line("–" if value is None else figure(value, metric.digits if metric else 4)),
            line(f"since {since}" if row["current"] else f"{since} to {row['last_date']:.10}"),
            line(first_few([run[:SHORT] for run in row["runs"]], 1) or "–"),
        )
    blocks = list[RenderableType]()
    for made_with, shown in groups.items():
        blocks += [line(f"made with {made_with}", HEAD), shown, ""]
    return Group(*blocks, line(f"{len(rows)} score{'' if len(rows) == 1 else 's'}"))
