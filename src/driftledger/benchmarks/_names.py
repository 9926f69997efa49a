"""Numbers from names, for the scorers that still give names; goes with the last of them."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from driftledger.scoring.number import Number, NumberName
from driftledger.scoring.score import Numbers, Score

if TYPE_CHECKING:
    from driftledger.benchmarks.base import Benchmark


def named_score(spec: "Benchmark", **fields: Any) -> Score:
    """Return a score from metrics, groups, curves and absent reasons by names."""
    metrics = fields.pop("metrics")
    groups = fields.pop("groups", {})
    curves = fields.pop("curves", {})
    absent = dict(fields.pop("absent", {}))
    n = fields["counted"]
    for curve, points in curves.items():
        for point in points:
            name = f"{curve}_at_{point.step}"
            if spec.metrics.get(curve) and name not in metrics:
                metrics = metrics | {name: point.value}
    numbers = [*_numbers(spec, metrics, None, None, n)]
    for kind, own in groups.items():
        if kind == "repeat":
            continue
        for group, values in sorted(own.items()):
            numbers += _numbers(spec, values, kind, group, None)
    by_place = {number.place: number for number in numbers}
    for name, why in absent.items():
        group, _, key = name.rpartition(": ")
        read = NumberName.read(_renamed(key.removesuffix(" interval")))
        place = read.place
        if group:
            place = place._replace(group_kind=next(iter(groups)), group=group)
        known = by_place.get(place)
        if known is None:
            by_place[place] = Number(**place._asdict(), why=why)
        elif key.endswith(" interval"):
            by_place[place] = known.model_copy(update={"why": why})
    return Score(**fields, numbers=[*by_place.values()])


def _renamed(name: str) -> str:
    return re.sub(
        r"^(whole_)?(fid|frechet_(?!at_)[a-z0-9_]+?)(?=_at_|$)", r"\1frechet", name
    )


def _numbers(
    spec: "Benchmark",
    values: Numbers,
    kind: str | None,
    group: str | None,
    n: int | None,
) -> Iterator[Number]:
    rows: dict[Any, dict[str, Any]] = {}
    for text, value in values.items():
        name = NumberName.read(_renamed(text))
        place = name.place._replace(group_kind=kind, group=group)
        if name.metric in ("perception", "cognition"):
            place = place._replace(
                metric="score_sum", group_kind="ability", group=name.metric
            )
        if spec.metrics.get(place.metric) is not None:
            rows.setdefault(place, {})[name.end or "value"] = value
    for place, ends in rows.items():
        yield Number(**place._asdict(), n=n, **ends)
