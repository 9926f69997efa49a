"""Score made folders by the version of driftledger that is imported.

Run by :mod:`lab.same_numbers` as ``python score_folders.py TREE FOLDERS TARGET``, where ``TREE`` is
a checkout of that version, and ``PYTHONPATH`` its ``src``.
"""

import json
import sys
from pathlib import Path
from typing import Any

from driftledger.benchmarks import scoring
from driftledger.benchmarks.registry import benchmark
from driftledger.collect.features import FeatureStore
from driftledger.project.project import Project


def scored(project: Project, folder: Path, features: FeatureStore) -> Any:
    """Return the score of a folder and its rows. Here alone versions differ."""
    case = json.loads((folder / "case.json").read_text("utf-8"))
    spec = benchmark(case["benchmark"])
    section = project.settings.section(spec.name)
    settings = {"min_coverage": 0.0, "unread": "worst", **case["settings"]}
    encoders = {}
    for role, name in case.get("encoders", {}).items():
        encoders[role] = project.component("encoders", name)
    ratings = folder / "ratings.csv"
    fields = {
        "keys": {"model": case["models"][0], **case["keys"]},
        "folders": {spec.data.name: folder / "data", spec.collects.name: folder},
        "section": section.model_copy(update=settings),
        "seed": 1,
        "encoders": encoders,
        "beside": {"ratings": ratings} if ratings.exists() else {},
        "features": features,
    }
    if hasattr(scoring, "ToScore"):  # before numbers were rows
        return spec.score(scoring.ToScore(**fields))
    return spec.score(scoring.Scoring(spec, **fields))


def main() -> None:
    """Write the score of every folder and its rows, or the error, as JSON."""
    tree, folders, target = map(Path, sys.argv[1:])
    project = Project(tree, own_code=True, resolved={})
    features = FeatureStore()
    for folder in sorted(folders.iterdir()):
        try:
            score, rows = scored(project, folder, features)
            texts = [json.dumps(each.to_dict()) for each in (score, *rows)]
        except Exception as error:  # one folder's must not hide the others' numbers
            texts = [json.dumps({"error": repr(error)})]
        out = target / folder.name
        out.mkdir()
        (out / "score.json").write_text(texts[0], "utf-8")
        (out / "rows.jsonl").write_text("\n".join(texts[1:]), "utf-8")


if __name__ == "__main__":
    main()
