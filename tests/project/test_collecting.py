"""What a folder of records is made from: every name of the settings is looked up."""

import pytest

from driftledger.benchmarks.registry import benchmark
from driftledger.core.errors import ConfigError, StoreError
from driftledger.scoring.roles import ROLES, SECTIONS
from tests.support.evaluation import build
from tests.support.small import make_small, small_params, write_params

KEYS = {
    "genception": {
        "dataset": "my_images",
        "model": "blind",
        "generator": "painter",
    },
    "mm_vet": {"question_set": "scenes_mm_vet", "model": "blind"},
    "trac": {"dataset": "digits", "model": "blind", "description": "shown"},
}
NOT_BUILT = {
    "genception": "dataset my_images",
    "mm_vet": "question set scenes_mm_vet",
    "trac": "dataset digits",
}
EXAMPLES = {
    "choose": "similar_text",
    "encoder": "tfidf",
    "shots": [1],
    "by": "regions_medium",
}


@pytest.fixture
def make(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def project(**way):
        make_small(tmp_path)
        params = small_params()
        params["run"]["descriptions"] = ["shown"]
        params["descriptions"]["shown"] = {"prompt": "Describe it.", **way}
        return write_params(tmp_path, params)

    return project


def test_names_are_looked_up_once(make):
    project = make(demonstrations=EXAMPLES)
    made_from = {
        "genception": ["model blind", "generator painter"],
        "mm_vet": ["model blind", "judge rubric"],
        "trac": [
            "model blind",
            "example_encoder tfidf",
            "example_model regions_medium",
        ],
    }
    build(project)
    for name, keys in KEYS.items():
        collecting = project.collecting(benchmark(name), keys)
        assert made_from[name] == [
            f"{role} {entry}" for role, (entry, _) in collecting.components.items()
        ]
        for role, (entry, component) in collecting.components.items():
            assert component is project.component(SECTIONS[ROLES[role]], entry)
        assert collecting.protocol["seed"] == project.settings.run.seed


def test_each_model_must_go_on_from_the_beginning_of_a_reply(make):
    project = make(demonstrations=EXAMPLES, prefix="It has")
    with pytest.raises(
        ConfigError, match=r"models\.blind cannot be given the beginning"
    ):
        project.collecting(benchmark("trac"), KEYS["trac"])


@pytest.mark.parametrize("name", KEYS)
def test_data_that_are_not_built_are_one_sentence(make, name):
    message = f"{NOT_BUILT[name]} is not built yet; run 'dvc repro data'"
    with pytest.raises(StoreError, match=message):
        make().collecting(benchmark(name), KEYS[name])
