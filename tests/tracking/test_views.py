"""Saved views: what they hold, that they fit, and that what is there already is not written again."""

import json
from pathlib import Path
from typing import Any

import pytest

from driftledger.charts.palette import COLOURS, GREY
from driftledger.ledger.lineage import read_evidence
from driftledger.project.settings import Tracking
from driftledger.tracking import views
from driftledger.tracking.projection import show
from driftledger.tracking.score_part import ScorePart
from driftledger.tracking.views import LEADERBOARD, VIEW, Chart, SavedView, key_of_view, tags_of
from tests.support.description_ledgers import TRAC, add_trac
from tests.support.ledgers import (
    COMBINATION,
    KEYS,
    SELECTED,
    component,
    genception_score,
    selected,
    varied,
    write_ledger,
)

from .stores import Store

METRICS = [
    "genception/gc.shapes",
    "usage/seconds_per_describe.genception.shapes",
    "within category/a.gc.genception.shapes",
]


def of_ledger(root: Path) -> dict[str, SavedView]:
    write_ledger(root)
    lineages = read_evidence(root, SELECTED, COMBINATION).lineages
    parts = [ScorePart(each, f"{each.score.benchmark}/{each.on}", root) for each in lineages]
    return {view.name: view for view in views.views(parts, METRICS)}


def held(tag: str) -> dict[str, Any]:
    state = views._state_in(tag)
    assert isinstance(state, dict)
    return state


def test_there_is_a_leaderboard_a_view_per_benchmark_and_the_cost(tmp_path: Path) -> None:
    found = of_ledger(tmp_path)
    assert list(found) == ["Leaderboard", "Drift (GenCeption)", "Cost"]
    assert found["Leaderboard"].columns == ["gc_at_2.genception.shapes"]
    assert found["Drift (GenCeption)"].sections["over iterations"] == [
        Chart("genception/gc.shapes", "GC@t · shapes", over_steps=True),
        Chart("genception/similarity.shapes", "s(t) · shapes", over_steps=True),
    ]
    assert [chart.title for chart in found["Drift (GenCeption)"].sections["scores"]] == [
        "GC@2 · shapes",
        "s(2) · shapes",
    ]
    assert found["Cost"].columns == ["usage/seconds_per_describe.genception.shapes"]
    assert found["Cost"].closed == ["genception", "usage", "within category"]


def test_a_view_sorts_by_its_first_column_and_shows_its_own_charts_first() -> None:
    view = SavedView("v", ["a/b", "a/c"], {"scores": [Chart("a/b", "B", False), Chart("a/c", "C", True)]}, ["a"])
    [(key, tag)] = tags_of([view], {}, 7).items()
    assert key.startswith(VIEW)
    assert {name: value for name, value in json.loads(tag).items() if name != "state"} == {
        "name": "v",
        "createdAt": 7,
        "updatedAt": 7,
    }
    state = held(tag)
    assert (state["orderByKey"], state["orderByAsc"]) == ("metrics.`a/b`", False)
    assert [(each["metricKey"], each["type"]) for each in state["compareRunCharts"]] == [
        ("a/b", "BAR"),
        ("a/c", "LINE"),
    ]
    assert [(each["name"], each["display"]) for each in state["compareRunSections"]] == [("scores", True), ("a", False)]
    sections = {each["metricSectionId"] for each in state["compareRunCharts"]}
    assert sections == {state["compareRunSections"][0]["uuid"]}


def test_what_is_there_already_is_not_written_again() -> None:
    view = SavedView("v", ["a/b"], {"scores": [Chart("a/b", "B", False)]}, [])
    first = tags_of([view], {}, 7)
    assert tags_of([view], first, 8) == {}
    assert tags_of([view._replace(columns=["a/c"])], first, 8).keys() == first.keys()
    assert tags_of([view], dict.fromkeys(first, "no view"), 8).keys() == first.keys()


def test_of_hundreds_of_charts_as_many_are_kept_as_a_tag_holds() -> None:
    charts = [Chart(f"benchmark/{number * 7919}/metric_{number}", f"m {number}", True) for number in range(400)]
    [tag] = tags_of([SavedView("v", ["a/b"], {"scores": charts}, [])], {}, 7).values()
    assert len(tag) <= 5000
    assert 10 < len(held(tag)["compareRunCharts"]) < 400


def test_the_experiment_has_its_note_and_views(tmp_path: Path, mlflow_store: Store) -> None:
    write_ledger(tmp_path)
    evidence = read_evidence(tmp_path, SELECTED, COMBINATION)
    tracking = Tracking(uri=mlflow_store.uri, experiment="e", traces="none")
    bare = [each.model_copy(update={"code": each.code.model_copy(update={"dirty": False})}) for each in [evidence]]
    show(tmp_path, bare, tracking)
    tags = mlflow_store.client().get_experiment_by_name("e").tags
    assert "Evaluation runs" in tags["mlflow.note.content"]
    assert {json.loads(tag)["name"] for key, tag in tags.items() if key.startswith(VIEW)} >= {
        "Leaderboard",
        "Drift (GenCeption)",
    }


def test_the_views_are_those_of_what_is_selected_now(tmp_path: Path, mlflow_store: Store) -> None:
    """Also where it was selected before, and where somebody deleted one."""
    write_ledger(tmp_path)
    add_trac(tmp_path)
    tracking = Tracking(uri=mlflow_store.uri, experiment="e", traces="none")

    def shown(*keys: Any, repair: bool = False) -> list[str]:
        show(tmp_path, [read_evidence(tmp_path, selected(*keys), COMBINATION)], tracking, repair=repair)
        [leaderboard] = [tag for tag in tags().values() if '"name": "Leaderboard"' in tag]
        return [each["metricKey"] for each in held(leaderboard)["compareRunCharts"]]

    def tags() -> dict[str, str]:
        found: dict[str, str] = mlflow_store.client().get_experiment_by_name("e").tags
        return {key: tag for key, tag in found.items() if key.startswith(VIEW)}

    drift, both = [("genception", KEYS)], [("genception", KEYS), *TRAC]
    first = shown(*drift)
    assert shown(*both) != first
    assert shown(*drift) == first
    before = tags()
    client = mlflow_store.client()
    client.delete_experiment_tag(client.get_experiment_by_name("e").experiment_id, f"{VIEW}{key_of_view(LEADERBOARD)}")
    assert shown(*drift, repair=True) == first
    assert tags().keys() == before.keys()


@pytest.mark.parametrize(("provider", "colour"), [("seer_provider", COLOURS[0]), ("blind", GREY)])
def test_a_control_is_grey(tmp_path: Path, mlflow_store: Store, provider: str, colour: str) -> None:
    write_ledger(tmp_path, varied(genception_score(), model=component("seer", provider=provider)))
    show(
        tmp_path,
        [read_evidence(tmp_path, SELECTED, COMBINATION)],
        Tracking(uri=mlflow_store.uri, experiment="e", traces="none"),
    )
    client = mlflow_store.client()
    [run] = client.search_runs([client.get_experiment_by_name("e").experiment_id])
    assert run.data.tags["mlflow.runColor"] == colour
