"""Does self-retrieval rank a better describer higher? Three stages of one training are compared.

Run as ``python -m lab.retrieval`` in the top folder, two minutes of CPU; it writes
``reports/self_retrieval.md``. The benchmark itself describes, compares and scores. From its records
ten lines of numpy compute the same numbers again.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import yaml

from driftledger.benchmarks.registry import (
    benchmark,
    benchmark_names,
    shipped_section,
)
from driftledger.commands import stages
from driftledger.commands.collect import collect
from driftledger.components.base import Encoder
from driftledger.core.files import read_json, write_text
from driftledger.data.records import read_samples
from driftledger.project.project import Project
from driftledger.project.resolve import resolve
from driftledger.project.settings import PARAMS, read_params
from driftledger.scoring.number import Number
from driftledger.scoring.score import SCORE, Score
from lab.trio.settings import load_trio

PAGE = Path("reports/self_retrieval.md")
HEAD = (
    "# Does self-retrieval rank a better describer higher?\n\n"
    "By `python -m lab.retrieval`: three stages of one describer's training, and a control that "
    "never looks, describe 120 drawn arrangements of one to three shapes; the encoder `trio_clip` "
    "compares each description with all of them. All three have learnt to answer the whole "
    "prompt, and none to answer its first sentence alone. In brackets: 95 % intervals. *By "
    "numpy*: the same, computed again from the records by ten lines.\n\n"
    "| | training steps | prompt | recall@1, % | by numpy | CLIPScore | by numpy | chance, % |\n"
    "|---|---:|---|---:|---:|---:|---:|---:|\n"
)
COUNTED = (
    "\n## How many images there are decides how hard it is\n\n"
    "The same by the first sentence of the prompt, among fewer or more arrangements: recall@1 and "
    "CLIPScore, in percent.\n\n"
    "| images | early: recall@1 | middle: recall@1 | early: CLIPScore | middle: CLIPScore | chance "
    "|\n|---:|---:|---:|---:|---:|---:|\n"
)
DATASET, ENCODER, CONTROL = "arrangements", "trio_clip", "blind"
PER_CATEGORY = 40
"""Arrangements of one thing, of two and of three; trio_clip has learnt from none of them."""
OTHER_COUNTS = (5, 10, 20, 80)


class Measured(NamedTuple):
    """Self-retrieval of a model, by the benchmark and by numpy."""

    recall1: Number
    clip_score: Number
    chance: Number
    by_numpy: tuple[float, float]
    """recall@1 in percent, and CLIPScore."""


def measure(
    folder: Path,
    model: str,
    *,
    prompt: str | None = None,
    per_category: int = PER_CATEGORY,
) -> Measured:
    """Run the benchmark with a model of the catalogue, in a project of its own in ``folder``.

    Paths of checkpoints begin at the current folder, the top of this repository.

    Args:
        prompt: what is asked; None for the prompt that comes with the benchmark.
    """
    spec = benchmark("self_retrieval")
    params = read_params(Path())
    params["run"] |= {key: [] for key in ("question_sets", *benchmark_names())}
    params["run"] |= {
        "datasets": [DATASET],
        spec.name: [DATASET],
        "models": [model],
        "generators": [],
        "encoders": [ENCODER],
    }
    params["datasets"] = {DATASET: {"provider": DATASET, "per_category": per_category}}
    params[spec.name] = shipped_section(spec.name)
    if prompt:
        params[spec.name]["describe_prompt"] = prompt
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / PARAMS, yaml.safe_dump(params))
    project = Project(folder, own_code=True)
    resolve(project)
    stages.data(project)
    collect(project)
    stages.score(project, model)
    keys = {"dataset": DATASET, "model": model, "encoder": ENCODER}
    score = read_json(folder / spec.scores.at(keys) / SCORE, Score)
    numbers = {number.metric: number for number in score.numbers}
    return Measured(
        recall1=numbers["recall1"],
        clip_score=numbers["clip_score"],
        chance=numbers["chance"],
        by_numpy=by_numpy(
            folder / spec.collects.at(keys),
            folder / "data/datasets" / DATASET,
            project.component("encoders", ENCODER),
        ),
    )


def by_numpy(records: Path, dataset: Path, encoder: Encoder) -> tuple[float, float]:
    """Return recall@1 in percent and CLIPScore from records, for images without copies.

    If several images are equally near, the first is taken, which is exact where all descriptions
    are one text.
    """
    texts = {}
    for line in (records / "records.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        texts[record["unit"]] = record["results"][0]["text"]
    samples = read_samples(dataset)
    seen = encoder.encode_images([sample.medium.open() for sample in samples])
    read = encoder.encode_texts([texts[sample.id] for sample in samples])
    seen = seen / np.linalg.norm(seen, axis=1, keepdims=True)
    read = read / np.linalg.norm(read, axis=1, keepdims=True)
    cosines = read @ seen.T
    found = cosines.argmax(axis=1) == np.arange(len(samples))
    return 100 * float(found.mean()), 100 * float(np.diag(cosines).clip(0).mean())


def row(name: str, steps: int | None, prompt: str, measured: Measured) -> str:
    """Return a row of the table."""
    cells = [name, f"{steps:,}" if steps else "–", prompt]
    numbers = (measured.recall1, measured.clip_score)
    for number, again in zip(numbers, measured.by_numpy, strict=True):
        cells.append(f"{number.value:.1f} ({number.low:.1f}–{number.high:.1f})")
        cells.append(f"{again:.1f}")
    cells.append(f"{measured.chance.value:.2f}")
    return f"| {' | '.join(cells)} |\n"


def counted(one: Measured, other: Measured) -> str:
    """Return a row of the table over numbers of images."""
    cells = [f"{one.chance.n}"]
    for number in (one.recall1, other.recall1, one.clip_score, other.clip_score):
        cells.append(f"{number.value:.1f} ({number.low:.1f}–{number.high:.1f})")
    cells.append(f"{one.chance.value:.2f}")
    return f"| {' | '.join(cells)} |\n"


def first_sentence() -> str:
    """Return the first sentence of the benchmark's prompt."""
    prompt: str = shipped_section("self_retrieval")["describe_prompt"]
    return f"{prompt.partition('. ')[0]}."


def main() -> None:
    """Write the page."""
    steps = load_trio(Path()).models
    page = HEAD
    short = first_sentence()
    with TemporaryDirectory() as top:
        for shown, prompt in (("whole", None), ("first sentence", short)):
            for name in steps:
                measured = measure(Path(top) / shown / name, name, prompt=prompt)
                page += row(name, steps[name], shown, measured)
        page += row(CONTROL, None, "either", measure(Path(top) / CONTROL, CONTROL))
        page += COUNTED
        for count in sorted((PER_CATEGORY, *OTHER_COUNTS)):
            pair = []
            for name in [*steps][:2]:
                folder = Path(top) / f"{count}" / name
                pair.append(measure(folder, name, prompt=short, per_category=count))
            page += counted(*pair)
    write_text(PAGE, page)


if __name__ == "__main__":
    main()
