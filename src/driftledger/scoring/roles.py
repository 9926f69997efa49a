"""Roles of components in a score, and the flags that concern them."""

from collections.abc import Mapping
from typing import Literal

from driftledger.scoring.metric import Input, MetricTable
from driftledger.scoring.score import Flag, Score

Kind = Literal["model", "generator", "encoder", "judge"]

ROLES: Mapping[str, Kind] = {
    "model": "model",
    "generator": "generator",
    "encoder": "encoder",
    "text_encoder": "encoder",
    "judge": "judge",
    "example_encoder": "encoder",
    "example_model": "model",
}
"""Role in a score → kind of component, as in MLflow's registry and ``audit --encoder``."""

SECTIONS = {
    "model": "models",
    "generator": "generators",
    "encoder": "encoders",
    "judge": "models",
}
"""Kind → its section in ``params.yaml`` and in the catalogue."""

NEEDED_FOR: Mapping[str, frozenset[Input]] = {
    "encoder": frozenset({Input.ENCODER}),
    "text_encoder": frozenset({Input.TEXT_ENCODER}),
    "generator": frozenset({Input.DRAWN}),
    "model": frozenset({Input.DESCRIPTIONS, Input.DRAWN, Input.ANSWERS}),
    "judge": frozenset({Input.ANSWERS}),
    "example_encoder": frozenset({Input.DESCRIPTIONS}),
    "example_model": frozenset({Input.DESCRIPTIONS}),
}
"""Role → the inputs that it makes."""


def roles_of(metrics: MetricTable, score: Score, metric: str) -> list[str]:
    """Return the roles behind a metric; all roles if the metric is unknown."""
    row = metrics.get(metric)
    needs = frozenset(Input) if row is None else row.needs
    return [
        role for role in ROLES if role in score.components and NEEDED_FOR[role] & needs
    ]


def flags_of(metrics: MetricTable, score: Score, metric: str = "") -> list[str]:
    """Return the flags that concern a metric, or by default any headline."""
    names = [metric]
    if not metric:
        headlines = metrics.headlines(score)
        names = [number.metric for number in headlines] or [""]
    texts = []
    for flag in score.flags:
        if any(_concerns(flag, metrics, name) for name in names):
            texts.append(flag.text)
    return texts


def _concerns(flag: Flag, metrics: MetricTable, metric: str) -> bool:
    row = metrics.get(metric)
    if row is None:
        return True
    if flag.metrics:
        return row.name in flag.metrics
    part = NEEDED_FOR.get(flag.role or "")
    return part is None or not row.needs.isdisjoint(part)
