"""Which samples fidelity asks about, and how."""

from driftledger.benchmarks.base.benchmark import Collecting
from driftledger.benchmarks.base.descriptions import Description
from driftledger.benchmarks.fidelity.spec import FidelityBenchmark, FidelitySettings
from driftledger.core.types import Sample
from driftledger.data.records import read_samples
from tests.support.labelled import Item, write_labelled
from tests.support.params import default_params


def test_the_test_set_is_redrawn_or_everything_where_there_is_none(tmp_path):
    items = [Item("s", "x", "support", (1, 0, 0)), Item("a", "x", "test", (2, 0, 0))]
    write_labelled(tmp_path / "d", items)
    samples = read_samples(tmp_path / "d")
    assert [sample.id for sample in FidelityBenchmark().samples(samples)] == ["a"]
    plain = [Sample(sample.id, sample.medium) for sample in samples]
    assert FidelityBenchmark().samples(plain) == plain


def test_a_redrawing_is_a_chain_of_one_iteration_with_the_filled_prompt(tmp_path):
    write_labelled(tmp_path / "d", [Item("a", "x", "test", (1, 2, 3))])
    way = Description(
        prompt="Tell me of the {category}.", max_tokens=(40,), prefix="It has"
    )
    section = default_params()["fidelity"] | {
        "generate_prompt": "{description}",
        "repeats": 2,
    }
    given = Collecting(
        spec=FidelityBenchmark(),
        keys={"dataset": "d"},
        data=tmp_path / "d",
        components={},
        section=FidelitySettings.model_validate(section),
        seed=3,
        description=way,
    )
    assert FidelityBenchmark().protocol(given) == {
        "iterations": 1,
        "describe_prompt": "Tell me of the bird.",
        "max_tokens": 40,
        "generate_prompt": "{description}",
        "seed": 3,
        "prefix": "It has",
        "repeats": 2,
    }
