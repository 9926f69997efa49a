"""What does the default evaluation cost? ``driftledger run`` beside ``dvc repro``, in two new clones.

Run: python perf/run.py  (ten minutes of CPU)

*clean* evaluates the default selection, *nothing* runs it again, and *iterations* after T is one less. Seconds of CPU
are of all processes together, since others may share the machine.
"""

import subprocess
import tempfile
from pathlib import Path

import yaml
from _report import ROOT, quiet, took, write

WAYS = {"driftledger run": ("driftledger", "run"), "dvc repro": ("dvc", "repro")}


def main() -> None:
    results: dict[str, dict[str, dict[str, float]]] = {}
    with tempfile.TemporaryDirectory(prefix="driftledger-", ignore_cleanup_errors=True) as top:
        for way, command in WAYS.items():
            folder = Path(top) / way.replace(" ", "_")
            subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
            for part in ("clean", "nothing", "iterations"):
                if part == "iterations":
                    params = yaml.safe_load((folder / "params.yaml").read_text(encoding="utf-8"))
                    params["genception"]["iterations"] -= 1
                    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")
                spent = took(command, folder, quiet(folder))
                for unit, value in spent._asdict().items():
                    results.setdefault(part, {}).setdefault(unit, {})[way] = round(value, 1)
    write("run", results, libraries=("dvc", "mlflow"))


if __name__ == "__main__":
    main()
