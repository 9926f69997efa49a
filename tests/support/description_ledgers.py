"""Hand-written scores of TRAC and fidelity; see :mod:`tests.support.ledgers`."""

from collections.abc import Mapping
from typing import Any

from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import Row, Score
from driftledger.benchmarks.trac.records import condition_name
from driftledger.core.types import Outcome
from tests.support.ledgers import (
    BRUSH,
    KEYS,
    component,
    score_of,
)
from tests.support.records import row

_SHORT = {"max_tokens": [32, 64], "choose": None, "shots": []}
_SHOWN = {"max_tokens": [None], "choose": "similar_image", "shots": [1, 2]}


def trac_score(description: str = "short", text_encoder: str = "reader", **changes: Any) -> Score:
    """TRAC of one way to ask, read by one text encoder: better with length, worse with demonstrations."""
    shown = {"example_encoder": component("eye"), "example_model": component("narrator")}
    asked: dict[str, Any] = _SHOWN if description == "shown" else _SHORT
    top1 = {
        (length, number): 60.0 + (length or 0) / 8 - number
        for length in asked["max_tokens"]
        for number in (0, *asked["shots"])
    }
    lengths = {length or 0: value for (length, number), value in top1.items() if number == 0}
    shots = {number: value for (length, number), value in top1.items() if length == asked["max_tokens"][0]}
    plain: dict[str, Any] = {
        "benchmark": "trac",
        "keys": {"dataset": "digits", "model": "seer", "description": description, "text_encoder": text_encoder},
        "components": {
            "model": component("seer"),
            "text_encoder": component(text_encoder),
            **(shown if description == "shown" else {}),
        },
        "metrics": {"top1": 64.0, "top1_low": 60.0, "class_mean": 58.0, "chance": 10.0},
        "groups": {
            "class": {"seven": {"top1": 50.0, "test": 1.0}, "=one": {"top1": 75.0}},
            "condition": {
                condition_name(length, number): {"top1": value, "shots": number, "scored": 1, "total": 1}
                | ({} if length is None else {"max_tokens": length})
                for (length, number), value in top1.items()
            },
        },
        "curves": {
            "vote": curve({1: 64.0, 2: 66.0}),
            **({"by_length/top1": curve(lengths)} if len(lengths) > 1 else {}),
            **({"by_shots/top1": curve(shots)} if len(shots) > 1 else {}),
        },
        "outcomes": {"ok": 1},
        "scored": 1,
        "total": 1,
        "coverage": 1.0,
        "details": {
            "headline": condition_name(asked["max_tokens"][0], max(asked["shots"], default=0)),
        },
        "inputs": {
            "data_digest": "d" * 64,
            "records": {"describe": "f" * 64},
            "protocol": {"prompt": "Describe the digit.", **asked, "seed": 7},
            "settings": {"confidence": 0.95, "seed": 7},
        },
    }
    return score_of(plain, changes)


def curve(values: Mapping[int, float]) -> list[dict[str, float]]:
    """Step → value, as a score has them."""
    return [{"step": step, "value": value} for step, value in values.items()]


def trac_row(sample: str, label: str, found: str | None) -> Row:
    """A test sample, and the class that both ways to retrieve took it for; None where there was no description."""
    right: list[float | None] = [100.0 * (found == label)]
    if found is None:
        return row(sample, {}, outcome=Outcome.REFUSED, label=label, scored=False)
    values, told = values_of("trac", {"top1": right, "class_mean": right}), {"top1": found, "class_mean": found}
    return row(sample, values, label=label, scored=True, nearest="d0", **told)


def values_of(name: str, values: dict[str, list[float | None]]) -> dict[str, list[float | None]]:
    """The values of a row of a benchmark, by the key of their metric."""
    metrics = {key: benchmark(name).metric(key) for key in values}
    return {metric.row: values[key] for key, metric in metrics.items() if metric is not None}


def fidelity_score(**changes: Any) -> Score:
    """Fidelity of ``shapes``, seen by an encoder that reads no text."""
    plain: dict[str, Any] = {
        "benchmark": "fidelity",
        "keys": KEYS,
        "components": {"model": component("seer"), "generator": BRUSH, "encoder": component("eye")},
        "metrics": {"image_similarity": 71.0, "ssim": 31.5, "frechet_eye": 4.5, "human": 3.5},
        "groups": {"category": {"round": {"ssim": 31.5}}},
        "outcomes": {"ok": 1, "refused": 1},
        "scored": 1,
        "total": 2,
        "coverage": 0.5,
        "absent": {"clip_s": "eye has no text tower"},
        "details": {"ratings": {"used": 6, "raters": 3, "stale": 0}},
        "inputs": {
            "data_digest": "d" * 64,
            "records": {"redraw": "c" * 64},
            "protocol": {
                "iterations": 1,
                "describe_prompt": "Describe the shape.",
                "max_tokens": 64,
                "generate_prompt": "Draw: {description}",
                "seed": 7,
            },
            "settings": {"confidence": 0.95, "ssim_side": 128, "seed": 7},
        },
    }
    return score_of(plain, changes)
