"""TRAC's and fidelity's part of a hand-written ledger; see :mod:`tests.support.ledgers`."""

import hashlib
from pathlib import Path
from typing import Any

import yaml

from driftledger.benchmarks.description_records import (
    Condition,
    ConfusedClasses,
    DemonstrationsCard,
    DescriptionRecord,
    DescriptionsCard,
    FidelityInputs,
    FidelityScore,
    Redrawn,
    Retrieved,
    TracInputs,
    TracScore,
)
from driftledger.benchmarks.genception.records import ChainRecord
from driftledger.core.files import write_json, write_jsonl
from driftledger.core.paths import (
    Layout,
    dataset_stage,
    describe_stage,
    fidelity_stage,
    redraw_stage,
    samples_file,
    trac_stage,
)
from driftledger.core.types import Outcome
from driftledger.data.records import SampleEntry
from tests.support.ledgers import COMBINATION, chain_card, component, locked, write_image, write_lock

DESCRIPTIONS, READERS = ("short", "shown"), ("reader", "counter")
"""The first of both is the headline; ``short`` has two lengths, ``shown`` has demonstrations."""


def descriptions_card(description: str = "short", **changes: Any) -> DescriptionsCard:
    """How the dataset ``digits`` was described."""
    plain: dict[str, Any] = {
        "dataset": "digits",
        "dataset_digest": "d" * 64,
        "model": component("seer"),
        "description": description,
        "prompt": "Describe the digit.",
        "max_tokens": [32, 64],
        "seed": 7,
    }
    shown = DemonstrationsCard(choose="similar_image", shots=[1, 2], encoder=component("eye"), by=component("narrator"))
    if description == "shown":
        plain |= {"max_tokens": [None], "demonstrations": shown}
    return DescriptionsCard(**plain | changes)


def trac_score(description: str = "short", encoder: str = "reader", **changes: Any) -> TracScore:
    """TRAC of one way to ask, read by one text encoder: better with length, worse with demonstrations."""
    card = changes.pop("descriptions", descriptions_card(description))
    shots = [0, *(card.demonstrations.shots if card.demonstrations else ())]
    conditions = [
        Condition(
            max_tokens=length, shots=number, metrics={"top1": 60.0 + (length or 0) / 8 - number}, scored=1, total=1
        )
        for length in card.max_tokens
        for number in shots
    ]
    plain: dict[str, Any] = {
        "dataset": "digits",
        "model": "seer",
        "description": description,
        "encoder": encoder,
        "metrics": {"top1": 64.0, "top1_low": 60.0, "class_mean": 58.0, "chance": 10.0, "leak_rate": 25.0},
        "vote": [{"k": 1.0, "vote": 64.0}, {"k": 2.0, "vote": 66.0}],
        "by_class": {"seven": {"top1": 50.0, "test": 1.0}, "=one": {"top1": 75.0}},
        "confused": [ConfusedClasses(first="=one", second="seven", first_as_second=2, second_as_first=1, rate=12.5)],
        "conditions": conditions,
        "outcomes": {"ok": 1},
        "scored": 1,
        "total": 1,
        "coverage": 1.0,
        "inputs": TracInputs(
            dataset_digest="d" * 64,
            descriptions_sha256="f" * 64,
            descriptions=card,
            encoder=component(encoder),
            settings={},
        ),
    }
    return TracScore(**plain | changes)


