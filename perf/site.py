"""The report's pages, over 10,000 images: how long, how many megabytes, and the largest page.

Run: python perf/site.py (two minutes, 1.5 GB of disk)

The ledger is made in a temporary folder: 2,000 samples and what two models made of each in two iterations, every image
another crop of a photograph that comes with scikit-image. Written are the pages of models and the gallery, and nothing
else of the report.
"""

import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import yaml
from _report import write
from PIL import Image
from skimage import data as photographs

from driftledger.benchmarks.records import RECORDS
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import ROWS, SCORE, Inputs, Row, Score
from driftledger.components.card import ComponentCard
from driftledger.core.canonical import canonical_json, md5_file
from driftledger.core.files import write_json, write_jsonl, write_text
from driftledger.core.paths import Paths
from driftledger.core.types import Outcome
from driftledger.data.records import SampleEntry
from driftledger.reports.site import build
from driftledger.reports.standing import by_benchmark

SAMPLES, MODELS, ITERATIONS = 2_000, 2, 2
SIDE = 224
SPEC = benchmark("genception")
CHAIN = SPEC.collects[0]
DESCRIPTION = (
    "A photograph of a harbour at dusk: {} red boats, a white lighthouse, clouds, and gulls above the pier. " * 3
)
NAMES = ("astronaut", "brick", "cat", "coffee", "coins", "grass", "gravel", "moon", "rocket", "retina")
BUDGET_MB, PAGE_MB = 60, 2


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="driftledger-") as folder:
        root, site = Path(folder) / "ledger", Path(folder) / "site"
        scores = make(root)
        project: Any = SimpleNamespace(root=root, combinations=[], paths=Paths(root))
        started, busy = time.perf_counter(), time.process_time()
        build.write_site(site, project, by_benchmark(scores), {})
        seconds, cpu = time.perf_counter() - started, time.process_time() - busy
        images, pages = (sizes(site, suffix) for suffix in (".webp", ".html"))
    results = {
        "images": len(images),
        "pages": len(pages),
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu, 1),
        "thumbnails_mb": round(sum(images) / 1e6, 1),
        "pages_mb": round(sum(pages) / 1e6, 1),
        "largest_page_kb": round(max(pages) / 1e3),
        "largest_thumbnail_kb": round(max(images) / 1e3),
    }
    print(*(f"{name:<22}{value:>10}" for name, value in results.items()), sep="\n")
    if results["thumbnails_mb"] > BUDGET_MB or results["largest_page_kb"] > PAGE_MB * 1000:
        raise RuntimeError(f"beyond the budget of {BUDGET_MB} MB of thumbnails and {PAGE_MB} MB a page")
    write("site", results, libraries=("pillow", "jinja2"))


def sizes(folder: Path, suffix: str) -> list[int]:
    return [file.stat().st_size for file in folder.rglob(f"*{suffix}")]


def make(root: Path) -> list[Score]:
    """The ledger: its images, records and scores, and a lock that names them."""
    sources = [np.asarray(Image.fromarray(getattr(photographs, name)()).convert("RGB")) for name in NAMES]
    with ThreadPoolExecutor() as pool:
        list(
            pool.map(lambda each: crop(each[1], sources[each[0] % len(sources)], each[0]), enumerate(image_files(root)))
        )
    names = [f"photo_{number:04}" for number in range(SAMPLES)]
    hashes = {"sha256": "a" * 64, "width": SIDE, "height": SIDE, "category": "photos"}
    entries = [SampleEntry.model_validate({"id": name, "file": f"images/{name}.png", **hashes}) for name in names]
    write_jsonl(root / "data/datasets/photos/samples.jsonl", entries)
    stages: dict[str, Any] = {}
    scores = [one_score(root, stages, f"model_{model}", names) for model in range(MODELS)]
    write_text(root / "dvc.lock", yaml.safe_dump({"schema": "2.0", "stages": stages}))
    return scores


def image_files(root: Path) -> Iterator[Path]:
    for number in range(SAMPLES):
        name = f"photo_{number:04}"
        yield root / "data/datasets/photos/images" / f"{name}.png"
        for model in range(MODELS):
            folder = root / CHAIN.at({"dataset": "photos", "model": f"model_{model}", "generator": "painter"})
            yield from (folder / "images" / name / f"{t}.png" for t in range(1, ITERATIONS + 1))


def crop(file: Path, source: Any, number: int) -> None:
    """Write the part of a photograph that no other number has."""
    height, width = (side - SIDE + 1 for side in source.shape[:2])
    top, left = divmod(number * 7919 % (height * width), width)
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(source[top : top + SIDE, left : left + SIDE]).save(file, compress_level=1)


def one_score(root: Path, stages: dict[str, Any], model: str, names: list[str]) -> Score:
    """The records, rows and score of one model, and the lock's entries for them."""
    roles = {"model": model, "generator": "painter", "encoder": "layout"}
    keys = {"dataset": "photos", **roles}
    request = {"describe_prompt": "Describe it.", "max_tokens": None, "generate_prompt": "{description}", "seed": 1}
    common = {"schema": 2, "outcome": "ok", "parent_sha256": "a" * 64, "image_sha256": "a" * 64, "seed": 1}
    records = [
        {
            "sample": name,
            "t": t,
            "image": f"images/{name}/{t}.png",
            "description": DESCRIPTION.format(t, t, t),
            **common,
        }
        for name in names
        for t in range(1, ITERATIONS + 1)
    ]
    write_text(root / CHAIN.at(keys) / RECORDS, "".join(canonical_json(each) + "\n" for each in records))
    values = {"similarity": [0.8, 0.6], "gc": [0.8, 0.667]}
    rows = [Row(unit=name, group="photos", cluster=name, outcome=Outcome.OK, values=values) for name in names]
    folder = root / SPEC.scores.at(keys)
    cards = {
        role: ComponentCard(name=name, fingerprint="b" * 64, provider=role, version="1", settings={}, identity={})
        for role, name in roles.items()
    }
    score = Score(
        benchmark=SPEC.name,
        keys=keys,
        components=cards,
        metrics={"gc_at_2": 0.667, "similarity_at_1": 0.8, "similarity_at_2": 0.6},
        groups={"category": {"photos": {"gc_at_2": 0.667}}, "group": {}},
        scored=SAMPLES,
        counted=SAMPLES,
        total=SAMPLES,
        coverage=1.0,
        inputs=Inputs(data_digest="d" * 64, records={}, protocol={"iterations": ITERATIONS, **request}, settings={}),
    )
    write_jsonl(folder / ROWS, rows)
    write_json(folder / SCORE, score)
    outs = {SPEC.data: [SPEC.data.at(keys)], CHAIN: [CHAIN.at(keys)]}
    outs[SPEC.scores] = [f"{SPEC.scores.at(keys)}/{name}" for name in (SCORE, ROWS)]
    for stage, paths in outs.items():
        locked = [
            {"path": path, "md5": md5_file(file) if (file := root / path).is_file() else "0" * 32, "size": 1}
            for path in paths
        ]
        stages[stage.named(keys)] = {"cmd": f"driftledger {stage.name}", "outs": locked}
    return score


if __name__ == "__main__":
    main()
