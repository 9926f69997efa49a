"""A small project of all benchmarks, evaluated once, and the features of its encoders."""

from pathlib import Path

import pytest
import yaml

from driftledger.project.project import Project
from tests.support.checked import Checkout
from tests.support.evaluation import build, evaluate
from tests.support.params import default_params

MODELS = ["regions_medium", "blind"]
SCENES = 13


@pytest.fixture(scope="session")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    root = tmp_path_factory.mktemp("evaluated")
    params = default_params()
    run = params["run"]
    run |= {"datasets": ["shapes", "labelled"], "genception": ["shapes"], "fidelity": ["shapes"], "trac": ["labelled"]}
    run |= {"models": MODELS, "descriptions": ["shown"]}
    drawn = {"provider": "arrangements", "per_category": 3, "general_category": "shapes"}
    params["datasets"] = {
        "shapes": drawn | {"groups": {"few": ["one", "two"], "many": ["three"]}},
        "labelled": drawn | {"labelled": True, "label_names": {"red circle": ["red disc"]}},
    }
    params["descriptions"]["shown"] = {
        "prompt": "What are the main visual features for {category} in this image?",
        "max_tokens": [200, 5],
        "demonstrations": {"choose": "random", "shots": [1]},
    }
    params["encoders"] = {"layout": {"provider": "layout"}, "tfidf": {"provider": "tfidf", "ngrams": 2}}
    params["encoders"]["words"] = {"provider": "words"}
    params["genception"] |= {"iterations": 3, "repeats": 2, "cross_check": MODELS}
    params["fidelity"]["repeats"] = 2
    for name in run["question_sets"]:
        params["question_sets"][name]["count"] = SCENES
    (root / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    project = Project(Path(root))
    build(project)
    with pytest.MonkeyPatch.context() as patch, (checkout := Checkout(root)).features.recorded(patch):
        evaluate(project)
    return checkout
