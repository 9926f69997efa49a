"""Where a number comes from: a section per score on its model's page, a place in it per number."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from driftledger.benchmarks.base import (
    COVERAGE,
    NEEDED_FOR,
    ROLES,
    Benchmark,
    Metric,
    Origin,
    base_role,
)
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import SCORE, STD, Score, base_key, interval_of
from driftledger.benchmarks.selection import is_of
from driftledger.benchmarks.tables import direction
from driftledger.components.card import ComponentCard
from driftledger.core.canonical import pretty_json, sha256_bytes
from driftledger.ledger.lock import LOCK, RESOLVED, LockEntry
from driftledger.reports.site.page import Site

_PLAIN = re.compile("[a-z][a-z0-9_]*")


def path_of(score: Score) -> str:
    """The page of a score's model, relative to the top of the site."""
    return f"runs/{score.model}.html"


def section_of(score: Score) -> str:
    """The id of a score's section on that page."""
    keys = benchmark(score.benchmark).scores.keys
    return "-".join([score.benchmark, *(score.keys[key] for key in keys if key != "model")])


def anchor(score: Score, number: str) -> str:
    """The place of a number in the section of its score; names of groups may be any text."""
    place = number if _PLAIN.fullmatch(number) else f"n-{sha256_bytes(number.encode())[:16]}"
    return f"{section_of(score)}-{place}"


def href(origin: Origin) -> str:
    """Where the number comes from, relative to the top of the site."""
    place = anchor(origin.score, origin.number) if origin.number else section_of(origin.score)
    return f"{path_of(origin.score)}#{place}"


class ComponentView(NamedTuple):
    """A version at work, and where the locks name it."""

    role: str
    card: ComponentCard
    anchor: str
    locked: Sequence[tuple[str, str]]
    """Stages whose entry in a lock has this fingerprint, and the key under which it has it."""
    settings: str
    identity: str


class NumberView(NamedTuple):
    """A number of a score."""

    anchor: str
    title: str
    text: str
    value: str
    """All digits."""
    interval: str
    deviation: str
    metric: Metric | None
    better: str
    components: Sequence[ComponentView]
    """Those that had a part in it."""
    command: str


class GroupView(NamedTuple):
    """The numbers of one kind of groups: a row per name, a column per metric."""

    kind: str
    head: Sequence[str]
    rows: Sequence[tuple[str, Sequence[NumberView | None]]]


class BytesView(NamedTuple):
    """What a stage wrote."""

    stage: str
    path: str
    md5: str
    """As the lock has it; empty where none has."""
    sha256: str
    """Of its records, or of what the data say of themselves."""


def score_view(site: Site, score: Score, locks: Mapping[str, LockEntry]) -> dict[str, Any]:
    """What the template ``score.html.j2`` shows of a score."""
    spec = benchmark(score.benchmark)
    folder, stage = spec.scores.at(score.keys), spec.scores.lock(score.keys)
    ways = {stage.lock(score.keys): stage.out(score.keys) for stage in spec.stages}
    entries = {name: locks[name] for name in ways if name in locks}
    roles = sorted(score.components, key=lambda role: list(ROLES).index(base_role(role)))
    section = section_of(score)
    components = {role: _component(section, role, score.components[role], entries) for role in roles}
    file = f"{folder}/{SCORE}"
    whole = [key for key in score.metrics if base_key(key) == key]
    order = {metric.key: place for place, metric in enumerate(spec.metrics)}
    whole.sort(key=lambda key: order.get(metric.key, 99) if (metric := spec.metric(key)) else 99)
    run = next((each for each in site.project.combinations if is_of(score.keys, each)), None)
    return {
        "section": section,
        "score": score,
        "spec": spec,
        "on": " · ".join(score.keys[key] for key in spec.scores.keys if key != "model"),
        "numbers": [_number(spec, score, key, components, file) for key in [*whole, COVERAGE.key]],
        "groups": list(_groups(spec, score, components, file)),
        "components": list(components.values()),
        "bytes": list(_bytes(spec, score, ways, entries)),
        "file": file,
        "file_md5": next((out.md5 for out in _outs(entries.get(stage))), ""),
        "stage": stage,
        "lock": LOCK,
        "protocol": pretty_json(score.inputs.protocol),
        "settings": pretty_json(score.inputs.settings),
        "absent": [
            (metric.named(key) if (metric := spec.metric(key)) else key, why) for key, why in score.absent.items()
        ],
        "commands": [
            ("Back to images, versions and commit", f"driftledger audit {shlex.quote(file)}"),
            *(
                [("Does every byte and number still hold?", f"driftledger verify {shlex.quote(str(run))}")]
                if run is not None
                else []
            ),
            ("Make it again", f"dvc repro {stage}"),
        ],
    }


