"""How long users wait: rows, each beside the best other way that there is.

Run: python perf/waits.py  (about five minutes; 'make perf' puts the rows on the page)

CPU seconds are of a command and all that it starts, since others may share the machine; a ratio is
to the other way, measured in turn on the same inputs.
"""

import gc
import io
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import yaml
from _report import ROOT, Took, quiet, took, write
from PIL import Image

sys.path.insert(0, str(ROOT))

import driftledger
from driftledger.collect.call import Draw
from driftledger.collect.store import CallStore
from driftledger.core.types import Result, Subject, Usage
from driftledger.metrics.frechet import frechet_distance
from driftledger.metrics.retrieval import votes
from driftledger.project.project import Project
from lab.kills import ITERATIONS, Service
from lab.kills import Project as Chains
from tests.support.wheels import photograph

WIDTH = 32
"""Calls of a service at a time; each answers after a second."""
BARE = """
import json, sys, mlflow
kept = json.load(open(sys.argv[1]))
client = mlflow.MlflowClient("sqlite:///bare.db")
experiment = client.create_experiment("bare", artifact_location="bare")
for run in kept:
    begun = client.create_run(experiment, tags=run["tags"]).info.run_id
    metrics = [mlflow.entities.Metric(*each) for each in run["metrics"]]
    params = [mlflow.entities.Param(*each) for each in run["params"].items()]
    client.log_batch(begun, metrics, params)
    client.log_artifacts(begun, run["artifacts"])
    client.set_terminated(begun)
"""
READ = """
import json, sys, mlflow
client = mlflow.MlflowClient("sqlite:///mlflow.db")
[experiment] = [each for each in client.search_experiments() if each.name == "driftledger"]
kept = []
for run in client.search_runs([experiment.experiment_id]):
    history = []
    for name in run.data.metrics:
        history += client.get_metric_history(run.info.run_id, name)
    metrics = [(each.key, each.value, each.timestamp, each.step) for each in history]
    tags = {key: value for key, value in run.data.tags.items() if not key.startswith("mlflow.")}
    place = client.download_artifacts(run.info.run_id, "")
    kept.append({"tags": tags, "params": run.data.params, "metrics": metrics, "artifacts": place})
json.dump(kept, open(sys.argv[1], "w"))
"""
"""The runs that ``track`` has made, for a bare client to write once more: without traces and
registered models."""
LOOP = """
import asyncio, base64, hashlib, io, sys
from pathlib import Path
from openai import AsyncOpenAI
from PIL import Image

address, iterations, width, folder, *files = sys.argv[1:]

def keep(encoded):
    data = base64.b64decode(encoded)
    Image.open(io.BytesIO(data)).load()
    file = Path(folder, hashlib.sha256(data).hexdigest())
    file.write_bytes(data)
    return file

async def chain(client, model, generator, file):
    for _ in range(int(iterations)):
        async with model:
            url = "data:image/png;base64," + base64.b64encode(file.read_bytes()).decode()
            image = {"type": "image_url", "image_url": {"url": url}}
            content = [image, {"type": "text", "text": "Describe the image."}]
            asked = [{"role": "user", "content": content}]
            said = await client.chat.completions.create(model="eyes", messages=asked)
        prompt = said.choices[0].message.content
        async with generator:
            drawn = await client.images.generate(model="hands", prompt=prompt, size="64x64")
            file = await asyncio.to_thread(keep, drawn.data[0].b64_json)

async def main():
    async with AsyncOpenAI(api_key="none", base_url=address) as client:
        model, generator = (asyncio.Semaphore(int(width)) for _ in range(2))
        await asyncio.gather(*(chain(client, model, generator, Path(file)) for file in files))

asyncio.run(main())
"""
"""The same chains by the bare client: each drawing is decoded, named by its hash and written."""

Row = dict[str, Any]


def row(
    what: str,
    value: float,
    unit: str = "s of CPU",
    *,
    goal: float | None = None,
    beside: str = "",
) -> Row:
    shown = {
        "what": what,
        "value": round(value, 3 if value < 10 else 1),
        "unit": unit,
        "goal": goal,
        "beside": beside,
    }
    print(shown, flush=True)
    return shown


