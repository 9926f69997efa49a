"""Answers of an audit: short for people, as YAML and JSON with everything. All text from files is inert in them."""

import json
import shlex
from collections.abc import Sequence
from typing import TypeAlias

import yaml
from rich.console import Group

from driftledger.benchmarks.base import NEEDED_FOR, ROLES
from driftledger.benchmarks.registry import benchmark
from driftledger.core.canonical import Json
from driftledger.core.errors import first_few
from driftledger.core.terminal import HEAD, facts, line, lines, table
from driftledger.core.text import figure, for_terminal, shortened
from driftledger.ledger.audit import ImageTarget, Number, RunTarget
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
    "dvc.lock": "from Git and DVC: which bytes each stage read and wrote, by MD5, and with which settings; who has the "
    "cache or the remote can fetch these bytes and hash them with 'driftledger verify'",
    "git": "from Git history: the score file and the dvc.lock that were committed together; the bytes that they name "
    "can be fetched and hashed as long as the DVC cache or remote keeps them",
}


Answer: TypeAlias = tuple[str, list[tuple[str, str]]]
"""A headline, and names with their values below it."""


def data_of(target: RunTarget | ImageTarget) -> Json:
    """Everything about a target, ready for JSON."""
    if isinstance(target, ImageTarget):
        image = {"image": {"sha256": target.sha256}, "converted": target.converted}
        return image | {"places": target.places, "unknown": target.unknown}
    data = target.evidence.model_dump(mode="json", by_alias=True)
    rest = {"run": {key: data[key] for key in ("name", "combination", "fingerprint")}, "code": data["code"]}
    if target.number is not None:
        number = target.number
        lineage = target.number.lineage
        metric = target.number.metric
        score = lineage.score
        computed = None
        if metric is not None:
            how = {"how": metric.formula, "function": metric.function, "published": metric.published}
            computed = how | {"from": sorted(metric.needs)}
        data = {
            "metric": number.name,
            "value": number.value,
            "interval": number.interval,
            "computed": computed,
            "settings": score.inputs.settings,
            "protocol": score.inputs.protocol,
            "components": {
                role: card.model_dump(mode="json", by_alias=True)
                for role, card in score.components.items()
                if metric is None or metric.needs & NEEDED_FOR[role]
            },
            "served": score.served,
            "scored": score.how_many,
            "flags": score.flags,
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
        code = target.evidence.code
        number = target.number or (headline_of(target.lineage) if target.lineage else None)
        head, more = _of_run(target, number, unread, git.date(code.commit) if git and code.commit else "")
    return Group(line(head, HEAD), facts(more))


def headline_of(lineage: Lineage) -> Number:
    """The first headline of a score, or else its coverage."""
    key, value = lineage.spec.headline(lineage.score)
    return Number("coverage", lineage.score.coverage, lineage) if value is None else Number(key, value, lineage)


def _titled(number: Number) -> str:
    """``GC@5 on photos: 0.743 [0.720, 0.766]``, with its group, where it has one."""
    unit = f" ({number.metric.unit})" if number.metric is not None and number.metric.unit else ""
    kind, _, rest = number.key.partition("/")
    of = f" of {kind} {rest.rpartition('/')[0]}" if rest else ""
    value = figure(number.value, number.metric.digits if number.metric else 4, number.interval)
    return f"{number.title}{unit}{of} on {number.lineage.place.partition('/')[2]}: {value}"


def _of_run(target: RunTarget, number: Number | None, unread: str, day: str) -> Answer:
    """A run, or one number of it."""
    evidence = target.evidence
    code = target.evidence.code
    lineages = evidence.lineages if number is None else [number.lineage]
    by_role: dict[str, dict[str, None]] = {}
    for each in lineages:
        for role, card in each.score.components.items():
            served = ", ".join(each.score.served.get(role, ()))
            if role in _OF_RUNS if number is None else not number.metric or NEEDED_FOR[role] & number.metric.needs:
                version = f"{card.name}@{card.fingerprint[:SHORT]}" + (f" (served as {served})" if served else "")
                by_role.setdefault(ROLES[role] if number is None else role, {})[version] = None
    roles = [(role.replace("_", " "), ", ".join(by_role[role])) for role in ROLES if role in by_role]
    data = ", ".join(dict.fromkeys(f"{each.score.on}@{each.score.inputs.data_digest[:SHORT]}" for each in lineages))
    commit = f"git commit {(code.commit or '')[:12]}{day and f' of {day}'}"
    commit += f" ({'with uncommitted changes' if code.dirty else 'clean'})"
    if code.commit is None:
        commit = f"none: {(unread or 'Git could not be read') if code.dirty else 'not under Git, or no commit yet'}"
    flags = "; ".join(dict.fromkeys(flag for each in lineages for flag in each.score.flags))
    run = shlex.quote(evidence.combination.path if target.source == "dvc.lock" else evidence.fingerprint[:12])
    end = [
        ("commit", commit),
        ("checked", _CHECKED[target.source]),
        *([("to know", flags)] if flags else []),
        ("next", f"driftledger verify {run}; more: --full"),
    ]
    if number is None:
        scores = ("scores", "; ".join(_titled(headline_of(each)) for each in lineages))
        return f"{evidence.name}, fingerprint {evidence.fingerprint[:12]}", [scores, *roles, ("data", data), *end]
    kind = number.lineage.spec.data.name.replace("_", " ")
    scored = number.lineage.score.how_many
    which = ("run", f"{evidence.name}, {evidence.fingerprint[:12]}")
    return _titled(number), [which, *roles, (kind, f"{data}, {scored} scored"), *end]


def _of_image(target: ImageTarget) -> Answer:
    """The first place of an image, and where else it is used."""
    place, *others = target.places
    entry = place["entry"]
    card = place["card"]
    folder = place["folder"].split("/")
    name = entry.get("unit") or entry.get("id")
    on = card.get("keys", {}).get("dataset") or folder[2]
    texts = (each["text"] for each in entry.get("results", []) if each.get("text"))
    head = {"sample": f"sample {name} of dataset {on}", "question": f"image of question {name} of {on}"}
    used = [f"{each['path']} ({each['headline']} = {each['value']!r})" for each in place["scores"]]
    more = {
        "file": f"{place['folder']}/{place['file']}",
        "described as": next(texts, None),
        "question": entry.get("question"),
        "made from": (place["parent"] or "").rpartition(", ")[2],
        **{role: f"{each['name']}@{each['fingerprint'][:SHORT]}" for role, each in card.get("components", {}).items()},
        "digest": (card.get("digest") or card.get("data_digest") or "")[:SHORT],
        "used by": first_few(used, 1),
        "also": first_few([f"{each['folder']}/{each['file']}" for each in others], 1),
    }
    drawn = f"made of sample {name} of dataset {on} at t = {entry.get('step')}"
    return head.get(place["role"], drawn), [(k, shortened(str(text), _WIDE)) for k, text in more.items() if text]


def offers_table(text: str, offers: Sequence[tuple[Number, str]]) -> Group:
    """A line for each number that could be meant, with the command to type."""
    shown = table("value", "on", "type", numbers=["value"])
    for number, target in offers[:_OFFERED]:
        value = figure(number.value, number.metric.digits if number.metric else 4)
        cells = (value, number.lineage.score.on, f"driftledger audit {shlex.quote(target)}")
        shown.add_row(*map(line, cells))
    more = [f"and {len(offers) - _OFFERED} more"] if offers[_OFFERED:] else []
    return Group(line(f"{text:.40} could mean:", HEAD), shown, lines(more))


def touched_table(rows: Sequence[Json]) -> Group:
    """The scores by what made them, the oldest first, with their dates and the runs that show them."""
    groups = {}
    for row in rows:
        spec = benchmark(row["benchmark"])
        key = row["headline"]
        value = row["value"]
        metric = spec.metric(key)
        since = str(row["first_date"] or "–")[:10]
        versions = {each["part"]: f"{each['name']}@{each['fingerprint'][:SHORT]}" for each in row["versions"]}
        model = versions.pop("model")
        made_with = ", ".join(sorted({*versions.values()}))
        if made_with not in groups:
            groups[made_with] = table("score", "model", "metric", "value", "stood", "run", numbers=["value"])
        cells = [place_of(spec, row["keys"]), model]
        cells.append(spec.titled(key))
        cells.append("–" if value is None else figure(value, metric.digits if metric else 4))
        cells.append(f"since {since}" if row["current"] else f"{since} to {row['last_date']:.10}")
        cells.append(first_few([each[:SHORT] for each in row["runs"]], 1) or "–")
        groups[made_with].add_row(*map(line, cells))
    blocks = [part for made_with, shown in groups.items() for part in (line(f"made with {made_with}", HEAD), shown, "")]
    return Group(*blocks, line(f"{len(rows)} score{'' if len(rows) == 1 else 's'}"))
