"""A project of all six benchmarks that is evaluated in two seconds: tiny images, embedded
components, no DVC."""

import re
from collections.abc import Callable, Collection
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from driftledger.project.project import Project
from tests.conftest import draw
from tests.sentence import edit
from tests.support.evaluation import build, evaluate
from tests.support.params import default_params

Params = dict[str, Any]
IMAGES = 2
QUESTIONS = 13
"""In each of the three question sets: one of each theme."""


def small_params() -> Params:
    params = default_params()
    params["run"] |= {
        "datasets": ["my_images", "digits"],
        "genception": ["my_images"],
        "self_retrieval": ["my_images"],
        "fidelity": ["my_images"],
    }
    params["run"] |= {"models": ["regions_medium", "blind"], "text_encoders": ["tfidf"]}
    params["datasets"] = {
        "my_images": {"provider": "image_folder", "path": "my_images"},
        "digits": {"provider": "digits", "support_per_label": 2, "test_per_label": 1},
    }
    for name in params["run"]["question_sets"]:
        params["question_sets"][name] = {
            "provider": "scenes",
            "protocol": name.removeprefix("scenes_"),
        }
        params["question_sets"][name]["count"] = QUESTIONS
    for section in params.values():
        if "min_coverage" in section:
            section["min_coverage"] = 0.1
    params["genception"]["iterations"] = 2
    params["mm_sap"]["permutations"] = params["mm_vet"]["gradings"] = 1
    params["descriptions"]["features_by_words"]["max_tokens"] = [60]
    params["generators"]["painter"]["longest_side"] = 24
    return params


def service_params(address: str, questions: int, **more: Any) -> Params:
    """Let a service at ``address`` be the only model; entries of it have ``more``."""
    params = small_params()
    params["run"]["models"] = ["seer"]
    params["models"]["seer"] = {
        "provider": "openai",
        "model": "vision-1",
        "base_url": address,
        "api_key_env": None,
        "understood_by": ["painter", "layout", "rubric"],
        "limits": {"concurrency": 8, "timeout": 60.0},
        **more,
    }
    params["mm_sap"]["permutations"] = params["mm_vet"]["gradings"] = 2
    for name in params["run"]["question_sets"]:
        params["question_sets"][name]["count"] = questions
    return params


def write_params(root: Path, params: Params) -> Project:
    """Write ``params.yaml``, and open the project that it describes."""
    (root / "params.yaml").write_text(
        yaml.safe_dump(params, sort_keys=False), encoding="utf-8"
    )
    return Project(root, own_code=True)


def changed(root: Path, change: Callable[[Params], object]) -> Project:
    """Change ``params.yaml``, and open the project that it describes then."""
    params = yaml.safe_load((root / "params.yaml").read_text(encoding="utf-8"))
    change(params)
    return write_params(root, params)


def edited(root: Path, values: Params) -> Project:
    """Set values of ``params.yaml`` by their dotted names, and open the project."""
    return changed(root, lambda params: edit(params, {"set": values}))


def without_tracking(root: Path) -> None:
    """Take the stage that fills MLflow out of ``dvc.yaml``."""
    pipeline = root / "dvc.yaml"
    text = pipeline.read_text(encoding="utf-8")
    without = re.sub(r"  track:.*?\n\n", "", text, flags=re.DOTALL)
    assert len(without) < len(text)
    pipeline.write_text(without, encoding="utf-8")


def update(project: Project) -> None:
    """Bring records and scores up to date, as ``dvc repro`` would."""
    build(project)
    evaluate(project)


def make_small(root: Path) -> Project:
    """Write the images and ``params.yaml``, whose paths start at the current folder."""
    for number in range(IMAGES):
        draw(
            root
            / "my_images"
            / ("round" if number % 2 else "square")
            / f"{number}.png",
            number,
            (24, 18),
        )
    return write_params(root, small_params())


def folders(root: Path) -> dict[str, int]:
    """Return folder → time, of each folder that a stage has made."""
    marks = [
        *(root / "data").rglob("inputs.json"),
        *(root / "reports/scores").rglob("inputs.json"),
    ]
    return {
        mark.parent.relative_to(root).as_posix(): mark.stat().st_mtime_ns
        for mark in marks
    }


def contents(root: Path) -> dict[str, bytes]:
    """Return file → bytes, of each folder that a stage has made."""
    files = [*(root / "data").rglob("*"), *(root / "reports/scores").rglob("*")]
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in files
        if path.is_file()
    }


def made_by(project: Project) -> set[str]:
    """Bring the project up to date, and return the folders that were made for it."""
    before = folders(project.root)
    update(project)
    return {
        name for name, when in folders(project.root).items() if before.get(name) != when
    }


def matching(names: Collection[str], patterns: Collection[str]) -> set[str]:
    found = [
        {name for name in names if fnmatchcase(name, pattern)} for pattern in patterns
    ]
    assert all(found)
    return set().union(*found)