def of_photographs(top: Path) -> list[Row]:
    """Ten photographs in a new folder, to their scores in MLflow."""
    folder, spent = top / "ten", 0.0
    photograph(folder / "photos", 10)
    for command in (
        "git init --quiet",
        "driftledger init --images photos",
        "driftledger run",
    ):
        spent += took(command.split(), folder, quiet(folder)).cpu_seconds
    return [row("ten photographs: `driftledger init` and `run`", spent, goal=6)]


def of_checkout(top: Path) -> list[Row]:
    """The default evaluation, and what is asked of it then."""
    folder = top / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)

    def cpu(*command: str) -> float:
        return took(command, folder, quiet(folder)).cpu_seconds

    rows = [row("`driftledger run` in a new clone", cpu("driftledger", "run"), goal=60)]
    target = "/".join(Project(folder, own_code=True).combinations[0])
    rows.append(
        row(
            "`driftledger audit RUN:METRIC`, the first time",
            cpu("driftledger", "audit", f"{target}:gc_at_1"),
            goal=2,
        )
    )
    bare = cpu("dvc", "repro")
    beside = f"`dvc repro`: {bare:.2g}"
    rows.append(
        row(
            "`driftledger run`, nothing to do",
            cpu("driftledger", "run"),
            goal=4,
            beside=beside,
        )
    )
    rows.append(
        row("`driftledger verify RUN`", cpu("driftledger", "verify", target), goal=4)
    )
    rows.append(row("`driftledger plan`", cpu("driftledger", "plan"), goal=1.5))
    rows.append(row("`driftledger report`", cpu("driftledger", "report"), goal=5))
    cpu(sys.executable, "-c", READ, "kept.json")
    shutil.move(folder / "mlflow.db", folder / "before.db")
    cpu(sys.executable, "-c", BARE, "kept.json")  # once to warm up
    for name in ("bare.db", "bare"):
        shutil.move(folder / name, top / name)
    bare, ours = (
        cpu(sys.executable, "-c", BARE, "kept.json"),
        cpu("driftledger", "track"),
    )
    beside = f"a bare MlflowClient, no traces: {bare:.2g}"
    rows.append(
        row("`driftledger track`: six runs with their traces", ours, beside=beside)
    )
    params = yaml.safe_load((folder / "params.yaml").read_text(encoding="utf-8"))
    params["genception"]["iterations"] -= 1
    (folder / "params.yaml").write_text(
        yaml.safe_dump(params, sort_keys=False), encoding="utf-8"
    )
    rows.append(
        row("`driftledger run` after T is one less", cpu("driftledger", "run"), goal=15)
    )
    return rows


def of_services(top: Path, side: int, samples: int) -> list[Row]:
    """Chains whose model and generator are services, with photographs: ideally no place is ever
    empty, and a call costs what a loop around the client costs that looks at each drawing, too."""
    photograph(top / f"photographs {side}", 8, (side, side))
    drawings = [
        file.read_bytes() for file in sorted((top / f"photographs {side}").iterdir())
    ]
    service = Service(
        1.0, lambda digest: marked(drawings[digest[0] % len(drawings)], digest)
    )
    few, few_bare = both_ways(top / f"few {side}", service, drawings, 1)
    spent, bare = both_ways(top / f"many {side}", service, drawings, samples)
    # One half is described while the other is drawn; a chain alone takes a second for each of its
    # calls.
    ideal = max(math.ceil(samples / WIDTH) * ITERATIONS + 1, 2 * ITERATIONS)
    # without the start
    calls = (samples - 1) * ITERATIONS * 2
    ours = 1000 * (spent.cpu_seconds - few.cpu_seconds) / calls
    theirs = 1000 * (bare.cpu_seconds - few_bare.cpu_seconds) / calls
    what = f"services of 1 s, {WIDTH} at a time, photographs of {side}²"
    return [
        row(what, spent.seconds / ideal, "× ideal", goal=1.5),
        row(
            f"CPU of a call, photographs of {side}²",
            ours / theirs,
            "× AsyncOpenAI in a loop",
            goal=1.4,
            beside=f"{ours:.3g} and {theirs:.3g} ms, without the starts",
        ),
    ]


