"""A hand-written ledger, as ``dvc repro`` leaves one: score files, stored samples and chains, and a ``dvc.lock``."""

import hashlib
from pathlib import Path
from typing import Any

import yaml
from PIL import Image

from driftledger.benchmarks.genception.records import ChainCard, ChainRecord, SampleScore, ScoreFile, ScoreInputs
from driftledger.components.card import ComponentCard
from driftledger.core.files import write_json, write_jsonl
from driftledger.core.images import png_bytes
from driftledger.core.paths import LOCKS, Combination, Layout, chain_stage, dataset_stage, drift_stage, samples_file
from driftledger.core.types import Outcome
from driftledger.data.records import SampleEntry
from tests.conftest import REPOSITORY

COMBINATION = Combination("seer", "brush", "eye")
ITERATIONS = 2


def component(name: str, **changes: Any) -> ComponentCard:
    plain = {"provider": f"{name}_provider", "version": "3", "settings": {"batch_size": 16}, "identity": {}}
    return ComponentCard(name=name, fingerprint=hashlib.sha256(name.encode()).hexdigest(), **plain | changes)


def chain_card(**changes: Any) -> ChainCard:
    plain: dict[str, Any] = {
        "dataset": "shapes",
        "dataset_digest": "d" * 64,
        "model": component("seer"),
        "generator": component("brush", settings={"batch_size": 16, "longest_side": 64}),
        "iterations": ITERATIONS,
        "describe_prompt": "Describe it.",
        "generate_prompt": "Draw: {description}",
        "seed": 7,
    }
    return ChainCard(**plain | changes)


def score_file(**changes: Any) -> ScoreFile:
    """GenCeption over two iterations: one category, whose values are the overall ones."""
    values = {"similarity_at_1": 0.9, "similarity_at_2": 0.6, "gc_at_1": 0.9, "gc_at_2": 0.7, "frechet_eye_at_2": 4.5}
    intervals = {"gc_at_1_low": 0.8, "gc_at_1_high": 0.95, "gc_at_2_low": 0.65, "gc_at_2_high": 0.75}
    plain: dict[str, Any] = {
        "benchmark": "genception",
        "dataset": "shapes",
        **COMBINATION._asdict(),
        "metrics": values | intervals | {"similarity_mean": 0.75},
        "by_category": {"round": values},
        "by_group": {},
        "groups": {},
        "curve": [
            {"t": 1, "similarity": 0.9, "gc": 0.9, "gc_low": 0.8, "gc_high": 0.95},
            {"t": 2, "similarity": 0.6, "gc": 0.7, "gc_low": 0.65, "gc_high": 0.75, "frechet_eye": 4.5},
        ],
        "failures": {},
        "scored": 2,
        "total": 2,
        "coverage": 1.0,
        "absent": {},
        "inputs": ScoreInputs(
            dataset_digest="d" * 64,
            records_sha256="c" * 64,
            chain=chain_card(),
            encoder=component("eye"),
            settings={"bootstrap": {"resamples": 200, "confidence": 0.95}, "iterations": ITERATIONS, "seed": 7},
        ),
    }
    return ScoreFile(**plain | changes)


def with_chain(score: ScoreFile, **changes: Any) -> ScoreFile:
    """The same score with another chain card, or another ``encoder`` card, behind it."""
    encoder = changes.pop("encoder", score.inputs.encoder)
    inputs = score.inputs.model_copy(update={"chain": chain_card(**changes), "encoder": encoder})
    return score.model_copy(update={"inputs": inputs})


def locked(path: str, md5: str, **more: int) -> dict[str, Any]:
    return {"path": path, "hash": "md5", "md5": md5, "size": 1000, **more}


