"""Hand-written scores of GenCeption, and the folders that the stages behind a score write."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from driftledger.benchmarks.base import ROLES, Stage
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard, CollectedRecord
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import Row, Score
from driftledger.benchmarks.scoring import Scored, write_score
from driftledger.components.base import ComponentCard
from driftledger.core.files import write_json, write_jsonl
from driftledger.core.images import png_bytes
from driftledger.core.paths import Combination

COMBINATION = Combination("seer", "brush", "eye")
ITERATIONS = 2

KEYS = {"dataset": "shapes", **COMBINATION._asdict()}


def component(name: str, **changes: Any) -> ComponentCard:
    plain = {"provider": f"{name}_provider", "version": "3", "settings": {"batch_size": 16}, "identity": {}}
    return ComponentCard(name=name, fingerprint=hashlib.sha256(name.encode()).hexdigest(), **plain | changes)


BRUSH = component("brush", settings={"batch_size": 16, "longest_side": 64})


def score_of(plain: dict[str, Any], changes: Mapping[str, Any]) -> Score:
    """A score with other fields. A name in its keys, ``model`` for instance, may be changed alone; a component of that
    role is then called so too."""
    names = {name: each for name, each in changes.items() if name in plain["keys"]}
    fields = {name: each for name, each in changes.items() if name not in names}
    cards = {role: component(names[role]) for role in plain["components"] if role in names}
    plain = plain | {"keys": plain["keys"] | names, "components": plain["components"] | cards}
    whole = plain | fields
    return Score(**{"counted": whole["scored"], **whole})


def marked(score: Score, **marks: str) -> Score:
    """The same score, some of whose components say something of themselves, by their roles."""
    cards = {role: card.model_copy(update={"mark": marks.get(role)}) for role, card in score.components.items()}
    return Score.model_validate(
        score.to_dict() | {"components": {role: card.to_dict() for role, card in cards.items()}}
    )


def genception_score(**changes: Any) -> Score:
    """GenCeption over two iterations: one category, whose values are the overall ones."""
    values = {"similarity_at_1": 0.9, "similarity_at_2": 0.6, "gc_at_1": 0.9, "gc_at_2": 0.7, "frechet_eye_at_2": 4.5}
    intervals = {"gc_at_1_low": 0.8, "gc_at_1_high": 0.95, "gc_at_2_low": 0.65, "gc_at_2_high": 0.75}
    curves: dict[str, list[float | None]] = {
        "similarity": [0.9, 0.6],
        "gc": [0.9, 0.7],
        "gc_low": [0.8, 0.65],
        "gc_high": [0.95, 0.75],
        "frechet_eye": [None, 4.5],
    }
    plain: dict[str, Any] = {
        "benchmark": "genception",
        "keys": KEYS,
        "components": {"model": component("seer"), "generator": BRUSH, "encoder": component("eye")},
        "metrics": values | intervals | {"similarity_mean": 0.75},
        "groups": {"category": {"round": values}, "group": {}},
        "curves": {
            name: [{"step": t, "value": value} for t, value in enumerate(some, 1) if value is not None]
            for name, some in curves.items()
        },
        "scored": 2,
        "total": 2,
        "coverage": 1.0,
        "details": {"groups": {}},
        "inputs": {
            "data_digest": "d" * 64,
            "records": {"chain": "c" * 64},
            "protocol": {
                "iterations": ITERATIONS,
                "describe_prompt": "Describe it.",
                "max_tokens": None,
                "generate_prompt": "Draw: {description}",
                "seed": 7,
            },
            "settings": {"confidence": 0.95, "iterations": ITERATIONS, "seed": 7},
        },
    }
    return score_of(plain, changes)


def varied(score: Score, **changes: Any) -> Score:
    """The same score with other components, by their roles, or with other inputs: ``data_digest``, ``records``,
    ``settings``, or a key of the protocol."""
    cards = {name: each for name, each in changes.items() if name in ROLES}
    inputs = {name: each for name, each in changes.items() if name in ("data_digest", "records", "settings")}
    asked = {name: each for name, each in changes.items() if name not in (*cards, *inputs)}
    protocol = score.inputs.protocol | asked
    return score.model_copy(
        update={
            "components": score.components | cards,
            "inputs": score.inputs.model_copy(update=inputs | {"protocol": protocol}),
        }
    )


def card_of(score: Score, stage: Stage) -> CollectedCard:
    """The card of a collect stage behind a score, with all of the protocol and every component but encoders."""
    spec = benchmark(score.benchmark)
    return CollectedCard(
        benchmark=spec.name,
        stage=stage.name,
        keys={key: score.keys[key] for key in stage.keys},
        data_digest=score.inputs.data_digest,
        components={role: card for role, card in score.components.items() if ROLES[role] != "encoder"},
        protocol=score.inputs.protocol,
    )


def write_collected(root: Path, score: Score, rows: Iterable[CollectedRecord]) -> Path:
    """Write the folder of a collect stage behind a score: its card and records."""
    stage = benchmark(score.benchmark).collects
    folder = root / stage.at(score.keys)
    write_jsonl(folder / RECORDS, rows)
    write_json(folder / CARD, card_of(score, stage))
    return folder


def write_scored(root: Path, score: Score, rows: Sequence[Row]) -> Path:
    """Write a score's folder."""
    spec = benchmark(score.benchmark)
    write_score(root / spec.scores.at(score.keys), spec, Scored(score, list(rows)))
    return root / spec.scores.at(score.keys)


def write_image(path: Path, colour: tuple[int, int, int]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(png_bytes(Image.new("RGB", (40, 30), colour)))