def both_ways(
    top: Path, service: Service, drawings: list[bytes], samples: int
) -> tuple[Took, Took]:
    """Collect the chains of some samples with driftledger, and in a bare loop."""
    top.mkdir()
    project = Chains(top / "project", ROOT, service, images=samples, at_once=WIDTH)
    files = sorted((project.root / "images").rglob("*.png"))
    for number, file in enumerate(files):
        with Image.open(io.BytesIO(drawings[number % len(drawings)])) as image:
            image.putpixel((0, 0), (number, 0, 0))  # datasets compare pixels
            image.save(file, compress_level=1)
    environment = quiet(project.root)
    for stage in ("resolve", "data"):
        took(("driftledger", "stage", stage), project.root, environment)
    given = (service.address, str(ITERATIONS), str(WIDTH), str(top), *map(str, files))
    spent = list[Took]()
    for command in (("driftledger", "collect"), (sys.executable, "-c", LOOP, *given)):
        service.answered.clear()
        spent.append(took(command, project.root, environment))
        answered = service.answered.total()
        if answered != samples * ITERATIONS * 2:
            raise RuntimeError(f"{answered} calls were made for {samples} samples")
    return spent[0], spent[1]


def of_store(size: int, goal: float) -> Row:
    """Finished calls that 32 threads store one by one, on the disk of the checkout."""
    component: Any = SimpleNamespace(fingerprint="f" * 64)
    calls = 16 * WIDTH
    with (
        tempfile.TemporaryDirectory(dir=ROOT, prefix=".perf-") as folder,
        CallStore(Path(folder)) as store,
        ThreadPoolExecutor(WIDTH) as threads,
    ):

        def put(number: int) -> None:
            data = os.urandom(size) if size else None
            result = Result("yes", data=data, usage=Usage(10, 2, seconds=0.5))
            drawing = Draw(component, f"{number}", 0, Subject("s", 1))
            store.put([(drawing, result)])

        began = time.monotonic()
        list(threads.map(put, range(calls)))
        seconds = time.monotonic() - began
    what = f"finished calls stored, {WIDTH} at once, {size:,} bytes of picture"
    beside = f"{calls / seconds:.3g} calls a second"
    return row(what, 1000 * seconds / calls, "ms a call", goal=goal, beside=beside)


def marked(png: bytes, mark: bytes) -> bytes:
    """The same photograph as other bytes, with a comment in it, which costs the server nothing."""
    chunk = b"tEXtComment\0" + mark.hex().encode()
    return (
        png[:-12]
        + (len(chunk) - 4).to_bytes(4)
        + chunk
        + zlib.crc32(chunk).to_bytes(4)
        + png[-12:]
    )


def quickest(
    ours: Callable[[], object], theirs: Callable[[], object], rounds: int
) -> tuple[float, float]:
    """The least CPU seconds of each, measured in turn."""
    least = [math.inf, math.inf]
    for _ in range(rounds):
        for place, each in enumerate((ours, theirs)):
            began = time.process_time()
            each()
            least[place] = min(least[place], time.process_time() - began)
    return least[0], least[1]


def centred(features: Any) -> Any:
    return (features - features.mean(axis=0)) / math.sqrt(len(features) - 1)


def by_svd(a: Any, b: Any) -> float:
    """FastFID, for few samples."""
    x, y = centred(a), centred(b)
    spread = (
        (x * x).sum()
        + (y * y).sum()
        - 2 * np.linalg.svd(x @ y.T, compute_uv=False).sum()
    )
    return float(((a.mean(axis=0) - b.mean(axis=0)) ** 2).sum() + spread)


def by_cholesky(a: Any, b: Any) -> float:
    """For many samples."""
    x, y = centred(a), centred(b)
    root = np.linalg.cholesky(x.T @ x)
    spread = (
        (x * x).sum()
        + (y * y).sum()
        - 2 * np.sqrt(np.linalg.eigvalsh(root.T @ (y.T @ y) @ root)).sum()
    )
    return float(((a.mean(axis=0) - b.mean(axis=0)) ** 2).sum() + spread)


def by_partition(support: Any, labels: Any, queries: Any, k: int) -> Any:
    """Every vote of up to k nearest, ties as they come."""
    support, queries = (
        each / np.linalg.norm(each, axis=1, keepdims=True)
        for each in (support, queries)
    )
    similarity = queries @ support.T
    near = np.argpartition(-similarity, k - 1, axis=1)[:, :k]
    near = np.take_along_axis(
        near, np.argsort(-np.take_along_axis(similarity, near, 1), axis=1), 1
    )
    counts = np.cumsum(np.eye(labels.max() + 1, dtype=np.int16)[labels[near]], axis=1)
    return counts.argmax(axis=2)


