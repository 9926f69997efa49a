"""CPU time and peak memory of whole stages by the number of samples, with components that do nothing: both should be
linear at the most.

Each stage of MME and of chains runs in a process of its own, as ``dvc repro`` runs it, after one over a few samples
that imports what it needs. Images have 8×8 pixels. ``--sizes 1000,10000,100000`` goes further than ``make perf``.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import yaml
from _report import write
from numpy.typing import NDArray
from PIL import Image

from driftledger.commands.stages import dataset, question_set, run_stage
from driftledger.components.base import Generator, Model
from driftledger.core.types import Conversation, Generated, Reply
from driftledger.project.project import Project

SIZES = (1_000, 10_000)
FEW = 10
"""Samples of what runs before anything is measured."""
QUESTIONS, IMAGES, SAYS, DRAWS = "asked", "seen", "says", "draws"
STAGES = {
    "answer": ("mme", "answer", (QUESTIONS, SAYS)),
    "grade": ("mme", "grade", (QUESTIONS, SAYS)),
    "score": ("mme", "mme", (QUESTIONS, SAYS)),
    "chain": ("genception", "chain", (IMAGES, SAYS, DRAWS)),
    "chain score": ("genception", "genception", (IMAGES, SAYS, DRAWS, "layout")),
}
"""What is measured → benchmark, stage and names."""
ITERATIONS = 2


class Says(Model):
    """Says yes at once."""

    provider: ClassVar[str] = "samples:Says"
    version: ClassVar[str] = "1"
    code_is_identity: ClassVar[bool] = False
    batch_size: int = 16

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        return [Reply("yes") for _ in conversations]


class Draws(Generator):
    """Draws one colour at once."""

    provider: ClassVar[str] = "samples:Draws"
    version: ClassVar[str] = "1"
    code_is_identity: ClassVar[bool] = False
    batch_size: int = 16

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Generated]:
        return [Generated(Image.new("RGB", (8, 8), (seed % 256, seed // 256 % 256, 0))) for seed in seeds]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=lambda text: [int(each) for each in text.split(",")], default=SIZES)
    parser.add_argument("--only", choices=STAGES, help="measure one stage in this process")
    parser.add_argument("--write", type=int, help="write a project of so many samples in this process")
    parser.add_argument("--folders", type=Path, nargs="+", help="of a few samples, and of those to measure")
    arguments = parser.parse_args()
    if arguments.write is not None:
        _write_project(arguments.folders[0], arguments.write)
        print("written")
        return
    if arguments.only is not None:
        print(json.dumps(_measured(arguments.only, *arguments.folders)))
        return
    sizes = np.array(arguments.sizes)
    by_size = [dict(_stages(size)) for size in arguments.sizes]
    results: dict[str, Any] = {"iterations": ITERATIONS}
    for stage in STAGES:
        seconds, peaks = (np.array([found[stage][key] for found in by_size]) for key in ("cpu_seconds", "peak_mib"))
        results[stage] = {
            "cpu_ms_per_sample": _by_size(sizes, seconds / sizes * 1e3),
            "exponent": round(float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0]), 3),
            "peak_mib": _by_size(sizes, peaks),
            "kib_per_sample": round(float(np.polyfit(sizes, peaks, 1)[0]) * 1024, 2),
        }
        print(stage, json.dumps(results[stage]), flush=True)
    write("samples", results, libraries=("numpy", "pillow", "pydantic"))


def _by_size(sizes: NDArray[np.int_], values: NDArray[np.float64]) -> dict[str, float]:
    return {str(size): round(float(value), 3) for size, value in zip(sizes, values, strict=True)}


def _stages(samples: int) -> Iterator[tuple[str, dict[str, float]]]:
    """What each stage takes, in turn, each going on from the one before."""
    with tempfile.TemporaryDirectory(prefix="driftledger-") as folder:
        few, many = Path(folder) / "few", Path(folder) / "many"
        for root, size in ((few, FEW), (many, samples)):
            _in_own_process("--write", str(size), "--folders", str(root))
        for stage in STAGES:
            yield stage, json.loads(_in_own_process("--only", stage, "--folders", str(few), str(many)))


def _in_own_process(*arguments: str) -> str:
    """The last line that this script prints; whose memory counts as its child's, so that it does nothing itself."""
    command = [sys.executable, __file__, *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1]


def _measured(stage: str, few: Path, many: Path) -> dict[str, float]:
    benchmark, name, keys = STAGES[stage]
    run_stage(Project(few, own_code=True), benchmark, name, keys)
    began = time.process_time()
    run_stage(Project(many, own_code=True), benchmark, name, keys)
    seconds = time.process_time() - began
    return {"cpu_seconds": seconds, "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def _write_project(root: Path, samples: int) -> None:
    params = yaml.safe_load((Path(__file__).parents[1] / "params.yaml").read_text(encoding="utf-8"))
    selected = {"mme": [QUESTIONS], "genception": [IMAGES]}
    params["run"] |= {key: selected.get(key, []) for key in ("trac", "fidelity", "mm_sap", "mm_vet", *selected)}
    params["run"] |= {"datasets": [IMAGES], "question_sets": [QUESTIONS], "models": [SAYS], "generators": [DRAWS]}
    params["genception"] |= {"iterations": ITERATIONS, "cross_check": []}
    params["datasets"] = {IMAGES: {"provider": "image_folder", "path": str(root / "images")}}
    params["question_sets"] = {
        QUESTIONS: {"provider": "table", "protocol": "mme", "path": str(root / "questions.jsonl")}
    }
    params["models"] = {SAYS: {"provider": Says.provider}}
    params["generators"] = {DRAWS: {"provider": Draws.provider}}
    (root / "images").mkdir(parents=True)
    (root / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    rows = []
    for number in range(samples):
        image = f"{number // 2 * 2:06}"  # MME asks twice about each
        rows.append({"question": f"Is {number} even?", "answer": ("yes", "no")[number % 2], "category": "count"})
        rows[-1]["image"] = f"images/{image}.png"
        colour = tuple(np.random.default_rng(number).integers(0, 256, 3).tolist())
        Image.new("RGB", (8, 8), colour).save(root / "images" / f"{number:06}.png")
    (root / "questions.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    project = Project(root, own_code=True)
    dataset(project, IMAGES)
    question_set(project, QUESTIONS)
    run_stage(project, "genception", "witness", [IMAGES])
    shutil.rmtree(root / "images")


if __name__ == "__main__":
    main()
