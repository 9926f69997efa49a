from pathlib import Path

import pytest

from driftledger.benchmarks._chains.collect import CollectChains
from driftledger.collect.call import NotStoredError
from driftledger.collect.plan import Plan
from driftledger.collect.store import CallStore
from driftledger.commands.stages import ask
from driftledger.components.remote.limits import Limits, Prices
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import BudgetError
from driftledger.core.types import ImageFile, Sample
from driftledger.reports.plan import plan_table
from tests.conftest import draw
from tests.support.chains import chains
from tests.support.fakes import SizeGenerator
from tests.support.fakes.services import FarGenerator, FarModel
from tests.support.terminal import printed

PAID = Prices(input=1000.0, output=2000.0)
"""At which the fake model's call costs 0.2 at the most, and 0.1 in fact."""


@pytest.fixture
def samples(tmp_path: Path) -> list[Sample]:
    paths = [draw(tmp_path / f"{number}.png", number, (20 + 10 * number, 30)) for number in range(5)]
    return [Sample(f"s{number}", ImageFile(path, sha256_file(path))) for number, path in enumerate(paths)]


def stage(samples: list[Sample], model: FarModel, generator: FarGenerator | SizeGenerator) -> CollectChains:
    prompt = "{description}" if isinstance(generator, FarGenerator) else "draw {description}"
    return chains(samples, model, generator, 3, prompt)


def count(plan: Plan, collecting: CollectChains) -> bool:
    """Count a stage's calls; whether all of them are stored."""
    try:
        collecting.run(plan.run)
    except NotStoredError:
        return False
    return True


def test_before_the_first_call_everything_is_to_make(samples: list[Sample], tmp_path: Path) -> None:
    model, generator = FarModel(prices=PAID), FarGenerator(prices=Prices(image=0.04))
    with CallStore(tmp_path / "store") as store:
        plan = Plan(store)
        assert not count(plan, stage(samples, model, generator))
    asked, drawn = plan.of(model).to_dict(), plan.of(generator).to_dict()
    assert (asked["stored"], asked["to_make"]) == (0, 15)
    assert (asked["most_input_tokens"], asked["most_output_tokens"]) == (1500, 750)
    assert asked["most_cost"] == pytest.approx(15 * 0.2)
    assert asked["likely_cost"] is None
    assert (drawn["to_make"], drawn["most_cost"]) == (15, pytest.approx(0.6))


def test_a_run_that_stopped_needs_the_rest(samples: list[Sample], tmp_path: Path) -> None:
    model = FarModel(prices=PAID, limits=Limits(max_calls=8))
    with CallStore(tmp_path / "store") as store:
        with pytest.raises(BudgetError):
            ask(stage(samples, model, SizeGenerator()), store)
        plan = Plan(store)
        assert not count(plan, stage(samples, model, SizeGenerator()))
    asked = plan.of(model).to_dict()
    assert (asked["stored"], asked["to_make"], asked["attempts_so_far"]) == (8, 7, 8)
    assert asked["spent"] == pytest.approx(0.8)
    assert asked["likely_cost"] == pytest.approx(0.7)
    assert plan.of(SizeGenerator()).stored + plan.of(SizeGenerator()).to_make == 15


def test_after_the_run_nothing_is_to_make(samples: list[Sample], tmp_path: Path) -> None:
    with CallStore(tmp_path / "store") as store:
        ask(stage(samples, FarModel(), FarGenerator()), store)
        plan = Plan(store)
        assert count(plan, stage(samples, FarModel(), FarGenerator()))
    assert [(calls.stored, calls.to_make) for calls in plan.calls.values()] == [(15, 0), (15, 0)]


def test_a_call_that_two_chains_need_is_counted_once(samples: list[Sample], tmp_path: Path) -> None:
    """Both generators start from the same five descriptions."""
    with CallStore(tmp_path / "store") as store:
        plan = Plan(store)
        for generator in (FarGenerator(), SizeGenerator()):
            assert not count(plan, stage(samples, FarModel(), generator))
    assert plan.of(FarModel()).to_make == 15 + 10
    assert plan.of(FarGenerator()).to_make == plan.of(SizeGenerator()).to_make == 15


def test_a_whole_stage_that_is_counted_twice_counts_once_and_one_that_is_not_whole_counts_nothing(
    samples: list[Sample], tmp_path: Path
) -> None:
    with CallStore(tmp_path / "store") as store:
        ask(stage(samples, FarModel(), FarGenerator()), store)
        plan = Plan(store)
        assert plan.recorded(stage(samples, FarModel(), SizeGenerator()).run) is None
        assert plan.calls == {}
        for _ in range(2):
            plan.recorded(stage(samples, FarModel(), FarGenerator()).run)
        assert [plan.of(each).stored for each in (FarModel(), FarGenerator())] == [15, 15]


def test_the_table_says_what_costs_and_what_does_not() -> None:
    free = {"stored": 1000, "to_make": 5, "most_input_tokens": 0, "most_output_tokens": 0, "most_cost": None}
    free |= {"likely_cost": None, "attempts_so_far": 0, "spent": 0.0}
    paid = {"stored": 1, "to_make": 5, "most_input_tokens": 12345, "most_output_tokens": 10, "most_cost": 3.456}
    paid |= {"likely_cost": 1.2, "attempts_so_far": 4, "spent": 0.5}
    head, first, second, last = printed(plan_table({"models.free": free, "models.paid": paid})).splitlines()
    assert first.split() == ["models.free", "1,000", "5", "–", "–", "–", "–", "–"]
    assert second.split() == ["models.paid", "1", "5", "12,345", "10", "1.20", "3.46", "0.50"]
    assert last.split() == ["all", "3.46", "0.50"]
    assert "to make" in head
