"""Hand-made scores of TRAC and fidelity."""

from typing import Any

from driftledger.benchmarks.description_records import (
    Condition,
    ConfusedClasses,
    DemonstrationsCard,
    DescriptionsCard,
    FidelityInputs,
    FidelityScore,
    TracInputs,
    TracScore,
)
from tests.support.ledgers import chain_card, component

CLASSES = {"zero": {"test": 4.0, "top1": 75.0}, "one": {"test": 4.0, "top1": 25.0}}


def condition(max_tokens: int | None, shots: int, top1: float, **more: float) -> Condition:
    metrics = {"top1": top1, "top1_low": top1 - 4, "top1_high": top1 + 4, "class_mean": top1 - 1, "words": 12.5}
    return Condition(max_tokens=max_tokens, shots=shots, metrics=metrics | more, scored=8, total=10)


def confused(first: str, second: str, rate: float = 50.0) -> ConfusedClasses:
    return ConfusedClasses(first=first, second=second, first_as_second=3, second_as_first=1, rate=rate)


def trac_score(model: str = "seer", top1: float = 50.0, **changes: Any) -> TracScore:
    """A model's score on ``signs``; its headline is of the first condition's length with the most shots."""
    conditions = changes.pop("conditions", [condition(None, 0, top1)])
    shots = sorted({each.shots for each in conditions} - {0})
    encoder = changes.pop("encoder", "words")
    description = changes.pop("description", "local")
    shown = changes.pop("shown", DemonstrationsCard(choose="random", shots=shots) if shots else None)
    about = DescriptionsCard(
        dataset="signs",
        dataset_digest="d" * 64,
        model=component(model),
        description=description,
        prompt="What is it?",
        max_tokens=list(dict.fromkeys(each.max_tokens for each in conditions)),
        demonstrations=shown,
        seed=7,
    )
    metrics = {
        "top1": top1, "top1_low": top1 - 4, "top1_high": top1 + 4, "class_mean": top1 - 1, "class_mean_low": top1 - 6,
        "class_mean_high": top1 + 2, "vote_best": top1 + 5, "vote_best_k": 3.0, "chance": 10.0, "leak_rate": 20.0,
        "other_rate": 5.0, "top1_naming": 90.0, "top1_not_naming": 40.0, "words": 12.5,
    }  # fmt: skip
    plain: dict[str, Any] = {
        "dataset": "signs",
        "model": model,
        "description": description,
        "encoder": encoder,
        "metrics": metrics | changes.pop("more", {}),
        "vote": [{"k": 1.0, "vote": top1}, {"k": 2.0, "vote": top1}, {"k": 3.0, "vote": top1 + 5}],
        "by_class": CLASSES,
        "confused": [confused("one", "zero")],
        "conditions": conditions,
        "outcomes": {"ok": 8, "refused": 2},
        "scored": 8,
        "total": 10,
        "coverage": 0.8,
        "inputs": TracInputs(
            dataset_digest="d" * 64,
            descriptions_sha256="e" * 64,
            descriptions=about,
            encoder=component(encoder),
            settings={},
        ),
    }
    return TracScore(**plain | changes)


def fidelity_score(model: str = "seer", metrics: dict[str, float] | None = None, **changes: Any) -> FidelityScore:
    """A model's score on ``signs``, redrawn by ``brush``."""
    encoder, ratings = changes.pop("encoder", "eye"), changes.pop("ratings", {})
    metrics = {"ssim": 28.25, "ssim_low": 27.0, "ssim_high": 29.5} if metrics is None else metrics
    plain: dict[str, Any] = {
        "dataset": "signs",
        "model": model,
        "generator": "brush",
        "encoder": encoder,
        "metrics": metrics,
        "by_category": {"round": {"ssim": 30.0}},
        "outcomes": {"ok": 8},
        "scored": 8,
        "total": 10,
        "coverage": 0.8,
        "inputs": FidelityInputs(
            dataset_digest="d" * 64,
            records_sha256="e" * 64,
            chain=chain_card(model=component(model)),
            encoder=component(encoder),
            ratings=ratings,
            settings={},
        ),
    }
    return FidelityScore(**plain | changes)
