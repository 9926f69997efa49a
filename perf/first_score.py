"""From nothing to the first score of somebody's own images: which commands, and how long each takes.

Run: python perf/first_score.py (a few minutes, 1 GB of disk)

The wheel is built and installed by pip into an empty environment, from pip's cache: a first installation fills it and
is not measured. Ten photographs that come with scikit-image and scikit-learn are in a folder of an empty Git
repository, outside of this one. The first score is there when the first score file is.
"""

import os
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from _report import ROOT, took, write

sys.path.insert(0, str(ROOT))

from tests.support.wheels import build_wheel, new_environment, photograph

IMAGES = 10


def main() -> None:
    steps: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="driftledger-") as name:
        folder = Path(name)
        kept = {key: value for key, value in os.environ.items() if key.startswith(("PIP_", "SSL_")) or key == "TMPDIR"}
        bare = {**kept, "DVC_SITE_CACHE_DIR": str(folder / "site"), "DVC_NO_ANALYTICS": "1"}
        bare |= {
            "PATH": f"{folder / 'measured' / 'bin'}:/usr/local/bin:/usr/bin:/bin",
            "MLFLOW_DISABLE_TELEMETRY": "true",
        }

        def step(shown: str, command: list[str], at: Path, home: str) -> None:
            spent = took(command, at, {**bare, "HOME": home})
            steps.append({"command": shown, **{unit: round(value, 1) for unit, value in spent._asdict().items()}})

        wheel = build_wheel(ROOT, folder / "wheel")
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python"]
        for environment in ("before", "measured"):
            new_environment(folder / environment)
            python = str(folder / environment / "bin" / "python")
            what = ["install", "--constraint", str(ROOT / "requirements.txt"), str(wheel)]
            steps.clear()
            step("pip install driftledger", [*pip, python, *what], folder, os.environ["HOME"])  # with pip's own cache
        repository, home = folder / "repository", str(folder)
        photograph(repository / "photos", IMAGES)
        took(("git", "init", "--quiet"), repository, {**bare, "HOME": home})
        step("driftledger init --images photos", ["driftledger", "init", "--images", "photos"], repository, home)
        scores, began, first = repository / "reports" / "scores", time.monotonic(), list[float]()

        def watch() -> None:
            while not any(scores.rglob("score.json")):
                time.sleep(0.05)
            first.append(time.monotonic() - began)

        threading.Thread(target=watch, daemon=True).start()
        step("driftledger run", ["driftledger", "run"], repository, home)
        found = sorted(scores.glob("*/genception/*/*/*/score.json"))
        model, _, _, generator, encoder = found[0].parent.relative_to(scores).parts
        run = f"{model}/{generator}/{encoder}"
        step("driftledger audit MODEL/GENERATOR/ENCODER", ["driftledger", "audit", run], repository, home)
    results = {
        "images": IMAGES,
        "commands_to_the_first_score": 3,
        "steps": steps,
        "scores": len(found),
        "seconds_to_the_first_score": round(sum(each["seconds"] for each in steps[:2]) + first[0], 1),
        "seconds_in_all": round(sum(each["seconds"] for each in steps), 1),
    }
    write("first_score", results, libraries=("dvc", "mlflow", "numpy", "pip"))


if __name__ == "__main__":
    main()