def add_trac(root: Path, *scores: TracScore, said: str = "a hook", label: str = "seven") -> None:
    """Add the dataset ``digits``, its descriptions and these scores; by default one per way to ask and reader."""
    layout, data = Layout(root), Layout(root).dataset("digits")
    entries = []
    for sample, split in (("d0", "support"), ("d1", "test")):
        file = {
            "id": sample,
            "file": f"images/{sample}.png",
            "label": label,
            "split": split,
            "sha256": f"{sample}" * 32,
        }
        entries.append(SampleEntry.model_validate(file | {"width": 8, "height": 8}))
    write_jsonl(data / "samples.jsonl", entries)
    outs = {dataset_stage("digits"): [locked("data/datasets/digits", "3" * 32 + ".dir", nfiles=4)]}
    for score in scores or [trac_score(asked, reader) for asked in DESCRIPTIONS for reader in READERS]:
        names = ("digits", "seer", score.description)
        folder, target = layout.descriptions(*names), layout.trac_scores(*names, score.encoder)
        write_jsonl(
            folder / "descriptions.jsonl",
            [
                DescriptionRecord(
                    sample=entry.id,
                    split=entry.split or "test",
                    max_tokens=condition.max_tokens,
                    shots=condition.shots,
                    demonstrations=["d0"] * condition.shots,
                    outcome=Outcome.OK,
                    description=said,
                )
                for condition in score.conditions
                for entry in entries
            ],
        )
        found = {"nearest": "d0", "top1": label, "class_mean": label, "names_own": True}
        write_json(target, score)
        write_jsonl(samples_file(target), [Retrieved(sample="d1", label=label, outcome=Outcome.OK, **found)])
        outs[describe_stage(*names)] = [locked(folder.relative_to(root).as_posix(), "4" * 32 + ".dir", nfiles=2)]
        outs[trac_stage(*names, score.encoder)] = _files(root, target)
    _add_stages(root, outs)


def fidelity_score(**changes: Any) -> FidelityScore:
    """Fidelity of ``shapes``, seen by an encoder that reads no text."""
    plain: dict[str, Any] = {
        "dataset": "shapes",
        **COMBINATION._asdict(),
        "metrics": {"image_similarity": 71.0, "ssim": 31.5, "frechet_eye": 4.5, "human": 3.5},
        "by_category": {"round": {"ssim": 31.5}},
        "agreement": {"ssim": {"spearman": 0.5, "n": 2.0}},
        "outcomes": {"ok": 1, "refused": 1},
        "scored": 1,
        "total": 2,
        "coverage": 0.5,
        "absent": {"clip_s": "eye has no text tower"},
        "inputs": FidelityInputs(
            dataset_digest="d" * 64,
            records_sha256="c" * 64,
            chain=chain_card(iterations=1, describe_prompt="Describe the shape.", max_tokens=64),
            encoder=component("eye"),
            ratings={"used": 6, "raters": 3, "stale": 0},
            settings={},
        ),
    }
    return FidelityScore(**plain | changes)


def add_fidelity(root: Path, score: FidelityScore | None = None, said: str = "a disc") -> None:
    """Add a redrawing of ``disc`` and the refusal to describe ``ring``, which :func:`write_ledger` made."""
    score, layout = score or fidelity_score(), Layout(root)
    folder, target = layout.redraws("shapes", "seer", "brush"), layout.scores("fidelity", "shapes", COMBINATION)
    write_image(folder / "images" / "disc" / "1.png", (0, 0, 250))
    common: dict[str, Any] = {"t": 1, "parent_sha256": "a" * 64, "seed": 1}
    drawn = {"image": "images/disc/1.png", "image_sha256": "b" * 64, "description": said}
    records = [
        ChainRecord(sample="disc", outcome=Outcome.OK, **drawn, **common),
        ChainRecord(sample="ring", outcome=Outcome.REFUSED, error=said, **common),
    ]
    write_jsonl(folder / "records.jsonl", records)
    rows = [
        Redrawn(sample="disc", category="round", outcome=Outcome.OK, metrics={"image_similarity": 71.0, "ssim": 31.5}),
        Redrawn(sample="ring", category="round", outcome=Outcome.REFUSED),
    ]
    write_json(target, score)
    write_jsonl(samples_file(target), rows)
    outs = {
        redraw_stage("shapes", "seer", "brush"): [
            locked(folder.relative_to(root).as_posix(), "9" * 32 + ".dir", nfiles=3)
        ],
        fidelity_stage("shapes", COMBINATION): _files(root, target),
    }
    _add_stages(root, outs)


def _files(root: Path, target: Path) -> list[dict[str, Any]]:
    return [
        locked(file.relative_to(root).as_posix(), hashlib.md5(file.read_bytes(), usedforsecurity=False).hexdigest())
        for file in (target, samples_file(target))
    ]


def _add_stages(root: Path, outs: dict[str, list[dict[str, Any]]]) -> None:
    """Write the entries into ``dvc.lock``, which need not be there yet."""
    path = root / "dvc.lock"
    lock = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {"schema": "2.0", "stages": {}}
    for stage, files in outs.items():
        lock["stages"][stage] = {"cmd": f"driftledger {stage.partition('@')[0]}", "outs": files}
    write_lock(root, lock)