def lock_of(root: Path, score: ScoreFile) -> dict[str, Any]:
    """``dvc.lock`` over the files that :func:`write_ledger` wrote."""
    layout = Layout(root)
    data, chain = "data/datasets/shapes", "data/chains/shapes/seer/brush"
    target = layout.scores("genception", "shapes", COMBINATION)
    outs = [
        locked(file.relative_to(root).as_posix(), hashlib.md5(file.read_bytes(), usedforsecurity=False).hexdigest())
        for file in (target, samples_file(target))
    ]
    source, dataset = locked("src/driftledger/datasets", "5" * 32 + ".dir"), locked(data, "1" * 32 + ".dir", nfiles=4)
    images = locked(chain, "2" * 32 + ".dir", nfiles=5)
    return {
        "schema": "2.0",
        "stages": {
            "resolve": {"cmd": "driftledger resolve", "outs": [locked("data/resolved.json", "0" * 32)]},
            dataset_stage("shapes"): {
                "cmd": "driftledger dataset shapes",
                "deps": [source],
                "params": {"params.yaml": {"datasets.shapes": {"provider": "image_folder"}}},
                "outs": [dataset],
            },
            chain_stage("shapes", "seer", "brush"): {
                "cmd": "driftledger chain shapes seer brush",
                "deps": [dataset, locked("src/driftledger/models", "6" * 32 + ".dir", nfiles=9)],
                "params": {"params.yaml": {"run.seed": 7, "generators.brush": {"provider": "painter"}}},
                "outs": [images],
            },
            drift_stage("shapes", COMBINATION): {
                "cmd": "driftledger drift shapes seer brush eye",
                "deps": [images, dataset, locked("src/driftledger/metrics", "7" * 32 + ".dir", nfiles=7)],
                "params": {"params.yaml": {"genception.iterations": score.inputs.chain.iterations}},
                "outs": outs,
            },
        },
    }


def divide_lock(root: Path) -> None:
    """Let each pipeline's stages stand in a lock of its own, where ``dvc.lock`` had all."""
    lock = yaml.safe_load((root / "dvc.lock").read_text(encoding="utf-8"))
    for file in LOCKS[1:]:
        pipeline = yaml.safe_load((REPOSITORY / file).with_suffix(".yaml").read_text(encoding="utf-8"))
        own = [name for name in lock["stages"] if name.partition("@")[0] in pipeline["stages"]]
        stages = {name: lock["stages"].pop(name) for name in own}
        if stages:
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text(yaml.safe_dump({"schema": "2.0", "stages": stages}, sort_keys=False), "utf-8")
    write_lock(root, lock)


def write_lock(root: Path, lock: Any) -> None:
    (root / "dvc.lock").write_text(yaml.safe_dump(lock, sort_keys=False), encoding="utf-8")


def write_ledger(root: Path, score: ScoreFile | None = None, *, category: str = "round", said: str = "a disc") -> None:
    """Two samples with their chains over two iterations, one score file, and the lock that speaks of them."""
    score = score or score_file()
    layout = Layout(root)
    dataset, chain = layout.dataset("shapes"), layout.chain("shapes", "seer", "brush")
    entries, records = [], []
    for number, sample in enumerate(("disc", "ring")):
        write_image(dataset / "images" / f"{sample}.png", (200, 30 * number, 0))
        file = {"id": sample, "file": f"images/{sample}.png", "category": category, "sha256": "a" * 64}
        entries.append(SampleEntry.model_validate(file | {"width": 40, "height": 30}))
        for t in (1, 2):
            write_image(chain / "images" / sample / f"{t}.png", (0, 30 * number, 100 * t))
            image = {"image": f"images/{sample}/{t}.png", "image_sha256": "b" * 64, "parent_sha256": "a" * 64}
            records.append(ChainRecord(sample=sample, t=t, outcome=Outcome.OK, description=said, seed=t, **image))
    write_jsonl(dataset / "samples.jsonl", entries)
    write_jsonl(chain / "records.jsonl", records)
    target = layout.scores("genception", "shapes", COMBINATION)
    write_json(target, score)
    values = {"category": category, "outcome": Outcome.OK}
    rows = [
        SampleScore(sample="disc", similarity=[0.9, -0.25], gc=[0.9, 0.8], **values),
        SampleScore(sample="ring", similarity=[0.9, None], gc=[0.9, None], **values),
    ]
    write_jsonl(samples_file(target), rows)
    write_lock(root, lock_of(root, score))


def write_image(path: Path, colour: tuple[int, int, int]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(png_bytes(Image.new("RGB", (40, 30), colour)))
