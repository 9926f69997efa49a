"""Peak memory of the chain stage at 21 and at 2,000 samples: samples are streamed, so it hardly grows.

Each size runs in a process of its own, with the stage that ``dvc repro`` runs, over noisy 640×480 images. The model's
own memory of what it has said, of 4,096 descriptions at the most, is left out: it is no part of the stage.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import yaml
from _report import write
from PIL import Image

from driftledger.commands.stages import dataset, run_stage
from driftledger.demo.models.regions import model as regions
from driftledger.project.project import Project

SIZES = (21, 2000)
ITERATIONS = 2
WIDTH, HEIGHT = 640, 480


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", type=int, help="measure one size in this process and print its peak in MiB")
    only = parser.parse_args().only
    if only is not None:
        print(peak_mib(only))
        return
    peaks = {size: _in_own_process(size) for size in SIZES}
    small, large = (peaks[size] for size in SIZES)
    decoded = (SIZES[1] - SIZES[0]) * (ITERATIONS + 1) * WIDTH * HEIGHT * 3 / 2**20
    print(f"peak at {SIZES[0]} samples {small:.1f} MiB, at {SIZES[1]} {large:.1f} MiB: {large / small:.3f}×")
    print(f"the added images hold {decoded:.0f} MiB when decoded; the peak grew by {large - small:.1f} MiB")
    results = {
        "peak_mib": {str(size): round(peak, 1) for size, peak in peaks.items()},
        "ratio": round(large / small, 3),
        "grew_mib": round(large - small, 1),
        "added_images_decoded_mib": round(decoded),
        "iterations": ITERATIONS,
    }
    write("chain_memory", results, libraries=("numpy", "pillow", "scikit-image"))


def _in_own_process(samples: int) -> float:
    command = [sys.executable, __file__, "--only", str(samples)]
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def peak_mib(samples: int) -> float:
    """Run the stage over ``samples`` images; this process's peak resident memory in MiB."""
    regions._description = regions._description.__wrapped__  # type: ignore[assignment]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _write_project(root, samples)
        dataset(Project(root), "noise")
        run_stage(Project(root), "genception", "chain", ["noise", "regions_coarse", "painter"])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _write_project(root: Path, samples: int) -> None:
    params = yaml.safe_load((Path(__file__).parents[1] / "params.yaml").read_text(encoding="utf-8"))
    params["genception"]["iterations"] = ITERATIONS
    params["run"] |= {"datasets": ["noise"], "genception": ["noise"], "trac": [], "fidelity": []}
    params["datasets"] = {"noise": {"provider": "image_folder", "path": str(root / "noise")}}
    (root / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    (root / "noise").mkdir()
    random = np.random.default_rng(1)
    for number in range(samples):
        blocks = random.integers(0, 256, (HEIGHT // 40, WIDTH // 40, 3), dtype=np.uint8)
        Image.fromarray(blocks).resize((WIDTH, HEIGHT)).save(root / "noise" / f"{number:04}.png")


if __name__ == "__main__":
    main()
