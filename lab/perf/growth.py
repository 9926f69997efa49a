"""Growth of each command with images and models, with components that cost almost nothing.

Run: python -m lab.perf.growth  (half an hour)
"""

import math
import tempfile
from pathlib import Path

import numpy as np
import yaml
from PIL import Image

from lab.perf._report import ROOT, Row, Took, row, took, wait_until_idle, write

IMAGES = (10, 100, 1_000, 10_000)
"""With two models."""
MODELS = (2, 10, 30, 100)
"""With 100 images; 100 models only for the first three commands."""
RUN = "says_0/brush/layout"
COMMANDS = {
    "run": "driftledger run",
    "run, nothing to do": "driftledger run",
    "dvc repro, nothing to do": "dvc repro",
    "verify RUN": f"driftledger verify {RUN}",
    "bundle RUN": f"driftledger bundle {RUN} -o run.zip",
    "check FILE": "driftledger check run.zip",
    "report": "driftledger report",
    "audit RUN:METRIC": f"driftledger audit {RUN}:gc_at_1",
    "compare A B": f"driftledger compare {RUN} says_1/brush/layout",
    "plan": "driftledger plan",
    "gc": "driftledger gc",
}
LEAST = 0.3
"""CPU seconds that count as added at least: two starts of a command differ by a third of it."""
BRUSH = """
import zlib
import driftledger
from PIL import Image

@driftledger.generator
def brush(prompt, seed):
    return Image.new("RGB", (24, 24), tuple(zlib.crc32(prompt.encode()).to_bytes(4)[:3]))
"""
SAYS = """
@driftledger.model
def says_{number}(prompt, images):
    return f"{number}: {{images[-1].getpixel((0, 0))}}"
"""


def make_project(folder: Path, images: int, models: int, root: Path = ROOT) -> None:
    """Make a project with GenCeption, T = 1, on images of one colour each."""
    (folder / "photos").mkdir(parents=True)
    colours = np.random.default_rng(2).choice(2**24, images, replace=False)
    for number, colour in enumerate(colours.tolist()):
        image = Image.new("RGB", (24, 24), tuple(colour.to_bytes(3)))
        image.save(folder / f"photos/{number:06}.png")
    took("git init --quiet", folder)
    took("driftledger init --images photos", folder, root)
    says = "".join(SAYS.format(number=number) for number in range(models))
    (folder / "own.py").write_text(BRUSH + says, encoding="utf-8")
    file = folder / "params.yaml"
    params = yaml.safe_load(file.read_text(encoding="utf-8"))
    names = [f"says_{number}" for number in range(models)]
    params["run"] |= {"fidelity": [], "models": names, "generators": ["brush"]}
    params["models"] = {
        name: {"provider": f"own:{name}", "understood_by": ["layout"]} for name in names
    }
    params["generators"] = {"brush": {"provider": "own:brush"}}
    params["genception"]["iterations"] = 1
    file.write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")


def measure(images: int, models: int) -> dict[str, Took]:
    """Measure the commands in a new project, in their order."""
    costs = {}
    with tempfile.TemporaryDirectory(prefix="driftledger-", dir="/var/tmp") as name:
        folder = Path(name, "project")
        make_project(folder, images, models)
        for what in list(COMMANDS)[: 3 if models > 30 else None]:
            # 3: a bundle alone does not tell all
            costs[what] = took(COMMANDS[what], folder, codes="03")
            print(images, models, *costs[what], what, sep="\t", flush=True)
    return costs


def exponent(costs: dict[int, float]) -> float:
    """Return x of what a size adds to the first, in time ∝ sizeˣ, between the last two sizes.

    >>> exponent({10: 1.0, 100: 1.9, 1_000: 10.9}), exponent({10: 1, 100: 1, 1_000: 1})
    (1.0, 0.0)
    """
    first, *_, before, last = sorted(costs)
    added = [max(costs[size] - costs[first], LEAST) for size in (before, last)]
    grown = (last - first) / (before - first)
    return round(math.log(added[1] / added[0]) / math.log(grown), 2)


def row_of(name: str, measured: dict[str, dict[int, dict[str, Took]]]) -> Row:
    """Return the row of a command: the larger exponent, in images or in models."""
    exponents = []
    parts = []
    for what, by_size in measured.items():
        costs = {size: each[name] for size, each in by_size.items() if name in each}
        cpu = {size: cost.cpu for size, cost in costs.items()}
        exponents.append(exponent(cpu))
        seconds = ", ".join(f"{each:.3g}" for each in cpu.values())
        memory = costs[max(costs)].memory
        parts.append(f"{what} {exponents[-1]}: {seconds} s of CPU, {memory:.0f} MiB")
    return row(f"growth of `{name}`", max(exponents), "exponent", 1.1, "; ".join(parts))


if __name__ == "__main__":
    load = wait_until_idle()
    by_models = {models: measure(100, models) for models in MODELS}
    by_images = {images: measure(images, 2) for images in IMAGES}
    measured = {"images": by_images, "models": by_models}
    rows = [row_of(name, measured) for name in COMMANDS]
    write("growth", rows, ("dvc", "mlflow", "numpy"), load)
