"""What a folder of records is made from: every name of the settings is looked up."""

import pytest

from driftledger.benchmarks.registry import benchmark
from driftledger.core.errors import ConfigError, StoreError
from driftledger.scoring.roles import ROLES, SECTIONS
from tests.support.cases import cases, each_case
from tests.support.evaluation import build
from tests.support.small import make_small, small_params, write_params

CASES = cases(__file__, "collecting")
"""The keys of a folder of records, and what is looked up for them."""
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
    build(project)
    for case in CASES:
        collecting = project.collecting(benchmark(case["benchmark"]), case["keys"])
        names = []
        for role, (entry, component) in collecting.components.items():
            assert component is project.component(SECTIONS[ROLES[role]], entry)
            names.append(f"{role} {entry}")
        assert names == case["made_from"]
        assert collecting.protocol["seed"] == project.settings.run.seed


def test_each_model_must_go_on_from_the_beginning_of_a_reply(make):
    project = make(demonstrations=EXAMPLES, prefix="It has")
    refusal = r"models\.blind cannot be given the beginning"
    with pytest.raises(ConfigError, match=refusal):
        project.collecting(benchmark("trac"), CASES[2]["keys"])


@each_case(CASES)
def test_data_that_are_not_built_are_one_sentence(make, case):
    message = f"{case['lacks']} is not built yet; run 'dvc repro data'"
    with pytest.raises(StoreError, match=message):
        make().collecting(benchmark(case["benchmark"]), case["keys"])
