"""What a run shows follows from its evidence: names, limits, tables and the units to look at."""

import json

import pytest

from driftledger.ledger.lineage import CodeVersion
from driftledger.reports.leaderboard import FLOORS
from driftledger.scoring.number import Number
from driftledger.tracking.content import (
    metrics_of,
    params_of,
    ranked_in,
    tags_of,
)
from driftledger.tracking.traces import chain_rows, pictures_of, traces_of
from driftledger.tracking.view import VIEW_TAG, leaderboard
from tests.support.cases import CASES, cases, each_case
from tests.support.ledgers import trac_score
from tests.support.tables import scores_of
from tests.tracking.dump import view_of
from tests.tracking.project import (
    SAMPLES,
    card,
    evidence,
    gen_score,
    rows,
    write_project,
)
from tests.words.spec import Words


@each_case(cases(__file__, "names"))
def test_names_in_mlflow(case):
    """What a run with these scores tracks."""
    tracked = metrics_of(evidence(*scores_of(case["scores"])))
    names = [*dict.fromkeys(each.name for each in tracked)]
    found = {
        "names": [each.name for each in tracked],
        "costs": {each.name: each.value for each in tracked if "per_" in each.name},
        "first": names[: len(case.get("first", []))],
        "last": names[-len(case.get("last", [])) :],
        "count": len(names),
    }
    for key in found.keys() & case.keys():
        assert found[key] == case[key]


def test_a_foreign_benchmark_is_tracked_by_its_headlines():
    assert [metric.name for metric in Words().metrics.tracked] == ["words"]


def test_params_are_few_and_name_versions():
    many = {f"setting_{n}": n for n in range(60)}
    long = card("brush", settings=many | {"prompt": "x" * 1000})
    run = evidence(gen_score(generator=long), trac_score())
    params = params_of(run)
    assert len(params) == 40
    assert params["generator_version"] == long.fingerprint[:12]
    expected = {"model": "seer", "text_encoder": "reader", "seed": "7"}
    assert params | expected | {"data.shapes": "d" * 12} == params
    assert all(len(value) < 500 for value in params.values())
    assert "rival" not in params.values()


@pytest.mark.parametrize(
    ("commit", "dirty"),
    [("c0ffee", False), ("c0ffee", True), (None, False), (None, True)],
)
def test_a_run_says_whether_there_was_a_commit(commit, dirty):
    code = CodeVersion(commit=commit, dirty=dirty)
    run = evidence(gen_score()).model_copy(update={"code": code})
    tags = tags_of(run, ranked_in([run]))
    assert tags["git.commit"] == (commit or "none")
    assert tags["git.dirty"] == str(dirty).lower()


@each_case(cases(__file__, "notes"))
def test_a_note_has_floors_and_ceilings(case):
    """Runs of one score each, and the first lines of each run's note."""
    runs = [evidence(score) for score in scores_of(case["scores"])]
    ranked = ranked_in(runs)
    found = {}
    for run in runs:
        table, floors, _ = tags_of(run, ranked)["mlflow.note.content"].split("\n\n", 2)
        assert floors == FLOORS
        head, _, *found[run.name] = table.split("\n")
        assert head == "| score | value | floor | ceiling | of the range | scored |"
    assert found == case["notes"]


def test_a_number_that_a_later_version_wrote_is_in_no_note():
    score = gen_score()
    score.numbers.append(Number(metric="later", value=1.0))
    run = evidence(score)
    assert "| 0.700 |" in tags_of(run, ranked_in([run]))["mlflow.note.content"]


@pytest.mark.parametrize(
    ("at_most", "units"),
    [("all", ["ring", "disc"]), (1, ["ring"]), ("none", [])],
)
def test_traces_are_of_some_units_with_their_values_among_the_outputs(
    at_most, units, tmp_path
):
    [run] = write_project(tmp_path, evidence(gen_score()))
    traces = [*traces_of(run.lineages[0], tmp_path, rows(), at_most)]
    assert [trace.unit for trace in traces] == units
    for trace in traces:
        assert trace.outputs["GC@2"] == SAMPLES[trace.unit]


@pytest.mark.parametrize(
    ("at_most", "samples"),
    [("none", []), (1, ["disc"]), (5, ["disc", "ring"]), ("all", ["disc", "ring"])],
)
def test_chains_are_of_as_many_samples_as_have_traces(at_most, samples, tmp_path):
    """The first, where the traces would show the worst."""
    [run] = write_project(tmp_path, evidence(gen_score()))
    [of] = run.lineages
    drawn = tmp_path / of.collected["chain"].path / "images"
    original = tmp_path / "data/datasets/shapes/images"
    expected = {}
    for name in samples:
        places = (original, drawn / "1", drawn / "2")
        expected[f"shapes/{name}"] = [place / f"{name}.png" for place in places]
    chosen = chain_rows(of, lambda _: rows(), at_most)
    assert dict(pictures_of(of, tmp_path, chosen)) == expected


def test_the_saved_view_is_as_mlflow_keeps_one():
    title, columns = {"gc/a": "GC@5 · a"}, ["gc/a", "similarity/a"]
    chains = ["photos/disc", "photos/ring"]
    tag = leaderboard(["similarity/a"], title, columns, higher=True, chains=chains)
    expected = json.loads((CASES / "tracking/view.json").read_text())
    assert {VIEW_TAG: view_of(tag)} == expected
    titles = {
        str(n): "".join(map(chr, range(33 + n % 50, 90 + n % 37))) for n in range(200)
    }
    tag = leaderboard([], titles, [*titles], higher=False)
    assert len(tag) <= 5000
    state = view_of(tag)["state"]
    assert len(state["selectedColumns"]) == 41
    assert len(state["compareRunCharts"]) > 10
    assert state["orderByAsc"]
