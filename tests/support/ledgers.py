"""A hand-written ledger, as ``dvc repro`` leaves one: score folders, stored samples and chains, and a ``dvc.lock``."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from PIL import Image

from driftledger.benchmarks.base import DATASET, ROLES, SECTIONS, Benchmark, Selected, Stage
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard, CollectedRecord
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import METRICS, ROWS, SCORE, Row, Score
from driftledger.benchmarks.scoring import Scored, write_score
from driftledger.components.card import ComponentCard
from driftledger.core.files import Record, write_json, write_jsonl
from driftledger.core.images import png_bytes
from driftledger.core.paths import Combination
from driftledger.core.types import Outcome
from driftledger.data.records import SampleEntry
from driftledger.ledger.lock import LOCK
from tests.support.records import iteration

COMBINATION = Combination("seer", "brush", "eye")
ITERATIONS = 2

KEYS = {"dataset": "shapes", **COMBINATION._asdict()}
DATA, CHAINS = DATASET.at(KEYS), "data/chains/shapes/seer/brush"
SCORES = "reports/scores/genception/shapes/seer/brush/eye"
"""The folder of the score."""
SCORE_FILE, ROWS_FILE = f"{SCORES}/{SCORE}", f"{SCORES}/{ROWS}"


def selected(*scores: tuple[str, Mapping[str, str]]) -> Selected:
    """A selection of scores: name of the benchmark and keys of each."""
    return [(benchmark(name), keys) for name, keys in scores]


SELECTED = selected(("genception", KEYS))


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


def locked(path: str, md5: str, **more: int) -> dict[str, Any]:
    return {"path": path, "hash": "md5", "md5": md5, "size": 1000, **more}


def lock_entries(root: Path, score: Score, folders: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Stage → entry, from the data to a score whose files are in ``root``.

    Args:
        folders: name of the data's or a collect stage → the output that it wrote.
    """
    spec = benchmark(score.benchmark)
    return {
        stage.named(score.keys): _entry(root, spec, stage, score, folders)
        for stage in spec.stages
        if stage.name in folders or not stage.apart
    }


def _entry(
    root: Path, spec: Benchmark, stage: Stage, score: Score, folders: Mapping[str, dict[str, Any]]
) -> dict[str, Any]:
    names = [score.keys[key] for key in stage.keys]
    outs = [folders[stage.name]] if stage.name in folders else _score_files(root, stage.at(score.keys))
    code = hashlib.sha256(stage.code.encode()).hexdigest()
    if stage is spec.data:
        [name] = names
        resolved: dict[str, Any] = {
            f"code.{stage.name}.{name}": code,
            f"settings.{stage.name}s.{name}": {"provider": "image_folder"},
        }
        return {
            "cmd": f"driftledger stage {stage.name} {name}",
            "params": {"data/resolved.json": resolved},
            "outs": outs,
        }
    resolved = {f"code.{spec.name}.{stage.name}": code}
    earlier = spec.stages[: spec.stages.index(stage)]
    params = {"run.seed": 7}
    given = score.inputs.protocol | score.inputs.settings
    params |= {f"{spec.name}.{name}": given[name] for name in stage.settings if name in given}
    resolved |= {
        f"{SECTIONS[ROLES[role]]}.{card.name}": card.fingerprint
        for role, card in score.components.items()
        if (ROLES[role] == "encoder") is (stage is spec.scores)
    }
    return {
        "cmd": f"driftledger stage {spec.name} {stage.name} {' '.join(names)}",
        "deps": sorted(
            (dict(folders[each.name]) for each in earlier if each.name in folders), key=lambda dep: dep["path"]
        ),
        "params": {"params.yaml": params, "data/resolved.json": resolved},
        "outs": outs,
    }


def _score_files(root: Path, folder: str) -> list[dict[str, Any]]:
    files = [f"{folder}/{name}" for name in (METRICS, ROWS, SCORE)]
    return [locked(file, md5_of((root / file).read_bytes())) for file in files]


def md5_of(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def add_stages(root: Path, entries: Mapping[str, Any]) -> None:
    """Write entries into ``dvc.lock``, which need not be there yet; one that it has stays."""
    path = root / LOCK
    new: dict[str, Any] = {"schema": "2.0", "stages": {}}
    lock = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else new
    lock["stages"] = entries | lock["stages"]
    write_lock(root, lock)


def lock_of(root: Path, score: Score) -> dict[str, Any]:
    """``dvc.lock`` over the files that :func:`write_ledger` wrote."""
    folders = {
        "dataset": locked(DATA, "1" * 32 + ".dir", nfiles=4),
        "chain": locked(CHAINS, "2" * 32 + ".dir", nfiles=6),
    }
    resolve = {"cmd": "driftledger stage resolve", "outs": [locked("data/resolved.json", "0" * 32)]}
    return {"schema": "2.0", "stages": {"resolve": resolve} | lock_entries(root, score, folders)}


def write_lock(root: Path, lock: Any) -> None:
    (root / LOCK).write_text(yaml.safe_dump(lock, sort_keys=False), encoding="utf-8")


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


def write_ledger(root: Path, score: Score | None = None, *, category: str = "round", said: str = "a disc") -> None:
    """Two samples with their chains over two iterations, one score, and the lock that names them."""
    score = score or genception_score()
    entries: list[Record] = []
    records = []
    chains = benchmark(score.benchmark).collects.at(score.keys)
    for number, sample in enumerate(("disc", "ring")):
        write_image(root / DATA / "images" / f"{sample}.png", (200, 30 * number, 0))
        file = {"id": sample, "file": f"images/{sample}.png", "category": category, "sha256": "a" * 64}
        entries.append(SampleEntry.model_validate(file | {"width": 40, "height": 30}))
        for t in (1, 2):
            write_image(root / chains / "images" / sample / f"{t}.png", (0, 30 * number, 100 * t))
            records.append(iteration(sample, t, said, f"images/{sample}/{t}.png", image_sha256="b" * 64))
    write_jsonl(root / DATA / "samples.jsonl", entries)
    write_collected(root, score, records)
    rows = [
        genception_row("disc", [0.9, -0.25], [0.9, 0.8], category),
        genception_row("ring", [0.9, None], [0.9, None], category),
    ]
    write_scored(root, score, rows)
    write_lock(root, lock_of(root, score))


def genception_row(
    sample: str, similarity: Sequence[float | None], gc: Sequence[float | None], category: str = "round"
) -> Row:
    values = {"similarity": list(similarity), "gc": list(gc)}
    return Row(unit=sample, group=category, cluster=sample, outcome=Outcome.OK, values=values)


def write_image(path: Path, colour: tuple[int, int, int]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(png_bytes(Image.new("RGB", (40, 30), colour)))
