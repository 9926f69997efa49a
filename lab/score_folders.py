"""Score made folders by the version of driftledger that is imported.

Run by :mod:`lab.same_numbers` as ``python score_folders.py TREE FOLDERS TARGET``, where ``TREE`` is
a checkout of that version, and ``PYTHONPATH`` its ``src``.
"""

import json
import sys
from pathlib import Path
from typing import Any

try:
    from driftledger.benchmarks.base import scoring
    from driftledger.benchmarks.base.benchmark import Scoring
except ImportError:  # before benchmarks shared a folder
    from driftledger.benchmarks import scoring  # type: ignore[attr-defined,no-redef]

    Scoring = scoring.Scoring  # type: ignore[attr-defined,misc]
from driftledger.benchmarks.registry import benchmark
from driftledger.collect.features import FeatureStore
from driftledger.project.project import Project


def scored(project: Project, folder: Path, features: FeatureStore) -> Any:
    """Return a benchmark, and the score of a folder with its rows. Here alone versions differ."""
    case = json.loads((folder / "case.json").read_text())
    spec = benchmark(case["benchmark"])
    section = project.settings.section(spec.name)
    settings = {"min_coverage": 0.0, "unread": "worst", **case["settings"]}
    section = section.model_validate({**section.model_dump(), **settings})
    encoders = {}
    for role, name in case.get("encoders", {}).items():
        encoders[role] = project.component("encoders", name)
    ratings = folder / "ratings.csv"
    fields: dict[str, Any] = {
        "keys": {"model": case["models"][0], **case["keys"]},
        "folders": {spec.data.name: folder / "data", spec.collects.name: folder},
        "section": section,
        "seed": 1,
        "encoders": encoders,
        "beside": {"ratings": ratings} if ratings.exists() else {},
        "features": features,
    }
    return spec, spec.score(Scoring(spec, **fields))


def main() -> None:
    """Write the score of every folder and its rows, or the error."""
    tree, folders, target = map(Path, sys.argv[1:])
    project = Project(tree, own_code=True, resolved={})
    features = FeatureStore()
    for folder in folders.iterdir():
        out = target / folder.name
        try:
            scoring.write_score(out, *scored(project, folder, features))
        except Exception as error:  # one folder's must not hide the others' numbers
            out.mkdir()
            (out / "score.json").write_text(json.dumps({"error": repr(error)}))


if __name__ == "__main__":
    main()