def of_metrics() -> list[Row]:
    random, rows = np.random.default_rng(1), list[Row]()
    for count, name, way, rounds in (
        (60, "`svd(A Bᵀ)`", by_svd, 9),
        (3000, "Cholesky and `eigvalsh`", by_cholesky, 2),
    ):
        a, b = (random.normal(size=(count, 2048)) + shift for shift in (0.0, 0.1))
        if not math.isclose(frechet_distance(a, b), way(a, b), rel_tol=1e-6):
            raise RuntimeError(f"{name} gives another distance")
        ours, theirs = quickest(
            partial(frechet_distance, a, b), partial(way, a, b), rounds
        )
        rows.append(
            row(
                f"Fréchet distance, {count} × 2,048",
                ours / theirs,
                f"× {name}",
                goal=1.2,
                beside=f"{theirs:.2g} s",
            )
        )
    support, queries = (
        random.normal(size=(20_000, 384)),
        random.normal(size=(2_000, 384)),
    )
    labels = random.integers(0, 100, len(support))
    support, queries = support.astype(np.float32), queries.astype(np.float32)
    names = [str(label) for label in labels]
    ours, theirs = quickest(
        partial(votes, support, names, queries, 200),
        partial(by_partition, support, labels, queries, 200),
        2,
    )
    what = "TRAC's votes: 2,000 in 20,000, k to 200"
    rows.append(
        row(
            what,
            ours / theirs,
            "× GEMM and `argpartition`",
            goal=1.2,
            beside=f"{theirs:.2g} s",
        )
    )
    return rows


@driftledger.encoder
def eye(images: Any) -> Any:
    return np.stack(
        [
            np.asarray(image.resize((2, 2)), dtype=np.float32).ravel() + 1
            for image in images
        ]
    )


@driftledger.generator
def brush(prompt: str, seed: int) -> Any:
    return Image.new(
        "RGB", (16, 16), tuple(zlib.crc32(prompt.encode()).to_bytes(4)[:3])
    )


def says(number: int) -> Any:
    def model(prompt: str, images: Any) -> str:
        return f"{number}: {images[-1].resize((1, 1)).getpixel((0, 0))}"

    model.__name__ = f"model_{number}"
    return driftledger.model(model)


def of_growth() -> Row:
    """The exponent of what each image, model and iteration adds, with components that cost next to
    nothing."""
    seeds = np.random.default_rng(2).integers(0, 256, (10_000, 3)).tolist()

    def cost(images: int, models: int, t: int) -> float:
        pictures = [
            Image.new("RGB", (24, 24), tuple(colour)) for colour in seeds[:images]
        ]
        some = [says(number) for number in range(models)]
        # an empty one: in the user's, calls would be kept
        with tempfile.TemporaryDirectory() as store:
            how: dict[str, Any] = {
                "generator": brush,
                "encoder": eye,
                "iterations": t,
                "store": store,
            }
            began = time.process_time()
            driftledger.evaluate(some, pictures, **how)
            return time.process_time() - began

    gc.set_threshold(50_000)  # as the command does
    cost(10, 1, 1)  # imports
    exponents = {}
    for name, at, sizes in (
        ("images", 0, (10, 1_000, 10_000)),
        ("models", 1, (1, 8, 24)),
        ("T", 2, (1, 8, 24)),
    ):
        costs = []
        for size in sizes:
            given = [100, 1, 1]
            given[at] = size
            costs.append(cost(*given))
        marginal = math.log((costs[2] - costs[0]) / (costs[1] - costs[0]))
        exponents[name] = marginal / math.log(
            (sizes[2] - sizes[0]) / (sizes[1] - sizes[0])
        )
    beside = ", ".join(f"{name} {value:.2f}" for name, value in exponents.items())
    what = "growth from 10 to 10,000 images, of models and T to 24"
    return row(what, max(exponents.values()), "exponent", goal=1.05, beside=beside)


def main() -> None:
    with tempfile.TemporaryDirectory(
        prefix="driftledger-", ignore_cleanup_errors=True
    ) as name:
        top = Path(name)
        rows = [
            *of_photographs(top),
            *of_checkout(top),
            of_store(0, 1.0),
            of_store(460_000, 6.7),
            *of_services(top, 512, 96),
            *of_services(top, 1024, 48),
        ]
    rows += [*of_metrics(), of_growth()]
    write(
        "waits",
        {"rows": rows},
        libraries=("dvc", "mlflow", "numpy", "openai", "pillow"),
    )


if __name__ == "__main__":
    main()