def _outs(entry: LockEntry | None) -> Sequence[Any]:
    return () if entry is None else entry.outs


def _component(section: str, role: str, card: ComponentCard, entries: Mapping[str, LockEntry]) -> ComponentView:
    locked = [
        (stage, key)
        for stage, entry in entries.items()
        for key, value in _flat(entry.params.get(RESOLVED, {}))
        if value == card.fingerprint
    ]
    return ComponentView(
        role.replace("_", " ").replace(".", " · "),
        card,
        f"{section}-role-{role}",
        locked,
        pretty_json(card.settings),
        pretty_json(card.identity),
    )


def _flat(noted: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, object]]:
    """Keys with dots, and what they lead to."""
    for key, value in noted.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def _number(spec: Benchmark, score: Score, name: str, components: Mapping[str, ComponentView], file: str) -> NumberView:
    """A number by its name as in :meth:`Score.numbers`."""
    *kinds, key = name.rsplit("/", 1)
    values = dict(score.metrics)
    if kinds:
        kind, _, group = kinds[0].partition("/")
        values = dict(score.groups[kind][group])
    metric = spec.metric(key)
    value = score.coverage if not kinds and key == COVERAGE.key else values[key]
    digits = metric.digits if metric else 3
    ends = interval_of(values, key)
    needed = [each for role, each in components.items() if metric is None or NEEDED_FOR[base_role(role)] & metric.needs]
    return NumberView(
        anchor(score, name),
        metric.named(key) if metric else key,
        f"{value:.{digits}f}",
        repr(float(value)),
        "" if ends is None else " to ".join(f"{end:.{digits}f}" for end in ends),
        "" if key + STD not in values else f"{values[key + STD]:.{digits}f}",
        metric,
        direction(metric).strip(" ()") if metric else "",
        needed,
        f"driftledger audit {shlex.quote(f'{file}:{name}')}",
    )


def _groups(spec: Benchmark, score: Score, components: Mapping[str, ComponentView], file: str) -> Iterator[GroupView]:
    for kind, groups in score.groups.items():
        keys = list(dict.fromkeys(key for values in groups.values() for key in values if base_key(key) == key))
        rows = [
            (
                name,
                [
                    _number(spec, score, f"{kind}/{name}/{key}", components, file) if key in values else None
                    for key in keys
                ],
            )
            for name, values in groups.items()
        ]
        yield GroupView(kind, [metric.named(key) if (metric := spec.metric(key)) else key for key in keys], rows)


def _bytes(
    spec: Benchmark, score: Score, ways: Mapping[str, str], entries: Mapping[str, LockEntry]
) -> Iterator[BytesView]:
    for number, (stage, path) in enumerate(list(ways.items())[:-1]):
        md5 = next((out.md5 for out in _outs(entries.get(stage)) if out.path == path), "")
        sha256 = score.inputs.records.get(stage.partition("@")[0], "") if number else score.inputs.data_digest
        if md5 or sha256:
            yield BytesView(stage, path, md5, sha256)
